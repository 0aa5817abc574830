/*-------------------------------------------------------------------------
 *
 * group_totals.h
 *	  Counts, sums and extremes of groups, without calls of functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_TOTALS_H
#define GPUSORT_GROUP_TOTALS_H

#include "executor/nodeAgg.h"

#include "window/exact_sum.h"

typedef enum TotalKind
{
	TOTAL_ROWS,					/* count(*) */
	TOTAL_VALUES,				/* count(x) */
	TOTAL_SUM,					/* sum(x) of small integers */
	TOTAL_LARGEST,				/* max(x) of integers */
	TOTAL_SMALLEST,				/* min(x) of integers */
	TOTAL_EXACT					/* what an exact sum makes: sum(x), avg(x) */
} TotalKind;

/* The state of an aggregate. */
typedef struct GroupTotal
{
	TotalKind	kind;
	AttrNumber	attno;			/* column of the values; 0: none */
	ExprState  *expression;		/* makes the values, if they are no column */
	ExprState  *filter;			/* NULL: there is none */
	int			value_length;	/* bytes of a value */
	int			length;			/* bytes of the result */
	int64		value;
	bool		isnull;			/* no value has come */

	/* TOTAL_EXACT */
	ExactValues values;
	ExactSum	sum;
} GroupTotal;

typedef struct GroupTotals
{
	AggState   *aggregates;
	int			set;			/* set of columns by which rows are grouped */
	int			count;
	GroupTotal *totals;			/* one for each transition */
	bool		evaluates;		/* there are expressions or filters */
	const ExactResult *results; /* what each aggregate makes of an exact sum */
} GroupTotals;

/*
 * Prepares totals in the place of all transitions of an AggState, in a set.
 * False if one of the transitions is none of these.
 */
extern bool group_totals_init(GroupTotals *all, AggState *aggregates, int set);

/*
 * Begin a group, when core's states have begun, and add a row to it, in a slot
 * for minimal tuples or virtual ones: to the first set, which has all groups of
 * the others.
 */
extern void group_totals_begin_group(GroupTotals *all);
extern void group_totals_add(GroupTotals *all, TupleTableSlot *row);

/*
 * Add the totals of a part of a group, which is a group of the set before, and
 * set core's states to the totals, when the group has ended.
 */
extern void group_totals_add_part(GroupTotals *all, const GroupTotals *part);
extern void group_totals_store(const GroupTotals *all);

/*
 * Emits the present group, as core_aggregates_emit() does, once the totals have
 * been stored and added to those of the next set.
 */
extern TupleTableSlot *group_totals_emit(GroupTotals *all,
										 TupleTableSlot *first);

#endif							/* GPUSORT_GROUP_TOTALS_H */
