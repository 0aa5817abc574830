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
 * Raises core's error if one of these rows, which are those from the position
 * on, has the key of a row ahead of it and the index is unique; or one of ours
 * if they are out of order and gpusort.verify is on.
 */
extern void order_check_rows(const OrderCheck *check, const OrderedRows *rows,
							 uint64 position, const IndexTuple *tuples,
							 uint32 ntuples);

#endif							/* GPUSORT_ORDER_CHECK_H */
