/*-------------------------------------------------------------------------
 *
 * group_limit.h
 *	  The first rows of each group of an order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_LIMIT_H
#define GPUSORT_GROUP_LIMIT_H

#include "fmgr.h"

#include "sort/row_order.h"

/* What is counted in a group. */
typedef enum GroupLimitUnit
{
	LIMITS_ROWS,				/* rows, as row_number() */
	LIMITS_ROWS_WITH_PEERS,		/* rows and the peers of the last, as rank() */
	LIMITS_PEER_GROUPS			/* groups of peers, as dense_rank() */
} GroupLimitUnit;

/*
 * The number of rows of a group that are wanted.  The rows of a group are
 * equal in the first sort columns, and peers are equal in some more columns.
 */
typedef struct GroupLimit
{
	GroupLimitUnit unit;
	int			ngroup_columns; /* sort columns that make a group, > 0 */
	int			npeer_columns;	/* sort columns that make peers, those of the
								 * group included */
	FmgrInfo   *equal;			/* equality of each of these columns */
	uint64		count;			/* units that are wanted of a group; 0: not
								 * known yet */
	uint64		(*find_count) (void *finder);	/* returns the count, > 0 */
	void	   *finder;			/* argument of find_count */
	bool		counts_early;	/* find_count() may be called before all rows
								 * have come */
} GroupLimit;

/*
 * The first function, called right after row_order_begin(), makes an order
 * keep what tells these groups apart.  The second, called when the order has
 * been made, removes entries that are not wanted; some of these may stay.
 *
 * The count is evaluated when there are rows for the first time: it may raise
 * an error, and without rows core would not evaluate it.
 */
extern void group_limit_prepare(const GroupLimit *limit, RowOrder *order);
extern void group_limit_apply(GroupLimit *limit, RowOrder *order);

/*
 * Returns the count, found at the first use.  Before the last row has come, it
 * must not be asked for unless counts_early is set.
 */
extern uint64 group_limit_count(GroupLimit *limit);

/* The number of wanted NULLs, of nnulls NULLs in the only sort column. */
extern uint64 group_limit_of_nulls(GroupLimit *limit, uint64 nnulls);

#endif							/* GPUSORT_GROUP_LIMIT_H */
