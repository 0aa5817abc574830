/*-------------------------------------------------------------------------
 *
 * term_buckets.h
 *	  Pairs (term, row) beyond memory, divided by the order of terms.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TERM_BUCKETS_H
#define GPUSORT_TERM_BUCKETS_H

#include "inverted/term_block.h"

typedef struct TermBuckets TermBuckets;

/*
 * Chooses buckets after a sorted block, which is a sample of all pairs.  These
 * would take about expected_bytes bytes of memory as one block.  Buckets take
 * half of "limit" bytes while they are written, and little while they are
 * read.  Returns NULL if runs of blocks are better.  Allocates in the current
 * memory context.
 */
extern TermBuckets *term_buckets_begin(Terms *terms, const TermBlock *sample,
									   Size limit, double expected_bytes);

/* Puts a pair into its bucket.  Pairs of one row come together. */
extern void term_buckets_put(TermBuckets *buckets, const ItemPointerData *tid,
							 const Term *term);

/* Ends writing; returns the number of buckets, which are in order. */
extern int	term_buckets_finish(TermBuckets *buckets);

/*
 * Moves pairs of a bucket to a block, in the order in which they were put.
 * Returns false if the block is full before the end of the bucket; the next
 * call goes on from there.
 */
extern bool term_buckets_read(TermBuckets *buckets, int bucket,
							  TermBlock *block);

/* Returns the bytes of all files. */
extern Size term_buckets_disk(const TermBuckets *buckets);

extern void term_buckets_end(TermBuckets *buckets);

#endif							/* GPUSORT_TERM_BUCKETS_H */
