/*-------------------------------------------------------------------------
 *
 * plan_consumers.c
 *	  Replacing what takes sorted rows by one node with the sort.
 *
 * In a finished plan, all of whose Sorts have been replaced, WindowAggs
 * (plan_windows.c), Aggs (plan_group_aggregates.c), Uniques and Groups
 * (plan_unique.c) right above a GpuSort or a GpuSortGroups become one node with
 * it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/node_group_aggregate.h"
#include "executor/node_unique.h"
#include "executor/node_window.h"
#include "planner/plan_consumers.h"
#include "planner/plan_group_aggregates.h"
#include "planner/plan_unique.h"
#include "planner/plan_windows.h"

static Plan *rewrite_plan(Plan *plan);

static void
rewrite_plans(List *plans)
{
	ListCell   *cell;

	foreach(cell, plans)
		lfirst(cell) = rewrite_plan(lfirst(cell));
}

/* Rewrites the plan tree of a node. */
static Plan *
rewrite_plan(Plan *plan)
{
	if (plan == NULL)
		return NULL;
	if (IsA(plan, WindowAgg))
		plan = plan_windows_replace((WindowAgg *) plan);
	else if (IsA(plan, Agg))
		plan = plan_group_aggregate_replace((Agg *) plan);
	else if (IsA(plan, Unique) || IsA(plan, Group))
		plan = plan_unique_replace(plan);
	plan->lefttree = rewrite_plan(plan->lefttree);
	plan->righttree = rewrite_plan(plan->righttree);
	switch (nodeTag(plan))
	{
		case T_Append:
			rewrite_plans(((Append *) plan)->appendplans);
			break;
		case T_MergeAppend:
			rewrite_plans(((MergeAppend *) plan)->mergeplans);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan =
				rewrite_plan(((SubqueryScan *) plan)->subplan);
			break;
		case T_CustomScan:
			rewrite_plans(((CustomScan *) plan)->custom_plans);
			break;
		default:
			break;
	}
	return plan;
}

void
plan_consumers_rewrite(PlannedStmt *statement)
{
	statement->planTree = rewrite_plan(statement->planTree);
	rewrite_plans(statement->subplans);
}

void
plan_consumers_init(void)
{
	RegisterCustomScanMethods(&group_aggregate_scan_methods);
	RegisterCustomScanMethods(&unique_scan_methods);
	RegisterCustomScanMethods(&window_scan_methods);
}
