/*-------------------------------------------------------------------------
 *
 * row_ties.h
 *	  Sorting rows whose keys are equal.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_TIES_H
#define GPUSORT_ROW_TIES_H

#include "sort/row_compare.h"
#include "sort/row_store.h"

/*
 * Sorts the rows of each group of ties, which are entries with equal keys, by
 * the comparators; and removes the marks of ties from the order.  If the keys are doubtful, each group is
 * compared with the group before it.  False if groups are in the wrong order:
 * then the whole order is wrong.
 *
 * At most "room" bytes of memory are taken meanwhile; adds to "memory" how
 * many.
 */
extern bool row_settle_ties(const RowComparator *comparator,
							const RowStore *store, const SortKeys *keys,
							uint32 *order, uint64 nrows, Size room,
							Size *memory);

#endif							/* GPUSORT_ROW_TIES_H */
