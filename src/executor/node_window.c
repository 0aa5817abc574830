/*-------------------------------------------------------------------------
 *
 * node_window.c
 *	  The GpuSortWindow plan node: a sort, and windows over its order.
 *
 * The node stands for a sort and the WindowAggs right above it.  It sorts the
 * child's rows, and evaluates the window functions as it emits them
 * (window_run.c).  If the rows are in memory, they stay where they are.
 *
 * In a partial plan, which is a plan below a Gather, all processes sort their
 * rows together (parallel_sort.c), and each process emits parts of the order
 * that consist of whole partitions.
 *
 * If the child's rows come in order already, as from a Gather Merge, the node
 * does not sort them, and evaluates the functions while it reads the rows.
 *
 * A rescan reads the sorted rows again, unless the child's parameters have
 * changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "executor/explain_window.h"
#include "executor/node_window.h"
#include "executor/parallel_sort.h"
#include "executor/window_plan.h"
#include "port/compat.h"
#include "port/execution_check.h"
#include "shared_state.h"

typedef struct GpuSortWindowState
{
	ParallelSort sort;			/* must be first */
	PlannedWindows planned;
	WindowRun	run;
	bool		has_begun;		/* the run has rows */
	WindowSlot *result;			/* slot of emitted rows; NULL: they are
								 * projected */
} GpuSortWindowState;

static const CustomExecMethods window_exec_methods;

bool
is_gpusort_window(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &window_scan_methods;
}

static Node *
create_window_state(CustomScan *scan)
{
	GpuSortWindowState *state = palloc0(sizeof(GpuSortWindowState));
	ParallelSort *sort = &state->sort;

	NodeSetTag(state, T_CustomScanState);
	sort->css.methods = &window_exec_methods;
	state->planned = planned_windows_read(scan);
	sort->ncolumns = state->planned.sort.ncolumns;
	sort->columns = state->planned.sort.columns;
	sort->ngroup_columns = state->planned.ngroup_columns;
	sort->nstart_columns =
		window_definitions_columns(state->planned.windows,
								   state->planned.nwindows);
	node_limit_set(&sort->limit, &state->planned.sort.limit);
	sort->emission = EMIT_PARTS;
	return (Node *) state;
}

/* Returns the sort columns in which neighbours are told apart. */
static WindowKeys
make_keys(const ParallelSort *sort)
{
	WindowKeys	keys = {
		.columns = sort->columns,
		.ncolumns = sort->nstart_columns,
		.equal = parallel_sort_equalities(sort, sort->nstart_columns)
	};

	return keys;
}

/*
 * Raises an error where core does, as it is about to compare the columns of
 * partitions and orders: if the user may not call an equality function.
 */
static void
check_equalities(const PlannedWindows *planned)
{
	int			ncolumns = 0;

	for (int i = 0; i < planned->nwindows; i++)
		ncolumns = Max(ncolumns, planned->windows[i].npeer_columns);
	for (int i = 0; i < ncolumns; i++)
		check_execution(get_opcode(sort_column_equality(&planned->sort.columns[i])),
						GetUserId(), OBJECT_FUNCTION);
}

/* Makes the slot of the child's columns and all results. */
static void
init_scan_slot(GpuSortWindowState *state, EState *estate)
{
	ScanState  *scan = &state->sort.css.ss;
	TupleDesc	descriptor = scan->ss_ScanTupleSlot->tts_tupleDescriptor;
	int			nsorted = descriptor->natts - state->run.nresults;
	int		   *sources = palloc((descriptor->natts + 1) * sizeof(int));

	for (int i = 0; i < descriptor->natts; i++)
		sources[i] = i < nsorted ? i + 1 : RESULT_SOURCE(i - nsorted);
	state->run.slot = window_slot_create(estate, descriptor, sources,
										 state->run.values, state->run.isnull);
	scan->ss_ScanTupleSlot = &state->run.slot->base.base;
	/* core has prepared expressions for virtual slots */
	scan->ps.scanops = window_slot_ops();
	scan->ps.qual = ExecInitQual(scan->ps.plan->qual, &scan->ps);
	window_run_init_conditions(&state->run, state->planned.windows, &scan->ps);
}

/* Returns whether a target list consists of columns as they are. */
static bool
is_of_columns(const List *target_list)
{
	ListCell   *cell;

	foreach(cell, target_list)
	{
		const Var  *var = (const Var *) lfirst_node(TargetEntry, cell)->expr;

		if (!IsA(var, Var) || var->varno != INDEX_VAR || var->varattno <= 0)
			return false;
	}
	return true;
}

/*
 * Prepares what is emitted: a slot that takes the columns when they are asked
 * for, or a projection if something has to be computed.
 */
static void
init_result(GpuSortWindowState *state, EState *estate)
{
	PlanState  *node = &state->sort.css.ss.ps;
	List	   *target_list = node->plan->targetlist;
	int		   *emitted;
	ListCell   *cell;

	if (!is_of_columns(target_list))
	{
		node->ps_ProjInfo = NULL;
		ExecInitResultTupleSlotTL(node, &TTSOpsVirtual);
		ExecAssignProjectionInfo(node, NULL);
		return;
	}
	emitted = palloc((list_length(target_list) + 1) * sizeof(int));
	foreach(cell, target_list)
	{
		const Var  *var = castNode(Var, lfirst_node(TargetEntry, cell)->expr);

		emitted[foreach_current_index(cell)] =
			state->run.slot->sources[var->varattno - 1];
	}
	node->ps_ProjInfo = NULL;
	state->result = window_slot_create(estate, node->ps_ResultTupleDesc,
									   emitted, state->run.values,
									   state->run.isnull);
	node->ps_ResultTupleSlot = &state->result->base.base;
	node->resultops = window_slot_ops();
	node->resultopsfixed = true;
	node->resultopsset = true;
}

static void
begin_window(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortWindowState *state = (GpuSortWindowState *) node;
	ParallelSort *sort = &state->sort;
	WindowKeys	keys;

	parallel_sort_begin(node, estate, eflags);
	sort->random_access = (eflags & EXEC_FLAG_REWIND) != 0;
	sort->row = ExecInitExtraTupleSlot(estate, sort->descriptor,
									   &TTSOpsMinimalTuple);

	/*
	 * arguments are evaluated for sorted rows, which are not the child's
	 * unless these come in order
	 */
	node->ss.ps.outeropsset = true;
	node->ss.ps.outeropsfixed = !state->planned.presorted;
	node->ss.ps.outerops = &TTSOpsMinimalTuple;

	check_equalities(&state->planned);
	keys = make_keys(sort);
	window_run_init(&state->run, state->planned.windows,
					state->planned.nwindows, sort->descriptor, &keys,
					&node->ss.ps);
	init_scan_slot(state, estate);
	init_result(state, estate);
}

/* Returns the next sorted row, if rows come one after the other. */
static TupleTableSlot *
next_row(void *source)
{
	ParallelSort *sort = source;

	return parallel_sort_next(sort) ? sort->row : NULL;
}

/* Returns the child's next row, if these rows come in order. */
static TupleTableSlot *
next_presorted_row(void *child)
{
	TupleTableSlot *row = ExecProcNode(child);

	return TupIsNull(row) ? NULL : row;
}

/* Sorts, unless rows come in order, and begins to read the sorted rows. */
static void
begin_run(GpuSortWindowState *state)
{
	ParallelSort *sort = &state->sort;
	RowOrder   *order;

	shared_count(STAT_WINDOWS, 1);
	window_run_find_offsets(&state->run);
	if (state->planned.presorted)
	{
		window_run_begin_reading(&state->run, next_presorted_row,
								 outerPlanState(state), false);
		state->has_begun = true;
		return;
	}
	parallel_sort_get_ready(sort);
	order = sort->sort == NULL ? NULL : row_sort_order(sort->sort);
	if (order != NULL)
		window_run_begin_order(&state->run, order);
	else
		window_run_begin_reading(&state->run, next_row, sort,
								 sort->parts != NULL &&
								 part_reader_rows_stay(sort->parts));
	state->has_begun = true;
}

/* Shows the progress of rows that are read by their order. */
static void
show_progress(GpuSortWindowState *state)
{
	if (state->run.rows.order != NULL)
		row_sort_show_emitted(state->sort.sort, state->run.row + 1);
}

/* Forgets the rows of the run, before the sort does. */
static void
forget_run(GpuSortWindowState *state)
{
	if (state->has_begun)
		window_run_end(&state->run);
	state->has_begun = false;
}

/* Drops what is not needed after the last row. */
static void
end_rows(GpuSortWindowState *state)
{
	if (state->sort.parts == NULL)
		return;
	forget_run(state);
	parallel_sort_release(&state->sort);
}

static TupleTableSlot *
exec_window(CustomScanState *node)
{
	GpuSortWindowState *state = (GpuSortWindowState *) node;
	PlanState  *plan = &node->ss.ps;
	ExprContext *context = plan->ps_ExprContext;
	TupleTableSlot *row;

	if (unlikely(!state->has_begun))
		begin_run(state);
	while ((row = window_run_next(&state->run)) != NULL)
	{
		if (unlikely(state->run.row % PROGRESS_ROWS == 0))
			show_progress(state);
		context->ecxt_scantuple = row;
		if (plan->qual != NULL && !ExecQual(plan->qual, context))
		{
			InstrCountFiltered1(node, 1);
			continue;
		}
		return state->result == NULL ? ExecProject(plan->ps_ProjInfo) :
			window_slot_show(state->result, state->run.slot->row);
	}
	show_progress(state);
	end_rows(state);
	return ExecClearTuple(plan->ps_ResultTupleSlot);
}

static void
end_window(CustomScanState *node)
{
	forget_run((GpuSortWindowState *) node);
	parallel_sort_end(node);
}

static void
rescan_window(CustomScanState *node)
{
	GpuSortWindowState *state = (GpuSortWindowState *) node;

	if (!state->has_begun || !parallel_sort_can_read_again(&state->sort))
	{
		forget_run(state);
		parallel_sort_rescan(node);
		return;
	}
	ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
	window_run_find_offsets(&state->run);
	if (state->run.rows.order != NULL)
		window_run_begin_again(&state->run);
	else
	{
		window_run_end(&state->run);
		row_sort_rescan(state->sort.sort);
		window_run_begin_reading(&state->run, next_row, &state->sort, false);
	}
}

static void
init_shared(CustomScanState *node, ParallelContext *context, void *place)
{
	forget_run((GpuSortWindowState *) node);
	parallel_sort_init_shared(node, context, place);
}

static void
init_shared_again(CustomScanState *node, ParallelContext *context, void *place)
{
	forget_run((GpuSortWindowState *) node);
	parallel_sort_init_shared_again(node, context, place);
}

static void
shutdown_window(CustomScanState *node)
{
	GpuSortWindowState *state = (GpuSortWindowState *) node;

	/* the rows of several processes go */
	if (state->sort.shared != NULL && state->sort.team != NULL)
		forget_run(state);
	parallel_sort_shutdown(node);
}

static void
explain_window(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const GpuSortWindowState *state = (const GpuSortWindowState *) node;

	explain_windows(&state->planned, node, ancestors, es);
	if (node_has_limit(&state->sort.limit))
		node_limit_explain(&state->sort.limit, node, ancestors, es);
	parallel_sort_explain(&state->sort, es);
}

const CustomScanMethods window_scan_methods = {
	.CustomName = "GpuSortWindow",
	.CreateCustomScanState = create_window_state
};

static const CustomExecMethods window_exec_methods = {
	.CustomName = "GpuSortWindow",
	.BeginCustomScan = begin_window,
	.ExecCustomScan = exec_window,
	.EndCustomScan = end_window,
	.ReScanCustomScan = rescan_window,
	.EstimateDSMCustomScan = parallel_sort_estimate,
	.InitializeDSMCustomScan = init_shared,
	.ReInitializeDSMCustomScan = init_shared_again,
	.InitializeWorkerCustomScan = parallel_sort_init_worker,
	.ShutdownCustomScan = shutdown_window,
	.ExplainCustomScan = explain_window
};
