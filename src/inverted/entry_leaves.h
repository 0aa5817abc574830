/*-------------------------------------------------------------------------
 *
 * entry_leaves.h
 *	  Writing leaves of the entry tree of an inverted index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ENTRY_LEAVES_H
#define GPUSORT_ENTRY_LEAVES_H

#include "inverted/gin_pages.h"
#include "inverted/posting_rows.h"

/*
 * A row about a leaf: this head, and behind it what the level above gets of
 * the leaf, which has been written; or the leaf itself, if it is the last one
 * of its part.
 */
typedef struct LeafRow
{
	RunBlock	block;			/* must be first: the bytes behind it */
	bool		is_page;		/* the leaf itself is behind this head */
	BlockNumber number;			/* of the leaf; InvalidBlockNumber: it has
								 * none yet, as the only one of its part */
	GinCounts	counts;			/* of what was written since the row before */
} LeafRow;

/* Return what is behind the head. */
static inline IndexTuple
leaf_row_entry(LeafRow *row)
{
	return (IndexTuple) ((char *) row + MAXALIGN(sizeof(LeafRow)));
}

static inline Page
leaf_row_page(LeafRow *row)
{
	return (Page) leaf_row_entry(row);
}

/*
 * Reads PostingRows with entries, and writes their leaves and trees of lists.
 * Returns what reads LeafRows, in the order of the leaves.  Terms with the
 * rows of an earlier or a later part are in other leaves.  Allocates in the
 * current memory context.
 */
extern RowReader *entry_leaves_begin(GinWriter *writer, RowReader *rows);

#endif							/* GPUSORT_ENTRY_LEAVES_H */
