/*-------------------------------------------------------------------------
 *
 * window_function.h
 *	  Window functions: which can be evaluated, and their results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WINDOW_FUNCTION_H
#define GPUSORT_WINDOW_FUNCTION_H

#include "executor/executor.h"
#include "nodes/execnodes.h"

#include "window/null_map.h"
#include "window/window_frame.h"

/* What a function computes, if it is known here. */
typedef enum WindowFunctionKind
{
	WINDOW_UNKNOWN,
	WINDOW_ROW_NUMBER,
	WINDOW_RANK,
	WINDOW_DENSE_RANK,
	WINDOW_PERCENT_RANK,
	WINDOW_CUME_DIST,
	WINDOW_NTILE,
	WINDOW_LAG,
	WINDOW_LEAD,
	WINDOW_FIRST_VALUE,
	WINDOW_LAST_VALUE,
	WINDOW_NTH_VALUE,
	WINDOW_AGGREGATE
} WindowFunctionKind;

/*
 * Returns the kind of a function in a window with these frame options;
 * WINDOW_UNKNOWN if it cannot be evaluated as core would.
 */
extern WindowFunctionKind window_function_kind(const WindowFunc *function,
											   int frame_options);

/* Does a function of this kind have to know where peers begin or end? */
extern bool window_function_needs_peers(WindowFunctionKind kind,
										int frame_options);

/* Does it look at no row but the present one? */
extern bool window_function_passes(const WindowFunc *function,
								   int frame_options);

/* An expression that is evaluated for a row, mostly one of its columns. */
typedef struct WindowArgument
{
	ExprState  *expression;
	AttrNumber	column;			/* 0: the expression is not a column */
} WindowArgument;

/* The arguments and the filter of a function. */
typedef struct WindowArguments
{
	int			count;
	WindowArgument *arguments;
	ExprState  *filter;			/* NULL: there is none */
} WindowArguments;

/*
 * Prepares the arguments of a function, which are expressions of the columns
 * of the sorted rows, as OUTER_VARs.
 */
extern void window_arguments_init(WindowArguments *arguments,
								  const WindowFunc *function,
								  PlanState *parent);

/* Evaluates an argument for a row, in the per-tuple memory of the context. */
static inline Datum
window_argument(const WindowArgument *argument, TupleTableSlot *row,
				ExprContext *context, bool *isnull)
{
	if (likely(argument->column > 0))
		return slot_getattr(row, argument->column, isnull);
	context->ecxt_outertuple = row;
	return ExecEvalExprSwitchContext(argument->expression, context, isnull);
}

/* A function that is not an aggregate, at the present row of its window. */
typedef struct WindowFunction
{
	WindowFunctionKind kind;
	int			place;			/* of its result among all results */
	WindowFrame *frame;
	WindowArguments arguments;
	WindowCursor *cursor;		/* row of the first argument; NULL if the
								 * function evaluates it for no other row */

	/* IGNORE NULLS */
	bool		ignores_nulls;
	bool		keeps_nulls;	/* the argument is the same for a row whenever
								 * it is evaluated */
	NullMap		nulls;			/* of the argument, then */
	WindowCursor *unknown;		/* row for which the argument is not known */
	int64		found;			/* row of the last result; -1: there was none */

	/* lag() and lead() */
	bool		stable_shift;	/* the shift is the same at each row */
	int64		distance;		/* rows to look back */

	/* ntile() */
	int32		bucket;			/* number of the present bucket; 0: unknown */
	int64		bucket_rows;	/* rows of the bucket so far */
	int64		bucket_size;
	int64		larger_buckets; /* first buckets, which have one row more */
} WindowFunction;

/*
 * Prepares a function.  The slot is for a cursor of its own, if it needs one.
 */
extern void window_function_init(WindowFunction *function,
								 const WindowFunc *call, int place,
								 WindowFrame *frame, PlanState *parent,
								 TupleTableSlot *slot);

/*
 * Returns the result at the present row, whose slot is "row".  The context is
 * the one of the node's results.  The result is valid until the next row.
 */
extern Datum window_function_result(WindowFunction *function,
									TupleTableSlot *row,
									ExprContext *context, bool *isnull);

/* The first row that the function may look at when a later row is present. */
extern int64 window_function_first_row(const WindowFunction *function);

#endif							/* GPUSORT_WINDOW_FUNCTION_H */
