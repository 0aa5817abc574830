/*-------------------------------------------------------------------------
 *
 * order_paths.h
 *	  Paths for an ORDER BY: by a GpuSort in one process, and with workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ORDER_PATHS_H
#define GPUSORT_ORDER_PATHS_H

#include "planner/sort_paths.h"

/* The input of an ORDER BY: a path that may be sorted. */
typedef struct SortInput
{
	const PlannerInfo *root;
	const RelOptInfo *relation;
	Path	   *path;
} SortInput;

/*
 * Begin and end of planning a query, within which other queries may be planned.
 * The input that was noted for the outer query is returned, and restored at the
 * end; so no path is used after its query's memory was freed.
 */
extern SortInput order_paths_begin(void);
extern void order_paths_end(SortInput outer);

/* Notes what to sort of a relation whose paths are complete. */
extern void order_paths_note(PlannerInfo *root, RelOptInfo *relation);

/* Adds paths to an ordered relation, and drops core's that are the same. */
extern void order_paths_add(PlannerInfo *root, RelOptInfo *input,
							RelOptInfo *ordered);

#endif							/* GPUSORT_ORDER_PATHS_H */
