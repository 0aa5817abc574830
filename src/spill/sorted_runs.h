/*-------------------------------------------------------------------------
 *
 * sorted_runs.h
 *	  The rows of a sort that exceed its memory: in temporary files.
 *
 * Rows are written as sorted runs, and merged in the end.  Functions raise an
 * error if a file cannot be written or read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORTED_RUNS_H
#define GPUSORT_SORTED_RUNS_H

#include "sort/row_order.h"
#include "spill/run_tape.h"
#include "spill/shared_runs.h"

/* The runs of a process, and their merge. */
typedef struct SortedRuns SortedRuns;

/*
 * Makes runs, none at first.  The order, which must stay, is that of each
 * run's rows; the format is that of the rows.  The limits are bytes of all
 * memory of the sort, while rows are in the store and while runs are merged.
 * Rows can be fetched backward or again only with random_access.
 * Several processes that sort together add theirs to shared runs, if "shared" is
 * not NULL.  Otherwise gpusortd may make an order of all runs; expected_rows is an
 * estimate of their rows.  Allocates in the current memory context, which has to be
 * the same in all later calls.
 */
extern SortedRuns *sorted_runs_create(RowOrder *order,
									  const RunFormat *format, Size limit,
									  Size limit_of_merge,
									  bool random_access,
									  SharedRuns *shared,
									  double expected_rows);

/*
 * Makes an empty store for rows that may become runs.  Its limit is the limit,
 * in bytes, less the memory that writing a run takes.
 */
extern RowStore *sorted_runs_create_store(TupleDesc descriptor, Size limit);

/*
 * Writes the rows of the store as a run, after row_order_make().  Empties the
 * store, and restarts its order.
 */
extern void sorted_runs_add(SortedRuns *runs, RowStore *store);

/*
 * Merges the runs, after the last one, as far as the first row needs.  Of shared
 * runs one process does so, the leader, when the others have written all of theirs.
 * If it is to emit all rows the others may help, and all of the merge is done then.
 */
extern void sorted_runs_merge(SortedRuns *runs, bool emits_all);

/*
 * In the others, which have called shared_runs_offer_help(): waits for the leader, and
 * helps if that is wanted.
 */
extern void sorted_runs_help_merge(SortedRuns *runs);

/*
 * The next row of the merge, without random_access, valid until the next call;
 * NULL after the last one.
 */
extern void *sorted_runs_next(SortedRuns *runs);

/*
 * The same for minimal tuples, or values, of which these are made, in a slot, as
 * row_sort_get() in row_sort.h and the functions behind it; backward and again only
 * with random_access.
 */
extern bool sorted_runs_get(SortedRuns *runs, bool forward,
							TupleTableSlot *slot);
extern void sorted_runs_skip(SortedRuns *runs, uint64 nrows);
extern void sorted_runs_rescan(SortedRuns *runs);
extern void sorted_runs_mark(SortedRuns *runs);
extern void sorted_runs_restore(SortedRuns *runs);

/*
 * Gives up the merge: returns all rows, in any order, one a call, also those that
 * others have written to shared runs.  A row is valid until the next call; NULL
 * after the last one.
 */
extern void *sorted_runs_take(SortedRuns *runs);

/*
 * The number of runs that were added; in how many parts several processes have merged
 * them, 0 if they have not; whether the last merge reads them in an order of gpusortd;
 * and the largest number of bytes in files.
 */
extern int	sorted_runs_count(const SortedRuns *runs);
extern int	sorted_runs_parts(const SortedRuns *runs);
extern bool sorted_runs_ordered(const SortedRuns *runs);
extern Size sorted_runs_disk(const SortedRuns *runs);

/* Closes the files, and so deletes them; memory stays with its context. */
extern void sorted_runs_end(SortedRuns *runs);

#endif							/* GPUSORT_SORTED_RUNS_H */
