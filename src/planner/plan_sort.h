/*-------------------------------------------------------------------------
 *
 * plan_sort.h
 *	  Putting GpuSort nodes in the place of Sort nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PLAN_SORT_H
#define GPUSORT_PLAN_SORT_H

/* Installs the planner hook that rewrites finished plans. */
extern void plan_sort_init(void);

#endif							/* GPUSORT_PLAN_SORT_H */
