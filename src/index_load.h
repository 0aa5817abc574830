/*-------------------------------------------------------------------------
 *
 * index_load.h
 *	  Building a B-tree in one go: its rows are collected, sorted and written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_LOAD_H
#define GPUSORT_INDEX_LOAD_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

/* The least memory that so many rows need, in bytes. */
extern double index_load_least_memory(double rows);

/* Is there shared memory for so many rows, as parallel workers need? */
extern bool index_load_can_share(double rows);

/*
 * Builds the index as btbuild() does, with parallel workers if core has
 * planned for them and they can be had.  If the rows turn out to exceed the
 * memory setting, calls that.
 */
extern struct IndexBuildResult *index_load_build(Relation heap, Relation index,
												 IndexInfo *info,
												 double expected_rows);

#endif							/* GPUSORT_INDEX_LOAD_H */
