/*-------------------------------------------------------------------------
 *
 * gpusort_plan.c
 *	  What the plan of a GpuSort says: the columns of the Sort in whose place it stands.
 *
 * All of that is in custom_private, as lists, since a plan is copied, and written and
 * read for parallel workers.
 *
 * And how nodes that emit columns of their child refer to it.  The planner looks for
 * an expression among those of the nodes below, and gives a node references to its
 * child's columns only when the plan is done: to each by comparing it with all,
 * which for some hundred windows, each with a sort of all columns, took six times as
 * long as all else.  Here a column is the child's of the same number.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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
	/* of a table, as far as the planner knows, which looks up nothing then */
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

void
refer_to_child(CustomScan *scan)
{
	ListCell   *cell;

	scan->scan.scanrelid = 0;
	scan->custom_scan_tlist = NIL;
	foreach(cell, scan->scan.plan.lefttree->targetlist)
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
										  flatCopyTargetEntry(lfirst(cell)));
	refer_to_columns(scan->scan.plan.targetlist, INDEX_VAR);
	refer_to_columns(scan->custom_scan_tlist, OUTER_VAR);
}

List *
gpusort_scan_private(const Sort *sort)
{
	List	   *attnos = NIL;
	List	   *operators = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;

	for (int i = 0; i < sort->numCols; i++)
	{
		attnos = lappend_int(attnos, sort->sortColIdx[i]);
		operators = lappend_oid(operators, sort->sortOperators[i]);
		collations = lappend_oid(collations, sort->collations[i]);
		nulls_first = lappend_int(nulls_first, sort->nullsFirst[i]);
	}
	return list_make5(attnos, operators, collations, nulls_first, NIL);
}

List *
gpusort_scan_private_of_keys(const Sort *sort, int nkey_columns)
{
	return lappend(gpusort_scan_private(sort), list_make1_int(nkey_columns));
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
	List	   *attnos = gpusort_sort_columns(scan);
	List	   *operators = lsecond(scan->custom_private);
	List	   *collations = lthird(scan->custom_private);
	List	   *nulls_first = lfourth(scan->custom_private);
	Sort	   *sort = makeNode(Sort);
	int			ncolumns = list_length(attnos);

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
		sort->sortColIdx[i] = list_nth_int(attnos, i);
		sort->sortOperators[i] = list_nth_oid(operators, i);
		sort->collations[i] = list_nth_oid(collations, i);
		sort->nullsFirst[i] = list_nth_int(nulls_first, i);
	}
	return sort;
}

void
gpusort_limit_groups(CustomScan *scan, const PlannedGroupLimit *limit)
{
	lfirst(list_nth_cell(scan->custom_private, 4)) = node_limit_add(scan,
																	limit);
}

List *
gpusort_planned_limit(const CustomScan *scan)
{
	return list_nth(scan->custom_private, 4);
}

List *
gpusort_sort_columns(const CustomScan *scan)
{
	return linitial(scan->custom_private);
}

SortSize
gpusort_size(const CustomScan *scan, const List *range_table)
{
	return sort_size_of_plan(&scan->scan.plan, gpusort_sort_columns(scan),
							 linitial_oid(lsecond(scan->custom_private)),
							 linitial_oid(lthird(scan->custom_private)),
							 range_table);
}

SortColumn *
gpusort_make_columns(const CustomScan *scan, int *ncolumns)
{
	List	   *attnos = gpusort_sort_columns(scan);
	List	   *operators = lsecond(scan->custom_private);
	List	   *collations = lthird(scan->custom_private);
	List	   *nulls_first = lfourth(scan->custom_private);
	SortColumn *columns;

	*ncolumns = list_length(attnos);
	columns = palloc0(*ncolumns * sizeof(SortColumn));
	for (int i = 0; i < *ncolumns; i++)
	{
		columns[i].attno = list_nth_int(attnos, i);
		columns[i].sort_operator = list_nth_oid(operators, i);
		columns[i].collation = list_nth_oid(collations, i);
		columns[i].nulls_first = list_nth_int(nulls_first, i);
	}
	return columns;
}
