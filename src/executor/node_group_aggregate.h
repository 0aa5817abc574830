/*-------------------------------------------------------------------------
 *
 * node_group_aggregate.h
 *	  The GpuSortGroupAggregate plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_GROUP_AGGREGATE_H
#define GPUSORT_NODE_GROUP_AGGREGATE_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "executor/gpusort_plan.h"

extern const CustomScanMethods group_aggregate_scan_methods;

/* What the plan of the node says. */
typedef struct PlannedGroupAggregate
{
	PlannedSort sort;
	int			nshared_columns;	/* first sort columns that make a part, if
									 * several processes sort; 0: one process
									 * does */
	int			ngroup_columns; /* first sort columns that make a group */
	Agg		   *agg;			/* Agg without a child, over the sorted rows */
} PlannedGroupAggregate;

extern bool is_gpusort_group_aggregate(const Plan *plan);

/*
 * Writes custom_private of the node.  custom_scan_tlist has what the Agg emits,
 * and the target list its columns as they are.
 */
extern List *group_aggregate_write(const PlannedGroupAggregate *planned);

#endif							/* GPUSORT_NODE_GROUP_AGGREGATE_H */
