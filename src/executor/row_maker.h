/*-------------------------------------------------------------------------
 *
 * row_maker.h
 *	  Rows made of some columns of other rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_MAKER_H
#define GPUSORT_ROW_MAKER_H

#include "executor/parallel_sort.h"

/*
 * Returns a maker of rows that have these columns of a node's child, and sets
 * their descriptor.  The rows come in a virtual slot.  "cast" casts the column
 * at the place "cast_place" of the list, counted from 0, unless it is
 * InvalidOid.
 */
extern RowMaker *row_maker_create(CustomScanState *node, const List *columns,
								  Oid cast, int cast_place,
								  TupleDesc *descriptor);

#endif							/* GPUSORT_ROW_MAKER_H */
