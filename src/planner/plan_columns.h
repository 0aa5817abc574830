/*-------------------------------------------------------------------------
 *
 * plan_columns.h
 *	  The columns of the rows that a GpuSort takes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PLAN_COLUMNS_H
#define GPUSORT_PLAN_COLUMNS_H

#include "nodes/plannodes.h"

/*
 * For ORDER BY x COLLATE y the child of a Sort emits x twice, the second time for
 * the order alone.  Removes such copies from the end of the child's rows, and has
 * the Sort sort by their originals.  Returns an array: for each column of the
 * unchanged rows, the number of the column that has its value now.
 */
extern AttrNumber *drop_copies(Sort *sort);

/*
 * The executor removes columns that only a sort needs from the rows of a plan,
 * which takes forming each row anew.  So at the top of a plan a GpuSort leaves out
 * the copies that it would add.
 */
extern void drop_unused_copies(Plan *plan);

/*
 * Has a GpuSort or GpuSortGroups below window functions take the rows of a table with
 * their columns in the table's order, if it takes all of the columns in another order.
 */
extern void keep_table_order(WindowAgg *window, const List *range_table);

#endif							/* GPUSORT_PLAN_COLUMNS_H */
