/*-------------------------------------------------------------------------
 *
 * kept_rows.c
 *	  Rows of processes that sort together, for which memory does not suffice.
 *
 * Each process but the one that collects the rows of all, below the leader, sorts
 * those of its rows that cannot be put into shared memory, in a part of its own, and
 * writes them as runs.  Then it waits for the leader, to merge the runs of all together
 * with it (part_merge.c), before the leader emits rows or while it does.  The leader
 * emits the rows alone.
 *
 * If only the first rows are wanted, a run has no more of them.  A process that cannot
 * sort by keys writes its rows as a run in no order.  Then the leader has core's sort
 * take the rows of all runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/sharedfileset.h"

#include "cost/sort_cost.h"
#include "port/compat.h"
#include "team/kept_rows.h"

struct SharedKeptRows
{
	dsm_handle	context_segment;	/* segment of the parallel context */
	pg_atomic_uint32 keys_failed;	/* some run is in no order */
	SharedRuns	runs;			/* runs of kept rows */
};

Size
shared_kept_rows_size(void)
{
	return sizeof(SharedKeptRows);
}

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

SharedRuns *
shared_kept_rows_runs(SharedKeptRows *shared)
{
	return &shared->runs;
}

void
kept_rows_init(KeptRows *kept, SharedKeptRows *shared, TupleDesc descriptor,
			   const SortColumn *columns, int ncolumns, double expected_rows,
			   double bound, GroupLimit *limit)
{
	memset(kept, 0, sizeof(KeptRows));
	kept->shared = shared;
	kept->descriptor = descriptor;
	kept->columns = columns;
	kept->ncolumns = ncolumns;
	kept->expected_rows = expected_rows;
	kept->bound = bound;
	kept->limit = limit;
	kept->parent = CurrentMemoryContext;
}

/*
 * Goes on without keys: begins a run in no order, with the rows that have been put and
 * are in no run.
 */
static void
begin_unsorted(KeptRows *kept)
{
	MemoryContext caller_context = MemoryContextSwitchTo(kept->context);
	MinimalTuple row;

	pg_atomic_write_u32(&kept->shared->keys_failed, 1);
	kept->unsorted = shared_runs_begin_run(&kept->shared->runs,
										   &run_of_minimal_tuples);
	if (kept->sort.order != NULL)
	{
		external_sort_give_up(&kept->sort);
		while ((row = external_sort_take_back(&kept->sort)) != NULL)
		{
			CHECK_FOR_INTERRUPTS();
			run_tape_write_indexed(kept->unsorted, row);
			kept->nunsorted++;
		}
	}
	MemoryContextSwitchTo(caller_context);
}

/* Begins to keep rows. */
static void
begin_keeping(KeptRows *kept)
{
	SharedRuns *runs = &kept->shared->runs;
	SortProgress *progress;
	MemoryContext caller_context;

	kept->context = AllocSetContextCreate(kept->parent, "gpusort kept rows",
										  ALLOCSET_SMALL_SIZES);
	caller_context = MemoryContextSwitchTo(kept->context);
	progress = sort_progress_begin(PROGRESS_OF_SORT, kept->expected_rows, true);
	if (external_sort_begin(&kept->sort, &sort_of_minimal_tuples,
							kept->descriptor, kept->columns, kept->ncolumns,
							runs->limit, kept->expected_rows, true, progress))
	{
		kept->sort.shared_runs = runs;
		if (kept->bound != NO_BOUND)
			kept->sort.most_in_run = (uint64) Min(kept->bound, (double) SORT_MAX_ROWS);
		if (kept->limit != NULL)
			external_sort_limit_groups(&kept->sort, kept->limit);
	}
	else
		begin_unsorted(kept);
	MemoryContextSwitchTo(caller_context);
}

/* Writes a row to the run in no order. */
static void
write_row(KeptRows *kept, TupleTableSlot *slot)
{
	bool		is_copy;
	MinimalTuple row = ExecFetchSlotMinimalTuple(slot, &is_copy);

	run_tape_write_indexed(kept->unsorted, row);
	kept->nunsorted++;
	if (is_copy)
		pfree(row);
}

/* Puts a row to the sort by keys; false if that has been given up. */
static inline bool
put_by_keys(KeptRows *kept, TupleTableSlot *slot)
{
	if (unlikely(kept->unsorted != NULL))
		return false;
	if (likely(external_sort_put(&kept->sort, slot)))
		return true;
	if (!external_sort_spill(&kept->sort))
	{
		begin_unsorted(kept);
		return false;
	}
	if (!external_sort_put(&kept->sort, slot))
		elog(ERROR, "an empty row store has no room for a row");
	return true;
}

void
kept_rows_put(KeptRows *kept, TupleTableSlot *slot)
{
	if (unlikely(kept->nrows++ == 0))
		begin_keeping(kept);
	if (unlikely(!put_by_keys(kept, slot)))
		write_row(kept, slot);
}

/* Ends the sort by keys, if there is one. */
static void
end_keeping(KeptRows *kept)
{
	if (kept->context == NULL)
		return;
	external_sort_end(&kept->sort);
	MemoryContextDelete(kept->context);
	kept->context = NULL;
}

void
kept_rows_end(KeptRows *kept)
{
	if (kept->nrows == 0)
		return;
	if (kept->unsorted == NULL && kept->sort.store->nrows > 0 &&
		!external_sort_spill(&kept->sort))
		begin_unsorted(kept);
	if (kept->unsorted == NULL)
	{
		external_sort_offer_help(&kept->sort);
		sort_progress_enter(kept->sort.progress, PROGRESS_WAITING_FOR_LEADER);
		return;
	}
	run_file_close(shared_runs_end_run(&kept->shared->runs, kept->unsorted,
									   NULL, kept->nunsorted));
	end_keeping(kept);
}

bool
kept_rows_merge(KeptRows *kept)
{
	bool		wanted_later = kept->context != NULL &&
		external_sort_help_merge(&kept->sort);

	if (!wanted_later)
		end_keeping(kept);
	return wanted_later;
}

void
kept_rows_send_parts(KeptRows *kept)
{
	external_sort_send_parts(&kept->sort);
	end_keeping(kept);
}

bool
shared_kept_rows_have_keys(SharedKeptRows *shared)
{
	return pg_atomic_read_u32(&shared->keys_failed) == 0;
}
