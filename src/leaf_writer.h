/*-------------------------------------------------------------------------
 *
 * leaf_writer.h
 *	  Writing the pages of a B-tree from tuples that come in its order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LEAF_WRITER_H
#define GPUSORT_LEAF_WRITER_H

#include "access/itup.h"
#include "utils/rel.h"

typedef struct LeafWriter LeafWriter;

/*
 * Begins to write an index that has no pages yet.  Allocates in the current
 * memory context, which must last until leaf_writer_finish().  If
 * "deduplicate", and where the index's types and settings allow it, equal
 * tuples become posting lists.
 */
extern LeafWriter *leaf_writer_begin(Relation heap, Relation index,
									 bool deduplicate);

/*
 * Adds a tuple, which sorts behind all tuples so far, by its key and then by
 * its place in the table.  The tuple must stay as it is until the next one
 * has been added that is not equal to it.
 */
extern void leaf_writer_add(LeafWriter *writer, IndexTuple tuple);

/* Writes all that is left, and sees to it that the index will be on disk. */
extern void leaf_writer_finish(LeafWriter *writer);

#endif							/* GPUSORT_LEAF_WRITER_H */
