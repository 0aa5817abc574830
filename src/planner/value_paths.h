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
 * Adds the paths with a GpuSortAggregate, in one process and in all, if it
 * can compute the query's aggregates.  Drops core's paths that are more
 * expensive when their own sorts, for which core charges nothing, are added.
 * To be called when the grouped relation has core's paths.
 */
extern void value_paths_add(PlannerInfo *root, RelOptInfo *input,
							RelOptInfo *grouped,
							const GroupPathExtraData *extra);

extern void value_paths_init(void);

#endif							/* GPUSORT_VALUE_PATHS_H */
