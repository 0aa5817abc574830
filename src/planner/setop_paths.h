/*-------------------------------------------------------------------------
 *
 * setop_paths.h
 *	  Paths of set operations over rows that are sorted together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SETOP_PATHS_H
#define GPUSORT_SETOP_PATHS_H

#include "nodes/pathnodes.h"

/* Registers the node. */
extern void setop_paths_init(void);

/*
 * Adds the paths to a relation of UPPERREL_SETOP, in one process and in all, and
 * charges core's paths that hash what hashing really costs.
 */
extern void setop_paths_add(PlannerInfo *root, RelOptInfo *relation);

#endif							/* GPUSORT_SETOP_PATHS_H */
