/*-------------------------------------------------------------------------
 *
 * sorted_slices.h
 *	  Slices of the order of rows in shared memory, as parts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORTED_SLICES_H
#define GPUSORT_SORTED_SLICES_H

#include "sort/row_compare.h"
#include "team/parts.h"
#include "team/shared_order.h"

/* The state that all members share. */
typedef struct SharedSlices
{
	/* set by the collector before its decision */
	SharedOrder order;
	uint64		slice_rows;		/* nominal rows of a slice */
} SharedSlices;

/* Initializes the state, when no process uses it. */
extern void shared_slices_init(SharedSlices *shared);

/* Returns the nominal rows of a slice, if nmembers members emit all slices. */
extern uint64 shared_slices_even(uint64 nrows, int nmembers);

/*
 * Shares the order, and divides it into slices of slice_rows rows.  The order
 * has only rows that the collector has collected.  Returns false if there is no
 * memory, or if rows and order would take more than "limit" bytes.
 */
extern bool shared_slices_share(SharedSlices *shared, SharedParts *parts,
								RowOrder *order,
								const RowCollector *collector,
								uint64 slice_rows, Size limit);

/*
 * Takes this process's share of finding the rows of the slices, while the
 * order is made (shared_order_find_rows()).
 */
extern void shared_slices_find_rows(SharedSlices *shared,
									RowSegments *segments);

/*
 * Makes a maker of slices.  Their rows are minimal tuples, valid until the
 * segments end.  A slice ends where a group does: rows of a group compare as
 * equal by "groups".  If "groups" is NULL, a slice ends anywhere.  Maps the
 * rows into "segments", so it has to be called before this process takes a
 * slice.  Returns NULL if the rows are gone: then all other members have
 * ended, and so have emitted all slices.  Allocates in the current memory
 * context.
 */
extern PartMaker *slice_maker_begin(SharedSlices *shared,
									RowSegments *segments,
									const RowComparator *groups);

#endif							/* GPUSORT_SORTED_SLICES_H */
