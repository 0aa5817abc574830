/*-------------------------------------------------------------------------
 *
 * member_sort.h
 *	  The sort in one member of a team: of all rows, or of the rows it keeps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_MEMBER_SORT_H
#define GPUSORT_MEMBER_SORT_H

#include "access/parallel.h"

#include "spill/external_sort.h"
#include "team/row_collector.h"
#include "team/shared_runs.h"

/*
 * The state that members share of the rows in files, in the parallel context.
 * The files go with the context.
 */
typedef struct SharedKeptRows
{
	dsm_handle	context_segment;	/* segment of the parallel context */
	pg_atomic_uint32 keys_failed;	/* a bool: some run is in no order */
	SharedRuns	runs;
} SharedKeptRows;

/*
 * shared_kept_rows_init() initializes the state, in the leader, before workers
 * are launched.  A member may take "limit" bytes of memory for rows that it
 * keeps.  shared_kept_rows_reset() resets the state when all workers have
 * ended and no file is open.
 */
extern void shared_kept_rows_init(SharedKeptRows *shared,
								  ParallelContext *context, Size limit);
extern void shared_kept_rows_reset(SharedKeptRows *shared, Size limit);

/* Attaches a worker to the files. */
extern void shared_kept_rows_attach(SharedKeptRows *shared);

/* The rows of a team, and how they are sorted. */
typedef struct TeamRows
{
	TupleDesc	descriptor;
	const SortColumn *columns;
	int			ncolumns;
	double		expected_rows;	/* estimate of the rows of each member */
	double		bound;			/* first rows that are wanted, or NO_BOUND */
	GroupLimit *limit;			/* limits the rows of each group, or NULL */
	bool		marks_ties;		/* rows in memory that are equal to the row
								 * before them are to be marked */
} TeamRows;

/* Memory of the collector, in bytes. */
typedef struct CollectorLimits
{
	Size		rows;			/* for rows in shared memory, and the
								 * collector's own rows */
	Size		kept_rows;		/* for rows that come after the first spill */
	Size		merge;			/* for the merge of all runs */
} CollectorLimits;

/* The sort of one member. */
typedef struct MemberSort
{
	SharedKeptRows *shared;
	const TeamRows *rows;
	MemoryContext parent;
	MemoryContext context;		/* owns everything below; NULL: nothing is
								 * there, not yet or not any more */
	ExternalSort external;		/* sorts rows, as long as keys can sort them */
	MemberRuns	runs;			/* runs of this member, which all members can
								 * read */
	RunTape    *unsorted;		/* run in no order, which takes all further
								 * rows, or NULL */
	uint64		nunsorted;		/* rows of the run in no order */
	uint64		nkept;			/* rows that this member has kept */

	/* in the collector only */
	RowCollector *collector;
	bool		takes_shared;	/* the sort takes rows in shared memory as
								 * they lie */
	Size		kept_limit;		/* bytes for rows after the first spill */
	SortedRuns *rest;			/* runs of all members, while rows are taken
								 * back */
} MemberSort;

/*
 * Prepares the sort of the rows that this member keeps, in the current memory
 * context.  The sort takes no memory before the first row.  "rows" must stay.
 */
extern void member_sort_prepare(MemberSort *sort, SharedKeptRows *shared,
								const TeamRows *rows);

/*
 * Begins the sort of the rows of all members, in the collector.  With
 * keep_rows all members keep their rows, and no rows are in shared memory.
 */
extern void member_sort_begin_all(MemberSort *sort, RowCollector *collector,
								  int nmembers, bool keep_rows,
								  const CollectorLimits *limits);

/* Puts a row of this member. */
extern void member_sort_put(MemberSort *sort, TupleTableSlot *slot);

/* Counts a row of the collector that is not put, as nobody wants it. */
static inline void
member_sort_leave_out(MemberSort *sort)
{
	if (likely(sort->unsorted == NULL))
		external_sort_leave_out(&sort->external);
}

/* Takes the rows that members have sent so far, in the collector. */
extern void member_sort_take_sent(MemberSort *sort);

/*
 * Writes the rows in memory as a run, after the last row, in a member other
 * than the collector, and frees their memory.  Returns true if the member has
 * sorted runs.
 */
extern bool member_sort_finish(MemberSort *sort);

/*
 * Returns an order that compares rows, in any member that merges runs; NULL if
 * keys cannot be made.  In a member other than the collector it follows
 * member_sort_finish().
 */
extern RowOrder *member_sort_comparing(MemberSort *sort);

/*
 * Sorts the rows of all members, in the collector, when all have finished.
 * Then all rows are in memory, or all are in runs.  Returns false if keys
 * cannot sort the rows.  Then member_sort_take_back() returns the rows of all
 * members, in any order, one a call, and NULL after the last one.
 */
extern bool member_sort_perform(MemberSort *sort);
extern MinimalTuple member_sort_take_back(MemberSort *sort);

/*
 * For the collector: whether the rows are in runs, after
 * member_sort_perform(); and whether all rows are in shared memory, after the
 * last row.
 */
extern bool member_sort_has_runs(const MemberSort *sort);
extern bool member_sort_is_shared(const MemberSort *sort);

/* Ends the sort, at any time: closes files, and frees memory. */
extern void member_sort_end(MemberSort *sort);

#endif							/* GPUSORT_MEMBER_SORT_H */
