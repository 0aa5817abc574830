/*-------------------------------------------------------------------------
 *
 * term_block.h
 *	  A block of pairs (term, row), which is sorted in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TERM_BLOCK_H
#define GPUSORT_TERM_BLOCK_H

#include "inverted/terms.h"

typedef struct TermBlock TermBlock;

/* A term of a block, and the rows that have it. */
typedef struct TermRows
{
	Term		term;
	ItemPointerData *tids;		/* in ascending order */
	uint64		count;
} TermRows;

/*
 * Makes an empty block, which takes about "limit" bytes of memory at most.
 * Allocates in a child of the current memory context.
 */
extern TermBlock *term_block_begin(Terms *terms, Size limit);

/*
 * Add the terms of a row: begin the row, add its terms, in any order and with
 * duplicates, and end the row.  A row has at least one term.  Terms are copied
 * when the row ends.  The last row may be begun again, to add other terms.
 */
extern void term_block_begin_row(TermBlock *block, const ItemPointerData *tid);
extern void term_block_add(TermBlock *block, const Term *term);
extern void term_block_end_row(TermBlock *block);

/* Does the block want to be sorted and emptied before the next row? */
extern bool term_block_is_full(const TermBlock *block);

/*
 * Return the number of rows, the bytes of memory and their limit, and the
 * number of rows that a term has on the average.
 */
extern uint32 term_block_rows(const TermBlock *block);
extern Size term_block_bytes(const TermBlock *block);
extern Size term_block_limit(const TermBlock *block);
extern double term_block_rows_of_term(const TermBlock *block);

/*
 * term_block_sort() sorts the pairs, after the last row.  Then
 * term_block_next() returns the different terms in their order, each with its
 * rows; false after the last one.  What it returns stays until the next call.
 */
extern void term_block_sort(TermBlock *block);
extern bool term_block_next(TermBlock *block, TermRows *rows);

/*
 * Divides the pairs of a sorted block, by the words of terms (terms.h), into
 * "wanted" parts of about the same size, or into fewer.  Sets the least word
 * of each part but the first, and returns the number of parts.
 */
extern int	term_block_split(const TermBlock *block, int wanted,
							 uint64 *words);

/* Drops all rows.  Other rows can be added then. */
extern void term_block_empty(TermBlock *block);

/* Returns the context of the block's memory, which is freed with its rows. */
extern MemoryContext term_block_context(const TermBlock *block);

extern void term_block_end(TermBlock *block);

#endif							/* GPUSORT_TERM_BLOCK_H */
