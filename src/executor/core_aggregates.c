/*-------------------------------------------------------------------------
 *
 * core_aggregates.c
 *	  Core's aggregates, over the rows of a group that the caller reads.
 *
 * Core's own AggState has all that aggregates need: the transition functions
 * with their arguments and filters as one expression, which may be compiled,
 * the states, the final functions, and the HAVING clause.  It checks who may
 * call which function, and tells a function in which memory its state lives
 * and what called it.  So whatever an aggregate does, it does here.  Only the
 * loop of the node is left out, which fetches rows and compares them: the
 * caller knows where a group begins.
 *
 * The state gets a child that is never run, since core asks the child of what
 * columns its rows are, and in which kind of slot they come.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"

#include "executor/core_aggregates.h"

/*
 * Returns a plan of rows with these columns in slots of this kind, which is
 * never run.
 */
static Plan *
make_child(const List *columns, const TupleTableSlotOps *kind)
{
	Material   *material = makeNode(Material);
	Result	   *result = makeNode(Result);
	ListCell   *cell;

	foreach(cell, columns)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);
		const Node *expr = (const Node *) entry->expr;
		Const	   *null = makeNullConst(exprType(expr), exprTypmod(expr),
										 exprCollation(expr));

		result->plan.targetlist =
			lappend(result->plan.targetlist,
					makeTargetEntry((Expr *) null, entry->resno, NULL, false));
	}
	if (kind == &TTSOpsVirtual)
		return &result->plan;
	material->plan.targetlist = result->plan.targetlist;
	material->plan.lefttree = &result->plan;
	return &material->plan;
}

AggState *
core_aggregates_begin(Agg *agg, const List *columns,
					  const TupleTableSlotOps *kind, EState *estate,
					  int eflags)
{
	agg->plan.lefttree = make_child(columns, kind);
	return ExecInitAgg(agg, estate, eflags);
}

void
core_aggregates_rescan(AggState *aggregates)
{
	ReScanExprContext(aggregates->ss.ps.ps_ExprContext);
	ExecReScanAgg(aggregates);
}

void
core_aggregates_begin_group(AggState *aggregates, int set)
{
	ExprContext *context = aggregates->aggcontexts[set];
	AggStatePerGroup states = aggregates->pergroups[set];

	/* functions may have asked to be called when their state goes */
	ReScanExprContext(context);
	for (int i = 0; i < aggregates->numtrans; i++)
	{
		AggStatePerTrans transition = &aggregates->pertrans[i];
		bool		isnull = transition->initValueIsNull;

		states[i].transValueIsNull = isnull;
		states[i].noTransValue = isnull;
		if (isnull || transition->transtypeByVal)
			states[i].transValue = transition->initValue;
		else
		{
			MemoryContext caller_context =
				MemoryContextSwitchTo(context->ecxt_per_tuple_memory);

			states[i].transValue = datumCopy(transition->initValue, false,
											 transition->transtypeLen);
			MemoryContextSwitchTo(caller_context);
		}
	}
}

/* Calls the final function of an aggregate. */
static Datum
call_final(AggState *aggregates, AggStatePerAgg aggregate, Datum state,
		   bool state_isnull, bool *isnull)
{
	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	Datum		value;

	InitFunctionCallInfoData(*call, &aggregate->finalfn,
							 aggregate->numFinalArgs,
							 aggregates->pertrans[aggregate->transno].aggCollation,
							 (Node *) aggregates, NULL);
	call->args[0].value = state;
	call->args[0].isnull = state_isnull;
	/* further arguments only tell types */
	for (int i = 1; i < aggregate->numFinalArgs; i++)
	{
		call->args[i].value = (Datum) 0;
		call->args[i].isnull = true;
	}
	*isnull = aggregate->finalfn.fn_strict &&
		(state_isnull || aggregate->numFinalArgs > 1);
	if (*isnull)
		return (Datum) 0;
	aggregates->curperagg = aggregate;
	value = FunctionCallInvoke(call);
	aggregates->curperagg = NULL;
	*isnull = call->isnull;
	return MakeExpandedObjectReadOnly(value, *isnull,
									  aggregate->resulttypeLen);
}

/* Calls the function that makes bytes of a state. */
static Datum
call_serial(AggStatePerTrans transition, Datum state, bool state_isnull,
			bool *isnull)
{
	FunctionCallInfo call = transition->serialfn_fcinfo;
	Datum		value;

	*isnull = transition->serialfn.fn_strict && state_isnull;
	if (*isnull)
		return (Datum) 0;
	call->args[0].value = state;
	call->args[0].isnull = state_isnull;
	call->isnull = false;
	value = FunctionCallInvoke(call);
	*isnull = call->isnull;
	return value;
}

/* Sets the columns that are not of the present set to NULL in a row. */
static void
blank_columns(AggState *aggregates, TupleTableSlot *row)
{
	const List *columns = aggregates->all_grouped_cols;
	ListCell   *cell;

	if (TTS_EMPTY(row))
	{
		ExecStoreAllNullTuple(row);
		return;
	}
	/* the last column is the first of the list */
	slot_getsomeattrs(row, linitial_int(columns));
	foreach(cell, columns)
	{
		if (!bms_is_member(lfirst_int(cell), aggregates->grouped_cols))
			row->tts_isnull[lfirst_int(cell) - 1] = true;
	}
}

/* Makes a set the present one: functions ask for it, and so does GROUPING(). */
static void
choose_set(AggState *aggregates, int set)
{
	aggregates->curaggcontext = aggregates->aggcontexts[set];
	aggregates->current_set = set;
	if (aggregates->phase->grouped_cols != NULL)
		aggregates->grouped_cols = aggregates->phase->grouped_cols[set];
}

void
core_aggregates_add_value(AggState *aggregates, int set, int transno,
						  Datum value)
{
	AggStatePerTrans transition = &aggregates->pertrans[transno];
	AggStatePerGroup state = &aggregates->pergroups[set][transno];
	FunctionCallInfo call = transition->transfn_fcinfo;
	MemoryContext caller_context =
		MemoryContextSwitchTo(aggregates->tmpcontext->ecxt_per_tuple_memory);

	Assert(transition->transtypeByVal);
	choose_set(aggregates, set);
	aggregates->curpertrans = transition;
	call->args[0].value = state->transValue;
	call->args[0].isnull = state->transValueIsNull;
	call->args[1].value = value;
	call->args[1].isnull = false;
	call->isnull = false;
	state->transValue = FunctionCallInvoke(call);
	state->transValueIsNull = call->isnull;
	state->noTransValue = false;
	aggregates->curpertrans = NULL;
	MemoryContextSwitchTo(caller_context);
}

MemoryContext
core_aggregates_begin_results(AggState *aggregates, int set,
							  TupleTableSlot *first)
{
	ExprContext *context = aggregates->ss.ps.ps_ExprContext;

	choose_set(aggregates, set);
	/* the first set has all columns, and so has one that is alone */
	if (set > 0 || TTS_EMPTY(first))
		blank_columns(aggregates, first);
	ResetExprContext(context);
	return MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
}

Datum
core_aggregates_result(AggState *aggregates, int aggno, bool *isnull)
{
	AggStatePerAgg aggregate = &aggregates->peragg[aggno];
	AggStatePerGroup state =
		&aggregates->pergroups[aggregates->current_set][aggregate->transno];
	AggStatePerTrans transition = &aggregates->pertrans[aggregate->transno];
	Datum		value = MakeExpandedObjectReadOnly(state->transValue,
												   state->transValueIsNull,
												   transition->transtypeLen);

	/* it has one only if states are emitted for another Agg */
	if (OidIsValid(transition->serialfn_oid))
		return call_serial(transition, value, state->transValueIsNull, isnull);
	if (OidIsValid(aggregate->finalfn_oid))
		return call_final(aggregates, aggregate, value,
						  state->transValueIsNull, isnull);
	*isnull = state->transValueIsNull;
	return value;
}

TupleTableSlot *
core_aggregates_end_results(AggState *aggregates, TupleTableSlot *first)
{
	PlanState  *node = &aggregates->ss.ps;

	node->ps_ExprContext->ecxt_outertuple = first;
	return ExecQual(node->qual, node->ps_ExprContext) ?
		ExecProject(node->ps_ProjInfo) : NULL;
}

TupleTableSlot *
core_aggregates_emit(AggState *aggregates, int set, TupleTableSlot *first)
{
	ExprContext *context = aggregates->ss.ps.ps_ExprContext;
	MemoryContext caller_context =
		core_aggregates_begin_results(aggregates, set, first);

	for (int i = 0; i < aggregates->numaggs; i++)
		context->ecxt_aggvalues[i] =
			core_aggregates_result(aggregates, i, &context->ecxt_aggnulls[i]);
	MemoryContextSwitchTo(caller_context);
	return core_aggregates_end_results(aggregates, first);
}
