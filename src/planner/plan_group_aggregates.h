/*-------------------------------------------------------------------------
 *
 * plan_group_aggregates.h
 *	  Replacing a GroupAggregate above a sort by a GpuSortGroupAggregate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PLAN_GROUP_AGGREGATES_H
#define GPUSORT_PLAN_GROUP_AGGREGATES_H

#include "nodes/plannodes.h"

/* Returns what takes the place of an Agg in a finished plan, or the Agg. */
extern Plan *plan_group_aggregate_replace(Agg *agg);

#endif							/* GPUSORT_PLAN_GROUP_AGGREGATES_H */
