/*-------------------------------------------------------------------------
 *
 * member_sort.c
 *	  The sort in one member of a team: of all rows, or of the rows it keeps.
 *
 * The collector sorts the rows of all members.  It takes the rows in shared
 * memory, which stay there, and puts its own rows.  When memory is full, the
 * collector writes all of these rows as a run, and lets the other members keep
 * their further rows.
 *
 * Each other member sorts the rows that it cannot put into shared memory.  For
 * these rows it has a part of its memory, and it writes them as runs.  In the
 * end the runs of all members are merged (merged_runs.c).
 *
 * If only the first rows are wanted, a run has no more than these.  A member
 * that cannot sort by keys writes its rows as a run in no order.  Then the
 * collector gives the rows of all members to core's sort.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/sharedfileset.h"
#include "utils/memutils.h"

#include "cost/sort_cost.h"
#include "settings.h"
#include "sort/spare_memory.h"
#include "team/member_sort.h"

void
shared_kept_rows_init(SharedKeptRows *shared, ParallelContext *context,
					  Size limit)
{
	shared->context_segment = dsm_segment_handle(context->seg);
	pg_atomic_init_u32(&shared->keys_failed, 0);
	shared_runs_init(&shared->runs, context->seg, limit);
}

void
shared_kept_rows_reset(SharedKeptRows *shared, Size limit)
{
	SharedFileSetDeleteAll(&shared->runs.files);
	pg_atomic_write_u32(&shared->keys_failed, 0);
	shared_runs_reset(&shared->runs, limit);
}

void
shared_kept_rows_attach(SharedKeptRows *shared)
{
	SharedFileSetAttach(&shared->runs.files,
						dsm_find_mapping(shared->context_segment));
}

void
member_sort_prepare(MemberSort *sort, SharedKeptRows *shared,
					const TeamRows *rows)
{
	memset(sort, 0, sizeof(MemberSort));
	sort->shared = shared;
	sort->rows = rows;
	sort->parent = CurrentMemoryContext;
}

/* Writes a row to the run in no order. */
static void
write_row(MemberSort *sort, MinimalTuple row)
{
	run_tape_write_indexed(sort->unsorted, row);
	sort->nunsorted++;
}

/*
 * Goes on without keys: begins a run in no order, with the rows that have been
 * put and are in no run.  Tells the members to keep their further rows, in
 * runs.
 */
static void
begin_unsorted(MemberSort *sort)
{
	MinimalTuple row;

	pg_atomic_write_u32(&sort->shared->keys_failed, 1);
	if (sort->collector != NULL)
		row_collector_refuse(sort->collector);
	sort->unsorted = shared_runs_begin_run(&sort->shared->runs,
										   &run_of_minimal_tuples);
	if (sort->external.order == NULL)
		return;
	external_sort_give_up(&sort->external);
	while ((row = external_sort_take_back(&sort->external)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		write_row(sort, row);
	}
}

/*
 * Begins a sort by keys in "limit" bytes, in the current memory context; false
 * if keys cannot be made, or gpusort is off.
 */
static bool
begin_by_keys(MemberSort *sort, Size limit, double expected_rows, bool spills)
{
	const TeamRows *rows = sort->rows;
	ExternalSort *external = &sort->external;
	SortProgress *progress = sort_progress_begin(PROGRESS_OF_SORT,
												 expected_rows, true);

	/* the plan may be older than a change of the setting */
	if (!gpusort_enable || !gpusort_enable_sort ||
		!external_sort_begin(external, &sort_of_minimal_tuples,
							 rows->descriptor, rows->columns, rows->ncolumns,
							 limit, expected_rows, spills, progress))
	{
		external->progress = progress;
		return false;
	}
	member_runs_begin(&sort->runs, &sort->shared->runs, &run_of_minimal_tuples);
	external->writer = &sort->runs.writer;
	return true;
}

/* Begins to sort rows, by keys if possible. */
static void
begin_to_sort(MemberSort *sort, Size limit, double expected_rows, bool spills)
{
	const TeamRows *rows = sort->rows;
	ExternalSort *external = &sort->external;

	if (!begin_by_keys(sort, limit, expected_rows, spills))
	{
		begin_unsorted(sort);
		return;
	}
	if (rows->bound != NO_BOUND)
		external->most_in_run = (uint64) Min(rows->bound, (double) SORT_MAX_ROWS);
	if (rows->limit != NULL)
		external_sort_limit_groups(external, rows->limit);
}

/* Makes the memory context of the sort, and returns the caller's. */
static MemoryContext
begin_context(MemberSort *sort)
{
	sort->context = AllocSetContextCreate(sort->parent, "gpusort member",
										  ALLOCSET_SMALL_SIZES);
	return MemoryContextSwitchTo(sort->context);
}

/* Begins the sort of rows that this member keeps. */
static void
begin_keeping(MemberSort *sort)
{
	MemoryContext caller_context = begin_context(sort);

	begin_to_sort(sort, sort->shared->runs.limit, sort->rows->expected_rows,
				  true);
	MemoryContextSwitchTo(caller_context);
}

void
member_sort_begin_all(MemberSort *sort, RowCollector *collector, int nmembers,
					  bool keep_rows, const CollectorLimits *limits)
{
	ExternalSort *external = &sort->external;
	MemoryContext caller_context;

	caller_context = begin_context(sort);
	sort->collector = collector;
	sort->takes_shared = !keep_rows;
	sort->kept_limit = limits->kept_rows;
	begin_to_sort(sort, keep_rows ? limits->kept_rows : limits->rows,
				  sort->rows->expected_rows * nmembers, keep_rows);
	if (sort->unsorted == NULL && !keep_rows)
	{
		if (sort->rows->marks_ties)
			row_order_mark_ties(external->order);
		if (row_order_share(external->order))
			row_order_set_layout(external->order,
								 row_collector_layout(collector));
	}
	MemoryContextSwitchTo(caller_context);
}

/*
 * Spills the rows; false if they cannot be sorted by keys.  Rows in shared
 * memory take their memory after the spill, too.  So from then on all members
 * have to keep their rows, and the collector has only a part of the memory for
 * further rows.
 */
static bool
spill(MemberSort *sort)
{
	if (!external_sort_spill(&sort->external))
		return false;
	if (sort->takes_shared)
	{
		row_collector_refuse(sort->collector);
		external_sort_set_limit(&sort->external, sort->kept_limit);
		sort->takes_shared = false;
	}
	return true;
}

/* Makes room for a row when memory is full, or goes on without keys. */
static void
make_room(MemberSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	if (!spill(sort))
		begin_unsorted(sort);
	MemoryContextSwitchTo(caller_context);
}

/* Puts a row into the run in no order. */
static pg_noinline void
put_unsorted(MemberSort *sort, TupleTableSlot *slot)
{
	bool		is_copy;
	MinimalTuple row = ExecFetchSlotMinimalTuple(slot, &is_copy);

	write_row(sort, row);
	if (is_copy)
		pfree(row);
}

/* Puts a row into the memory of this member. */
static inline void
put_row(MemberSort *sort, TupleTableSlot *slot)
{
	if (likely(sort->unsorted == NULL))
	{
		if (likely(external_sort_put(&sort->external, slot)))
			return;
		make_room(sort);
	}
	if (sort->unsorted != NULL)
		put_unsorted(sort, slot);
	else if (!external_sort_put(&sort->external, slot))
		elog(ERROR, "an empty row store has no room for a row");
}

void
member_sort_put(MemberSort *sort, TupleTableSlot *slot)
{
	if (unlikely(sort->context == NULL))
		begin_keeping(sort);
	sort->nkept++;
	put_row(sort, slot);
}

/* Puts the rows of a batch from "first" on, as if they were this member's. */
static void
put_batch(MemberSort *sort, const RowBatch *batch, int first, char *base)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(sort->rows->descriptor,
													&TTSOpsMinimalTuple);

	for (int i = first; i < batch->nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ExecStoreMinimalTuple((MinimalTuple) (base + batch->places[i]), slot,
							  false);
		put_row(sort, slot);
	}
	ExecDropSingleTupleTableSlot(slot);
}

/* Takes the rows of a batch: as they lie, or as if they were this member's. */
static void
take_batch(MemberSort *sort, const RowBatch *batch, char *base)
{
	uint32		taken = 0;

	if (sort->takes_shared && sort->unsorted == NULL)
	{
		taken = external_sort_take_batch(&sort->external, batch, base);
		if (taken < batch->nrows)
			make_room(sort);
	}
	if (taken < batch->nrows)
		put_batch(sort, batch, taken, base);
}

void
member_sort_take_sent(MemberSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);
	const RowBatch *batch;
	char	   *base;

	while ((batch = row_collector_next(sort->collector, &base)) != NULL)
		take_batch(sort, batch, base);
	MemoryContextSwitchTo(caller_context);
}

/* Completes the run in no order, if there is one. */
static void
end_unsorted(MemberSort *sort)
{
	if (sort->unsorted != NULL)
		run_file_close(shared_runs_end_run(&sort->shared->runs, sort->unsorted,
										   NULL, sort->nunsorted));
}

void
member_sort_end(MemberSort *sort)
{
	if (sort->context == NULL)
		return;
	external_sort_end(&sort->external);
	member_runs_close(&sort->runs);
	if (sort->rest != NULL)
		sorted_runs_end(sort->rest);
	MemoryContextDelete(sort->context);
	sort->context = NULL;
}

bool
member_sort_finish(MemberSort *sort)
{
	ExternalSort *external = &sort->external;

	if (sort->context == NULL)
		return false;
	if (sort->unsorted == NULL && external->store->nrows > 0)
		make_room(sort);
	if (sort->unsorted == NULL)
	{
		external_sort_free_rows(external);
		/* the merge may take all of the memory */
		spare_memory_drop();
		sort_progress_enter(external->progress, PROGRESS_WAITING_FOR_LEADER);
		return true;
	}
	end_unsorted(sort);
	member_sort_end(sort);
	return false;
}

/* Begins a sort that takes no rows. */
static void
begin_comparing(MemberSort *sort)
{
	MemoryContext caller_context = begin_context(sort);

	if (begin_by_keys(sort, sort->shared->runs.limit, 0, true))
	{
		row_order_leave_device(sort->external.order);
		external_sort_free_rows(&sort->external);
	}
	MemoryContextSwitchTo(caller_context);
}

RowOrder *
member_sort_comparing(MemberSort *sort)
{
	if (sort->context == NULL)
		begin_comparing(sort);
	return sort->external.order;
}

/* Returns whether some member has a run in no order. */
static bool
keys_have_failed(const MemberSort *sort)
{
	return pg_atomic_read_u32(&sort->shared->keys_failed) != 0;
}

/* Returns whether some member has written a run. */
static bool
has_runs(const MemberSort *sort)
{
	return shared_runs_count(&sort->shared->runs) > 0;
}

/*
 * Writes the rows that the collector still has as the last run; false if keys
 * cannot sort them.
 */
static bool
end_runs(MemberSort *sort)
{
	ExternalSort *external = &sort->external;

	if (external->store->nrows > 0 && !external_sort_spill(external))
		return false;
	external_sort_free_rows(external);
	spare_memory_drop();
	shared_runs_report(&sort->shared->runs, external);
	sort_progress_enter(external->progress, PROGRESS_MERGING_RUNS);
	/* a deleted file takes its space as long as it is open */
	member_runs_close(&sort->runs);
	return true;
}

bool
member_sort_perform(MemberSort *sort)
{
	ExternalSort *external = &sort->external;

	if (sort->unsorted == NULL)
	{
		row_order_set_layout(external->order, NULL);
		if (!keys_have_failed(sort) &&
			(has_runs(sort) ? end_runs(sort) : external_sort_perform(external)))
			return true;
		external_sort_give_up(external);
		return false;
	}
	end_unsorted(sort);
	return false;
}

/* Returns the runs of all members, to be read in any order. */
static SortedRuns *
begin_rest(MemberSort *sort)
{
	SharedRuns *shared = &sort->shared->runs;
	SortedRuns *rest;

	external_sort_end(&sort->external);
	member_runs_close(&sort->runs);
	rest = sorted_runs_create(run_order_of_rows(NULL), &run_of_minimal_tuples,
							  shared->limit, shared->limit, false);
	shared_runs_import(shared, rest, &run_of_minimal_tuples);
	return rest;
}

MinimalTuple
member_sort_take_back(MemberSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);
	MinimalTuple row = NULL;

	if (sort->rest == NULL)
		row = external_sort_take_back(&sort->external);
	if (row == NULL)
	{
		if (sort->rest == NULL)
			sort->rest = begin_rest(sort);
		row = sorted_runs_take(sort->rest);
	}
	MemoryContextSwitchTo(caller_context);
	return row;
}

bool
member_sort_has_runs(const MemberSort *sort)
{
	return sort->external.nruns > 0;
}

bool
member_sort_is_shared(const MemberSort *sort)
{
	return sort->unsorted == NULL && !member_sort_has_runs(sort) &&
		!row_store_has_rows(sort->external.store);
}
