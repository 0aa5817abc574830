/*-------------------------------------------------------------------------
 *
 * index_sort.h
 *	  Sorting the rows of an index: put them, sort, get them in order.
 *
 * A sort whose rows cannot be sorted by keys fails: it drops its rows, and
 * core has to build the index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_SORT_H
#define GPUSORT_INDEX_SORT_H

#include "utils/rel.h"

#include "btree/index_rows.h"
#include "spill/external_sort.h"

typedef struct IndexSort
{
	ExternalSort external;		/* sort of the rows by keys */
	MemoryContext context;		/* owns everything below */
	bool		unique;			/* dead rows are marked */
	IndexRows  *rows;			/* form of the rows */
	RowReader  *merged;			/* the rows in order, if they are in runs;
								 * NULL: they are in external.store */
	uint64		run_microseconds;	/* time of runs written while rows come */
} IndexSort;

/* The least bytes that this many rows need. */
extern double index_sort_least_memory(double rows);

/*
 * Begins a sort of an index's rows, and shows its progress.  The limits are in
 * bytes: for the sort while rows are put, and while runs are merged.  With
 * host_only it uses no device.  May fail at once.  Allocates in a memory
 * context that is a child of the current one.
 */
extern IndexSort *index_sort_begin(Relation index, bool unique, Size limit,
								   Size limit_of_merge, double expected_rows,
								   bool host_only);

/*
 * Puts a row: an IndexBuildCallback, whose state is the IndexSort.  Rows are
 * ignored after the sort has failed.
 */
extern void index_sort_put(Relation index, ItemPointer tid, Datum *values,
						   bool *isnull, bool is_alive, void *state);

/*
 * Sorts, after the last row.  Makes the order of the store, or begins to merge
 * the runs.  Returns false if the sort has failed.
 */
extern bool index_sort_perform(IndexSort *sort);

/* True if the sort has failed, and so dropped its rows. */
static inline bool
index_sort_has_failed(const IndexSort *sort)
{
	return sort->external.given_up;
}

/*
 * After index_sort_perform(): true if a device has made the order, so that the
 * order has to be checked.
 */
extern bool index_sort_needs_check(const IndexSort *sort);

/*
 * Writes the last run of a sort whose runs are merged elsewhere, and frees the
 * memory of its rows.  Is called in place of index_sort_perform().  Returns
 * false if the sort has failed.
 */
extern bool index_sort_write_last_run(IndexSort *sort);

/* Ends the sort, at any time: closes files and frees memory. */
extern void index_sort_end(IndexSort *sort);

#endif							/* GPUSORT_INDEX_SORT_H */
