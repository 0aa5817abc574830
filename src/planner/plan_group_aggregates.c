/*-------------------------------------------------------------------------
 *
 * plan_group_aggregates.c
 *	  Replacing a GroupAggregate above a sort by a GpuSortGroupAggregate.
 *
 * In a finished plan that has GpuSorts and GpuSortGroups, the Agg right above
 * one of these becomes one node with it, if the columns of its groups are the
 * first ones of the sort.  The new node keeps the Agg, since core's functions
 * evaluate it.  The Agg then refers to the rows of the sort's child, which are
 * those that are sorted.
 *
 * Grouping sets are one node, too, if the Agg reads them all from one order.
 *
 * Aggregates that sort the rows of each group stay with core.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "executor/node_gpusort.h"
#include "executor/node_group_aggregate.h"
#include "executor/node_groups.h"
#include "planner/plan_group_aggregates.h"
#include "port/compat.h"
#include "settings.h"

/* Does an expression have an aggregate that is left to core? */
static bool
has_unknown_aggregate(Node *node, void *context)
{
	const Aggref *aggref = (const Aggref *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref) &&
		(aggref->aggkind != AGGKIND_NORMAL || aggref->aggdistinct != NIL ||
		 (aggref->aggorder != NIL && !AGG_IS_PRESORTED(aggref))))
		return true;
	return expression_tree_walker(node, has_unknown_aggregate, context);
}

/*
 * Lets an expression over the rows of a sort refer to those of its child.  The
 * columns of GROUPING() are columns of groups, which take_group_columns() finds.
 */
static Node *
refer_to_sorted(Node *node, CustomScan *sort)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, GroupingFunc))
	{
		GroupingFunc *function = (GroupingFunc *)
			expression_tree_mutator(node, refer_to_sorted, (void *) sort);
		ListCell   *cell;

		foreach(cell, function->cols)
			lfirst_int(cell) = ((const Var *) emitted_by_sort(sort, lfirst_int(cell)))->varattno;
		return (Node *) function;
	}
	if (IsA(node, Var) && ((Var *) node)->varno == OUTER_VAR)
	{
		Var		   *column = (Var *) copyObject(emitted_by_sort(sort, ((Var *) node)->varattno));

		if (IsA(column, Var))
			column->varno = OUTER_VAR;
		return (Node *) column;
	}
	return expression_tree_mutator(node, refer_to_sorted, (void *) sort);
}

/*
 * Lets the columns of an Agg's groups refer to the child of a sort, too.
 * Returns their number, or 0 unless they are the first sort columns, and in the
 * same order if there are grouping sets.
 */
static int
take_group_columns(Agg *agg, const CustomScan *sort,
				   const PlannedSort *planned)
{
	AttrNumber *columns = palloc(agg->numCols * sizeof(AttrNumber));
	Bitmapset  *found = NULL;

	for (int i = 0; i < agg->numCols; i++)
	{
		const Var  *var = (const Var *) emitted_by_sort(sort, agg->grpColIdx[i]);
		int			column;

		if (!IsA(var, Var))
			return 0;
		columns[i] = var->varattno;
		column = planned_sort_find(planned, var->varattno,
								   agg->grpOperators[i],
								   agg->grpCollations[i]);
		if (column < 0 || (agg->groupingSets != NIL && column != i) ||
			!sort_column_joins_equals(&planned->columns[column]))
			return 0;
		found = bms_add_member(found, column);
	}
	agg->grpColIdx = columns;
	return bms_prev_member(found, -1) == bms_num_members(found) - 1 ?
		bms_num_members(found) : 0;
}

/* The Agg that the node keeps, over the rows that are sorted. */
static Agg *
make_kept(const Agg *agg, CustomScan *sort)
{
	Agg		   *kept = makeNode(Agg);

	*kept = *agg;
	kept->plan.lefttree = NULL;
	kept->plan.initPlan = NIL;
	kept->plan.targetlist = (List *)
		refer_to_sorted((Node *) agg->plan.targetlist, sort);
	kept->plan.qual = (List *) refer_to_sorted((Node *) agg->plan.qual, sort);
	return kept;
}

static Plan *
make_node(const Agg *agg, CustomScan *sort,
		  const PlannedGroupAggregate *planned)
{
	CustomScan *scan = begin_consumer(&agg->plan, sort);

	scan->scan.plan.targetlist = copy_columns(planned->agg->plan.targetlist,
											  INDEX_VAR);
	scan->scan.plan.qual = NIL;
	scan->custom_scan_tlist = planned->agg->plan.targetlist;
	scan->custom_private = group_aggregate_write(planned);
	scan->methods = &group_aggregate_scan_methods;
	return &scan->scan.plan;
}

Plan *
plan_group_aggregate_replace(Agg *agg)
{
	Plan	   *below = agg->plan.lefttree;
	CustomScan *sort = (CustomScan *) below;
	Agg			kept;
	PlannedGroupAggregate planned;

	if (!gpusort_enable_aggregates || agg->aggstrategy != AGG_SORTED ||
		agg->aggsplit != AGGSPLIT_SIMPLE || agg->chain != NIL ||
		(!is_gpusort(below) && !is_gpusort_groups(below)) ||
		has_unknown_aggregate((Node *) agg->plan.targetlist, NULL) ||
		has_unknown_aggregate((Node *) agg->plan.qual, NULL))
		return &agg->plan;
	planned.sort = planned_sort_read(sort);
	planned.nshared_columns = is_gpusort_groups(below) ? groups_columns(sort) : 0;
	kept = *agg;
	planned.ngroup_columns = take_group_columns(&kept, sort, &planned.sort);
	if (planned.ngroup_columns == 0)
		return &agg->plan;
	planned.agg = make_kept(&kept, sort);
	return make_node(agg, sort, &planned);
}
