/*-------------------------------------------------------------------------
 *
 * parallel_paths.h
 *	  Lets the planner know what a sort with parallel workers costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PARALLEL_PATHS_H
#define GPUSORT_PARALLEL_PATHS_H

/* Adds itself to the planner's hooks. */
extern void parallel_paths_init(void);

#endif							/* GPUSORT_PARALLEL_PATHS_H */
