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

/* Returns the nominal rows of a slice, if nmembers members emit all slices. */
extern uint64 shared_slices_even(uint64 nrows, int nmembers);

/*
 * Copies the order to shared memory, and divides it into slices of slice_rows
 * rows.  The order has only rows that the collector has collected.  Returns
 * false if there is no memory, or if rows and order would take more than
 * "limit" bytes.
 */
extern bool shared_slices_share(SharedSlices *shared, SharedParts *parts,
								RowOrder *order,
								const RowCollector *collector,
								uint64 slice_rows, Size limit);

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
