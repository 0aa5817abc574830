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

/* Values in one order, and their aggregates. */
typedef struct AggregatedOrder
{
	List	   *aggregates;
	int			column;			/* number of the column of values, counted
								 * from 0, behind the columns of groups */
	SortGroupClause *clause;	/* order; NULL: values are only counted */
	Oid			collation;
} AggregatedOrder;

/*
 * Write and read an order, as a plan and a path have it.
 */
extern List *aggregated_order_write(const AggregatedOrder *order);
extern AggregatedOrder aggregated_order_read(const List *written);

/* What is aggregated, and how groups are compared. */
typedef struct AggregatedValues
{
	List	   *orders;			/* orders, as written; the first has a clause;
								 * each aggregate is in one of them */
	List	   *group_equal;	/* equality operators of the columns of groups */
	List	   *group_collations;	/* collations of the columns of groups */
} AggregatedValues;

/*
 * Makes a GpuSortAggregate that replaces an Agg above this Sort.  The first
 * columns of the Sort's child make the groups, if there are any.  The others
 * have the values.  The Sort sorts by the groups, and then by the values of the
 * first order.
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
