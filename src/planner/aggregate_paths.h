/*-------------------------------------------------------------------------
 *
 * aggregate_paths.h
 *	  Paths that sort the input of aggregates which would sort it themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_AGGREGATE_PATHS_H
#define GPUSORT_AGGREGATE_PATHS_H

#include "nodes/pathnodes.h"

/*
 * Adds to a grouped relation whose own paths are there the path that sorts by the
 * groups and by what an aggregate sorts by, if that costs less than its own sorts
 * of input in any order.  Core's paths that are more expensive by these sorts,
 * which core takes to cost nothing, are dropped then.
 */
extern void aggregate_paths_add(PlannerInfo *root, RelOptInfo *input,
								RelOptInfo *grouped,
								const GroupPathExtraData *extra);

/*
 * The order in which the rows of "input" had better be sorted, so that aggregates
 * of this grouped relation need not sort: by the columns of the groups, and more.
 * Sets what that spares in the aggregates.  NIL if it does not pay.
 */
extern List *aggregate_paths_order(PlannerInfo *root, RelOptInfo *input,
								   RelOptInfo *grouped,
								   const GroupPathExtraData *extra,
								   Cost *spared);

#endif							/* GPUSORT_AGGREGATE_PATHS_H */
