/*-------------------------------------------------------------------------
 *
 * sorted_runs.c
 *	  The rows of a sort that exceed its memory: in temporary files.
 *
 * Each time the memory is full its rows are put in order and written as one
 * run.  In the end the runs are merged, all at once if there is memory to read
 * from all of them.  A run needs little more than one page for that, since it
 * is the operating system that reads ahead; so 4 MB are enough for some
 * hundred runs.  When there are more, some are merged into longer ones first,
 * as few as will do.
 *
 * The last merge goes on while rows are handed out.  When they may be wanted
 * backward or again it is written to a tuplestore instead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "run_merge.h"
#include "settings.h"
#include "sorted_runs.h"

/* Even if they need more memory than there is; core has the same. */
#define LEAST_MERGED_RUNS	6

/* Runs that there is room for at first. */
#define FIRST_MAX_RUNS		64

/* For the tuplestore, which does not fit into memory anyway. */
#define RESULT_MEMORY_KB	64

/* Its read pointers. */
#define POSITION			0
#define MARKED_POSITION		1

struct SortedRuns
{
	MemoryContext context;		/* holds everything below */
	RowOrder   *order;
	Size		limit;
	bool		random_access;

	LogicalTapeSet *tapes;
	RunTape   **runs;
	int			nruns;
	int			max_runs;
	int			nadded;
	Size		longest_row;
	Size		disk;

	/* after the last run: one of both */
	RunMerge   *merge;
	Tuplestorestate *result;

	MinimalTuple previous;		/* row handed out, for gpusort.verify */
};

SortedRuns *
sorted_runs_create(RowOrder *order, Size limit, bool random_access)
{
	SortedRuns *runs = palloc0(sizeof(SortedRuns));

	runs->context = CurrentMemoryContext;
	runs->order = order;
	runs->limit = limit;
	runs->random_access = random_access;
	runs->tapes = LogicalTapeSetCreate(false, NULL, -1);
	runs->max_runs = FIRST_MAX_RUNS;
	runs->runs = palloc(runs->max_runs * sizeof(RunTape *));
	return runs;
}

/* Adds a run that has been written. */
static void
append_run(SortedRuns *runs, RunTape *run)
{
	run_tape_rewind(run);
	if (runs->nruns == runs->max_runs)
	{
		runs->max_runs *= 2;
		runs->runs = repalloc_huge(runs->runs,
								   runs->max_runs * sizeof(RunTape *));
	}
	runs->runs[runs->nruns++] = run;
}

void
sorted_runs_add(SortedRuns *runs)
{
	RowOrder   *order = runs->order;
	RunTape    *run = run_tape_create(runs->tapes);
	Size		row_bytes = row_store_row_bytes(order->store);

	for (uint64 entry = 0; entry < order->store->nrows; entry++)
	{
		MinimalTuple row = row_order_get_forward(order, entry, row_bytes);

		CHECK_FOR_INTERRUPTS();
		if (unlikely(gpusort_verify))
			row_order_verify(order, entry);
		runs->longest_row = Max(runs->longest_row, row->t_len);
		run_tape_write(run, row);
	}
	append_run(runs, run);
	runs->nadded++;
}

/* How many runs the memory is enough to merge at once. */
static int
most_merged_runs(const SortedRuns *runs)
{
	Size		bytes = run_merge_bytes() +
		pg_nextpower2_size_t(runs->longest_row);
	Size		most = runs->limit / bytes;

	return Max(LEAST_MERGED_RUNS, Min(most, INT_MAX));
}

/* Merges the first "count" runs, which are among the shortest, into one. */
static void
merge_first_runs(SortedRuns *runs, int count)
{
	RunMerge   *merge = run_merge_begin(runs->order, runs->runs, count);
	RunTape    *run = run_tape_create(runs->tapes);
	MinimalTuple row;

	while ((row = run_merge_next(merge)) != NULL)
		run_tape_write(run, row);
	run_merge_end(merge);
	runs->nruns -= count;
	memmove(runs->runs, runs->runs + count, runs->nruns * sizeof(RunTape *));
	append_run(runs, run);
}

/* Raises an error if the row sorts before the one handed out before it. */
static void
verify_row(SortedRuns *runs, MinimalTuple row)
{
	MemoryContext caller_context = MemoryContextSwitchTo(runs->context);

	if (runs->previous != NULL)
	{
		if (row_order_compare(runs->order, runs->previous, row) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("gpusort: rows are out of order"),
					 errdetail("The merge of %d runs gave a row that sorts before the one ahead of it.",
							   runs->nadded)));
		heap_free_minimal_tuple(runs->previous);
	}
	runs->previous = heap_copy_minimal_tuple(row, 0);
	MemoryContextSwitchTo(caller_context);
}

/* The next row of the last merge. */
static inline MinimalTuple
next_row(SortedRuns *runs)
{
	MinimalTuple row = run_merge_next(runs->merge);

	if (unlikely(gpusort_verify) && row != NULL)
		verify_row(runs, row);
	return row;
}

/* Writes the last merge to where rows can be had in any direction. */
static void
store_result(SortedRuns *runs)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(runs->order->descriptor,
													&TTSOpsMinimalTuple);
	MinimalTuple row;

	runs->result = tuplestore_begin_heap(true, false, RESULT_MEMORY_KB);
	tuplestore_set_eflags(runs->result,
						  EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD);
	(void) tuplestore_alloc_read_pointer(runs->result,
										 EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD);
	while ((row = next_row(runs)) != NULL)
	{
		ExecStoreMinimalTuple(row, slot, false);
		tuplestore_puttupleslot(runs->result, slot);
	}
	ExecDropSingleTupleTableSlot(slot);
	run_merge_end(runs->merge);
	runs->merge = NULL;
}

void
sorted_runs_merge(SortedRuns *runs)
{
	int			most = most_merged_runs(runs);

	while (runs->nruns > most)
		merge_first_runs(runs, Min(most, runs->nruns - most + 1));
	runs->disk = (Size) LogicalTapeSetBlocks(runs->tapes) * BLCKSZ;
	runs->merge = run_merge_begin(runs->order, runs->runs, runs->nruns);
	runs->nruns = 0;
	if (runs->random_access)
		store_result(runs);
}

bool
sorted_runs_get(SortedRuns *runs, bool forward, TupleTableSlot *slot)
{
	MinimalTuple row;

	if (runs->result != NULL)
		return tuplestore_gettupleslot(runs->result, forward, false, slot);

	Assert(forward);
	row = next_row(runs);
	if (row == NULL)
	{
		ExecClearTuple(slot);
		return false;
	}
	ExecStoreMinimalTuple(row, slot, false);
	return true;
}

void
sorted_runs_rescan(SortedRuns *runs)
{
	tuplestore_rescan(runs->result);
}

void
sorted_runs_mark(SortedRuns *runs)
{
	tuplestore_copy_read_pointer(runs->result, POSITION, MARKED_POSITION);
}

void
sorted_runs_restore(SortedRuns *runs)
{
	tuplestore_copy_read_pointer(runs->result, MARKED_POSITION, POSITION);
}

MinimalTuple
sorted_runs_take(SortedRuns *runs)
{
	while (runs->nruns > 0)
	{
		RunTape    *run = runs->runs[runs->nruns - 1];
		MinimalTuple row = run_tape_read(run);

		if (row != NULL)
			return row;
		run_tape_close(run);
		runs->nruns--;
	}
	return NULL;
}

int
sorted_runs_count(const SortedRuns *runs)
{
	return runs->nadded;
}

Size
sorted_runs_disk(const SortedRuns *runs)
{
	return runs->disk;
}

void
sorted_runs_end(SortedRuns *runs)
{
	if (runs->result != NULL)
		tuplestore_end(runs->result);
	LogicalTapeSetClose(runs->tapes);
}
