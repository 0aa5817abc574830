/*-------------------------------------------------------------------------
 *
 * index_build.h
 *	  Building a B-tree in one go: its rows are collected, sorted and written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_BUILD_H
#define GPUSORT_INDEX_BUILD_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

/*
 * Builds the index as btbuild() does, with parallel workers if core has
 * planned some and they can be started.  Calls btbuild() if the rows cannot be
 * sorted by keys.  The result is palloc'd in the current memory context.
 */
extern struct IndexBuildResult *index_build_perform(Relation heap, Relation index,
													IndexInfo *info,
													double expected_rows);

#endif							/* GPUSORT_INDEX_BUILD_H */
