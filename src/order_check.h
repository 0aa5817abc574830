/*-------------------------------------------------------------------------
 *
 * order_check.h
 *	  Checking the rows of an index as they are taken in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ORDER_CHECK_H
#define GPUSORT_ORDER_CHECK_H

#include "utils/rel.h"

#include "index_rows.h"
#include "ordered_rows.h"

typedef struct OrderCheck OrderCheck;

/* Allocates in the current memory context. */
extern OrderCheck *order_check_begin(Relation heap, Relation index,
									 const IndexRows *rows, bool unique,
									 bool nulls_not_distinct);

/*
 * Returns the first of these rows, which are those from the position on, that
 * has the key of a row ahead of it, if the index is unique; NULL if there is
 * none.  Raises an error if they are out of order and gpusort.verify is on.
 */
extern const IndexRow *order_check_rows(OrderCheck *check,
								   const OrderedRows *rows, uint64 position,
								   const IndexRow *const *found, uint32 nrows);

/* Raises core's error for such a row. */
extern void order_check_report_duplicate(const OrderCheck *check,
										 const IndexRow *row);

#endif							/* GPUSORT_ORDER_CHECK_H */
