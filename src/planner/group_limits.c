/*-------------------------------------------------------------------------
 *
 * group_limits.c
 *	  Nodes of a plan that look only at the first rows of each group.
 *
 * Unique and Group take one row of each group.  WindowAgg takes few rows if a
 * run condition, like row_number() <= 3, ends its work on a partition.  Then
 * it reads and drops the other rows, up to the next partition.
 *
 * A GpuSort or GpuSortGroups right below is told how many rows are wanted
 * (group_limit.c), if its first columns make the group, and are compared by
 * the same equality.  It may emit more rows than are wanted, so a node that is
 * not understood here sets no limit.  Nodes that merge rows in order may stand
 * between the two: the first rows of a group are among the first rows of each
 * process or child.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "executor/gpusort_plan.h"
#include "executor/node_gpusort.h"
#include "executor/node_groups.h"
#include "planner/group_limits.h"
#include "port/compat.h"
#include "window/window_frame.h"

/* Columns that a node compares, in any order. */
typedef struct ComparedColumns
{
	int			ncolumns;
	const AttrNumber *columns;
	const Oid  *operators;		/* equality operators */
	const Oid  *collations;
} ComparedColumns;

/* What a node wants of each group. */
typedef struct WantedRows
{
	ComparedColumns group;
	ComparedColumns peers;		/* further columns, if units are peers */
	GroupLimitUnit unit;
	Expr	   *count;			/* NULL: all rows */
	int			more;			/* units beyond the count: -1, 0 or 1 */
} WantedRows;

/* What the window functions of a node need beside its wanted rows. */
typedef struct WindowNeeds
{
	int			frame;			/* frame options */
	bool		peers;			/* the peers of wanted rows */
	bool		next_row;		/* the row behind them, as a function may fail
								 * there */
	bool		later_rows;		/* any rows behind them */
} WindowNeeds;

/* The position of an unused column, or -1. */
static int
find_column(const ComparedColumns *compared, AttrNumber attno,
			const Bitmapset *used)
{
	for (int i = 0; i < compared->ncolumns; i++)
	{
		if (compared->columns[i] == attno && !bms_is_member(i, used))
			return i;
	}
	return -1;
}

/*
 * Are the sort columns from "first" on the columns of a node, compared in the
 * same way?  If so, adds their equality operators to "equal".
 */
static bool
match_columns(const PlannedSort *sort, int first,
			  const ComparedColumns *compared, List **equal)
{
	Bitmapset  *used = NULL;

	if (sort->ncolumns < first + compared->ncolumns)
		return false;
	for (int i = first; i < first + compared->ncolumns; i++)
	{
		const SortColumn *column = &sort->columns[i];
		int			found = find_column(compared, column->attno, used);
		Oid			operator = sort_column_equality(column);

		if (found < 0 || compared->operators[found] != operator ||
			compared->collations[found] != column->collation ||
			!sort_column_joins_equals(column))
			return false;
		used = bms_add_member(used, found);
		*equal = lappend_oid(*equal, operator);
	}
	return true;
}

/* Tells a GpuSort which rows are wanted, if its columns suit. */
static void
limit_sort(CustomScan *scan, const WantedRows *wanted)
{
	PlannedSort sort = planned_sort_read(scan);
	PlannedGroupLimit limit = {
		.unit = wanted->unit,
		.ngroup_columns = wanted->group.ncolumns,
		.count = wanted->count,
		.more = wanted->more
	};

	if (match_columns(&sort, 0, &wanted->group, &limit.equal) &&
		(wanted->unit == LIMITS_ROWS ||
		 match_columns(&sort, wanted->group.ncolumns, &wanted->peers,
					   &limit.equal)))
		gpusort_limit_groups(scan, &limit);
}

static bool
is_function_unsafe(Oid function, void *context)
{
	return func_parallel(function) != PROPARALLEL_SAFE;
}

static bool
has_part_for_leader(Node *node, void *context)
{
	if (node == NULL)
		return false;
	/* the checks of a domain may do anything */
	if (IsA(node, CoerceToDomain) ||
		check_functions_in_node(node, is_function_unsafe, context))
		return true;
	/* a worker gets only the parameters that its plan had before */
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		return true;
	return expression_tree_walker(node, has_part_for_leader, context);
}

bool
needs_leader(Node *expression)
{
	return has_part_for_leader(expression, NULL);
}

/* Can workers tell how many rows are wanted? */
static bool
suits_workers(const WantedRows *wanted)
{
	return !needs_leader((Node *) wanted->count);
}

/* Tells the GpuSorts from which this node's rows come. */
static void
limit_sorts(Plan *plan, const WantedRows *wanted)
{
	ListCell   *cell;

	switch (nodeTag(plan))
	{
		case T_CustomScan:
			if (is_gpusort(plan) ||
				(is_gpusort_groups(plan) && suits_workers(wanted)))
				limit_sort((CustomScan *) plan, wanted);
			break;
		case T_GatherMerge:
			if (suits_workers(wanted))
				limit_sorts(plan->lefttree, wanted);
			break;
		case T_MergeAppend:
			foreach(cell, ((MergeAppend *) plan)->mergeplans)
				limit_sorts(lfirst(cell), wanted);
			break;
		default:
			break;
	}
}

/* One row of each group is wanted. */
static WantedRows
want_one_row(int ncolumns, const AttrNumber *columns, const Oid *operators,
			 const Oid *collations)
{
	WantedRows	wanted = {
		.group = {ncolumns, columns, operators, collations},
		.unit = LIMITS_ROWS
	};

	wanted.count = (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
									  Int32GetDatum(1), false, true);
	return wanted;
}

/* Can an expression be evaluated for any row, as it does nothing? */
static bool
is_harmless(const Expr *expression)
{
	return expression == NULL || IsA(expression, Var) ||
		IsA(expression, Const);
}

/* Can a function not fail, whatever the row? */
static bool
never_fails(const WindowFunc *function)
{
	ListCell   *cell;

	/* most functions do not let a query say what to do with NULLs */
	if (HAS_NULL_TREATMENT(function) &&
		function->winfnoid != F_LAG_ANYELEMENT &&
		function->winfnoid != F_FIRST_VALUE)
		return false;
	foreach(cell, function->args)
	{
		if (!is_harmless(lfirst(cell)))
			return false;
	}
	return !function->winagg && is_harmless(function->aggfilter);
}

/*
 * Notes what a window function needs beside its own row and the rows before.
 */
static void
note_function(const WindowFunc *function, WindowNeeds *needs)
{
	const int	bounded = FRAMEOPTION_END_CURRENT_ROW;

	if (contain_volatile_functions((Node *) function))
		needs->later_rows = true;
	if (!never_fails(function))
		needs->next_row = true;
	switch (function->winfnoid)
	{
		case F_ROW_NUMBER:
		case F_RANK_:
		case F_DENSE_RANK_:
		case F_LAG_ANYELEMENT:
			return;
		default:
			break;
	}
	if ((!function->winagg && function->winfnoid != F_FIRST_VALUE) ||
		(needs->frame & bounded) == 0 ||
		(needs->frame & FRAMEOPTION_EXCLUSION) != 0)
		needs->later_rows = true;
	else if ((needs->frame & FRAMEOPTION_ROWS) == 0)
		needs->peers = true;
}

static bool
note_functions(Node *node, WindowNeeds *needs)
{
	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
		note_function((WindowFunc *) node, needs);
	return expression_tree_walker(node, note_functions, needs);
}

/*
 * Finds how many rows a condition on a window function wants; false if that
 * cannot be told.
 */
static bool
want_by_condition(const OpExpr *condition, WantedRows *wanted)
{
	Node	   *function;
	int			below = BTLessStrategyNumber;
	int			up_to = BTLessEqualStrategyNumber;
	int			strategy;

	if (!IsA(condition, OpExpr) || list_length(condition->args) != 2)
		return false;
	function = linitial(condition->args);
	wanted->count = lsecond(condition->args);
	if (!IsA(function, WindowFunc))
	{
		function = lsecond(condition->args);
		wanted->count = linitial(condition->args);
		below = BTGreaterStrategyNumber;
		up_to = BTGreaterEqualStrategyNumber;
	}
	if (!IsA(function, WindowFunc))
		return false;

	switch (((WindowFunc *) function)->winfnoid)
	{
		case F_ROW_NUMBER:
			wanted->unit = LIMITS_ROWS;
			break;
		case F_RANK_:
			wanted->unit = LIMITS_ROWS_WITH_PEERS;
			break;
		case F_DENSE_RANK_:
			wanted->unit = LIMITS_PEER_GROUPS;
			break;
		default:
			return false;
	}
	strategy = get_op_opfamily_strategy(condition->opno, INTEGER_BTREE_FAM_OID);
	wanted->more = strategy == below ? -1 : 0;
	return strategy == below || strategy == up_to;
}

double
limit_of_condition(const OpExpr *condition)
{
	WantedRows	wanted = {.count = NULL};
	const Const *count;

	if (!want_by_condition(condition, &wanted) || !IsA(wanted.count, Const))
		return 0;
	count = (const Const *) wanted.count;
	return count->constisnull ? 0 :
		Max(node_limit_integer(count->constvalue, count->consttype), 1);
}

/* The rows that a WindowAgg wants. */
static WantedRows
want_by_window(const WindowAgg *window)
{
	WantedRows	wanted = {
		.group = {window->partNumCols, window->partColIdx,
		window->partOperators, window->partCollations},
		.peers = {window->ordNumCols, window->ordColIdx,
		window->ordOperators, window->ordCollations}
	};
	WindowNeeds needs = {.frame = window->frameOptions};
	ListCell   *cell;

	/*
	 * a WindowAgg below another also passes on rows behind those that it
	 * counts, and a distance of values may make it fail at these
	 */
	if (!window->topWindow || window->partNumCols == 0 ||
		window_frame_has_range(window->frameOptions))
		return wanted;
	(void) note_functions((Node *) window->plan.targetlist, &needs);
	(void) note_functions((Node *) window->plan.qual, &needs);
	if (needs.later_rows)
		return wanted;

	/*
	 * each condition is a limit by itself.  All functions are evaluated for
	 * the first row that does not meet it, too
	 */
	foreach(cell, window->runConditionOrig)
	{
		if (!want_by_condition(lfirst(cell), &wanted))
			wanted.count = NULL;
		else
			break;
	}

	/*
	 * with peers of the last row that is counted, the next is not the next
	 * unit
	 */
	if (needs.next_row && wanted.unit == LIMITS_ROWS_WITH_PEERS)
		wanted.count = NULL;
	wanted.more += needs.next_row;
	if (needs.peers && wanted.unit == LIMITS_ROWS)
		wanted.unit = LIMITS_ROWS_WITH_PEERS;
	return wanted;
}

/* The rows that this node wants of those that its child emits. */
static WantedRows
want_rows(const Plan *plan)
{
	static const WantedRows nothing;
	const Unique *unique = (const Unique *) plan;
	const Group *group = (const Group *) plan;

	switch (nodeTag(plan))
	{
		case T_Unique:
			return want_one_row(unique->numCols, unique->uniqColIdx,
								unique->uniqOperators, unique->uniqCollations);
		case T_Group:
			return want_one_row(group->numCols, group->grpColIdx,
								group->grpOperators, group->grpCollations);
		case T_WindowAgg:
			return want_by_window((const WindowAgg *) plan);
		default:
			return nothing;
	}
}

void
limit_groups_below(const Plan *plan)
{
	WantedRows	wanted = want_rows(plan);

	if (wanted.count != NULL)
		limit_sorts(plan->lefttree, &wanted);
}
