/*-------------------------------------------------------------------------
 *
 * window_run.c
 *	  A run of windows over one order, evaluated row by row.
 *
 * Core has a WindowAgg for each window, one above the other, each with a copy
 * of its rows.  Here all windows look at the same rows.  The columns of the
 * partitions and of the order of each window are the first ones of one sort.
 * So the first column in which a row differs from the row before tells where
 * partitions and peers begin, for all windows at once.
 *
 * A run condition, like row_number() <= 3, stays false up to the end of the
 * partition once it is.  Then the functions of its window are NULL, and need
 * not be evaluated.  If no window is above, the rows are left out.  The
 * conditions of the other windows leave out no rows, since the windows above
 * need them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "port/compat.h"
#include "port/execution_check.h"
#include "window/window_run.h"

/* Rows are released whenever this many of them have been present. */
#define RELEASED_ROWS	64

struct Window
{
	WindowFrame frame;
	bool		is_partitioned;
	bool		is_top;
	ExprState  *start_offset;
	ExprState  *end_offset;
	ExprState  *run_condition;	/* NULL: there is none */
	bool		has_failed;		/* the condition, in this partition */
	int			first_place;	/* of the results of this window */
	int			nresults;
	int			nfunctions;		/* functions that are no aggregates */
	WindowFunction *functions;
	WindowAggregates aggregates;
};

/* Does a window look at its peers, or at frames that they make? */
static bool
needs_peers(const WindowDefinition *definition)
{
	ListCell   *cell;

	foreach(cell, definition->functions)
	{
		if (window_function_needs_peers(window_function_kind(lfirst(cell),
															 definition->options),
										definition->options))
			return true;
	}
	return false;
}

int
window_definitions_columns(const WindowDefinition *definitions, int nwindows)
{
	int			ncolumns = 0;

	for (int i = 0; i < nwindows; i++)
	{
		const WindowDefinition *definition = &definitions[i];

		ncolumns = Max(ncolumns, needs_peers(definition) ?
					   definition->npeer_columns :
					   definition->npartition_columns);
	}
	return ncolumns;
}

/* Does no window look at rows before or behind the present one? */
static bool
rows_pass(const WindowDefinition *definitions, int nwindows)
{
	for (int i = 0; i < nwindows; i++)
	{
		int			options = definitions[i].options;
		ListCell   *cell;

		if (window_frame_has_range(options))
			return false;
		foreach(cell, definitions[i].functions)
		{
			if (!window_function_passes(lfirst(cell), options))
				return false;
		}
	}
	return true;
}

static TupleTableSlot *
make_slot(PlanState *parent, TupleDesc descriptor)
{
	return ExecInitExtraTupleSlot(parent->state, descriptor,
								  &TTSOpsMinimalTuple);
}

/* Prepares the functions of a window. */
static void
init_functions(Window *window, const WindowDefinition *definition,
			   PlanState *parent, TupleDesc descriptor)
{
	List	   *aggregates = NIL;
	List	   *places = NIL;
	ListCell   *cell;

	window->nresults = list_length(definition->functions);
	window->functions = palloc0((window->nresults + 1) *
								sizeof(WindowFunction));
	foreach(cell, definition->functions)
	{
		WindowFunc *call = lfirst_node(WindowFunc, cell);
		int			place = window->first_place + foreach_current_index(cell);

		check_execution(call->winfnoid, GetUserId(), OBJECT_FUNCTION);
		if (call->winagg)
		{
			aggregates = lappend(aggregates, call);
			places = lappend_int(places, place);
		}
		else
			window_function_init(&window->functions[window->nfunctions++],
								 call, place, &window->frame, parent,
								 make_slot(parent, descriptor));
	}
	window_aggregates_init(&window->aggregates, &window->frame, aggregates,
						   places, parent, make_slot(parent, descriptor),
						   make_slot(parent, descriptor));
}

/* Prepares an end of a frame that may be at a distance of values. */
static void
init_range(WindowRun *run, WindowRange *range,
		   const WindowRangeDefinition *definition, bool preceding,
		   PlanState *parent)
{
	if (!OidIsValid(definition->in_range))
		return;
	range->definition = *definition;
	range->preceding = preceding;
	range->present = run->present;
	range->cursor = window_rows_add_cursor(&run->rows,
										   make_slot(parent,
													 run->rows.descriptor),
										   false, false);
	fmgr_info(definition->in_range, &range->in_range);
}

void
window_run_init(WindowRun *run, const WindowDefinition *definitions,
				int nwindows, TupleDesc descriptor, const WindowKeys *keys,
				PlanState *parent)
{
	memset(run, 0, sizeof(*run));
	window_rows_init(&run->rows, descriptor, keys,
					 rows_pass(definitions, nwindows));
	run->present = window_rows_add_cursor(&run->rows,
										  make_slot(parent, descriptor),
										  false, true);
	run->context = parent->ps_ExprContext;
	run->offset_context = AllocSetContextCreate(CurrentMemoryContext,
												"gpusort frame offsets",
												ALLOCSET_SMALL_SIZES);
	run->nwindows = nwindows;
	run->windows = palloc0(nwindows * sizeof(Window));
	for (int i = 0; i < nwindows; i++)
	{
		const WindowDefinition *definition = &definitions[i];
		Window	   *window = &run->windows[i];

		window->frame.rows = &run->rows;
		window->frame.npartition_columns = definition->npartition_columns;
		window->frame.npeer_columns = definition->npeer_columns;
		window->frame.options = definition->options;
		window->is_partitioned = definition->is_partitioned;
		window->is_top = definition->is_top;
		window->start_offset = ExecInitExpr((Expr *) definition->start_offset,
											parent);
		window->end_offset = ExecInitExpr((Expr *) definition->end_offset,
										  parent);
		init_range(run, &window->frame.head_range, &definition->start_range,
				   (definition->options &
					FRAMEOPTION_START_OFFSET_PRECEDING) != 0, parent);
		init_range(run, &window->frame.end_range, &definition->end_range,
				   (definition->options &
					FRAMEOPTION_END_OFFSET_PRECEDING) != 0, parent);
		window->first_place = run->nresults;
		init_functions(window, definition, parent, descriptor);
		run->nresults += window->nresults;
	}
	run->values = palloc0((run->nresults + 1) * sizeof(Datum));
	run->isnull = palloc0((run->nresults + 1) * sizeof(bool));
}

void
window_run_init_conditions(WindowRun *run, const WindowDefinition *definitions,
						   PlanState *parent)
{
	for (int i = 0; i < run->nwindows; i++)
		run->windows[i].run_condition =
			ExecInitQual(definitions[i].run_condition, parent);
}

/*
 * Evaluates an offset of a frame.  It is a number of rows or groups, unless it
 * is a distance of values.
 */
static void
find_offset(ExprState *expression, ExprContext *context, const char *end,
			int64 *offset, WindowRange *range)
{
	bool		isnull;
	Datum		value;

	if (expression == NULL)
		return;
	value = ExecEvalExprSwitchContext(expression, context, &isnull);
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("frame %s offset must not be null", end)));
	if (OidIsValid(range->definition.in_range))
	{
		int16		length;
		bool		by_value;

		get_typlenbyval(exprType((Node *) expression->expr), &length,
						&by_value);
		range->distance = datumCopy(value, by_value, length);
		return;
	}
	*offset = DatumGetInt64(value);
	if (*offset < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PRECEDING_OR_FOLLOWING_SIZE),
				 errmsg("frame %s offset must not be negative", end)));
}

/* Forgets the results of the rows before. */
static void
reset_windows(WindowRun *run)
{
	run->row = -1;
	run->done = false;
	for (int i = 0; i < run->nwindows; i++)
	{
		Window	   *window = &run->windows[i];

		window_frame_reset(&window->frame);
		window_aggregates_reset(&window->aggregates);
		window->has_failed = false;
	}
}

/* Core begins with the window at the top, before it asks for a row. */
void
window_run_find_offsets(WindowRun *run)
{
	MemoryContext caller_context;

	MemoryContextReset(run->offset_context);
	caller_context = MemoryContextSwitchTo(run->offset_context);
	for (int i = run->nwindows - 1; i >= 0; i--)
	{
		Window	   *window = &run->windows[i];
		WindowFrame *frame = &window->frame;

		find_offset(window->start_offset, run->context, "starting",
					&frame->start_offset, &frame->head_range);
		find_offset(window->end_offset, run->context, "ending",
					&frame->end_offset, &frame->end_range);
	}
	MemoryContextSwitchTo(caller_context);
}

void
window_run_begin_order(WindowRun *run, RowOrder *order)
{
	window_rows_begin_order(&run->rows, order);
	reset_windows(run);
}

void
window_run_begin_reading(WindowRun *run, NextRowFunction next, void *source,
						 bool stay)
{
	window_rows_begin_reading(&run->rows, next, source, stay);
	reset_windows(run);
}

void
window_run_begin_again(WindowRun *run)
{
	window_rows_begin_again(&run->rows);
	reset_windows(run);
}

void
window_run_end(WindowRun *run)
{
	reset_windows(run);
	window_rows_end(&run->rows);
}

/* Moves to the next row; false if there is none. */
static inline bool
move_on(WindowRun *run)
{
	WindowRows *rows = &run->rows;

	if (!window_rows_reach(rows, run->row + 1))
		return false;
	run->row++;
	if (rows->order != NULL && unlikely(gpusort_verify))
		row_order_verify(rows->order, run->row);
	return true;
}

/*
 * Finds a frame that is at a distance of values, even if nobody looks at it, as
 * core does, since that may fail.
 */
static inline void
find_range(WindowFrame *frame)
{
	if (likely(!window_frame_has_range(frame->options)))
		return;
	(void) window_frame_head(frame);
	(void) window_frame_end(frame);
}

/* Evaluates the functions of a window: aggregates last, as in core. */
static inline void
evaluate_functions(WindowRun *run, Window *window, TupleTableSlot *row)
{
	for (int i = 0; i < window->nfunctions; i++)
	{
		WindowFunction *function = &window->functions[i];

		run->values[function->place] =
			window_function_result(function, row, run->context,
								   &run->isnull[function->place]);
	}
	if (window->aggregates.count > 0)
		window_aggregates_results(&window->aggregates, row, run->context,
								  run->values, run->isnull);
	find_range(&window->frame);
}

/* Makes the results of a window NULL. */
static void
clear_results(WindowRun *run, const Window *window)
{
	for (int i = 0; i < window->nresults; i++)
	{
		run->values[window->first_place + i] = (Datum) 0;
		run->isnull[window->first_place + i] = true;
	}
}

/* Does the present row meet the run condition of a window? */
static inline bool
meets_condition(WindowRun *run, const Window *window, TupleTableSlot *row)
{
	if (likely(window->run_condition == NULL))
		return true;
	run->context->ecxt_scantuple = window_slot_show(run->slot, row);
	return ExecQual(window->run_condition, run->context);
}

/*
 * Evaluates a window at the present row.  Returns false if the row is left
 * out.
 */
static inline bool
evaluate_window(WindowRun *run, Window *window, TupleTableSlot *row,
				int difference)
{
	window_frame_enter(&window->frame, run->row, difference);
	if (window->frame.new_partition)
		window->has_failed = false;
	if (window->has_failed)
		find_range(&window->frame);
	else
	{
		evaluate_functions(run, window, row);
		if (meets_condition(run, window, row))
			return true;
		clear_results(run, window);
		window->has_failed = true;
		run->done = window->is_top && !window->is_partitioned;
	}
	return !window->is_top;
}

/* The first row that a window may look at when the next row is present. */
static int64
first_row_of(const Window *window)
{
	const WindowFrame *frame = &window->frame;
	int64		first = frame->row;

	/* the next row that it evaluates is in another partition */
	if (window->has_failed)
		return window_frame_has_range(frame->options) ?
			Min(first, window_frame_first_row(frame)) : first;
	for (int i = 0; i < window->nfunctions; i++)
		first = Min(first, window_function_first_row(&window->functions[i]));
	if (window->aggregates.count > 0)
		first = Min(first, window_aggregates_first_row(&window->aggregates));
	return Min(first, window_frame_first_row(frame));
}

/* Releases the rows that no window will look at when the next row is present. */
static void
release_rows(WindowRun *run)
{
	int64		first = run->row;

	for (int i = 0; i < run->nwindows; i++)
		first = Min(first, first_row_of(&run->windows[i]));
	window_rows_release(&run->rows, first);
}

TupleTableSlot *
window_run_next(WindowRun *run)
{
	while (!run->done && move_on(run))
	{
		TupleTableSlot *row = window_rows_fetch(&run->rows, run->present,
												run->row);
		int			difference = window_rows_difference(&run->rows, run->row);
		bool		is_left_out = false;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(run->context);
		for (int i = 0; i < run->nwindows; i++)
			is_left_out |= !evaluate_window(run, &run->windows[i], row,
											difference);
		if (run->row % RELEASED_ROWS == 0 && window_rows_are_kept(&run->rows))
			release_rows(run);
		if (!is_left_out)
			return window_slot_show(run->slot, row);
	}
	return NULL;
}
