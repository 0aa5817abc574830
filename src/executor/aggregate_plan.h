/*-------------------------------------------------------------------------
 *
 * aggregate_plan.h
 *	  The plan of a GpuSortAggregate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_AGGREGATE_PLAN_H
#define GPUSORT_AGGREGATE_PLAN_H

#include "nodes/plannodes.h"
#include "nodes/primnodes.h"

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
	List	   *orders;			/* orders, as written; the first has a clause */
	List	   *group_equal;	/* equality operators of the columns of groups */
	List	   *group_collations;	/* collations of the columns of groups */
} AggregatedValues;

/*
 * Makes a GpuSortAggregate that replaces an Agg above this Sort.  The first
 * columns of the Sort's child make the groups, if there are any.  The next
 * ones have the values.  Further ones are for the aggregates that are in none
 * of the orders.  The Sort sorts by the groups, and then by the values of the
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

/* What a plan of this node says beside its sort. */
typedef struct PlannedAggregate
{
	AggregatedValues values;	/* its aggregates until the plan is finished */
	List	   *counts;			/* number of aggregates of each order */
	List	   *casts;			/* function that casts an order's values
								 * before they are sorted, or InvalidOid */
	Agg		   *others;			/* aggregates that are in none of the orders;
								 * NULL: there are none */
	List	   *carried;		/* columns of the child that only these need */
} PlannedAggregate;

extern PlannedAggregate planned_aggregate_read(const CustomScan *scan);

extern AggregatedOrder planned_aggregate_order(const PlannedAggregate *planned,
											   int i);

/*
 * Returns whether aggregates need nothing of the values but the number of
 * different ones.
 */
extern bool aggregates_only_count(const List *aggregates);

/* Returns the aggregates of each order, as the finished plan has them. */
extern List *aggregates_of_order(const CustomScan *scan,
								 const PlannedAggregate *planned, int i);

/*
 * Return columns as expressions of the child's columns, in a target list:
 * those of the rows that an order sorts, without the carried ones, and those of
 * the rows that the other aggregates read.
 */
extern List *columns_of_order(const CustomScan *scan,
							  const PlannedAggregate *planned, int i);
extern List *columns_of_others(const CustomScan *scan,
							   const PlannedAggregate *planned);

#endif							/* GPUSORT_AGGREGATE_PLAN_H */
