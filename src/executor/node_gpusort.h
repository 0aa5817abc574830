/*-------------------------------------------------------------------------
 *
 * node_gpusort.h
 *	  The GpuSort plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_GPUSORT_H
#define GPUSORT_NODE_GPUSORT_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

extern const CustomScanMethods gpusort_scan_methods;
extern const CustomExecMethods gpusort_exec_methods;

extern bool is_gpusort(const Plan *plan);

#endif							/* GPUSORT_NODE_GPUSORT_H */
