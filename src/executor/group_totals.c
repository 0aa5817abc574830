/*-------------------------------------------------------------------------
 *
 * group_totals.c
 *	  Counts, sums and extremes of groups, without calls of functions.
 *
 * Core's transition functions of these aggregates do nothing but add or compare
 * two numbers.  If a query has no others, no function is called for a row.  If
 * the arguments are columns, no expression is evaluated either, and only these
 * columns are taken out of the row.  States become what the functions would have
 * made of them, and so the results are core's.
 *
 * Other sums, and averages, are exact sums (exact_sum.h), of which the results
 * are made directly: the state of core's functions is known to these alone.  A
 * numeric that is no exact number is added to that state by core's function, in
 * all sets at once, and so is a sum that becomes too large.  The result is made
 * of both then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "executor/core_aggregates.h"
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
			*kind = TOTAL_EXACT;
			return exact_sum_values(function) != EXACT_NONE;
	}
}

/*
 * Does a state begin as a total does: a count with 0, and everything else
 * without a value?  Users can make aggregates of the same functions.
 */
static bool
begins_as_total(TotalKind kind, AggStatePerTrans transition)
{
	if (kind == TOTAL_EXACT)
		return exact_sum_begins(transition->transfn_oid, transition->initValue,
								transition->initValueIsNull);
	if (kind >= TOTAL_SUM)
		return transition->initValueIsNull;
	return !transition->initValueIsNull &&
		DatumGetInt64(transition->initValue) == 0;
}

/* Prepares the values of a total. */
static void
init_values(GroupTotals *all, GroupTotal *total, Expr *argument)
{
	const Var  *column = (const Var *) argument;

	if (IsA(argument, Var) && column->varno == OUTER_VAR &&
		column->varattno > 0)
		total->attno = column->varattno;
	else
		total->expression = ExecInitExpr(argument, &all->aggregates->ss.ps);
	total->value_length = get_typlen(exprType((const Node *) argument));
}

/* Prepares the total of a transition; false if it is none. */
static bool
init_total(GroupTotals *all, GroupTotal *total, AggStatePerTrans transition)
{
	const Aggref *aggref = transition->aggref;

	total->length = transition->transtypeLen;
	if (!find_kind(transition->transfn_oid, &total->kind) ||
		!begins_as_total(total->kind, transition) ||
		aggref->aggdistinct != NIL ||
		list_length(aggref->args) != (total->kind == TOTAL_ROWS ? 0 : 1) ||
		contain_subplans((Node *) aggref))
		return false;
	if (aggref->aggfilter != NULL)
		total->filter = ExecInitExpr(aggref->aggfilter,
									 &all->aggregates->ss.ps);
	if (total->kind != TOTAL_ROWS)
		init_values(all, total,
					linitial_node(TargetEntry, aggref->args)->expr);
	total->values = exact_sum_values(transition->transfn_oid);
	all->evaluates |= total->filter != NULL || total->expression != NULL;
	return true;
}

/* Does an aggregate make its result of an exact sum, not of core's state? */
static inline bool
is_exact(const GroupTotals *all, int aggno)
{
	int			transno = all->aggregates->peragg[aggno].transno;

	return all->totals[transno].kind == TOTAL_EXACT;
}

/*
 * Prepares the results of exact sums; false if one of them is none that is made
 * here, as where states are emitted for another Agg.
 */
static bool
init_results(GroupTotals *all)
{
	const AggState *aggregates = all->aggregates;
	ExactResult *results = palloc0((aggregates->numaggs + 1) *
								   sizeof(ExactResult));

	all->results = results;
	for (int i = 0; i < aggregates->numaggs; i++)
	{
		AggStatePerAgg aggregate = &aggregates->peragg[i];

		if (!is_exact(all, i))
			continue;
		if (aggregates->aggsplit != AGGSPLIT_SIMPLE ||
			!exact_sum_finds(aggregates->pertrans[aggregate->transno].transfn_oid,
							 aggregate->finalfn_oid, &results[i]))
			return false;
	}
	return true;
}

bool
group_totals_init(GroupTotals *all, AggState *aggregates, int set)
{
	/* states are passed by value */
	if (!FLOAT8PASSBYVAL)
		return false;
	all->aggregates = aggregates;
	all->set = set;
	all->count = aggregates->numtrans;
	all->totals = palloc0((all->count + 1) * sizeof(GroupTotal));
	for (int i = 0; i < all->count; i++)
	{
		if (!init_total(all, &all->totals[i], &aggregates->pertrans[i]))
			return false;
	}
	return init_results(all);
}

void
group_totals_begin_group(GroupTotals *all)
{
	for (int i = 0; i < all->count; i++)
	{
		GroupTotal *total = &all->totals[i];

		total->value = 0;
		total->isnull = total->kind >= TOTAL_SUM;
		exact_sum_begin(&total->sum);
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
get_column(const TupleTableSlot *row, AttrNumber attno, bool *isnull)
{
	if (attno > row->tts_nvalid)
		return minimal_tuple_column(((const MinimalTupleTableSlot *) row)->mintuple,
									attno, row->tts_tupleDescriptor, isnull);
	*isnull = row->tts_isnull[attno - 1];
	return row->tts_values[attno - 1];
}

/*
 * Adds a value to core's states of a transition, in this set and those behind it,
 * whose groups consist of this set's groups.  Resets the memory of a row, which
 * may have the value.
 */
static void
add_to_states(GroupTotals *all, int transno, Datum value)
{
	int			nsets = core_aggregates_sets(all->aggregates);

	for (int set = all->set; set < nsets; set++)
		core_aggregates_add_value(all->aggregates, set, transno, value);
	ResetExprContext(all->aggregates->tmpcontext);
}

/* Moves an exact sum to core's states, which know no largest number. */
static void
move_sum(GroupTotals *all, int transno)
{
	GroupTotal *total = &all->totals[transno];
	MemoryContext caller_context =
		MemoryContextSwitchTo(all->aggregates->tmpcontext->ecxt_per_tuple_memory);
	Datum		sum = exact_sum_numeric(&total->sum, total->values);

	MemoryContextSwitchTo(caller_context);
	add_to_states(all, transno, sum);
	total->sum.sum = 0;
}

/* Adds a value to an exact sum. */
static inline void
add_exactly(GroupTotals *all, int transno, Datum value)
{
	GroupTotal *total = &all->totals[transno];
	ExactNumber number;

	if (total->values != EXACT_NUMERIC)
		exact_sum_add_integer(&total->sum, exact_integer(total->values, value));
	else if (unlikely(!exact_number_of_numeric(value, &number)))
	{
		add_to_states(all, transno, value);
		total->sum.count++;
	}
	else if (unlikely(!exact_sum_add(&total->sum, number.number, 1, number.scale)))
	{
		move_sum(all, transno);
		(void) exact_sum_add(&total->sum, number.number, 1, number.scale);
	}
}

/* Adds the exact sum of a part of a group. */
static void
add_exact_part(GroupTotals *all, int transno, const ExactSum *part)
{
	ExactSum   *sum = &all->totals[transno].sum;

	if (!exact_sum_add(sum, part->sum, part->count, part->scale))
	{
		move_sum(all, transno);
		(void) exact_sum_add(sum, part->sum, part->count, part->scale);
	}
}

/* Does a total take this row? */
static inline bool
passes_filter(const GroupTotal *total, ExprContext *context)
{
	bool		isnull;
	Datum		passes;

	if (likely(total->filter == NULL))
		return true;
	passes = ExecEvalExprSwitchContext(total->filter, context, &isnull);
	return !isnull && DatumGetBool(passes);
}

/* Returns the value of a row. */
static inline Datum
get_value(const GroupTotals *all, const GroupTotal *total,
		  const TupleTableSlot *row, bool *isnull)
{
	return likely(total->expression == NULL) ?
		get_column(row, total->attno, isnull) :
		ExecEvalExprSwitchContext(total->expression,
								  all->aggregates->tmpcontext, isnull);
}

/* Adds a row to a total.  Allocates in the memory of a row only. */
static inline void
add_row(GroupTotals *all, int transno, const TupleTableSlot *row)
{
	GroupTotal *total = &all->totals[transno];
	bool		isnull;
	Datum		value;

	if (!passes_filter(total, all->aggregates->tmpcontext))
		return;
	if (total->kind == TOTAL_ROWS)
	{
		total->value++;
		return;
	}
	value = get_value(all, total, row, &isnull);
	if (isnull)
		return;
	if (total->kind == TOTAL_EXACT)
		add_exactly(all, transno, value);
	else
		add_number(total, total->kind == TOTAL_VALUES ? 1 :
				   get_integer(value, total->value_length));
}

void
group_totals_add(GroupTotals *all, TupleTableSlot *row)
{
	ExprContext *context = all->aggregates->tmpcontext;

	if (all->evaluates)
		context->ecxt_outertuple = row;
	for (int i = 0; i < all->count; i++)
		add_row(all, i, row);
	if (all->evaluates)
		ResetExprContext(context);
}

void
group_totals_add_part(GroupTotals *all, const GroupTotals *part)
{
	for (int i = 0; i < all->count; i++)
	{
		const GroupTotal *total = &part->totals[i];

		if (total->kind == TOTAL_EXACT)
			add_exact_part(all, i, &total->sum);
		else if (!total->isnull)
			add_number(&all->totals[i], total->value);
	}
}

void
group_totals_store(const GroupTotals *all)
{
	AggStatePerGroup states = all->aggregates->pergroups[all->set];

	for (int i = 0; i < all->count; i++)
	{
		const GroupTotal *total = &all->totals[i];
		AggStatePerGroup state = &states[i];

		if (total->kind == TOTAL_EXACT)
			continue;
		state->transValue = total->length == sizeof(int64) ?
			Int64GetDatum(total->value) :
			total->length == sizeof(int32) ? Int32GetDatum(total->value) :
			Int16GetDatum(total->value);
		state->transValueIsNull = total->isnull;
		state->noTransValue = false;
	}
}

/* Makes the result of an exact sum, in the current memory context. */
static Datum
make_exact_result(GroupTotals *all, int aggno, bool *isnull)
{
	int			transno = all->aggregates->peragg[aggno].transno;
	GroupTotal *total = &all->totals[transno];
	const		AggStatePerGroupData *state =
		&all->aggregates->pergroups[all->set][transno];

	*isnull = total->sum.count == 0;
	if (*isnull)
		return (Datum) 0;
	if (state->transValueIsNull || total->values != EXACT_NUMERIC)
		return exact_sum_result(&total->sum, total->values,
								all->results[aggno]);

	/* core's state has a part of the sum; it gets the rest */
	core_aggregates_add_value(all->aggregates, all->set, transno,
							  exact_sum_numeric(&total->sum, total->values));
	ResetExprContext(all->aggregates->tmpcontext);
	total->sum.sum = 0;
	return exact_result_of_state(state->transValue, total->sum.count,
								 all->results[aggno]);
}

TupleTableSlot *
group_totals_emit(GroupTotals *all, TupleTableSlot *first)
{
	AggState   *aggregates = all->aggregates;
	ExprContext *context = aggregates->ss.ps.ps_ExprContext;
	MemoryContext caller_context =
		core_aggregates_begin_results(aggregates, all->set, first);

	for (int i = 0; i < aggregates->numaggs; i++)
	{
		bool	   *isnull = &context->ecxt_aggnulls[i];

		context->ecxt_aggvalues[i] = is_exact(all, i) ?
			make_exact_result(all, i, isnull) :
			core_aggregates_result(aggregates, i, isnull);
	}
	MemoryContextSwitchTo(caller_context);
	return core_aggregates_end_results(aggregates, first);
}
