/*-------------------------------------------------------------------------
 *
 * grouping_set_paths.c
 *	  The path of grouping sets that one sort serves.
 *
 * One order has the groups of all sets if each set has the columns of the next
 * smaller one, and more, as the sets of a ROLLUP do.  Core's path of these sets
 * is an Agg above a sort.  Core hardly ever chooses it, since it charges the sort
 * for comparisons, and expects to hash in little time.  The path here is the
 * same with the cost of a GpuSort.  Core hides how it divides sets, so this
 * file orders them again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "planner/grouping_set_paths.h"
#include "planner/sort_paths.h"
#include "port/compat.h"

/*
 * Appends those columns of a set that an order does not have yet.  If the query
 * sorts by one of them next, it comes first.
 */
static List *
append_columns(List *order, const List *set, const List *sort_clause)
{
	List	   *more = list_difference_int(set, order);

	while (more != NIL && list_length(order) < list_length(sort_clause))
	{
		const SortGroupClause *next = list_nth(sort_clause,
											   list_length(order));
		int			column = next->tleSortGroupRef;

		if (!list_member_int(more, column))
			break;
		order = lappend_int(order, column);
		more = list_delete_int(more, column);
	}
	return list_concat(order, more);
}

/*
 * Returns the columns of all sets in an order that serves them all; NIL if
 * there is none.
 */
static List *
find_order(const Query *parse)
{
	List	   *order = NIL;
	ListCell   *cell;

	/* the smallest set comes first */
	foreach(cell, parse->groupingSets)
	{
		const List *set = lfirst(cell);

		if (list_difference_int(order, set) != NIL)
			return NIL;
		order = append_columns(order, set, parse->sortClause);
	}
	return order;
}

/* The clauses of these columns. */
static List *
find_clauses(const Query *parse, const List *order)
{
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, order)
		clauses = lappend(clauses, get_sortgroupref_clause(lfirst_int(cell),
														   parse->groupClause));
	return clauses;
}

/* Puts a set of the first columns of an order ahead of the smaller ones. */
static void
add_set(PlannerInfo *root, RollupData *rollup, List *order, int ncolumns,
		List *exprs, double rows)
{
	GroupingSetData *data = makeNode(GroupingSetData);
	List	   *columns = NIL;

	for (int i = 0; i < ncolumns; i++)
		columns = lappend_int(columns, i);
	data->set = list_truncate(list_copy(order), ncolumns);
	data->numGroups = estimate_num_groups(root, exprs, rows, &columns, NULL);
	rollup->gsets = lcons(columns, rollup->gsets);
	rollup->gsets_data = lcons(data, rollup->gsets_data);
	rollup->numGroups += data->numGroups;
}

/* What core calls a rollup: sets that one order serves, the largest first. */
static RollupData *
make_rollup(PlannerInfo *root, List *order, const Path *input,
			const GroupPathExtraData *extra)
{
	RollupData *rollup = makeNode(RollupData);
	List	   *exprs;
	ListCell   *cell;

	rollup->groupClause = find_clauses(root->parse, order);
	exprs = get_sortgrouplist_exprs(rollup->groupClause, extra->targetList);
	foreach(cell, root->parse->groupingSets)
		add_set(root, rollup, order, list_length(lfirst(cell)), exprs,
				input->rows);
	return rollup;
}

/*
 * The path of an Agg above sorted rows.  Core charges for the transitions of one
 * set, but they take as long for each.
 */
static Path *
make_agg(PlannerInfo *root, RelOptInfo *grouped, Path *sorted,
		 RollupData *rollup, const GroupPathExtraData *extra)
{
	AggClauseCosts costs = {0};
	Path	   *path;

	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	path = (Path *) create_groupingsets_path(root, grouped, sorted,
											 (List *) extra->havingQual,
											 AGG_SORTED, list_make1(rollup),
											 &costs);
	path->total_cost += (list_length(rollup->gsets) - 1) *
		costs.transCost.per_tuple * sorted->rows;
	/* as in core */
	path->pathkeys = sorted->pathkeys;
	return path;
}

Path *
grouping_set_paths_make(PlannerInfo *root, RelOptInfo *grouped, Path *input,
						const GroupPathExtraData *extra)
{
	List	   *order = find_order(root->parse);
	RollupData *rollup;
	List	   *pathkeys;
	Path	   *sorted;

	if (order == NIL || !grouping_is_sortable(root->parse->groupClause))
		return NULL;
	rollup = make_rollup(root, order, input, extra);
	pathkeys = GROUPING_SET_KEYS(root, rollup->groupClause);
	if (pathkeys == NIL)
		return NULL;
	sorted = sort_paths_make(root, grouped, input, pathkeys, NO_BOUND);
	return sorted == NULL ? NULL :
		make_agg(root, grouped, sorted, rollup, extra);
}
