/*-------------------------------------------------------------------------
 *
 * shared_rows.h
 *	  Rows that parallel workers hand over to their leader.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_ROWS_H
#define GPUSORT_SHARED_ROWS_H

#include "executor/tuptable.h"

#include "sort/row_batch.h"

/* What leader and workers share, in the memory of the parallel context. */
typedef struct SharedRows SharedRows;

extern Size shared_rows_size(int nworkers);

/*
 * Begins, or begins anew when all workers have ended.  The workers' rows may
 * take so many bytes; with 0 they keep them.
 */
extern void shared_rows_init(SharedRows *shared, int nworkers, Size limit);

/*
 * ---- a worker
 */

typedef struct RowDeposit RowDeposit;

/* Do the workers keep their rows? */
extern bool shared_rows_kept(const SharedRows *shared);

/*
 * Takes part, before it takes any row from where all participants have them.
 * NULL if that is too late: the others have had all.  Keys are made of the
 * columns, unless they cannot be made by several processes.  Allocates in the
 * current memory context.
 */
extern RowDeposit *row_deposit_begin(SharedRows *shared, int worker,
									 TupleDesc descriptor,
									 SortColumn *columns, int ncolumns);

/* False if the row cannot be had there, and neither can later ones. */
extern bool row_deposit_put(RowDeposit *deposit, TupleTableSlot *slot);

/* After the last row; so many were not handed over. */
extern void row_deposit_finish(RowDeposit *deposit, uint64 nkept);

/* Waits until the leader has all of them. */
extern void row_deposit_end(RowDeposit *deposit);

/*
 * ---- the leader
 */

typedef struct RowCollector RowCollector;

/* Allocates in the current memory context. */
extern RowCollector *row_collector_begin(SharedRows *shared);

/*
 * The next batch, and where its places are counted from; NULL if there is none
 * at the moment.  A batch is valid until the next call, its rows to the end.
 */
extern const RowBatch *row_collector_next(RowCollector *collector,
										  char **base);

/*
 * When the leader has had all rows of its own: waits for another batch.  False
 * if there will be none.
 */
extern bool row_collector_wait(RowCollector *collector);

/* Lets the workers keep what they have not handed over yet. */
extern void row_collector_refuse(RowCollector *collector);

/* How many workers have handed over rows, and how many rows those kept. */
extern int	row_collector_workers(const RowCollector *collector);
extern uint64 row_collector_kept(const RowCollector *collector);

/* Gives the rows up. */
extern void row_collector_end(RowCollector *collector);

#endif							/* GPUSORT_SHARED_ROWS_H */
