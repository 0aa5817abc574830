/*-------------------------------------------------------------------------
 *
 * parallel_sort.c
 *	  Sorting the rows of a partial plan, by all processes that run it.
 *
 * The node is parallel-aware, and stands in a partial plan, that is below a Gather:
 * in the leader and in its workers, which are all participants alike.  Each puts
 * its share of the child's rows into shared memory.  One of them, the first to
 * come, is elected to collect them as well, and to sort their keys, as the leader
 * of a GpuSort does (row_sort.c).  Then it shares the order, and each participant
 * emits the next slice of it, when it has emitted one (sorted_slices.c).
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
 * Participants keep rows that cannot be put into shared memory, and merge the runs of
 * these together (kept_rows.c).  The elected one emits the rows alone.  That is right
 * for every node above, whose groups are whole then, too.
 *
 * A leader without workers sorts for itself, and emits all rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "storage/condition_variable.h"
#include "utils/memutils.h"

#include "cost/sort_cost.h"
#include "executor/explain_sort.h"
#include "executor/kept_rows.h"
#include "executor/parallel_sort.h"
#include "executor/shared_rows.h"
#include "port/compat.h"
#include "settings.h"
#include "shared_state.h"

typedef enum SortPhase
{
	PHASE_COLLECT,
	PHASE_EMIT_SLICES,			/* all participants emit */
	PHASE_EMIT_ALONE			/* only the elected one does */
} SortPhase;

/* Behind it are the SharedRows and the SharedKeptRows. */
struct SharedSort
{
	int			nparticipants;	/* leader and planned workers */
	pg_atomic_uint32 phase;		/* a SortPhase */
	ConditionVariable phase_changed;
	SharedSlices slices;
	RowSortReport report;		/* report of the sort, when there is an order */
	pg_atomic_uint64 nrows;		/* rows that participants have had */
	pg_atomic_uint64 nnulls;	/* rows of these that have been left out */
	pg_atomic_uint64 ngroups;	/* groups that participants have counted */
	pg_atomic_uint64 nread;		/* rows of the groups that have been counted */
};

/* The parts of the shared memory behind the SharedSort. */
static SharedRows *
shared_rows(SharedSort *shared)
{
	return (SharedRows *) ((char *) shared + MAXALIGN(sizeof(SharedSort)));
}

static SharedKeptRows *
shared_kept_rows(SharedSort *shared)
{
	return (SharedKeptRows *)
		((char *) shared_rows(shared) +
		 MAXALIGN(shared_rows_size(shared->nparticipants)));
}

/* The number of this participant. */
static int
own_number(const ParallelSort *sort)
{
	return IsParallelWorker() ? ParallelWorkerNumber :
		sort->shared->nparticipants - 1;
}

/* Is this process one of several? */
static bool
has_others(const ParallelSort *sort)
{
	return sort->shared != NULL &&
		(IsParallelWorker() || sort->context->nworkers_launched > 0);
}

void
parallel_sort_begin(CustomScanState *node, EState *estate, int eflags)
{
	ParallelSort *sort = (ParallelSort *) node;

	outerPlanState(node) = ExecInitNode(outerPlan(node->ss.ps.plan), estate,
										eflags & ~(EXEC_FLAG_REWIND |
												   EXEC_FLAG_BACKWARD |
												   EXEC_FLAG_MARK));
	sort->memory = AllocSetContextCreate(estate->es_query_cxt,
										 "gpusort parallel sort",
										 ALLOCSET_SMALL_SIZES);
	node_limit_begin(&sort->limit, node);
	sort->descriptor = ExecGetResultType(outerPlanState(node));
}

/* The next row that is to be sorted; NULL if there is none. */
static inline TupleTableSlot *
next_row(ParallelSort *sort, PlanState *child)
{
	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(child);

		if (TupIsNull(slot))
			return NULL;
		sort->nrows++;
		if (!sort->leaves_out_nulls ||
			!slot_attisnull(slot, sort->columns[0].attno))
			return sort->make_row == NULL ? slot : sort->make_row(sort, slot);
		sort->nnulls++;
	}
}

/* Begins the sort of a process that has no others beside it. */
static void
sort_alone(ParallelSort *sort)
{
	PlanState  *child = outerPlanState(sort);
	TupleTableSlot *slot;
	MemoryContext caller_context =
		MemoryContextSwitchTo(child->state->es_query_cxt);

	if (sort->last_was_small)
		sort->sort = row_sort_begin_few(&sort->emptied,
										sort->descriptor,
										sort->columns, sort->ncolumns,
										child->plan->plan_rows, NO_BOUND, false);
	else
		sort->sort = row_sort_begin(sort->descriptor, sort->columns,
									sort->ncolumns, child->plan->plan_rows,
									NO_BOUND, false);
	MemoryContextSwitchTo(caller_context);
	node_limit_apply(&sort->limit, sort->sort);
	while ((slot = next_row(sort, child)) != NULL)
		row_sort_put(sort->sort, slot);
	sort->last_was_small = sort->nrows < gpusort_min_rows;
	row_sort_perform(sort->sort);
	if (sort->css.ss.ps.instrument == NULL)
		return;
	row_sort_report(sort->sort, &sort->report.sort);
	sort->report.sorted = true;
}

/* The memory of all participants. */
static SharedMemoryLimits
divide_memory(const SharedSort *shared)
{
	return row_sort_divide_memory(shared->nparticipants - 1, false);
}

/* Begins the sort of all rows, in the elected participant. */
static RowCollector *
begin_collecting(ParallelSort *sort)
{
	PlanState  *child = outerPlanState(sort);
	int			nparticipants = sort->shared->nparticipants;
	SharedMemoryLimits limits = divide_memory(sort->shared);
	SharedKeptRows *kept = shared_kept_rows(sort->shared);
	RowCollector *collector = row_collector_begin(shared_rows(sort->shared),
												  sort->segments);

	sort->sort = row_sort_begin_leader(sort->descriptor,
									   sort->columns, sort->ncolumns,
									   child->plan->plan_rows * nparticipants,
									   NO_BOUND, &limits, collector,
									   shared_kept_rows_runs(kept),
									   HELP_BEFORE_ROWS);
	node_limit_apply(&sort->limit, sort->sort);
	return collector;
}

/* Begins to put rows; NULL if the others have had all rows. */
static RowDeposit *
begin_deposit(ParallelSort *sort)
{
	return row_deposit_begin(shared_rows(sort->shared), sort->segments,
							 own_number(sort),
							 sort->descriptor,
							 sort->columns, sort->ncolumns, sort->progress);
}

/* Begins to keep rows for which there is no room. */
static void
begin_keeping(ParallelSort *sort, KeptRows *kept)
{
	PlanState  *child = outerPlanState(sort);

	kept_rows_init(kept, shared_kept_rows(sort->shared), sort->descriptor,
				   sort->columns, sort->ncolumns, child->plan->plan_rows,
				   NO_BOUND, &sort->limit);
}

/* Puts all rows that the child has for this participant. */
static void
put_rows(ParallelSort *sort, RowDeposit *deposit, KeptRows *kept)
{
	PlanState  *child = outerPlanState(sort);
	TupleTableSlot *slot;

	while ((slot = next_row(sort, child)) != NULL)
	{
		if (unlikely(kept->nrows > 0) ||
			unlikely(!row_deposit_put(deposit, slot)))
			kept_rows_put(kept, slot);
		if (sort->sort != NULL)
			row_sort_take_sent(sort->sort);
	}
	if (sort->sort != NULL)
		kept_rows_end(kept);
	else
		kept_rows_end_to_help(kept);
	pg_atomic_fetch_add_u64(&sort->shared->nrows, sort->nrows);
	pg_atomic_fetch_add_u64(&sort->shared->nnulls, sort->nnulls);
	row_deposit_finish(deposit, kept->nrows);
	if (sort->sort == NULL)
		(void) kept_rows_merge(kept);
}

/* Begins to emit, in all participants. */
static void
begin_phase(SharedSort *shared, SortPhase phase)
{
	pg_memory_barrier();
	pg_atomic_write_u32(&shared->phase, phase);
	ConditionVariableBroadcast(&shared->phase_changed);
}

/* Should all participants emit the rows of this sort? */
static bool
wants_slices(const ParallelSort *sort)
{
	uint64		ngroups;

	switch (sort->emission)
	{
		case EMIT_SLICES:
			return true;
		case EMIT_SLICES_TO_COUNT:
			return !row_sort_count_groups(sort->sort, &ngroups);
		default:
			return false;
	}
}

/* Shares the order among the participants; false if one has to emit all rows. */
static bool
share_order(ParallelSort *sort, const RowCollector *collector)
{
	SharedSort *shared = sort->shared;
	RowOrder   *order = row_sort_shared_order(sort->sort);

	return order != NULL && wants_slices(sort) &&
		shared_slices_share(&shared->slices, order, collector,
							shared_slices_even(order->nentries,
											   shared->nparticipants),
							divide_memory(shared).shared_rows);
}

/* In the elected participant: sorts, and begins the emission of rows. */
static void
make_order(ParallelSort *sort, const RowCollector *collector)
{
	SharedSort *shared = sort->shared;

	kept_rows_take(shared_kept_rows(shared), sort->sort);
	row_sort_perform(sort->sort);
	row_sort_report(sort->sort, &shared->report);
	if (!share_order(sort, collector))
	{
		begin_phase(shared, PHASE_EMIT_ALONE);
		return;
	}
	row_sort_end(sort->sort);
	sort->sort = NULL;
	shared_count(STAT_SORTS_IN_SLICES, 1);
	begin_phase(shared, PHASE_EMIT_SLICES);
}

/* Waits until rows can be emitted; returns the phase. */
static SortPhase
wait_for_order(SharedSort *shared)
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
collect_rows(ParallelSort *sort)
{
	SharedSort *shared = sort->shared;
	bool		elected = shared_rows_elect(shared_rows(shared));
	RowDeposit *deposit;
	RowCollector *collector = NULL;
	KeptRows	kept;
	MemoryContext caller_context = MemoryContextSwitchTo(sort->memory);

	deposit = begin_deposit(sort);
	begin_keeping(sort, &kept);
	if (elected)
	{
		/* the progress of the sort is shown until that is done */
		sort_progress_enter(sort->progress, PROGRESS_EMITTING_ROWS);
		collector = begin_collecting(sort);
	}
	MemoryContextSwitchTo(caller_context);

	if (deposit != NULL)
		put_rows(sort, deposit, &kept);
	if (elected)
	{
		MemoryContextSwitchTo(sort->memory);
		make_order(sort, collector);
		MemoryContextSwitchTo(caller_context);
	}
	else
		sort_progress_enter(sort->progress, PROGRESS_WAITING_FOR_LEADER);
	(void) wait_for_order(shared);
	if (deposit != NULL)
		row_deposit_end(deposit);
}

/* Begins to emit slices, if there are any left. */
static void
begin_slices(ParallelSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->memory);
	RowComparator *groups =
		row_comparator_create(sort->descriptor,
							  minimal_tuple_column, sort->columns,
							  sort->ngroup_columns);

	sort_progress_enter(sort->progress, PROGRESS_EMITTING_ROWS);
	sort->slices = slice_reader_begin(&sort->shared->slices, sort->segments,
									  groups, sort->progress);
	MemoryContextSwitchTo(caller_context);
}

/* Begins what a participant has from its beginning to its end. */
static void
begin_participant(ParallelSort *sort)
{
	PlanState  *child = outerPlanState(sort);
	MemoryContext caller_context = MemoryContextSwitchTo(sort->memory);

	sort->progress = sort_progress_begin(PROGRESS_OF_SORT,
										 child->plan->plan_rows, true);
	sort->segments = row_segments_begin(shared_rows(sort->shared));
	MemoryContextSwitchTo(caller_context);
}

void
parallel_sort_get_ready(ParallelSort *sort)
{
	if (sort->ready)
		return;
	sort->ready = true;
	if (!has_others(sort))
	{
		sort_alone(sort);
		return;
	}
	begin_participant(sort);
	if (pg_atomic_read_u32(&sort->shared->phase) == PHASE_COLLECT)
		collect_rows(sort);
	if (wait_for_order(sort->shared) == PHASE_EMIT_SLICES)
		begin_slices(sort);
	else
		sort_progress_end(sort->progress);
}

uint64
parallel_sort_rows(const ParallelSort *sort)
{
	return has_others(sort) ? pg_atomic_read_u64(&sort->shared->nrows) :
		sort->nrows;
}

uint64
parallel_sort_nulls(const ParallelSort *sort)
{
	return has_others(sort) ? pg_atomic_read_u64(&sort->shared->nnulls) :
		sort->nnulls;
}

bool
parallel_sort_is_last(ParallelSort *sort, uint64 *ngroups)
{
	SharedSort *shared = sort->shared;
	uint64		nread = slice_reader_rows(sort->slices);

	if (nread == 0)
		return false;
	/* who counts the last rows finds all groups counted */
	pg_atomic_fetch_add_u64(&shared->ngroups, *ngroups);
	if (pg_atomic_fetch_add_u64(&shared->nread, nread) + nread <
		shared->slices.nrows)
		return false;
	*ngroups = pg_atomic_read_u64(&shared->ngroups);
	return true;
}

/* Forgets all that this process has of the rows, also the one emitted last. */
static void
forget_rows(ParallelSort *sort)
{
	ExecClearTuple(sort->css.ss.ss_ScanTupleSlot);
	ExecClearTuple(sort->css.ss.ps.ps_ResultTupleSlot);
	ExecClearTuple(sort->row);
	if (sort->slices != NULL)
		slice_reader_end(sort->slices);
	if (sort->sort != NULL)
		row_sort_empty(sort->sort, &sort->emptied);
	if (sort->segments != NULL)
		row_segments_end(sort->segments);
	sort->slices = NULL;
	sort->sort = NULL;
	sort->progress = NULL;
	sort->segments = NULL;
	sort->ready = false;
	sort->nrows = 0;
	sort->nnulls = 0;
	MemoryContextReset(sort->memory);
}

void
parallel_sort_end(CustomScanState *node)
{
	ParallelSort *sort = (ParallelSort *) node;

	forget_rows(sort);
	if (sort->emptied != NULL)
		row_sort_end(sort->emptied);
	ExecEndNode(outerPlanState(node));
}

void
parallel_sort_rescan(CustomScanState *node)
{
	forget_rows((ParallelSort *) node);
	/* with changed parameters the child is rescanned at its first fetch */
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

Size
parallel_sort_estimate(CustomScanState *node, ParallelContext *context)
{
	int			nparticipants = context->nworkers + 1;

	return MAXALIGN(sizeof(SharedSort)) +
		MAXALIGN(shared_rows_size(nparticipants)) +
		shared_kept_rows_size();
}

/* Begins a sort in the leader, before workers are launched. */
static void
reset_shared(ParallelSort *sort, SharedSort *shared)
{
	pg_atomic_write_u32(&shared->phase, PHASE_COLLECT);
	ConditionVariableInit(&shared->phase_changed);
	pg_atomic_init_u64(&shared->nrows, 0);
	pg_atomic_init_u64(&shared->nnulls, 0);
	pg_atomic_init_u64(&shared->ngroups, 0);
	pg_atomic_init_u64(&shared->nread, 0);
	shared_slices_init(&shared->slices);
	shared_rows_init(shared_rows(shared), shared->nparticipants,
					 divide_memory(shared).shared_rows);
	sort->shared = shared;
}

void
parallel_sort_init_shared(CustomScanState *node, ParallelContext *context,
						  void *place)
{
	ParallelSort *sort = (ParallelSort *) node;
	SharedSort *shared = place;

	/* without shared memory there will be no workers */
	sort->context = context;
	if (context->seg == NULL)
		return;
	forget_rows(sort);
	shared->nparticipants = context->nworkers + 1;
	pg_atomic_init_u32(&shared->phase, PHASE_COLLECT);
	shared_kept_rows_init(shared_kept_rows(shared), context,
						  divide_memory(shared).kept_rows);
	reset_shared(sort, shared);
}

/* When the workers of the last launch have ended. */
void
parallel_sort_init_shared_again(CustomScanState *node,
								ParallelContext *context, void *place)
{
	ParallelSort *sort = (ParallelSort *) node;
	SharedSort *shared = place;

	if (context->seg == NULL)
		return;
	forget_rows(sort);
	shared_kept_rows_reset(shared_kept_rows(shared),
						   divide_memory(shared).kept_rows);
	reset_shared(sort, shared);
}

void
parallel_sort_init_worker(CustomScanState *node, shm_toc *contents,
						  void *place)
{
	SharedSort *shared = place;

	((ParallelSort *) node)->shared = shared;
	shared_kept_rows_attach(shared_kept_rows(shared));
}

/* Notes what a sort was like before the memory goes that has it. */
static void
note_report(ParallelSort *sort)
{
	SharedSlices *slices = &sort->shared->slices;
	ParallelSortReport *report = &sort->report;

	if (pg_atomic_read_u32(&sort->shared->phase) == PHASE_COLLECT)
		return;
	report->sorted = true;
	report->sort = sort->shared->report;
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
void
parallel_sort_shutdown(CustomScanState *node)
{
	ParallelSort *sort = (ParallelSort *) node;

	if (sort->shared != NULL && has_others(sort))
	{
		note_report(sort);
		forget_rows(sort);
		sort->ready = true;
	}
	sort->shared = NULL;
	sort->context = NULL;
}

void
parallel_sort_explain(const ParallelSort *sort, ExplainState *es)
{
	const ParallelSortReport *report = &sort->report;

	if (!es->analyze || !report->sorted)
		return;
	explain_sort_report(&report->sort, es);
	if (report->nslices > 0)
	{
		ExplainPropertyUInteger("Slices Emitted", NULL, report->nslices, es);
		ExplainPropertyInteger("Processes Emitting", NULL, report->nparticipants,
							   es);
		ExplainPropertyUInteger("Most Rows of a Process", NULL, report->most_rows,
								es);
	}
}
