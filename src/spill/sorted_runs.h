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

#include "port/atomics.h"
#include "storage/sharedfileset.h"

#include "sort/row_order.h"
#include "spill/run_tape.h"

/* The runs of a process, and their merge. */
typedef struct SortedRuns SortedRuns;

/* Shared memory of processes that write runs for one of them to merge. */
typedef struct SharedRuns
{
	SharedFileSet files;		/* files of the runs, named by their numbers */
	pg_atomic_uint32 nruns;		/* runs that were begun */
	slock_t		mutex;			/* protects all fields below */
	uint64		nrows;			/* rows of all runs */
	Size		longest_row;	/* bytes of the longest row */
	Size		disk;			/* bytes of all files */
	char		method[REPORT_TEXT_SIZE];	/* how the last run was sorted */
	char		device[REPORT_TEXT_SIZE];
	bool		on_device;		/* some runs were sorted by gpusortd */
	uint64		device_microseconds;	/* time of the sorts on the device */
} SharedRuns;

/* Initializes shared runs in a segment that all processes attach. */
extern void shared_runs_init(SharedRuns *shared, dsm_segment *segment);

/* Begins again with no runs, when no process uses them and their files are gone. */
extern void shared_runs_reset(SharedRuns *shared);

/*
 * Makes runs, none at first.  The order, which must stay, is that of each
 * run's rows; the format is that of the rows.  The limits are bytes of all
 * memory of the sort, while rows are in the store and while runs are merged.
 * Rows can be fetched backward or again only with random_access.
 * gpusortd may make an order of all runs unless there will be runs of other
 * processes; expected_rows is an estimate of their rows.  Allocates in the
 * current memory context, which has to be the same in all later calls.
 */
extern SortedRuns *sorted_runs_create(RowOrder *order,
									  const RunFormat *format, Size limit,
									  Size limit_of_merge,
									  bool random_access, bool has_others,
									  double expected_rows);

/*
 * The same for a process whose runs another process merges: they are added to
 * the shared runs.
 */
extern SortedRuns *sorted_runs_create_shared(RowOrder *order,
											 const RunFormat *format,
											 Size limit, SharedRuns *shared);

/*
 * The same for the runs of other processes alone, whose rows can be had by
 * sorted_runs_take() only.
 */
extern SortedRuns *sorted_runs_open_shared(const RunFormat *format,
										   Size limit, SharedRuns *shared);

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

/* Adds the shared runs of other processes, after their last ones. */
extern void sorted_runs_import(SortedRuns *runs, SharedRuns *shared);

/* Merges the runs, after the last one, as far as the first row needs. */
extern void sorted_runs_merge(SortedRuns *runs);

/*
 * The next row of the merge, without random_access, valid until the next call;
 * NULL after the last one.
 */
extern void *sorted_runs_next(SortedRuns *runs);

/*
 * The same for minimal tuples, in a slot, as row_sort_get() in row_sort.h and
 * the functions behind it; backward and again only with random_access.
 */
extern bool sorted_runs_get(SortedRuns *runs, bool forward,
							TupleTableSlot *slot);
extern void sorted_runs_skip(SortedRuns *runs, uint64 nrows);
extern void sorted_runs_rescan(SortedRuns *runs);
extern void sorted_runs_mark(SortedRuns *runs);
extern void sorted_runs_restore(SortedRuns *runs);

/*
 * Gives up the merge: returns all rows, in any order, one a call.  A row is
 * valid until the next call; NULL after the last one.
 */
extern void *sorted_runs_take(SortedRuns *runs);

/*
 * The number of runs that were added; whether the last merge reads them in an
 * order of gpusortd; and the largest number of bytes in files.
 */
extern int	sorted_runs_count(const SortedRuns *runs);
extern bool sorted_runs_ordered(const SortedRuns *runs);
extern Size sorted_runs_disk(const SortedRuns *runs);

/* Closes the files, and so deletes them; memory stays with its context. */
extern void sorted_runs_end(SortedRuns *runs);

#endif							/* GPUSORT_SORTED_RUNS_H */
