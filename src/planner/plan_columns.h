/*-------------------------------------------------------------------------
 *
 * plan_columns.h
 *	  Which columns the rows have that a GpuSort takes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PLAN_COLUMNS_H
#define GPUSORT_PLAN_COLUMNS_H

#include "nodes/plannodes.h"

/*
 * ORDER BY x COLLATE y has the child of a Sort hand on x twice, the second
 * time for the order alone.  Takes such columns off the end of the child's
 * rows, and has the Sort sort by the others.  Returns for each column the
 * number of the one that has its value.
 */
extern List *drop_copies(Sort *sort);

/*
 * At the top of a plan, columns that only a sort has needed are taken off by
 * the executor, which looks at all columns of each row for that.  Those that a
 * GpuSort there adds, since they are copies, need not be there at all.
 */
extern void drop_unused_copies(Plan *plan);

/*
 * If a GpuSort below window functions takes all columns of a table in another
 * order than the table's, it takes them in the table's from now on.
 */
extern void keep_table_order(WindowAgg *window, const List *range_table);

#endif							/* GPUSORT_PLAN_COLUMNS_H */
