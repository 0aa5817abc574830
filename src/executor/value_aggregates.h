/*-------------------------------------------------------------------------
 *
 * value_aggregates.h
 *	  Aggregates that can be found by the places of sorted values.
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

/* The kind of an aggregate, if a node can compute it from sorted values. */
typedef enum ValueAggregateKind
{
	NO_VALUE_AGGREGATE,			/* none of these */
	COUNT_ROWS,
	COUNT_VALUES,
	COUNT_DISTINCT_VALUES,
	PERCENTILE,					/* of one fraction */
	PERCENTILE_ARRAY			/* of an array of fractions */
} ValueAggregateKind;

/*
 * Returns the kind of an aggregate, whatever its filter and its other
 * arguments are.
 */
extern ValueAggregateKind value_aggregate_kind(const Aggref *aggregate);

/*
 * Return the transition function and the final function of an aggregate;
 * InvalidOid if it has no final function.
 */
extern Oid	value_aggregate_transition(const Aggref *aggregate);
extern Oid	value_aggregate_final(const Aggref *aggregate);

/* The counts of a group, or of all rows. */
typedef struct ValueCounts
{
	uint64		nrows;
	uint64		nvalues;		/* rows whose value is not NULL */
	uint64		ndistinct;		/* different values, if these have to be
								 * counted */
} ValueCounts;

/* An aggregate that a node computes. */
typedef struct ValueAggregate ValueAggregate;

/* Aggregates of the same values. */
typedef struct ValueAggregates
{
	ValueAggregate *aggregates;
	int			count;
	bool		counts_distinct;	/* different values have to be counted */
	bool		looks_up;		/* values have to be looked up */
	ExprContext *context;		/* context in which fractions are evaluated */
} ValueAggregates;

/*
 * Begins the aggregates of a node.  "fractions" begins with an expression for
 * each percentile: its fraction, or its array of fractions.  Returns the other
 * fractions.  Raises an error where core's Agg does: if the user may not call an
 * aggregate, or if the owner of an aggregate may not call the aggregate's
 * functions.
 */
extern List *value_aggregates_begin(ValueAggregates *all, PlanState *node,
									const List *aggregates,
									const List *fractions);

/*
 * Returns the values that percentiles need of a group, which has nvalues
 * values that are not NULL: a list of WantedValues in ascending positions.
 * The caller has to set the values before value_aggregates_results().  Both
 * functions allocate in the current memory context.
 */
extern List *value_aggregates_wanted(ValueAggregates *all, uint64 nvalues);

/* Sets the results. */
extern void value_aggregates_results(const ValueAggregates *all,
									 const ValueCounts *counts,
									 Datum *values, bool *isnull);

#endif							/* GPUSORT_VALUE_AGGREGATES_H */
