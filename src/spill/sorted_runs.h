/*-------------------------------------------------------------------------
 *
 * sorted_runs.h
 *	  Rows that exceed the memory of their sort, in temporary files.
 *
 * Rows are written as sorted runs, and merged in the end.  Functions raise an
 * error if a file cannot be written or read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORTED_RUNS_H
#define GPUSORT_SORTED_RUNS_H

#include "sort/row_order.h"
#include "spill/result_tape.h"
#include "spill/row_reader.h"
#include "spill/run_order.h"
#include "spill/run_tape.h"

/* The runs of a process, and their merge. */
typedef struct SortedRuns SortedRuns;

/*
 * Makes an empty list of runs, whose rows have this order; an order of nothing
 * if runs are only taken back.  "format" is the form of the rows.  The limits are bytes of all memory of the sort:
 * "limit" while rows are in the store, "limit_of_merge" while runs are merged.
 * Rows can be fetched backward or again only with random_access.  Allocates in
 * the current memory context, which has to be the same in all later calls.
 */
extern SortedRuns *sorted_runs_create(RunOrder order,
									  const RunFormat *format, Size limit,
									  Size limit_of_merge,
									  bool random_access);

/*
 * Lets gpusortd make an order of all runs, if keys decide alone and runs will
 * have all rows.  Has to be called before the first run.  About expected_rows
 * rows are expected in all.
 */
extern void sorted_runs_plan(SortedRuns *runs, double expected_rows);

/*
 * Makes an empty store for rows that may become runs.  Its limit, in bytes, is
 * "limit" less the memory that writing a run takes.
 */
extern RowStore *sorted_runs_create_store(TupleDesc descriptor, Size limit);

/* Writes the rows of an order to an empty tape, with an index if wanted. */
extern void sorted_run_write(RunTape *run, RowOrder *order, bool indexed);

/*
 * Writes the rows of a RowOrder, which is the order of the runs, as a run,
 * after row_order_make().
 */
extern void sorted_runs_add(SortedRuns *runs);

/*
 * Begin and end a run to which the caller writes rows in their order.  No
 * other run is begun before it ends.
 */
extern RunTape *sorted_runs_begin_run(SortedRuns *runs);
extern void sorted_runs_end_run(SortedRuns *runs, RunTape *run);

/*
 * Adds a complete run, in a file of its own, which is deleted with the run.
 * The run's longest_row has to be set.
 */
extern void sorted_runs_import(SortedRuns *runs, RunTape *run);

/*
 * Begins to emit rows, after the last run.  Merges runs until the last merge
 * can take all that are left.  The last merge is done as rows are fetched.
 */
extern void sorted_runs_merge(SortedRuns *runs);

/*
 * Return the rows, after sorted_runs_merge().  With random_access
 * sorted_runs_result() returns a tape of minimal tuples.  Otherwise
 * sorted_runs_reader() reads the rows once, in the format of the runs.
 */
extern ResultTape *sorted_runs_result(const SortedRuns *runs);
extern RowReader *sorted_runs_reader(SortedRuns *runs);

/*
 * Gives up the merge, and returns the rows of all runs, in any order, one a
 * call; NULL after the last row.  A row is valid until the next call.
 */
extern void *sorted_runs_take(SortedRuns *runs);

/*
 * Return whether the last merge follows an order of gpusortd, and the largest
 * number of bytes that this process's file has had.
 */
extern bool sorted_runs_ordered(const SortedRuns *runs);
extern Size sorted_runs_disk(const SortedRuns *runs);

/*
 * Closes the files, and so deletes them.  The memory stays with its context.
 */
extern void sorted_runs_end(SortedRuns *runs);

#endif							/* GPUSORT_SORTED_RUNS_H */
