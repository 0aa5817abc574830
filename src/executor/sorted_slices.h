/*-------------------------------------------------------------------------
 *
 * sorted_slices.h
 *	  The order of rows in shared memory, and its slices.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORTED_SLICES_H
#define GPUSORT_SORTED_SLICES_H

#include "port/atomics.h"
#include "storage/dsm.h"

#include "executor/shared_rows.h"
#include "sort/row_compare.h"
#include "sort/row_order.h"
#include "sort_progress.h"

/* The state that all participants share. */
typedef struct SharedSlices
{
	/* set by the participant that has the order */
	dsm_handle	segment;		/* segment of the order, and of the places */
	uint64		nrows;			/* rows of the order */
	uint64		slice_rows;		/* nominal rows of a slice */
	Size		row_bytes;		/* bytes of a row, on average */

	pg_atomic_uint64 next;		/* where the next slice nominally begins */

	/* for EXPLAIN */
	pg_atomic_uint64 nslices;	/* slices that were taken, and have rows */
	pg_atomic_uint32 nparticipants; /* participants that took some */
	pg_atomic_uint64 most_rows; /* most rows that one participant took */
} SharedSlices;

extern void shared_slices_init(SharedSlices *shared);

/*
 * Shares an order of the rows that were collected, and of no others, with so many
 * participants.  False if there is no memory for that, of which order and rows
 * may take "limit" bytes.
 */
extern bool shared_slices_share(SharedSlices *shared, RowOrder *order,
								const RowCollector *collector,
								int nparticipants, Size limit);

/* A participant, which takes slices. */
typedef struct SliceReader SliceReader;

/*
 * Begins to take slices, which are cut where rows differ by this comparator.  Maps
 * the rows into "segments".  NULL if they are gone, since all others have ended:
 * then there are no slices left that anybody wants.  The progress, which has to
 * stay, gets the rows of slices that have been emitted.  Allocates in the current
 * memory context.
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

/* The rows of the slices that it has taken. */
extern uint64 slice_reader_rows(const SliceReader *reader);

extern void slice_reader_end(SliceReader *reader);

#endif							/* GPUSORT_SORTED_SLICES_H */
