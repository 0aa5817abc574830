/*-------------------------------------------------------------------------
 *
 * first_rows.c
 *	  PostgreSQL's Sort for a few first rows, in the place of a GpuSort.
 *
 * The planner leaves a Sort as it is if it knows that few rows are wanted.
 * How many rows the LIMIT $1 of a generic plan wants is known only when the
 * query begins.  A GpuSort finds that out when it sorts (sort_bound.c), and
 * lets core's heap of the first rows sort them.  But a custom scan takes
 * longer to begin than a Sort, which matters if the whole query takes some
 * microseconds.
 *
 * So the Sort is put back before the plan is begun, in the plans that
 * applications send: the topmost node is a Limit of parameters, above a
 * GpuSort or above a Gather Merge of a GpuSort.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "cost/sort_choice.h"
#include "executor/first_rows.h"
#include "executor/gpusort_plan.h"
#include "executor/node_gpusort.h"

/*
 * Returns the expression below the cast that the parser puts around an
 * integer.
 */
static const Node *
without_widening(const Node *expr)
{
	const FuncExpr *cast = (const FuncExpr *) expr;

	if (IsA(expr, FuncExpr) &&
		(cast->funcid == F_INT8_INT4 || cast->funcid == F_INT8_INT2))
		return linitial(cast->args);
	return expr;
}

/*
 * Sets *rows to the value of an integer parameter; false if the parameter has
 * another type.
 */
static bool
integer_value(const ParamExternData *value, double *rows)
{
	switch (value->ptype)
	{
		case INT8OID:
			*rows = DatumGetInt64(value->value);
			return true;
		case INT4OID:
			*rows = DatumGetInt32(value->value);
			return true;
		case INT2OID:
			*rows = DatumGetInt16(value->value);
			return true;
		default:
			return false;
	}
}

/*
 * Sets *rows to a number of rows of a Limit, if that is a constant or an
 * integer parameter of the query.  Returns false if it is anything else, or
 * NULL.
 */
static bool
known_rows(const Node *expr, ParamListInfo params, double *rows)
{
	const Param *param;
	ParamExternData space;
	ParamExternData *value;

	if (expr == NULL)
	{
		*rows = 0;
		return true;
	}
	if (IsA(expr, Const))
	{
		*rows = DatumGetInt64(((const Const *) expr)->constvalue);
		return !((const Const *) expr)->constisnull;
	}
	param = (const Param *) without_widening(expr);
	if (!IsA(param, Param) || param->paramkind != PARAM_EXTERN ||
		params == NULL || param->paramid > params->numParams)
		return false;
	/* a speculative look: whoever has the parameters raises no error */
	value = params->paramFetch != NULL ?
		params->paramFetch(params, param->paramid, true, &space) :
		&params->params[param->paramid - 1];
	return !value->isnull && integer_value(value, rows);
}

double
first_rows_wanted(const Limit *limit, ParamListInfo params)
{
	double		count;
	double		offset;

	if (limit->limitCount == NULL || limit->limitOption != LIMIT_OPTION_COUNT ||
		!known_rows(limit->limitCount, params, &count) || count < 0 ||
		!known_rows(limit->limitOffset, params, &offset) || offset < 0)
		return NO_BOUND;
	return count + offset;
}

/* Returns the Gather Merge below a Limit, or NULL. */
static const GatherMerge *
gather_below(const Limit *limit)
{
	const Plan *child = limit->plan.lefttree;

	return IsA(child, GatherMerge) ? (const GatherMerge *) child : NULL;
}

/*
 * Returns the GpuSort below a Limit, or below its Gather Merge; NULL if there
 * is none.
 */
static const CustomScan *
gpusort_below(const Limit *limit)
{
	const GatherMerge *gather = gather_below(limit);
	const Plan *child = gather != NULL ? gather->plan.lefttree :
		limit->plan.lefttree;

	return is_gpusort(child) ? (const CustomScan *) child : NULL;
}

/*
 * Returns whether a Limit above a GpuSort wants only a few first rows.  Below
 * a Gather Merge, the rows have to be few for a sort of each process, and for
 * a sort of all processes together.
 */
static bool
wants_few(const Limit *limit, const PlannedStmt *statement,
		  ParamListInfo params)
{
	double		wanted = first_rows_wanted(limit, params);
	const GatherMerge *gather = gather_below(limit);
	SortSize	size;

	if (wanted == NO_BOUND || wanted == 0)
		return wanted == 0;
	size = gpusort_size(gpusort_below(limit), statement->rtable);
	return sort_choose(&size, 1, wanted) == SORT_NATIVELY &&
		(gather == NULL ||
		 sort_choose(&size, sort_members(gather->num_workers),
					 wanted) == SORT_NATIVELY);
}

/* Copies a Limit, with core's Sort in the place of the GpuSort. */
static Plan *
with_core_sort(const Limit *limit)
{
	const GatherMerge *gather = gather_below(limit);
	Limit	   *new_limit = makeNode(Limit);
	Plan	   *sort = (Plan *) gpusort_core_sort(gpusort_below(limit));

	*new_limit = *limit;
	new_limit->plan.lefttree = sort;
	if (gather != NULL)
	{
		GatherMerge *new_gather = makeNode(GatherMerge);

		*new_gather = *gather;
		new_gather->plan.lefttree = sort;
		new_limit->plan.lefttree = (Plan *) new_gather;
	}
	return (Plan *) new_limit;
}

PlannedStmt *
first_rows_choose_plan(const QueryDesc *query)
{
	PlannedStmt *statement = query->plannedstmt;
	const Limit *limit = (const Limit *) statement->planTree;
	MemoryContext caller_context;

	if (!IsA(limit, Limit) || gpusort_below(limit) == NULL ||
		!gpusort_has_all_columns(gpusort_below(limit)) ||
		!wants_few(limit, statement, query->params))
		return statement;

	caller_context = MemoryContextSwitchTo(GetMemoryChunkContext((void *) query));
	statement = makeNode(PlannedStmt);
	*statement = *query->plannedstmt;
	statement->planTree = with_core_sort(limit);
	MemoryContextSwitchTo(caller_context);
	return statement;
}
