/*-------------------------------------------------------------------------
 *
 * window_function.c
 *	  Window functions: which can be evaluated, and their results.
 *
 * The functions are core's own, known by their numbers, since core's code for
 * them works only on rows of a WindowAgg.  Some follow from the place of the
 * present row among its peers and in its partition.  The others evaluate an
 * argument for another row, which they find by its position.
 *
 * A function is evaluated for the same rows as in core, and in the same cases and
 * order.  So it raises the same errors, and its arguments may be volatile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "port/compat.h"
#include "window/window_function.h"

/* The kind of a function by its number alone. */
static WindowFunctionKind
kind_of_function(const WindowFunc *function)
{
	if (function->winagg)
		return WINDOW_AGGREGATE;
	switch (function->winfnoid)
	{
		case F_ROW_NUMBER:
			return WINDOW_ROW_NUMBER;
		case F_RANK_:
			return WINDOW_RANK;
		case F_DENSE_RANK_:
			return WINDOW_DENSE_RANK;
		case F_PERCENT_RANK_:
			return WINDOW_PERCENT_RANK;
		case F_CUME_DIST_:
			return WINDOW_CUME_DIST;
		case F_NTILE:
			return WINDOW_NTILE;
		case F_LAG_ANYELEMENT:
		case F_LAG_ANYELEMENT_INT4:
		case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return WINDOW_LAG;
		case F_LEAD_ANYELEMENT:
		case F_LEAD_ANYELEMENT_INT4:
		case F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return WINDOW_LEAD;
		case F_FIRST_VALUE:
			return WINDOW_FIRST_VALUE;
		case F_LAST_VALUE:
			return WINDOW_LAST_VALUE;
		case F_NTH_VALUE:
			return WINDOW_NTH_VALUE;
		default:
			return WINDOW_UNKNOWN;
	}
}

/* Does a function of this kind look at its frame? */
static bool
uses_frame(WindowFunctionKind kind)
{
	return kind == WINDOW_FIRST_VALUE || kind == WINDOW_LAST_VALUE ||
		kind == WINDOW_NTH_VALUE || kind == WINDOW_AGGREGATE;
}

/* Can a function of this kind be told what to do with NULLs? */
static bool
takes_null_treatment(WindowFunctionKind kind)
{
	return kind == WINDOW_LAG || kind == WINDOW_LEAD ||
		kind == WINDOW_FIRST_VALUE || kind == WINDOW_LAST_VALUE ||
		kind == WINDOW_NTH_VALUE;
}

/*
 * May the result of an aggregate be made again and again as its state grows?
 * If not, core raises an error, or is forced to use the functions for moving
 * frames.
 */
static bool
is_read_only(Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool		is_read_only;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	is_read_only = form->aggfinalmodify == AGGMODIFY_READ_ONLY &&
		(!OidIsValid(form->aggminvtransfn) ||
		 form->aggmfinalmodify == AGGMODIFY_READ_ONLY);
	ReleaseSysCache(tuple);
	return is_read_only;
}

/*
 * Does core look for the first row of a frame where it does not look at rows
 * any more?  That can happen to a frame that begins behind the present row, if
 * ties are excluded.  Then core raises an error, which depends on the rows
 * before.  If NULLs are left out, core looks at one row after the other.
 */
static bool
may_fail(const WindowFunc *function, WindowFunctionKind kind,
		 int frame_options)
{
	return (kind == WINDOW_FIRST_VALUE || kind == WINDOW_NTH_VALUE) &&
		!IGNORES_NULLS(function) &&
		(frame_options & FRAMEOPTION_EXCLUDE_TIES) != 0 &&
		(frame_options & FRAMEOPTION_START_OFFSET_FOLLOWING) != 0;
}

WindowFunctionKind
window_function_kind(const WindowFunc *function, int frame_options)
{
	WindowFunctionKind kind = kind_of_function(function);

	/* EXPLAIN looks for the function of a JSON constructor below a WindowAgg */
	if (kind == WINDOW_UNKNOWN ||
		(HAS_NULL_TREATMENT(function) && !takes_null_treatment(kind)) ||
		IS_JSON_CONSTRUCTOR(function->winfnoid) ||
		may_fail(function, kind, frame_options) ||
		(kind == WINDOW_AGGREGATE && !is_read_only(function->winfnoid)))
		return WINDOW_UNKNOWN;
	return kind;
}

/* Do peers of the present row decide which rows are in its frame? */
static bool
frame_has_peers(int options)
{
	return window_frame_excludes_peers(options) ||
		((options & FRAMEOPTION_ROWS) == 0 &&
		 ((options & FRAMEOPTION_START_UNBOUNDED_PRECEDING) == 0 ||
		  (options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) == 0));
}

bool
window_function_needs_peers(WindowFunctionKind kind, int frame_options)
{
	switch (kind)
	{
		case WINDOW_RANK:
		case WINDOW_DENSE_RANK:
		case WINDOW_PERCENT_RANK:
		case WINDOW_CUME_DIST:
			return true;
		default:
			return uses_frame(kind) && frame_has_peers(frame_options);
	}
}

bool
window_function_passes(const WindowFunc *function, int frame_options)
{
	switch (kind_of_function(function))
	{
		case WINDOW_ROW_NUMBER:
		case WINDOW_RANK:
		case WINDOW_DENSE_RANK:
			return true;
		case WINDOW_LAST_VALUE:
		case WINDOW_AGGREGATE:
			return window_frame_grows_by_row(frame_options) &&
				!IGNORES_NULLS(function);
		default:
			return false;
	}
}

void
window_arguments_init(WindowArguments *arguments, const WindowFunc *function,
					  PlanState *parent)
{
	ListCell   *cell;

	arguments->count = list_length(function->args);
	arguments->arguments = palloc0((arguments->count + 1) *
								   sizeof(WindowArgument));
	foreach(cell, function->args)
	{
		Expr	   *expression = lfirst(cell);
		WindowArgument *argument =
			&arguments->arguments[foreach_current_index(cell)];

		argument->expression = ExecInitExpr(expression, parent);
		if (IsA(expression, Var) && ((Var *) expression)->varattno > 0)
			argument->column = ((Var *) expression)->varattno;
	}
	arguments->filter = ExecInitExpr(function->aggfilter, parent);
}

/*
 * Prepares to leave out NULLs of an argument.  With a cursor of its own for rows
 * that are not known, another stays at the row of the last result, which may be
 * far away.
 */
static void
init_nulls(WindowFunction *function, Node *argument, TupleTableSlot *slot)
{
	function->ignores_nulls = true;
	/* core evaluates other arguments anew each time */
	function->keeps_nulls = !contain_volatile_functions(argument) &&
		!contain_subplans(argument);
	if (function->keeps_nulls)
		null_map_init(&function->nulls);
	function->unknown = window_rows_add_cursor(function->frame->rows, slot,
											   false, false);
}

void
window_function_init(WindowFunction *function, const WindowFunc *call,
					 int place, WindowFrame *frame, PlanState *parent,
					 TupleTableSlot *slot)
{
	memset(function, 0, sizeof(*function));
	function->kind = kind_of_function(call);
	function->place = place;
	function->frame = frame;
	window_arguments_init(&function->arguments, call, parent);
	function->stable_shift = list_length(call->args) < 2 ||
		(!contain_var_clause((Node *) lsecond(call->args)) &&
		 !contain_volatile_functions((Node *) lsecond(call->args)));
	if (function->arguments.count > 0 && function->kind != WINDOW_NTILE &&
		!window_function_passes(call, frame->options))
		function->cursor = window_rows_add_cursor(frame->rows, slot, false, false);
	if (IGNORES_NULLS(call))
		init_nulls(function, linitial(call->args),
				   ExecInitExtraTupleSlot(parent->state,
										  slot->tts_tupleDescriptor,
										  slot->tts_ops));
}

/* Evaluates an argument for the present row. */
static inline Datum
present_argument(const WindowFunction *function, int number,
				 TupleTableSlot *row, ExprContext *context, bool *isnull)
{
	return window_argument(&function->arguments.arguments[number], row, context,
						   isnull);
}

/* Evaluates the first argument for the row at a position, with a cursor. */
static inline Datum
value_by(const WindowFunction *function, WindowCursor *cursor, int64 position,
		 TupleTableSlot *row, ExprContext *context, bool *isnull)
{
	if (position != function->frame->row)
		row = window_rows_fetch(function->frame->rows, cursor, position);
	return present_argument(function, 0, row, context, isnull);
}

static inline Datum
value_at(const WindowFunction *function, int64 position, TupleTableSlot *row,
		 ExprContext *context, bool *isnull)
{
	return value_by(function, function->cursor, position, row, context, isnull);
}

static inline Datum
no_value(bool *isnull)
{
	*isnull = true;
	return (Datum) 0;
}

/*
 * Is a row among those at which a function looks, if the rows between it and
 * the first one of these are?  The step tells the direction.
 */
static bool
looks_at(const WindowFunction *function, int64 position, int step)
{
	WindowFrame *frame = function->frame;
	bool		of_frame = uses_frame(function->kind);

	if (step < 0)
		return position >= (of_frame ? window_frame_head(frame) : frame->start);
	return of_frame ? window_frame_ends_behind(frame, position) :
		window_frame_partition_has(frame, position);
}

/* Is a row left out although the rows around it are not? */
static bool
leaves_out(const WindowFunction *function, int64 position)
{
	return uses_frame(function->kind) &&
		window_frame_excludes(function->frame->options) &&
		window_frame_leaves_out(function->frame, position);
}

/*
 * The n-th value of the first argument that is not NULL, from a row on, ahead
 * or back; NULL if there are fewer.  Sets "found".  Each row takes one step, so
 * that the argument is evaluated for the same rows as in core.
 */
static Datum
value_ignoring_nulls(WindowFunction *function, int64 position, int step,
					 int64 n, TupleTableSlot *row, ExprContext *context,
					 bool *isnull)
{
	NullMap    *nulls = &function->nulls;

	for (function->found = -1;; position += step)
	{
		Datum		value;

		CHECK_FOR_INTERRUPTS();
		if (function->keeps_nulls)
			position = step < 0 ? null_map_skip_back(nulls, position) :
				null_map_skip_ahead(nulls, position);
		if (!looks_at(function, position, step))
			return no_value(isnull);
		if (leaves_out(function, position))
			continue;
		if (function->keeps_nulls && null_map_has_value(nulls, position))
		{
			if (--n > 0)
				continue;
			function->found = position;
			return value_at(function, position, row, context, isnull);
		}
		value = value_by(function, function->unknown, position, row, context,
						 isnull);
		if (function->keeps_nulls)
			null_map_note(nulls, position, *isnull);
		if (!*isnull && --n == 0)
		{
			function->found = position;
			return value;
		}
	}
}

/*
 * Finds the value at a shift ahead, or back if it is negative.  The shift counts
 * rows, or values that are not NULL.  False if the partition has no such row.
 */
static bool
find_shifted(WindowFunction *function, int64 shift, TupleTableSlot *row,
			 ExprContext *context, Datum *value, bool *isnull)
{
	WindowFrame *frame = function->frame;
	int64		position = frame->row + shift;
	int			step = shift < 0 ? -1 : 1;

	function->distance = Max(-shift, 0);
	if (!function->ignores_nulls || shift == 0)
	{
		if (position < frame->start ||
			!window_frame_partition_has(frame, position))
			return false;
		*value = value_at(function, position, row, context, isnull);
		return true;
	}
	*value = value_ignoring_nulls(function, frame->row + step, step,
								  shift * step, row, context, isnull);
	if (step < 0)
		function->distance = frame->row -
			(function->keeps_nulls && function->found >= 0 ?
			 function->found : frame->start);
	return function->found >= 0;
}

/*
 * The value of lag() or lead(), or the default if the partition has no such
 * row.
 */
static Datum
shifted_value(WindowFunction *function, TupleTableSlot *row,
			  ExprContext *context, bool *isnull)
{
	int64		shift = 1;
	Datum		value;

	if (function->arguments.count > 1)
	{
		shift = DatumGetInt32(present_argument(function, 1, row, context,
											   isnull));
		if (*isnull)
			return no_value(isnull);
	}
	if (function->kind == WINDOW_LAG)
		shift = -shift;
	if (find_shifted(function, shift, row, context, &value, isnull))
		return value;
	return function->arguments.count > 2 ?
		present_argument(function, 2, row, context, isnull) :
		no_value(isnull);
}

/* Begins the buckets of ntile() in a partition; false if their number is NULL. */
static bool
begin_buckets(WindowFunction *function, TupleTableSlot *row,
			  ExprContext *context)
{
	WindowFrame *frame = function->frame;
	int64		nrows = window_frame_partition_end(frame) - frame->start;
	bool		isnull;
	int32		nbuckets = DatumGetInt32(present_argument(function, 0, row,
														  context, &isnull));

	if (isnull)
		return false;
	if (nbuckets <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_ARGUMENT_FOR_NTILE),
				 errmsg("argument of ntile must be greater than zero")));
	function->bucket = 1;
	function->bucket_rows = 0;
	function->bucket_size = nrows / nbuckets;
	function->larger_buckets = nrows % nbuckets;
	return true;
}

/*
 * The bucket of the present row.  The number of buckets is evaluated until it
 * is not NULL.
 */
static Datum
bucket_number(WindowFunction *function, TupleTableSlot *row,
			  ExprContext *context, bool *isnull)
{
	if (function->frame->new_partition)
		function->bucket = 0;
	if (function->bucket == 0 && !begin_buckets(function, row, context))
		return no_value(isnull);
	if (function->bucket_rows >=
		Max(function->bucket_size +
			(function->bucket <= function->larger_buckets), 1))
	{
		function->bucket++;
		function->bucket_rows = 0;
	}
	function->bucket_rows++;
	*isnull = false;
	return Int32GetDatum(function->bucket);
}

/* The value of the row with this number, from 0, in the frame. */
static Datum
value_of_nth(WindowFunction *function, int64 number, TupleTableSlot *row,
			 ExprContext *context, bool *isnull)
{
	WindowFrame *frame = function->frame;
	int64		position;
	bool		is_there;

	if (function->ignores_nulls)
		return value_ignoring_nulls(function, window_frame_head(frame), 1,
									number + 1, row, context, isnull);
	if (unlikely(window_frame_excludes(frame->options)))
	{
		position = window_frame_nth_row(frame, number);
		is_there = window_frame_has(frame, position);
	}
	else
	{
		position = window_frame_head(frame) + number;
		is_there = window_frame_ends_behind(frame, position);
	}
	return is_there ? value_at(function, position, row, context, isnull) :
		no_value(isnull);
}

/* The value of the last row of the frame. */
static Datum
last_value(WindowFunction *function, TupleTableSlot *row,
		   ExprContext *context, bool *isnull)
{
	WindowFrame *frame = function->frame;
	int64		position;
	bool		is_there;

	if (function->ignores_nulls)
		return value_ignoring_nulls(function, window_frame_end(frame) - 1, -1,
									1, row, context, isnull);
	if (unlikely(window_frame_excludes(frame->options)))
	{
		position = window_frame_last_row(frame);
		is_there = window_frame_has(frame, position);
	}
	else
	{
		position = window_frame_end(frame) - 1;
		is_there = position >= window_frame_head(frame);
	}
	return is_there ? value_at(function, position, row, context, isnull) :
		no_value(isnull);
}

/* The value of the n-th row of the frame. */
static Datum
nth_value(WindowFunction *function, TupleTableSlot *row,
		  ExprContext *context, bool *isnull)
{
	int32		n = DatumGetInt32(present_argument(function, 1, row, context,
												   isnull));

	if (*isnull)
		return no_value(isnull);
	if (n <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_ARGUMENT_FOR_NTH_VALUE),
				 errmsg("argument of nth_value must be greater than zero")));
	return value_of_nth(function, n - 1, row, context, isnull);
}

/* The rank of the present row among the others of its partition, from 0 to 1. */
static float8
percent_rank(WindowFrame *frame)
{
	int64		nothers = window_frame_partition_end(frame) - frame->start - 1;

	return nothers == 0 ? 0 :
		(float8) (frame->peers_start - frame->start) / (float8) nothers;
}

/* The part of the partition's rows up to the peers of the present row. */
static float8
cume_dist(WindowFrame *frame)
{
	int64		nrows = window_frame_partition_end(frame) - frame->start;

	return (float8) (window_frame_peers_end(frame) - frame->start) /
		(float8) nrows;
}

Datum
window_function_result(WindowFunction *function, TupleTableSlot *row,
					   ExprContext *context, bool *isnull)
{
	WindowFrame *frame = function->frame;

	if (unlikely(function->keeps_nulls) && frame->new_partition)
		null_map_begin(&function->nulls, frame->start);
	*isnull = false;
	switch (function->kind)
	{
		case WINDOW_ROW_NUMBER:
			return Int64GetDatum(frame->row - frame->start + 1);
		case WINDOW_RANK:
			return Int64GetDatum(frame->peers_start - frame->start + 1);
		case WINDOW_DENSE_RANK:
			return Int64GetDatum(frame->peers_number + 1);
		case WINDOW_PERCENT_RANK:
			return Float8GetDatum(percent_rank(frame));
		case WINDOW_CUME_DIST:
			return Float8GetDatum(cume_dist(frame));
		case WINDOW_NTILE:
			return bucket_number(function, row, context, isnull);
		case WINDOW_LAG:
		case WINDOW_LEAD:
			return shifted_value(function, row, context, isnull);
		case WINDOW_FIRST_VALUE:
			return value_of_nth(function, 0, row, context, isnull);
		case WINDOW_LAST_VALUE:
			return last_value(function, row, context, isnull);
		case WINDOW_NTH_VALUE:
			return nth_value(function, row, context, isnull);
		default:
			elog(ERROR, "unexpected window function of kind %d",
				 (int) function->kind);
	}
}

int64
window_function_first_row(const WindowFunction *function)
{
	WindowFrame *frame = function->frame;

	if (function->cursor == NULL)
		return frame->row;
	switch (function->kind)
	{
		case WINDOW_LAG:
		case WINDOW_LEAD:
			return function->stable_shift ?
				Max(frame->row - function->distance, frame->start) :
				frame->start;
		case WINDOW_LAST_VALUE:
			/* the last row of a frame never moves back, unless it is excluded */
			if (window_frame_excludes(frame->options))
				return Min(window_frame_head(frame), frame->row);
			if (function->ignores_nulls)
				return Min(function->keeps_nulls && function->found >= 0 ?
						   function->found : window_frame_head(frame),
						   frame->row);
			return (frame->options & FRAMEOPTION_END_OFFSET_PRECEDING) == 0 ?
				frame->row : Max(function->cursor->position, frame->start);
		default:
			return Min(window_frame_head(frame), frame->row);
	}
}
