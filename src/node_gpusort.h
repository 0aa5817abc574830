/*-------------------------------------------------------------------------
 *
 * node_gpusort.h
 *	  The GpuSort plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_GPUSORT_H
#define GPUSORT_NODE_GPUSORT_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

extern const CustomScanMethods gpusort_scan_methods;

/* What a GpuSort in the place of this Sort has as custom_private. */
extern List *gpusort_scan_private(const Sort *sort);

#endif							/* GPUSORT_NODE_GPUSORT_H */
