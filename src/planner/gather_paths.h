/*-------------------------------------------------------------------------
 *
 * gather_paths.h
 *	  Paths that gather the rows of a partial path.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GATHER_PATHS_H
#define GPUSORT_GATHER_PATHS_H

#include "nodes/pathnodes.h"

/* Makes the path that gathers this many rows of all participants. */
extern Path *gather_paths_make(PlannerInfo *root, RelOptInfo *relation,
							   Path *partial, double rows);

/*
 * Adds a partial path, and a path with a Gather above it unless core refuses,
 * and frees, the partial path.
 */
extern void gather_paths_add(PlannerInfo *root, RelOptInfo *relation,
							 Path *partial, double rows);

/* The partial path whose rows this path gathers; NULL if it gathers none. */
extern Path *gather_paths_gathered(const Path *path);

/* Registers the nodes around a Gather. */
extern void gather_paths_init(void);

#endif							/* GPUSORT_GATHER_PATHS_H */
