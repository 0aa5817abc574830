/*-------------------------------------------------------------------------
 *
 * value_aggregates.h
 *	  Aggregates that are known by the places of sorted values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_VALUE_AGGREGATES_H
#define GPUSORT_VALUE_AGGREGATES_H

#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "utils/array.h"

#include "executor/percentile.h"

/* What is made of an aggregate. */
typedef enum ValueAggregateKind
{
	NO_VALUE_AGGREGATE,			/* it is none of these */
	COUNT_ROWS,
	COUNT_VALUES,
	COUNT_DISTINCT_VALUES,
	PERCENTILE,					/* of one fraction */
	PERCENTILE_ARRAY			/* of an array of fractions */
} ValueAggregateKind;

/* The filter, the place of the aggregate and its other arguments do not matter. */
extern ValueAggregateKind value_aggregate_kind(const Aggref *aggregate);

/*
 * The functions of which core makes such an aggregate; InvalidOid without a final
 * one.
 */
extern Oid	value_aggregate_transition(const Aggref *aggregate);
extern Oid	value_aggregate_final(const Aggref *aggregate);

/* What there is of a group, or of all rows. */
typedef struct ValueCounts
{
	uint64		nrows;
	uint64		nvalues;		/* rows whose value is not NULL */
	uint64		ndistinct;		/* different values, if they are to be counted */
} ValueCounts;

/* An aggregate that a node computes. */
typedef struct ValueAggregate ValueAggregate;

/* All of a node, which are of the same values. */
typedef struct ValueAggregates
{
	ValueAggregate *aggregates;
	int			count;
	bool		counts_distinct;	/* different values are to be counted */
	bool		looks_up;		/* values are to be looked up */
	ExprContext *context;		/* for the fractions of percentiles */
} ValueAggregates;

/*
 * Begins these aggregates of a node, a list of them, whose percentiles have these
 * fractions, or arrays of them, an expression each.  An error where core's Agg raises
 * one: if the user may not call an aggregate, or its owner not the functions that
 * it is made of.
 */
extern void value_aggregates_begin(ValueAggregates *all, PlanState *node,
								   const List *aggregates,
								   const List *fractions);

/*
 * The values that are looked up for so many ones of a group that are not NULL:
 * WantedValues, by their positions, which are to be set before there are results.
 * Allocates in the current memory context, as the results do.
 */
extern List *value_aggregates_wanted(ValueAggregates *all, uint64 nvalues);

/* Sets the results. */
extern void value_aggregates_results(const ValueAggregates *all,
									 const ValueCounts *counts,
									 Datum *values, bool *isnull);

/* An error if this role may not execute a function, InvalidOid being none. */
extern void check_execution(Oid function, Oid role, ObjectType type);

#endif							/* GPUSORT_VALUE_AGGREGATES_H */
