/*-------------------------------------------------------------------------
 *
 * sorted_runs.h
 *	  The rows of a sort that exceed its memory: in temporary files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORTED_RUNS_H
#define GPUSORT_SORTED_RUNS_H

#include "port/atomics.h"
#include "storage/sharedfileset.h"

#include "sort/row_order.h"
#include "spill/run_tape.h"

typedef struct SortedRuns SortedRuns;

/* Runs that several processes write, for one of them to merge. */
typedef struct SharedRuns
{
	SharedFileSet files;		/* named by the numbers of the runs */
	pg_atomic_uint32 nruns;
	slock_t		mutex;			/* for all that follows */
	uint64		nrows;			/* in all of them */
	Size		longest_row;
	Size		disk;
} SharedRuns;

/* Sets them up in this segment, which all are to have attached. */
extern void shared_runs_init(SharedRuns *shared, dsm_segment *segment);

/*
 * Begins without a run.  "order" makes the order of each, and has to stay; the
 * format is that of its rows.  The limits are bytes of all that a sort has in
 * memory, while there are rows in the store and while runs are merged.  Only
 * with random_access may rows be had backward or again.  Of all runs so many rows
 * are expected.  Allocates in the current memory context, in which all that
 * follows has to be called, too.
 */
extern SortedRuns *sorted_runs_create(RowOrder *order,
									  const RunFormat *format, Size limit,
									  Size limit_of_merge,
									  bool random_access,
									  double expected_rows);

/*
 * The same for one of several processes that does not merge: its runs go where
 * the one that does finds them.
 */
extern SortedRuns *sorted_runs_create_shared(RowOrder *order,
											 const RunFormat *format,
											 Size limit, SharedRuns *shared);

/*
 * An empty store for rows that may become runs: with what memory the limit
 * leaves when a run is written.
 */
extern RowStore *sorted_runs_create_store(TupleDesc descriptor, Size limit);

/*
 * Writes the rows of the order's store, which has been made, as a run, empties
 * the store and begins the order of others.
 */
extern void sorted_runs_add(SortedRuns *runs, RowStore *store);

/* Adds the runs of others, which have written their last ones. */
extern void sorted_runs_import(SortedRuns *runs, SharedRuns *shared);

/* After the last run: merges them as far as needed to get at the first row. */
extern void sorted_runs_merge(SortedRuns *runs);

/*
 * After that, without random_access: the next row, valid until the next call;
 * NULL after the last one.
 */
extern void *sorted_runs_next(SortedRuns *runs);

/*
 * Or, of minimal tuples, as row_sort_get() and its companions.
 */
extern bool sorted_runs_get(SortedRuns *runs, bool forward,
							TupleTableSlot *slot);
extern void sorted_runs_rescan(SortedRuns *runs);
extern void sorted_runs_mark(SortedRuns *runs);
extern void sorted_runs_restore(SortedRuns *runs);

/*
 * Instead of merging: gives back all rows, in any order, each valid until the
 * next call; NULL after the last one.
 */
extern void *sorted_runs_take(SortedRuns *runs);

/*
 * How many runs were added, whether they are read in an order that gpusortd has
 * made, and bytes in files at the highest.
 */
extern int	sorted_runs_count(const SortedRuns *runs);
extern bool sorted_runs_ordered(const SortedRuns *runs);
extern Size sorted_runs_disk(const SortedRuns *runs);

/* Closes the files. */
extern void sorted_runs_end(SortedRuns *runs);

#endif							/* GPUSORT_SORTED_RUNS_H */
