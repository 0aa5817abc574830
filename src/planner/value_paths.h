/*-------------------------------------------------------------------------
 *
 * value_paths.h
 *	  Paths for aggregates that follow from the places of sorted values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_VALUE_PATHS_H
#define GPUSORT_VALUE_PATHS_H

#include "nodes/pathnodes.h"

/*
 * Adds the paths with a GpuSortAggregate, in one process and in all, if the
 * node can compute the query's aggregates.  Charges core's paths for their own
 * sorts, for which core charges nothing, and drops those that are more
 * expensive.  To be called when the grouped relation has core's paths.
 */
extern void value_paths_add(PlannerInfo *root, RelOptInfo *input,
							RelOptInfo *grouped,
							const GroupPathExtraData *extra);

extern void value_paths_init(void);

#endif							/* GPUSORT_VALUE_PATHS_H */
