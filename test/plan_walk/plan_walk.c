/*-------------------------------------------------------------------------
 *
 * plan_walk.c
 *	  Do the columns of a plan mean the same when gpusort has rewritten it?
 *
 * Preloaded ahead of gpusort, this module sees each plan as the planner has
 * made it, and once more when gpusort is done.  Both times it walks the plan.
 * It follows each column number that a node has, in an expression or in an
 * array, from child to child to what the number stands for in the end.  Both
 * walks have to find the same.  A node type that is not known here is an
 * error, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "parser/parse_coerce.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "port/compat.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static planner_hook_type hook_before_gpusort;
static planner_hook_type hook_of_gpusort;

/* What the columns of the last plan stand for, as strings. */
static List *planned;

/*
 * The plan has a set operation by gpusort, whose node gets its columns when
 * gpusort is done, or a filter that becomes a part of a value.  Such plans are
 * not compared.
 */
static bool is_incomparable;

static List *walk_plan(Plan *plan, List *meanings);

static bool
is_custom_scan(const Plan *plan, const char *name)
{
	return IsA(plan, CustomScan) &&
		strcmp(((const CustomScan *) plan)->methods->CustomName, name) == 0;
}

static bool
is_gpusort(const Plan *plan)
{
	return is_custom_scan(plan, "GpuSort");
}

/*
 * Is it the node that is in a plan from the beginning, and has its child's
 * columns?
 */
static bool
is_groups(const Plan *plan)
{
	return is_custom_scan(plan, "GpuSortGroups");
}

/* Is it the node of a set operation, which emits its child's columns? */
static bool
is_set_operation(const Plan *plan)
{
	return is_custom_scan(plan, "GpuSortSetOp");
}

/* Is it one of the nodes around a Gather, which have their child's columns? */
static bool
is_stream(const Plan *plan)
{
	return is_custom_scan(plan, "GpuSortReceive") ||
		is_custom_scan(plan, "GpuSortSend");
}

/*
 * Is it the node that computes aggregates of its child's last columns, in
 * groups by the first columns?
 */
static bool
is_aggregate(const Plan *plan)
{
	return is_custom_scan(plan, "GpuSortAggregate");
}

/*
 * Is this one of its columns from the child?  The aggregates get columns when
 * gpusort is done.  Until then the columns of filters are behind the child's.
 */
static bool
is_child_column(const Plan *plan, int number)
{
	const List *columns = ((const CustomScan *) plan)->custom_scan_tlist;

	return number <= list_length(plan->lefttree->targetlist) &&
		!IsA(list_nth_node(TargetEntry, columns, number - 1)->expr, Aggref);
}

/* A plan in which the columns of an expression are looked for. */
typedef struct Place
{
	Plan	   *plan;
} Place;

static Node *resolve(Node *node, Place *place);

/* What a column of this list, the columns of this plan, stands for. */
static Node *
resolve_column(List *columns, int number, Oid type, Plan *plan)
{
	Place		place = {plan};
	TargetEntry *entry;

	if (number < 1 || number > list_length(columns))
		elog(ERROR, "column %d of %d", number, list_length(columns));
	entry = list_nth(columns, number - 1);
	if (entry->resno != number)
		elog(ERROR, "column %d has the number %d", number, entry->resno);
	if (OidIsValid(type) && !IsBinaryCoercible(exprType((Node *) entry->expr), type))
		elog(ERROR, "column %d is of the type %u, not %u", number,
			 exprType((Node *) entry->expr), type);
	return resolve((Node *) entry->expr, &place);
}

static Node *
resolve_child(Plan *child, int number, Oid type)
{
	return resolve_column(child->targetlist, number, type, child);
}

/* The plan whose columns a node has as those of its first child. */
static Plan *
first_child(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			return linitial(((Append *) plan)->appendplans);
		case T_MergeAppend:
			return linitial(((MergeAppend *) plan)->mergeplans);
		default:
			return plan->lefttree;
	}
}

/* The columns that a scan's own rows have, in its expressions. */
static List *
scanned_columns(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_IndexOnlyScan:
			return ((const IndexOnlyScan *) plan)->indextlist;
		case T_ForeignScan:
			return ((const ForeignScan *) plan)->fdw_scan_tlist;
		case T_CustomScan:
			return ((const CustomScan *) plan)->custom_scan_tlist;
		default:
			elog(ERROR, "node type %d has columns of a scan",
				 (int) nodeTag(plan));
	}
}

static Node *
resolve_var(const Var *var, Plan *plan)
{
	if (var->varno == OUTER_VAR)
		return resolve_child(first_child(plan), var->varattno, var->vartype);
	if (var->varno == INNER_VAR)
		return resolve_child(plan->righttree, var->varattno, var->vartype);
	if (var->varno == INDEX_VAR &&
		(is_groups(plan) || is_stream(plan) ||
		 (is_aggregate(plan) && is_child_column(plan, var->varattno))))
		return resolve_child(plan->lefttree, var->varattno, var->vartype);
	if (var->varno == INDEX_VAR)
		return resolve_column(scanned_columns(plan), var->varattno,
							  var->vartype, plan);
	if (IsA(plan, SubqueryScan) && var->varattno > 0 &&
		var->varno == ((Scan *) plan)->scanrelid)
		return resolve_child(((SubqueryScan *) plan)->subplan, var->varattno,
							 var->vartype);
	/* of a table; how the query names it may differ */
	return (Node *) makeVar(var->varno, var->varattno, var->vartype, -1,
							InvalidOid, 0);
}

/* A copy of an expression in which there are columns of tables only. */
static Node *
resolve(Node *node, Place *place)
{
	if (node == NULL)
		return NULL;
	/* in a run condition 0 is the node itself */
	if (IsA(node, Var) && ((Var *) node)->varno != 0)
		return resolve_var((Var *) node, place->plan);
	/* a copy differs from its original by its collation */
	if (IsA(node, RelabelType))
		return resolve((Node *) ((RelabelType *) node)->arg, place);
	/* which a node of gpusort may do in the place of the one below */
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_FLOAT8_NUMERIC)
		return resolve(linitial(((FuncExpr *) node)->args), place);
	if (IsA(node, Aggref) && ((Aggref *) node)->aggfilter != NULL &&
		is_aggregate(place->plan))
		is_incomparable = true;
	return expression_tree_mutator(node, resolve, (void *) place);
}

/* Removes where in the query something was, which equal expressions differ in. */
static char *
remove_locations(char *text)
{
	static const char label[] = " :location ";
	char	   *found = text;

	while ((found = strstr(found, label)) != NULL)
	{
		char	   *rest = found + strlen(label);

		rest += strspn(rest, "-0123456789");
		memmove(found, rest, strlen(rest) + 1);
	}
	return text;
}

static List *
note(List *meanings, Node *resolved)
{
	return resolved == NULL ? meanings :
		lappend(meanings, remove_locations(nodeToString(resolved)));
}

static List *
note_expressions(List *meanings, Plan *plan, void *expressions)
{
	Place		place = {plan};

	return note(meanings, resolve(expressions, &place));
}

/* Columns of a plan that are compared by operators of their types. */
static List *
note_columns(List *meanings, Plan *plan, int ncolumns,
			 const AttrNumber *columns, const Oid *operators)
{
	for (int i = 0; i < ncolumns; i++)
	{
		Oid			left;
		Oid			right;

		op_input_types(operators[i], &left, &right);
		/* that of a polymorphic operator is any */
		if (get_typtype(left) == TYPTYPE_PSEUDO)
			left = InvalidOid;
		meanings = note(meanings, resolve_child(plan, columns[i], left));
	}
	return meanings;
}

static List *
note_gpusort(List *meanings, CustomScan *scan)
{
	List	   *written = linitial(linitial(scan->custom_private));
	List	   *columns = linitial(written);
	List	   *operators = lsecond(written);

	for (int i = 0; i < list_length(columns); i++)
	{
		AttrNumber	column = list_nth_int(columns, i);
		Oid			operator = list_nth_oid(operators, i);

		if (is_aggregate(&scan->scan.plan))
			meanings = note(meanings, resolve_child(scan->scan.plan.lefttree,
													column, InvalidOid));
		else
			meanings = note_columns(meanings, scan->scan.plan.lefttree, 1,
									&column, &operator);
	}
	return meanings;
}

static List *
note_parameters(List *meanings, NestLoop *join)
{
	ListCell   *cell;

	foreach(cell, join->nestParams)
		meanings = note_expressions(meanings, &join->join.plan,
									((NestLoopParam *) lfirst(cell))->paramval);
	return meanings;
}

static List *
walk_plans(List *plans, List *meanings)
{
	ListCell   *cell;

	foreach(cell, plans)
		meanings = walk_plan(lfirst(cell), meanings);
	return meanings;
}

/* A node and what is below it. */
static List *
walk_plan(Plan *plan, List *meanings)
{
	if (plan == NULL)
		return meanings;

	switch (nodeTag(plan))
	{
		case T_Result:
			meanings = note_expressions(meanings, plan,
										((Result *) plan)->resconstantqual);
			break;
		case T_Append:
			meanings = walk_plans(((Append *) plan)->appendplans, meanings);
			break;
		case T_MergeAppend:
			{
				MergeAppend *merge = (MergeAppend *) plan;

				meanings = note_columns(meanings, plan, merge->numCols,
										merge->sortColIdx,
										merge->sortOperators);
				meanings = walk_plans(merge->mergeplans, meanings);
				break;
			}
		case T_RecursiveUnion:
			{
				RecursiveUnion *recursive = (RecursiveUnion *) plan;

				meanings = note_columns(meanings, plan, recursive->numCols,
										recursive->dupColIdx,
										recursive->dupOperators);
				break;
			}
		case T_SubqueryScan:
			meanings = walk_plan(((SubqueryScan *) plan)->subplan, meanings);
			break;
		case T_CustomScan:
			if (is_stream(plan))
				break;
			if (is_set_operation(plan))
			{
				is_incomparable = true;
				break;
			}
			if (!is_gpusort(plan) && !is_groups(plan) && !is_aggregate(plan))
				elog(ERROR, "a custom scan of another extension");
			meanings = note_gpusort(meanings, (CustomScan *) plan);
			break;
		case T_NestLoop:
			meanings = note_parameters(meanings, (NestLoop *) plan);
			meanings = note_expressions(meanings, plan,
										((Join *) plan)->joinqual);
			break;
		case T_MergeJoin:
			meanings = note_expressions(meanings, plan,
										((Join *) plan)->joinqual);
			meanings = note_expressions(meanings, plan,
										((MergeJoin *) plan)->mergeclauses);
			break;
		case T_HashJoin:
			meanings = note_expressions(meanings, plan,
										((Join *) plan)->joinqual);
			meanings = note_expressions(meanings, plan,
										((HashJoin *) plan)->hashclauses);
			meanings = note_expressions(meanings, plan,
										((HashJoin *) plan)->hashkeys);
			break;
		case T_Hash:
			meanings = note_expressions(meanings, plan,
										((Hash *) plan)->hashkeys);
			break;
		case T_Memoize:
			meanings = note_expressions(meanings, plan,
										((Memoize *) plan)->param_exprs);
			break;
		case T_Sort:
		case T_IncrementalSort:
			{
				Sort	   *sort = (Sort *) plan;

				meanings = note_columns(meanings, plan->lefttree,
										sort->numCols, sort->sortColIdx,
										sort->sortOperators);
				break;
			}
		case T_Group:
			{
				Group	   *group = (Group *) plan;

				meanings = note_columns(meanings, plan->lefttree,
										group->numCols, group->grpColIdx,
										group->grpOperators);
				break;
			}
		case T_Agg:
			{
				Agg		   *agg = (Agg *) plan;
				ListCell   *cell;

				meanings = note_columns(meanings, plan->lefttree, agg->numCols,
										agg->grpColIdx, agg->grpOperators);
				foreach(cell, agg->chain)
				{
					Agg		   *further = lfirst(cell);
					Sort	   *sort = (Sort *) further->plan.lefttree;

					meanings = note_columns(meanings, plan->lefttree,
											further->numCols,
											further->grpColIdx,
											further->grpOperators);
					if (sort != NULL)
						meanings = note_columns(meanings, plan->lefttree,
												sort->numCols,
												sort->sortColIdx,
												sort->sortOperators);
				}
				break;
			}
		case T_WindowAgg:
			{
				WindowAgg  *window = (WindowAgg *) plan;

				meanings = note_columns(meanings, plan->lefttree,
										window->partNumCols,
										window->partColIdx,
										window->partOperators);
				meanings = note_columns(meanings, plan->lefttree,
										window->ordNumCols, window->ordColIdx,
										window->ordOperators);
				meanings = note_expressions(meanings, plan,
											window->runCondition);
				meanings = note_expressions(meanings, plan,
											window->startOffset);
				meanings = note_expressions(meanings, plan, window->endOffset);
				break;
			}
		case T_Unique:
			{
				Unique	   *unique = (Unique *) plan;

				meanings = note_columns(meanings, plan->lefttree,
										unique->numCols, unique->uniqColIdx,
										unique->uniqOperators);
				break;
			}
		case T_SetOp:
			{
				SetOp	   *operation = (SetOp *) plan;

#if PG_VERSION_NUM >= 180000
				meanings = note_columns(meanings, plan->lefttree,
										operation->numCols,
										operation->cmpColIdx,
										operation->cmpOperators);
				meanings = note_columns(meanings, plan->righttree,
										operation->numCols,
										operation->cmpColIdx,
										operation->cmpOperators);
#else
				meanings = note_columns(meanings, plan->lefttree,
										operation->numCols,
										operation->dupColIdx,
										operation->dupOperators);
#endif
				break;
			}
		case T_GatherMerge:
			{
				GatherMerge *merge = (GatherMerge *) plan;

				meanings = note_columns(meanings, plan->lefttree,
										merge->numCols, merge->sortColIdx,
										merge->sortOperators);
				break;
			}
		case T_Limit:
			{
				Limit	   *limit = (Limit *) plan;

				meanings = note_columns(meanings, plan->lefttree,
										limit->uniqNumCols, limit->uniqColIdx,
										limit->uniqOperators);
				meanings = note_expressions(meanings, plan,
											limit->limitOffset);
				meanings = note_expressions(meanings, plan, limit->limitCount);
				break;
			}
		case T_ModifyTable:
		case T_ProjectSet:
		case T_BitmapAnd:
		case T_BitmapOr:
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapIndexScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_FunctionScan:
		case T_ValuesScan:
		case T_TableFuncScan:
		case T_CteScan:
		case T_NamedTuplestoreScan:
		case T_WorkTableScan:
		case T_ForeignScan:
		case T_Material:
		case T_Gather:
		case T_LockRows:
			break;
		default:
			elog(ERROR, "node type %d is not known", (int) nodeTag(plan));
	}
	meanings = note_expressions(meanings, plan, plan->qual);
	meanings = walk_plan(plan->lefttree, meanings);
	return walk_plan(plan->righttree, meanings);
}

/* A whole plan, and what it puts out. */
static List *
walk_root(Plan *plan, List *meanings)
{
	ListCell   *cell;

	if (plan == NULL)
		return meanings;
	meanings = walk_plan(plan, meanings);
	if (IsA(plan, ModifyTable))
		return meanings;
	foreach(cell, plan->targetlist)
	{
		TargetEntry *entry = lfirst(cell);

		if (!entry->resjunk)
			meanings = note(meanings, resolve_child(plan, entry->resno,
													InvalidOid));
	}
	return meanings;
}

static List *
walk_statement(const PlannedStmt *statement)
{
	List	   *meanings = walk_root(statement->planTree, NIL);
	ListCell   *cell;

	foreach(cell, statement->subplans)
		meanings = walk_root(lfirst(cell), meanings);
	return meanings;
}

/* Plans with gpusort, and compares what gpusort has made of the plan. */
static PlannedStmt *
plan_and_compare(Query *parse, const char *query_string, int cursor_options,
				 ParamListInfo bound_params PLANNER_EXPLAIN_PARAMETER)
{
	PlannedStmt *result;
	List	   *rewritten;
	ListCell   *old;
	ListCell   *new;

	is_incomparable = false;
	result = hook_of_gpusort(parse, query_string, cursor_options, bound_params
							 PLANNER_EXPLAIN_ARGUMENT);
	rewritten = walk_statement(result);
	if (is_incomparable)
		return result;
	if (list_length(planned) != list_length(rewritten))
		elog(ERROR, "the plan had %d columns and has %d",
			 list_length(planned), list_length(rewritten));
	forboth(old, planned, new, rewritten)
	{
		if (strcmp(lfirst(old), lfirst(new)) != 0)
			elog(ERROR, "what was %s is %s", (char *) lfirst(old),
				 (char *) lfirst(new));
	}
	return result;
}

/*
 * Called by gpusort, to plan.  The first call puts plan_and_compare() ahead of
 * gpusort.
 */
static PlannedStmt *
plan_before_gpusort(Query *parse, const char *query_string,
					int cursor_options, ParamListInfo bound_params
					PLANNER_EXPLAIN_PARAMETER)
{
	PlannedStmt *result;

	if (planner_hook == plan_before_gpusort)
		elog(ERROR, "plan_walk has to be loaded ahead of gpusort");
	if (hook_of_gpusort == NULL)
	{
		hook_of_gpusort = planner_hook;
		planner_hook = plan_and_compare;
	}
	if (hook_before_gpusort != NULL)
		result = hook_before_gpusort(parse, query_string, cursor_options,
									 bound_params PLANNER_EXPLAIN_ARGUMENT);
	else
		result = standard_planner(parse, query_string, cursor_options,
								  bound_params PLANNER_EXPLAIN_ARGUMENT);
	planned = walk_statement(result);
	return result;
}

void
_PG_init(void)
{
	hook_before_gpusort = planner_hook;
	planner_hook = plan_before_gpusort;
}
