/*-------------------------------------------------------------------------
 *
 * tree_writer.h
 *	  Writing a B-tree from its leaf pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TREE_WRITER_H
#define GPUSORT_TREE_WRITER_H

#include "storage/block.h"
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

/*
 * The same for a leaf that somebody else writes, which is filled already and
 * stays where it is.  Completes the leaf on its left, and returns the block to
 * which that is to be written; P_NONE if there is none.  The last leaf, behind
 * which no other comes, is copied by tree_writer_keep_leaf(), and
 * tree_writer_finish() writes it.
 */
extern BlockNumber tree_writer_add_leaf(TreeWriter *writer, Page leaf);
extern void tree_writer_keep_leaf(TreeWriter *writer);

/*
 * True if the next leaf may take a page that begins another file of the index.
 * Then nobody else may write to the index when the leaf is added.
 */
extern bool tree_writer_may_begin_file(const TreeWriter *writer);

/* Writes the remaining pages, and syncs the index if it is not logged. */
extern void tree_writer_finish(TreeWriter *writer);

#endif							/* GPUSORT_TREE_WRITER_H */
