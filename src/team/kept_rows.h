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

#include "spill/external_sort.h"

/*
 * The state that processes share which keep rows, in the parallel context.  The kept
 * rows are in files that go with the context.
 */
typedef struct SharedKeptRows SharedKeptRows;

extern Size shared_kept_rows_size(void);

/*
 * Initializes the state in the leader, before workers are launched; and resets it
 * when all workers have ended, and no file is open.  A participant may take "limit"
 * bytes of memory for the rows that it keeps.
 */
extern void shared_kept_rows_init(SharedKeptRows *shared,
								  ParallelContext *context, Size limit);
extern void shared_kept_rows_reset(SharedKeptRows *shared, Size limit);

/* Attaches to the files, in a worker. */
extern void shared_kept_rows_attach(SharedKeptRows *shared);

/* The runs of kept rows; and, after the last row, is each of them in order? */
extern SharedRuns *shared_kept_rows_runs(SharedKeptRows *shared);
extern bool shared_kept_rows_have_keys(SharedKeptRows *shared);

/* The rows that a participant keeps.  They take no memory before the first row. */
typedef struct KeptRows
{
	SharedKeptRows *shared;
	TupleDesc	descriptor;
	const SortColumn *columns;
	int			ncolumns;
	double		expected_rows;	/* estimate */
	double		bound;			/* first rows that are wanted, or NO_BOUND */
	GroupLimit *limit;			/* limit of each group's rows, or NULL */
	MemoryContext parent;
	MemoryContext context;		/* owns everything below; NULL: there is
								 * nothing */
	ExternalSort sort;			/* writes runs, as long as rows have keys */
	RunTape    *unsorted;		/* run in no order, which takes all further
								 * rows, or NULL */
	uint64		nunsorted;		/* rows of it */
	uint64		nrows;
} KeptRows;

/* Prepares to keep rows, in the current memory context. */
extern void kept_rows_init(KeptRows *kept, SharedKeptRows *shared,
						   TupleDesc descriptor, const SortColumn *columns,
						   int ncolumns, double expected_rows, double bound,
						   GroupLimit *limit);

/* Keeps a row. */
extern void kept_rows_put(KeptRows *kept, TupleTableSlot *slot);

/*
 * Writes the rows that are still in memory, after the last row, and frees the memory.
 * When the leader knows of the last row kept_rows_merge() has to follow, which waits for
 * the leader's decision if this process has runs, and helps if the leader wants that.
 * True if the leader wants help while it emits rows: kept_rows_send_parts() is to follow
 * then.
 */
extern void kept_rows_end(KeptRows *kept);
extern bool kept_rows_merge(KeptRows *kept);
extern void kept_rows_send_parts(KeptRows *kept);

#endif							/* GPUSORT_KEPT_ROWS_H */
