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

/* What the node makes of an aggregate. */
typedef enum ValueAggregateKind
{
	NO_VALUE_AGGREGATE,			/* it is none of the node's */
	COUNT_ROWS,
	COUNT_VALUES,
	COUNT_DISTINCT_VALUES,
	PERCENTILE,					/* of one fraction */
	PERCENTILE_ARRAY			/* of an array of fractions */
} ValueAggregateKind;

extern const CustomScanMethods aggregate_scan_methods;

/* The filter, the place of the aggregate and its other arguments do not matter. */
extern ValueAggregateKind value_aggregate_kind(const Aggref *aggregate);

/*
 * The functions of which core makes such an aggregate; InvalidOid without a final
 * one.
 */
extern Oid	value_aggregate_transition(const Aggref *aggregate);
extern Oid	value_aggregate_final(const Aggref *aggregate);

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
