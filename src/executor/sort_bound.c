/*-------------------------------------------------------------------------
 *
 * sort_bound.c
 *	  What is above a GpuSort: the number of rows wanted, and a Gather Merge.
 *
 * A Limit tells the Sorts below it how many rows it will fetch, by
 * ExecSetTupleBound().  This function knows the nodes that emit each row they
 * get, but no custom scan.  So when a query begins, each GpuSort gets a
 * pointer to the Limit above it, through the same nodes, and reads the number
 * when it sorts.
 *
 * The workers of a Gather or Gather Merge get the number with their plan, as
 * the count of rows for which they execute it.  In later scans core tells them
 * the number of the first scan again, though the Limit may want more rows.  So
 * where a GpuSort shares the present number with its workers, they execute the
 * plan for that number.  Where rows come from a GpuSortGroups, GpuSortWindow or
 * GpuSortAggregate, core would have no Gather below the Limit.  There workers
 * execute the plan until the leader wants no more rows, and Sorts in it keep
 * all rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "cost/sort_cost.h"
#include "executor/node_aggregate.h"
#include "executor/node_group_aggregate.h"
#include "executor/node_groups.h"
#include "executor/node_setop.h"
#include "executor/node_unique.h"
#include "executor/node_window.h"
#include "executor/sort_bound.h"
#include "port/compat.h"

static const CustomExecMethods *bounded_methods;

/* A GpuSort has begun in the query that is being begun. */
static bool awaited;

static void pass_on(PlanState *node, const SortBound *bound);

static void
pass_on_to_all(PlanState **nodes, int nnodes, const SortBound *bound)
{
	for (int i = 0; i < nnodes; i++)
		pass_on(nodes[i], bound);
}

/* Passes a bound on to GpuSorts, as ExecSetTupleBound() does to Sorts. */
static void
pass_on(PlanState *node, const SortBound *bound)
{
	switch (node == NULL ? T_Invalid : nodeTag(node))
	{
		case T_CustomScanState:
			if (((CustomScanState *) node)->methods == bounded_methods)
				((BoundedScanState *) node)->bound = *bound;
			break;
		case T_AppendState:
			pass_on_to_all(((AppendState *) node)->appendplans,
						   ((AppendState *) node)->as_nplans, bound);
			break;
		case T_MergeAppendState:
			pass_on_to_all(((MergeAppendState *) node)->mergeplans,
						   ((MergeAppendState *) node)->ms_nplans, bound);
			break;
		case T_SubqueryScanState:
			if (node->qual == NULL)
				pass_on(((SubqueryScanState *) node)->subplan, bound);
			break;
		case T_ResultState:
		case T_GatherState:
		case T_GatherMergeState:
			pass_on(outerPlanState(node), bound);
			break;
		default:
			break;
	}
}

/* Tells a GpuSort about the Gather Merge right above it. */
static void
note_gather_merge(PlanState *node)
{
	PlanState  *child = outerPlanState(node);

	if (IsA(child, CustomScanState) &&
		((CustomScanState *) child)->methods == bounded_methods)
		((BoundedScanState *) child)->gather_merge = node;
}

static bool
look_below(PlanState *node, void *context)
{
	if (IsA(node, LimitState))
	{
		SortBound	bound = {.limit = (LimitState *) node};

		pass_on(outerPlanState(node), &bound);
	}
	if (IsA(node, GatherMergeState))
		note_gather_merge(node);
	return planstate_tree_walker(node, look_below, context);
}

void
sort_bound_find(PlanState *top)
{
	(void) look_below(top, NULL);
}

void
sort_bound_await(void)
{
	awaited = true;
}

bool
sort_bound_begin(void)
{
	bool		outer = awaited;

	awaited = false;
	return outer;
}

void
sort_bound_find_awaited(PlanState *top)
{
	if (awaited)
		sort_bound_find(top);
}

void
sort_bound_end(bool outer)
{
	awaited = outer;
}

/* Returns whether rows come from a sort that several processes emit. */
static bool
has_parallel_sort(PlanState *node, void *context)
{
	return is_gpusort_groups(node->plan) || is_gpusort_aggregate(node->plan) ||
		is_gpusort_window(node->plan) ||
		is_gpusort_group_aggregate(node->plan) ||
		is_gpusort_unique(node->plan) || is_gpusort_setop(node->plan) ||
		planstate_tree_walker(node, has_parallel_sort, context);
}

/*
 * Returns the number of rows of a worker's plan that the leader wants now; 0:
 * all rows.
 */
static uint64
present_count(PlanState *node, uint64 first_count)
{
	const double *bound = NULL;

	if (first_count > 0 && has_parallel_sort(node, NULL))
	{
		/* core has told that number to the worker's Sorts */
		ExecSetTupleBound(-1, node);
		return 0;
	}
	if (IsA(node, CustomScanState) &&
		((const CustomScanState *) node)->methods == bounded_methods)
		bound = ((const BoundedScanState *) node)->leader_bound;
	if (bound == NULL)
		return first_count;
	return *bound < 0 || *bound > (double) PG_INT64_MAX ? 0 : (uint64) *bound;
}

uint64
sort_bound_pass_count(const QueryDesc *query, uint64 count)
{
	/* a worker's own plan, not a query of a function in it */
	if (query->dest->mydest == DestTupleQueue)
	{
		SortBound	bound = {0};

		count = present_count(query->planstate, count);
		bound.leader_count = count;
		pass_on(query->planstate, &bound);
	}
	return count;
}

/*
 * Returns the number of rows that a Limit of this process wants, perhaps with
 * their ties; or NO_BOUND.
 */
static double
limit_rows(const LimitState *limit)
{
	if (limit->lstate == LIMIT_INITIAL || limit->noCount)
		return NO_BOUND;
	return (double) limit->count + limit->offset;
}

double
sort_bound_rows(const SortBound *bound)
{
	const LimitState *limit = bound->limit;

	if (limit == NULL)
		return bound->leader_count > 0 ? bound->leader_count : NO_BOUND;
	return limit->limitOption == LIMIT_OPTION_COUNT ? limit_rows(limit) :
		NO_BOUND;
}

double
sort_bound_expected_rows(const SortBound *bound)
{
	return bound->limit != NULL ? limit_rows(bound->limit) :
		sort_bound_rows(bound);
}

void
sort_bound_init(const CustomExecMethods *methods)
{
	bounded_methods = methods;
}
