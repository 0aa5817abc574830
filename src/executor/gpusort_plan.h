/*-------------------------------------------------------------------------
 *
 * gpusort_plan.h
 *	  What the plan of a GpuSort says: the columns of the Sort that it
 *	  replaces.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GPUSORT_PLAN_H
#define GPUSORT_GPUSORT_PLAN_H

#include "nodes/plannodes.h"

#include "cost/sort_cost.h"
#include "executor/node_limit.h"

/*
 * emit_child() gives this target list and this child to a node that emits the
 * first columns of its child, as they are.  In a finished plan
 * refer_to_child() has to be called for the node: it makes the node refer to
 * the child's columns as other nodes do.
 */
extern void emit_child(CustomScan *scan, List *target_list, Plan *child);
extern void refer_to_child(CustomScan *scan);

/*
 * Begins a node that stands for a node and the sort right below it.  It has the
 * identity, costs, parameters and filter of the node above, the init plans of
 * both, and the child and the expressions of the sort.
 */
extern CustomScan *begin_consumer(const Plan *above, const CustomScan *sort);

/* What a sort emits in a column: a column of its child, or a constant. */
extern Expr *emitted_by_sort(const CustomScan *sort, AttrNumber attno);

/*
 * Makes each column of a target list refer to the column of the same number.
 */
extern void refer_to_columns(List *target_list, int varno);

/* The same for copies of the columns, which it returns. */
extern List *copy_columns(const List *target_list, int varno);

/* What the plan of a node says of its sort. */
typedef struct PlannedSort
{
	int			ncolumns;
	SortColumn *columns;
	PlannedGroupLimit limit;	/* a limit without group columns is none */
} PlannedSort;

/* Returns the sort that core's Sort node does. */
extern PlannedSort planned_sort_of(const Sort *sort);

/* Returns the order in which core's Gather Merge emits rows. */
extern PlannedSort planned_sort_of_merge(const GatherMerge *merge);

/*
 * Lets EXPLAIN not call a node disabled, in the place of which core's node
 * would not be.
 */
extern void count_disabled_child(CustomScan *scan, const Plan *child);

/*
 * Write, read and replace the PlannedSort of a GpuSort, a GpuSortGroups or a
 * GpuSortAggregate, which stands first in the node's custom_private.  The
 * count of a limit is the first of the node's expressions.
 */
extern List *planned_sort_write(const PlannedSort *sort);
extern PlannedSort planned_sort_read(const CustomScan *scan);
extern void planned_sort_change(CustomScan *scan, const PlannedSort *sort);

static inline bool
planned_sort_has_limit(const PlannedSort *sort)
{
	return sort->limit.ngroup_columns > 0;
}

/*
 * Returns the number of the sort column, from 0, that has this column of the
 * sorted rows, and the order of which is of this equality; -1 if there is none.
 */
extern int	planned_sort_find(const PlannedSort *sort, AttrNumber attno,
							  Oid equality, Oid collation);

/*
 * gpusort_core_sort() makes the Sort that a GpuSort has replaced.  It shares
 * what it can with the GpuSort.  The child of the GpuSort has to have all of
 * its columns, which gpusort_has_all_columns() tells.
 */
extern bool gpusort_has_all_columns(const CustomScan *scan);
extern Sort *gpusort_core_sort(const CustomScan *scan);

/*
 * Lets a node that sorts leave out rows that are not among the first of their
 * group.  The node has no expressions yet.
 */
extern void gpusort_limit_groups(CustomScan *scan,
								 const PlannedGroupLimit *limit);

/*
 * The same with a limit of one row of each group, and this limit.  Groups are
 * made by the first sort columns, with these equality operators.
 */
extern PlannedGroupLimit planned_limit_to_one(List *equal);
extern void gpusort_limit_to_one(CustomScan *scan, List *equal);

/* Returns the size of a GpuSort's input, in a plan with this range table. */
extern SortSize gpusort_size(const CustomScan *scan, const List *range_table);

#endif							/* GPUSORT_GPUSORT_PLAN_H */
