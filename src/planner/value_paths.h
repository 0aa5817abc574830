/*-------------------------------------------------------------------------
 *
 * value_paths.h
 *	  Paths for aggregates that are known by the places of sorted values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_VALUE_PATHS_H
#define GPUSORT_VALUE_PATHS_H

#include "nodes/pathnodes.h"

/*
 * Adds to a grouped relation whose own paths are there those with a
 * GpuSortAggregate, in one process and in all, if the aggregates are such.  Core's
 * paths are dropped that are more expensive by their own sorts, which core takes to
 * cost nothing.
 */
extern void value_paths_add(PlannerInfo *root, RelOptInfo *input,
							RelOptInfo *grouped,
							const GroupPathExtraData *extra);

extern void value_paths_init(void);

#endif							/* GPUSORT_VALUE_PATHS_H */
