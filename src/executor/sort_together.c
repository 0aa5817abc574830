/*-------------------------------------------------------------------------
 *
 * sort_together.c
 *	  The sort of a GpuSort by all processes below a Gather Merge.
 *
 * Each process takes its share of the child's rows.  The workers send theirs to the
 * leader (shared_rows.c), which sorts all, and emits them.  Rows for which there is
 * no memory a worker writes as runs, and helps the leader to merge them
 * (kept_rows.c): all of its rows, where that is expected.
 *
 * Workers that have written no runs can gather the rows for the leader while it emits
 * them (gathered_rows.c).  Where that is expected the leader puts its own rows into
 * shared memory, too, and has the last number of those who send rows.
 *
 * Help while the leader emits rows comes after all rows of a worker (after_rows.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "storage/spin.h"

#include "cost/sort_cost.h"
#include "executor/after_rows.h"
#include "executor/gathered_rows.h"
#include "executor/kept_rows.h"
#include "executor/shared_rows.h"
#include "executor/sort_together.h"

/* What workers have reported that sort for themselves. */
typedef struct ReportsOfWorkers
{
	slock_t		mutex;			/* protects the other fields */
	int			count;
	uint64		nrows;
	RowSortReport largest;		/* of the one that had most rows */
} ReportsOfWorkers;

/* Behind it are the SharedRows and the SharedKeptRows, if they sort together. */
struct SharedSortTogether
{
	int			nworkers;		/* planned workers */
	bool		wanted;			/* or each process sorts for itself */
	ReportsOfWorkers reports;
	double		bound;			/* first rows that the leader wants, or
								 * NO_BOUND */
	SharedGather gather;
};

/* What a worker does when the leader emits rows. */
typedef struct LaterHelp
{
	KeptRows   *kept;			/* kept rows, which it merges, or NULL */
	SharedSortTogether *shared; /* of shared rows, which it gathers, or NULL */
} LaterHelp;

/* The parts of the shared memory behind the SharedSortTogether. */
static SharedRows *
shared_rows(SharedSortTogether *shared)
{
	return (SharedRows *) ((char *) shared +
						   MAXALIGN(sizeof(SharedSortTogether)));
}

static SharedKeptRows *
shared_kept_rows(SharedSortTogether *shared)
{
	return (SharedKeptRows *) ((char *) shared_rows(shared) +
							   MAXALIGN(shared_rows_size(shared->nworkers + 1)));
}

Size
sort_together_size(int nworkers)
{
	return MAXALIGN(sizeof(SharedSortTogether)) +
		MAXALIGN(shared_rows_size(nworkers + 1)) +
		shared_kept_rows_size();
}

/* The rows that all processes together are expected to have. */
static double
expected_rows(const SortTogether *sort, const SortTogetherInput *input)
{
	return input->child->plan->plan_rows * (sort->shared->nworkers + 1);
}

/* The rows of these that workers might gather. */
static double
expected_to_gather(const SortTogether *sort, const SortTogetherInput *input)
{
	return input->to_gather_merge && input->bound == NO_BOUND &&
		sort->limits.shared_rows > 0 &&
		!row_sort_is_of_values(ExecGetResultType(input->child),
							   input->ncolumns) ?
		expected_rows(sort, input) : 0;
}

/* Initializes all but the kept rows. */
static void
begin_sharing(SortTogether *sort, ParallelContext *context,
			  SharedSortTogether *shared, bool wanted,
			  const SortTogetherInput *input, bool keep_rows)
{
	sort->shared = shared;
	sort->context = context;
	sort->limits = row_sort_divide_memory(context->nworkers, keep_rows);
	shared->nworkers = context->nworkers;
	shared->wanted = wanted;
	memset(&shared->reports, 0, sizeof(ReportsOfWorkers));
	SpinLockInit(&shared->reports.mutex);
	shared->bound = input->bound;
	shared_gather_init(&shared->gather, shared->nworkers,
					   expected_to_gather(sort, input));
	shared_rows_init(shared_rows(shared), shared->nworkers + 1,
					 sort->limits.shared_rows);
}

void
sort_together_init(SortTogether *sort, ParallelContext *context,
				   SharedSortTogether *shared, bool wanted,
				   const SortTogetherInput *input, bool keep_rows)
{
	begin_sharing(sort, context, shared, wanted, input, keep_rows);
	shared_kept_rows_init(shared_kept_rows(shared), context,
						  sort->limits.kept_rows);
}

void
sort_together_init_again(SortTogether *sort, ParallelContext *context,
						 SharedSortTogether *shared, bool wanted,
						 const SortTogetherInput *input, bool keep_rows)
{
	begin_sharing(sort, context, shared, wanted, input, keep_rows);
	shared_kept_rows_reset(shared_kept_rows(shared), sort->limits.kept_rows);
}

const double *
sort_together_attach(SortTogether *sort, SharedSortTogether *shared)
{
	sort->shared = shared;
	shared_kept_rows_attach(shared_kept_rows(shared));
	return &shared->bound;
}

bool
sort_together_is_on(const SortTogether *sort)
{
	return sort->shared != NULL && sort->shared->wanted &&
		(IsParallelWorker() || sort->context->nworkers_launched > 0);
}

void
sort_together_leave_report(SortTogether *sort, const RowSortReport *report)
{
	ReportsOfWorkers *reports = &sort->shared->reports;

	SpinLockAcquire(&reports->mutex);
	if (reports->count == 0 || report->nrows > reports->largest.nrows)
		reports->largest = *report;
	reports->nrows += report->nrows;
	reports->count++;
	SpinLockRelease(&reports->mutex);
}

bool
sort_together_add_reports(SortTogether *sort, RowSortReport *report)
{
	ReportsOfWorkers *reports = &sort->shared->reports;
	uint64		nrows = report->nrows;

	SpinLockAcquire(&reports->mutex);
	if (reports->count > 0 && report->method[0] == '\0')
		*report = reports->largest;
	report->nrows = nrows + reports->nrows;
	report->workers_alone = reports->count;
	SpinLockRelease(&reports->mutex);
	return report->workers_alone > 0;
}

/*
 * ---- workers
 */

static void
help_leader(void *arg)
{
	LaterHelp  *help = arg;

	if (help->kept != NULL)
		kept_rows_send_parts(help->kept);
	if (help->shared != NULL)
		gather_rows(&help->shared->gather, shared_rows(help->shared));
}

/* Prepares to keep rows. */
static KeptRows *
begin_keeping(SortTogether *sort, const SortTogetherInput *input)
{
	KeptRows   *kept = palloc(sizeof(KeptRows));

	kept_rows_init(kept, shared_kept_rows(sort->shared),
				   ExecGetResultType(input->child), input->columns,
				   input->ncolumns, input->child->plan->plan_rows,
				   input->bound, input->limit);
	return kept;
}

/* Sends the child's rows, and keeps those for which there is no room. */
static void
send_rows(PlanState *child, RowDeposit *deposit, KeptRows *kept)
{
	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(child);

		if (TupIsNull(slot))
			break;
		if (unlikely(kept->nrows > 0) ||
			unlikely(!row_deposit_put(deposit, slot)))
			kept_rows_put(kept, slot);
	}
	kept_rows_end_to_help(kept);
}

/* Lets the leader have the rows, and helps to merge; returns what is left to do. */
static LaterHelp
finish_rows(SharedSortTogether *shared, RowDeposit *deposit, KeptRows *kept)
{
	LaterHelp	later = {0};

	if (kept->nrows == 0 && shared_gather_offer(&shared->gather))
		later.shared = shared;
	row_deposit_finish(deposit, kept->nrows);
	if (kept_rows_merge(kept))
		later.kept = kept;
	return later;
}

void
sort_together_send(SortTogether *sort, const SortTogetherInput *input)
{
	PlanState  *child = input->child;
	MemoryContext caller_context =
		MemoryContextSwitchTo(child->state->es_query_cxt);
	SortProgress *progress = sort_progress_begin(PROGRESS_OF_SORT,
												 child->plan->plan_rows, true);
	RowDeposit *deposit = row_deposit_begin(shared_rows(sort->shared), NULL,
											ParallelWorkerNumber,
											ExecGetResultType(child),
											input->columns, input->ncolumns,
											progress);
	KeptRows   *kept = begin_keeping(sort, input);
	LaterHelp  *later = palloc(sizeof(LaterHelp));

	MemoryContextSwitchTo(caller_context);
	if (deposit != NULL)
	{
		send_rows(child, deposit, kept);
		sort_progress_enter(progress, PROGRESS_WAITING_FOR_LEADER);
		*later = finish_rows(sort->shared, deposit, kept);
		row_deposit_end(deposit);
		if (later->kept != NULL || later->shared != NULL)
			after_rows_do(child->state, help_leader, later);
	}
	sort_progress_end(progress);
}

/*
 * ---- the leader
 */

RowSort *
sort_together_begin(SortTogether *sort, const SortTogetherInput *input)
{
	SharedRows *rows = shared_rows(sort->shared);
	SharedKeptRows *kept = shared_kept_rows(sort->shared);

	/* the leader's rows have to be in shared memory, too, to be gathered */
	if (shared_gather_is_expected(&sort->shared->gather,
								  sort->context->nworkers_launched))
		sort->segments = row_segments_begin(rows);
	return row_sort_begin_leader(ExecGetResultType(input->child),
								 input->columns, input->ncolumns,
								 expected_rows(sort, input), input->bound,
								 &sort->limits,
								 row_collector_begin(rows, sort->segments),
								 shared_kept_rows_runs(kept),
								 input->to_gather_merge ?
								 HELP_AT_ANY_TIME : HELP_BEFORE_ROWS);
}

/* Puts the child's rows into shared memory, as far as there is room. */
static uint64
share_rows(PlanState *child, RowDeposit *deposit, RowSort *rows)
{
	bool		has_room = true;
	uint64		nrows = 0;

	for (;; nrows++)
	{
		TupleTableSlot *slot = ExecProcNode(child);

		if (TupIsNull(slot))
			break;
		has_room = has_room && row_deposit_put(deposit, slot);
		if (likely(has_room))
			row_sort_take_sent(rows);
		else
			row_sort_put(rows, slot);
	}
	row_deposit_finish(deposit, 0);
	row_deposit_drop(deposit);
	return nrows;
}

/* Takes the rows of the leader's own child. */
static uint64
take_own_rows(SortTogether *sort, const SortTogetherInput *input,
			  RowSort *rows)
{
	SharedSortTogether *shared = sort->shared;
	PlanState  *child = input->child;
	MemoryContext caller_context;
	RowDeposit *deposit;

	if (sort->segments == NULL)
		return row_sort_take(rows, child);
	caller_context = MemoryContextSwitchTo(child->state->es_query_cxt);
	deposit = row_deposit_begin(shared_rows(shared), sort->segments,
								shared->nworkers, ExecGetResultType(child),
								input->columns, input->ncolumns, NULL);
	MemoryContextSwitchTo(caller_context);
	return share_rows(child, deposit, rows);
}

uint64
sort_together_take(SortTogether *sort, const SortTogetherInput *input,
				   RowSort *rows)
{
	uint64		nrows = take_own_rows(sort, input, rows);

	kept_rows_take(shared_kept_rows(sort->shared), rows);
	return nrows;
}

void
sort_together_gather(SortTogether *sort, RowSort *rows)
{
	row_sort_gather(rows, &sort->shared->gather,
					sort->segments != NULL ? sort->limits.shared_rows : 0);
}

void
sort_together_end(SortTogether *sort)
{
	if (sort->segments != NULL)
		row_segments_end(sort->segments);
	sort->segments = NULL;
}
