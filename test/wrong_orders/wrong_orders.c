/*-------------------------------------------------------------------------
 *
 * wrong_orders.c
 *	  GpuSort nodes that are wrong, to see whether a test notices.
 *
 * Preloaded behind gpusort, this module sees each plan when gpusort has put
 * its nodes in, and spoils them as wrong_orders.fault says.  A node that was
 * told to sort otherwise does that without a fault, so gpusort.verify, which
 * compares by the same columns, finds nothing.  Native sorts stay right.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "port/compat.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

typedef enum Fault
{
	FAULT_NONE,
	FAULT_NULLS,				/* the last column's NULLs at the other end */
	FAULT_DIRECTION,			/* the last column the other way round */
	FAULT_COLUMN,				/* nothing by the last column of several */
	FAULT_NATIVE,				/* no fault, but it is not gpusort that sorts */
	FAULT_CRASH
} Fault;

static const struct config_enum_entry fault_options[] = {
	{"none", FAULT_NONE, false},
	{"nulls", FAULT_NULLS, false},
	{"direction", FAULT_DIRECTION, false},
	{"column", FAULT_COLUMN, false},
	{"native", FAULT_NATIVE, false},
	{"crash", FAULT_CRASH, false},
	{NULL, 0, false}
};

static int	fault = FAULT_NONE;
static planner_hook_type previous_planner_hook;

/* Spoils the lists of planned_sort_write(), with an entry for each sort column. */
static void
spoil_node(CustomScan *scan)
{
	List	   *columns = linitial(linitial(scan->custom_private));
	List	   *attnos = linitial(columns);
	List	   *limit = lsecond(linitial(scan->custom_private));
	ListCell   *operator = list_tail(lsecond(columns));
	ListCell   *nulls_first = list_tail(lfourth(columns));

	switch (fault)
	{
		case FAULT_NULLS:
			lfirst_int(nulls_first) = !lfirst_int(nulls_first);
			break;
		case FAULT_DIRECTION:
			lfirst_oid(operator) = get_commutator(lfirst_oid(operator));
			break;
		case FAULT_COLUMN:

			/*
			 * How many columns there are is the length of this list.  The
			 * columns of the groups and peers of a limit have to stay.
			 */
			if (list_length(attnos) > Max(lsecond_int(linitial(limit)),
										  list_length(lsecond(limit))) &&
				list_length(attnos) > 1)
				linitial(columns) = list_truncate(attnos, list_length(attnos) - 1);
			break;
		case FAULT_NATIVE:
			SetConfigOption("gpusort.enable", "off", PGC_USERSET,
							PGC_S_SESSION);
			break;
		case FAULT_CRASH:
			abort();
	}
}

static void
spoil_plan(Plan *plan)
{
	List	   *children = NIL;
	ListCell   *cell;

	if (plan == NULL)
		return;
	spoil_plan(plan->lefttree);
	spoil_plan(plan->righttree);
	if (IsA(plan, Append))
		children = ((Append *) plan)->appendplans;
	else if (IsA(plan, MergeAppend))
		children = ((MergeAppend *) plan)->mergeplans;
	else if (IsA(plan, SubqueryScan))
		spoil_plan(((SubqueryScan *) plan)->subplan);
	else if (IsA(plan, CustomScan) &&
			 strcmp(((CustomScan *) plan)->methods->CustomName, "GpuSort") == 0)
		spoil_node((CustomScan *) plan);
	foreach(cell, children)
		spoil_plan(lfirst(cell));
}

static PlannedStmt *
plan_wrongly(Query *parse, const char *query_string, int cursor_options,
			 ParamListInfo bound_params PLANNER_EXPLAIN_PARAMETER)
{
	PlannedStmt *result = previous_planner_hook(parse, query_string,
												cursor_options, bound_params
												PLANNER_EXPLAIN_ARGUMENT);
	ListCell   *cell;

	spoil_plan(result->planTree);
	foreach(cell, result->subplans)
		spoil_plan(lfirst(cell));
	return result;
}

void
_PG_init(void)
{
	DefineCustomEnumVariable("wrong_orders.fault",
							 "What is wrong with each GpuSort.", NULL,
							 &fault, FAULT_NONE, fault_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	previous_planner_hook = planner_hook;
	if (previous_planner_hook == NULL)
		elog(ERROR, "gpusort has to be loaded ahead of wrong_orders");
	planner_hook = plan_wrongly;
}
