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

/* Makes the path that gathers this many rows of all members. */
extern Path *gather_paths_make(PlannerInfo *root, RelOptInfo *relation,
							   Path *partial, double rows);

/*
 * Adds a partial path, and returns true, unless the relation has one that is as
 * good in all respects.  Frees no other path.
 */
extern bool gather_paths_add_partial(RelOptInfo *relation, Path *partial);

/* Does so, and then adds a path with a Gather above it. */
extern void gather_paths_add(PlannerInfo *root, RelOptInfo *relation,
							 Path *partial, double rows);

/* The partial path whose rows this path gathers; NULL if it gathers none. */
extern Path *gather_paths_gathered(const Path *path);

/* Registers the nodes around a Gather. */
extern void gather_paths_init(void);

#endif							/* GPUSORT_GATHER_PATHS_H */
