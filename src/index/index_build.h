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
 * planned for them and they can be had.  If the rows cannot be sorted by keys,
 * calls that.
 */
extern struct IndexBuildResult *index_build_perform(Relation heap, Relation index,
													IndexInfo *info,
													double expected_rows);

#endif							/* GPUSORT_INDEX_BUILD_H */
