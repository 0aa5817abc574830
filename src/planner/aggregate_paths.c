/*-------------------------------------------------------------------------
 *
 * aggregate_paths.c
 *	  Paths that sort the input of aggregates which would sort it themselves.
 *
 * An aggregate with DISTINCT or ORDER BY, or an ordered-set aggregate such as
 * percentile_disc(), sorts the values of each group inside the Agg node, where
 * no other node can take over the sort.  (From 16 on core mostly sorts the
 * input for the first kind, and never for ordered-set aggregates.)  This file
 * adds a path with a Sort below the Agg: by the columns of the groups, and
 * then by those of one of these aggregates.  Aggregates with that order get
 * each group sorted.  Core's tuplesort finds that out by one comparison of
 * each value.
 *
 * The aggregates stay what they are.  So nothing depends on the order.  Any
 * other aggregates may be beside them, with filters or orders of their own.
 * An answer is right even if rows come in another order than expected.  And
 * the plan has nothing of the extension but the sort.  The alternative would
 * be other aggregates in their place, which do not sort.  That takes either a
 * node above the Agg that passes them off as the original ones, or aggregates
 * in SQL, which can be dropped, replaced or forbidden.  It would save the way
 * of each value into a tuplesort and out again, some 40 ns for a number and
 * 150 for a string.
 *
 * Without groups some aggregates need not get the values at all (value_paths.c).
 *
 * The order of the input stays as it is if it is visible.  If an aggregate
 * without ORDER BY may depend on it, no path is added, since rows may come
 * from a subquery in the wanted order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "cost/sort_cost.h"
#include "planner/aggregate_paths.h"
#include "planner/any_order.h"
#include "planner/gather_paths.h"
#include "planner/sort_paths.h"
#include "port/compat.h"
#include "settings.h"

/*
 * The sort below has to save this many times its cost, as the estimates of
 * both are not better than that.  To sort numbers inside the Agg costs about
 * as much, even compared with a GPU: with a factor of 1.5 a median beside an
 * average took 1.1 times as long.
 */
#define LEAST_GAIN	2.0

/*
 * The most sorts that are considered, from the first on.  One of many sorts
 * saves little, and planning with each takes time.
 */
#define MOST_SORTS		16

/*
 * A path whose first row takes up to this many times as long as another's
 * counts as equally late.
 */
#define AS_LATE		1.1

/* A sort of aggregates' input that may be done below the Agg. */
typedef struct InnerSort
{
	const Aggref *aggref;
	List	   *pathkeys;		/* pathkeys of the groups, and then of the
								 * aggregate */
	Cost		spared;			/* by the aggregate, if rows come so */
} InnerSort;

/*
 * Is the result of an aggregate the same in any order of its values?  It is
 * if the aggregate sorts them.  Values that are equal but differ count as
 * the same for min() and max().
 */
static bool
is_same_in_any_order(const Aggref *aggref)
{
	HeapTuple	tuple;
	bool		is_extreme;

	if (aggref->aggorder != NIL || aggref->aggdistinct != NIL ||
		is_of_any_order(aggref))
		return true;
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	is_extreme = OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop);
	ReleaseSysCache(tuple);
	return is_extreme;
}

/*
 * Does this aggregate sort by expressions that can be computed ahead of it?
 * Not with a filter: then few rows may have to be sorted, and expressions may
 * fail for the other rows.  Ordered-set aggregates other than core's may do
 * anything.
 */
static bool
sorts_inside(const PlannerInfo *root, const Aggref *aggref)
{
	const AggTransInfo *transition = list_nth(root->aggtransinfos,
											  aggref->aggtransno);

	return (aggref->aggorder != NIL || aggref->aggdistinct != NIL) &&
		aggref->aggfilter == NULL &&
		(aggref->aggkind == AGGKIND_NORMAL ||
		 transition->transfn_oid == F_ORDERED_SET_TRANSITION) &&
		!contain_volatile_functions((Node *) aggref->args) &&
		!contain_subplans((Node *) aggref->args);
}

List *
aggregate_paths_append_keys(List *pathkeys, List *more)
{
	List	   *all = list_copy(pathkeys);
	ListCell   *cell;

	foreach(cell, more)
	{
		PathKey    *key = lfirst(cell);
		bool		is_there = false;
		ListCell   *other;

		foreach(other, all)
			is_there |= ((PathKey *) lfirst(other))->pk_eclass == key->pk_eclass;
		if (!is_there)
			all = lappend(all, key);
	}
	return all;
}

/*
 * Sets the keys by which this aggregate sorts, and the cost that it saves if
 * rows come in their order.
 */
static void
examine_sort(PlannerInfo *root, const Path *input, double ngroups,
			 const Aggref *aggref, InnerSort *sort)
{
	List	   *clause = aggref->aggdistinct != NIL ? aggref->aggdistinct :
		aggref->aggorder;
	List	   *exprs = get_sortgrouplist_exprs(clause, aggref->args);
	Node	   *first = linitial(exprs);
	InnerSize	size = {input->rows, input->rows / ngroups};

	size.group_values = Min(size.group_rows,
							estimate_num_groups(root, exprs, input->rows, NULL,
												NULL));
	size.is_of_rows = list_length(aggref->args) > 1;
	sort->aggref = aggref;
	sort->pathkeys = aggregate_paths_append_keys(root->group_pathkeys,
												 make_pathkeys_for_sortclauses(root, clause,
																			   aggref->args));
	sort->spared = cost_comparisons_inside(&size, exprType(first),
										   exprCollation(first));
}

/* Do the sorts have one that this aggregate shares? */
static bool
is_listed(const List *sorts, const Aggref *aggref)
{
	ListCell   *cell;

	foreach(cell, sorts)
	{
		const InnerSort *sort = lfirst(cell);

		if (sort->aggref->aggtransno == aggref->aggtransno)
			return true;
	}
	return false;
}

/* The aggregates of a grouped relation. */
static List *
list_aggregates(const RelOptInfo *grouped, const GroupPathExtraData *extra)
{
	List	   *exprs = list_make2(grouped->reltarget->exprs, extra->havingQual);
	List	   *found = pull_var_clause((Node *) exprs,
										PVC_INCLUDE_AGGREGATES |
										PVC_RECURSE_WINDOWFUNCS |
										PVC_RECURSE_PLACEHOLDERS);
	ListCell   *cell;

	foreach(cell, found)
	{
		if (!IsA(lfirst(cell), Aggref))
			found = foreach_delete_current(found, cell);
	}
	return found;
}

/* Is the answer the same if rows come in another order? */
static bool
may_come_in_any_order(const PlannerInfo *root, const Path *input,
					  const List *aggregates)
{
	ListCell   *cell;

	/* grouping sorts the rows anyway, and not by a stable sort */
	if (root->parse->groupClause != NIL && input->pathkeys == NIL)
		return true;
	foreach(cell, aggregates)
	{
		if (!is_same_in_any_order(lfirst(cell)))
			return false;
	}
	return true;
}

/*
 * Lists the first sorts that may be done ahead of aggregates, each once if
 * aggregates share it.
 */
static List *
list_sorts(PlannerInfo *root, const Path *input, double ngroups,
		   const List *aggregates)
{
	List	   *sorts = NIL;
	ListCell   *cell;

	foreach(cell, aggregates)
	{
		const Aggref *aggref = lfirst(cell);
		InnerSort  *sort;

		if (list_length(sorts) == MOST_SORTS)
			break;
		if (is_listed(sorts, aggref) || !sorts_inside(root, aggref))
			continue;
		sort = palloc(sizeof(InnerSort));
		examine_sort(root, input, ngroups, aggref, sort);

		/*
		 * without keys beyond those of the groups, a group has only one value
		 */
		if (list_length(sort->pathkeys) > list_length(root->group_pathkeys))
			sorts = lappend(sorts, sort);
	}
	return sorts;
}

/* Returns the order that saves the most, and sets what it saves. */
static List *
choose_order(List *sorts, Cost *spared)
{
	List	   *best = NIL;
	ListCell   *cell;

	*spared = 0;
	foreach(cell, sorts)
	{
		List	   *pathkeys = ((InnerSort *) lfirst(cell))->pathkeys;
		Cost		sum = 0;
		ListCell   *other;

		foreach(other, sorts)
		{
			const InnerSort *sort = lfirst(other);

			if (pathkeys_contained_in(sort->pathkeys, pathkeys))
				sum += sort->spared;
		}
		if (sum > *spared)
		{
			best = pathkeys;
			*spared = sum;
		}
	}
	return best;
}

/* The most that it costs to have the rows in the order of the groups. */
static Cost
cost_group_order(PlannerInfo *root, RelOptInfo *grouped, Path *input)
{
	Path	   *sort;

	/* another order takes one more sort */
	if (root->group_pathkeys == NIL ||
		sort_paths_come_in_order(root, input, root->group_pathkeys))
		return 0;
	sort = sort_paths_make(root, grouped, input, root->group_pathkeys, NO_BOUND);
	return sort == NULL ? 0 : sort->total_cost - input->total_cost;
}

/*
 * Returns the Agg of a path of core, which may be below a Gather; NULL for
 * other paths.
 */
static const AggPath *
agg_of_core(const Path *path)
{
	const Path *gathered = gather_paths_gathered(path);
	const AggPath *agg = (const AggPath *) (gathered != NULL ? gathered : path);

	return IsA(agg, AggPath) && agg->aggsplit == AGGSPLIT_SIMPLE ? agg : NULL;
}

Cost
aggregate_paths_cost_inside(const PlannerInfo *root, const Path *path,
							const SortsInside *inside)
{
	const AggPath *agg = agg_of_core(path);
	bool		is_sorted;

	if (agg == NULL)
		return 0;
	is_sorted = list_length(agg->subpath->pathkeys) > NUM_GROUP_KEYS(root);
	return (is_sorted ? inside->of_sorted : inside->of_unsorted) /
		sort_members(agg->path.parallel_workers);
}

/*
 * Does an Agg, or a Gather of one, cost more than this path, if what the
 * path saves in all processes is added?  If only some groups are wanted, its
 * first row has to come as late, too.
 */
static bool
is_more_expensive(const PlannerInfo *root, const Path *other, const Path *path,
				  const SortsInside *inside)
{
	return agg_of_core(other) != NULL &&
		(root->tuple_fraction == 0 || root->parse->groupClause == NIL ||
		 other->startup_cost * AS_LATE > path->startup_cost) &&
		DISABLED_NODES(other) >= DISABLED_NODES(path) &&
		other->total_cost +
		aggregate_paths_cost_inside(root, other, inside) > path->total_cost;
}

/* These paths without more expensive ones. */
static List *
drop_expensive(const PlannerInfo *root, List *paths, const Path *path,
			   const SortsInside *inside)
{
	ListCell   *cell;

	foreach(cell, paths)
	{
		if (is_more_expensive(root, lfirst(cell), path, inside))
			paths = foreach_delete_current(paths, cell);
	}
	return paths;
}

void
aggregate_paths_add_sparing(PlannerInfo *root, RelOptInfo *grouped,
							Path *path, const SortsInside *inside)
{
	grouped->pathlist = drop_expensive(root, grouped->pathlist, path, inside);
	add_path(grouped, path);
}

bool
aggregate_paths_add_partial_sparing(PlannerInfo *root, RelOptInfo *grouped,
									Path *path, const SortsInside *inside)
{
	grouped->partial_pathlist = drop_expensive(root, grouped->partial_pathlist,
											   path, inside);
	return gather_paths_add_partial(grouped, path);
}

/*
 * Does core sort the input by keys of aggregates behind those of the groups?
 * Then these aggregates rely on it, and do not sort.
 */
static bool
are_presorted(const PlannerInfo *root)
{
	return list_length(root->group_pathkeys) > NUM_GROUP_KEYS(root);
}

List *
aggregate_paths_order(PlannerInfo *root, RelOptInfo *input,
					  RelOptInfo *grouped, const GroupPathExtraData *extra,
					  Cost *spared)
{
	Path	   *cheapest = input->cheapest_total_path;
	List	   *aggregates;
	List	   *pathkeys;
	Path	   *sort;

	*spared = 0;
	if (root->numOrderedAggs == 0 || are_presorted(root) ||
		root->parse->groupingSets != NIL || IS_OTHER_REL(grouped) ||
		(extra->flags & GROUPING_CAN_USE_SORT) == 0 ||
		cheapest->rows < gpusort_min_rows)
		return NIL;
	aggregates = list_aggregates(grouped, extra);
	if (!may_come_in_any_order(root, cheapest, aggregates))
		return NIL;
	pathkeys = choose_order(list_sorts(root, cheapest,
									   sort_paths_count_groups(root, cheapest, extra),
									   aggregates),
							spared);
	if (pathkeys == NIL || sort_paths_come_in_order(root, cheapest, pathkeys))
		return NIL;
	sort = sort_paths_make(root, grouped, cheapest, pathkeys, NO_BOUND);
	return sort != NULL &&
		(sort->total_cost - cheapest->total_cost -
		 cost_group_order(root, grouped, cheapest)) * LEAST_GAIN < *spared ?
		pathkeys : NIL;
}

void
aggregate_paths_add(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped,
					const GroupPathExtraData *extra)
{
	Path	   *cheapest = input->cheapest_total_path;
	Cost		spared;
	List	   *pathkeys = aggregate_paths_order(root, input, grouped, extra,
												 &spared);
	SortsInside inside = {spared, spared};
	Path	   *path;

	if (pathkeys == NIL)
		return;
	path = sort_paths_make(root, grouped, cheapest, pathkeys, NO_BOUND);
	path = sort_paths_group(root, grouped, path, extra,
							sort_paths_count_groups(root, cheapest, extra));
	aggregate_paths_add_sparing(root, grouped, path, &inside);
}
