/*-------------------------------------------------------------------------
 *
 * sorted_runs.c
 *	  Rows that exceed the memory of their sort, in temporary files.
 *
 * Each time the memory is full, its rows are put in order and written as one
 * run.  In the end the runs are merged, all at once if memory suffices to read
 * from all of them.  That takes little more than one page of each run, since
 * the operating system reads ahead.  So 4 MB are enough for some hundred runs.
 * If there are fewer runs, more of each is read at once.  If there are more
 * runs, some are merged into longer ones first: as few as are necessary.
 *
 * If gpusortd has the keys of all rows, it tells from which run each next row
 * comes (merge_plan.c).  Then the last merge only reads the runs in that
 * order.
 *
 * The last merge goes on while rows are emitted.  If rows may be wanted
 * backward or again, it writes them to the file instead, over the runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "port/compat.h"
#include "settings.h"
#include "sort/slot_row.h"
#include "spill/merge_plan.h"
#include "spill/result_tape.h"
#include "spill/row_check.h"
#include "spill/run_merge.h"
#include "spill/sorted_runs.h"

/*
 * At most 1/IMPORTED_RUNS_PART of the runs in files of other processes is
 * merged into one at once.
 */
#define IMPORTED_RUNS_PART	16

/* Runs that there is room for at first. */
#define FIRST_MAX_RUNS		64

struct SortedRuns
{
	KeySink		sink;			/* takes keys for the plan */
	RowReader	reader;			/* reads the rows of the last merge */
	MergePlan  *plan;			/* plan of the last merge, or NULL */
	MemoryContext context;		/* holds everything below */
	RunOrder	order;			/* order of the rows */
	const RunFormat *format;
	Size		limit;
	Size		limit_of_merge;
	bool		random_access;

	RunFile    *file;			/* file of the runs of this process */
	bool		imported;		/* runs are in files of their own */
	RunTape   **runs;
	int			nruns;
	int			max_runs;
	Size		longest_row;
	Size		disk;

	RunMerge   *merge;			/* merge by comparison, or NULL */
	bool		ordered;		/* the last merge follows a plan */
	ResultTape *result;			/* result of the last merge, or NULL */

	RowCheck	check;			/* for gpusort.verify */
	MinimalTuple tuple;			/* the last value, as a row; NULL: none so far */
};

static void *next_row(RowReader *reader);

/* Gives up the plan: the runs are merged by comparisons. */
static void
end_plan(SortedRuns *runs)
{
	if (runs->plan != NULL)
		merge_plan_free(runs->plan);
	runs->plan = NULL;
}

static bool
take_key(KeySink *sink, const uint64_t *words, int nwords)
{
	return merge_plan_add(((SortedRuns *) sink)->plan, words, nwords);
}

static void
close_sink(KeySink *sink)
{
	end_plan((SortedRuns *) sink);
}

/* Lets the plan take no more keys. */
static void
close_order_sink(SortedRuns *runs)
{
	if (runs->order.rows != NULL)
		row_order_close_sink(runs->order.rows);
}

void
sorted_runs_plan(SortedRuns *runs, double expected_rows)
{
	RowOrder   *order = runs->order.rows;

	if (!sort_keys_exact(order->keys) || sort_keys_doubtful(order->keys) ||
		order->host_only || order->limited || order->store->nrows == 0)
		return;
	/* the planner may expect more rows than a sort can have */
	expected_rows = Min(Max(expected_rows, order->store->nrows), SORT_MAX_ROWS);
	runs->plan = merge_plan_begin(&order->keys->shape, expected_rows);
	if (runs->plan != NULL)
		row_order_open_sink(order, &runs->sink);
}

SortedRuns *
sorted_runs_create(RunOrder order, const RunFormat *format, Size limit,
				   Size limit_of_merge, bool random_access)
{
	SortedRuns *runs = palloc0(sizeof(SortedRuns));

	runs->sink.take = take_key;
	runs->sink.close = close_sink;
	runs->reader.next = next_row;
	runs->context = CurrentMemoryContext;
	runs->order = order;
	runs->format = format;
	runs->limit = limit;
	runs->limit_of_merge = limit_of_merge;
	runs->random_access = random_access;
	row_check_begin(&runs->check, order, format);
	runs->file = run_file_create(limit);
	runs->max_runs = FIRST_MAX_RUNS;
	runs->runs = palloc(runs->max_runs * sizeof(RunTape *));
	return runs;
}

RowStore *
sorted_runs_create_store(TupleDesc descriptor, Size limit)
{
	return row_store_create(descriptor, limit - run_file_limit_piece(limit));
}

/* Adds a run that is complete. */
static void
append_run(SortedRuns *runs, RunTape *run)
{
	if (runs->nruns == runs->max_runs)
	{
		runs->max_runs *= 2;
		runs->runs = repalloc_huge(runs->runs,
								   runs->max_runs * sizeof(RunTape *));
	}
	runs->runs[runs->nruns++] = run;
}

/* Writes the rows of an order to a run, with an index if "indexed". */
static pg_attribute_always_inline void
write_rows(RunTape *run, RowOrder *order, bool indexed)
{
	Size		row_bytes = Min(row_store_row_bytes(order->store),
								MOST_FETCHED_BYTES);

	for (uint64 entry = 0; entry < order->nentries; entry++)
	{
		const void *row = row_order_get_forward(order, entry, row_bytes);

		CHECK_FOR_INTERRUPTS();
		if (unlikely(gpusort_verify))
			row_order_verify(order, entry);
		if (indexed)
			run_tape_write_indexed(run, row);
		else
			run_tape_write(run, row);
	}
}

void
sorted_run_write(RunTape *run, RowOrder *order, bool indexed)
{
	if (indexed)
		write_rows(run, order, true);
	else
		write_rows(run, order, false);
}

RunTape *
sorted_runs_begin_run(SortedRuns *runs)
{
	return run_tape_create(runs->file, runs->format);
}

void
sorted_runs_end_run(SortedRuns *runs, RunTape *run)
{
	runs->longest_row = Max(runs->longest_row, run->longest_row);
	run_tape_complete(run);
	append_run(runs, run);
}

void
sorted_runs_add(SortedRuns *runs)
{
	RowOrder   *order = runs->order.rows;
	RunTape    *run = sorted_runs_begin_run(runs);

	sorted_run_write(run, order, false);
	sorted_runs_end_run(runs, run);
	if (runs->plan != NULL &&
		(!sort_keys_exact(order->keys) || sort_keys_doubtful(order->keys) ||
		 !merge_plan_end_run(runs->plan, run, order->store->nrows)))
		row_order_close_sink(order);
}

void
sorted_runs_import(SortedRuns *runs, RunTape *run)
{
	run->owns_file = true;
	runs->longest_row = Max(runs->longest_row, run->longest_row);
	append_run(runs, run);
	runs->imported = true;
}

/* Merges the first "count" runs, which are among the shortest, into one. */
static void
merge_first_runs(SortedRuns *runs, int count, Size limit)
{
	RunMerge   *merge = run_merge_begin(runs->order, runs->runs, count,
										run_merge_read_bytes(limit, count,
															 runs->longest_row));
	RunTape    *run = run_tape_create(runs->file, runs->format);

	run_merge_write(merge, run);
	for (int i = 0; i < count && runs->plan != NULL; i++)
		merge_plan_replace(runs->plan, runs->runs[i], run);
	run_merge_end(merge);
	runs->nruns -= count;
	memmove(runs->runs, runs->runs + count, runs->nruns * sizeof(RunTape *));
	append_run(runs, run);
}

/* Returns the next row by the plan's order. */
static inline void *
next_in_order(SortedRuns *runs)
{
	RunTape    *run = merge_plan_next(runs->plan);
	void	   *row;

	CHECK_FOR_INTERRUPTS();
	if (run == NULL)
		return NULL;
	row = run_tape_read(run);
	if (unlikely(row == NULL))
		elog(ERROR, "a run has fewer rows than its order");
	return row;
}

/* Returns the next row of the last merge, with a plan or without one. */
static void *
next_row(RowReader *reader)
{
	SortedRuns *runs = (SortedRuns *) ((char *) reader - offsetof(SortedRuns, reader));
	void	   *row;

	if (runs->merge != NULL)
		row = run_merge_next(runs->merge);
	else
		row = next_in_order(runs);
	if (unlikely(gpusort_verify) && row != NULL)
		row_check(&runs->check, row);
	return row;
}

/* Closes everything that the last merge reads. */
static void
end_merge(SortedRuns *runs)
{
	if (runs->merge != NULL)
		run_merge_end(runs->merge);
	runs->merge = NULL;
	close_order_sink(runs);
	end_plan(runs);
	while (runs->nruns > 0)
		run_tape_close(runs->runs[--runs->nruns]);
}

/*
 * Begins the last merge, of all runs: in the plan's order if there is a plan,
 * otherwise by comparisons.
 */
static void
begin_last_merge(SortedRuns *runs, Size limit)
{
	Size		read_bytes = run_merge_read_bytes(limit, runs->nruns,
												  runs->longest_row);

	if (runs->plan == NULL)
	{
		runs->merge = run_merge_begin(runs->order, runs->runs, runs->nruns,
									  read_bytes);
		runs->nruns = 0;
		return;
	}
	for (int i = 0; i < runs->nruns; i++)
		run_tape_begin_read(runs->runs[i], read_bytes);
}

/* Returns a row of the merge as a minimal tuple, valid until the next call. */
static inline MinimalTuple
as_tuple(SortedRuns *runs, void *row)
{
	TupleDesc	descriptor;

	if (row == NULL || runs->format != &run_of_values)
		return row;
	descriptor = runs->order.rows->descriptor;
	if (unlikely(runs->tuple == NULL))
	{
		MemoryContext caller_context = MemoryContextSwitchTo(runs->context);
		bool		isnull = false;

		runs->tuple = heap_form_minimal_tuple(descriptor, row, &isnull, 0);
		MemoryContextSwitchTo(caller_context);
	}
	store_att_byval((char *) runs->tuple + PLAIN_HEADER_BYTES,
					*(Datum *) row, TupleDescAttr(descriptor, 0)->attlen);
	return runs->tuple;
}

/*
 * Writes the last merge to a result tape, which can be read in any direction.
 */
static void
store_result(SortedRuns *runs)
{
	ResultTape *result = result_tape_create(runs->file);
	MinimalTuple row;

	while ((row = as_tuple(runs, next_row(&runs->reader))) != NULL)
		result_tape_write(result, row);
	end_merge(runs);
	result_tape_complete(result, run_merge_read_bytes(runs->limit_of_merge, 1,
													  runs->longest_row));
	runs->result = result;
}

/*
 * Returns the number of runs to merge into one next: as few as leave "most"
 * runs or fewer in the end.  Files of other processes are not overwritten, but
 * each is deleted when all of it has been read.  So only some of them are
 * merged at a time.
 */
static int
next_merged_runs(const SortedRuns *runs, int most, int most_of_writer)
{
	int			count = Min(most_of_writer, runs->nruns - most + 1);

	if (runs->imported)
		count = Min(count, Max(LEAST_MERGED_RUNS,
							   runs->nruns / IMPORTED_RUNS_PART));
	return count;
}

void
sorted_runs_merge(SortedRuns *runs)
{
	Size		limit = runs->limit_of_merge;
	Size		limit_of_writer = limit - run_file_limit_piece(runs->limit);
	Size		limit_of_last = runs->random_access ? limit_of_writer : limit;
	int			most = run_merge_most_runs(limit_of_last, runs->longest_row);
	int			most_of_writer = run_merge_most_runs(limit_of_writer,
													 runs->longest_row);

	while (runs->nruns > most)
	{
		run_file_flush(runs->file);
		merge_first_runs(runs, next_merged_runs(runs, most, most_of_writer),
						 limit_of_writer);
	}
	if (runs->plan != NULL && !merge_plan_make(runs->plan, runs->file))
		end_plan(runs);
	runs->ordered = runs->plan != NULL;
	if (runs->random_access)
		run_file_flush(runs->file);
	else
		run_file_end_write(runs->file);
	begin_last_merge(runs, limit_of_last);
	if (runs->random_access)
	{
		store_result(runs);
		run_file_end_write(runs->file);
	}
	runs->disk = run_file_bytes(runs->file);
}

RowReader *
sorted_runs_reader(SortedRuns *runs)
{
	return &runs->reader;
}

ResultTape *
sorted_runs_result(const SortedRuns *runs)
{
	return runs->result;
}

void *
sorted_runs_take(SortedRuns *runs)
{
	run_file_end_write(runs->file);
	while (runs->nruns > 0)
	{
		RunTape    *run = runs->runs[runs->nruns - 1];
		void	   *row;

		if (run->buffer == NULL)
			run_tape_begin_read(run, BLCKSZ);
		row = run_tape_read(run);
		if (row != NULL)
			return row;
		run_tape_close(run);
		runs->nruns--;
	}
	return NULL;
}

bool
sorted_runs_ordered(const SortedRuns *runs)
{
	return runs->ordered;
}

Size
sorted_runs_disk(const SortedRuns *runs)
{
	return runs->disk;
}

void
sorted_runs_end(SortedRuns *runs)
{
	end_merge(runs);
	run_file_close(runs->file);
}
