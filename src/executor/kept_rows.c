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
 * If a participant cannot sort by keys, or keeps just the few first rows that are
 * wanted, it writes them as a run in no order.  Then the leader has core's sort take the
 * rows of all runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/sharedfileset.h"

#include "cost/sort_cost.h"
#include "executor/kept_rows.h"
#include "port/compat.h"

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
			   double bound, NodeLimit *limit)
{
	memset(kept, 0, sizeof(KeptRows));
	kept->context = CurrentMemoryContext;
	kept->shared = shared;
	kept->descriptor = descriptor;
	kept->columns = columns;
	kept->ncolumns = ncolumns;
	kept->expected_rows = expected_rows;
	kept->bound = bound;
	kept->limit = limit;
}

/* Begins to keep rows. */
static void
begin_keeping(KeptRows *kept)
{
	MemoryContext caller_context = MemoryContextSwitchTo(kept->context);

	kept->sort = row_sort_begin_runs(kept->descriptor, kept->columns,
									 kept->ncolumns, kept->expected_rows,
									 kept->bound, kept->shared->runs.limit,
									 &kept->shared->runs);
	if (row_sort_is_by_keys(kept->sort))
		node_limit_apply(kept->limit, kept->sort);
	else
	{
		row_sort_end(kept->sort);
		kept->sort = NULL;
	}
	MemoryContextSwitchTo(caller_context);
}

/* Begins a run in no order. */
static void
begin_unsorted(KeptRows *kept)
{
	SharedRuns *runs = &kept->shared->runs;
	MemoryContext caller_context = MemoryContextSwitchTo(kept->context);
	uint32		number = pg_atomic_fetch_add_u32(&runs->nruns, 1);

	pg_atomic_write_u32(&kept->shared->keys_failed, 1);
	kept->file = run_file_create_shared(&runs->files, RUN_FILE_NAME, number,
										runs->limit);
	kept->unsorted = run_tape_create(kept->file, &run_of_minimal_tuples);
	MemoryContextSwitchTo(caller_context);
}

/* Writes a row to that run. */
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

/* Completes the run in no order. */
static void
end_unsorted(KeptRows *kept)
{
	RunTape    *run = kept->unsorted;

	run_tape_complete_indexed(run);
	run_file_end_write(kept->file);
	shared_runs_note(&kept->shared->runs, NULL, kept->nunsorted,
					 run->longest_row, run_file_bytes(kept->file));
	run_tape_close(run);
	run_file_close(kept->file);
	kept->unsorted = NULL;
	kept->file = NULL;
}

void
kept_rows_put(KeptRows *kept, TupleTableSlot *slot)
{
	if (unlikely(kept->nrows++ == 0))
	{
		begin_keeping(kept);
		if (kept->sort == NULL)
			begin_unsorted(kept);
	}
	if (likely(kept->sort != NULL))
		row_sort_put(kept->sort, slot);
	else
		write_row(kept, slot);
}

/*
 * Writes the rows of a sort that has fallen back to a run in no order.  Of such a sort
 * with a bound there are the first rows only.
 */
static void
write_unsorted(KeptRows *kept)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(kept->descriptor,
													&TTSOpsMinimalTuple);

	begin_unsorted(kept);
	row_sort_perform(kept->sort);
	for (uint64 nrows = 0; kept->bound == NO_BOUND || nrows < kept->bound; nrows++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!row_sort_get(kept->sort, true, slot))
			break;
		write_row(kept, slot);
	}
	ExecDropSingleTupleTableSlot(slot);
}

/* Ends the sort, if there is one. */
static void
end_sort(KeptRows *kept)
{
	if (kept->sort != NULL)
		row_sort_end(kept->sort);
	kept->sort = NULL;
}

/* Writes all that is still in memory; only a sort that has written runs stays. */
static void
write_rest(KeptRows *kept)
{
	if (kept->sort != NULL && !row_sort_write_runs(kept->sort))
	{
		write_unsorted(kept);
		end_sort(kept);
	}
	if (kept->unsorted != NULL)
		end_unsorted(kept);
}

void
kept_rows_end(KeptRows *kept)
{
	write_rest(kept);
	if (kept->sort != NULL)
		row_sort_offer_help(kept->sort);
}

bool
kept_rows_merge(KeptRows *kept)
{
	bool		wanted_later = kept->sort != NULL &&
		row_sort_help_merge(kept->sort);

	if (!wanted_later)
		end_sort(kept);
	return wanted_later;
}

void
kept_rows_send_parts(KeptRows *kept)
{
	row_sort_send_parts(kept->sort);
	end_sort(kept);
}

void
kept_rows_take(SharedKeptRows *shared, RowSort *sort)
{
	if (row_sort_take_rest(sort) > 0 &&
		pg_atomic_read_u32(&shared->keys_failed) != 0)
		row_sort_give_up_keys(sort);
}
