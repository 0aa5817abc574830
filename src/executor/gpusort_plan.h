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

/*
 * The custom_private of a GpuSort in the place of this Sort; that of a
 * GpuSortGroups begins with it.
 */
extern List *gpusort_scan_private(const Sort *sort);

/* The same for a GpuSort, whose keys are made of the first columns alone. */
extern List *gpusort_scan_private_of_keys(const Sort *sort,
										  int nkey_columns);

/*
 * The Sort in whose place a GpuSort stands, for a GpuSort whose child has all of its
 * columns.  It shares what it can with the GpuSort.
 */
extern bool gpusort_has_all_columns(const CustomScan *scan);
extern Sort *gpusort_core_sort(const CustomScan *scan);

/* The numbers of the columns by which a GpuSort sorts. */
extern List *gpusort_sort_columns(const CustomScan *scan);

/*
 * Lets a GpuSort leave out rows that are not among the first of their group.  The
 * second function returns the limit that the plan has; NIL if it has none.
 */
extern void gpusort_limit_groups(CustomScan *scan,
								 const PlannedGroupLimit *limit);
extern List *gpusort_planned_limit(const CustomScan *scan);

/* The columns by which it sorts, and their number. */
extern SortColumn *gpusort_make_columns(const CustomScan *scan,
										int *ncolumns);

/* The size of a GpuSort's input, in a plan with this range table. */
extern SortSize gpusort_size(const CustomScan *scan, const List *range_table);

#endif							/* GPUSORT_GPUSORT_PLAN_H */
