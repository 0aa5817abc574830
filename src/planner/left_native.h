/*-------------------------------------------------------------------------
 *
 * left_native.h
 *	  Which sorts of a plan are left to PostgreSQL, and why.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LEFT_NATIVE_H
#define GPUSORT_LEFT_NATIVE_H

#include "nodes/plannodes.h"

#include "cost/sort_cost.h"
#include "shared_state.h"

/* What the nodes above one mean for its sort. */
typedef struct PlanPlace
{
	double		bound;			/* how many rows its parent may stop after */
	bool		below_foreign;	/* one is of another extension, and may mind */
} PlanPlace;

/* At the top of a plan. */
#define TOP_PLACE			((PlanPlace) {NO_BOUND, false})

/* The place of all children of the node in this place. */
extern PlanPlace place_of_child(const Plan *plan, PlanPlace place);

/*
 * Does a sort stay native since there are no keys for its first column?  Or
 * since that takes less time, by its size?  A size without the words of the keys
 * and the order of the rows may do: a sort that stays native by that does so by
 * all of it.
 */
extern bool sort_lacks_keys(Oid type, Oid sort_operator, Oid collation,
							Statistic *reason);
extern bool sort_is_small(const SortSize *size, double bound,
						  Statistic *reason);

/*
 * How many sorts this one node does that stay native, and by the name of
 * their counter, why.
 */
extern int	count_left_native(const Plan *plan, PlanPlace place,
							  const List *range_table, Statistic *reason);

/* The same reason in words. */
extern char *describe_reason(const Plan *plan, Statistic reason);

#endif							/* GPUSORT_LEFT_NATIVE_H */
