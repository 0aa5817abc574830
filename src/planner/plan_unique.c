/*-------------------------------------------------------------------------
 *
 * plan_unique.c
 *	  Replacing a Unique or Group above a sort by a GpuSortUnique.
 *
 * A GpuSort or a GpuSortGroups right below a Unique or Group has a limit of one
 * row of each group, if its columns suit (group_limits.c).  It becomes the new
 * node, which emits what it emits, and no second row of a group.  A Group that
 * has a HAVING clause, or makes more of its columns, stays.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"

#include "executor/node_gpusort.h"
#include "executor/node_groups.h"
#include "executor/node_unique.h"
#include "planner/plan_unique.h"
#include "settings.h"

/* Does a node emit columns of its child as they are, and constants? */
static bool
emits_columns(const Plan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->targetlist)
	{
		const Node *expression = (Node *) ((TargetEntry *) lfirst(cell))->expr;

		if (!IsA(expression, Const) &&
			!(IsA(expression, Var) &&
			  ((const Var *) expression)->varno == OUTER_VAR))
			return false;
	}
	return true;
}

/*
 * What a node emits, from the columns of a sort below it.  The node has named
 * them.
 */
static List *
make_target_list(const Plan *plan, const CustomScan *sort)
{
	List	   *target_list = NIL;
	ListCell   *cell;

	foreach(cell, plan->targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(cell));

		if (IsA(entry->expr, Var))
			entry->expr = emitted_by_sort(sort,
										  ((Var *) entry->expr)->varattno);
		target_list = lappend(target_list, entry);
	}
	return target_list;
}

/* Makes the new node of a sort, in the place of the node above it. */
static Plan *
make_node(const Plan *above, const CustomScan *sort,
		  const PlannedSort *planned)
{
	CustomScan *scan = begin_consumer(above, sort);

	scan->scan.plan.targetlist = make_target_list(above, sort);
	scan->custom_scan_tlist = sort->custom_scan_tlist;
	unique_complete(scan, planned,
					is_gpusort_groups(&sort->scan.plan) ?
					groups_columns(sort) : 0);
	return &scan->scan.plan;
}

Plan *
plan_unique_replace(Plan *plan)
{
	Plan	   *below = plan->lefttree;
	CustomScan *sort = (CustomScan *) below;
	PlannedSort planned;

	if (!gpusort_enable_aggregates || plan->qual != NIL ||
		(!is_gpusort(below) && !is_gpusort_groups(below)) ||
		!emits_columns(plan))
		return plan;
	planned = planned_sort_read(sort);
	return planned_sort_has_limit(&planned) ?
		make_node(plan, sort, &planned) : plan;
}
