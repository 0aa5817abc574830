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
 * To be called before and after a query is planned; other queries may be
 * planned in between.  The first function returns the input that was noted
 * for the outer query, and the second restores it.  So no path is used after
 * its query's memory has been freed.
 */
extern SortInput order_paths_begin(void);
extern void order_paths_end(SortInput outer);

/* Notes the path to sort of a relation whose paths are complete. */
extern void order_paths_note(PlannerInfo *root, RelOptInfo *relation);

/*
 * Adds paths to an ordered relation, and drops core's paths of the same
 * kinds.
 */
extern void order_paths_add(PlannerInfo *root, RelOptInfo *input,
							RelOptInfo *ordered);

#endif							/* GPUSORT_ORDER_PATHS_H */
