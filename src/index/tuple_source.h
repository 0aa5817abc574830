/*-------------------------------------------------------------------------
 *
 * tuple_source.h
 *	  The rows of an index in their order, wherever they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TUPLE_SOURCE_H
#define GPUSORT_TUPLE_SOURCE_H

#include "sort/index_row.h"

typedef struct TupleSource
{
	uint64		nrows;

	/*
	 * Finds the rows from this position of the order on, without looking at
	 * them.  Those of a merge are found only while they are held.
	 */
	void		(*find) (const struct TupleSource *rows, uint64 position,
						 uint32 nrows, const IndexRow **found);
} TupleSource;

/* For how many rows further on finders fetch into the cache what they need. */
#define PREFETCH_PLACES		32

static inline const IndexRow *
tuple_source_row(const TupleSource *rows, uint64 position)
{
	const IndexRow *row;

	rows->find(rows, position, 1, &row);
	return row;
}

#endif							/* GPUSORT_TUPLE_SOURCE_H */
