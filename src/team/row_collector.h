/*-------------------------------------------------------------------------
 *
 * row_collector.h
 *	  Collecting the rows that the processes of a team put into shared
 *	  memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_COLLECTOR_H
#define GPUSORT_ROW_COLLECTOR_H

#include "sort/row_store.h"
#include "team/shared_rows.h"

/* The collector: the process that takes the rows of all. */
typedef struct RowCollector RowCollector;

/*
 * Begins to collect rows, and maps their segments into "segments".  Allocates
 * in the current memory context.
 */
extern RowCollector *row_collector_begin(SharedRows *shared,
										 RowSegments *segments);

/*
 * Returns the next batch, and sets *base to the address of the segment of its
 * rows; NULL if there is no batch at the moment.  The batch is valid until the
 * next call, its rows until the segments end.
 */
extern const RowBatch *row_collector_next(RowCollector *collector,
										  char **base);

/*
 * Waits for another batch, when the collector has put all of its own rows.
 * Returns false if no batch will come.
 */
extern bool row_collector_wait(RowCollector *collector);

/* Returns the layout of the keys of all batches. */
extern SharedLayout *row_collector_layout(RowCollector *collector);

/* Takes no more rows: from now on each process keeps its rows. */
extern void row_collector_refuse(RowCollector *collector);

/*
 * The first function returns the number of workers that have had rows; the
 * process with the last number is no worker.  The second returns the number of
 * rows that processes have kept.
 */
extern int	row_collector_workers(const RowCollector *collector);
extern uint64 row_collector_kept(const RowCollector *collector);

/*
 * Returns where the rows of each batch so far lie, in the sequence in which
 * they were taken.
 */
extern const RowSequences *row_collector_sequences(const RowCollector *collector);

#endif							/* GPUSORT_ROW_COLLECTOR_H */
