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
#include "nodes/primnodes.h"

extern const CustomScanMethods aggregate_scan_methods;

extern bool is_gpusort_aggregate(const Plan *plan);

/*
 * Makes a GpuSortAggregate in the place of an Agg above this Sort.  The last column
 * of the Sort's child has the values, the other columns make the groups, if there
 * are any; the Sort is by these columns and then by the values.  The aggregates are
 * of the values, and all different.  "equal" is the equality operator of the values;
 * group_equal and group_collations are those of the other columns.
 */
extern CustomScan *aggregate_make_plan(const Sort *sort, List *target_list,
									   List *having, List *aggregates,
									   Oid equal, List *group_equal,
									   List *group_collations);

/* In a finished plan: has it refer to its child's columns, as other nodes do. */
extern void aggregate_refers_to_child(CustomScan *scan);

#endif							/* GPUSORT_NODE_AGGREGATE_H */
