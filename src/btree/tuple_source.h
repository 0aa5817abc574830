/*-------------------------------------------------------------------------
 *
 * tuple_source.h
 *	  The rows of an index in their order: in a store, shared memory or a merge.
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
	 * Sets "found" to the addresses of nrows rows from this position of the
	 * order on, without reading the rows.  Rows of a merge are found only
	 * while they are in its window (merged_rows.h).
	 */
	void		(*find) (const struct TupleSource *rows, uint64 position,
						 uint32 nrows, const IndexRow **found);
} TupleSource;

/* How many rows ahead implementations of find() prefetch places. */
#define PREFETCH_PLACES		32

static inline const IndexRow *
tuple_source_row(const TupleSource *rows, uint64 position)
{
	const IndexRow *row;

	rows->find(rows, position, 1, &row);
	return row;
}

#endif							/* GPUSORT_TUPLE_SOURCE_H */
