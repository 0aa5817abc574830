/*-------------------------------------------------------------------------
 *
 * grouping_set_paths.h
 *	  The path of grouping sets that one sort serves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUPING_SET_PATHS_H
#define GPUSORT_GROUPING_SET_PATHS_H

#include "nodes/pathnodes.h"

/*
 * The path that sorts the rows of "input" in one process, and groups them by
 * all grouping sets of the query.  NULL if the sets need several orders, or if
 * gpusort does not do the sort.
 */
extern Path *grouping_set_paths_make(PlannerInfo *root, RelOptInfo *grouped,
									 Path *input,
									 const GroupPathExtraData *extra);

#endif							/* GPUSORT_GROUPING_SET_PATHS_H */
