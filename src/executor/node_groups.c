/*-------------------------------------------------------------------------
 *
 * node_groups.c
 *	  The GpuSortGroups plan node: sorted groups, for consumers in all processes.
 *
 * The node stands in a partial plan, that is below a Gather.  All processes sort
 * their rows together (parallel_sort.c), and each emits slices of the order, which
 * are cut only where the first columns change, by which the node above groups rows.
 * So a WindowAgg, a grouping or a Unique there sees whole groups.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"

#include "executor/node_gpusort.h"
#include "executor/node_groups.h"
#include "executor/parallel_sort.h"
#include "port/compat.h"

typedef struct GpuSortGroupsState
{
	CustomScanState css;		/* must be first */
	ParallelSort sort;
} GpuSortGroupsState;

static const CustomExecMethods groups_exec_methods;

bool
is_gpusort_groups(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &groups_scan_methods;
}

CustomScan *
groups_make_plan(const Sort *sort, List *target_list, int ngroup_columns)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->methods = &groups_scan_methods;
	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.lefttree = sort->plan.lefttree;
	scan->custom_scan_tlist = copyObject(sort->plan.targetlist);
	scan->custom_private = lappend(gpusort_scan_private(sort),
								   list_make1_int(ngroup_columns));
	return scan;
}

void
groups_refer_to_child(CustomScan *scan)
{
	ListCell   *cell;

	foreach(cell, scan->custom_scan_tlist)
	{
		TargetEntry *entry = lfirst(cell);

		entry->expr = (Expr *) makeVarFromTargetEntry(OUTER_VAR, entry);
	}
}

static Node *
create_groups_state(CustomScan *scan)
{
	GpuSortGroupsState *state = palloc0(sizeof(GpuSortGroupsState));
	ParallelSort *sort = &state->sort;

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &groups_exec_methods;
	sort->node = &state->css;
	sort->columns = gpusort_make_columns(scan, &sort->ncolumns);
	sort->ngroup_columns = linitial_int(llast(scan->custom_private));
	node_limit_set(&sort->limit, gpusort_planned_limit(scan));
	sort->emission = EMIT_SLICES;
	return (Node *) state;
}

/*
 * Rows are emitted as they are stored, unless there is a projection: where the
 * node above does not want all columns that are sorted by.
 */
static void
init_result(GpuSortGroupsState *state)
{
	PlanState  *node = &state->css.ss.ps;

	if (node->ps_ProjInfo == NULL)
	{
		ExecInitResultTupleSlotTL(node, &TTSOpsMinimalTuple);
		state->sort.row = node->ps_ResultTupleSlot;
	}
	else
		state->sort.row = ExecInitExtraTupleSlot(node->state,
												 ExecGetResultType(outerPlanState(node)),
												 &TTSOpsMinimalTuple);
}

static void
begin_groups(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortGroupsState *state = (GpuSortGroupsState *) node;

	outerPlanState(node) = ExecInitNode(outerPlan(node->ss.ps.plan), estate,
										eflags & ~(EXEC_FLAG_REWIND |
												   EXEC_FLAG_BACKWARD |
												   EXEC_FLAG_MARK));
	init_result(state);
	parallel_sort_begin(&state->sort);
}

static TupleTableSlot *
exec_groups(CustomScanState *node)
{
	ParallelSort *sort = &((GpuSortGroupsState *) node)->sort;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	if (unlikely(!sort->ready))
		parallel_sort_get_ready(sort);
	if (!parallel_sort_next(sort))
		return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
	if (likely(projection == NULL))
		return sort->row;

	/* it is made for slots whose values are there */
	slot_getallattrs(sort->row);
	ResetExprContext(node->ss.ps.ps_ExprContext);
	node->ss.ps.ps_ExprContext->ecxt_scantuple = sort->row;
	return ExecProject(projection);
}

/* Forgets the rows, also the one that was emitted last. */
static void
forget_rows(GpuSortGroupsState *state)
{
	ExecClearTuple(state->css.ss.ps.ps_ResultTupleSlot);
	parallel_sort_forget(&state->sort);
}

static void
end_groups(CustomScanState *node)
{
	forget_rows((GpuSortGroupsState *) node);
	ExecEndNode(outerPlanState(node));
}

static void
rescan_groups(CustomScanState *node)
{
	forget_rows((GpuSortGroupsState *) node);
	/* with changed parameters the child is rescanned at its first fetch */
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static Size
estimate_shared(CustomScanState *node, ParallelContext *context)
{
	return parallel_sort_shared_size(context);
}

static void
init_shared(CustomScanState *node, ParallelContext *context, void *place)
{
	parallel_sort_init_shared(&((GpuSortGroupsState *) node)->sort, context,
							  place);
}

static void
init_shared_again(CustomScanState *node, ParallelContext *context,
				  void *place)
{
	parallel_sort_init_shared_again(&((GpuSortGroupsState *) node)->sort,
									context, place);
}

static void
init_worker(CustomScanState *node, shm_toc *contents, void *place)
{
	parallel_sort_init_worker(&((GpuSortGroupsState *) node)->sort, place);
}

static void
shutdown_groups(CustomScanState *node)
{
	ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
	parallel_sort_shutdown(&((GpuSortGroupsState *) node)->sort);
}

static void
explain_groups(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const ParallelSort *sort = &((GpuSortGroupsState *) node)->sort;

	gpusort_explain_keys("Sort Key", node, sort->columns, sort->ncolumns,
						 ancestors, es);
	gpusort_explain_keys("Group Key", node, sort->columns,
						 sort->ngroup_columns, ancestors, es);
	if (node_has_limit(&sort->limit))
		node_limit_explain(&sort->limit, node, ancestors, es);
	parallel_sort_explain(sort, es);
}

const CustomScanMethods groups_scan_methods = {
	.CustomName = "GpuSortGroups",
	.CreateCustomScanState = create_groups_state
};

static const CustomExecMethods groups_exec_methods = {
	.CustomName = "GpuSortGroups",
	.BeginCustomScan = begin_groups,
	.ExecCustomScan = exec_groups,
	.EndCustomScan = end_groups,
	.ReScanCustomScan = rescan_groups,
	.EstimateDSMCustomScan = estimate_shared,
	.InitializeDSMCustomScan = init_shared,
	.ReInitializeDSMCustomScan = init_shared_again,
	.InitializeWorkerCustomScan = init_worker,
	.ShutdownCustomScan = shutdown_groups,
	.ExplainCustomScan = explain_groups
};
