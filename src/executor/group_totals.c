/*-------------------------------------------------------------------------
 *
 * group_totals.c
 *	  Counts, sums and extremes of integer columns, without calls of functions.
 *
 * Core's transition functions of these aggregates do nothing but add or compare
 * two integers.  If a query has no others, no expression is evaluated for a row,
 * and only the columns that are summed up are taken out of it.  States become
 * what the functions would have made of them, and so the results are core's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "executor/group_totals.h"
#include "sort/row_compare.h"

/* Sets the kind of total that a transition function makes; false if it makes none. */
static bool
find_kind(Oid function, TotalKind *kind)
{
	switch (function)
	{
		case F_INT8INC:
			*kind = TOTAL_ROWS;
			return true;
		case F_INT8INC_ANY:
			*kind = TOTAL_VALUES;
			return true;
		case F_INT2_SUM:
		case F_INT4_SUM:
			*kind = TOTAL_SUM;
			return true;
		case F_INT2LARGER:
		case F_INT4LARGER:
		case F_INT8LARGER:
		case F_DATE_LARGER:
		case F_TIMESTAMP_LARGER:
		case F_TIMESTAMPTZ_LARGER:
			*kind = TOTAL_LARGEST;
			return true;
		case F_INT2SMALLER:
		case F_INT4SMALLER:
		case F_INT8SMALLER:
		case F_DATE_SMALLER:
		case F_TIMESTAMP_SMALLER:
		case F_TIMESTAMPTZ_SMALLER:
			*kind = TOTAL_SMALLEST;
			return true;
		default:
			return false;
	}
}

/*
 * Does a state begin as a total does: a count with 0, and everything else
 * without a value?  Users can make aggregates of the same functions.
 */
static bool
begins_as_total(TotalKind kind, AggStatePerTrans transition)
{
	if (kind >= TOTAL_SUM)
		return transition->initValueIsNull;
	return !transition->initValueIsNull &&
		DatumGetInt64(transition->initValue) == 0;
}

/* Prepares the total of a transition; false if it is none. */
static bool
init_total(GroupTotal *total, AggStatePerTrans transition,
		   TupleDesc descriptor)
{
	const Aggref *aggref = transition->aggref;
	const Var  *argument;

	total->length = transition->transtypeLen;
	if (!find_kind(transition->transfn_oid, &total->kind) ||
		!begins_as_total(total->kind, transition) || aggref->aggfilter != NULL)
		return false;
	if (total->kind == TOTAL_ROWS)
		return aggref->args == NIL;
	if (list_length(aggref->args) != 1)
		return false;
	argument = (const Var *) linitial_node(TargetEntry, aggref->args)->expr;
	if (!IsA(argument, Var) || argument->varno != OUTER_VAR ||
		argument->varattno <= 0)
		return false;
	total->attno = argument->varattno;
	total->column_length = TupleDescAttr(descriptor, total->attno - 1)->attlen;
	return true;
}

bool
group_totals_init(GroupTotals *all, const AggState *aggregates,
				  TupleDesc descriptor)
{
	/* states are passed by value */
	if (!FLOAT8PASSBYVAL)
		return false;
	all->descriptor = descriptor;
	all->count = aggregates->numtrans;
	all->totals = palloc0((all->count + 1) * sizeof(GroupTotal));
	for (int i = 0; i < all->count; i++)
	{
		if (!init_total(&all->totals[i], &aggregates->pertrans[i], descriptor))
			return false;
	}
	return true;
}

void
group_totals_begin_group(GroupTotals *all)
{
	for (int i = 0; i < all->count; i++)
	{
		GroupTotal *total = &all->totals[i];

		total->value = 0;
		total->isnull = total->kind >= TOTAL_SUM;
	}
}

/* Returns an integer that is passed by value. */
static inline int64
get_integer(Datum value, int length)
{
	switch (length)
	{
		case sizeof(int16):
			return DatumGetInt16(value);
		case sizeof(int32):
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/* Adds a number to a count or a sum, or looks for an extreme. */
static inline void
add_number(GroupTotal *total, int64 number)
{
	if (total->kind <= TOTAL_SUM)
		total->value += number;
	else if (total->isnull ||
			 (total->kind == TOTAL_LARGEST ? number > total->value :
			  number < total->value))
		total->value = number;
	total->isnull = false;
}

/* Returns a column of a row, without a look at the columns ahead of it. */
static inline Datum
get_column(const TupleTableSlot *row, AttrNumber attno, TupleDesc descriptor,
		   bool *isnull)
{
	if (attno > row->tts_nvalid)
		return minimal_tuple_column(((const MinimalTupleTableSlot *) row)->mintuple,
									attno, descriptor, isnull);
	*isnull = row->tts_isnull[attno - 1];
	return row->tts_values[attno - 1];
}

void
group_totals_add(GroupTotals *all, const TupleTableSlot *row)
{
	for (int i = 0; i < all->count; i++)
	{
		GroupTotal *total = &all->totals[i];
		bool		isnull;
		Datum		value;

		if (total->kind == TOTAL_ROWS)
		{
			total->value++;
			continue;
		}
		value = get_column(row, total->attno, all->descriptor, &isnull);
		if (isnull)
			continue;
		add_number(total, total->kind == TOTAL_VALUES ? 1 :
				   get_integer(value, total->column_length));
	}
}

void
group_totals_add_part(GroupTotals *all, const GroupTotals *part)
{
	for (int i = 0; i < all->count; i++)
	{
		if (!part->totals[i].isnull)
			add_number(&all->totals[i], part->totals[i].value);
	}
}

void
group_totals_store(const GroupTotals *all, AggStatePerGroup states)
{
	for (int i = 0; i < all->count; i++)
	{
		const GroupTotal *total = &all->totals[i];
		AggStatePerGroup state = &states[i];

		state->transValue = total->length == sizeof(int64) ?
			Int64GetDatum(total->value) :
			total->length == sizeof(int32) ? Int32GetDatum(total->value) :
			Int16GetDatum(total->value);
		state->transValueIsNull = total->isnull;
		state->noTransValue = false;
	}
}
