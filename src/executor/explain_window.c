/*-------------------------------------------------------------------------
 *
 * explain_window.c
 *	  What EXPLAIN shows of the windows of a GpuSortWindow.
 *
 * A window is shown as core shows the window of a WindowAgg from 18 on, and
 * each function as in the query.  All majors show the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

#include "executor/explain_sort.h"
#include "executor/explain_window.h"
#include "port/compat.h"

/* What it takes to show expressions of a node. */
typedef struct Shown
{
	List	   *context;
	bool		use_prefix;
	List	   *keys;			/* sort columns, as EXPLAIN shows them */
} Shown;

Expr *
window_function_shown(const WindowFunc *function)
{
	return (Expr *) makeFuncExpr(function->winfnoid, function->wintype,
								 function->args, function->wincollid,
								 function->inputcollid, COERCE_EXPLICIT_CALL);
}

static char *
show_expression(const Shown *shown, Node *expression)
{
	return deparse_expression(expression, shown->context, shown->use_prefix,
							  false);
}

/* Adds a space, unless this is the first word in parentheses. */
static void
add_space(StringInfo text)
{
	if (text->data[text->len - 1] != '(')
		appendStringInfoChar(text, ' ');
}

/* Adds sort columns, after the words that precede them. */
static void
add_columns(StringInfo text, const Shown *shown, const char *words, int first,
			int end)
{
	if (first < end)
		add_space(text);
	for (int i = first; i < end; i++)
		appendStringInfo(text, "%s%s", i == first ? words : ", ",
						 (char *) list_nth(shown->keys, i));
}

/*
 * Adds an end of a frame.  The flags are those of a CURRENT ROW, and of an
 * offset that precedes it.
 */
static void
add_frame_end(StringInfo text, const Shown *shown, int options,
			  const char *unbounded, int row, int preceding, Node *offset)
{
	if (unbounded != NULL)
		appendStringInfoString(text, unbounded);
	else if ((options & row) != 0)
		appendStringInfoString(text, "CURRENT ROW");
	else
		appendStringInfo(text, "%s %s", show_expression(shown, offset),
						 (options & preceding) != 0 ? "PRECEDING" :
						 "FOLLOWING");
}

/* Adds which rows the frame excludes, if any. */
static void
add_exclusion(StringInfo text, int options)
{
	if ((options & FRAMEOPTION_EXCLUDE_CURRENT_ROW) != 0)
		appendStringInfoString(text, " EXCLUDE CURRENT ROW");
	else if ((options & FRAMEOPTION_EXCLUDE_GROUP) != 0)
		appendStringInfoString(text, " EXCLUDE GROUP");
	else if ((options & FRAMEOPTION_EXCLUDE_TIES) != 0)
		appendStringInfoString(text, " EXCLUDE TIES");
}

/* Adds the frame, unless it is the default one. */
static void
add_frame(StringInfo text, const Shown *shown, const WindowDefinition *window)
{
	int			options = window->options;

	if ((options & FRAMEOPTION_NONDEFAULT) == 0)
		return;
	add_space(text);
	appendStringInfoString(text, (options & FRAMEOPTION_ROWS) != 0 ? "ROWS " :
						   (options & FRAMEOPTION_GROUPS) != 0 ? "GROUPS " :
						   "RANGE ");
	if ((options & FRAMEOPTION_BETWEEN) != 0)
		appendStringInfoString(text, "BETWEEN ");
	add_frame_end(text, shown, options,
				  (options & FRAMEOPTION_START_UNBOUNDED_PRECEDING) != 0 ?
				  "UNBOUNDED PRECEDING" : NULL,
				  FRAMEOPTION_START_CURRENT_ROW,
				  FRAMEOPTION_START_OFFSET_PRECEDING, window->start_offset);
	if ((options & FRAMEOPTION_BETWEEN) != 0)
	{
		appendStringInfoString(text, " AND ");
		add_frame_end(text, shown, options,
					  (options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) != 0 ?
					  "UNBOUNDED FOLLOWING" : NULL,
					  FRAMEOPTION_END_CURRENT_ROW,
					  FRAMEOPTION_END_OFFSET_PRECEDING, window->end_offset);
	}
	add_exclusion(text, options);
}

/* Returns a window in the words of a WINDOW clause. */
static char *
show_window(const Shown *shown, const WindowDefinition *window)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s AS (", quote_identifier(window->name));
	add_columns(&text, shown, "PARTITION BY ", 0, window->npartition_columns);
	if (window->is_ordered)
		add_columns(&text, shown, "ORDER BY ", window->npartition_columns,
					window->npeer_columns);
	add_frame(&text, shown, window);
	appendStringInfoChar(&text, ')');
	return text.data;
}

/* Returns a function as in the query. */
static char *
show_function(const Shown *shown, const WindowFunc *function,
			  const char *window_name)
{
	StringInfoData text;
	char	   *call = show_expression(shown, (Node *)
									   window_function_shown(function));

	initStringInfo(&text);
	if (function->winstar)
		appendStringInfo(&text, "%.*s(*)", (int) strcspn(call, "("), call);
	else
		appendStringInfoString(&text, call);
	if (function->aggfilter != NULL)
		appendStringInfo(&text, " FILTER (WHERE %s)",
						 show_expression(shown, (Node *) function->aggfilter));
	if (IGNORES_NULLS(function))
		appendStringInfoString(&text, " IGNORE NULLS");
	appendStringInfo(&text, " OVER %s", quote_identifier(window_name));
	return text.data;
}

void
explain_windows(const PlannedWindows *planned, const CustomScanState *node,
				List *ancestors, ExplainState *es)
{
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	Shown		shown = {
		.context = set_deparse_context_plan(es->deparse_cxt, (Plan *) scan,
											ancestors),
		.use_prefix = EXPLAIN_TABLES(es) > 1 || es->verbose,
		.keys = explain_sort_describe_keys((Plan *) scan,
										   scan->custom_scan_tlist,
										   planned->sort.columns,
										   planned->sort.ncolumns, ancestors,
										   es)
	};
	List	   *windows = NIL;
	List	   *functions = NIL;
	List	   *conditions = NIL;

	for (int i = 0; i < planned->nwindows; i++)
	{
		const WindowDefinition *window = &planned->windows[i];
		ListCell   *cell;

		windows = lappend(windows, show_window(&shown, window));
		foreach(cell, window->functions)
			functions = lappend(functions,
								show_function(&shown, lfirst(cell),
											  window->name));
		if (window->run_condition != NIL)
			conditions = lappend(conditions,
								 show_expression(&shown, (Node *)
												 make_ands_explicit(window->run_condition)));
	}
	ExplainPropertyList(planned->presorted ? "Presorted Key" : "Sort Key",
						shown.keys, es);
	ExplainPropertyList("Window", windows, es);
	ExplainPropertyList("Window Functions", functions, es);
	if (conditions != NIL)
		ExplainPropertyList("Run Condition", conditions, es);
}
