/*-------------------------------------------------------------------------
 *
 * group_starts.h
 *	  Where groups begin in an order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_STARTS_H
#define GPUSORT_GROUP_STARTS_H

#include "fmgr.h"

#include "sort/row_order.h"

/* The most sort columns in which neighbours are told apart. */
#define MOST_START_COLUMNS	100

/* The difference of a row that has no row before it. */
#define NO_ROW_BEFORE	(-1)

/* The rows are equal in the first columns, and have not been compared further. */
#define UNKNOWN_FROM(column)	(NO_ROW_BEFORE - 1 - (column))

/*
 * For each row of an order, the first sort column in which it differs from the
 * row before.  Groups by the first n columns begin where this is less than n.
 */
typedef struct GroupStarts
{
	RowOrder   *order;
	int			ncolumns;		/* first sort columns that are looked at */
	FmgrInfo   *equal;			/* equality of each of these columns, owned by
								 * the caller */
	int8	   *differences;	/* of each entry: a column, ncolumns if none
								 * of these differs, NO_ROW_BEFORE, or
								 * UNKNOWN_FROM() */
	MemoryContext value_context;	/* memory for one comparison at a time */
} GroupStarts;

/*
 * Finds where groups begin, as far as keys tell, after row_order_make() and
 * any limit of groups.  If the beginnings of keys were kept for that
 * (row_order_keep_starts()), they are freed.  There has to be a row.
 * Allocates in the current memory context: a byte for each row.
 */
extern GroupStarts *group_starts_find(RowOrder *order, int ncolumns,
									  FmgrInfo *equal);

/* Compares the rows where keys do not tell; returns the difference. */
extern int	group_starts_compare(GroupStarts *starts, uint64 entry);

/* The difference of an entry: a column, ncolumns, or NO_ROW_BEFORE. */
static inline int
group_starts_difference(GroupStarts *starts, uint64 entry)
{
	int			difference = starts->differences[entry];

	return likely(difference >= NO_ROW_BEFORE) ? difference :
		group_starts_compare(starts, entry);
}

/*
 * Are two values, not NULL, equal?  Values of the same bytes are, without a
 * call of the function.
 */
extern bool group_values_equal(FmgrInfo *equal, Oid collation,
							   const FormData_pg_attribute *column,
							   Datum a, Datum b);

/*
 * Do two rows of an order have equal values of a sort column, or NULL in both?
 * "equal" has the equality of each sort column.
 */
extern bool group_columns_equal(const RowOrder *order, FmgrInfo *equal,
								int column, const void *a, const void *b);

#endif							/* GPUSORT_GROUP_STARTS_H */
