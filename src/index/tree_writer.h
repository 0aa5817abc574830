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
 * Begins to write an index that has no pages yet.  Allocates in the current
 * memory context, which must last until tree_writer_finish().
 */
extern TreeWriter *tree_writer_begin(Relation heap, Relation index);

/*
 * A new leaf, the rightmost of the tree so far, which the caller is to fill:
 * when it asks for the next one the leaf must have its high key, and when it
 * finishes room for the pointer to one.
 */
extern Page tree_writer_next_leaf(TreeWriter *writer);

/* Writes all that is left, and sees to it that the index will be on disk. */
extern void tree_writer_finish(TreeWriter *writer);

#endif							/* GPUSORT_TREE_WRITER_H */
