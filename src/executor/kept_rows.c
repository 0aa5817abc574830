/*-------------------------------------------------------------------------
 *
 * kept_rows.c
 *	  Rows of processes that sort together, for which memory does not suffice.
 *
 * Each participant sorts those of its rows that cannot be put into shared memory,
 * in a part of its own, and writes them as runs.  Then it waits for the leader, to
 * merge the runs of all together with it (part_merge.c), before the leader emits rows
 * or while it does.  The leader emits the rows alone.  It is the process that collects the
 * rows of all (shared_rows.h).
 *
 * If a participant cannot sort by keys, or keeps just the few first rows that are
 * wanted, its rows go to files as they are, and the leader sorts all rows by core's
 * sort.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/sharedfileset.h"
#include "utils/sharedtuplestore.h"

#include "cost/sort_cost.h"
#include "executor/kept_rows.h"
#include "port/compat.h"

/* Behind it is a SharedTuplestore, with the rows that are not in runs. */
struct SharedKeptRows
{
	int			nparticipants;
	dsm_handle	context_segment;	/* segment of the parallel context */
	pg_atomic_uint32 keys_failed;	/* somebody has not sorted by keys */
	SharedRuns	runs;			/* runs of kept rows; their file set has the
								 * unsorted rows, too */
};

static SharedTuplestore *
unsorted_rows(SharedKeptRows *shared)
{
	return (SharedTuplestore *)
		((char *) shared + MAXALIGN(sizeof(SharedKeptRows)));
}

Size
shared_kept_rows_size(int nparticipants)
{
	return MAXALIGN(sizeof(SharedKeptRows)) + sts_estimate(nparticipants);
}

/* Begins again, with files that have nothing. */
static void
begin_empty(SharedKeptRows *shared)
{
	pg_atomic_init_u32(&shared->keys_failed, 0);
	/* all participants attach to it, also this one */
	(void) sts_initialize(unsorted_rows(shared), shared->nparticipants,
						  shared->nparticipants - 1, 0,
						  SHARED_TUPLESTORE_SINGLE_PASS, &shared->runs.files,
						  "rows");
}

void
shared_kept_rows_init(SharedKeptRows *shared, ParallelContext *context,
					  Size limit)
{
	shared->nparticipants = context->nworkers + 1;
	shared->context_segment = dsm_segment_handle(context->seg);
	shared_runs_init(&shared->runs, context->seg, limit);
	begin_empty(shared);
}

void
shared_kept_rows_reset(SharedKeptRows *shared, Size limit)
{
	SharedFileSetDeleteAll(&shared->runs.files);
	shared_runs_reset(&shared->runs, limit);
	begin_empty(shared);
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
kept_rows_init(KeptRows *kept, SharedKeptRows *shared, int participant,
			   TupleDesc descriptor, const SortColumn *columns, int ncolumns,
			   double expected_rows, double bound, NodeLimit *limit)
{
	memset(kept, 0, sizeof(KeptRows));
	kept->context = CurrentMemoryContext;
	kept->shared = shared;
	kept->participant = participant;
	kept->descriptor = descriptor;
	kept->columns = sort_columns_copy(columns, ncolumns);
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

/* Begins to write rows as they are, which the leader is to sort. */
static void
begin_files(KeptRows *kept)
{
	SharedKeptRows *shared = kept->shared;
	MemoryContext caller_context = MemoryContextSwitchTo(kept->context);

	pg_atomic_write_u32(&shared->keys_failed, 1);
	kept->files = sts_attach(unsorted_rows(shared), kept->participant,
							 &shared->runs.files);
	MemoryContextSwitchTo(caller_context);
}

/* Writes a row to the files as it is. */
static void
write_row(KeptRows *kept, TupleTableSlot *slot)
{
	bool		is_copy;
	MinimalTuple row = ExecFetchSlotMinimalTuple(slot, &is_copy);

	sts_puttuple(kept->files, NULL, row);
	if (is_copy)
		pfree(row);
}

void
kept_rows_put(KeptRows *kept, TupleTableSlot *slot)
{
	if (unlikely(kept->nrows++ == 0))
	{
		begin_keeping(kept);
		if (kept->sort == NULL)
			begin_files(kept);
	}
	if (likely(kept->sort != NULL))
		row_sort_put(kept->sort, slot);
	else
		write_row(kept, slot);
}

/*
 * Writes the rows of a sort that has fallen back, unsorted.  Of such a sort with a
 * bound there are the first rows only.
 */
static void
write_unsorted(KeptRows *kept)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(kept->descriptor,
													&TTSOpsMinimalTuple);

	begin_files(kept);
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
	if (kept->files != NULL)
		sts_end_write(kept->files);
	kept->files = NULL;
}

void
kept_rows_end(KeptRows *kept)
{
	write_rest(kept);
	end_sort(kept);
}

void
kept_rows_end_to_help(KeptRows *kept)
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

/* Puts the rows from the files to the leader's sort. */
static void
put_unsorted(SharedKeptRows *shared, int participant, TupleDesc descriptor,
			 RowSort *sort)
{
	SharedTuplestoreAccessor *files = sts_attach(unsorted_rows(shared),
												 participant,
												 &shared->runs.files);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor,
													&TTSOpsMinimalTuple);
	MinimalTuple row;

	sts_begin_parallel_scan(files);
	while ((row = sts_parallel_scan_next(files, NULL)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		ExecStoreMinimalTuple(row, slot, false);
		row_sort_put(sort, slot);
	}
	sts_end_parallel_scan(files);
	ExecDropSingleTupleTableSlot(slot);
}

void
kept_rows_take(SharedKeptRows *shared, int participant, TupleDesc descriptor,
			   RowSort *sort)
{
	if (row_sort_take_rest(sort) == 0 ||
		pg_atomic_read_u32(&shared->keys_failed) == 0)
		return;
	row_sort_give_up_keys(sort);
	put_unsorted(shared, participant, descriptor, sort);
}
