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
 * Makes a GpuSortAggregate that computes these aggregates, each different from the
 * others, of the values in the last column of what is below the Sort, which sorts by
 * the other columns and then by these.  Those make the groups, if there are any, and
 * have these equality operators and collations; "equal" is that of the values.
 */
extern CustomScan *aggregate_make_plan(const Sort *sort, List *target_list,
									   List *having, List *aggregates,
									   Oid equal, List *group_equal,
									   List *group_collations);

/* In a finished plan: has EXPLAIN find the values in the node's child. */
extern void aggregate_refers_to_child(CustomScan *scan);

#endif							/* GPUSORT_NODE_AGGREGATE_H */
