/*-------------------------------------------------------------------------
 *
 * parallel_sort.h
 *	  Sorting the rows of a partial plan, by all processes that run it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PARALLEL_SORT_H
#define GPUSORT_PARALLEL_SORT_H

#include "access/parallel.h"
#include "nodes/execnodes.h"

#include "executor/node_limit.h"
#include "executor/row_sort.h"
#include "executor/sorted_slices.h"

struct ExplainState;

/* What participants share, in the parallel context. */
typedef struct SharedSort SharedSort;

/* Who emits the rows where there are several participants. */
typedef enum SortEmission
{
	EMIT_SLICES,				/* all of them, if that can be */
	EMIT_SLICES_TO_COUNT,		/* all, unless the number of groups is known */
	EMIT_ALONE					/* one */
} SortEmission;

/* What a sort was like, for EXPLAIN. */
typedef struct ParallelSortReport
{
	bool		sorted;
	RowSortReport sort;
	uint64		nslices;		/* 0: one participant has emitted all */
	int			nparticipants;	/* participants that have emitted slices */
	uint64		most_rows;		/* most rows that one of them has emitted */
} ParallelSortReport;

typedef struct ParallelSort ParallelSort;

/* Makes of a row of the child the one that is sorted. */
typedef TupleTableSlot *(*SortedRow) (ParallelSort *sort, TupleTableSlot *row);

/* A node that sorts its child's rows; the state of such a node begins with it. */
struct ParallelSort
{
	CustomScanState css;		/* must be first */

	/* set by the node */
	SortColumn *columns;
	int			ncolumns;
	int			ngroup_columns; /* the first ones, which make a group */
	NodeLimit	limit;			/* limit of each group's rows */
	SortEmission emission;
	bool		leaves_out_nulls;	/* rows whose first column is NULL */
	SortedRow	make_row;		/* what is sorted; NULL: the child's rows */
	TupleTableSlot *made_row;	/* for that */
	TupleDesc	descriptor;		/* of what is sorted */
	TupleTableSlot *row;		/* present row, in a slot for minimal tuples */

	/* when rows can be emitted; without both of these there are none */
	bool		ready;
	RowSort    *sort;			/* emits all rows; or NULL */
	RowSort    *emptied;		/* an earlier one, of few rows, or NULL */
	SliceReader *slices;		/* emits slices; or NULL */

	MemoryContext memory;		/* owns what a sort needs */
	SortProgress *progress;		/* of this participant, one of several */
	RowSegments *segments;		/* rows in shared memory, or NULL */
	uint64		nrows;			/* rows of the child, in this process */
	uint64		nnulls;			/* those that have been left out */
	bool		last_was_small; /* the last sort in one process had few rows */
	SharedSort *shared;			/* NULL in a single process */
	ParallelContext *context;	/* parallel context, in the leader */
	ParallelSortReport report;
};

/* Begins the node, and its child; the slot of the present row is not there yet. */
extern void parallel_sort_begin(CustomScanState *node, EState *estate,
								int eflags);

/*
 * Takes the rows of the child and sorts them, if that has not been done, with the
 * other participants if there are any.
 */
extern void parallel_sort_get_ready(ParallelSort *sort);

/* The rows of the child in all participants, and those of them left out. */
extern uint64 parallel_sort_rows(const ParallelSort *sort);
extern uint64 parallel_sort_nulls(const ParallelSort *sort);

/*
 * Of participants that emit slices: has this one, which has emitted its last row,
 * and found so many groups, found the last one of all?  Sets *ngroups to the
 * number of all groups then.
 */
extern bool parallel_sort_is_last(ParallelSort *sort, uint64 *ngroups);

/* Stores the next row in its slot; false if there is none. */
static inline bool
parallel_sort_next(ParallelSort *sort)
{
	TupleTableSlot *slot = sort->row;
	void	   *row = NULL;

	if (sort->sort != NULL)
		return row_sort_get(sort->sort, true, slot);
	if (sort->slices != NULL)
		row = slice_reader_next(sort->slices);
	if (row == NULL)
	{
		ExecClearTuple(slot);
		return false;
	}
	ExecStoreMinimalTuple(row, slot, false);
	return true;
}

/*
 * The node's other CustomExecMethods.  All of them, but that of a worker, forget
 * what this process has of the rows, with the one that was emitted last.
 */
extern void parallel_sort_end(CustomScanState *node);
extern void parallel_sort_rescan(CustomScanState *node);
extern Size parallel_sort_estimate(CustomScanState *node,
								   ParallelContext *context);
extern void parallel_sort_init_shared(CustomScanState *node,
									  ParallelContext *context, void *place);
extern void parallel_sort_init_shared_again(CustomScanState *node,
											ParallelContext *context,
											void *place);
extern void parallel_sort_init_worker(CustomScanState *node, shm_toc *contents,
									  void *place);
extern void parallel_sort_shutdown(CustomScanState *node);

/* Has EXPLAIN show what it was like. */
extern void parallel_sort_explain(const ParallelSort *sort,
								  struct ExplainState *es);

#endif							/* GPUSORT_PARALLEL_SORT_H */
