/*-------------------------------------------------------------------------
 *
 * shared_rows.h
 *	  Rows that parallel workers send to their leader.
 *
 * The leader is the process that collects the rows.  The leader may send rows, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_ROWS_H
#define GPUSORT_SHARED_ROWS_H

#include "executor/tuptable.h"
#include "storage/dsm.h"

#include "sort/row_batch.h"
#include "sort_progress.h"

/* The state that leader and workers share, in the parallel context. */
typedef struct SharedRows SharedRows;

extern Size shared_rows_size(int nworkers);

/*
 * Initializes the state, or resets it when all workers have ended.  The workers
 * may send "limit" bytes of rows; with 0 they keep their rows.
 */
extern void shared_rows_init(SharedRows *shared, int nworkers, Size limit);

/*
 * Elects the leader of processes that are all alike: true for the first caller only.
 * To be called before row_deposit_begin().
 */
extern bool shared_rows_elect(SharedRows *shared);

/*
 * ---- the segments of the rows, in any process
 */

/* The segments of all workers that a process has mapped. */
typedef struct RowSegments
{
	SharedRows *shared;
	dsm_segment **mapped;		/* MAX_SEGMENTS places for each worker */
	char	  **addresses;		/* addresses of the mapped segments */
} RowSegments;

/* Allocates in the current memory context. */
extern RowSegments *row_segments_begin(SharedRows *shared);

/*
 * Maps the segments of all workers, after the last row was sent.  False if some
 * are gone, because all processes that had mapped them have ended.
 */
extern bool row_segments_map(RowSegments *segments);

/* The address of a row, by its place, when all segments are mapped. */
static inline void *
row_segments_row(const RowSegments *segments, uint64 place)
{
	return segments->addresses[place >> 32] + (uint32) place;
}

/* Unmaps the segments, and frees what row_segments_begin() made. */
extern void row_segments_end(RowSegments *segments);

/*
 * ---- a worker
 */

typedef struct RowDeposit RowDeposit;

/*
 * Begins the sending of a worker's rows, before the worker has taken a row of the
 * shared scan.  NULL if the leader waits for no more workers, since the others have
 * had all rows.  The worker makes the keys, unless only one process can make them.
 * The worker's segments are added to "segments".  The progress, which has to stay, or
 * is NULL, gets the rows that are sent.  Allocates in the current memory context.
 */
extern RowDeposit *row_deposit_begin(SharedRows *shared,
									 RowSegments *segments, int worker,
									 TupleDesc descriptor,
									 const SortColumn *columns, int ncolumns,
									 SortProgress *progress);

/* Sends a row; false if the worker has to keep this and all later rows. */
extern bool row_deposit_put(RowDeposit *deposit, TupleTableSlot *slot);

/* Ends the sending, after the last row; the worker has kept nkept rows. */
extern void row_deposit_finish(RowDeposit *deposit, uint64 nkept);

/*
 * Waits until the leader has all rows that were sent, and so has mapped their
 * segments; ends the deposit.
 */
extern void row_deposit_end(RowDeposit *deposit);

/*
 * ---- the leader
 */

typedef struct RowCollector RowCollector;

/*
 * Begins to collect rows, whose segments are mapped into "segments".  Allocates in the
 * current memory context.
 */
extern RowCollector *row_collector_begin(SharedRows *shared,
										 RowSegments *segments);

/*
 * The next batch, with *base set to the address of its segment; NULL if there is
 * none at the moment.  A batch is valid until the next call, its rows until the
 * segments end.
 */
extern const RowBatch *row_collector_next(RowCollector *collector,
										  char **base);

/*
 * Waits for another batch, when the leader has had all of its own rows.  False if
 * no batch will come.
 */
extern bool row_collector_wait(RowCollector *collector);

/* The layout of the keys of all batches. */
extern SharedLayout *row_collector_layout(RowCollector *collector);

/* Takes no more rows: from now on workers keep theirs. */
extern void row_collector_refuse(RowCollector *collector);

/* Workers, without the last number, that have had rows; and rows that were kept. */
extern int	row_collector_workers(const RowCollector *collector);
extern uint64 row_collector_kept(const RowCollector *collector);

/*
 * Writes the place of each row of the store to "places", by the number of the row.
 * The store has the rows of all batches, and no others.
 */
extern void row_collector_places(const RowCollector *collector,
								 const RowStore *store, uint64 *places);

/* Frees the collector. */
extern void row_collector_end(RowCollector *collector);

#endif							/* GPUSORT_SHARED_ROWS_H */
