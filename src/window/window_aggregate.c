/*-------------------------------------------------------------------------
 *
 * window_aggregate.c
 *	  The aggregates of a window, over the frame of each row.
 *
 * The transition function adds the rows that enter the frame to the state, and
 * the final function makes the result, as often as the frame changes.  If the
 * frame loses rows, the inverse transition function takes them out of the
 * state.  If there is none, if it cannot, or if the frame excludes rows, all
 * rows of the frame are added anew.  All this is done for the same rows and in the same order as in core,
 * since results depend on it if numbers are floats.  All aggregates of a window
 * go through its rows together, so that each row is fetched once.
 *
 * If a state only grows, and the present row is the next one to be added, the
 * row is not fetched at all.
 *
 * Sums and averages of integers and numerics need no functions: they are exact
 * sums (exact_sum.h), from which a row can always be taken out again.  If a
 * value comes that is no exact number, or if the sum becomes too large, core's
 * functions go on.  If rows leave the frame, these begin anew, and stay.
 * Otherwise rows may be gone by then, so the state of core's function begins with
 * the sum, and takes all further values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_agg.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "port/compat.h"
#include "port/execution_check.h"
#include "window/exact_sum.h"
#include "window/window_aggregate.h"

/* A function of an aggregate, ready to be called. */
typedef struct AggregateCall
{
	FmgrInfo	function;
	FunctionCallInfo call;		/* NULL: there is no such function */
	int			nargs;			/* with the state, which is the first */
} AggregateCall;

struct WindowAggregate
{
	int			place;			/* of its result among all results */
	WindowArguments arguments;
	AggregateCall add;			/* transition function */
	AggregateCall remove;		/* its inverse */
	AggregateCall result;		/* final function */
	Datum		initial;		/* first state */
	bool		initial_isnull;
	int16		state_length;
	bool		state_by_value;
	int16		result_length;
	bool		result_by_value;

	MemoryContext memory;		/* of the state */
	Datum		state;
	bool		state_isnull;
	int64		nrows;			/* rows in the state, without those left out */
	bool		restarts;		/* all rows are added anew */
	Datum		last_result;	/* of the present frame */
	bool		last_isnull;
	bool		last_is_copy;	/* it is a copy, in the memory of the state */

	/* sums and averages */
	ExactValues exact;			/* EXACT_NONE: the functions are called */
	ExactResult exact_result;
	ExactSum	sum;			/* its count is that of all values */
	int64	   *nscales;		/* numerics in the sum by their display scale,
								 * if rows are removed */
	bool		is_inexact;		/* a value has come that takes the functions */
};

/* The functions of an aggregate, as the catalog has them. */
typedef struct AggregateFunctions
{
	Oid			add;
	Oid			remove;			/* InvalidOid: rows are never removed */
	Oid			result;			/* InvalidOid: the state is the result */
	Oid			state_type;
	bool		extra_arguments;	/* the final function has all arguments */
	AttrNumber	initial_column; /* column of pg_aggregate */
} AggregateFunctions;

/*
 * ---- beginning
 */

/*
 * Chooses the functions as core does: those for moving frames only if rows can
 * leave the frame, and if nothing can tell whether rows are removed or all
 * others added anew.
 */
static AggregateFunctions
choose_functions(const FormData_pg_aggregate *form, const WindowFunc *call,
				 int frame_options)
{
	AggregateFunctions functions = {
		.add = form->aggtransfn,
		.result = form->aggfinalfn,
		.state_type = form->aggtranstype,
		.extra_arguments = form->aggfinalextra,
		.initial_column = Anum_pg_aggregate_agginitval
	};

	if (OidIsValid(form->aggminvtransfn) &&
		window_frame_head_moves(frame_options) &&
		!contain_volatile_functions((Node *) call) &&
		!contain_subplans((Node *) call))
	{
		functions.add = form->aggmtransfn;
		functions.remove = form->aggminvtransfn;
		functions.result = form->aggmfinalfn;
		functions.state_type = form->aggmtranstype;
		functions.extra_arguments = form->aggmfinalextra;
		functions.initial_column = Anum_pg_aggregate_aggminitval;
	}
	return functions;
}

/* Raises an error if the owner of an aggregate may not call its functions. */
static void
check_functions(Oid aggregate, const AggregateFunctions *functions)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(aggregate));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", aggregate);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	check_execution(functions->add, owner, OBJECT_FUNCTION);
	check_execution(functions->remove, owner, OBJECT_FUNCTION);
	check_execution(functions->result, owner, OBJECT_FUNCTION);
}

/* Prepares the call of a function; "expression" tells it its types. */
static void
prepare_call(AggregateCall *call, Oid function, Expr *expression, int nargs,
			 Oid collation, WindowAggState *context)
{
	fmgr_info(function, &call->function);
	fmgr_info_set_expr((Node *) expression, &call->function);
	call->nargs = nargs;
	call->call = palloc0(SizeForFunctionCallInfo(nargs));
	InitFunctionCallInfoData(*call->call, &call->function, nargs, collation,
							 (Node *) context, NULL);
}

static void
prepare_calls(WindowAggregate *aggregate, const WindowFunc *call,
			  const AggregateFunctions *functions, Oid *types,
			  WindowAggState *context)
{
	int			nargs = aggregate->arguments.count;
	int			nresult_args = functions->extra_arguments ? nargs + 1 : 1;
	Expr	   *add;
	Expr	   *remove = NULL;
	Expr	   *result;

	build_aggregate_transfn_expr(types, nargs, 0, false,
								 functions->state_type, call->inputcollid,
								 functions->add, functions->remove, &add,
								 &remove);
	prepare_call(&aggregate->add, functions->add, add, nargs + 1,
				 call->inputcollid, context);
	if (OidIsValid(functions->remove))
		prepare_call(&aggregate->remove, functions->remove, remove, nargs + 1,
					 call->inputcollid, context);
	if (!OidIsValid(functions->result))
		return;
	build_aggregate_finalfn_expr(types, nresult_args, functions->state_type,
								 call->wintype, call->inputcollid,
								 functions->result, &result);
	prepare_call(&aggregate->result, functions->result, result, nresult_args,
				 call->inputcollid, context);
}

static void
set_initial_state(WindowAggregate *aggregate, HeapTuple tuple,
				  const AggregateFunctions *functions)
{
	Datum		value = SysCacheGetAttr(AGGFNOID, tuple,
										functions->initial_column,
										&aggregate->initial_isnull);
	Oid			input;
	Oid			parameter;
	char	   *string;

	if (aggregate->initial_isnull)
		return;
	getTypeInputInfo(functions->state_type, &input, &parameter);
	string = TextDatumGetCString(value);
	aggregate->initial = OidInputFunctionCall(input, string, parameter, -1);
	pfree(string);
}

/* Raises an error if functions have been changed so that they do not fit. */
static void
check_strictness(const WindowAggregate *aggregate, const WindowFunc *call,
				 const AggregateFunctions *functions, const Oid *types)
{
	bool		is_strict = aggregate->add.function.fn_strict;

	if (is_strict && aggregate->initial_isnull &&
		(aggregate->arguments.count < 1 ||
		 !IsBinaryCoercible(types[0], functions->state_type)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("aggregate %u needs to have compatible input type and transition type",
						call->winfnoid)));
	if (aggregate->remove.call != NULL &&
		aggregate->remove.function.fn_strict != is_strict)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("strictness of aggregate's forward and inverse transition functions must match")));
}

/* Prepares an exact sum, if that is what the aggregate computes. */
static void
init_exact(WindowAggregate *aggregate, const AggregateFunctions *functions)
{
	if (aggregate->arguments.count != 1 ||
		!exact_sum_finds(functions->add, functions->result,
						 &aggregate->exact_result) ||
		!exact_sum_begins(functions->add, aggregate->initial,
						  aggregate->initial_isnull))
		return;
	aggregate->exact = exact_sum_values(functions->add);
	if (OidIsValid(functions->remove) && aggregate->exact == EXACT_NUMERIC)
		aggregate->nscales = palloc0((EXACT_SCALE + 1) * sizeof(int64));
}

static void
init_aggregate(WindowAggregates *all, WindowAggregate *aggregate,
			   const WindowFunc *call, PlanState *parent)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID,
										ObjectIdGetDatum(call->winfnoid));
	AggregateFunctions functions;
	Oid			types[FUNC_MAX_ARGS];
	ListCell   *cell;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", call->winfnoid);
	functions = choose_functions((Form_pg_aggregate) GETSTRUCT(tuple), call,
								 all->frame->options);
	window_arguments_init(&aggregate->arguments, call, parent);
	check_functions(call->winfnoid, &functions);
	foreach(cell, call->args)
		types[foreach_current_index(cell)] = exprType(lfirst(cell));
	functions.state_type =
		resolve_aggregate_transtype(call->winfnoid, functions.state_type,
									types, aggregate->arguments.count);
	prepare_calls(aggregate, call, &functions, types, all->call_context);
	get_typlenbyval(functions.state_type, &aggregate->state_length,
					&aggregate->state_by_value);
	get_typlenbyval(call->wintype, &aggregate->result_length,
					&aggregate->result_by_value);
	set_initial_state(aggregate, tuple, &functions);
	check_strictness(aggregate, call, &functions, types);
	ReleaseSysCache(tuple);
	init_exact(aggregate, &functions);

	/* states that lose rows begin anew at different times */
	aggregate->memory = aggregate->remove.call == NULL ? all->memory :
		AllocSetContextCreate(CurrentMemoryContext, "gpusort aggregate",
							  ALLOCSET_DEFAULT_SIZES);
}

void
window_aggregates_init(WindowAggregates *all, WindowFrame *frame,
					   const List *calls, const List *places,
					   PlanState *parent, TupleTableSlot *ahead,
					   TupleTableSlot *behind)
{
	bool		removes = false;
	ListCell   *cell;

	memset(all, 0, sizeof(*all));
	all->frame = frame;
	all->count = list_length(calls);
	if (all->count == 0)
		return;
	all->aggregates = palloc0(all->count * sizeof(WindowAggregate));
	all->call_context = makeNode(WindowAggState);
	all->input_context = CreateExprContext(parent->state);
	all->memory = AllocSetContextCreate(CurrentMemoryContext,
										"gpusort aggregates",
										ALLOCSET_DEFAULT_SIZES);
	foreach(cell, calls)
	{
		WindowAggregate *aggregate =
			&all->aggregates[foreach_current_index(cell)];

		aggregate->place = list_nth_int(places, foreach_current_index(cell));
		init_aggregate(all, aggregate, lfirst(cell), parent);
		removes |= aggregate->remove.call != NULL;
	}
	if (!window_frame_grows_by_row(frame->options))
		all->ahead = window_rows_add_cursor(frame->rows, ahead, true, true);
	if (removes)
		all->behind = window_rows_add_cursor(frame->rows, behind, true, false);
}

/*
 * ---- states
 */

/* Begins with the first state, without rows. */
static void
begin_state(WindowAggregate *aggregate)
{
	MemoryContext caller_context = MemoryContextSwitchTo(aggregate->memory);

	aggregate->state = aggregate->initial_isnull ? (Datum) 0 :
		datumCopy(aggregate->initial, aggregate->state_by_value,
				  aggregate->state_length);
	MemoryContextSwitchTo(caller_context);
	aggregate->state_isnull = aggregate->initial_isnull;
	aggregate->nrows = 0;
	aggregate->last_is_copy = false;
	exact_sum_begin(&aggregate->sum);
	if (aggregate->nscales != NULL)
		memset(aggregate->nscales, 0, (EXACT_SCALE + 1) * sizeof(int64));
}

/* Replaces the state by what a function has returned. */
static void
set_state(WindowAggregate *aggregate, Datum state, bool isnull)
{
	bool		is_same = aggregate->state_by_value ||
		DatumGetPointer(state) == DatumGetPointer(aggregate->state);

	if (!is_same && !isnull)
	{
		MemoryContext caller_context =
			MemoryContextSwitchTo(aggregate->memory);

		/* an object that is in that memory already is taken over */
		if (!DatumIsReadWriteExpandedObject(state, false,
											aggregate->state_length) ||
			MemoryContextGetParent(DatumGetEOHP(state)->eoh_context) !=
			aggregate->memory)
			state = datumCopy(state, false, aggregate->state_length);
		MemoryContextSwitchTo(caller_context);
	}
	if (!is_same && !aggregate->state_isnull)
	{
		if (DatumIsReadWriteExpandedObject(aggregate->state, false,
										   aggregate->state_length))
			DeleteExpandedObject(aggregate->state);
		else
			pfree(DatumGetPointer(aggregate->state));
	}
	aggregate->state = state;
	aggregate->state_isnull = isnull;
}

/*
 * Evaluates the arguments for a row, for a call of this function.  False if
 * the row is left out: by the filter, or by a strict function because of a
 * NULL.
 */
static inline bool
take_arguments(const WindowAggregate *aggregate, AggregateCall *call,
			   TupleTableSlot *row, ExprContext *context)
{
	const WindowArguments *arguments = &aggregate->arguments;
	NullableDatum *args = call->call->args;

	if (unlikely(arguments->filter != NULL))
	{
		bool		isnull;
		Datum		passes;

		context->ecxt_outertuple = row;
		passes = ExecEvalExprSwitchContext(arguments->filter, context, &isnull);
		if (isnull || !DatumGetBool(passes))
			return false;
	}
	for (int i = 0; i < arguments->count; i++)
		args[i + 1].value = window_argument(&arguments->arguments[i], row,
											context, &args[i + 1].isnull);
	if (call->function.fn_strict)
	{
		for (int i = 1; i <= arguments->count; i++)
			if (args[i].isnull)
				return false;
	}
	return true;
}

/* Calls a function of a state, in the context's per-tuple memory. */
static inline Datum
call_with_state(WindowAggregates *all, const WindowAggregate *aggregate,
				AggregateCall *call, Datum state, ExprContext *context)
{
	MemoryContext caller_context =
		MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	Datum		value;

	call->call->args[0].value = state;
	call->call->args[0].isnull = aggregate->state_isnull;
	call->call->isnull = false;
	all->call_context->curaggcontext = aggregate->memory;
	value = FunctionCallInvoke(call->call);
	all->call_context->curaggcontext = NULL;
	MemoryContextSwitchTo(caller_context);
	return value;
}

/* Adds a numeric to the state of core's function, which takes any. */
static void
add_to_state(WindowAggregates *all, WindowAggregate *aggregate, Datum value)
{
	AggregateCall *add = &aggregate->add;

	add->call->args[1].value = value;
	add->call->args[1].isnull = false;
	aggregate->state = call_with_state(all, aggregate, add, aggregate->state,
									   all->input_context);
	aggregate->state_isnull = add->call->isnull;
}

/* Moves an exact sum to the state, if it has values. */
static void
move_sum(WindowAggregates *all, WindowAggregate *aggregate)
{
	MemoryContext caller_context;
	Datum		sum;

	if (aggregate->sum.count == 0)
		return;
	caller_context =
		MemoryContextSwitchTo(all->input_context->ecxt_per_tuple_memory);
	sum = exact_sum_numeric(&aggregate->sum, EXACT_NUMERIC);
	MemoryContextSwitchTo(caller_context);
	add_to_state(all, aggregate, sum);
}

/* Adds a numeric to an exact sum; false if it does not go there. */
static bool
add_numeric(WindowAggregate *aggregate, Datum value)
{
	ExactNumber number;

	if (!exact_number_of_numeric(value, &number) ||
		!exact_sum_add(&aggregate->sum, number.number, 1, number.scale))
		return false;
	if (aggregate->nscales != NULL)
		aggregate->nscales[number.scale]++;
	return true;
}

/* Adds a numeric to an exact sum, or to the state that has taken its place. */
static void
add_numeric_or_begin_state(WindowAggregates *all, WindowAggregate *aggregate,
						   Datum value)
{
	if (likely(aggregate->state_isnull))
	{
		if (likely(add_numeric(aggregate, value)))
			return;
		if (aggregate->remove.call != NULL)
		{
			aggregate->is_inexact = true;
			return;
		}
		move_sum(all, aggregate);
	}
	add_to_state(all, aggregate, value);
	aggregate->sum.count++;
}

/* Adds a value to an exact sum. */
static inline void
add_exactly(WindowAggregates *all, WindowAggregate *aggregate, Datum value)
{
	if (aggregate->exact != EXACT_NUMERIC)
		exact_sum_add_integer(&aggregate->sum,
							  exact_integer(aggregate->exact, value));
	else
		add_numeric_or_begin_state(all, aggregate, value);
}

/*
 * Removes a value from an exact sum.  Returns false if the sum would become too
 * large, or cannot have this value, as the argument was another one before.
 */
static bool
remove_exactly(WindowAggregate *aggregate, Datum value)
{
	ExactSum   *sum = &aggregate->sum;
	ExactNumber number;
	int128		difference;

	if (aggregate->exact != EXACT_NUMERIC)
		sum->sum -= exact_integer(aggregate->exact, value);
	else
	{
		if (!exact_number_of_numeric(value, &number) ||
			aggregate->nscales[number.scale] == 0 ||
			__builtin_sub_overflow(sum->sum, number.number, &difference))
			return false;
		sum->sum = difference;
		aggregate->nscales[number.scale]--;
		while (sum->scale > 0 && aggregate->nscales[sum->scale] == 0)
			sum->scale--;
	}
	sum->count--;
	return true;
}

/* Makes the result of an exact sum, or of the state that has taken its place. */
static Datum
make_exact_result(const WindowAggregate *aggregate, ExprContext *context,
				  bool *isnull)
{
	const ExactSum *sum = &aggregate->sum;
	MemoryContext caller_context =
		MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	Datum		value = (Datum) 0;

	*isnull = sum->count == 0;
	if (aggregate->exact == EXACT_NUMERIC && !aggregate->state_isnull)
		value = exact_result_of_state(aggregate->state, sum->count,
									  aggregate->exact_result);
	else if (!*isnull)
		value = exact_sum_result(sum, aggregate->exact,
								 aggregate->exact_result);
	MemoryContextSwitchTo(caller_context);
	return value;
}

/* Adds a row to the state. */
static inline void
add_row(WindowAggregates *all, WindowAggregate *aggregate, TupleTableSlot *row)
{
	AggregateCall *add = &aggregate->add;
	Datum		state;

	if (!take_arguments(aggregate, add, row, all->input_context))
		return;
	if (aggregate->exact != EXACT_NONE)
	{
		if (!add->call->args[1].isnull)
			add_exactly(all, aggregate, add->call->args[1].value);
		return;
	}
	if (add->function.fn_strict && unlikely(aggregate->state_isnull))
	{
		MemoryContext caller_context;

		/* a NULL that the function has returned stays */
		if (aggregate->nrows > 0)
			return;
		/* the first value is the state */
		caller_context = MemoryContextSwitchTo(aggregate->memory);
		aggregate->state = datumCopy(add->call->args[1].value,
									 aggregate->state_by_value,
									 aggregate->state_length);
		MemoryContextSwitchTo(caller_context);
		aggregate->state_isnull = false;
		aggregate->nrows = 1;
		return;
	}
	state = call_with_state(all, aggregate, add, aggregate->state,
							all->input_context);
	if (add->call->isnull && aggregate->remove.call != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("moving-aggregate transition function must not return null")));
	aggregate->nrows++;
	set_state(aggregate, state, add->call->isnull);
}

/* Removes the first row from the state; false if the function cannot. */
static bool
remove_row(WindowAggregates *all, WindowAggregate *aggregate,
		   TupleTableSlot *row)
{
	AggregateCall *remove = &aggregate->remove;
	Datum		state;

	if (!take_arguments(aggregate, remove, row, all->input_context))
		return true;
	if (aggregate->exact != EXACT_NONE)
		return remove->call->args[1].isnull ||
			remove_exactly(aggregate, remove->call->args[1].value);
	if (aggregate->state_isnull)
		elog(ERROR, "aggregate transition value is NULL before inverse transition");
	/* the first state, of no rows, may be NULL */
	if (aggregate->nrows == 1)
	{
		MemoryContextReset(aggregate->memory);
		begin_state(aggregate);
		return true;
	}
	state = call_with_state(all, aggregate, remove, aggregate->state,
							all->input_context);
	if (remove->call->isnull)
		return false;
	aggregate->nrows--;
	set_state(aggregate, state, false);
	return true;
}

/* Makes the result of the state, in the context's per-tuple memory. */
static Datum
make_result(WindowAggregates *all, WindowAggregate *aggregate,
			ExprContext *context, bool *isnull)
{
	AggregateCall *result = &aggregate->result;
	Datum		state;
	Datum		value;

	if (aggregate->exact != EXACT_NONE)
		return make_exact_result(aggregate, context, isnull);
	state = MakeExpandedObjectReadOnly(aggregate->state,
									   aggregate->state_isnull,
									   aggregate->state_length);
	if (result->call == NULL)
	{
		*isnull = aggregate->state_isnull;
		return state;
	}
	*isnull = result->function.fn_strict &&
		(aggregate->state_isnull || result->nargs > 1);
	if (*isnull)
		return (Datum) 0;
	for (int i = 1; i < result->nargs; i++)
	{
		result->call->args[i].value = (Datum) 0;
		result->call->args[i].isnull = true;
	}
	value = call_with_state(all, aggregate, result, state, context);
	*isnull = result->call->isnull;
	return MakeExpandedObjectReadOnly(value, *isnull, aggregate->result_length);
}

/*
 * ---- frames
 */

/* Does the present row surely have the frame of the row before? */
static bool
has_same_frame(const WindowAggregates *all, int64 head)
{
	const WindowFrame *frame = all->frame;

	return all->base == head && all->end > frame->row &&
		!window_frame_excludes(frame->options) &&
		(frame->options & (FRAMEOPTION_END_UNBOUNDED_FOLLOWING |
						   FRAMEOPTION_END_CURRENT_ROW)) != 0 &&
		all->base <= frame->row;
}

/* Will no other row have the same frame? */
static bool
is_frame_of_one_row(const WindowFrame *frame)
{
	const int	to_row = FRAMEOPTION_ROWS | FRAMEOPTION_END_CURRENT_ROW;

	return (frame->options & to_row) == to_row ||
		window_frame_excludes(frame->options);
}

/* Finds which aggregates have to add all rows anew; returns their number. */
static int
find_restarts(WindowAggregates *all, int64 head)
{
	int			count = 0;

	for (int i = 0; i < all->count; i++)
	{
		WindowAggregate *aggregate = &all->aggregates[i];

		aggregate->restarts = all->frame->new_partition || all->end <= head ||
			window_frame_excludes(all->frame->options) ||
			(all->base != head && aggregate->remove.call == NULL);
		count += aggregate->restarts;
	}
	return count;
}

/*
 * Removes the rows before the frame from the states that do not begin anew.
 * Returns the number of states that have to.
 */
static int
remove_rows(WindowAggregates *all, int64 head, int nrestarts)
{
	for (; all->base < head && nrestarts < all->count; all->base++)
	{
		TupleTableSlot *row = window_rows_fetch(all->frame->rows, all->behind,
												all->base);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < all->count; i++)
		{
			WindowAggregate *aggregate = &all->aggregates[i];

			if (!aggregate->restarts && !remove_row(all, aggregate, row))
			{
				aggregate->restarts = true;
				nrestarts++;
			}
		}
		ResetExprContext(all->input_context);
	}
	all->base = head;
	return nrestarts;
}

/* Begins the states anew that have to, and frees the last results of others. */
static void
begin_states(WindowAggregates *all)
{
	for (int i = 0; i < all->count; i++)
		if (all->aggregates[i].restarts)
			MemoryContextReset(all->aggregates[i].memory);
	for (int i = 0; i < all->count; i++)
	{
		WindowAggregate *aggregate = &all->aggregates[i];

		if (aggregate->restarts)
			begin_state(aggregate);
		else if (aggregate->last_is_copy)
		{
			pfree(DatumGetPointer(aggregate->last_result));
			aggregate->last_is_copy = false;
		}
	}
}

/*
 * Lets the functions go on where exact sums cannot; returns the number of these
 * aggregates, which have to add all rows anew.
 */
static int
find_inexact(WindowAggregates *all)
{
	int			count = 0;

	for (int i = 0; i < all->count; i++)
	{
		WindowAggregate *aggregate = &all->aggregates[i];

		aggregate->restarts = aggregate->is_inexact;
		if (!aggregate->is_inexact)
			continue;
		aggregate->is_inexact = false;
		aggregate->exact = EXACT_NONE;
		count++;
	}
	return count;
}

/*
 * Adds the rows up to the end of the frame.  The states that did not begin anew
 * have the rows before "known".
 */
static void
add_rows(WindowAggregates *all, TupleTableSlot *present, int64 known)
{
	WindowFrame *frame = all->frame;

	for (; window_frame_ends_behind(frame, all->end); all->end++)
	{
		TupleTableSlot *row;

		CHECK_FOR_INTERRUPTS();
		if (unlikely(window_frame_excludes(frame->options)) &&
			window_frame_leaves_out(frame, all->end))
			continue;
		row = all->end == frame->row ? present :
			window_rows_fetch(frame->rows, all->ahead, all->end);
		for (int i = 0; i < all->count; i++)
		{
			WindowAggregate *aggregate = &all->aggregates[i];

			if (aggregate->restarts || all->end >= known)
				add_row(all, aggregate, row);
		}
		ResetExprContext(all->input_context);
	}
}

/* Makes the results, and keeps them if further rows may have the same frame. */
static void
make_results(WindowAggregates *all, ExprContext *context, Datum *values,
			 bool *isnull)
{
	for (int i = 0; i < all->count; i++)
	{
		WindowAggregate *aggregate = &all->aggregates[i];
		int			place = aggregate->place;
		Datum		value = make_result(all, aggregate, context,
										&isnull[place]);

		values[place] = value;
		aggregate->last_result = value;
		aggregate->last_isnull = isnull[place];
		/* without a final function it is the state, which stays */
		if (!aggregate->result_by_value && !isnull[place] &&
			aggregate->result.call != NULL && !is_frame_of_one_row(all->frame))
		{
			MemoryContext caller_context =
				MemoryContextSwitchTo(aggregate->memory);

			aggregate->last_result = datumCopy(value, false,
											   aggregate->result_length);
			aggregate->last_is_copy = true;
			MemoryContextSwitchTo(caller_context);
		}
	}
}

/* Takes the results of the row before, which has the same frame. */
static void
take_last_results(const WindowAggregates *all, Datum *values, bool *isnull)
{
	for (int i = 0; i < all->count; i++)
	{
		const WindowAggregate *aggregate = &all->aggregates[i];

		values[aggregate->place] = aggregate->last_result;
		isnull[aggregate->place] = aggregate->last_isnull;
	}
}

void
window_aggregates_results(WindowAggregates *all, TupleTableSlot *row,
						  ExprContext *context, Datum *values, bool *isnull)
{
	WindowFrame *frame = all->frame;
	int64		head = window_frame_head(frame);
	int64		known;
	int			nrestarts;

	if (frame->new_partition)
		all->base = all->end = frame->start;
	if (has_same_frame(all, head))
	{
		take_last_results(all, values, isnull);
		return;
	}
	nrestarts = remove_rows(all, head, find_restarts(all, head));
	do
	{
		begin_states(all);
		known = all->end;
		if (nrestarts > 0)
			all->end = head;
		add_rows(all, row, known);
		nrestarts = find_inexact(all);
	} while (nrestarts > 0);
	make_results(all, context, values, isnull);
}

int64
window_aggregates_first_row(const WindowAggregates *all)
{
	const WindowFrame *frame = all->frame;

	if (all->ahead == NULL)
		return frame->row;
	return Min(window_frame_head_moves(frame->options) ||
			   window_frame_excludes(frame->options) ? all->base : all->end,
			   frame->row);
}

void
window_aggregates_reset(WindowAggregates *all)
{
	if (all->count == 0)
		return;
	MemoryContextReset(all->memory);
	for (int i = 0; i < all->count; i++)
		if (all->aggregates[i].memory != all->memory)
			MemoryContextReset(all->aggregates[i].memory);
	ResetExprContext(all->input_context);
}
