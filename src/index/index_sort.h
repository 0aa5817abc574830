/*-------------------------------------------------------------------------
 *
 * index_sort.h
 *	  Sorting the rows of an index: put them, sort, have them in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_SORT_H
#define GPUSORT_INDEX_SORT_H

#include "utils/rel.h"

#include "index/index_rows.h"
#include "spill/external_sort.h"

typedef struct IndexSort
{
	ExternalSort external;
	MemoryContext context;		/* holds everything below */
	bool		unique;			/* rows that are dead are to be known */
	IndexRows  *rows;
	uint64		run_microseconds;	/* for the runs before the last one */
} IndexSort;

/* The least memory that so many rows need, in bytes. */
extern double index_sort_least_memory(double rows);

/*
 * Begins a sort of an index's rows, of which so many bytes are held in memory,
 * or if there are more, so many while they are merged.  With host_only no device
 * is asked.  Allocates in a memory context that is a child of the current one.
 */
extern IndexSort *index_sort_begin(Relation index, bool unique, Size limit,
								   Size limit_of_merge, double expected_rows,
								   bool host_only);

/* An IndexBuildCallback: takes a row.  The state is the IndexSort. */
extern void index_sort_put(Relation index, ItemPointer tid, Datum *values,
						   bool *isnull, bool is_alive, void *state);

/*
 * After the last row: makes the order of the store, or has the runs merged,
 * with those of others if they have written any.  False if keys are of no use.
 */
extern bool index_sort_perform(IndexSort *sort, SharedRuns *others);

/* Have keys been of no use?  Then there are no rows. */
static inline bool
index_sort_has_failed(const IndexSort *sort)
{
	return sort->external.status == EXTERNAL_SORT_GIVEN_UP;
}

/* After index_sort_perform(): has a device had a hand in the order? */
extern bool index_sort_is_unproved(const IndexSort *sort);

/* Instead of that, where runs go to another process: writes the last one. */
extern bool index_sort_write_last_run(IndexSort *sort);

extern void index_sort_end(IndexSort *sort);

#endif							/* GPUSORT_INDEX_SORT_H */
