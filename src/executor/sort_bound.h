/*-------------------------------------------------------------------------
 *
 * sort_bound.h
 *	  What is above a GpuSort: the number of rows wanted, and a Gather Merge.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_BOUND_H
#define GPUSORT_SORT_BOUND_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"

/*
 * Where the number of wanted rows comes from; all zeros if all rows are
 * wanted.
 */
typedef struct SortBound
{
	const LimitState *limit;	/* Limit node of this process above the
								 * GpuSort */
	uint64		leader_count;	/* number that the leader told its workers, or
								 * 0 */
} SortBound;

/* What the state of a GpuSort begins with. */
typedef struct BoundedScanState
{
	CustomScanState css;		/* must be first */
	SortBound	bound;
	PlanState  *gather_merge;	/* Gather Merge of this process right above
								 * the GpuSort, or NULL */
	const double *leader_bound; /* in a worker: rows that the leader wants in
								 * this scan, or NULL */
} BoundedScanState;

/* Says by which methods a GpuSort is known. */
extern void sort_bound_init(const CustomExecMethods *methods);

/*
 * Asks for the bounds of all GpuSorts of the query, and their Gather Merges.
 * Both are set as soon as the whole plan has been initialized.  Each GpuSort
 * calls this when it is initialized.
 */
extern void sort_bound_await(void);

/*
 * These functions stand around the start of a query: begin() before it,
 * find_awaited() with the query's topmost node after it, and end() with the
 * result of begin() in any case, so that an outer query that catches an error
 * goes on as before.
 */
extern bool sort_bound_begin(void);
extern void sort_bound_find_awaited(PlanState *top);
extern void sort_bound_end(bool outer);

/*
 * Tells the GpuSorts of a query that "count" rows of them are wanted, if the
 * query is the plan of a parallel worker, before it is executed for that
 * number.  Returns the number of rows that the query is to be executed for.
 */
extern uint64 sort_bound_pass_count(const QueryDesc *query, uint64 count);

/* Sets the bounds of all GpuSorts below this node at once. */
extern void sort_bound_find(PlanState *top);

/*
 * Returns the number of rows that are wanted, or NO_BOUND.  It is valid while
 * rows are fetched, and may change with each rescan.
 */
extern double sort_bound_rows(const SortBound *bound);

/*
 * Returns the number of rows that are expected to be fetched.  With ties this
 * is the number of the Limit, though there is no bound then, since any number
 * of rows may tie.
 */
extern double sort_bound_expected_rows(const SortBound *bound);

#endif							/* GPUSORT_SORT_BOUND_H */
