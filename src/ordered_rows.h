/*-------------------------------------------------------------------------
 *
 * ordered_rows.h
 *	  The rows of an index in their order, wherever they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ORDERED_ROWS_H
#define GPUSORT_ORDERED_ROWS_H

#include "access/itup.h"

typedef struct OrderedRows
{
	uint64		nrows;

	/*
	 * Finds the rows from this position of the order on, without looking at
	 * them.  Those of a merge are found only while they are held.
	 */
	void		(*find) (const struct OrderedRows *rows, uint64 position,
						 uint32 nrows, IndexTuple *tuples);
} OrderedRows;

/* For how many rows further on finders fetch into the cache what they need. */
#define PREFETCH_PLACES		32

static inline IndexTuple
ordered_row(const OrderedRows *rows, uint64 position)
{
	IndexTuple	tuple;

	rows->find(rows, position, 1, &tuple);
	return tuple;
}

#endif							/* GPUSORT_ORDERED_ROWS_H */
