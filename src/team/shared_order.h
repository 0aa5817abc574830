/*-------------------------------------------------------------------------
 *
 * shared_order.h
 *	  The order of rows in shared memory, for all processes that sort together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_ORDER_H
#define GPUSORT_SHARED_ORDER_H

#include "sort/row_order.h"
#include "team/row_collector.h"

/* An order that is shared, in the parallel context; all zeros before. */
typedef struct SharedOrder
{
	dsm_handle	segment;		/* segment with the order (OrderHead) */
	uint64		nrows;			/* rows of the order */
	Size		row_bytes;		/* bytes of a row, on average */
} SharedOrder;

/*
 * Copies an order to shared memory, with what it takes to find the rows.  The order has dropped its keys, and has
 * only rows that the collector has collected.  Returns false if there is no
 * memory, or if rows, order and copy would take more than "limit" bytes.
 */
extern bool shared_order_copy(SharedOrder *shared, RowOrder *order,
							  const RowCollector *collector, Size limit);

/*
 * Unmaps the copy in the process that has made it, unless it is unmapped
 * already.  The copy goes if no other process has it mapped.
 */
extern void shared_order_drop(SharedOrder *shared);

/* Returns the bytes that a row takes in shared memory. */
typedef Size (*SharedRowBytes) (const void *row);

/* The beginning of the segment. */
typedef struct OrderHead OrderHead;

/* The rows in their order, in any process. */
typedef struct OrderedRows
{
	const RowSegments *segments;
	dsm_segment *segment;		/* segment of the order; NULL without rows */
	const uint32 *order;		/* numbers of the rows */
	uint64	   *places;			/* places of the rows, by their numbers */
} OrderedRows;

/*
 * Maps the order, and maps the rows into "segments".  Takes its share of
 * finding the rows, and waits until all are found.  Returns false if the rows
 * are gone: then all processes that had mapped them have ended.
 */
extern bool ordered_rows_map(OrderedRows *rows, SharedOrder *shared,
							 RowSegments *segments,
							 SharedRowBytes row_bytes);

/* Unmaps the order, but not the rows. */
extern void ordered_rows_unmap(OrderedRows *rows);

/* Returns the row of this entry of the order. */
static inline void *
ordered_rows_get(const OrderedRows *rows, uint64 entry)
{
	return row_segments_row(rows->segments, rows->places[rows->order[entry]]);
}

/* Prefetches the place of that row, before ordered_rows_get() needs it. */
static inline void
ordered_rows_prefetch_place(const OrderedRows *rows, uint64 entry)
{
	__builtin_prefetch(&rows->places[rows->order[entry]]);
}

#endif							/* GPUSORT_SHARED_ORDER_H */
