/*-------------------------------------------------------------------------
 *
 * value_order.h
 *	  Values in one order, and the aggregates that follow from it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_VALUE_ORDER_H
#define GPUSORT_VALUE_ORDER_H

#include "executor/parallel_sort.h"
#include "executor/value_aggregates.h"
#include "executor/value_buffer.h"

/*
 * Values in one order.  A node with several orders sorts its rows once for
 * each.
 */
typedef struct ValueOrder
{
	/* set by the node */
	ParallelSort *sort;			/* the node's sort, of the first order */
	SortBeside *beside;			/* sort of this order; NULL: it is the first */
	TupleTableSlot *row;		/* present row, in a slot for minimal tuples */
	AttrNumber	column;			/* column of the values in it */
	int16		length;			/* length of a value, as in pg_type */
	bool		by_value;
	FmgrInfo	equal;			/* equality of values */
	Oid			collation;
	ValueAggregates aggregates;
	ValueBuffer *values;		/* values of the present group; NULL if there
								 * are no groups, or if values are only
								 * counted */

	/* of the present group, or of all rows */
	ValueCounts counts;
	Datum		last;			/* copy of the last value, if different values
								 * are counted */
} ValueOrder;

/* Stores the next row in its slot; false if there is none. */
static inline bool
value_order_next(ValueOrder *order)
{
	return order->beside == NULL ? parallel_sort_next(order->sort) :
		row_sort_get(order->beside->sort, true, order->row);
}

/*
 * Finds what the aggregates need in the values of all rows that this process
 * has.  Returns false if another process emits the result.
 */
extern bool value_order_take_all(ValueOrder *order);

/*
 * Begin a group, take the value of the present row, and look up what the
 * aggregates need when the group is complete.  "memory" is memory of the group,
 * in which value_order_complete() has to be called.
 */
extern void value_order_begin(ValueOrder *order);
extern void value_order_take(ValueOrder *order, MemoryContext memory);
extern void value_order_complete(ValueOrder *order);

#endif							/* GPUSORT_VALUE_ORDER_H */
