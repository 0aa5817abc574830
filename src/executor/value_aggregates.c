/*-------------------------------------------------------------------------
 *
 * value_aggregates.c
 *	  Aggregates that can be found by the places of sorted values.
 *
 * These are the number of rows, of values and of different values, and
 * percentiles (percentile.c).  They are core's own aggregates, computed in
 * another way.  A user who may not call core's aggregate gets the same error
 * here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "executor/value_aggregates.h"
#include "port/compat.h"
#include "port/execution_check.h"

struct ValueAggregate
{
	ValueAggregateKind kind;
	const Aggref *aggregate;

	/* for percentiles */
	PercentileKind percentile_kind;
	ExprState  *fraction;		/* fraction, or array of fractions */
	ArrayType  *fractions;		/* array of fractions; NULL: the array is NULL */
	Percentile *percentiles;
	int			npercentiles;
};

ValueAggregateKind
value_aggregate_kind(const Aggref *aggregate)
{
	switch (aggregate->aggfnoid)
	{
		case F_COUNT_:
			return COUNT_ROWS;
		case F_COUNT_ANY:
			return aggregate->aggdistinct != NIL ? COUNT_DISTINCT_VALUES :
				COUNT_VALUES;
		case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
			return PERCENTILE;
		case F_PERCENTILE_DISC__FLOAT8_ANYELEMENT:
		case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
			return PERCENTILE_ARRAY;
		default:
			return NO_VALUE_AGGREGATE;
	}
}

Oid
value_aggregate_transition(const Aggref *aggregate)
{
	switch (value_aggregate_kind(aggregate))
	{
		case COUNT_ROWS:
			return F_INT8INC;
		case COUNT_VALUES:
		case COUNT_DISTINCT_VALUES:
			return F_INT8INC_ANY;
		default:
			return F_ORDERED_SET_TRANSITION;
	}
}

Oid
value_aggregate_final(const Aggref *aggregate)
{
	switch (aggregate->aggfnoid)
	{
		case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
			return F_PERCENTILE_DISC_FINAL;
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
			return F_PERCENTILE_CONT_FLOAT8_FINAL;
		case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
			return F_PERCENTILE_CONT_INTERVAL_FINAL;
		case F_PERCENTILE_DISC__FLOAT8_ANYELEMENT:
			return F_PERCENTILE_DISC_MULTI_FINAL;
		case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
			return F_PERCENTILE_CONT_FLOAT8_MULTI_FINAL;
		case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
			return F_PERCENTILE_CONT_INTERVAL_MULTI_FINAL;
		default:
			return InvalidOid;
	}
}

/* Returns how an aggregate makes a percentile of values. */
static PercentileKind
percentile_kind(const Aggref *aggregate)
{
	switch (aggregate->aggfnoid)
	{
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
			return PERCENTILE_OF_NUMBERS;
		case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
		case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
			return PERCENTILE_OF_INTERVALS;
		default:
			return PERCENTILE_DISCRETE;
	}
}

/* Raises an error if the user may not call an aggregate. */
static void
check_permission(const Aggref *aggregate)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID,
										ObjectIdGetDatum(aggregate->aggfnoid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u",
			 aggregate->aggfnoid);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	check_execution(aggregate->aggfnoid, GetUserId(), OBJECT_AGGREGATE);
	check_execution(value_aggregate_transition(aggregate), owner,
					OBJECT_FUNCTION);
	check_execution(value_aggregate_final(aggregate), owner, OBJECT_FUNCTION);
}

List *
value_aggregates_begin(ValueAggregates *all, PlanState *node,
					   const List *aggregates, const List *fractions)
{
	int			npercentiles = 0;
	ListCell   *cell;

	all->aggregates = palloc0(list_length(aggregates) * sizeof(ValueAggregate));
	all->context = node->ps_ExprContext;
	foreach(cell, aggregates)
	{
		ValueAggregate *one = &all->aggregates[all->count++];

		one->aggregate = lfirst_node(Aggref, cell);
		one->kind = value_aggregate_kind(one->aggregate);
		one->percentile_kind = percentile_kind(one->aggregate);
		check_permission(one->aggregate);
		all->counts_distinct |= one->kind == COUNT_DISTINCT_VALUES;
		if (one->kind != PERCENTILE && one->kind != PERCENTILE_ARRAY)
			continue;
		one->fraction = ExecInitExpr(list_nth(fractions, npercentiles++), node);
		all->looks_up = true;
	}
	return list_copy_tail(fractions, npercentiles);
}

/*
 * Evaluates the fractions of an aggregate, and finds the positions of the
 * values that it needs.
 */
static void
find_percentiles(ValueAggregate *one, ExprContext *context, uint64 nvalues)
{
	bool		isnull;
	Datum		fraction = ExecEvalExpr(one->fraction, context, &isnull);

	one->fractions = NULL;
	if (one->kind == PERCENTILE)
	{
		one->npercentiles = 1;
		one->percentiles = palloc0(sizeof(Percentile));
		one->percentiles->isnull = isnull;
		if (!isnull)
			one->percentiles->fraction = DatumGetFloat8(fraction);
	}
	else if (isnull || nvalues == 0)
		one->npercentiles = 0;
	else
	{
		one->fractions = DatumGetArrayTypeP(fraction);
		one->percentiles = percentiles_of_array(one->fractions,
												&one->npercentiles);
	}
	for (int i = 0; i < one->npercentiles; i++)
		percentile_find(&one->percentiles[i], one->percentile_kind, nvalues);
}

static int
compare_positions(const ListCell *a, const ListCell *b)
{
	uint64		position_a = ((const WantedValue *) lfirst(a))->position;
	uint64		position_b = ((const WantedValue *) lfirst(b))->position;

	return position_a < position_b ? -1 : position_a > position_b;
}

List *
value_aggregates_wanted(ValueAggregates *all, uint64 nvalues)
{
	List	   *wanted = NIL;

	for (int i = 0; i < all->count; i++)
	{
		ValueAggregate *one = &all->aggregates[i];

		if (one->fraction == NULL)
			continue;
		find_percentiles(one, all->context, nvalues);
		for (int j = 0; j < one->npercentiles; j++)
		{
			Percentile *percentile = &one->percentiles[j];

			if (percentile->isnull)
				continue;
			wanted = lappend(wanted, &percentile->first);
			if (percentile->second.position > percentile->first.position)
				wanted = lappend(wanted, &percentile->second);
		}
	}
	list_sort(wanted, compare_positions);
	return wanted;
}

/* Returns the result of an aggregate. */
static Datum
result_of(const ValueAggregate *one, const ValueCounts *counts, bool *isnull)
{
	*isnull = false;
	switch (one->kind)
	{
		case COUNT_ROWS:
			return Int64GetDatum(counts->nrows);
		case COUNT_VALUES:
			return Int64GetDatum(counts->nvalues);
		case COUNT_DISTINCT_VALUES:
			return Int64GetDatum(counts->ndistinct);
		case PERCENTILE:
			*isnull = one->percentiles->isnull;
			return *isnull ? (Datum) 0 :
				percentile_value(one->percentiles, one->percentile_kind);
		default:
			*isnull = one->fractions == NULL;
			return *isnull ? (Datum) 0 :
				PointerGetDatum(percentiles_to_array(one->percentiles,
													 one->npercentiles,
													 one->percentile_kind,
													 one->fractions,
													 get_element_type(one->aggregate->aggtype)));
	}
}

void
value_aggregates_results(const ValueAggregates *all, const ValueCounts *counts,
						 Datum *values, bool *isnull)
{
	for (int i = 0; i < all->count; i++)
		values[i] = result_of(&all->aggregates[i], counts, &isnull[i]);
}
