/*-------------------------------------------------------------------------
 *
 * external_sort.h
 *	  Sorting rows by their keys: in memory and, of more rows, in runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EXTERNAL_SORT_H
#define GPUSORT_EXTERNAL_SORT_H

#include "sort/row_order.h"
#include "sort/row_store.h"
#include "spill/sorted_runs.h"

/* What the rows of a sort are. */
typedef struct ExternalSortVariant
{
	RowColumnFunction column;	/* reads a column of a row in the store */
	const RunFormat *format;	/* of rows in runs */
	Size		least_row_bytes;	/* that a row takes in memory */
} ExternalSortVariant;

typedef enum ExternalSortStatus
{
	EXTERNAL_SORT_TAKES_ROWS,	/* to the store, and from there to runs */
	EXTERNAL_SORT_IN_MEMORY,	/* the order of the rows in the store is made */
	EXTERNAL_SORT_IN_RUNS,		/* the runs are merged, all rows being in them */
	EXTERNAL_SORT_GIVEN_UP		/* keys are of no use */
} ExternalSortStatus;

/*
 * A part of the sort of whoever takes rows, who puts them to the store and to
 * the order; so these two are open.
 */
typedef struct ExternalSort
{
	MemoryContext context;		/* holds everything below */
	const ExternalSortVariant *variant;
	TupleDesc	descriptor;
	ExternalSortStatus status;
	bool		spills;			/* or rows have to stay in the store */
	Size		limit;			/* bytes for rows and order */
	double		expected_rows;

	/* for runs; the caller may change it before there is one */
	Size		limit_of_merge; /* bytes while they are merged */
	bool		random_access;	/* rows may be had backward or again */
	SharedRuns *shared_runs;	/* where runs go; NULL: to files of our own */

	RowStore   *store;			/* NULL: no rows are in memory */
	RowOrder   *order;			/* of these */
	SortedRuns *runs;			/* NULL: no rows are in runs */

	/* rows that are put once more, from the store that they leave */
	RowStore   *moved;			/* NULL: there are none */
	Size		moved_bytes;	/* in use there */
	uint64		next_row;		/* to be moved, or taken back */

	/* of what has been sorted */
	uint64		nrows;			/* with those in runs of others */
	Size		memory;			/* bytes at the highest, or in files */
	char		method[REPORT_TEXT_SIZE];	/* of the last run sorted */
	char		device[REPORT_TEXT_SIZE];
	bool		on_device;		/* some rows were sorted there */
	uint64		device_microseconds;
} ExternalSort;

/*
 * Begins a sort of rows of this descriptor.  The columns are kept and must
 * stay.  The limit is in bytes.  Unless it spills rows are as many as fit.
 * False if these columns have no keys.  Allocates in the current memory context.
 */
extern bool external_sort_begin(ExternalSort *sort,
								const ExternalSortVariant *variant,
								TupleDesc descriptor, SortColumn *columns,
								int ncolumns, Size limit,
								double expected_rows, bool spills);

/* Bytes that the rows so far take beside the store. */
static inline Size
external_sort_memory(const ExternalSort *sort)
{
	return row_order_memory(sort->order) + sort->moved_bytes;
}

/* Space in the store for a row of so many bytes; NULL if there is none. */
static inline void *
external_sort_reserve(ExternalSort *sort, Size bytes)
{
	if (unlikely(sort->store->nrows == SORT_MAX_ROWS))
		return NULL;
	return row_store_reserve(sort->store, bytes, external_sort_memory(sort));
}

/*
 * Writes the rows in the store as a sorted run, which empties it.  False if
 * the sort has to be given up.
 */
extern bool external_sort_spill(ExternalSort *sort);

/*
 * After the last row: makes the order of the store, or begins to merge the runs,
 * with those of others if these have written any.  False if the sort has to be
 * given up.
 */
extern bool external_sort_perform(ExternalSort *sort, SharedRuns *others);

/*
 * At any time before rows are had: drops the keys.  The rows can be taken back
 * then, in any order, each valid until the next call; NULL after the last one.
 * Or they can be dropped, too.
 */
extern void external_sort_give_up(ExternalSort *sort);
extern void *external_sort_take_back(ExternalSort *sort);
extern void external_sort_drop_rows(ExternalSort *sort);

/* Closes files; memory goes with the memory context. */
extern void external_sort_end(ExternalSort *sort);

#endif							/* GPUSORT_EXTERNAL_SORT_H */
