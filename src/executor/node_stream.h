/*-------------------------------------------------------------------------
 *
 * node_stream.h
 *	  The GpuSortReceive and GpuSortSend plan nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_STREAM_H
#define GPUSORT_NODE_STREAM_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

extern const CustomScanMethods receive_scan_methods;
extern const CustomScanMethods send_scan_methods;

extern bool is_gpusort_receive(const Plan *plan);
extern bool is_gpusort_send(const Plan *plan);

/* Makes one of these nodes, which emits the columns of its child as they are. */
extern CustomScan *stream_make_plan(const CustomScanMethods *methods,
									List *target_list, Plan *child);

/*
 * Makes a GpuSortReceive, the Gather below it and its GpuSortSend refer to
 * their children's columns, as other nodes do in a finished plan.  Before
 * that, their columns are expressions, which the planner looks for.
 */
extern void stream_refer_to_children(CustomScan *receive);

#endif							/* GPUSORT_NODE_STREAM_H */
