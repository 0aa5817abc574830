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
 * For ORDER BY x COLLATE y the child of a Sort emits x twice, the second
 * time for the order alone.  Removes these copies from the end of the
 * child's rows, and makes the Sort use their originals.  Returns an array:
 * for each column of the unchanged rows, the number of the column that has
 * its value now.
 */
extern AttrNumber *drop_copies(Sort *sort);

/*
 * The executor removes the columns that only a sort needs from the rows of a
 * plan, for which it forms each row anew.  So a GpuSort at the top of a plan
 * leaves out the copies that it would add.
 */
extern void drop_unused_copies(Plan *plan);

/*
 * If a GpuSort or GpuSortGroups below window functions takes all columns of
 * a table in another order, lets it take the rows in the table's order.
 */
extern void keep_table_order(WindowAgg *window, const List *range_table);

#endif							/* GPUSORT_PLAN_COLUMNS_H */
