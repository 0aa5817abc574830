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
#include "executor/executor.h"
#include "nodes/execnodes.h"

#include "executor/input_rows.h"
#include "executor/node_limit.h"
#include "executor/row_sort.h"

struct ExplainState;

/* The state that members share, in the parallel context. */
typedef struct SharedSort SharedSort;

/* The members that emit the rows. */
typedef enum SortEmission
{
	EMIT_PARTS,					/* all members */
	EMIT_PARTS_TO_COUNT,		/* all members, unless the number of groups is
								 * known from the order alone */
	EMIT_ALONE					/* the member that has sorted the rows */
} SortEmission;

/* The report of a sort, for EXPLAIN. */
typedef struct ParallelSortReport
{
	bool		sorted;			/* there has been a sort */
	RowSortReport sort;
	uint64		nparts;			/* parts with rows; 0: one member has emitted
								 * all rows */
	int			nemitters;		/* members that have emitted parts */
	uint64		most_rows;		/* most rows that one member has emitted */
} ParallelSortReport;

/* Makes the row to be sorted from a row of the child. */
typedef struct RowMaker RowMaker;
struct RowMaker
{
	TupleTableSlot *(*make) (RowMaker *maker, TupleTableSlot *row);
};

/* A further sort, of other columns of the same rows. */
typedef struct SortBeside
{
	/* set by the node */
	const SortColumn *columns;
	int			ncolumns;		/* 0: rows are only counted, and not sorted */
	NodeLimit	limit;			/* limits the rows of each group */
	bool		wants_places;	/* only rows at single places are fetched */
	AttrNumber	left_out_null;	/* column of the child: rows in which it is
								 * NULL are left out; 0: none are */
	RowMaker   *maker;			/* makes the rows that are sorted */
	TupleDesc	descriptor;		/* columns of these rows */
	TupleTableSlot *row;		/* present row, in a slot for minimal tuples */

	/* once rows can be emitted */
	RowSort    *sort;
	RowSort    *emptied;		/* earlier sort of few rows, or NULL */
	Team	   *team;			/* all members; NULL in a single process */
	uint64		nnulls;			/* rows that were left out, as NULLs: in this
								 * process, or in all if this process has the
								 * sort */
	RowSortReport report;		/* report, for EXPLAIN */
} SortBeside;

/*
 * The state of a node that sorts its child's rows; the node's own state begins
 * with it.
 */
typedef struct ParallelSort ParallelSort;
struct ParallelSort
{
	CustomScanState css;		/* must be first */

	/* set by the node */
	const SortColumn *columns;
	int			ncolumns;
	int			ngroup_columns; /* number of the first columns, which make a
								 * group */
	NodeLimit	limit;			/* limits the rows of each group */
	int			nstart_columns; /* first columns in which neighbours are told
								 * apart, if a single process sorts */
	bool		marks_ties;		/* rows that are equal to the row before them
								 * are to be marked, if keys tell */
	bool		wants_places;	/* only rows at single places are fetched */
	bool		random_access;	/* rows may be fetched again, if a single
								 * process sorts */
	SortEmission emission;
	AttrNumber	left_out_null;	/* column of the child: rows in which it is
								 * NULL are left out; 0: none are */
	RowMaker   *maker;			/* makes the rows that are sorted; NULL: the
								 * child's rows are sorted */
	TupleDesc	descriptor;		/* columns of the rows that are sorted */

	InputRows	input;			/* rows of the child */

	/*
	 * Is called with each row of the child, and with NULL behind the last
	 * one, before any row is emitted; may be NULL.
	 */
	void		(*take_row) (ParallelSort *sort, TupleTableSlot *row);
	SortBeside *beside;			/* further sorts; one member emits the rows of
								 * all sorts, if there are any */
	int			nbeside;
	TupleTableSlot *row;		/* present row, in a slot for minimal tuples */
	TupleTableSlot *kept;		/* another row, which the node keeps, or NULL */

	/* once rows can be emitted: by a sort, or by parts, or there are none */
	bool		ready;
	RowSort    *sort;			/* sort that emits all rows, or NULL */
	RowSort    *emptied;		/* earlier sort of few rows, or NULL */
	PartReader *parts;			/* parts that this process emits, or NULL */

	MemoryContext memory;		/* owns what a sort needs */
	SortProgress *progress;		/* progress of this member; NULL in a single
								 * process */
	Team	   *team;			/* all members; NULL in a single process */
	uint64		nrows;			/* rows of the child, in this process */
	uint64		nnulls;			/* rows of these that were left out, as NULLs */
	bool		last_was_small; /* the last sort in one process had few rows */
	SharedSort *shared;			/* shared state; NULL in a single process */
	ParallelContext *context;	/* parallel context, in the leader */
	ParallelSortReport report;
};

/*
 * Begins the node and its child.  The slot of the present row has to be made
 * then.
 */
extern void parallel_sort_begin(CustomScanState *node, EState *estate,
								int eflags);

/*
 * Makes the slot of the present row, for a node that emits sorted rows with
 * parallel_sort_result().
 */
extern void parallel_sort_init_result(ParallelSort *sort);

/*
 * Returns what the node emits for a row in a slot for minimal tuples: the row,
 * as it is stored, or its projection if the node above does not want all
 * columns.
 */
static inline TupleTableSlot *
parallel_sort_result(ParallelSort *sort, TupleTableSlot *row)
{
	PlanState  *node = &sort->css.ss.ps;

	if (likely(node->ps_ProjInfo == NULL))
		return row;
	ResetExprContext(node->ps_ExprContext);
	node->ps_ExprContext->ecxt_scantuple = row;
	return ExecProject(node->ps_ProjInfo);
}

/*
 * Takes the rows of the child and sorts them, unless that is done, with the
 * other members if there are any.
 */
extern void parallel_sort_get_ready(ParallelSort *sort);

/*
 * Return the number of the child's rows in all members, and how many of
 * these were left out as NULLs.
 */
extern uint64 parallel_sort_rows(const ParallelSort *sort);
extern uint64 parallel_sort_nulls(const ParallelSort *sort);

/*
 * Adds the *ngroups groups of this member, which has emitted the last row
 * of its parts.  Returns true in the last of all members, and sets
 * *ngroups to the number of groups of all.
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
	if (sort->parts != NULL)
	{
		RowReader  *rows = part_reader_rows(sort->parts);

		row = rows->next(rows);
	}
	if (row == NULL)
	{
		ExecClearTuple(slot);
		return false;
	}
	ExecStoreMinimalTuple(row, slot, false);
	return true;
}

/*
 * Drops the rows after the last part of this member, if all emit parts.
 * Further calls of parallel_sort_next() return false.  Nobody may refer to a
 * row any more.  To unmap shared memory takes a good part of the time that it
 * takes to fill it, so all members do it as early as they can.
 */
extern void parallel_sort_release(ParallelSort *sort);

/*
 * Returns whether a rescan can read the sorted rows again, once there are any.
 */
extern bool parallel_sort_can_read_again(ParallelSort *sort);

/*
 * With a limit of one row of each group: is no further row of a group emitted?
 */
extern bool parallel_sort_is_limited_exactly(const ParallelSort *sort);

/* Does each sorted row stay where it is until the rows are dropped? */
extern bool parallel_sort_rows_stay(const ParallelSort *sort);

/*
 * Are rows marked that are equal to the row before them, as marks_ties asks?
 * Then parallel_sort_is_tie() returns whether the row that was fetched last is.
 * "order" is that of row_sort_order(), if this process emits all rows, and
 * "number" tells how many it has emitted before.
 */
extern bool parallel_sort_tells_ties(const ParallelSort *sort);

static inline bool
parallel_sort_is_tie(const ParallelSort *sort, const RowOrder *order,
					 uint64 number)
{
	return order != NULL ? row_order_is_tie(order, number) :
		part_reader_is_tie(sort->parts);
}

/* Returns the equality functions of the first ncolumns sort columns. */
extern FmgrInfo *parallel_sort_equalities(const ParallelSort *sort,
										  int ncolumns);

/*
 * The node's other CustomExecMethods.  parallel_sort_estimate() and
 * parallel_sort_init_worker() drop nothing.  parallel_sort_shutdown() drops
 * the rows of this process, and the row that was emitted last, if several
 * processes sort.  The others always drop them.
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

/* Shows the report in EXPLAIN. */
extern void parallel_sort_explain(const ParallelSort *sort,
								  struct ExplainState *es);

#endif							/* GPUSORT_PARALLEL_SORT_H */
