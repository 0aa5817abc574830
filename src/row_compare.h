/*-------------------------------------------------------------------------
 *
 * row_compare.h
 *	  Comparing rows by their types' own comparators.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_COMPARE_H
#define GPUSORT_ROW_COMPARE_H

#include "utils/sortsupport.h"

#include "row_store.h"
#include "sort_keys.h"

typedef struct RowComparator
{
	TupleDesc	descriptor;
	int			ncolumns;
	SortSupport columns;
} RowComparator;

/* Allocates in the current memory context. */
extern RowComparator *row_comparator_create(TupleDesc descriptor,
											const SortColumn *columns,
											int ncolumns);

/* Less than, equal to or greater than zero, as "a" sorts against "b". */
extern int	row_compare(const RowComparator *comparator,
						MinimalTuple a, MinimalTuple b);

/*
 * Sorts the rows of every run of entries with equal keys, and removes the
 * marks of ties from the order.
 */
extern void row_settle_ties(const RowComparator *comparator,
							const RowStore *store,
							uint32 *order, uint64 nrows);

/* Removes the marks of ties from the order; where equal keys mean equal rows. */
extern void row_accept_ties(uint32 *order, uint64 nrows);

#endif							/* GPUSORT_ROW_COMPARE_H */
