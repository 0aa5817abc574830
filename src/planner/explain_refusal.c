/*-------------------------------------------------------------------------
 *
 * explain_refusal.c
 *	  EXPLAIN (VERBOSE) says why a sort was left to PostgreSQL.
 *
 * From 18 on an extension may add lines to a node.  Before 18 it can only add
 * lines at the end of the plan.  When the executor ends, all but the execution
 * time has been printed, and the plan's group in JSON, XML or YAML is still
 * open.  There each sort is named by its keys.  To know where to print,
 * gpusort has to see the beginning of EXPLAIN.  It sees it unless EXECUTE is
 * explained.
 *
 * The reason is found anew, from the plan and the settings.  If the plan was
 * made under other settings, there may be no reason.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "executor/explain_sort.h"
#include "executor/first_rows.h"
#include "planner/explain_refusal.h"
#include "planner/sort_refusal.h"
#include "port/compat.h"
#include "settings.h"

#define WHY_NOT		"Why Not GpuSort"

/*
 * Why a node sorts natively, NULL if it does not.  "ancestors" are the nodes
 * above it, the nearest first, with the SubPlan between a subquery's plan and
 * the node that it belongs to.
 */
static char *
why_refused(const PlanState *node, List *ancestors, const List *range_table)
{
	const Plan *plan = node->plan;
	PlanPlace	place = TOP_PLACE;
	Refusal		refusal;

	for (int i = list_length(ancestors) - 1; i >= 0; i--)
		place = place_of_child(list_nth(ancestors, i), place);
	/* at the top the values of parameters are known, too (first_rows.c) */
	if (ancestors != NIL && IsA(llast(ancestors), Limit) &&
		list_length(ancestors) <= 1 + IsA(linitial(ancestors), GatherMerge))
		place.bound = first_rows_wanted(llast(ancestors),
										node->state->es_param_list_info);

	if (count_refused(plan, place, range_table, &refusal) > 0)
		return describe_refusal(plan, refusal);
	if (IsA(plan, Sort))
		return pstrdup("the plan was made with other settings");
	return NULL;
}

static bool
is_wanted(const ExplainState *es)
{
	return es->verbose && gpusort_enable && gpusort_enable_sort;
}

#if EXPLAIN_CALLS_FOR_NODES

void
explain_refusal_of_node(const PlanState *node, List *ancestors,
						ExplainState *es)
{
	if (is_wanted(es))
	{
		char	   *reason = why_refused(node, ancestors, es->rtable);

		if (reason != NULL)
			ExplainPropertyText(WHY_NOT, reason, es);
	}
}

#else

/* The EXPLAIN that is going on, NULL if there is none. */
static ExplainState *explaining;

/* A walk through a plan. */
typedef struct Walk
{
	PlanState  *parent;
	List	   *ancestors;
	List	   *lines;			/* lines for EXPLAIN */
} Walk;

/* The SubPlan by which a node belongs to its parent, NULL for other children. */
static SubPlan *
find_subplan(const PlanState *parent, const PlanState *node)
{
	List	   *subplans = list_concat_copy(parent->initPlan, parent->subPlan);
	ListCell   *cell;

	foreach(cell, subplans)
	{
		SubPlanState *state = lfirst(cell);

		if (state->planstate == node)
			return state->subplan;
	}
	return NULL;
}

/* The name of a node that sorts natively. */
static char *
name_sorting_node(Plan *plan, List *ancestors)
{
	const Sort *sort = (const Sort *) plan;
	SortColumn *columns;
	List	   *keys;
	StringInfoData name;
	ListCell   *cell;

	if (IsA(plan, Agg))
		return pstrdup("Aggregate");

	columns = palloc0(sort->numCols * sizeof(SortColumn));
	for (int i = 0; i < sort->numCols; i++)
	{
		columns[i].attno = sort->sortColIdx[i];
		columns[i].sort_operator = sort->sortOperators[i];
		columns[i].collation = sort->collations[i];
		columns[i].nulls_first = sort->nullsFirst[i];
	}
	keys = explain_sort_describe_keys(plan, plan->targetlist, columns,
									  sort->numCols, ancestors, explaining);
	initStringInfo(&name);
	appendStringInfoString(&name, IsA(plan, Sort) ? "Sort" : "Incremental Sort");
	foreach(cell, keys)
		appendStringInfo(&name, "%s %s", cell == list_head(keys) ? " by" : ",",
						 (char *) lfirst(cell));
	return name.data;
}

static bool
collect_reasons(PlanState *node, Walk *walk)
{
	SubPlan    *subplan = walk->parent == NULL ? NULL :
		find_subplan(walk->parent, node);
	List	   *ancestors = subplan == NULL ? walk->ancestors :
		lcons(subplan, list_copy(walk->ancestors));
	char	   *reason = why_refused(node, ancestors, explaining->rtable);
	Walk		below = {node, lcons(node->plan, list_copy(ancestors)), NIL};

	if (reason != NULL)
		walk->lines = lappend(walk->lines,
							  psprintf("%s: %s",
									   name_sorting_node(node->plan,
														 ancestors),
									   reason));
	(void) planstate_tree_walker(node, collect_reasons, &below);
	walk->lines = list_concat(walk->lines, below.lines);
	return false;
}

static void
print_reasons(QueryDesc *query)
{
	Walk		walk = {0};
	ListCell   *cell;

	(void) collect_reasons(query->planstate, &walk);
	if (explaining->format != EXPLAIN_FORMAT_TEXT && walk.lines != NIL)
		ExplainPropertyList(WHY_NOT, walk.lines, explaining);
	else
		foreach(cell, walk.lines)
			ExplainPropertyText(WHY_NOT, lfirst(cell), explaining);
}

/*
 * Recognizes the plan that has just been printed by EXPLAIN's reference to it.
 */
void
explain_refusal_of_plan(QueryDesc *query)
{
	if (explaining != NULL && explaining->pstmt == query->plannedstmt &&
		is_wanted(explaining))
		print_reasons(query);
}

ExplainState *
explain_refusal_begin(ExplainState *es)
{
	ExplainState *outer = explaining;

	/* forget the plan that it has printed before */
	es->pstmt = NULL;
	explaining = es;
	return outer;
}

void
explain_refusal_end(ExplainState *outer)
{
	explaining = outer;
}

#endif
