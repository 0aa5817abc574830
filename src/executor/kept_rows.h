/*-------------------------------------------------------------------------
 *
 * kept_rows.h
 *	  Rows of processes that sort together, for which memory does not suffice.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEPT_ROWS_H
#define GPUSORT_KEPT_ROWS_H

#include "access/parallel.h"

#include "executor/node_limit.h"
#include "executor/row_sort.h"

/*
 * What processes share of the rows that they keep, in the parallel context: they
 * are in its files.
 */
typedef struct SharedKeptRows SharedKeptRows;

extern Size shared_kept_rows_size(int nparticipants);

/*
 * Initializes it in the leader, before workers are launched, and resets it when all
 * workers have ended, with nothing open.  A participant keeps rows in so many bytes
 * of memory.
 */
extern void shared_kept_rows_init(SharedKeptRows *shared,
								  ParallelContext *context, Size limit);
extern void shared_kept_rows_reset(SharedKeptRows *shared, Size limit);

/* Attaches to the files, in a worker. */
extern void shared_kept_rows_attach(SharedKeptRows *shared);

/* The runs of kept rows. */
extern SharedRuns *shared_kept_rows_runs(SharedKeptRows *shared);

/*
 * The rows that a participant keeps.  It is set up by kept_rows_init(), and has no
 * memory before the first row.
 */
typedef struct KeptRows
{
	SharedKeptRows *shared;
	int			participant;	/* its number */
	TupleDesc	descriptor;
	SortColumn *columns;
	int			ncolumns;
	double		expected_rows;	/* estimate */
	double		bound;			/* first rows that are wanted, or NO_BOUND */
	NodeLimit  *limit;			/* limit of each group's rows */
	MemoryContext context;		/* owns everything below */
	RowSort    *sort;			/* writes runs; NULL: rows are not sorted */
	struct SharedTuplestoreAccessor *files; /* rows as they are, or NULL */
	uint64		nrows;
} KeptRows;

/* The rest is kept in the current memory context. */
extern void kept_rows_init(KeptRows *kept, SharedKeptRows *shared,
						   int participant, TupleDesc descriptor,
						   const SortColumn *columns, int ncolumns,
						   double expected_rows, double bound,
						   NodeLimit *limit);

/* Keeps a row. */
extern void kept_rows_put(KeptRows *kept, TupleTableSlot *slot);

/*
 * Writes all that is still in memory, after the last row, and frees the memory.
 * "nrows" stays.
 */
extern void kept_rows_end(KeptRows *kept);

/*
 * The same in a process that is not the leader.  kept_rows_merge() has to follow when
 * the leader knows of the last row: it waits for the leader, and helps to merge.
 */
extern void kept_rows_end_to_help(KeptRows *kept);
extern void kept_rows_merge(KeptRows *kept);

/*
 * In the leader, whose sort has the runs: takes the rows that the others have sent,
 * to the last, and those kept that are not in runs.  The leader has this number as a
 * participant.  row_sort_perform() comes next.
 */
extern void kept_rows_take(SharedKeptRows *shared, int participant,
						   TupleDesc descriptor, RowSort *sort);

#endif							/* GPUSORT_KEPT_ROWS_H */
