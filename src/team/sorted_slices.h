/*-------------------------------------------------------------------------
 *
 * sorted_slices.h
 *	  Slices of the order of rows in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORTED_SLICES_H
#define GPUSORT_SORTED_SLICES_H

#include "port/atomics.h"

#include "sort/row_compare.h"
#include "sort_progress.h"
#include "team/shared_order.h"

/* The state that all participants share. */
typedef struct SharedSlices
{
	/* set by the participant that has the order */
	SharedOrder order;
	uint64		slice_rows;		/* nominal rows of a slice */

	pg_atomic_uint64 next;		/* nominal beginning of the next slice */

	/* for EXPLAIN */
	pg_atomic_uint64 nslices;	/* slices that were taken and not empty */
	pg_atomic_uint32 nparticipants; /* participants that took slices with rows */
	pg_atomic_uint64 most_rows; /* most rows that one participant took */
} SharedSlices;

extern void shared_slices_init(SharedSlices *shared);

/* The nominal rows of a slice, if participants emit as many rows each. */
extern uint64 shared_slices_even(uint64 nrows, int nparticipants);

/*
 * Copies an order to shared memory, for slices of slice_rows rows; all of its rows
 * are those of the collector.  False if there is no memory, or if order and rows
 * would take more than "limit" bytes.
 */
extern bool shared_slices_share(SharedSlices *shared, RowOrder *order,
								const RowCollector *collector,
								uint64 slice_rows, Size limit);

/*
 * Without a reader: takes the slice that begins here, unless it has been taken.
 */
extern bool shared_slices_take(SharedSlices *shared, uint64 begin);

/* The same of all slices that have not been taken; returns where these begin.  Once. */
extern uint64 shared_slices_take_rest(SharedSlices *shared);

/* A participant, which takes slices. */
typedef struct SliceReader SliceReader;

/*
 * Begins to take slices.  A slice ends where the rows of a group do: rows that
 * compare as equal by "groups", or anywhere if that is NULL.  Maps the rows into
 * "segments".  NULL if the rows are gone, since all other participants have ended, and so
 * have emitted all slices.  The progress, which has to stay, or is NULL, gets the rows
 * that are emitted.  Allocates in the current memory context.
 */
extern SliceReader *slice_reader_begin(SharedSlices *shared,
									   RowSegments *segments,
									   const RowComparator *groups,
									   SortProgress *progress);

/*
 * The next row, a minimal tuple, valid until the segments end; NULL if no slice
 * is left.
 */
extern void *slice_reader_next(SliceReader *reader);

/*
 * Takes the next slice, before its first row; false if none is left.  Sets its number
 * among those without groups, and the number of its rows.
 */
extern bool slice_reader_take(SliceReader *reader, uint64 *slice,
							  uint64 *nrows);

/* The number of rows of all slices that the reader has taken. */
extern uint64 slice_reader_rows(const SliceReader *reader);

extern void slice_reader_end(SliceReader *reader);

#endif							/* GPUSORT_SORTED_SLICES_H */
