/*-------------------------------------------------------------------------
 *
 * plan_windows.h
 *	  Replacing WindowAggs above a sort by a GpuSortWindow.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PLAN_WINDOWS_H
#define GPUSORT_PLAN_WINDOWS_H

#include "nodes/plannodes.h"

/* Registers the node for parallel workers. */
extern void plan_windows_init(void);

/*
 * Replaces WindowAggs in a finished plan, when all of its Sorts have been
 * replaced.
 */
extern void plan_windows_rewrite(PlannedStmt *statement);

#endif							/* GPUSORT_PLAN_WINDOWS_H */
