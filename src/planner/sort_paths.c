/*-------------------------------------------------------------------------
 *
 * sort_paths.c
 *	  The path of a sort that a GpuSort node will do.
 *
 * The path has core's own Sort node, with the cost of the GpuSort that
 * plan_sort.c will make of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "cost/sort_choice.h"
#include "keys/sort_keys.h"
#include "planner/sort_paths.h"
#include "planner/sort_refusal.h"
#include "port/compat.h"

/*
 * An incremental sort really takes this part of what core charges for it: its
 * groups stay in the cache, and core expects 1.5 times as many rows in each.
 */
#define INCREMENTAL_PART	0.4

/* The expression that a path key stands for in these relations. */
static const EquivalenceMember *
pathkey_member(const PathKey *key, Relids relids)
{
	List	   *members = key->pk_eclass->ec_members;
	ListCell   *cell;

	foreach(cell, members)
	{
		const EquivalenceMember *member = lfirst(cell);

		if (!member->em_is_const && bms_is_subset(member->em_relids, relids))
			return member;
	}
	return linitial(members);
}

List *
sort_paths_columns(const List *pathkeys, Relids relids)
{
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, pathkeys)
		columns = lappend(columns, pathkey_member(lfirst(cell), relids)->em_expr);
	return columns;
}

bool
sort_paths_take_over(PlannerInfo *root, const Path *input, List *pathkeys,
					 double bound, SortSize *size)
{
	Relids		relids = input->parent->relids;
	const PathKey *first = linitial(pathkeys);
	const EquivalenceMember *member = pathkey_member(first, relids);
	Oid			sort_operator = PATHKEY_OPERATOR(first, member->em_datatype);
	Oid			collation = first->pk_eclass->ec_collation;
	SortSize	rows = {input->rows, input->pathtarget->width};

	/*
	 * before the keys: to look at the keys takes longer than to sort a few
	 * rows
	 */
	if (refuse_size(&rows, bound) != REFUSAL_NONE ||
		sort_keys_refuse(exprType((Node *) member->em_expr), sort_operator,
						 collation) != REFUSAL_NONE)
		return false;
	*size = sort_size_of_path(root, input, sort_paths_columns(pathkeys, relids),
							  sort_operator, collation, bound);

	/*
	 * if core chooses the plan anyway, its sort writes as much as it has to
	 */
	return refuse_size(size, bound) == REFUSAL_NONE &&
		sort_has_file_space(size);
}

bool
sort_paths_few_values(PlannerInfo *root, const Path *input,
					  const List *pathkeys)
{
	SortSize	size = {input->rows, input->pathtarget->width};
	const Node *expr;

	if (list_length(pathkeys) > 1 ||
		list_length(input->pathtarget->exprs) != 1)
		return false;
	expr = linitial(input->pathtarget->exprs);
	return values_are_kept(&size, exprType(expr)) ||
		values_are_few(exprType(expr), values_of_path(root, input, expr));
}

Path *
sort_paths_make(PlannerInfo *root, RelOptInfo *relation, Path *input,
				List *pathkeys, double bound)
{
	SortSize	size;
	Path	   *path;
	Cost		startup;
	Cost		total;

	if (pathkeys_contained_in(pathkeys, input->pathkeys) ||
		!sort_paths_take_over(root, input, pathkeys, bound, &size) ||
		sort_paths_few_values(root, input, pathkeys))
		return NULL;

	cost_sort_alone(&size, &startup, &total);
	path = (Path *) create_sort_path(root, relation, input, pathkeys, bound);
	path->startup_cost = input->total_cost + startup;
	path->total_cost = input->total_cost + total;
	return path;
}

/* A single process sorts rows that are in order in next to no time. */
bool
sort_paths_come_in_order(PlannerInfo *root, const Path *input, List *pathkeys)
{
	ListCell   *cell;

	foreach(cell, pathkeys)
	{
		const PathKey *key = lfirst(cell);
		const EquivalenceMember *member = pathkey_member(key, input->parent->relids);
		TableOrder	order;

		if (!order_of_path(root, input, (Node *) member->em_expr, &order) ||
			table_order_correlation(&order,
									PATHKEY_OPERATOR(key, member->em_datatype),
									key->pk_eclass->ec_collation) < SORTED_CORRELATION)
			return false;
	}
	return true;
}

bool
sort_paths_share(PlannerInfo *root, const Path *partial, List *pathkeys,
				 double rows, SortSize *size)
{
	if (!sort_paths_take_over(root, partial, pathkeys, NO_BOUND, size) ||
		!sort_is_together(sort_choose(size, rows / size->rows, NO_BOUND)) ||
		sort_paths_come_in_order(root, partial, pathkeys))
		return false;
	size->rows = rows;
	return true;
}

Path *
sort_paths_cheapest(const RelOptInfo *relation)
{
	Path	   *cheapest = linitial(relation->pathlist);
	ListCell   *cell;

	foreach(cell, relation->pathlist)
	{
		if (compare_path_costs(lfirst(cell), cheapest, TOTAL_COST) < 0)
			cheapest = lfirst(cell);
	}
	return cheapest;
}

const Path *
sort_paths_below_groups(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_AggPath:
			return ((const AggPath *) path)->subpath;
		case T_GroupPath:
			return ((const GroupPath *) path)->subpath;
		case T_GroupingSetsPath:
			return ((const GroupingSetsPath *) path)->subpath;
		case T_UniquePath:
			return ((const UniquePath *) path)->subpath;
		default:
			return NULL;
	}
}

const IncrementalSortPath *
sort_paths_find_incremental(const Path *path)
{
	while (path != NULL)
	{
		switch (nodeTag(path))
		{
			case T_IncrementalSortPath:
				return (const IncrementalSortPath *) path;
			case T_ProjectionPath:
				path = ((const ProjectionPath *) path)->subpath;
				break;
			case T_WindowAggPath:
				path = ((const WindowAggPath *) path)->subpath;
				break;
			default:
				path = sort_paths_below_groups(path);
				break;
		}
	}
	return NULL;
}

/* Is only the first of these paths in the order of the ORDER BY? */
static bool
only_first_is_ordered(const PlannerInfo *root, const Path *path,
					  const Path *other)
{
	return pathkeys_contained_in(root->sort_pathkeys, path->pathkeys) &&
		!pathkeys_contained_in(root->sort_pathkeys, other->pathkeys);
}

bool
sort_paths_incremental_is_better(const PlannerInfo *root,
								 const RelOptInfo *relation, const Path *own)
{
	ListCell   *cell;

	foreach(cell, relation->pathlist)
	{
		const Path *path = lfirst(cell);
		const IncrementalSortPath *sort = sort_paths_find_incremental(path);
		Cost		too_much;

		/* if it has to be sorted once more, costs tell enough */
		if (sort == NULL || DISABLED_NODES(path) > DISABLED_NODES(own) ||
			only_first_is_ordered(root, own, path))
			continue;
		too_much = (1 - INCREMENTAL_PART) *
			(sort->spath.path.total_cost - sort->spath.subpath->total_cost);
		if (path->total_cost - too_much <= own->total_cost)
			return true;
	}
	return false;
}

Path *
sort_paths_group(PlannerInfo *root, RelOptInfo *grouped, Path *sorted,
				 const GroupPathExtraData *extra, double ngroups)
{
	List	   *clause = GROUP_CLAUSE(root);
	List	   *having = (List *) extra->havingQual;
	AggClauseCosts costs = {0};
	Path	   *path;

	if (root->parse->hasAggs)
	{
		get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
		path = (Path *) create_agg_path(root, grouped, sorted,
										grouped->reltarget,
										root->parse->groupClause != NIL ?
										AGG_SORTED : AGG_PLAIN,
										AGGSPLIT_SIMPLE, clause, having,
										&costs, ngroups);
	}
	else
		path = (Path *) create_group_path(root, grouped, sorted, clause,
										  having, ngroups);
	/* before 16 core says that the whole order is missing */
	path->pathkeys = list_truncate(list_copy(root->group_pathkeys),
								   NUM_GROUP_KEYS(root));
	return path;
}

double
sort_paths_count_groups(PlannerInfo *root, const Path *input,
						const GroupPathExtraData *extra)
{
	List	   *exprs = get_sortgrouplist_exprs(GROUP_CLAUSE(root),
												extra->targetList);

	return exprs == NIL ? 1 :
		estimate_num_groups(root, exprs, input->rows, NULL, NULL);
}

double
sort_paths_count_values(PlannerInfo *root, Node *expr)
{
	VariableStatData variable;
	bool		is_default;
	double		count;

	examine_variable(root, expr, 0, &variable);
	count = get_variable_numdistinct(&variable, &is_default);
	ReleaseVariableStats(variable);
	return is_default ? 0 : count;
}

bool
sort_paths_know_values(PlannerInfo *root, List *exprs)
{
	ListCell   *cell;

	foreach(cell, exprs)
	{
		if (!IsA(lfirst(cell), Const) &&
			sort_paths_count_values(root, lfirst(cell)) == 0)
			return false;
	}
	return exprs != NIL;
}

bool
sort_paths_know_groups(PlannerInfo *root, List *clause, List *target_list)
{
	return sort_paths_know_values(root,
								  get_sortgrouplist_exprs(clause,
														  target_list));
}

bool
sort_paths_join_equals(const List *pathkeys)
{
	ListCell   *cell;

	foreach(cell, pathkeys)
	{
		const PathKey *key = lfirst(cell);

		if (!sort_family_joins_equals(key->pk_opfamily,
									  key->pk_eclass->ec_collation))
			return false;
	}
	return true;
}
