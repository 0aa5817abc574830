/*-------------------------------------------------------------------------
 *
 * window_aggregate.h
 *	  The aggregates of a window, over the frame of each row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WINDOW_AGGREGATE_H
#define GPUSORT_WINDOW_AGGREGATE_H

#include "window/window_function.h"

/* An aggregate and its state. */
typedef struct WindowAggregate WindowAggregate;

/* The aggregates of a window, all over the same rows. */
typedef struct WindowAggregates
{
	WindowFrame *frame;
	int			count;
	WindowAggregate *aggregates;
	int64		base;			/* first row that has been aggregated */
	int64		end;			/* first row behind it that has not */
	WindowCursor *ahead;		/* row that is added; NULL if that always is
								 * the present row */
	WindowCursor *behind;		/* row that is removed; NULL if none ever is */
	ExprContext *input_context; /* for the rows that are added and removed */
	WindowAggState *call_context;	/* tells aggregate functions their memory */
	MemoryContext memory;		/* states of aggregates that never lose rows */
} WindowAggregates;

/*
 * Prepares aggregates of these WindowFuncs, whose results have these places
 * among all results.  The slots are for cursors.  Raises an error where core
 * does: if the owner of an aggregate may not call its functions, or if these
 * do not go together.
 */
extern void window_aggregates_init(WindowAggregates *all, WindowFrame *frame,
								   const List *calls, const List *places,
								   PlanState *parent, TupleTableSlot *ahead,
								   TupleTableSlot *behind);

/*
 * Sets the results of all at the present row, whose slot is "row", among all
 * results.  The context is the one of the node's results.  The results are
 * valid until the next row.
 */
extern void window_aggregates_results(WindowAggregates *all,
									  TupleTableSlot *row,
									  ExprContext *context, Datum *values,
									  bool *isnull);

/* The first row that aggregates may look at when a later row is present. */
extern int64 window_aggregates_first_row(const WindowAggregates *all);

/* Frees all states. */
extern void window_aggregates_reset(WindowAggregates *all);

#endif							/* GPUSORT_WINDOW_AGGREGATE_H */
