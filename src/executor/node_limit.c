/*-------------------------------------------------------------------------
 *
 * node_limit.c
 *	  The limit of the rows of each group, in a plan node that sorts.
 *
 * Below a node that looks only at the first rows of each group, the sort may
 * leave out the others (group_limit.c).  How many rows are wanted is an
 * expression.  It is evaluated when rows are sorted, and not if there are no
 * rows, as core does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "executor/node_limit.h"
#include "port/compat.h"

void
node_limit_set(NodeLimit *node_limit, const PlannedGroupLimit *planned)
{
	GroupLimit *limit = &node_limit->limit;

	if (planned->ngroup_columns == 0)
		return;
	limit->unit = planned->unit;
	limit->ngroup_columns = planned->ngroup_columns;
	node_limit->expression = planned->count;
	node_limit->more = planned->more;
	limit->npeer_columns = list_length(planned->equal);
	limit->equal = palloc(limit->npeer_columns * sizeof(FmgrInfo));
	for (int i = 0; i < limit->npeer_columns; i++)
		fmgr_info(get_opcode(list_nth_oid(planned->equal, i)), &limit->equal[i]);
}

int64
node_limit_integer(Datum value, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		default:
			Assert(type == INT8OID);
			return DatumGetInt64(value);
	}
}

/* Returns the units that are wanted of a group if a limit has this count. */
static int64
wanted_units(const NodeLimit *limit, int64 count)
{
	int64		units;

	if (pg_add_s64_overflow(count, limit->more, &units))
		units = count;
	return Max(units, 1);
}

/* Returns how many rows of a group are wanted now: always at least one. */
static uint64
current_count(void *finder)
{
	const NodeLimit *limit = finder;
	bool		isnull;
	Datum		value = ExecEvalExprSwitchContext(limit->count,
												  limit->node->ss.ps.ps_ExprContext,
												  &isnull);

	return isnull ? 1 :
		wanted_units(limit,
					 node_limit_integer(value,
										exprType((Node *) limit->count->expr)));
}

void
node_limit_begin(NodeLimit *limit, CustomScanState *node)
{
	if (!node_has_limit(limit))
		return;
	limit->node = node;
	limit->count = ExecInitExpr(limit->expression, &node->ss.ps);
	limit->limit.find_count = current_count;
	limit->limit.finder = limit;
}

/*
 * May the count be evaluated when the first row has come?  Core evaluates it
 * after the last row.  So it must not raise an error, as a row may do that
 * first, nor run another plan.
 */
static bool
counts_early(const NodeLimit *limit)
{
	const EState *estate = limit->node->ss.ps.state;
	const Param *param = (const Param *) limit->expression;

	if (!IsA(param, Param))
		return IsA(param, Const);
	return param->paramkind == PARAM_EXTERN ||
		(param->paramkind == PARAM_EXEC &&
		 estate->es_param_exec_vals[param->paramid].execPlan == NULL);
}

GroupLimit *
node_limit_of_sort(NodeLimit *limit)
{
	if (!node_has_limit(limit))
		return NULL;
	limit->limit.count = 0;
	limit->limit.counts_early = counts_early(limit);
	return &limit->limit;
}

bool
node_limit_suffices(NodeLimit *limit)
{
	/* if the count was not asked for, nothing was left out */
	return !node_has_limit(limit) || limit->limit.count == 0 ||
		current_count(limit) <= limit->limit.count;
}

void
node_limit_explain(const NodeLimit *limit, const CustomScanState *node,
				   List *ancestors, ExplainState *es)
{
	static const char *const forms[] = {
		[LIMITS_ROWS] = "%s",
		[LIMITS_ROWS_WITH_PEERS] = "%s and their peers",
		[LIMITS_PEER_GROUPS] = "%s groups of peers"
	};
	Node	   *count = (Node *) limit->expression;
	char	   *text;

	if (IsA(count, Const) && !((Const *) count)->constisnull)
		text = psprintf(INT64_FORMAT,
						wanted_units(limit,
									 node_limit_integer(((Const *) count)->constvalue,
														exprType(count))));
	else
		text = psprintf("%s%s%s", limit->more < 0 ? "fewer than " : "",
						deparse_expression(count,
										   set_deparse_context_plan(es->deparse_cxt,
																	node->ss.ps.plan,
																	ancestors),
										   false, false),
						limit->more > 0 ? " and one more" : "");
	ExplainPropertyText("Rows per Group",
						psprintf(forms[limit->limit.unit], text), es);
}
