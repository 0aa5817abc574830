/*-------------------------------------------------------------------------
 *
 * group_rows.h
 *	  The rows of groups, as a node reads them in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_ROWS_H
#define GPUSORT_GROUP_ROWS_H

#include "executor/tuptable.h"

#include "keys/sort_keys.h"

typedef struct GroupRows GroupRows;

/*
 * Prepares for rows of this descriptor, whose groups have equal values in
 * ncolumns columns.  Then each column, counted from 0, has to be set: its
 * number in the row, and the operator of equality.  Raises an error if the
 * user may not call the operator.  Allocates in the current memory context.
 */
extern GroupRows *group_rows_create(TupleDesc descriptor, int ncolumns);
extern void group_rows_set_column(GroupRows *rows, int column,
								  AttrNumber attno, Oid equality,
								  Oid collation);

/* The same for groups by the first sort columns. */
extern GroupRows *group_rows_of_sort(TupleDesc descriptor,
									 const SortColumn *columns, int ncolumns);

/*
 * The first of the first ncolumns columns in which two rows differ, counted
 * from 0; ncolumns if they are in the same group.
 */
extern int	group_rows_difference(GroupRows *rows, int ncolumns,
								  TupleTableSlot *first, TupleTableSlot *next);

/*
 * Keeps a row in another slot.  Both are slots for minimal tuples.  With
 * "stays" the row stays where it is, and is not copied.
 */
extern void group_rows_keep(const GroupRows *rows, TupleTableSlot *kept,
							TupleTableSlot *row, bool stays);

#endif							/* GPUSORT_GROUP_ROWS_H */
