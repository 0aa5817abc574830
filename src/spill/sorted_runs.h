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
#include "spill/run_tape.h"
#include "spill/shared_runs.h"

/* The runs of a process, and their merge. */
typedef struct SortedRuns SortedRuns;

/* When other processes help the leader to merge shared runs. */
typedef enum MergeHelp
{
	NO_HELP = 0,				/* never: not all rows will be fetched */
	HELP_BEFORE_ROWS = 1,		/* before rows are emitted */
	HELP_WITH_ROWS = 2,			/* while rows are emitted */
	HELP_AT_ANY_TIME = 3		/* while rows are emitted, or else before */
} MergeHelp;

/*
 * Makes an empty list of runs.  "order", which must stay, is that of each
 * run's rows; the format is that of the rows.  The limits are bytes of all
 * memory of the sort, while rows are in the store and while runs are merged.
 * Rows can be fetched backward or again only with random_access.  If "shared"
 * is not NULL, several processes that sort together add their runs there.
 * Otherwise gpusortd may make an order of all runs; expected_rows is an
 * estimate of their rows.  Allocates in the current memory context, which has
 * to be the same in all later calls.
 */
extern SortedRuns *sorted_runs_create(RowOrder *order,
									  const RunFormat *format, Size limit,
									  Size limit_of_merge,
									  bool random_access,
									  SharedRuns *shared,
									  double expected_rows);

/*
 * Makes an empty store for rows that may become runs.  Its limit is "limit",
 * in bytes, less the memory that writing a run takes.
 */
extern RowStore *sorted_runs_create_store(TupleDesc descriptor, Size limit);

/*
 * Writes the rows of the store as a run, after row_order_make().  Empties the
 * store, and restarts its order.
 */
extern void sorted_runs_add(SortedRuns *runs, RowStore *store);

/*
 * Begins to emit rows, after the last run: merges the runs until few enough
 * are left for the last merge, which is done as rows are fetched.  If runs are
 * shared, only the leader calls this, when the others have written all of
 * theirs; they may help.
 */
extern void sorted_runs_merge(SortedRuns *runs, MergeHelp help);

/*
 * In a process that has called external_sort_offer_help(): waits for the
 * leader, and merges parts of the runs if the leader wants that.  True if the
 * leader wants the parts while it emits rows: then sorted_runs_send_parts()
 * has to follow, when the leader no longer waits for this process.
 */
extern bool sorted_runs_help_merge(SortedRuns *runs);
extern void sorted_runs_send_parts(SortedRuns *runs);

/*
 * In the leader, after sorted_runs_merge(): is there help while rows are
 * emitted?  Help has to end when no more rows are fetched:
 * sorted_runs_stop_help() ends it, or else sorted_runs_end().
 */
extern bool sorted_runs_has_help(const SortedRuns *runs);
extern void sorted_runs_stop_help(SortedRuns *runs);

/*
 * After sorted_runs_merge(), the rows: with random_access on a tape of minimal tuples;
 * otherwise to be read once, in the format of the runs.
 */
extern ResultTape *sorted_runs_result(const SortedRuns *runs);
extern RowReader *sorted_runs_reader(SortedRuns *runs);

/*
 * Gives up the merge: returns all rows, in any order, one a call, also rows
 * that others have written to shared runs; NULL after the last one.  A row is
 * valid until the next call.
 */
extern void *sorted_runs_take(SortedRuns *runs);

/*
 * The number of runs that were added; the number of parts that several processes have
 * merged, or 0; whether the last merge is in an order of gpusortd; and the largest
 * number of bytes in files.
 */
extern int	sorted_runs_count(const SortedRuns *runs);
extern int	sorted_runs_parts(const SortedRuns *runs);
extern bool sorted_runs_ordered(const SortedRuns *runs);
extern Size sorted_runs_disk(const SortedRuns *runs);

/* Closes the files, and so deletes them; memory stays with its context. */
extern void sorted_runs_end(SortedRuns *runs);

#endif							/* GPUSORT_SORTED_RUNS_H */
