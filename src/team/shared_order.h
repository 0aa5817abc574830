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
#include "team/leader_decision.h"
#include "team/row_collector.h"

/* An order that is shared, in the parallel context. */
typedef struct SharedOrder
{
	pg_atomic_uint32 has_room;	/* true: the segment is there, and processes
								 * can find the rows */
	dsm_handle	segment;		/* segment with the order (OrderHead) */
	uint64		nrows;			/* rows of the order */
	bool		has_ties;		/* as that of the RowOrder */
	Size		row_bytes;		/* bytes of a row, on average */
} SharedOrder;

/* Initializes the state, when no process uses it. */
extern void shared_order_init(SharedOrder *shared);

/* Room in shared memory for an order that is to be made, in the leader. */
typedef struct SharedOrderRoom
{
	OrderRoom	room;
	SharedOrder *shared;
	const RowCollector *collector;
	const RowOrder *order;
	LeaderDecision *decision;
	Size		limit;
} SharedOrderRoom;

/*
 * Lets the order of all rows that the collector has collected be made in shared
 * memory, unless rows and order would take more than "limit" bytes.  Others,
 * which await the decision, find the rows meanwhile.  The room must stay.
 */
extern void shared_order_expect(SharedOrderRoom *room, SharedOrder *shared,
								RowOrder *order,
								const RowCollector *collector,
								LeaderDecision *decision, Size limit);

/*
 * Shares an order.  Unless its entries are in the room already, makes room,
 * and copies them.  The order has dropped its keys, and has only rows that the
 * collector has collected.  Returns false if there is no memory, or if rows,
 * order and copy would take more than "limit" bytes.
 */
extern bool shared_order_set(SharedOrder *shared, RowOrder *order,
							 const RowCollector *collector, Size limit);

/*
 * Unmaps the room in a process that has made it, or has found rows.  It goes
 * if no other process has it mapped.
 */
extern void shared_order_drop(SharedOrder *shared);

/* Returns the bytes that a row takes in shared memory. */
typedef Size (*SharedRowBytes) (const void *row);

/*
 * Takes this process's share of finding the rows, when there is room, and
 * before there is an order.  Maps the rows into "segments".  The room stays
 * mapped until shared_order_drop().
 */
extern void shared_order_find_rows(SharedOrder *shared, RowSegments *segments,
								   SharedRowBytes row_bytes);

/* The beginning of the segment. */
typedef struct OrderHead OrderHead;

/* The rows in their order, in any process. */
typedef struct OrderedRows
{
	const RowSegments *segments;
	dsm_segment *segment;		/* segment of the order, if it was not mapped
								 * before; otherwise NULL */
	const uint32 *order;		/* numbers of the rows, with marks */
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

/* Unmaps the order, unless it was mapped before, but not the rows. */
extern void ordered_rows_unmap(OrderedRows *rows);

/* Returns the row of this entry of the order. */
static inline void *
ordered_rows_get(const OrderedRows *rows, uint64 entry)
{
	return row_segments_row(rows->segments,
							rows->places[ORDER_ROW(rows->order[entry])]);
}

/* If the order has ties: is the row of this entry equal to the one before it? */
static inline bool
ordered_rows_is_tie(const OrderedRows *rows, uint64 entry)
{
	return (rows->order[entry] & ORDER_TIE) != 0;
}

/* Prefetches the place of that row, before ordered_rows_get() needs it. */
static inline void
ordered_rows_prefetch_place(const OrderedRows *rows, uint64 entry)
{
	__builtin_prefetch(&rows->places[ORDER_ROW(rows->order[entry])]);
}

#endif							/* GPUSORT_SHARED_ORDER_H */
