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
	List	   *aggregates;		/* all different */
	Oid			equal;			/* equality operator of the values */
	List	   *group_equal;	/* and of the columns of groups, */
	List	   *group_collations;	/* with their collations */
} AggregatedValues;

/*
 * Makes a GpuSortAggregate in the place of an Agg above this Sort.  The last column
 * of the Sort's child has the values, the other columns make the groups, if there
 * are any; the Sort is by these columns and then by the values.
 */
extern CustomScan *aggregate_make_plan(const Sort *sort, List *target_list,
									   List *having,
									   const AggregatedValues *values);

/* In a finished plan: has it refer to its child's columns, as other nodes do. */
extern void aggregate_refers_to_child(CustomScan *scan);

#endif							/* GPUSORT_NODE_AGGREGATE_H */
