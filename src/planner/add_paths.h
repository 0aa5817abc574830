/*-------------------------------------------------------------------------
 *
 * add_paths.h
 *	  Paths with the costs of the sorts that GpuSort nodes will do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ADD_PATHS_H
#define GPUSORT_ADD_PATHS_H

#include "nodes/pathnodes.h"

/* Adds paths to what a stage above the joins makes of its input. */
extern void add_paths_to_stage(PlannerInfo *root, UpperRelationKind stage,
							   RelOptInfo *input, RelOptInfo *output,
							   void *extra);

/* Adds a path to a join of two relations. */
extern void add_paths_to_join(PlannerInfo *root, RelOptInfo *join,
							  RelOptInfo *outer, RelOptInfo *inner,
							  JoinType type, JoinPathExtraData *extra);

/*
 * Note the paths of a stage, or of a relation that may join all tables of a
 * query: the paths of the stage above will be made from these.  To be called
 * when nobody adds paths to the stage or relation any more.
 */
extern void add_paths_note_stage(PlannerInfo *root, UpperRelationKind stage,
								 RelOptInfo *output);
extern void add_paths_note_relation(PlannerInfo *root, RelOptInfo *relation);

#endif							/* GPUSORT_ADD_PATHS_H */
