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

#include "keys/sort_keys.h"

/* A function that returns the value of a column of a stored row. */
typedef Datum (*RowColumnFunction) (const void *row, AttrNumber attno,
									TupleDesc descriptor, bool *isnull);

/* The RowColumnFunction of minimal tuples. */
extern Datum minimal_tuple_column(const void *row, AttrNumber attno,
								  TupleDesc descriptor, bool *isnull);

/*
 * The RowColumnFunction of rows that are one value, a Datum that is not NULL.
 */
extern Datum single_value_column(const void *row, AttrNumber attno,
								 TupleDesc descriptor, bool *isnull);

typedef struct RowComparator
{
	TupleDesc	descriptor;
	RowColumnFunction column;
	int			ncolumns;
	SortSupport columns;
} RowComparator;

/* Allocates in the current memory context. */
extern RowComparator *row_comparator_create(TupleDesc descriptor,
											RowColumnFunction column,
											const SortColumn *columns,
											int ncolumns);

/*
 * Returns less than zero if "a" sorts before "b", zero if they are equal, and
 * more than zero otherwise.
 */
extern int	row_compare(const RowComparator *comparator,
						const void *a, const void *b);

/* The same if the first "first" columns are known to be equal. */
extern int	row_compare_from(const RowComparator *comparator, int first,
							 const void *a, const void *b);

#endif							/* GPUSORT_ROW_COMPARE_H */
