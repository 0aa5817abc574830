/*-------------------------------------------------------------------------
 *
 * plan_windows.c
 *	  Replacing WindowAggs above a sort by a GpuSortWindow.
 *
 * In a finished plan that has GpuSorts and GpuSortGroups, the WindowAggs right
 * above one of these become one node with it.  At this time the sort has all
 * that depends on the WindowAggs: the first rows that are wanted of each
 * partition (group_limits.c), and the order of the table's columns
 * (plan_columns.c).
 *
 * If the sorts are below a Gather Merge, the node is above it, and does not sort.
 *
 * Windows are taken from the lowest one up, as long as all of their functions
 * can be evaluated, and the columns of their partitions and orders are the
 * first ones of the sort.  A WindowAgg above these stays as it is, and finds the
 * same columns.
 *
 * Columns are numbered anew.  Each WindowAgg refers to the columns of the node
 * below.  In the new node, arguments of functions refer to the rows that are
 * sorted, which are the child's.  Everything else refers to the rows of
 * custom_scan_tlist, which have the child's columns first and then the results
 * of all functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "executor/explain_window.h"
#include "executor/node_gpusort.h"
#include "executor/node_groups.h"
#include "executor/node_window.h"
#include "executor/window_plan.h"
#include "planner/plan_windows.h"
#include "port/compat.h"
#include "settings.h"

/* A node in the making. */
typedef struct NewNode
{
	const CustomScan *sort;		/* GpuSort or GpuSortGroups; NULL: the child's
								 * rows come in order */
	Plan	   *child;			/* emits the rows that are sorted */
	PlannedWindows planned;
	int			nsorted;		/* columns of the sorted rows */
	List	   *functions;		/* WindowFuncs of all windows so far, with
								 * arguments that refer to sorted rows */
	List	   *columns;		/* what the topmost window so far emits:
								 * target list over rows of custom_scan_tlist */
	List	   *qual;			/* its filter, over the same rows */
	bool		is_volatile;	/* a function of the only window is */
} NewNode;

/* Does a plan emit the rows of GpuSorts in order? */
static bool
emits_in_order(const Plan *plan)
{
	return is_gpusort(plan) || is_gpusort_groups(plan) ||
		(IsA(plan, GatherMerge) && is_gpusort(plan->lefttree));
}

/* The windows right above a sort, the lowest first; NIL if there is no sort. */
static List *
find_windows(Plan *plan, Plan **below)
{
	List	   *windows = NIL;

	for (; plan != NULL && IsA(plan, WindowAgg); plan = plan->lefttree)
		windows = lcons(plan, windows);
	*below = plan;
	return plan != NULL && emits_in_order(plan) ? windows : NIL;
}

/*
 * ---- expressions
 */

/* Expressions of a window that are rewritten. */
typedef struct Rewriting
{
	const NewNode *node;
	List	   *functions;		/* functions of this window */
	bool		of_arguments;	/* they refer to sorted rows */
	bool		failed;
} Rewriting;

static Node *rewrite_expression(Node *node, Rewriting *rewriting);

/* What a column of the node below is in the new node. */
static Node *
rewrite_column(const Var *var, Rewriting *rewriting)
{
	const TargetEntry *entry = list_nth(rewriting->node->columns,
										var->varattno - 1);
	Var		   *column = (Var *) copyObject(entry->expr);

	if (!rewriting->of_arguments || !IsA(column, Var))
		return (Node *) column;
	/* no argument has another function's result */
	rewriting->failed |= column->varattno > rewriting->node->nsorted;
	column->varno = OUTER_VAR;
	return (Node *) column;
}

/*
 * Notes a function, unless it is known; returns the column of its result.  As
 * in core, a volatile function is evaluated each time that it stands there.
 */
static Node *
rewrite_function(const WindowFunc *function, Rewriting *rewriting)
{
	const NewNode *node = rewriting->node;
	Rewriting	arguments = {.node = node,.of_arguments = true};
	WindowFunc *copy = copyObject((WindowFunc *) function);
	int			i;

	copy->args = (List *) rewrite_expression((Node *) copy->args, &arguments);
	copy->aggfilter = (Expr *) rewrite_expression((Node *) copy->aggfilter,
												  &arguments);
	rewriting->failed |= arguments.failed;
	for (i = 0; i < list_length(rewriting->functions); i++)
		if (equal(list_nth(rewriting->functions, i), copy) &&
			!contain_volatile_functions((Node *) copy))
			break;
	if (i == list_length(rewriting->functions))
		rewriting->functions = lappend(rewriting->functions, copy);
	return (Node *) makeVar(INDEX_VAR,
							node->nsorted + list_length(node->functions) + i + 1,
							copy->wintype, -1, copy->wincollid, 0);
}

static Node *
rewrite_expression(Node *node, Rewriting *rewriting)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == OUTER_VAR)
		return rewrite_column((Var *) node, rewriting);
	if (IsA(node, WindowFunc) && !rewriting->of_arguments)
		return rewrite_function((WindowFunc *) node, rewriting);
	return expression_tree_mutator(node, rewrite_expression,
								   (void *) rewriting);
}

/* The variables of a run condition are the columns that its window emits. */
static Node *
rewrite_condition(Node *node, List *columns)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		const TargetEntry *entry = list_nth(columns,
											((Var *) node)->varattno - 1);

		return copyObject((Node *) entry->expr);
	}
	return expression_tree_mutator(node, rewrite_condition, (void *) columns);
}

/*
 * ---- windows
 */

/* The sort column of a column that a WindowAgg compares; -1 if there is none. */
static int
find_sort_column(const NewNode *node, AttrNumber attno, Oid operator,
				 Oid collation)
{
	const TargetEntry *entry = list_nth(node->columns, attno - 1);
	const Var  *var = (const Var *) entry->expr;
	int			column = !IsA(var, Var) ? -1 :
		planned_sort_find(&node->planned.sort, var->varattno, operator,
						  collation);

	return column < MOST_START_COLUMNS ? column : -1;
}

/*
 * Adds the sort columns that a WindowAgg compares to those that were found
 * before, and sets *count to the number of all.  False unless they are the
 * first sort columns.
 */
static bool
add_sort_columns(const NewNode *node, int ncompared,
				 const AttrNumber *compared, const Oid *operators,
				 const Oid *collations, Bitmapset **found, int *count)
{
	for (int i = 0; i < ncompared; i++)
	{
		int			column = find_sort_column(node, compared[i], operators[i],
											  collations[i]);

		if (column < 0)
			return false;
		*found = bms_add_member(*found, column);
	}
	*count = bms_num_members(*found);
	return *count == 0 || bms_prev_member(*found, -1) == *count - 1;
}

/* Can all functions of a window be evaluated? */
static bool
are_functions_known(const List *functions, int options)
{
	ListCell   *cell;

	foreach(cell, functions)
	{
		if (window_function_kind(lfirst(cell), options) == WINDOW_UNKNOWN)
			return false;
	}
	return true;
}

/* Does a target list consist of columns and constants, as they are? */
static bool
is_plain(const List *target_list)
{
	ListCell   *cell;

	foreach(cell, target_list)
	{
		const Expr *expr = lfirst_node(TargetEntry, cell)->expr;

		if (!IsA(expr, Var) && !IsA(expr, Const))
			return false;
	}
	return true;
}

/* An end of a window's frame, if it is at a distance of values. */
static WindowRangeDefinition
make_range(const NewNode *node, const WindowAgg *window, Oid in_range)
{
	WindowRangeDefinition range = {.in_range = in_range};

	if (OidIsValid(in_range))
	{
		const TargetEntry *entry = list_nth(node->columns,
											window->ordColIdx[0] - 1);

		range.collation = window->inRangeColl;
		range.ascending = window->inRangeAsc;
		range.nulls_first = window->inRangeNullsFirst;
		range.column = castNode(Var, entry->expr)->varattno;
	}
	return range;
}

/* Takes a window into the new node; false if that cannot be done. */
static bool
take_window(NewNode *node, WindowAgg *window)
{
	Rewriting	rewriting = {.node = node};
	Bitmapset  *found = NULL;
	WindowDefinition definition = {
		.name = WINDOW_NAME(window),
		.options = window->frameOptions,
		.is_partitioned = window->partNumCols > 0,
		.is_ordered = window->ordNumCols > 0,
		.is_top = window->topWindow,
		.start_offset = window->startOffset,
		.end_offset = window->endOffset
	};
	List	   *columns;
	List	   *qual;

	if (node->is_volatile || !is_plain(node->columns) ||
		!add_sort_columns(node, window->partNumCols, window->partColIdx,
						  window->partOperators, window->partCollations,
						  &found, &definition.npartition_columns) ||
		!add_sort_columns(node, window->ordNumCols, window->ordColIdx,
						  window->ordOperators, window->ordCollations,
						  &found, &definition.npeer_columns))
		return false;
	definition.start_range = make_range(node, window, window->startInRangeFunc);
	definition.end_range = make_range(node, window, window->endInRangeFunc);
	columns = (List *) rewrite_expression((Node *) window->plan.targetlist,
										  &rewriting);
	qual = (List *) rewrite_expression((Node *) window->plan.qual, &rewriting);
	definition.functions = rewriting.functions;
	if (rewriting.failed || definition.functions == NIL ||
		!are_functions_known(definition.functions, window->frameOptions))
		return false;
	/* in core a window goes through its rows ahead of the window above it */
	node->is_volatile =
		contain_volatile_functions((Node *) definition.functions);
	if (node->is_volatile && node->planned.nwindows > 0)
		return false;
	definition.run_condition = (List *)
		rewrite_condition((Node *) window->runCondition, columns);

	node->planned.windows[node->planned.nwindows++] = definition;
	node->functions = list_concat(node->functions, definition.functions);
	node->columns = columns;
	node->qual = qual;
	return true;
}

/*
 * ---- nodes
 */

/* Begins a node that so far only does what the sort does. */
static void
begin_with_sort(NewNode *node, CustomScan *sort)
{
	node->sort = sort;
	node->child = sort->scan.plan.lefttree;
	node->planned.sort = planned_sort_read(sort);
	if (is_gpusort_groups(&sort->scan.plan))
		node->planned.ngroup_columns = groups_columns(sort);
	/* a sort refers to its child's columns as the new node does */
	node->columns = sort->scan.plan.targetlist;
}

/* Begins a node that so far only emits the rows of a Gather Merge. */
static void
begin_with_merge(NewNode *node, GatherMerge *merge)
{
	node->child = &merge->plan;
	node->planned.sort = planned_sort_of_merge(merge);
	node->planned.presorted = true;
	node->columns = copy_columns(merge->plan.targetlist, INDEX_VAR);
}

/* Begins a node without windows, for the rows that come from below them. */
static NewNode
begin_node(Plan *below, int nwindows)
{
	NewNode		node = {
		.planned.windows = palloc0(nwindows * sizeof(WindowDefinition))
	};

	if (IsA(below, GatherMerge))
		begin_with_merge(&node, (GatherMerge *) below);
	else
		begin_with_sort(&node, (CustomScan *) below);
	node.nsorted = list_length(node.child->targetlist);
	return node;
}

/* The columns of custom_scan_tlist: sorted ones, and results of functions. */
static List *
make_scan_columns(const NewNode *node)
{
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, node->child->targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(cell));

		entry->expr = (Expr *) makeVarFromTargetEntry(OUTER_VAR, entry);
		entry->resjunk = false;
		columns = lappend(columns, entry);
	}
	foreach(cell, node->functions)
		columns = lappend(columns,
						  makeTargetEntry(window_function_shown(lfirst(cell)),
										  list_length(columns) + 1, NULL,
										  false));
	return columns;
}

/* The init plans of all nodes that the new one replaces. */
static List *
collect_init_plans(const NewNode *node, const WindowAgg *top)
{
	List	   *all = NIL;

	for (const Plan *plan = &top->plan; plan != node->child;
		 plan = plan->lefttree)
		all = list_concat(all, plan->initPlan);
	return all;
}

/* Makes the node, in the place of its windows, of which this is the topmost. */
static Plan *
make_node(const NewNode *node, const WindowAgg *top)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan = top->plan;
	scan->scan.plan.type = T_CustomScan;
	scan->scan.plan.initPlan = collect_init_plans(node, top);
	scan->scan.plan.lefttree = node->child;
	scan->scan.plan.targetlist = node->columns;
	scan->scan.plan.qual = node->qual;
	scan->custom_scan_tlist = make_scan_columns(node);
	if (node->sort != NULL)
	{
		scan->scan.plan.parallel_aware = node->sort->scan.plan.parallel_aware;
		scan->custom_exprs = node->sort->custom_exprs;
		scan->custom_plans = node->sort->custom_plans;
	}
	else
		count_disabled_child(scan, node->child);
	scan->custom_private = planned_windows_write(&node->planned);
	scan->methods = &window_scan_methods;
	return (Plan *) scan;
}

Plan *
plan_windows_replace(WindowAgg *top)
{
	Plan	   *below;
	List	   *windows = find_windows(&top->plan, &below);
	WindowAgg  *taken = NULL;
	WindowAgg  *left = NULL;
	NewNode		node;
	Plan	   *made;
	ListCell   *cell;

	if (!gpusort_enable_windows || windows == NIL)
		return &top->plan;
	node = begin_node(below, list_length(windows));
	foreach(cell, windows)
	{
		if (!take_window(&node, lfirst(cell)))
		{
			left = lfirst(cell);
			break;
		}
		taken = lfirst(cell);
	}
	if (taken == NULL)
		return &top->plan;
	made = make_node(&node, taken);
	if (left == NULL)
		return made;
	left->plan.lefttree = made;
	return &top->plan;
}
