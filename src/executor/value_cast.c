/*-------------------------------------------------------------------------
 *
 * value_cast.c
 *	  The cast of the values that a node sorts.
 *
 * Core knows percentile_cont() of double precision and of intervals only.  Of
 * numerics each one is cast, through its text, which takes more time than all else
 * that happens to a value.  So the node below emits numerics, and they are cast
 * here: by one division, mostly.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "executor/value_cast.h"
#include "keys/numeric_float8.h"

/*
 * Does a node compute its columns itself, of what is below it?  Others have them
 * from their children or from an index, where only the cast value may be.
 */
static bool
computes_columns(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_BitmapHeapScan:
		case T_SubqueryScan:
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
		case T_Result:
			return true;
		default:
			return false;
	}
}

Oid
value_cast_take(Plan *child)
{
	const TargetEntry *column = linitial(child->targetlist);
	const FuncExpr *call = (const FuncExpr *) column->expr;

	if (!IsA(call, FuncExpr) || call->funcid != F_FLOAT8_NUMERIC ||
		!computes_columns(child))
		return InvalidOid;
	Assert(list_length(child->targetlist) == 1);
	child->targetlist = list_make1(makeTargetEntry(linitial(call->args), 1,
												   NULL, false));
	return call->funcid;
}

Expr *
value_cast_of(Oid function, Expr *value)
{
	return OidIsValid(function) ?
		(Expr *) makeFuncExpr(function, FLOAT8OID, list_make1(value), InvalidOid,
							  InvalidOid, COERCE_IMPLICIT_CAST) : value;
}

/* As core casts it, with an error if it is out of range. */
static float8
cast_as_core(ParallelSort *sort, Datum value)
{
	ExprContext *context = sort->css.ss.ps.ps_ExprContext;
	MemoryContext caller_context =
		MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	float8		number = DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));

	MemoryContextSwitchTo(caller_context);
	ResetExprContext(context);
	return number;
}

static TupleTableSlot *
cast_row(ParallelSort *sort, TupleTableSlot *row)
{
	TupleTableSlot *cast = sort->made_row;
	Datum		value;
	float8		number = 0;

	ExecClearTuple(cast);
	value = slot_getattr(row, 1, &cast->tts_isnull[0]);
	if (!cast->tts_isnull[0] && !numeric_as_float8(value, &number))
		number = cast_as_core(sort, value);
	cast->tts_values[0] = Float8GetDatumFast(number);
	return ExecStoreVirtualTuple(cast);
}

void
value_cast_begin(ParallelSort *sort, EState *estate)
{
	sort->descriptor = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(sort->descriptor, 1, NULL, FLOAT8OID, -1, 0);
	sort->made_row = ExecInitExtraTupleSlot(estate, sort->descriptor,
											&TTSOpsVirtual);
	sort->make_row = cast_row;
}
