/*-------------------------------------------------------------------------
 *
 * add_paths.c
 *	  Paths with the costs of the sorts that GpuSort nodes will do.
 *
 * Core charges its Sort for each comparison.  It charges its Gather Merge for
 * the passage of each row through a tuple queue, and for one more comparison.
 * A GpuSort takes no time for these.  So this file adds paths with the costs
 * of the nodes that plan_sort.c will make of them.  The paths consist of
 * core's own nodes, and compete with all paths that core has found, hashing
 * among them, whose real cost counts: see hash_paths.c.
 *
 *	- For an ORDER BY: see order_paths.c.
 *	- For GROUP BY and DISTINCT: grouping and Unique of sorted input; in all
 *	  processes, for windows, too: see group_paths.c; of grouping sets: see
 *	  grouping_set_paths.c.
 *	- For UNION, INTERSECT and EXCEPT: see setop_paths.c.
 *	- For aggregates that sort their input: see aggregate_paths.c; for
 *	  aggregates that follow from the places of sorted values: see
 *	  value_paths.c.
 *	- For joins: merge joins of sorted input.
 *
 * Nothing is added where paths rely on the order of a foreign server: see
 * foreign_orders.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"

#include "cost/sort_cost.h"
#include "planner/add_paths.h"
#include "planner/aggregate_paths.h"
#include "planner/foreign_orders.h"
#include "planner/group_paths.h"
#include "planner/grouping_set_paths.h"
#include "planner/hash_paths.h"
#include "planner/order_paths.h"
#include "planner/setop_paths.h"
#include "planner/sort_paths.h"
#include "planner/value_paths.h"
#include "port/compat.h"
#include "settings.h"

static bool
are_wanted(void)
{
	return gpusort_enable && gpusort_enable_sort && gpusort_enable_costs &&
		enable_sort;
}

/*
 * Adds a path with our sorts, unless core has a better path with an
 * incremental sort, and drops core's paths whose hashing then takes longer.
 */
static void
add_path_before_hashing(PlannerInfo *root, RelOptInfo *relation,
						Path *sorted, Cost sorted_more)
{
	if (sort_paths_incremental_is_better(root, relation, sorted))
		return;
	hash_paths_drop(root, relation, sorted, sorted_more);
	add_path(relation, sorted);
}

/*
 * ---- GROUP BY and DISTINCT
 */

/* The path of groups of one set of columns; NULL if gpusort does not do the sort. */
static Path *
make_grouping_path(PlannerInfo *root, RelOptInfo *grouped, Path *input,
				   const GroupPathExtraData *extra)
{
	Path	   *sorted = sort_paths_make(root, grouped, input,
										 root->group_pathkeys, NO_BOUND);

	return sorted == NULL ? NULL :
		sort_paths_group(root, grouped, sorted, extra,
						 sort_paths_count_groups(root, input, extra));
}

static void
add_grouping_path(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped,
				  const GroupPathExtraData *extra)
{
	List	   *clause = GROUP_CLAUSE(root);
	Path	   *cheapest = input->cheapest_total_path;
	Path	   *path;

	if (clause == NIL || root->group_pathkeys == NIL || IS_OTHER_REL(grouped) ||
		(extra->flags & GROUPING_CAN_USE_SORT) == 0)
		return;
	if (!sort_paths_know_groups(root, clause, extra->targetList))
		return;
	if (root->parse->groupingSets != NIL)
		path = grouping_set_paths_make(root, grouped, cheapest, extra);
	else
		path = make_grouping_path(root, grouped, cheapest, extra);
	if (path != NULL)
		add_path_before_hashing(root, grouped, path, 0);
}

static void
add_distinct_path(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct)
{
	List	   *pathkeys = root->distinct_pathkeys;
	Path	   *path;

	if (pathkeys == NIL || distinct->pathlist == NIL ||
		!sort_paths_know_groups(root, root->parse->distinctClause,
								root->processed_tlist))
		return;
	/* DISTINCT ON takes the first rows of the ORDER BY */
	if (root->parse->hasDistinctOn &&
		list_length(pathkeys) < list_length(root->sort_pathkeys))
		pathkeys = root->sort_pathkeys;
	path = sort_paths_make(root, distinct, input->cheapest_total_path,
						   pathkeys, NO_BOUND);
	if (path == NULL)
		return;
	/* all paths yield as many rows */
	path = (Path *)
		create_unique_path(root, distinct, path,
						   list_length(root->distinct_pathkeys),
						   ((Path *) linitial(distinct->pathlist))->rows);
	add_path_before_hashing(root, distinct, path, 0);
}

/*
 * ---- joins
 */

/* Is the number of this relation's rows that of a table? */
static bool
rows_are_known(const RelOptInfo *relation)
{
	return relation->reloptkind == RELOPT_BASEREL &&
		relation->rtekind == RTE_RELATION &&
		relation->baserestrictinfo == NIL;
}

/*
 * The cheapest path of a relation in this order; NULL if that would have to write
 * more than there is room for.  Sets *sorts if it is one of our sorts.
 */
static Path *
cheapest_in_order(PlannerInfo *root, RelOptInfo *relation, List *pathkeys,
				  bool *sorts)
{
	Path	   *cheapest = relation->cheapest_total_path;
	Path	   *ordered;
	Path	   *sort;

	ordered = get_cheapest_path_for_pathkeys(relation->pathlist, pathkeys,
											 NULL, TOTAL_COST, false);
	sort = sort_paths_make(root, relation, cheapest, pathkeys, NO_BOUND);
	if (sort == NULL && ordered != NULL)
		return ordered;
	if (sort == NULL)
	{
		SortSize	size = {cheapest->rows, cheapest->pathtarget->width};

		return !sort_has_file_space(&size) ? NULL : (Path *)
			create_sort_path(root, relation, cheapest, pathkeys, NO_BOUND);
	}
	if (ordered != NULL && compare_path_costs(ordered, sort, TOTAL_COST) <= 0)
		return ordered;
	*sorts = true;
	return sort;
}

/* The type that a merge join compares first. */
static Oid
merged_type(const List *clauses)
{
	const RestrictInfo *clause = linitial(clauses);

	return exprType(get_leftop(clause->clause));
}

static void
add_merge_join_path(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
					RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	JoinCostWorkspace costs;
	List	   *clauses;
	List	   *outer_keys;
	List	   *inner_keys;
	Path	   *outer_path;
	Path	   *inner_path;
	Path	   *path;
	bool		sorts = false;

	outer_keys = select_outer_pathkeys_for_merge(root, extra->mergeclause_list,
												 join);
	clauses = find_mergeclauses_for_outer_pathkeys(root, outer_keys,
												   extra->mergeclause_list);
	inner_keys = make_inner_pathkeys_for_merge(root, clauses, outer_keys);
	outer_path = cheapest_in_order(root, outer, outer_keys, &sorts);
	inner_path = cheapest_in_order(root, inner, inner_keys, &sorts);
	if (!sorts || outer_path == NULL || inner_path == NULL)
		return;

	initial_cost_mergejoin(root, &costs, type, clauses, outer_path, inner_path,
						   NIL, NIL, 0, extra);
	path = (Path *)
		create_mergejoin_path(root, join, type, &costs, extra, outer_path,
							  inner_path, extra->restrictlist,
							  build_join_pathkeys(root, join, type, outer_keys),
							  NULL, clauses, NIL, NIL, 0);

	/*
	 * Core tries a join from both sides, one after the other.  Both can be
	 * merged here only if it is an inner join.  In other joins one path that
	 * hashes would stay, which may be the worse one.
	 */
	if (type == JOIN_INNER)
		add_path_before_hashing(root, join, path,
								cost_merging_more(outer->rows + inner->rows,
												  merged_type(clauses)));
	else
		add_path(join, path);
}

void
add_paths_to_join(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
				  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	/* not all joins of the other types can be merged, or not by all clauses */
	if (are_wanted() && enable_mergejoin && extra->mergeclause_list != NIL &&
		!IS_OTHER_REL(join) &&
		Max(outer->rows, inner->rows) >= gpusort_min_rows &&
		rows_are_known(outer) && rows_are_known(inner) &&
		(type == JOIN_INNER || type == JOIN_LEFT || type == JOIN_SEMI ||
		 type == JOIN_ANTI) &&
		outer->cheapest_total_path->param_info == NULL &&
		inner->cheapest_total_path->param_info == NULL &&
		!foreign_orders_may_be_joined(root))
		add_merge_join_path(root, join, outer, inner, type, extra);
}

/*
 * ---- what is above the joins, stage by stage
 */

static void
add_paths_of_stage(PlannerInfo *root, UpperRelationKind stage,
				   RelOptInfo *input, RelOptInfo *output, void *extra)
{
	switch (stage)
	{
		case UPPERREL_GROUP_AGG:
			add_grouping_path(root, input, output, extra);
			break;
		case UPPERREL_DISTINCT:
			add_distinct_path(root, input, output);
			break;
		case UPPERREL_ORDERED:
			order_paths_add(root, input, output);
			break;
		case UPPERREL_SETOP:
			setop_paths_add(root, output);
			return;
		default:
			break;
	}
	group_paths_add(root, stage, input, output, extra);
	/* last, since this drops some of the other paths */
	if (stage == UPPERREL_GROUP_AGG)
	{
		aggregate_paths_add(root, input, output, extra);
		value_paths_add(root, input, output, extra);
	}
}

void
add_paths_to_stage(PlannerInfo *root, UpperRelationKind stage,
				   RelOptInfo *input, RelOptInfo *output, void *extra)
{
	if (are_wanted() && !foreign_orders_compete(root, output))
		add_paths_of_stage(root, stage, input, output, extra);
}

void
add_paths_note_stage(PlannerInfo *root, UpperRelationKind stage,
					 RelOptInfo *output)
{
	if (are_wanted() &&
		(stage == UPPERREL_GROUP_AGG || stage == UPPERREL_WINDOW ||
		 stage == UPPERREL_DISTINCT))
		order_paths_note(root, output);
}

void
add_paths_note_relation(PlannerInfo *root, RelOptInfo *relation)
{
	if (are_wanted() && bms_equal(relation->relids, QUERY_RELIDS(root)))
		order_paths_note(root, relation);
}
