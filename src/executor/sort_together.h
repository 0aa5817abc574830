/*-------------------------------------------------------------------------
 *
 * sort_together.h
 *	  The sort of a GpuSort by all processes below a Gather Merge.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_TOGETHER_H
#define GPUSORT_SORT_TOGETHER_H

#include "access/parallel.h"
#include "nodes/execnodes.h"

#include "executor/node_limit.h"
#include "executor/row_sort.h"

/* What leader and workers share, in the parallel context. */
typedef struct SharedSortTogether SharedSortTogether;

/* The sort in one process; all zeros if that is the only one. */
typedef struct SortTogether
{
	SharedSortTogether *shared;
	ParallelContext *context;	/* parallel context, in the leader */
	SharedMemoryLimits limits;	/* memory of all processes, in the leader */
	RowSegments *segments;		/* rows in shared memory, in the leader, or
								 * NULL */
} SortTogether;

/* The rows of a process, and how they are sorted. */
typedef struct SortTogetherInput
{
	PlanState  *child;			/* node that has the rows */
	const SortColumn *columns;
	int			ncolumns;
	double		bound;			/* first rows that are wanted, or NO_BOUND */
	NodeLimit  *limit;			/* limit of each group's rows */
	bool		to_gather_merge;	/* the leader emits rows to a Gather Merge */
} SortTogetherInput;

/* Bytes of shared memory. */
extern Size sort_together_size(int nworkers);

/*
 * In the leader, before workers are launched, for the first time and again, when no
 * sort is left.  If it is not "wanted" each process sorts for itself.  With keep_rows
 * each keeps all of its rows, as more are expected than fit memory.
 */
extern void sort_together_init(SortTogether *sort, ParallelContext *context,
							   SharedSortTogether *shared, bool wanted,
							   const SortTogetherInput *input,
							   bool keep_rows);
extern void sort_together_init_again(SortTogether *sort,
									 ParallelContext *context,
									 SharedSortTogether *shared, bool wanted,
									 const SortTogetherInput *input,
									 bool keep_rows);

/* In a worker; returns where the bound stands that the leader has now. */
extern const double *sort_together_attach(SortTogether *sort,
										  SharedSortTogether *shared);

/* Is this process one of several that sort together? */
extern bool sort_together_is_on(const SortTogether *sort);

/*
 * Where each process sorts for itself: a worker leaves the report of its sort.  The
 * leader adds the rows of these to its own report; if that is all zeros, as it has not
 * sorted, it becomes that of the worker that had most rows.  False if workers have left
 * none.
 */
extern void sort_together_leave_report(SortTogether *sort,
									   const RowSortReport *report);
extern bool sort_together_add_reports(SortTogether *sort,
									  RowSortReport *report);

/*
 * In a worker: takes all rows of its child, for the leader, and helps that later if
 * it can.
 */
extern void sort_together_send(SortTogether *sort,
							   const SortTogetherInput *input);

/*
 * In the leader: begins the sort of the rows of all, takes these, and after
 * row_sort_perform() has workers gather rows, if that pays.  The second function
 * returns how many rows its own child had.  sort_together_end() is to follow the end of
 * the sort; it does nothing if there is none.
 */
extern RowSort *sort_together_begin(SortTogether *sort,
									const SortTogetherInput *input);
extern uint64 sort_together_take(SortTogether *sort,
								 const SortTogetherInput *input,
								 RowSort *rows);
extern void sort_together_gather(SortTogether *sort, RowSort *rows);
extern void sort_together_end(SortTogether *sort);

#endif							/* GPUSORT_SORT_TOGETHER_H */
