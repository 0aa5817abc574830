/*-------------------------------------------------------------------------
 *
 * sort_bound.h
 *	  How many rows are wanted of a GpuSort, when it runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_BOUND_H
#define GPUSORT_SORT_BOUND_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

/* Where it is to be found; all zeros: all rows are wanted. */
typedef struct SortBound
{
	const LimitState *limit;	/* by which the rows go, */
	uint64		passed_on;		/* or what one in the leader has let through */
} SortBound;

/* What the state of a GpuSort begins with. */
typedef struct BoundedScanState
{
	CustomScanState css;		/* must be first */
	SortBound	bound;
} BoundedScanState;

/* Nodes with these methods are told their bounds. */
extern void sort_bound_init(const CustomExecMethods *methods);

/*
 * To be called where a GpuSort begins: sets the bounds of the GpuSorts in its
 * query when all of that has begun.
 */
extern void sort_bound_await(void);

/* Sets those below this node at once. */
extern void sort_bound_find(PlanState *top);

/*
 * The rows that are wanted, or NO_BOUND.  Valid whenever rows are fetched, and
 * may change with each rescan.
 */
extern double sort_bound_rows(const SortBound *bound);

#endif							/* GPUSORT_SORT_BOUND_H */
