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

/* What is aggregated, and how its values and groups are compared. */
typedef struct AggregatedValues
{
	List	   *aggregates;		/* aggregates, all different */
	Oid			equal;			/* equality operator of the values */
	List	   *group_equal;	/* equality operators of the columns of groups */
	List	   *group_collations;	/* collations of the columns of groups */
} AggregatedValues;

/*
 * Makes a GpuSortAggregate that replaces an Agg above this Sort.  The last
 * column of the Sort's child has the values.  The other columns, if there are
 * any, make the groups.  The Sort sorts by these columns, and then by the
 * values.
 */
extern CustomScan *aggregate_make_plan(const Sort *sort, List *target_list,
									   List *having,
									   const AggregatedValues *values);

/*
 * Makes the node refer to its child's columns in a finished plan, as other
 * nodes do.
 */
extern void aggregate_refers_to_child(CustomScan *scan);

#endif							/* GPUSORT_NODE_AGGREGATE_H */
