/*-------------------------------------------------------------------------
 *
 * sort_paths.h
 *	  Lets the planner know what sorts cost.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_PATHS_H
#define GPUSORT_SORT_PATHS_H

#include "nodes/pathnodes.h"

/* What may be sorted for an ORDER BY. */
typedef struct SortInput
{
	const PlannerInfo *root;
	const RelOptInfo *relation;
	Path	   *path;
} SortInput;

/* Adds itself to the planner's hooks. */
extern void sort_paths_init(void);

/*
 * Around the planning of a query, within which others may be planned: nothing
 * that is noted outlives the memory it is about.
 */
extern SortInput sort_paths_begin(void);
extern void sort_paths_end(SortInput outer);

#endif							/* GPUSORT_SORT_PATHS_H */
