/*-------------------------------------------------------------------------
 *
 * gpusort_plan.c
 *	  What the plan of a GpuSort says: the columns of the Sort that it
 *	  replaces.
 *
 * A PlannedSort has all of that.  It is written to custom_private as lists,
 * since a plan is copied, and is written and read for parallel workers.
 *
 * This file also sets how a node that emits the columns of its child refers to
 * them.  Core's planner does that when the plan is done: it compares each
 * expression of a node with all expressions of the node below.  For some
 * hundred windows, each with a sort of all columns, this took six times as
 * long as all else.  Here a column refers to the child's column of the same
 * number.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/tlist.h"

#include "executor/gpusort_plan.h"

void
emit_child(CustomScan *scan, List *target_list, Plan *child)
{
	Assert(tlist_same_exprs(target_list,
							list_truncate(list_copy(child->targetlist),
										  list_length(target_list))));
	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.lefttree = child;

	/*
	 * the planner takes the node for the scan of a table, and looks up
	 * nothing
	 */
	scan->scan.scanrelid = 1;
}

void
refer_to_columns(List *target_list, int varno)
{
	ListCell   *cell;

	foreach(cell, target_list)
	{
		TargetEntry *entry = lfirst(cell);

		entry->expr = (Expr *) makeVarFromTargetEntry(varno, entry);
	}
}

List *
copy_columns(const List *target_list, int varno)
{
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, target_list)
		columns = lappend(columns, flatCopyTargetEntry(lfirst(cell)));
	refer_to_columns(columns, varno);
	return columns;
}

void
refer_to_child(CustomScan *scan)
{
	scan->scan.scanrelid = 0;
	scan->custom_scan_tlist = copy_columns(scan->scan.plan.lefttree->targetlist,
										   OUTER_VAR);
	refer_to_columns(scan->scan.plan.targetlist, INDEX_VAR);
}

CustomScan *
begin_consumer(const Plan *above, const CustomScan *sort)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan = *above;
	scan->scan.plan.type = T_CustomScan;
	scan->scan.plan.parallel_aware = sort->scan.plan.parallel_aware;
	scan->scan.plan.initPlan = list_concat_copy(above->initPlan,
												sort->scan.plan.initPlan);
	scan->scan.plan.lefttree = sort->scan.plan.lefttree;
	scan->custom_exprs = sort->custom_exprs;
	scan->custom_plans = sort->custom_plans;
	return scan;
}

Expr *
emitted_by_sort(const CustomScan *sort, AttrNumber attno)
{
	return list_nth_node(TargetEntry, sort->scan.plan.targetlist,
						 attno - 1)->expr;
}

static PlannedSort
make_planned_sort(int ncolumns, const AttrNumber *attnos, const Oid *operators,
				  const Oid *collations, const bool *nulls_first)
{
	PlannedSort planned = {
		.ncolumns = ncolumns,
		.columns = palloc0(ncolumns * sizeof(SortColumn))
	};

	for (int i = 0; i < ncolumns; i++)
	{
		planned.columns[i].attno = attnos[i];
		planned.columns[i].sort_operator = operators[i];
		planned.columns[i].collation = collations[i];
		planned.columns[i].nulls_first = nulls_first[i];
	}
	return planned;
}

PlannedSort
planned_sort_of(const Sort *sort)
{
	return make_planned_sort(sort->numCols, sort->sortColIdx,
							 sort->sortOperators, sort->collations,
							 sort->nullsFirst);
}

PlannedSort
planned_sort_of_merge(const GatherMerge *merge)
{
	return make_planned_sort(merge->numCols, merge->sortColIdx,
							 merge->sortOperators, merge->collations,
							 merge->nullsFirst);
}

/*
 * From 18 on EXPLAIN adds up the disabled nodes of custom_plans only.  Without
 * this plan, which is never run, EXPLAIN would call the node disabled if a node
 * below is.
 */
void
count_disabled_child(CustomScan *scan, const Plan *child)
{
#if PG_VERSION_NUM >= 180000
	Result	   *count;

	if (child->disabled_nodes == 0)
		return;
	count = makeNode(Result);
	count->plan.disabled_nodes = child->disabled_nodes;
	scan->custom_plans = list_make1(count);
#endif
}

List *
planned_sort_write(const PlannedSort *sort)
{
	const PlannedGroupLimit *limit = &sort->limit;
	List	   *attnos = NIL;
	List	   *operators = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;
	List	   *no_keys = NIL;

	for (int i = 0; i < sort->ncolumns; i++)
	{
		attnos = lappend_int(attnos, sort->columns[i].attno);
		operators = lappend_oid(operators, sort->columns[i].sort_operator);
		collations = lappend_oid(collations, sort->columns[i].collation);
		nulls_first = lappend_int(nulls_first, sort->columns[i].nulls_first);
		no_keys = lappend_int(no_keys, sort->columns[i].no_key);
	}
	return list_make2(list_make5(attnos, operators, collations, nulls_first,
								 no_keys),
					  list_make2(list_make3_int(limit->unit,
												limit->ngroup_columns,
												limit->more),
								 limit->equal));
}

PlannedSort
planned_sort_read(const CustomScan *scan)
{
	const List *written = linitial(scan->custom_private);
	const List *columns = linitial(written);
	const List *limit = lsecond(written);
	const List *attnos = linitial(columns);
	PlannedSort sort = {
		.ncolumns = list_length(attnos),
		.columns = palloc(list_length(attnos) * sizeof(SortColumn)),
		.limit.unit = linitial_int(linitial(limit)),
		.limit.ngroup_columns = lsecond_int(linitial(limit)),
		.limit.more = lthird_int(linitial(limit)),
		.limit.equal = lsecond(limit)
	};

	for (int i = 0; i < sort.ncolumns; i++)
	{
		sort.columns[i].attno = list_nth_int(attnos, i);
		sort.columns[i].sort_operator = list_nth_oid(lsecond(columns), i);
		sort.columns[i].collation = list_nth_oid(lthird(columns), i);
		sort.columns[i].nulls_first = list_nth_int(lfourth(columns), i);
		sort.columns[i].no_key = list_nth_int(list_nth(columns, 4), i);
	}
	if (planned_sort_has_limit(&sort))
		sort.limit.count = linitial(scan->custom_exprs);
	return sort;
}

void
planned_sort_change(CustomScan *scan, const PlannedSort *sort)
{
	linitial(scan->custom_private) = planned_sort_write(sort);
}

int
planned_sort_find(const PlannedSort *sort, AttrNumber attno, Oid equality,
				  Oid collation)
{
	for (int i = 0; i < sort->ncolumns; i++)
	{
		const SortColumn *column = &sort->columns[i];

		if (column->attno == attno && column->collation == collation &&
			sort_column_equality(column) == equality)
			return i;
	}
	return -1;
}

bool
gpusort_has_all_columns(const CustomScan *scan)
{
	return list_length(scan->custom_scan_tlist) ==
		list_length(scan->scan.plan.targetlist);
}

Sort *
gpusort_core_sort(const CustomScan *scan)
{
	PlannedSort planned = planned_sort_read(scan);
	Sort	   *sort = makeNode(Sort);
	int			ncolumns = planned.ncolumns;

	sort->plan = scan->scan.plan;
	sort->plan.type = T_Sort;
	sort->plan.parallel_aware = false;
	sort->plan.targetlist = scan->custom_scan_tlist;
	sort->numCols = ncolumns;
	sort->sortColIdx = palloc(ncolumns * sizeof(AttrNumber));
	sort->sortOperators = palloc(ncolumns * sizeof(Oid));
	sort->collations = palloc(ncolumns * sizeof(Oid));
	sort->nullsFirst = palloc(ncolumns * sizeof(bool));
	for (int i = 0; i < ncolumns; i++)
	{
		sort->sortColIdx[i] = planned.columns[i].attno;
		sort->sortOperators[i] = planned.columns[i].sort_operator;
		sort->collations[i] = planned.columns[i].collation;
		sort->nullsFirst[i] = planned.columns[i].nulls_first;
	}
	return sort;
}

void
gpusort_limit_groups(CustomScan *scan, const PlannedGroupLimit *limit)
{
	PlannedSort sort = planned_sort_read(scan);

	Assert(scan->custom_exprs == NIL);
	sort.limit = *limit;
	scan->custom_exprs = list_make1(limit->count);
	planned_sort_change(scan, &sort);
}

PlannedGroupLimit
planned_limit_to_one(List *equal)
{
	return (PlannedGroupLimit)
	{
		.unit = LIMITS_ROWS,
			.ngroup_columns = list_length(equal),
			.equal = equal,
			.count = (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
										Int64GetDatum(1), false,
										FLOAT8PASSBYVAL)
	};
}

void
gpusort_limit_to_one(CustomScan *scan, List *equal)
{
	PlannedGroupLimit limit = planned_limit_to_one(equal);

	gpusort_limit_groups(scan, &limit);
}

SortSize
gpusort_size(const CustomScan *scan, const List *range_table)
{
	PlannedSort sort = planned_sort_read(scan);
	List	   *attnos = NIL;

	for (int i = 0; i < sort.ncolumns; i++)
		attnos = lappend_int(attnos, sort.columns[i].attno);
	return sort_size_of_plan(&scan->scan.plan, attnos,
							 sort.columns[0].sort_operator,
							 sort.columns[0].collation, range_table);
}
