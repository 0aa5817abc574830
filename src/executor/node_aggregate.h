/*-------------------------------------------------------------------------
 *
 * node_aggregate.h
 *	  The GpuSortAggregate plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_AGGREGATE_H
#define GPUSORT_NODE_AGGREGATE_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

extern const CustomScanMethods aggregate_scan_methods;

extern bool is_gpusort_aggregate(const Plan *plan);

#endif							/* GPUSORT_NODE_AGGREGATE_H */
