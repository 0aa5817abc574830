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

/*
 * Add the terms of a row: begin the row, and add its terms, in any order and
 * with duplicates.  Terms have to stay until the next row begins.
 */
extern void term_buckets_begin_row(TermBuckets *buckets,
								   const ItemPointerData *tid);
extern void term_buckets_add(TermBuckets *buckets, const Term *term);

/*
 * Returns whether few buckets take most pairs, so that runs are better for
 * further rows.
 */
extern bool term_buckets_are_uneven(const TermBuckets *buckets);

/* Ends writing. */
extern void term_buckets_finish(TermBuckets *buckets);

/* Returns the number of buckets, which are in order. */
extern int	term_buckets_count(const TermBuckets *buckets);

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
