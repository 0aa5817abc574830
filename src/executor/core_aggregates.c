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

/* Returns a plan of minimal tuples with these columns, which is never run. */
static Plan *
make_child(const List *columns)
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
	material->plan.targetlist = result->plan.targetlist;
	material->plan.lefttree = &result->plan;
	return &material->plan;
}

AggState *
core_aggregates_begin(Agg *agg, const List *columns, EState *estate,
					  int eflags)
{
	agg->plan.lefttree = make_child(columns);
	return ExecInitAgg(agg, estate, eflags);
}

void
core_aggregates_rescan(AggState *aggregates)
{
	ReScanExprContext(aggregates->ss.ps.ps_ExprContext);
	ExecReScanAgg(aggregates);
}

void
core_aggregates_begin_group(AggState *aggregates)
{
	ExprContext *context = aggregates->aggcontexts[0];
	AggStatePerGroup states = aggregates->pergroups[0];

	ResetExprContext(aggregates->ss.ps.ps_ExprContext);
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

/* Returns the result of an aggregate. */
static inline Datum
make_result(AggState *aggregates, AggStatePerAgg aggregate, bool *isnull)
{
	AggStatePerGroup state = &aggregates->pergroups[0][aggregate->transno];
	int16		length = aggregates->pertrans[aggregate->transno].transtypeLen;
	Datum		value = MakeExpandedObjectReadOnly(state->transValue,
												   state->transValueIsNull,
												   length);

	if (OidIsValid(aggregate->finalfn_oid))
		return call_final(aggregates, aggregate, value,
						  state->transValueIsNull, isnull);
	*isnull = state->transValueIsNull;
	return value;
}

TupleTableSlot *
core_aggregates_emit(AggState *aggregates, TupleTableSlot *first)
{
	PlanState  *node = &aggregates->ss.ps;
	ExprContext *context = node->ps_ExprContext;
	MemoryContext caller_context =
		MemoryContextSwitchTo(context->ecxt_per_tuple_memory);

	for (int i = 0; i < aggregates->numaggs; i++)
		context->ecxt_aggvalues[i] = make_result(aggregates,
												 &aggregates->peragg[i],
												 &context->ecxt_aggnulls[i]);
	MemoryContextSwitchTo(caller_context);
	context->ecxt_outertuple = first;
	return ExecQual(node->qual, context) ? ExecProject(node->ps_ProjInfo) :
		NULL;
}
