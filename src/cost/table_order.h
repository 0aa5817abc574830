/*-------------------------------------------------------------------------
 *
 * table_order.h
 *	  What statistics tell of a column: the order of the table's rows by the
 *	  column, and its values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TABLE_ORDER_H
#define GPUSORT_TABLE_ORDER_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* The correlation where one row in ten thousand is out of order. */
#define SORTED_CORRELATION	0.9999

typedef struct TableOrder
{
	Oid			sort_operator;	/* order that the correlation is about */
	Oid			collation;
	double		correlation;	/* 1 in that order, -1 in the reverse */
	double		group_rows;		/* rows of one value of the column, on average */
} TableOrder;

/*
 * Sets *order for the rows that come from a path, or from a node of a plan, by
 * this expression or column.  False if nothing is known.
 */
extern bool order_of_path(PlannerInfo *root, const Path *path,
						  const Node *expr, TableOrder *order);
extern bool order_of_plan(const Plan *plan, const Node *expr,
						  const List *range_table, TableOrder *order);

typedef struct ColumnValues
{
	double		different;		/* different values; 0 if that is not known */
	double		null_part;		/* fraction of the rows that have NULL */
} ColumnValues;

/* The values of this expression or column in the rows of a scan. */
extern ColumnValues values_of_path(PlannerInfo *root, const Path *path,
								   const Node *expr);
extern ColumnValues values_of_plan(const Plan *plan, const Node *expr,
								   const List *range_table);

/*
 * The correlation with the order by this operator and collation; 0 if it is not
 * known.
 */
extern double table_order_correlation(const TableOrder *order,
									  Oid sort_operator, Oid collation);

#endif							/* GPUSORT_TABLE_ORDER_H */
