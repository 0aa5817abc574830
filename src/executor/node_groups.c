/*-------------------------------------------------------------------------
 *
 * node_groups.c
 *	  The GpuSortGroups plan node: sorted groups, for consumers in all processes.
 *
 * The node is parallel-aware, and stands in a partial plan, that is below a Gather:
 * in the leader and in its workers, which are all participants alike.  Each puts
 * its share of the child's rows into shared memory.  One of them, the first to
 * come, is elected to collect them as well, and to sort their keys, as the leader
 * of a GpuSort does (row_sort.c).  Then it shares the order, and each participant
 * emits the next slice of it, when it has emitted one (sorted_slices.c).  Slices
 * are cut only where the first columns change, by which the node above groups rows.
 * So a WindowAgg, a grouping or a Unique there sees whole groups.
 *
 * The phases:
 *	- Collect: the participants that come take rows of the child.  The elected one
 *	  goes on when all of them have had their last row.
 *	- Emit: everybody, also who comes only now.  Or the elected one alone.
 *
 * A participant waits only before it has emitted its first row: nobody is waited
 * for that could wait, in turn, for room in a tuple queue, or for an end of those
 * who wait.  Workers that never start are not known here, and not waited for.
 *
 * Where memory does not suffice, or keys are of no use, no slices are shared.
 * Rows that cannot be put into shared memory go to files.  The elected participant
 * sorts all rows, if need be by core's sort, and emits them alone.  That is right,
 * too: its groups are whole.
 *
 * A leader without workers sorts for itself, and emits all rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "storage/condition_variable.h"
#include "storage/sharedfileset.h"
#include "utils/memutils.h"
#include "utils/sharedtuplestore.h"

#include "executor/node_groups.h"
#include "executor/node_gpusort.h"
#include "executor/row_sort.h"
#include "executor/shared_rows.h"
#include "executor/sorted_slices.h"
#include "port/compat.h"
#include "shared_state.h"

typedef enum GroupsPhase
{
	PHASE_COLLECT,
	PHASE_EMIT_SLICES,			/* all participants emit */
	PHASE_EMIT_ALONE			/* only the elected one does */
} GroupsPhase;

/*
 * What participants share.  Behind it are the SharedRows and, in a SharedTuplestore,
 * the rows for which there was no room in these.
 */
typedef struct SharedGroups
{
	int			nparticipants;	/* leader and planned workers */
	dsm_handle	context_segment;	/* segment of the parallel context */
	pg_atomic_uint32 phase;		/* a GroupsPhase */
	ConditionVariable phase_changed;
	SharedSlices slices;
	SharedFileSet files;
	RowSortReport report;		/* when there is an order */
} SharedGroups;

/* What a sort was like, for EXPLAIN. */
typedef struct GroupsReport
{
	bool		sorted;
	RowSortReport sort;
	uint64		nslices;		/* 0: one participant has emitted all */
	int			nparticipants;	/* participants that have emitted slices */
	uint64		most_rows;		/* most rows that one of them has emitted */
} GroupsReport;

typedef struct GpuSortGroupsState
{
	CustomScanState css;		/* must be first */
	SortColumn *columns;
	int			ncolumns;
	int			ngroup_columns; /* the first ones, which make a group */
	NodeLimit	limit;			/* limit of each group's rows */
	TupleTableSlot *row;		/* row as it is sorted */
	MemoryContext memory;		/* owns what is below */

	bool		ready;			/* rows can be emitted */
	RowSort    *sort;			/* collects, or emits all rows; or NULL */
	RowSegments *segments;		/* rows in shared memory, or NULL */
	SliceReader *slices;		/* emits slices; or NULL */

	SharedGroups *shared;		/* NULL in a single process */
	ParallelContext *context;	/* parallel context, in the leader */
	GroupsReport report;
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

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &groups_exec_methods;
	state->columns = gpusort_make_columns(scan, &state->ncolumns);
	state->ngroup_columns = linitial_int(llast(scan->custom_private));
	node_limit_set(&state->limit, gpusort_planned_limit(scan));
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
		state->row = node->ps_ResultTupleSlot;
	}
	else
		state->row = ExecInitExtraTupleSlot(node->state,
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
	state->memory = AllocSetContextCreate(estate->es_query_cxt,
										  "gpusort groups",
										  ALLOCSET_SMALL_SIZES);
	init_result(state);
	node_limit_begin(&state->limit, node);
}

/* The parts of the shared memory behind the SharedGroups. */
static SharedRows *
shared_rows(SharedGroups *shared)
{
	return (SharedRows *) ((char *) shared + MAXALIGN(sizeof(SharedGroups)));
}

static SharedTuplestore *
kept_rows(SharedGroups *shared)
{
	return (SharedTuplestore *)
		((char *) shared_rows(shared) +
		 MAXALIGN(shared_rows_size(shared->nparticipants)));
}

/* The number of this participant. */
static int
own_number(const GpuSortGroupsState *state)
{
	return IsParallelWorker() ? ParallelWorkerNumber :
		state->shared->nparticipants - 1;
}

/* Is this process one of several? */
static bool
has_others(const GpuSortGroupsState *state)
{
	return state->shared != NULL &&
		(IsParallelWorker() || state->context->nworkers_launched > 0);
}

/* Begins the sort of a process that has no others beside it. */
static void
sort_alone(GpuSortGroupsState *state)
{
	PlanState  *child = outerPlanState(&state->css);
	MemoryContext caller_context = MemoryContextSwitchTo(state->memory);

	state->sort = row_sort_begin(ExecGetResultType(child), state->columns,
								 state->ncolumns, child->plan->plan_rows,
								 NO_BOUND, false);
	MemoryContextSwitchTo(caller_context);
	node_limit_apply(&state->limit, state->sort);
	row_sort_take(state->sort, child);
	row_sort_perform(state->sort);
	row_sort_report(state->sort, &state->report.sort);
	state->report.sorted = true;
}

/* Begins the sort of all rows, in the elected participant. */
static RowCollector *
begin_collecting(GpuSortGroupsState *state)
{
	PlanState  *child = outerPlanState(&state->css);
	int			nparticipants = state->shared->nparticipants;
	RowCollector *collector = row_collector_begin(shared_rows(state->shared),
												  state->segments);

	state->sort = row_sort_begin_leader(ExecGetResultType(child),
										state->columns, state->ncolumns,
										child->plan->plan_rows * nparticipants,
										NO_BOUND, collector,
										nparticipants - 1);
	node_limit_apply(&state->limit, state->sort);
	return collector;
}

/* Begins to put rows; NULL if the others have had all rows. */
static RowDeposit *
begin_deposit(GpuSortGroupsState *state)
{
	/* they note the form of their keys, which may not be the sort's */
	SortColumn *columns = palloc(state->ncolumns * sizeof(SortColumn));

	memcpy(columns, state->columns, state->ncolumns * sizeof(SortColumn));
	return row_deposit_begin(shared_rows(state->shared), state->segments,
							 own_number(state),
							 ExecGetResultType(outerPlanState(&state->css)),
							 columns, state->ncolumns);
}

/* Writes a row to the files. */
static void
keep_row(SharedTuplestoreAccessor *files, TupleTableSlot *slot)
{
	bool		is_copy;
	MinimalTuple row = ExecFetchSlotMinimalTuple(slot, &is_copy);

	sts_puttuple(files, NULL, row);
	if (is_copy)
		pfree(row);
}

/* Puts all rows that the child has for this participant. */
static void
put_rows(GpuSortGroupsState *state, RowDeposit *deposit,
		 SharedTuplestoreAccessor *files)
{
	PlanState  *child = outerPlanState(&state->css);
	uint64		nkept = 0;

	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(child);

		if (TupIsNull(slot))
			break;
		if (unlikely(nkept > 0) || unlikely(!row_deposit_put(deposit, slot)))
		{
			keep_row(files, slot);
			nkept++;
		}
		if (state->sort != NULL)
			row_sort_take_sent(state->sort);
	}
	sts_end_write(files);
	row_deposit_finish(deposit, nkept);
}

/* Puts the rows from the files to the sort. */
static void
take_kept_rows(GpuSortGroupsState *state, SharedTuplestoreAccessor *files)
{
	TupleTableSlot *slot =
		MakeSingleTupleTableSlot(ExecGetResultType(outerPlanState(&state->css)),
								 &TTSOpsMinimalTuple);
	MinimalTuple row;

	sts_begin_parallel_scan(files);
	while ((row = sts_parallel_scan_next(files, NULL)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		ExecStoreMinimalTuple(row, slot, false);
		row_sort_put(state->sort, slot);
	}
	sts_end_parallel_scan(files);
	ExecDropSingleTupleTableSlot(slot);
}

/* Begins to emit, in all participants. */
static void
begin_phase(SharedGroups *shared, GroupsPhase phase)
{
	pg_memory_barrier();
	pg_atomic_write_u32(&shared->phase, phase);
	ConditionVariableBroadcast(&shared->phase_changed);
}

/* In the elected participant: sorts, and shares the order if it can. */
static void
make_order(GpuSortGroupsState *state, const RowCollector *collector,
		   SharedTuplestoreAccessor *files)
{
	SharedGroups *shared = state->shared;
	RowOrder   *order;

	if (row_sort_take_rest(state->sort) > 0)
		take_kept_rows(state, files);
	row_sort_perform(state->sort);
	row_sort_report(state->sort, &shared->report);
	order = row_sort_shared_order(state->sort);
	if (order == NULL ||
		!shared_slices_share(&shared->slices, order, collector,
							 shared->nparticipants,
							 row_sort_shared_limit(shared->nparticipants - 1)))
	{
		begin_phase(shared, PHASE_EMIT_ALONE);
		return;
	}
	row_sort_end(state->sort);
	state->sort = NULL;
	shared_count(STAT_SORTS_IN_SLICES, 1);
	begin_phase(shared, PHASE_EMIT_SLICES);
}

/* Waits until rows can be emitted; returns the phase. */
static GroupsPhase
wait_for_order(SharedGroups *shared)
{
	static uint32 wait_event = 0;
	uint32		phase;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortGroups");
	while ((phase = pg_atomic_read_u32(&shared->phase)) == PHASE_COLLECT)
		ConditionVariableSleep(&shared->phase_changed, wait_event);
	ConditionVariableCancelSleep();
	pg_read_barrier();
	return phase;
}

/* Takes part in collecting the rows, as long as that goes on. */
static void
collect_rows(GpuSortGroupsState *state)
{
	SharedGroups *shared = state->shared;
	bool		elected = shared_rows_elect(shared_rows(shared));
	RowDeposit *deposit;
	RowCollector *collector = NULL;
	SharedTuplestoreAccessor *files;
	MemoryContext caller_context = MemoryContextSwitchTo(state->memory);

	deposit = begin_deposit(state);
	files = sts_attach(kept_rows(shared), own_number(state), &shared->files);
	if (elected)
		collector = begin_collecting(state);
	MemoryContextSwitchTo(caller_context);

	if (deposit != NULL)
		put_rows(state, deposit, files);
	if (elected)
	{
		MemoryContextSwitchTo(state->memory);
		make_order(state, collector, files);
		MemoryContextSwitchTo(caller_context);
	}
	(void) wait_for_order(shared);
	if (deposit != NULL)
		row_deposit_end(deposit);
}

/* Begins to emit slices, if there are any left. */
static void
begin_slices(GpuSortGroupsState *state)
{
	MemoryContext caller_context = MemoryContextSwitchTo(state->memory);
	RowComparator *groups =
		row_comparator_create(ExecGetResultType(outerPlanState(&state->css)),
							  minimal_tuple_column, state->columns,
							  state->ngroup_columns);

	state->slices = slice_reader_begin(&state->shared->slices,
									   state->segments, groups);
	MemoryContextSwitchTo(caller_context);
}

static void
begin_segments(GpuSortGroupsState *state)
{
	MemoryContext caller_context = MemoryContextSwitchTo(state->memory);

	state->segments = row_segments_begin(shared_rows(state->shared));
	MemoryContextSwitchTo(caller_context);
}

/* Does all that comes before the first row. */
static void
get_ready(GpuSortGroupsState *state)
{
	state->ready = true;
	if (!has_others(state))
	{
		sort_alone(state);
		return;
	}
	begin_segments(state);
	if (pg_atomic_read_u32(&state->shared->phase) == PHASE_COLLECT)
		collect_rows(state);
	if (wait_for_order(state->shared) == PHASE_EMIT_SLICES)
		begin_slices(state);
}

/* Stores the next row; false if there is none. */
static inline bool
get_row(GpuSortGroupsState *state)
{
	TupleTableSlot *slot = state->row;
	void	   *row = NULL;

	if (state->sort != NULL)
		return row_sort_get(state->sort, true, slot);
	if (state->slices != NULL)
		row = slice_reader_next(state->slices, slot->tts_nvalid > 0);
	if (row == NULL)
	{
		ExecClearTuple(slot);
		return false;
	}
	ExecStoreMinimalTuple(row, slot, false);
	return true;
}

static TupleTableSlot *
exec_groups(CustomScanState *node)
{
	GpuSortGroupsState *state = (GpuSortGroupsState *) node;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	if (unlikely(!state->ready))
		get_ready(state);
	if (!get_row(state))
		return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
	if (likely(projection == NULL))
		return state->row;

	/* it is made for slots whose values are there */
	slot_getallattrs(state->row);
	ResetExprContext(node->ss.ps.ps_ExprContext);
	node->ss.ps.ps_ExprContext->ecxt_scantuple = state->row;
	return ExecProject(projection);
}

/* Forgets all that this process has of the rows. */
static void
forget_rows(GpuSortGroupsState *state)
{
	ExecClearTuple(state->css.ss.ps.ps_ResultTupleSlot);
	ExecClearTuple(state->row);
	if (state->slices != NULL)
		slice_reader_end(state->slices);
	if (state->sort != NULL)
		row_sort_end(state->sort);
	if (state->segments != NULL)
		row_segments_end(state->segments);
	state->slices = NULL;
	state->sort = NULL;
	state->segments = NULL;
	state->ready = false;
	MemoryContextReset(state->memory);
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
	int			nparticipants = context->nworkers + 1;

	return MAXALIGN(sizeof(SharedGroups)) +
		MAXALIGN(shared_rows_size(nparticipants)) +
		sts_estimate(nparticipants);
}

/* Begins a sort in the leader, before workers are launched. */
static void
reset_shared(GpuSortGroupsState *state, SharedGroups *shared)
{
	int			nparticipants = shared->nparticipants;

	forget_rows(state);
	pg_atomic_write_u32(&shared->phase, PHASE_COLLECT);
	ConditionVariableInit(&shared->phase_changed);
	shared_slices_init(&shared->slices);
	shared_rows_init(shared_rows(shared), nparticipants,
					 row_sort_shared_limit(nparticipants - 1));
	/* all participants attach to it, the leader as well */
	(void) sts_initialize(kept_rows(shared), nparticipants, nparticipants - 1,
						  0, SHARED_TUPLESTORE_SINGLE_PASS, &shared->files,
						  "rows");
	state->shared = shared;
}

static void
init_shared(CustomScanState *node, ParallelContext *context, void *place)
{
	GpuSortGroupsState *state = (GpuSortGroupsState *) node;
	SharedGroups *shared = place;

	/* without shared memory there will be no workers */
	state->context = context;
	if (context->seg == NULL)
		return;
	shared->nparticipants = context->nworkers + 1;
	shared->context_segment = dsm_segment_handle(context->seg);
	pg_atomic_init_u32(&shared->phase, PHASE_COLLECT);
	SharedFileSetInit(&shared->files, context->seg);
	reset_shared(state, shared);
}

/* Before another launch of workers, when those of the last one have ended. */
static void
init_shared_again(CustomScanState *node, ParallelContext *context,
				  void *place)
{
	SharedGroups *shared = place;

	if (context->seg == NULL)
		return;
	SharedFileSetDeleteAll(&shared->files);
	reset_shared((GpuSortGroupsState *) node, shared);
}

static void
init_worker(CustomScanState *node, shm_toc *contents, void *place)
{
	SharedGroups *shared = place;

	((GpuSortGroupsState *) node)->shared = shared;
	SharedFileSetAttach(&shared->files,
						dsm_find_mapping(shared->context_segment));
}

/* Notes what a sort was like before the memory goes that has it. */
static void
note_report(GpuSortGroupsState *state)
{
	SharedSlices *slices = &state->shared->slices;
	GroupsReport *report = &state->report;

	if (pg_atomic_read_u32(&state->shared->phase) == PHASE_COLLECT)
		return;
	report->sorted = true;
	report->sort = state->shared->report;
	/* these do not tell who is a worker; the participants are shown instead */
	report->sort.workers = 0;
	report->nslices = pg_atomic_read_u64(&slices->nslices);
	report->nparticipants = pg_atomic_read_u32(&slices->nparticipants);
	report->most_rows = pg_atomic_read_u64(&slices->most_rows);
}

/*
 * When no more rows will be wanted, and before the parallel context goes.  Also
 * called between fetches from a cursor, which has no workers.
 */
static void
shutdown_groups(CustomScanState *node)
{
	GpuSortGroupsState *state = (GpuSortGroupsState *) node;

	if (state->shared != NULL && has_others(state))
	{
		note_report(state);
		forget_rows(state);
		state->ready = true;
	}
	state->shared = NULL;
	state->context = NULL;
}

static void
explain_groups(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpuSortGroupsState *state = (GpuSortGroupsState *) node;
	const GroupsReport *report = &state->report;

	gpusort_explain_keys("Sort Key", node, state->columns, state->ncolumns,
						 ancestors, es);
	gpusort_explain_keys("Group Key", node, state->columns,
						 state->ngroup_columns, ancestors, es);
	if (node_has_limit(&state->limit))
		node_limit_explain(&state->limit, node, ancestors, es);
	if (!es->analyze || !report->sorted)
		return;
	gpusort_explain_report(&report->sort, es);
	if (report->nslices > 0)
	{
		ExplainPropertyUInteger("Slices", NULL, report->nslices, es);
		ExplainPropertyInteger("Participants", NULL, report->nparticipants,
							   es);
		ExplainPropertyUInteger("Most Rows of One", NULL, report->most_rows,
								es);
	}
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
