/*-------------------------------------------------------------------------
 *
 * node_unique.c
 *	  The GpuSortUnique plan node: a sort, and one row of each group.
 *
 * The node stands for a sort and the Unique or Group right above it, or for the
 * UNION of the rows of all inputs.  A group is the rows that are equal in the first sort
 * columns; the node emits the first one.
 *
 * The sort leaves out other rows, most of them before they are stored
 * (group_limit.c).  If it has left out all of them, as it does if keys tell
 * which rows are equal, its rows are the result, and none is compared.
 * Otherwise each row is compared with the first row of its group.
 *
 * In a partial plan, which is a plan below a Gather, all processes sort their
 * rows together (parallel_sort.c), and each process emits parts of the order
 * that consist of whole groups.
 *
 * A rescan reads the sorted rows again, unless the child's parameters have
 * changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "executor/explain_sort.h"
#include "executor/group_rows.h"
#include "executor/node_unique.h"
#include "executor/parallel_sort.h"
#include "port/compat.h"
#include "shared_state.h"

typedef struct GpuSortUniqueState
{
	ParallelSort sort;			/* must be first */
	GroupRows  *groups;			/* tells groups apart */
	int			ngroup_columns; /* first sort columns, which make a group */
	bool		all_differ;		/* no row that the sort emits is equal to
								 * another one */
	bool		rows_stay;		/* each row stays where it is */
} GpuSortUniqueState;

static const CustomExecMethods unique_exec_methods;

bool
is_gpusort_unique(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &unique_scan_methods;
}

void
unique_complete(CustomScan *scan, const PlannedSort *sort,
				int nshared_columns)
{
	scan->methods = &unique_scan_methods;
	scan->custom_private = list_make2(planned_sort_write(sort),
									  list_make1_int(nshared_columns));
}

/* The equality operators of the columns of a sort. */
static List *
column_equalities(const PlannedSort *sort)
{
	List	   *equal = NIL;

	for (int i = 0; i < sort->ncolumns; i++)
		equal = lappend_oid(equal, sort_column_equality(&sort->columns[i]));
	return equal;
}

CustomScan *
unique_make_plan(const Sort *sort, List *target_list)
{
	CustomScan *scan = makeNode(CustomScan);
	PlannedSort planned = planned_sort_of(sort);

	emit_child(scan, target_list, sort->plan.lefttree);
	unique_complete(scan, &planned, planned.ncolumns);
	gpusort_limit_to_one(scan, column_equalities(&planned));
	return scan;
}

static Node *
create_unique_state(CustomScan *scan)
{
	GpuSortUniqueState *state = palloc0(sizeof(GpuSortUniqueState));
	ParallelSort *sort = &state->sort;
	PlannedSort planned = planned_sort_read(scan);

	NodeSetTag(state, T_CustomScanState);
	sort->css.methods = &unique_exec_methods;
	sort->ncolumns = planned.ncolumns;
	sort->columns = planned.columns;
	sort->ngroup_columns = linitial_int(lsecond(scan->custom_private));
	state->ngroup_columns = planned.limit.ngroup_columns;
	node_limit_set(&sort->limit, &planned.limit);
	sort->emission = EMIT_PARTS;
	return (Node *) state;
}

static void
begin_unique(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortUniqueState *state = (GpuSortUniqueState *) node;
	ParallelSort *sort = &state->sort;

	parallel_sort_begin(node, estate, eflags);
	sort->random_access = (eflags & EXEC_FLAG_REWIND) != 0;
	parallel_sort_init_result(sort);
	/* the first row of the present group */
	sort->kept = ExecInitExtraTupleSlot(estate, sort->descriptor,
										&TTSOpsMinimalTuple);
	state->groups = group_rows_of_sort(sort->descriptor, sort->columns,
									   state->ngroup_columns);
}

/* Sorts, before the first row is fetched. */
static void
begin_rows(GpuSortUniqueState *state)
{
	ParallelSort *sort = &state->sort;

	shared_count(STAT_AGGREGATES, 1);
	parallel_sort_get_ready(sort);
	state->all_differ = parallel_sort_is_limited_exactly(sort);
	state->rows_stay = parallel_sort_rows_stay(sort);
}

/* Keeps the present row, if it is the first one of a group; false if not. */
static bool
begin_group(GpuSortUniqueState *state)
{
	ParallelSort *sort = &state->sort;

	if (!TupIsNull(sort->kept) &&
		group_rows_difference(state->groups, state->ngroup_columns,
							  sort->kept, sort->row) == state->ngroup_columns)
		return false;
	group_rows_keep(state->groups, sort->kept, sort->row, state->rows_stay);
	return true;
}

static TupleTableSlot *
exec_unique(CustomScanState *node)
{
	GpuSortUniqueState *state = (GpuSortUniqueState *) node;
	ParallelSort *sort = &state->sort;

	if (unlikely(!sort->ready))
		begin_rows(state);
	while (parallel_sort_next(sort))
	{
		CHECK_FOR_INTERRUPTS();
		if (likely(state->all_differ))
			return parallel_sort_result(sort, sort->row);
		if (begin_group(state))
			return parallel_sort_result(sort, sort->kept);
	}
	parallel_sort_release(sort);
	return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
}

static void
rescan_unique(CustomScanState *node)
{
	ParallelSort *sort = (ParallelSort *) node;

	if (!sort->ready || !parallel_sort_can_read_again(sort))
	{
		parallel_sort_rescan(node);
		return;
	}
	ExecClearTuple(sort->kept);
	row_sort_rescan(sort->sort);
}

static void
explain_unique(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const GpuSortUniqueState *state = (const GpuSortUniqueState *) node;
	const ParallelSort *sort = &state->sort;

	explain_sort_keys("Sort Key", node, sort->columns, sort->ncolumns,
					  ancestors, es);
	explain_sort_keys("Group Key", node, sort->columns,
					  state->ngroup_columns, ancestors, es);
	parallel_sort_explain(sort, es);
}

const CustomScanMethods unique_scan_methods = {
	.CustomName = "GpuSortUnique",
	.CreateCustomScanState = create_unique_state
};

static const CustomExecMethods unique_exec_methods = {
	.CustomName = "GpuSortUnique",
	.BeginCustomScan = begin_unique,
	.ExecCustomScan = exec_unique,
	.EndCustomScan = parallel_sort_end,
	.ReScanCustomScan = rescan_unique,
	.EstimateDSMCustomScan = parallel_sort_estimate,
	.InitializeDSMCustomScan = parallel_sort_init_shared,
	.ReInitializeDSMCustomScan = parallel_sort_init_shared_again,
	.InitializeWorkerCustomScan = parallel_sort_init_worker,
	.ShutdownCustomScan = parallel_sort_shutdown,
	.ExplainCustomScan = explain_unique
};
