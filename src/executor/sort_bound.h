/*-------------------------------------------------------------------------
 *
 * sort_bound.h
 *	  What is above a GpuSort: how many rows are wanted, and by a Gather Merge.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_BOUND_H
#define GPUSORT_SORT_BOUND_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"

/* The source of the number; all zeros if all rows are wanted. */
typedef struct SortBound
{
	const LimitState *limit;	/* Limit node of this process above the
								 * GpuSort */
	uint64		leader_count;	/* rows that the leader told its workers, or 0 */
} SortBound;

/* What the state of a GpuSort begins with. */
typedef struct BoundedScanState
{
	CustomScanState css;		/* must be first */
	SortBound	bound;
	PlanState  *gather_merge;	/* Gather Merge of this process right above
								 * it, or NULL */
	const double *leader_bound; /* in a worker: rows that the leader wants in
								 * this scan, or NULL */
} BoundedScanState;

/* Nodes with these methods are told their bounds. */
extern void sort_bound_init(const CustomExecMethods *methods);

/*
 * Asks for the bounds of all GpuSorts of the query, and their Gather Merges: both are
 * set as soon as the whole plan has been initialized.  Each GpuSort calls this when it is
 * initialized.
 */
extern void sort_bound_await(void);

/*
 * Around the start of a query: begin() before it, find_awaited() with the query's
 * topmost node after it, and end() with the result of begin() in any case, so that an
 * outer query that catches an error goes on as it was.
 */
extern bool sort_bound_begin(void);
extern void sort_bound_find_awaited(PlanState *top);
extern void sort_bound_end(bool outer);

/*
 * Tells the GpuSorts of a query that "count" rows of them are wanted, before it is
 * executed for that number, if it is the plan of a parallel worker.  Returns the number
 * of rows that it is to be executed for.
 */
extern uint64 sort_bound_pass_count(const QueryDesc *query, uint64 count);

/* Sets the bounds of all GpuSorts below this node at once. */
extern void sort_bound_find(PlanState *top);

/*
 * The number of rows that are wanted, or NO_BOUND.  Valid while rows are fetched;
 * may change with each rescan.
 */
extern double sort_bound_rows(const SortBound *bound);

/*
 * The number of rows that are expected to be fetched.  With ties it is that of the
 * Limit, while there is no bound, since any number of rows may tie.
 */
extern double sort_bound_expected_rows(const SortBound *bound);

#endif							/* GPUSORT_SORT_BOUND_H */
