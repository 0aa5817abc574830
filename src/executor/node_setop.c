/*-------------------------------------------------------------------------
 *
 * node_setop.c
 *	  The GpuSortSetOp plan node: INTERSECT and EXCEPT of sorted rows.
 *
 * The node sorts the rows of all inputs together, by all columns.  So rows
 * that are equal follow one another, a group.  The number of a row's input is
 * the last sort column: the rows of the first input come first in their group.
 * The node counts the rows of each input in a group, and emits the group's
 * first row as often as the operation says.  (node_unique.c does a UNION.)
 *
 * Of rows that are equal, as 1.0 and 1.00 are, one is emitted: a row of the
 * first input, as core does it.
 *
 * In a partial plan, which is a plan below a Gather, all processes sort their
 * rows together (parallel_sort.c), and each process emits the groups of the
 * parts that it takes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "executor/explain_sort.h"
#include "executor/gpusort_plan.h"
#include "executor/group_rows.h"
#include "executor/node_setop.h"
#include "executor/parallel_sort.h"
#include "port/compat.h"
#include "shared_state.h"

typedef struct GpuSortSetOpState
{
	ParallelSort sort;			/* must be first */
	SetOperationKind kind;
	AttrNumber	input_column;	/* column of the input's number */
	GroupRows  *groups;			/* tells groups apart */
	bool		rows_stay;		/* each row stays where it is */
	uint64		ncopies;		/* how often the first row is still to be
								 * emitted */
} GpuSortSetOpState;

static const CustomExecMethods setop_exec_methods;

bool
is_gpusort_setop(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &setop_scan_methods;
}

CustomScan *
setop_make_plan(const Sort *sort, List *target_list, SetOperationKind kind)
{
	CustomScan *scan = makeNode(CustomScan);
	PlannedSort planned = planned_sort_of(sort);

	scan->methods = &setop_scan_methods;
	emit_child(scan, target_list, sort->plan.lefttree);
	scan->custom_private = list_make2(planned_sort_write(&planned),
									  list_make1_int(kind));
	return scan;
}

static Node *
create_setop_state(CustomScan *scan)
{
	GpuSortSetOpState *state = palloc0(sizeof(GpuSortSetOpState));
	ParallelSort *sort = &state->sort;
	PlannedSort planned = planned_sort_read(scan);

	NodeSetTag(state, T_CustomScanState);
	sort->css.methods = &setop_exec_methods;
	state->kind = linitial_int(lsecond(scan->custom_private));
	sort->ncolumns = planned.ncolumns;
	sort->columns = planned.columns;
	sort->ngroup_columns = planned.ncolumns - 1;
	state->input_column = planned.columns[sort->ngroup_columns].attno;
	sort->emission = EMIT_PARTS;
	return (Node *) state;
}

static void
begin_setop(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortSetOpState *state = (GpuSortSetOpState *) node;

	parallel_sort_begin(node, estate, eflags);
	parallel_sort_init_result(&state->sort);
	/* the first row of the present group */
	state->sort.kept = ExecInitExtraTupleSlot(estate, state->sort.descriptor,
											  &TTSOpsMinimalTuple);
	state->groups = group_rows_of_sort(state->sort.descriptor,
									   state->sort.columns,
									   state->sort.ngroup_columns);
}

/* The number of a group's rows in each of the two inputs. */
typedef struct InputCounts
{
	uint64		rows[2];
} InputCounts;

/* Counts the present row of the sort. */
static inline void
count_row(const GpuSortSetOpState *state, InputCounts *counts)
{
	bool		isnull;

	counts->rows[DatumGetInt32(slot_getattr(state->sort.row,
											state->input_column, &isnull))]++;
}

/* Is the present row of the sort in the present group? */
static inline bool
is_in_group(GpuSortSetOpState *state)
{
	int			ncolumns = state->sort.ngroup_columns;

	return group_rows_difference(state->groups, ncolumns, state->sort.kept,
								 state->sort.row) == ncolumns;
}

/* How often the operation emits a group of these rows. */
static uint64
copies_of_group(SetOperationKind kind, const InputCounts *counts)
{
	uint64		first = counts->rows[0];
	uint64		second = counts->rows[1];

	switch (kind)
	{
		case SET_INTERSECT:
			return first > 0 && second > 0 ? 1 : 0;
		case SET_INTERSECT_ALL:
			return Min(first, second);
		case SET_EXCEPT:
			return first > 0 && second == 0 ? 1 : 0;
		case SET_EXCEPT_ALL:
			return first > second ? first - second : 0;
	}
	pg_unreachable();
}

/*
 * Reads the group that begins with the present row of the sort, and finds how
 * often it is emitted; false if there is no row.
 */
static bool
read_group(GpuSortSetOpState *state)
{
	ParallelSort *sort = &state->sort;
	InputCounts counts = {0};

	if (TupIsNull(sort->row))
		return false;
	group_rows_keep(state->groups, sort->kept, sort->row, state->rows_stay);
	do
	{
		CHECK_FOR_INTERRUPTS();
		count_row(state, &counts);
	} while (parallel_sort_next(sort) && is_in_group(state));
	state->ncopies = copies_of_group(state->kind, &counts);
	return true;
}

static TupleTableSlot *
exec_setop(CustomScanState *node)
{
	GpuSortSetOpState *state = (GpuSortSetOpState *) node;
	ParallelSort *sort = &state->sort;

	if (unlikely(!sort->ready))
	{
		shared_count(STAT_SET_OPERATIONS, 1);
		parallel_sort_get_ready(sort);
		state->rows_stay = parallel_sort_rows_stay(sort);
		state->ncopies = 0;
		(void) parallel_sort_next(sort);
	}
	while (state->ncopies == 0)
	{
		if (!read_group(state))
		{
			parallel_sort_release(sort);
			return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
		}
	}
	state->ncopies--;
	return parallel_sort_result(sort, sort->kept);
}

/* The name of the operation, as EXPLAIN of core's SetOp has it. */
static const char *
name_of_kind(SetOperationKind kind)
{
	switch (kind)
	{
		case SET_INTERSECT:
			return "Intersect";
		case SET_INTERSECT_ALL:
			return "Intersect All";
		case SET_EXCEPT:
			return "Except";
		case SET_EXCEPT_ALL:
			return "Except All";
	}
	pg_unreachable();
}

static void
explain_setop(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const GpuSortSetOpState *state = (const GpuSortSetOpState *) node;

	ExplainPropertyText("Command", name_of_kind(state->kind), es);
	explain_sort_keys("Sort Key", node, state->sort.columns,
					  state->sort.ngroup_columns, ancestors, es);
	parallel_sort_explain(&state->sort, es);
}

const CustomScanMethods setop_scan_methods = {
	.CustomName = "GpuSortSetOp",
	.CreateCustomScanState = create_setop_state
};

static const CustomExecMethods setop_exec_methods = {
	.CustomName = "GpuSortSetOp",
	.BeginCustomScan = begin_setop,
	.ExecCustomScan = exec_setop,
	.EndCustomScan = parallel_sort_end,
	.ReScanCustomScan = parallel_sort_rescan,
	.EstimateDSMCustomScan = parallel_sort_estimate,
	.InitializeDSMCustomScan = parallel_sort_init_shared,
	.ReInitializeDSMCustomScan = parallel_sort_init_shared_again,
	.InitializeWorkerCustomScan = parallel_sort_init_worker,
	.ShutdownCustomScan = parallel_sort_shutdown,
	.ExplainCustomScan = explain_setop
};
