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

#include "shared_state.h"
#include "sort_cost.h"

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
 * Does a sort of this size by a first column of this type stay native?
 */
extern bool sort_left_native(Oid type, Oid sort_operator, Oid collation,
							 const SortSize *size, double bound,
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
