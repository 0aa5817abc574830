/*-------------------------------------------------------------------------
 *
 * row_sort.h
 *	  Sorting rows: put them, sort, get them in order.
 *
 * The counterpart of core's tuplesort, and used in the same way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_SORT_H
#define GPUSORT_ROW_SORT_H

#include "nodes/execnodes.h"

#include "executor/shared_rows.h"
#include "keys/sort_keys.h"
#include "sort/row_order.h"

typedef struct RowSort RowSort;

/*
 * How a sort was done, for EXPLAIN and the statistics.  It outlives the sort,
 * so nothing in it points anywhere.
 */
typedef struct RowSortReport
{
	char		method[REPORT_TEXT_SIZE];
	char		device[REPORT_TEXT_SIZE];	/* empty: core's sort did it */
	bool		on_device;		/* or in this process */
	uint64		nrows;
	Size		memory;			/* bytes at the highest, or in files */
	bool		on_disk;		/* which of both */
	uint64		fill_microseconds;	/* taking rows, and the time of their
									 * source */
	uint64		sort_microseconds;	/* from the last row to the order */
	uint64		device_microseconds;	/* of that, on the device */
	int			workers;		/* that have handed over rows */
	uint64		kept_rows;		/* that they did not hand over */
} RowSortReport;

/*
 * Begins a sort of rows of this descriptor.  The columns are kept and must
 * stay.  Only with random_access may rows be had backward or again.  Of the
 * rows no more than the first "bound" may be had, all if that is NO_BOUND.
 * Allocates in a memory context that is a child of the current one.
 */
extern RowSort *row_sort_begin(TupleDesc descriptor, SortColumn *columns,
							   int ncolumns, double expected_rows,
							   double bound, bool random_access);

/* The same where it is known that core's sort takes less time for so few. */
extern RowSort *row_sort_begin_few(TupleDesc descriptor, SortColumn *columns,
								   int ncolumns, double bound,
								   bool random_access);

/*
 * The same for one of several processes that sort together: for the leader,
 * with what it shares with its workers, or for a worker that keeps rows.
 */
extern RowSort *row_sort_begin_leader(TupleDesc descriptor,
									  SortColumn *columns, int ncolumns,
									  double expected_rows, double bound,
									  SharedRows *shared, int nworkers);
extern RowSort *row_sort_begin_worker(TupleDesc descriptor,
									  SortColumn *columns, int ncolumns,
									  double bound);

/* Bytes for the rows that so many workers hand over. */
extern Size row_sort_shared_limit(int nworkers);

extern void row_sort_put(RowSort *sort, TupleTableSlot *slot);

/* The same for all rows of this node. */
extern void row_sort_take(RowSort *sort, PlanState *source);

/* After the last row. */
extern void row_sort_perform(RowSort *sort);

/*
 * Stores the next row, or the previous one, in the slot, which must be one for
 * minimal tuples, and returns true; clears the slot and returns false when
 * there is none.  The row is valid until the next call.
 */
extern bool row_sort_get(RowSort *sort, bool forward, TupleTableSlot *slot);

/* Can so many of the first rows be had, all if that is NO_BOUND? */
extern bool row_sort_suffices(const RowSort *sort, double bound);

/* As of tuplesort: back to the start; note and restore the position. */
extern void row_sort_rescan(RowSort *sort);
extern void row_sort_mark(RowSort *sort);
extern void row_sort_restore(RowSort *sort);

extern void row_sort_report(RowSort *sort, RowSortReport *report);

extern void row_sort_end(RowSort *sort);

#endif							/* GPUSORT_ROW_SORT_H */
