/*-------------------------------------------------------------------------
 *
 * window_plan.h
 *	  What the plan of a GpuSortWindow says: its sort and its windows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WINDOW_PLAN_H
#define GPUSORT_WINDOW_PLAN_H

#include "executor/gpusort_plan.h"
#include "window/window_run.h"

/*
 * The rows of a GpuSortWindow's custom_scan_tlist have the columns of the
 * sorted rows first, and then the results of the functions of all windows.
 */
typedef struct PlannedWindows
{
	PlannedSort sort;
	int			ngroup_columns; /* first sort columns that make a group, if
								 * several processes sort; 0: one process does */
	bool		presorted;		/* the child's rows come in the order of the
								 * sort columns */
	int			nwindows;
	WindowDefinition *windows;	/* the lowest first */
} PlannedWindows;

/*
 * Write and read custom_private of a GpuSortWindow.  The count of the limit
 * of its sort is the only expression in custom_exprs.
 */
extern List *planned_windows_write(const PlannedWindows *planned);
extern PlannedWindows planned_windows_read(const CustomScan *scan);

#endif							/* GPUSORT_WINDOW_PLAN_H */
