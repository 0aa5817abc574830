/*-------------------------------------------------------------------------
 *
 * explain_window.h
 *	  What EXPLAIN shows of the windows of a GpuSortWindow.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EXPLAIN_WINDOW_H
#define GPUSORT_EXPLAIN_WINDOW_H

#include "nodes/extensible.h"

#include "executor/window_plan.h"

struct ExplainState;

/*
 * Shows the sort key, each window, the functions, and the run conditions.
 */
extern void explain_windows(const PlannedWindows *planned,
							const CustomScanState *node, List *ancestors,
							struct ExplainState *es);

/*
 * Returns an expression in the place of a window function, for the columns of
 * a plan.  Core's EXPLAIN shows a WindowFunc only where there is a WindowAgg.
 */
extern Expr *window_function_shown(const WindowFunc *function);

#endif							/* GPUSORT_EXPLAIN_WINDOW_H */
