/*-------------------------------------------------------------------------
 *
 * plan_sort.c
 *	  Putting GpuSort nodes in the place of Sort nodes.
 *
 * The planner is left alone.  Its finished plan is walked, and every Sort
 * that can be taken over is replaced by a CustomScan with the same child,
 * costs and target list: at that point all sort columns are resolved, and
 * also the Sorts are there that the planner makes without any path, below
 * merge joins, Append, Unique and grouping sets.
 *
 * A Sort stays native
 *	- below an Agg that drives its sorts itself (Agg->chain, which the walk
 *	  does not enter), and if it is an IncrementalSort;
 *	- where only the first rows are wanted and they are few: core keeps just
 *	  those in a heap, which is hard to beat;
 *	- if the estimates say that it is too small to gain, or so large that it
 *	  does not fit the memory setting;
 *	- if its first column's type, collation or ordering has no key encoding.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"

#include "compat.h"
#include "node_gpusort.h"
#include "plan_sort.h"
#include "settings.h"
#include "shared_state.h"
#include "sort_keys.h"

/* How many rows a node's parent may stop after. */
#define NO_BOUND			(-1.0)

/* What core's sort and ours need a row beside its data, about. */
#define ROW_OVERHEAD_BYTES	(SizeofMinimalTupleHeader + 32)

static planner_hook_type previous_planner_hook;

static Plan *rewrite_plan(Plan *plan, double bound);

/* The rows a Limit asks its child for, as the planner sees it. */
static double
limit_bound(const Limit *limit)
{
	const Const *offset = (Const *) limit->limitOffset;
	double		bound = limit->plan.plan_rows;

	if (limit->limitCount == NULL || limit->limitOption != LIMIT_OPTION_COUNT)
		return NO_BOUND;
	if (offset != NULL && IsA(offset, Const) && !offset->constisnull)
		bound += DatumGetInt64(offset->constvalue);
	return bound;
}

/* Does a row limit above the node reach its child, as ExecSetTupleBound() has it? */
static bool
passes_bound(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Append:
		case T_MergeAppend:
		case T_Result:
		case T_Gather:
		case T_GatherMerge:
			return true;
		case T_SubqueryScan:
			return plan->qual == NIL;
		default:
			return false;
	}
}

/* Should this Sort stay as it is?  If so, *reason is why. */
static bool
leave_native(const Sort *sort, double bound, Statistic *reason)
{
	double		rows = sort->plan.lefttree->plan_rows;
	const TargetEntry *first = list_nth(sort->plan.targetlist,
										sort->sortColIdx[0] - 1);
	KeyObstacle obstacle = sort_keys_obstacle(exprType((Node *) first->expr),
											  sort->sortOperators[0],
											  sort->collations[0]);

	if (obstacle == KEY_TYPE)
		*reason = STAT_NATIVE_TYPE;
	else if (obstacle == KEY_COLLATION)
		*reason = STAT_NATIVE_COLLATION;
	else if (obstacle == KEY_OPERATOR)
		*reason = STAT_NATIVE_OPERATOR;
	else if (rows < gpusort_min_rows)
		*reason = STAT_NATIVE_SMALL;
	/* core keeps a heap of the first rows up to half of them */
	else if (bound != NO_BOUND && bound * 2 < rows)
		*reason = STAT_NATIVE_BOUNDED;
	else if (rows * (sort->plan.plan_width + ROW_OVERHEAD_BYTES) >
			 gpusort_memory_limit())
		*reason = STAT_NATIVE_LARGE;
	else
		return false;
	return true;
}

/* The GpuSort that does what this Sort does. */
static Plan *
replace_sort(const Sort *sort)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *target_list = NIL;
	ListCell   *cell;

	/* costs, identity, parameters, the child as lefttree */
	scan->scan.plan = sort->plan;
	scan->scan.plan.type = T_CustomScan;
	scan->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN |
		CUSTOMPATH_SUPPORT_MARK_RESTORE;
	scan->methods = &gpusort_scan_methods;
	scan->custom_private = gpusort_scan_private(sort);

	/*
	 * The rows handed on are the child's.  For the executor that is a scan of
	 * rows of custom_scan_tlist without projection; for EXPLAIN the variables
	 * lead back to the expressions of the Sort.  Constants stay constants, as
	 * the planner leaves them in a Sort.
	 */
	scan->custom_scan_tlist = sort->plan.targetlist;
	foreach(cell, sort->plan.targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(cell));
		Node	   *expr = (Node *) entry->expr;
		Var		   *var;

		target_list = lappend(target_list, entry);
		if (IsA(expr, Const))
			continue;
		var = makeVar(INDEX_VAR, entry->resno, exprType(expr),
					  exprTypmod(expr), exprCollation(expr), 0);
		var->varnosyn = IsA(expr, Var) ? ((Var *) expr)->varnosyn : 0;
		var->varattnosyn = IsA(expr, Var) ? ((Var *) expr)->varattnosyn : 0;
		entry->expr = (Expr *) var;
	}
	scan->scan.plan.targetlist = target_list;

#if PG_VERSION_NUM >= 180000

	/*
	 * EXPLAIN adds up disabled nodes over custom_plans only, and would call
	 * this node disabled if something below it is.  This plan is never run.
	 */
	if (sort->plan.lefttree->disabled_nodes > 0)
	{
		Result	   *count = makeNode(Result);

		count->plan.disabled_nodes = sort->plan.lefttree->disabled_nodes;
		scan->custom_plans = list_make1(count);
	}
#endif
	return (Plan *) scan;
}

static void
rewrite_plans(List *plans, double bound)
{
	ListCell   *cell;

	foreach(cell, plans)
		lfirst(cell) = rewrite_plan(lfirst(cell), bound);
}

/*
 * Rewrites a plan tree.  Its parent may stop after "bound" rows, or takes all
 * of them if that is NO_BOUND.
 */
static Plan *
rewrite_plan(Plan *plan, double bound)
{
	double		child_bound = NO_BOUND;
	Statistic	reason;

	if (plan == NULL)
		return NULL;

	if (IsA(plan, Limit))
		child_bound = limit_bound((Limit *) plan);
	else if (passes_bound(plan))
		child_bound = bound;

	plan->lefttree = rewrite_plan(plan->lefttree, child_bound);
	plan->righttree = rewrite_plan(plan->righttree, NO_BOUND);

	switch (nodeTag(plan))
	{
		case T_Append:
			rewrite_plans(((Append *) plan)->appendplans, child_bound);
			break;
		case T_MergeAppend:
			rewrite_plans(((MergeAppend *) plan)->mergeplans, child_bound);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan =
				rewrite_plan(((SubqueryScan *) plan)->subplan, child_bound);
			break;
		case T_CustomScan:
			rewrite_plans(((CustomScan *) plan)->custom_plans, NO_BOUND);
			break;
		case T_Agg:
			if (((Agg *) plan)->chain != NIL)
				shared_count(STAT_NATIVE_AGGREGATE,
							 list_length(((Agg *) plan)->chain));
			break;
		case T_IncrementalSort:
			shared_count(STAT_NATIVE_INCREMENTAL, 1);
			break;
		case T_Sort:
			if (!leave_native((Sort *) plan, bound, &reason))
				return replace_sort((Sort *) plan);
			shared_count(reason, 1);
			break;
		default:
			break;
	}
	return plan;
}

static PlannedStmt *
plan_with_gpusort(Query *parse, const char *query_string, int cursor_options,
				  ParamListInfo bound_params)
{
	PlannedStmt *result;

	if (previous_planner_hook != NULL)
		result = previous_planner_hook(parse, query_string, cursor_options,
									   bound_params);
	else
		result = standard_planner(parse, query_string, cursor_options,
								  bound_params);

	if (gpusort_enable && gpusort_enable_sort)
	{
		result->planTree = rewrite_plan(result->planTree, NO_BOUND);
		rewrite_plans(result->subplans, NO_BOUND);
	}
	return result;
}

void
plan_sort_init(void)
{
	RegisterCustomScanMethods(&gpusort_scan_methods);
	previous_planner_hook = planner_hook;
	planner_hook = plan_with_gpusort;
}
