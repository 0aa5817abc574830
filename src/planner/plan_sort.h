/*-------------------------------------------------------------------------
 *
 * plan_sort.h
 *	  Putting GpuSort nodes in the place of Sort nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PLAN_SORT_H
#define GPUSORT_PLAN_SORT_H

#include "nodes/plannodes.h"

/* Puts GpuSort nodes into a plan that the planner has finished. */
extern void plan_sort_rewrite(PlannedStmt *statement);

extern void plan_sort_init(void);

#endif							/* GPUSORT_PLAN_SORT_H */
