/*-------------------------------------------------------------------------
 *
 * node_unique.h
 *	  The GpuSortUnique plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_UNIQUE_H
#define GPUSORT_NODE_UNIQUE_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "executor/gpusort_plan.h"

extern const CustomScanMethods unique_scan_methods;

extern bool is_gpusort_unique(const Plan *plan);

/*
 * Completes a node that emits what a sort with a limit of one row of each group
 * emits, and has the count of that limit as its expression.  If several
 * processes sort, each emits parts of the order in which no two rows of
 * different parts are equal in the first nshared_columns sort columns.
 */
extern void unique_complete(CustomScan *scan, const PlannedSort *sort,
							int nshared_columns);

/*
 * Makes a node of this target list, the first columns of what is below the
 * Sort.  The Sort sorts by all columns, which make groups.  In a finished plan
 * refer_to_child() has to be called for the node.
 */
extern CustomScan *unique_make_plan(const Sort *sort, List *target_list);

#endif							/* GPUSORT_NODE_UNIQUE_H */
