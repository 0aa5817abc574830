/*-------------------------------------------------------------------------
 *
 * node_groups.c
 *	  The GpuSortGroups plan node: sorted groups, for consumers in all processes.
 *
 * The node stands in a partial plan, which is a plan below a Gather.  All
 * processes sort their rows together (parallel_sort.c), and each process emits
 * parts of the order.  Parts are cut only where the first columns change, by
 * which the node above groups rows.  So a WindowAgg, a grouping or a Unique
 * above sees whole groups.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "executor/explain_sort.h"
#include "executor/gpusort_plan.h"
#include "executor/node_groups.h"
#include "executor/parallel_sort.h"
#include "port/compat.h"

static const CustomExecMethods groups_exec_methods;

bool
is_gpusort_groups(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &groups_scan_methods;
}

/*
 * Writes what a plan says: its sort, and the number of columns that make a
 * group.
 */
static void
write_groups(CustomScan *scan, const PlannedSort *sort, int ngroup_columns)
{
	scan->custom_private = list_make2(planned_sort_write(sort),
									  list_make1_int(ngroup_columns));
}

int
groups_columns(const CustomScan *scan)
{
	return linitial_int(lsecond(scan->custom_private));
}

CustomScan *
groups_make_plan(const Sort *sort, List *target_list, int ngroup_columns)
{
	CustomScan *scan = makeNode(CustomScan);
	PlannedSort planned = planned_sort_of(sort);

	scan->methods = &groups_scan_methods;
	emit_child(scan, target_list, sort->plan.lefttree);
	write_groups(scan, &planned, ngroup_columns);
	return scan;
}

static Node *
create_groups_state(CustomScan *scan)
{
	ParallelSort *sort = palloc0(sizeof(ParallelSort));
	PlannedSort planned = planned_sort_read(scan);

	NodeSetTag(sort, T_CustomScanState);
	sort->css.methods = &groups_exec_methods;
	sort->ncolumns = planned.ncolumns;
	sort->columns = planned.columns;
	sort->ngroup_columns = groups_columns(scan);
	node_limit_set(&sort->limit, &planned.limit);
	sort->emission = EMIT_PARTS;
	return (Node *) sort;
}

static void
begin_groups(CustomScanState *node, EState *estate, int eflags)
{
	parallel_sort_begin(node, estate, eflags);
	parallel_sort_init_result((ParallelSort *) node);
}

static TupleTableSlot *
exec_groups(CustomScanState *node)
{
	ParallelSort *sort = (ParallelSort *) node;

	if (unlikely(!sort->ready))
		parallel_sort_get_ready(sort);
	if (!parallel_sort_next(sort))
	{
		parallel_sort_release(sort);
		return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
	}
	return parallel_sort_result(sort, sort->row);
}

static void
explain_groups(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const ParallelSort *sort = (const ParallelSort *) node;

	explain_sort_keys("Sort Key", node, sort->columns, sort->ncolumns,
					  ancestors, es);
	explain_sort_keys("Group Key", node, sort->columns,
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
	.EndCustomScan = parallel_sort_end,
	.ReScanCustomScan = parallel_sort_rescan,
	.EstimateDSMCustomScan = parallel_sort_estimate,
	.InitializeDSMCustomScan = parallel_sort_init_shared,
	.ReInitializeDSMCustomScan = parallel_sort_init_shared_again,
	.InitializeWorkerCustomScan = parallel_sort_init_worker,
	.ShutdownCustomScan = parallel_sort_shutdown,
	.ExplainCustomScan = explain_groups
};
