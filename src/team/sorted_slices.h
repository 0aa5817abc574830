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

/* What all members share. */
typedef struct SharedSlices
{
	/* set by the collector before it decides */
	SharedOrder order;
	uint64		slice_rows;		/* nominal rows of a slice */
} SharedSlices;

/* The nominal rows of a slice, if nmembers emit as many rows each. */
extern uint64 shared_slices_even(uint64 nrows, int nmembers);

/*
 * Copies an order to shared memory, and divides it into slices of slice_rows rows; all of
 * its rows are those of the collector.  False if there is no memory, or if order and rows
 * would take more than "limit" bytes.
 */
extern bool shared_slices_share(SharedSlices *shared, SharedParts *parts,
								RowOrder *order,
								const RowCollector *collector,
								uint64 slice_rows, Size limit);

/*
 * What makes slices of minimal tuples, each of which is valid until the segments end.  A
 * slice ends where the rows of a group do: rows that compare as equal by "groups", or
 * anywhere if that is NULL.  Maps the rows into "segments", before this process takes a
 * slice.  NULL if the rows are gone, since all other members have ended, and so have
 * emitted all slices.  Allocates in the current memory context.
 */
extern PartMaker *slice_maker_begin(SharedSlices *shared,
									RowSegments *segments,
									const RowComparator *groups);

#endif							/* GPUSORT_SORTED_SLICES_H */
