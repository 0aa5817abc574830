/*-------------------------------------------------------------------------
 *
 * group_paths.h
 *	  Paths in which sorted groups are consumed by all parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_PATHS_H
#define GPUSORT_GROUP_PATHS_H

#include "nodes/pathnodes.h"

/* Registers the node for parallel workers. */
extern void group_paths_init(void);

/* Adds such paths to a relation, as create_upper_paths_hook is called for it. */
extern void group_paths_add(PlannerInfo *root, UpperRelationKind stage,
							RelOptInfo *input, RelOptInfo *output,
							void *extra);

#endif							/* GPUSORT_GROUP_PATHS_H */
