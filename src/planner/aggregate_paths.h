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
 * Adds the path that sorts by the groups and by the keys of an aggregate, if
 * this sort costs clearly less than the aggregate's own sorts of unsorted
 * input.  Then charges core's paths for these sorts, for which core charges
 * nothing, and drops those that are more expensive.  To be called when the
 * grouped relation has core's paths.
 */
extern void aggregate_paths_add(PlannerInfo *root, RelOptInfo *input,
								RelOptInfo *grouped,
								const GroupPathExtraData *extra);

/*
 * Returns a new list: these path keys, and the path keys of "more" that sort
 * rows which are equal by these.
 */
extern List *aggregate_paths_append_keys(List *pathkeys, List *more);

/*
 * Returns the order that the rows of "input" should have so that aggregates of
 * this grouped relation get sorted values: by the columns of the groups, and
 * more.  Sets the cost that this saves in the aggregates.  NIL if it does not
 * pay.
 */
extern List *aggregate_paths_order(PlannerInfo *root, RelOptInfo *input,
								   RelOptInfo *grouped,
								   const GroupPathExtraData *extra,
								   Cost *spared);

/*
 * The cost of sorts inside core's Agg, for which core charges nothing: of
 * groups whose rows come in no order, and of groups whose rows are sorted.
 */
typedef struct SortsInside
{
	Cost		of_unsorted;
	Cost		of_sorted;
} SortsInside;

/* Returns this cost for a path of core; 0 for other paths. */
extern Cost aggregate_paths_cost_inside(const PlannerInfo *root,
										const Path *path,
										const SortsInside *inside);

/*
 * Adds a path without these sorts, and drops core's paths that are more
 * expensive with them.
 */
extern void aggregate_paths_add_sparing(PlannerInfo *root,
										RelOptInfo *grouped, Path *path,
										const SortsInside *inside);

/*
 * The same for a partial path, in all processes.  False if core has refused
 * the path, and freed it.
 */
extern bool aggregate_paths_add_partial_sparing(PlannerInfo *root,
												RelOptInfo *grouped,
												Path *path,
												const SortsInside *inside);

#endif							/* GPUSORT_AGGREGATE_PATHS_H */
