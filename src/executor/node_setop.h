/*-------------------------------------------------------------------------
 *
 * node_setop.h
 *	  The GpuSortSetOp plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_SETOP_H
#define GPUSORT_NODE_SETOP_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* The set operations of two inputs.  A UNION is a GpuSortUnique. */
typedef enum SetOperationKind
{
	SET_INTERSECT,
	SET_INTERSECT_ALL,
	SET_EXCEPT,
	SET_EXCEPT_ALL
} SetOperationKind;

extern const CustomScanMethods setop_scan_methods;

extern bool is_gpusort_setop(const Plan *plan);

/*
 * Makes a GpuSortSetOp of this target list, the first columns of what is below
 * the Sort.  The Sort sorts by all columns; the last sort column is the number
 * of the input that a row comes from, 0 or 1, and input 0 is the one whose rows
 * are emitted.  In a finished plan refer_to_child() has to be called for the
 * node.
 */
extern CustomScan *setop_make_plan(const Sort *sort, List *target_list,
								   SetOperationKind kind);

#endif							/* GPUSORT_NODE_SETOP_H */
