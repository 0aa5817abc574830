/*-------------------------------------------------------------------------
 *
 * window_run.h
 *	  A run of windows over one order, evaluated row by row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WINDOW_RUN_H
#define GPUSORT_WINDOW_RUN_H

#include "window/window_aggregate.h"
#include "window/window_slot.h"

/* A window, as a plan says it. */
typedef struct WindowDefinition
{
	char	   *name;
	int			npartition_columns; /* first sort columns, which make a
									 * partition */
	int			npeer_columns;	/* first sort columns, which make peers */
	int			options;		/* FRAMEOPTION_ flags */
	bool		is_partitioned; /* it has a PARTITION BY */
	bool		is_ordered;		/* it has an ORDER BY */
	bool		is_top;			/* no window of the query is above it */
	Node	   *start_offset;	/* offsets of the frame, or NULL */
	Node	   *end_offset;
	WindowRangeDefinition start_range;	/* if they are distances of values */
	WindowRangeDefinition end_range;
	List	   *run_condition;	/* over columns of the run's rows */
	List	   *functions;		/* WindowFuncs, over columns of the sorted
								 * rows */
} WindowDefinition;

/* The number of first sort columns that the windows look at. */
extern int	window_definitions_columns(const WindowDefinition *definitions,
									   int nwindows);

/* A window at the present row. */
typedef struct Window Window;

typedef struct WindowRun
{
	WindowRows	rows;
	int64		row;			/* present row */
	WindowCursor *present;
	bool		done;			/* a run condition has ended the run */
	int			nwindows;
	Window	   *windows;
	int			nresults;
	Datum	   *values;			/* results of the functions of all windows, in
								 * the order of the definitions */
	bool	   *isnull;
	WindowSlot *slot;			/* the row with its results */
	ExprContext *context;		/* for results and conditions */
	MemoryContext offset_context;	/* offsets of frames */
} WindowRun;

/*
 * Prepares the windows, the lowest first, for sorted rows of this descriptor.
 * The caller sets run->slot to a slot of the results, with the columns to which
 * run conditions refer, and only then calls window_run_init_conditions().
 */
extern void window_run_init(WindowRun *run,
							const WindowDefinition *definitions, int nwindows,
							TupleDesc descriptor, const WindowKeys *keys,
							PlanState *parent);
extern void window_run_init_conditions(WindowRun *run,
									   const WindowDefinition *definitions,
									   PlanState *parent);

/*
 * Evaluates the offsets of all frames, as they are until the next call.  To be
 * called before rows are sorted, since an offset may fail.
 */
extern void window_run_find_offsets(WindowRun *run);

/* Begin before the first row, of rows as in window_rows.h. */
extern void window_run_begin_order(WindowRun *run, RowOrder *order);
extern void window_run_begin_reading(WindowRun *run, NextRowFunction next,
									 void *source, bool stay);
extern void window_run_begin_again(WindowRun *run);

/* Forgets all rows. */
extern void window_run_end(WindowRun *run);

/*
 * Evaluates the functions for the next row that meets the run conditions;
 * returns its slot, or NULL if there is none.  The row and its results are
 * valid until the next call.
 */
extern TupleTableSlot *window_run_next(WindowRun *run);

#endif							/* GPUSORT_WINDOW_RUN_H */
