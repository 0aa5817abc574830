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

/*
 * Returns what takes the place of the WindowAggs from this one down to sorted
 * rows, in a finished plan, or the WindowAgg.
 */
extern Plan *plan_windows_replace(WindowAgg *top);

#endif							/* GPUSORT_PLAN_WINDOWS_H */
