/*-------------------------------------------------------------------------
 *
 * row_collector.h
 *	  Collecting the rows that processes put which sort together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_COLLECTOR_H
#define GPUSORT_ROW_COLLECTOR_H

#include "sort/row_store.h"
#include "team/shared_rows.h"

/* The process that takes the rows of all. */
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
 * Waits for another batch, when the collector has put all of its own rows.  False if
 * no batch will come.
 */
extern bool row_collector_wait(RowCollector *collector);

/* The layout of the keys of all batches. */
extern SharedLayout *row_collector_layout(RowCollector *collector);

/* Takes no more rows: from now on the processes keep theirs. */
extern void row_collector_refuse(RowCollector *collector);

/* Processes, without the last number, that have had rows; and rows that were kept. */
extern int	row_collector_workers(const RowCollector *collector);
extern uint64 row_collector_kept(const RowCollector *collector);

/*
 * Writes the place of each row of the store to "places", by the number of the row.
 * The store has the rows of all batches, and no others.
 */
extern void row_collector_places(const RowCollector *collector,
								 const RowStore *store, uint64 *places);

#endif							/* GPUSORT_ROW_COLLECTOR_H */
