/*-------------------------------------------------------------------------
 *
 * table_order.h
 *	  What statistics tell of a column: how far rows lie in its order, and how
 *	  its strings begin.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TABLE_ORDER_H
#define GPUSORT_TABLE_ORDER_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* A correlation of rows that are in order but for one in ten thousand. */
#define SORTED_CORRELATION	0.9999

typedef struct TableOrder
{
	Oid			sort_operator;	/* by which the column was found to be */
	Oid			collation;
	double		correlation;	/* from 1, in that order, to -1, in the reverse */
	double		group_rows;		/* to each value of the column */
} TableOrder;

/*
 * The order of the rows that come from a path, or from a node of a plan, by this
 * expression, which may be a column.  False if nothing is known.
 */
extern bool order_of_path(PlannerInfo *root, const Path *path,
						  const Node *expr, TableOrder *order);
extern bool order_of_plan(const Plan *plan, const Node *expr,
						  const List *range_table, TableOrder *order);

/*
 * The correlation with the order by this operator, under this collation; 0 where
 * nothing is known of that.
 */
extern double table_order_correlation(const TableOrder *order,
									  Oid sort_operator, Oid collation);

/* Bytes that all strings of a table's column begin with; 0 where that is unknown. */
extern Size column_common_prefix(Oid table, AttrNumber column);

#endif							/* GPUSORT_TABLE_ORDER_H */
