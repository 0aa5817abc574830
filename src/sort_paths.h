/*-------------------------------------------------------------------------
 *
 * sort_paths.h
 *	  Lets the planner know what sorts cost.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_PATHS_H
#define GPUSORT_SORT_PATHS_H

/* Adds itself to the planner's hooks. */
extern void sort_paths_init(void);

#endif							/* GPUSORT_SORT_PATHS_H */
