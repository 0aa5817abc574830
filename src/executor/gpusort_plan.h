/*-------------------------------------------------------------------------
 *
 * gpusort_plan.h
 *	  What the plan of a GpuSort says: the columns of the Sort in whose place it stands.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GPUSORT_PLAN_H
#define GPUSORT_GPUSORT_PLAN_H

#include "nodes/plannodes.h"

#include "cost/sort_cost.h"
#include "executor/node_limit.h"

/*
 * Gives a node that emits the first columns of its child, as they are, this target
 * list and this child.  In a finished plan refer_to_child() has to be called for it,
 * which has it refer to the child's columns as other nodes do.
 */
extern void emit_child(CustomScan *scan, List *target_list, Plan *child);
extern void refer_to_child(CustomScan *scan);

/* Has each column of a target list refer to that of the same number. */
extern void refer_to_columns(List *target_list, int varno);

/* What the plan of a node says of its sort. */
typedef struct PlannedSort
{
	int			ncolumns;
	SortColumn *columns;
	PlannedGroupLimit limit;	/* without group columns there is none */
} PlannedSort;

/* The sort that core's Sort node does. */
extern PlannedSort planned_sort_of(const Sort *sort);

/*
 * What stands first in the custom_private of a GpuSort, a GpuSortGroups and a
 * GpuSortAggregate, and what is read there.  The count of a limit is the first of the
 * node's expressions.  The last function puts another one in its place.
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
 * The Sort in whose place a GpuSort stands, for a GpuSort whose child has all of its
 * columns.  It shares what it can with the GpuSort.
 */
extern bool gpusort_has_all_columns(const CustomScan *scan);
extern Sort *gpusort_core_sort(const CustomScan *scan);

/*
 * Lets a node that sorts, and has no expressions yet, leave out rows that are not among
 * the first of their group.
 */
extern void gpusort_limit_groups(CustomScan *scan,
								 const PlannedGroupLimit *limit);

/* The size of a GpuSort's input, in a plan with this range table. */
extern SortSize gpusort_size(const CustomScan *scan, const List *range_table);

#endif							/* GPUSORT_GPUSORT_PLAN_H */
