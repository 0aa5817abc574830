/*-------------------------------------------------------------------------
 *
 * tree_writer.h
 *	  Writing a B-tree from its leaf pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TREE_WRITER_H
#define GPUSORT_TREE_WRITER_H

#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct TreeWriter TreeWriter;

/*
 * Begins to write an index that has no pages.  Allocates in the current memory
 * context, which must last until tree_writer_finish().
 */
extern TreeWriter *tree_writer_begin(Relation heap, Relation index);

/*
 * Returns the next leaf, to the right of all others, for the caller to fill.
 * At the next call the leaf must have its high key; at tree_writer_finish() it
 * must have a free line pointer for one.
 */
extern Page tree_writer_next_leaf(TreeWriter *writer);

/* Writes the remaining pages, and syncs the index if it is not logged. */
extern void tree_writer_finish(TreeWriter *writer);

#endif							/* GPUSORT_TREE_WRITER_H */
