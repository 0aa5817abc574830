/*-------------------------------------------------------------------------
 *
 * sort_refusal.h
 *	  Which sorts of a plan are left to PostgreSQL, and why.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_REFUSAL_H
#define GPUSORT_SORT_REFUSAL_H

#include "nodes/plannodes.h"

#include "cost/sort_cost.h"
#include "refusal.h"

/* The place of a node: what the nodes above it mean for its sort. */
typedef struct PlanPlace
{
	double		bound;			/* rows after which the Sort's parent may stop */
	bool		below_foreign;	/* a node above is of another extension */
	bool		below_gather;	/* the parent merges the rows of processes */
} PlanPlace;

/* At the top of a plan. */
#define TOP_PLACE			((PlanPlace) {NO_BOUND, false, false})

/* The place of all children of the node in this place. */
extern PlanPlace place_of_child(const Plan *plan, PlanPlace place);

/*
 * Is a sort of this size refused because PostgreSQL's takes less time?  The
 * size may lack the words of the keys and the order of the rows: a sort that
 * is refused without them is also refused with them.
 */
extern Refusal refuse_size(const SortSize *size, double bound);

/*
 * Returns the number of sorts of this node that are refused.  If there are
 * any, sets the reason.
 */
extern int	count_refused(const Plan *plan, PlanPlace place,
						  const List *range_table, Refusal *refusal);

/* The same reason in words. */
extern char *describe_refusal(const Plan *plan, Refusal refusal);

#endif							/* GPUSORT_SORT_REFUSAL_H */
