/*-------------------------------------------------------------------------
 *
 * input_rows.h
 *	  The rows of the plan below a node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INPUT_ROWS_H
#define GPUSORT_INPUT_ROWS_H

#include "executor/executor.h"
#include "nodes/execnodes.h"

typedef struct PageRows PageRows;

typedef struct InputRows
{
	PlanState  *plan;

	/*
	 * How rows are read from the pages of a table, for each scan that the
	 * plan appends; NULL: the plan gives each row.
	 */
	PageRows  **scans;
	const int  *scan;			/* number of the present scan, or -1 */
} InputRows;

/*
 * Prepares to read the rows of a plan, which has been begun, in the current
 * memory context.
 */
extern void input_rows_init(InputRows *rows, PlanState *plan);

/*
 * Returns the next row that passes the scan's filter on the page that the scan
 * has read; NULL if there is none.
 */
extern TupleTableSlot *input_rows_on_page(PageRows *rows);

/*
 * Returns the next row, which stays as it is until the next call; NULL or an
 * empty slot behind the last one.
 */
static inline TupleTableSlot *
input_rows_next(const InputRows *rows)
{
	int			scan = *rows->scan;

	if (scan >= 0 && rows->scans[scan] != NULL)
	{
		TupleTableSlot *slot = input_rows_on_page(rows->scans[scan]);

		if (likely(slot != NULL))
			return slot;
	}
	return ExecProcNode(rows->plan);
}

#endif							/* GPUSORT_INPUT_ROWS_H */
