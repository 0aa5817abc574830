/*-------------------------------------------------------------------------
 *
 * group_totals.h
 *	  Counts, sums and extremes of integer columns, without calls of functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_TOTALS_H
#define GPUSORT_GROUP_TOTALS_H

#include "executor/nodeAgg.h"

typedef enum TotalKind
{
	TOTAL_ROWS,					/* count(*) */
	TOTAL_VALUES,				/* count(x) */
	TOTAL_SUM,					/* sum(x) */
	TOTAL_LARGEST,				/* max(x) */
	TOTAL_SMALLEST				/* min(x) */
} TotalKind;

/* The state of an aggregate. */
typedef struct GroupTotal
{
	TotalKind	kind;
	AttrNumber	attno;			/* column of the rows; 0: none */
	int			column_length;	/* its bytes */
	int			length;			/* bytes of the result */
	int64		value;
	bool		isnull;			/* no value has come */
} GroupTotal;

typedef struct GroupTotals
{
	TupleDesc	descriptor;		/* columns of the rows */
	int			count;
	GroupTotal *totals;			/* one for each transition */
} GroupTotals;

/*
 * Prepares totals in the place of all transitions of an AggState, for rows of
 * this descriptor.  False if one of the transitions is none of these, or takes
 * something else than a column.
 */
extern bool group_totals_init(GroupTotals *all, const AggState *aggregates,
							  TupleDesc descriptor);

/*
 * Begin a group, add a row to it, in a slot for minimal tuples, add the totals of
 * a part of it, and set the transition states to the totals.
 */
extern void group_totals_begin_group(GroupTotals *all);
extern void group_totals_add(GroupTotals *all, const TupleTableSlot *row);
extern void group_totals_add_part(GroupTotals *all, const GroupTotals *part);
extern void group_totals_store(const GroupTotals *all,
							   AggStatePerGroup states);

#endif							/* GPUSORT_GROUP_TOTALS_H */
