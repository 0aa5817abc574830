/*-------------------------------------------------------------------------
 *
 * plan_columns.c
 *	  The columns of the rows that a GpuSort or GpuSortGroups takes.
 *
 * The planner lets a Sort's child emit only the columns that are needed
 * above it, so there is little to narrow.  But it does not consider whether
 * the child can emit its rows as they are, or has to form each row anew.  To
 * form a row takes about as long as the rest of a sort does for a row:
 *
 *	- ORDER BY x COLLATE y adds a copy of x to the rows.  Here the GpuSort
 *	  adds the copy when it emits rows, or not at all if nobody reads it.
 *	- A window function has the columns that it compares before the
 *	  others.  Here a table's rows keep their columns in the table's
 *	  order.
 *
 * Both change a finished plan, in which nodes name the columns of their child
 * by numbers: in expressions, and some nodes also in arrays.  So this file
 * touches only the nodes that it names, all of whose fields it knows, and
 * leaves any other node alone.  A TAP test compares these fields with the
 * server's headers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/syscache.h"

#include "executor/gpusort_plan.h"
#include "executor/node_gpusort.h"
#include "executor/node_groups.h"
#include "planner/plan_columns.h"

/* New numbers of columns. */
typedef struct Renumbering
{
	int			ncolumns;
	AttrNumber *numbers;		/* new number of each column, the first at [1] */
} Renumbering;

static AttrNumber
new_number(const Renumbering *renumbering, AttrNumber column)
{
	/* columns that were added behind the others stay there */
	return column <= renumbering->ncolumns ? renumbering->numbers[column] :
		column;
}

static void
renumber(AttrNumber *columns, int ncolumns, const Renumbering *renumbering)
{
	for (int i = 0; i < ncolumns; i++)
		columns[i] = new_number(renumbering, columns[i]);
}

/* Renumbers the columns of its child that a node has beside expressions. */
static void
renumber_arrays(Plan *plan, const Renumbering *renumbering)
{
	switch (nodeTag(plan))
	{
		case T_Limit:
			{
				Limit	   *limit = (Limit *) plan;

				renumber(limit->uniqColIdx, limit->uniqNumCols, renumbering);
				break;
			}
		case T_GatherMerge:
			{
				GatherMerge *merge = (GatherMerge *) plan;

				renumber(merge->sortColIdx, merge->numCols, renumbering);
				break;
			}
		case T_WindowAgg:
			{
				WindowAgg  *window = (WindowAgg *) plan;

				renumber(window->partColIdx, window->partNumCols, renumbering);
				renumber(window->ordColIdx, window->ordNumCols, renumbering);
				break;
			}
		default:
			elog(ERROR, "unexpected node type %d", (int) nodeTag(plan));
	}
}

/*
 * Can columns be removed from the end of a node's output?  The node must
 * form its rows by its target list, and may not have the numbers of these
 * columns elsewhere.  A WindowAgg has such numbers in its run condition, but
 * only those of window functions.
 */
static bool
can_put_out_less(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Result:
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_SubqueryScan:
		case T_FunctionScan:
		case T_ValuesScan:
		case T_TableFuncScan:
		case T_CteScan:
		case T_NamedTuplestoreScan:
		case T_WorkTableScan:
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
		case T_Group:
		case T_Agg:
		case T_WindowAgg:
		case T_Gather:
		case T_GatherMerge:
			return true;
		default:
			return false;
	}
}

/*
 * The number of the column with the same value as this one, from which it
 * differs only in the collation; 0 if there is none.
 */
static AttrNumber
original_of(const TargetEntry *copy, List *target_list)
{
	const RelabelType *relabel = (const RelabelType *) copy->expr;
	ListCell   *cell;

	if (!IsA(relabel, RelabelType) || !IsA(relabel->arg, Var) ||
		relabel->resulttype != ((Var *) relabel->arg)->vartype)
		return 0;
	foreach(cell, target_list)
	{
		const TargetEntry *entry = lfirst(cell);

		if (equal(entry->expr, relabel->arg))
			return entry->resno;
	}
	return 0;
}

AttrNumber *
drop_copies(Sort *sort)
{
	Plan	   *child = sort->plan.lefttree;
	List	   *columns = child->targetlist;
	int			nkept = list_length(columns);
	AttrNumber *sources = palloc(nkept * sizeof(AttrNumber));

	if (can_put_out_less(child))
		while (nkept > 0 &&
			   original_of(list_nth(columns, nkept - 1), columns) != 0)
			nkept--;

	for (int i = 0; i < list_length(columns); i++)
		sources[i] = i < nkept ? i + 1 :
			original_of(list_nth(columns, i), columns);
	for (int i = 0; i < sort->numCols; i++)
		sort->sortColIdx[i] = sources[sort->sortColIdx[i] - 1];
	if (nkept < list_length(columns))
		child->targetlist = list_truncate(list_copy(columns), nkept);
	return sources;
}

/* Does a target list consist of these columns of this relation as they are? */
static bool
emits_columns(const List *target_list, int varno, const List *columns)
{
	ListCell   *cell;
	int			column = 1;

	foreach(cell, target_list)
	{
		const Var  *var = (const Var *) ((TargetEntry *) lfirst(cell))->expr;

		if (!IsA(var, Var) || var->varno != varno ||
			var->varattno != column++)
			return false;
	}
	return list_length(target_list) == list_length(columns);
}

/*
 * Does a node emit the columns of its child as they are?  False for some nodes
 * that do, but are not worth the effort.
 */
static bool
emits_child(const Plan *plan)
{
	return (IsA(plan, Limit) || IsA(plan, GatherMerge)) &&
		emits_columns(plan->targetlist, OUTER_VAR, plan->lefttree->targetlist);
}

/* The GpuSort whose rows a plan emits; NULL if there is none. */
static Plan *
emitted_gpusort(Plan *plan)
{
	while (emits_child(plan))
		plan = plan->lefttree;
	return is_gpusort(plan) ? plan : NULL;
}

/* The node that sorts the rows below a window function; NULL if there is none. */
static Plan *
window_sort(const WindowAgg *window)
{
	Plan	   *plan = window->plan.lefttree;

	/* without a projection */
	if (is_gpusort_groups(plan) &&
		emits_columns(plan->targetlist, INDEX_VAR,
					  ((CustomScan *) plan)->custom_scan_tlist))
		return plan;
	return emitted_gpusort(plan);
}

void
drop_unused_copies(Plan *plan)
{
	Plan	   *sort = emitted_gpusort(plan);
	Renumbering originals;
	int			nstored;

	if (sort == NULL)
		return;

	nstored = list_length(((CustomScan *) sort)->custom_scan_tlist);
	if (nstored == list_length(sort->targetlist))
		return;
	originals.ncolumns = list_length(sort->targetlist);
	originals.numbers = palloc((originals.ncolumns + 1) * sizeof(AttrNumber));
	for (int column = 1; column <= originals.ncolumns; column++)
	{
		const TargetEntry *entry = list_nth(plan->targetlist, column - 1);
		const TargetEntry *sorted = list_nth(sort->targetlist, column - 1);

		if (column > nstored &&
			(!entry->resjunk || !IsA(sorted->expr, Var)))
			return;
		originals.numbers[column] = column <= nstored ? column :
			((const Var *) sorted->expr)->varattno;
	}

	for (;; plan = plan->lefttree)
	{
		plan->targetlist = list_truncate(list_copy(plan->targetlist), nstored);
		if (plan == sort)
			break;
		renumber_arrays(plan, &originals);
	}
}

static int
count_table_columns(Oid table)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	int			ncolumns;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", table);
	ncolumns = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	return ncolumns;
}

/*
 * Does a plan emit all columns of a table, in another order?  If so, sets the
 * numbers that these columns have in the table.
 */
static bool
reorders_table(const Plan *plan, const List *range_table,
			   Renumbering *renumbering)
{
	int			ncolumns = list_length(plan->targetlist);
	bool		reordered = false;
	Bitmapset  *seen = NULL;
	Index		table;
	ListCell   *cell;

	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
			table = ((const Scan *) plan)->scanrelid;
			break;
		default:
			return false;
	}
	if (count_table_columns(rt_fetch(table, range_table)->relid) != ncolumns)
		return false;

	renumbering->ncolumns = ncolumns;
	renumbering->numbers = palloc((ncolumns + 1) * sizeof(AttrNumber));
	foreach(cell, plan->targetlist)
	{
		const TargetEntry *entry = lfirst(cell);
		const Var  *var = (const Var *) entry->expr;

		if (!IsA(var, Var) || var->varattno <= 0 ||
			bms_is_member(var->varattno, seen))
			return false;
		seen = bms_add_member(seen, var->varattno);
		renumbering->numbers[entry->resno] = var->varattno;
		reordered |= entry->resno != var->varattno;
	}
	return reordered;
}

/*
 * Renumbers the columns of a node's child in an expression or a list of
 * expressions.
 */
static Node *
renumber_child(Node *node, Renumbering *renumbering)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && IS_SPECIAL_VARNO(((Var *) node)->varno))
	{
		Var		   *var = copyObject((Var *) node);

		var->varattno = new_number(renumbering, var->varattno);
		return (Node *) var;
	}
	return expression_tree_mutator(node, renumber_child, (void *) renumbering);
}

/* Gives the columns themselves their numbers. */
static List *
reorder(List *columns, const Renumbering *renumbering)
{
	List	   *result = list_copy(columns);
	ListCell   *cell;

	foreach(cell, columns)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(cell));

		entry->resno = new_number(renumbering, entry->resno);
		lfirst(list_nth_cell(result, entry->resno - 1)) = entry;
	}
	return result;
}

/* The same for the columns of its child that a node emits. */
static List *
reorder_emitted(List *columns, Renumbering *renumbering)
{
	return (List *) renumber_child((Node *) reorder(columns, renumbering),
								   renumbering);
}

void
keep_table_order(WindowAgg *window, const List *range_table)
{
	Plan	   *plan = window->plan.lefttree;
	Plan	   *sort = window_sort(window);
	Renumbering renumbering;
	PlannedSort planned;

	if (sort == NULL ||
		!reorders_table(sort->lefttree, range_table, &renumbering))
		return;

	sort->lefttree->targetlist = reorder(sort->lefttree->targetlist,
										 &renumbering);
	((CustomScan *) sort)->custom_scan_tlist =
		reorder_emitted(((CustomScan *) sort)->custom_scan_tlist,
						&renumbering);
	planned = planned_sort_read((CustomScan *) sort);
	for (int i = 0; i < planned.ncolumns; i++)
		planned.columns[i].attno = new_number(&renumbering,
											  planned.columns[i].attno);
	planned_sort_change((CustomScan *) sort, &planned);
	for (;; plan = plan->lefttree)
	{
		plan->targetlist = reorder_emitted(plan->targetlist, &renumbering);
		if (plan == sort)
			break;
		renumber_arrays(plan, &renumbering);
	}

	window->plan.targetlist = (List *)
		renumber_child((Node *) window->plan.targetlist, &renumbering);
	window->plan.qual = (List *)
		renumber_child((Node *) window->plan.qual, &renumbering);
	renumber_arrays(&window->plan, &renumbering);
}
