/*-------------------------------------------------------------------------
 *
 * plan_sort.c
 *	  Replacing Sort nodes by GpuSort nodes.
 *
 * The planner only knows what GpuSorts cost (add_paths.c).  This file walks
 * through the finished plan, and replaces each Sort that can be taken over
 * by a CustomScan with the same child, costs and target list.  In the
 * finished plan all sort columns are resolved.  It also has the Sorts that
 * the planner makes without a path: below merge joins, Append, Unique and
 * grouping sets.
 *
 * sort_refusal.c decides which Sorts stay.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"

#include "cost/sort_choice.h"
#include "executor/aggregate_plan.h"
#include "executor/gpusort_plan.h"
#include "executor/node_aggregate.h"
#include "executor/node_gpusort.h"
#include "executor/node_groups.h"
#include "executor/node_setop.h"
#include "executor/node_stream.h"
#include "executor/node_unique.h"
#include "planner/group_limits.h"
#include "planner/group_paths.h"
#include "planner/order_paths.h"
#include "planner/plan_columns.h"
#include "planner/plan_consumers.h"
#include "planner/plan_sort.h"
#include "planner/sort_refusal.h"
#include "port/compat.h"
#include "settings.h"

static Plan *rewrite_plan(Plan *plan, PlanPlace place,
						  const List *range_table);

/* A column that a GpuSort emits, and its variable. */
typedef struct EmittedColumn
{
	TargetEntry entry;
	Var			var;
} EmittedColumn;

/*
 * The columns that a GpuSort emits in place of the columns of a Sort.  They
 * are variables of the rows that it takes, by these numbers.  Constants stay
 * constants, as the planner leaves them in a Sort.
 *
 * A statement can have hundreds of sorts of hundreds of columns each, so all
 * columns of a sort are made at once.
 */
static List *
emitted_columns(const List *columns, const AttrNumber *sources)
{
	List	   *result = list_copy(columns);
	EmittedColumn *emitted = palloc(list_length(columns) *
									sizeof(EmittedColumn));
	const Var  *any = makeVar(INDEX_VAR, 0, InvalidOid, -1, InvalidOid, 0);
	ListCell   *cell;

	foreach(cell, result)
	{
		EmittedColumn *column = emitted++;
		const Node *expr = (Node *) ((TargetEntry *) lfirst(cell))->expr;

		column->entry = *(TargetEntry *) lfirst(cell);
		lfirst(cell) = &column->entry;
		if (IsA(expr, Const))
			continue;
		column->var = *any;
		column->var.varattno = sources[column->entry.resno - 1];
		column->var.vartype = exprType(expr);
		column->var.vartypmod = exprTypmod(expr);
		column->var.varcollid = exprCollation(expr);
		column->var.varnosyn = IsA(expr, Var) ? ((Var *) expr)->varnosyn : 0;
		column->var.varattnosyn = IsA(expr, Var) ? ((Var *) expr)->varattnosyn : 0;
		column->entry.expr = (Expr *) &column->var;
	}
	return result;
}

/* The GpuSort that takes the place of this Sort. */
static Plan *
replace_sort(Sort *sort, const List *range_table)
{
	CustomScan *scan = makeNode(CustomScan);
	AttrNumber *sources = drop_copies(sort);
	PlannedSort planned = planned_sort_of(sort);

	/* costs, identity, parameters, the child as lefttree */
	scan->scan.plan = sort->plan;
	scan->scan.plan.type = T_CustomScan;
	scan->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN |
		CUSTOMPATH_SUPPORT_MARK_RESTORE;
	scan->methods = &gpusort_scan_methods;
	for (int i = sort_key_columns(sort, range_table); i < planned.ncolumns; i++)
		planned.columns[i].no_key = true;
	scan->custom_private = list_make1(planned_sort_write(&planned));

	/*
	 * The emitted rows are the child's, with their dropped columns.  The
	 * executor sees a scan of rows of custom_scan_tlist, without projection
	 * if nothing was dropped; EXPLAIN follows the variables to the
	 * expressions of the Sort.
	 */
	scan->custom_scan_tlist =
		list_truncate(list_copy(sort->plan.targetlist),
					  list_length(sort->plan.lefttree->targetlist));
	scan->scan.plan.targetlist = emitted_columns(sort->plan.targetlist, sources);
	count_disabled_child(scan, sort->plan.lefttree);
	return (Plan *) scan;
}

static void
rewrite_plans(List *plans, PlanPlace place, const List *range_table)
{
	ListCell   *cell;

	foreach(cell, plans)
		lfirst(cell) = rewrite_plan(lfirst(cell), place, range_table);
}

/* Counts sorts that are refused, and tells the log about them. */
static void
note_refusal(const Plan *plan, int count, Refusal refusal)
{
	refusal_count_sorts(refusal, count);
	ereport(DEBUG1,
			(errmsg_internal("gpusort leaves a sort to PostgreSQL: %s",
							 describe_refusal(plan, refusal))));
}

/*
 * Will the processes below a Gather Merge sort together?  Its child is
 * partial, so they can if there is memory.
 */
static bool
will_sort_together(const GatherMerge *gather, PlanPlace place,
				   const List *range_table)
{
	const Plan *sort = gather->plan.lefttree;
	SortSize	size = gpusort_size((CustomScan *) sort, range_table);

	return sort_is_together(sort_choose(&size,
										sort_members(gather->num_workers),
										place.bound));
}

/* Rewrites the plan tree of a node in this place. */
static Plan *
rewrite_plan(Plan *plan, PlanPlace place, const List *range_table)
{
	PlanPlace	below;
	int			count;
	Refusal		refusal;

	if (plan == NULL)
		return NULL;

	below = place_of_child(plan, place);
	plan->lefttree = rewrite_plan(plan->lefttree, below, range_table);
	plan->righttree = rewrite_plan(plan->righttree, below, range_table);

	switch (nodeTag(plan))
	{
		case T_Append:
			rewrite_plans(((Append *) plan)->appendplans, below, range_table);
			break;
		case T_MergeAppend:
			rewrite_plans(((MergeAppend *) plan)->mergeplans, below,
						  range_table);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan =
				rewrite_plan(((SubqueryScan *) plan)->subplan, below,
							 range_table);
			break;
		case T_CustomScan:
			if (is_gpusort_groups(plan) || is_gpusort_unique(plan) ||
				is_gpusort_setop(plan))
				refer_to_child((CustomScan *) plan);
			if (is_gpusort_aggregate(plan))
				aggregate_refers_to_child((CustomScan *) plan);
			if (is_gpusort_receive(plan))
				stream_refer_to_children((CustomScan *) plan);
			rewrite_plans(((CustomScan *) plan)->custom_plans, below,
						  range_table);
			break;
		default:
			break;
	}

	if (IsA(plan, GatherMerge) && is_gpusort(plan->lefttree))
		plan->lefttree->parallel_aware =
			will_sort_together((GatherMerge *) plan, place, range_table);

	count = count_refused(plan, place, range_table, &refusal);
	if (count > 0)
		note_refusal(plan, count, refusal);
	else if (IsA(plan, Sort))
		return replace_sort((Sort *) plan, range_table);
	limit_groups_below(plan);
	if (IsA(plan, WindowAgg))
		keep_table_order((WindowAgg *) plan, range_table);
	return plan;
}

void
plan_sort_rewrite(PlannedStmt *statement)
{
	if (!gpusort_enable || !gpusort_enable_sort)
		return;
	statement->planTree = rewrite_plan(statement->planTree, TOP_PLACE,
									   statement->rtable);
	drop_unused_copies(statement->planTree);
	rewrite_plans(statement->subplans, TOP_PLACE, statement->rtable);
	plan_consumers_rewrite(statement);
}

void
plan_sort_init(void)
{
	RegisterCustomScanMethods(&gpusort_scan_methods);
}
