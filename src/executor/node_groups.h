/*-------------------------------------------------------------------------
 *
 * node_groups.h
 *	  The GpuSortGroups plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_GROUPS_H
#define GPUSORT_NODE_GROUPS_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

extern const CustomScanMethods groups_scan_methods;

extern bool is_gpusort_groups(const Plan *plan);

/* The number of first sort columns by which a GpuSortGroups keeps groups. */
extern int	groups_columns(const CustomScan *scan);

/*
 * Makes a GpuSortGroups of this target list.  It sorts what is below the Sort
 * as the Sort does, and keeps rows together that are equal in the first
 * ngroup_columns sort columns.  In a finished plan refer_to_child() has to be
 * called for it.
 */
extern CustomScan *groups_make_plan(const Sort *sort, List *target_list,
									int ngroup_columns);

#endif							/* GPUSORT_NODE_GROUPS_H */
