/*-------------------------------------------------------------------------
 *
 * node_window.h
 *	  The GpuSortWindow plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_WINDOW_H
#define GPUSORT_NODE_WINDOW_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

extern const CustomScanMethods window_scan_methods;

extern bool is_gpusort_window(const Plan *plan);

#endif							/* GPUSORT_NODE_WINDOW_H */
