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

/* These path keys, and those of "more" that sort within equal ones: a new list. */
extern List *aggregate_paths_append_keys(List *pathkeys, List *more);

/*
 * The order in which the rows of "input" had better be sorted, so that aggregates
 * of this grouped relation need not sort: by the columns of the groups, and more.
 * Sets what that spares in the aggregates.  NIL if it does not pay.
 */
extern List *aggregate_paths_order(PlannerInfo *root, RelOptInfo *input,
								   RelOptInfo *grouped,
								   const GroupPathExtraData *extra,
								   Cost *spared);

/*
 * Adds a path in which aggregates spare so much of what core takes to cost nothing,
 * and drops those of core's that cost more by that.
 */
extern void aggregate_paths_add_sparing(PlannerInfo *root,
										RelOptInfo *grouped, Path *path,
										Cost spared);

/*
 * The same of a partial path, in all processes.  False if it has been refused, and
 * freed.
 */
extern bool aggregate_paths_add_partial_sparing(PlannerInfo *root,
												RelOptInfo *grouped,
												Path *path, Cost spared);

/*
 * Has core keys of aggregates behind those of the groups?  These do not sort then,
 * and rely on it.
 */
extern bool aggregate_paths_are_presorted(const PlannerInfo *root);

#endif							/* GPUSORT_AGGREGATE_PATHS_H */
