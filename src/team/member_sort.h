/*-------------------------------------------------------------------------
 *
 * member_sort.h
 *	  The sort of a member of a team: of the rows of all, or of those it keeps.
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
 * What members share of the rows that are in files, in the parallel context.  The
 * files go with the context.
 */
typedef struct SharedKeptRows
{
	dsm_handle	context_segment;	/* segment of the parallel context */
	pg_atomic_uint32 keys_failed;	/* a bool: some run is in no order */
	SharedRuns	runs;
} SharedKeptRows;

/*
 * Initializes the state in the leader, before workers are launched; and resets it
 * when all workers have ended, and no file is open.  A member may take "limit" bytes
 * of memory for the rows that it keeps.
 */
extern void shared_kept_rows_init(SharedKeptRows *shared,
								  ParallelContext *context, Size limit);
extern void shared_kept_rows_reset(SharedKeptRows *shared, Size limit);

/* Attaches to the files, in a worker. */
extern void shared_kept_rows_attach(SharedKeptRows *shared);

/* The rows of a team, and how they are sorted. */
typedef struct TeamRows
{
	TupleDesc	descriptor;
	const SortColumn *columns;
	int			ncolumns;
	double		expected_rows;	/* estimate, of each member */
	double		bound;			/* first rows that are wanted, or NO_BOUND */
	GroupLimit *limit;			/* limit of each group's rows, or NULL */
} TeamRows;

/* Memory of the collector's sort, in bytes. */
typedef struct CollectorLimits
{
	Size		rows;			/* rows in shared memory, and its own */
	Size		kept_rows;		/* rows that come when those have been spilled */
	Size		merge;			/* the merge of all runs */
} CollectorLimits;

/* The sort of one member. */
typedef struct MemberSort
{
	SharedKeptRows *shared;
	const TeamRows *rows;
	MemoryContext parent;
	MemoryContext context;		/* owns everything below; NULL: there is
								 * nothing yet, or any more */
	ExternalSort external;		/* sorts rows, as long as these have keys */
	MemberRuns	runs;			/* its runs, which all members can read */
	RunTape    *unsorted;		/* run in no order, which takes all further
								 * rows, or NULL */
	uint64		nunsorted;		/* rows of it */
	uint64		nkept;			/* rows that have been put by the member */

	/* of the collector only */
	RowCollector *collector;
	bool		takes_shared;	/* rows in shared memory stay there */
	Size		kept_limit;		/* bytes for rows that are kept */
	SortedRuns *rest;			/* runs of all members, while rows are taken
								 * back */
} MemberSort;

/*
 * Prepares the sort of rows that this member keeps, in the current memory context.  It
 * takes no memory before the first row.  "rows" must stay.
 */
extern void member_sort_prepare(MemberSort *sort, SharedKeptRows *shared,
								const TeamRows *rows);

/*
 * Begins the sort of the rows of all, in the collector.  With keep_rows all members keep
 * their rows, and none are in shared memory.
 */
extern void member_sort_begin_all(MemberSort *sort, RowCollector *collector,
								  int nmembers, bool keep_rows,
								  const CollectorLimits *limits);

/* Puts a row of this member. */
extern void member_sort_put(MemberSort *sort, TupleTableSlot *slot);

/* In the collector: takes the rows that members have sent. */
extern void member_sort_take_sent(MemberSort *sort);

/*
 * In another member, after the last row: writes the rows that are in memory, and frees
 * that.  True if the member has sorted runs.
 */
extern bool member_sort_finish(MemberSort *sort);

/*
 * After that, in any member that merges runs: an order that compares rows; NULL if that
 * cannot be made.
 */
extern RowOrder *member_sort_comparing(MemberSort *sort);

/*
 * In the collector, when all members have finished: sorts the rows of all, which are in
 * memory or in runs then.  False if keys are of no use: then member_sort_take_back()
 * returns the rows of all, in any order, one a call, and NULL after the last one.
 */
extern bool member_sort_perform(MemberSort *sort);
extern MinimalTuple member_sort_take_back(MemberSort *sort);

/* In the collector, after that: are the rows in runs, or all of them in shared memory? */
extern bool member_sort_has_runs(const MemberSort *sort);
extern bool member_sort_is_shared(const MemberSort *sort);

/* Ends the sort, at any time: closes files and frees memory. */
extern void member_sort_end(MemberSort *sort);

#endif							/* GPUSORT_MEMBER_SORT_H */
