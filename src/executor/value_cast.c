/*-------------------------------------------------------------------------
 *
 * value_cast.c
 *	  The cast of the values that a node sorts.
 *
 * Core knows percentile_cont() only of double precision and of intervals.  It
 * casts each numeric through its text, which takes more time than everything
 * else that happens to the value.  So the node below emits numerics, and they
 * are cast here: mostly by one division.
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
#include "port/compat.h"

/*
 * Returns whether a node computes its columns itself.  Other nodes have their
 * columns from their children or from an index, which may have only the value
 * that was cast.
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
value_cast_take(Plan *child, AttrNumber column)
{
	const TargetEntry *entry = list_nth(child->targetlist, column - 1);
	const FuncExpr *call = (const FuncExpr *) entry->expr;

	if (!IsA(call, FuncExpr) || call->funcid != F_FLOAT8_NUMERIC ||
		!computes_columns(child))
		return InvalidOid;
	child->targetlist = list_copy(child->targetlist);
	lfirst(list_nth_cell(child->targetlist, column - 1)) =
		makeTargetEntry(linitial(call->args), column, NULL, false);
	return call->funcid;
}

Expr *
value_cast_of(Oid function, Expr *value)
{
	return OidIsValid(function) ?
		(Expr *) makeFuncExpr(function, FLOAT8OID, list_make1(value), InvalidOid,
							  InvalidOid, COERCE_IMPLICIT_CAST) : value;
}

/* Casts a numeric as core does, with an error if it is out of range. */
static float8
cast_as_core(Datum value, ExprContext *context)
{
	MemoryContext caller_context =
		MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	float8		number = DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));

	MemoryContextSwitchTo(caller_context);
	ResetExprContext(context);
	return number;
}

Datum
value_cast_do(Datum value, ExprContext *context)
{
	float8		number;

	if (!numeric_as_float8(value, &number))
		number = cast_as_core(value, context);
	return Float8GetDatumFast(number);
}
