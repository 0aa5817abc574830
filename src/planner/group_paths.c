/*-------------------------------------------------------------------------
 *
 * group_paths.c
 *	  Paths in which sorted groups are consumed by all parallel workers.
 *
 * Core runs a WindowAgg, a sorted grouping and a Unique in one process.  A
 * GpuSortGroups (node_groups.c) gives each process whole groups, so that
 * these nodes can run in all:
 *
 *		Gather -> WindowAgg -> GpuSortGroups -> partial path of the input
 *
 * This path is added to core's paths for windows, GROUP BY and DISTINCT,
 * with a Gather and without one, since the workers may run the nodes above,
 * too.  The node is in the path from the beginning: a plan with a plain Sort
 * in its place would be wrong.
 *
 * The rows that workers return cost the leader time (gather_paths.c), and one
 * process takes as long for the largest group as without workers.  Statistics
 * tell about both.  A path for one process, with the cost of a GpuSort, is
 * added beside this path, since core's own path is too expensive for a fair
 * comparison.
 *
 * Window functions count as parallel restricted in core, since rows that are
 * equal might come in another order in another process.  No group is in two
 * processes here.  Everything else has to be parallel safe.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "cost/sort_choice.h"
#include "cost/sort_cost.h"
#include "executor/node_groups.h"
#include "planner/aggregate_paths.h"
#include "planner/gather_paths.h"
#include "planner/group_limits.h"
#include "planner/group_paths.h"
#include "planner/hash_paths.h"
#include "planner/repeated_work.h"
#include "planner/sort_paths.h"
#include "port/compat.h"
#include "settings.h"
#include "window/window_function.h"

/*
 * Of the time that a WindowAgg takes for a row, a GpuSortWindow takes this
 * part: with the host engine 0.1 to 0.35 (docs/notes/2026-11-windows.md).
 */
#define EVALUATED_PART	0.3

Grouped
group_paths_begin(PlannerInfo *root, const RelOptInfo *input,
				  RelOptInfo *relation)
{
	Grouped		grouped = {
		.root = root,
		.relation = relation,
		.serial = input->cheapest_total_path
	};

	if (input->partial_pathlist == NIL)
		return grouped;
	grouped.partial = linitial(input->partial_pathlist);
	grouped.repeated = repeated_work_cost(grouped.partial,
										  group_paths_members(&grouped),
										  grouped.serial);
	return grouped;
}

double
group_paths_members(const Grouped *grouped)
{
	return Max(grouped->serial->rows / Max(grouped->partial->rows, 1), 1);
}

/*
 * What a path tells its node: the number of sort columns by which rows are
 * grouped.
 */
static List *
write_group_keys(int ngroup_keys)
{
	return list_make1_int(ngroup_keys);
}

static int
read_group_keys(const CustomPath *path)
{
	return linitial_int(path->custom_private);
}

static Plan *
plan_groups(PlannerInfo *root, RelOptInfo *relation, CustomPath *path,
			List *target_list, List *clauses, List *custom_plans)
{
	return &groups_make_plan(linitial_node(Sort, custom_plans), target_list,
							 read_group_keys(path))->scan.plan;
}

static const CustomPathMethods groups_path_methods = {
	.CustomName = "GpuSortGroups",
	.PlanCustomPath = plan_groups
};

double
group_paths_largest_part(PlannerInfo *root, Node *expr)
{
	VariableStatData variable;
	AttStatsSlot values;
	bool		is_default;
	double		part;

	examine_variable(root, expr, 0, &variable);
	part = 1 / Max(get_variable_numdistinct(&variable, &is_default), 1);
	if (HeapTupleIsValid(variable.statsTuple))
	{
		Form_pg_statistic statistics =
			(Form_pg_statistic) GETSTRUCT(variable.statsTuple);

		part = Max(part, statistics->stanullfrac);
		if (get_attstatsslot(&values, variable.statsTuple,
							 STATISTIC_KIND_MCV, InvalidOid,
							 ATTSTATSSLOT_NUMBERS))
		{
			if (values.nnumbers > 0)
				part = Max(part, values.numbers[0]);
			free_attstatsslot(&values);
		}
	}
	ReleaseVariableStats(variable);
	return part;
}

double
group_paths_busiest_share(double ngroups, double part, double members)
{
	part = Max(part, 1 / members);
	return Min(Max(part, ceil(ngroups / members) / ngroups), 1);
}

double
group_paths_busiest(const Grouped *grouped, List *group_columns)
{
	double		ngroups = estimate_num_groups(grouped->root, group_columns,
											  grouped->serial->rows, NULL,
											  NULL);
	double		part = 1;
	ListCell   *cell;

	foreach(cell, group_columns)
		part = Min(part, group_paths_largest_part(grouped->root,
												  lfirst(cell)));
	return group_paths_busiest_share(ngroups, part,
									 group_paths_members(grouped));
}

CustomPath *
group_paths_above(SortPath *sort, const SortSize *size, double members,
				  double busiest)
{
	CustomPath *path = makeNode(CustomPath);
	Cost		input_cost = sort->subpath->total_cost;

	path->path = sort->path;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->path.parallel_aware = true;
	path->path.parallel_safe = true;
	cost_sort_in_groups(size, members, busiest, &path->path.startup_cost,
						&path->path.total_cost);
	path->path.startup_cost += input_cost;
	path->path.total_cost += input_cost;
	path->custom_paths = list_make1(sort);
	return path;
}

/*
 * The partial path that sorts the rows of all members' "input", and
 * keeps groups together: rows that are equal in the first ngroup_keys of the
 * keys.  NULL if gpusort does not do this sort.  Sets *busiest to the part
 * of all rows that the busiest member has.
 */
static Path *
make_groups(const Grouped *grouped, Path *input, List *pathkeys,
			int ngroup_keys, double *busiest)
{
	PlannerInfo *root = grouped->root;
	double		members = group_paths_members(grouped);
	double		rows = input->rows * members;
	List	   *group_keys = list_truncate(list_copy(pathkeys), ngroup_keys);
	List	   *group_columns = sort_paths_columns(group_keys,
												   input->parent->relids);
	CustomPath *path;
	SortSize	size;

	if (!sort_paths_join_equals(group_keys) ||
		!sort_paths_share(root, input, pathkeys, rows, &size))
		return NULL;

	*busiest = group_paths_busiest(grouped, group_columns);
	path = group_paths_above(create_sort_path(root, grouped->relation, input,
											  pathkeys, NO_BOUND),
							 &size, members, *busiest);
	path->path.startup_cost += grouped->repeated;
	path->path.total_cost += grouped->repeated;
	path->custom_private = write_group_keys(ngroup_keys);
	path->methods = &groups_path_methods;
	return &path->path;
}

/*
 * Reduces the rows that a sort emits to this part, since the consumer looks
 * at no others (group_limits.c).
 */
static void
emit_part(Path *sorted, double part)
{
	sorted->rows = clamp_row_est(sorted->rows * part);
	sorted->total_cost = sorted->startup_cost +
		(sorted->total_cost - sorted->startup_cost) * part;
}

/*
 * Changes a consumer's own cost in a path from the cost of an even share to
 * the cost of the busiest member's share.
 */
static void
charge_busiest(const Grouped *grouped, Path *consumer, const Path *input,
			   double busiest)
{
	consumer->total_cost = input->total_cost +
		(consumer->total_cost - input->total_cost) * busiest *
		group_paths_members(grouped);
}

/* The rows that all members emit. */
static double
gathered_rows(const Grouped *grouped, const Path *partial)
{
	return clamp_row_est(partial->rows * group_paths_members(grouped));
}

Path *
group_paths_gather(const Grouped *grouped, Path *partial)
{
	return gather_paths_make(grouped->root, grouped->relation, partial,
							 gathered_rows(grouped, partial));
}

static void
add_with_gather(const Grouped *grouped, Path *partial)
{
	gather_paths_add(grouped->root, grouped->relation, partial,
					 gathered_rows(grouped, partial));
}

/*
 * Is a path in no order hardly cheaper than one in order?  That counts in a
 * subquery with joins: the query around it may merge in that order, and hash
 * otherwise, and it rests on estimates behind the joins.
 */
static bool
order_may_be_worth_more(const Grouped *grouped, const Path *unordered)
{
	ListCell   *cell;

	if (grouped->root->parent_root == NULL ||
		!IS_JOIN_REL(grouped->serial->parent))
		return false;
	foreach(cell, grouped->relation->pathlist)
	{
		const Path *path = lfirst(cell);

		if (path->pathkeys != NIL &&
			DISABLED_NODES(path) <= DISABLED_NODES(unordered) &&
			workers_hardly_gain(unordered->total_cost, path->total_cost))
			return true;
	}
	return false;
}

/*
 * The same for a path of groups by these expressions, which competes with
 * hashing: it takes the place of core's paths whose hashing takes longer.
 */
static void
add_before_hashing(const Grouped *grouped, Path *partial, List *groups)
{
	RelOptInfo *relation = grouped->relation;
	Path	   *gathered = group_paths_gather(grouped, partial);

	if (hash_paths_may_be_better(grouped->root, relation, grouped->serial, groups,
								 gathered))
		return;
	if (!gather_paths_add_partial(relation, partial))
		return;
	if (order_may_be_worth_more(grouped, gathered))
		return;
	hash_paths_drop(grouped->root, relation, gathered, 0);
	add_path(relation, gathered);
}

/*
 * ---- windows
 */

/* What a window needs in order. */
typedef struct WindowOrder
{
	List	   *keys;			/* pathkeys of its partitions, and then of its
								 * rows */
	int			npartition_keys;	/* how many of them are the partitions' */
} WindowOrder;

/* Window functions that are taken out of an expression. */
typedef struct TakenFunctions
{
	List	   *inputs;			/* their arguments and filters */
	bool		unsafe;			/* one of them is not parallel safe */
} TakenFunctions;

/* Puts a constant of the same type in the place of each window function. */
static Node *
take_window_functions(Node *node, TakenFunctions *taken)
{
	const WindowFunc *function = (const WindowFunc *) node;

	if (node == NULL || !IsA(node, WindowFunc))
		return expression_tree_mutator(node, take_window_functions,
									   (void *) taken);
	taken->unsafe |= func_parallel(function->winfnoid) != PROPARALLEL_SAFE;
	taken->inputs = lappend(taken->inputs, function->args);
	taken->inputs = lappend(taken->inputs, function->aggfilter);
	return (Node *) makeNullConst(function->wintype, -1, function->wincollid);
}

/* Is an expression parallel safe, apart from its window functions? */
static bool
is_safe_in_groups(PlannerInfo *root, Node *node)
{
	TakenFunctions taken = {NIL};

	node = take_window_functions(node, &taken);
	return !taken.unsafe && is_parallel_safe(root, node) &&
		is_parallel_safe(root, (Node *) taken.inputs);
}

/* The same for what a window has beside its target. */
static bool
is_window_safe(PlannerInfo *root, const WindowAggPath *window)
{
	return is_safe_in_groups(root, (Node *) RUN_CONDITIONS(window)) &&
	/* before 17 core does not pass parameters of run conditions to workers */
		!needs_leader((Node *) RUN_CONDITIONS(window)) &&
		is_safe_in_groups(root, (Node *) window->qual) &&
		is_parallel_safe(root, window->winclause->startOffset) &&
		is_parallel_safe(root, window->winclause->endOffset);
}

/*
 * Core's paths of the windows of a query, in the order in which they are
 * computed, which only the paths tell.  NIL if something is unknown.
 */
static List *
find_windows(const RelOptInfo *input, const RelOptInfo *relation)
{
	List	   *windows = NIL;
	Path	   *path = linitial(relation->pathlist);

	while (path->parent == relation)
	{
		if (IsA(path, WindowAggPath))
		{
			windows = lcons(path, windows);
			path = ((WindowAggPath *) path)->subpath;
		}
		else if (IsA(path, SortPath))
			path = ((SortPath *) path)->subpath;
		else if (IsA(path, IncrementalSortPath))
			path = ((IncrementalSortPath *) path)->spath.subpath;
		else
			return NIL;
	}
	return path->parent == input ? windows : NIL;
}

/*
 * May all processes compute these windows?  The target of the last window
 * has the functions of all; everything else that windows emit comes from a
 * partial path.
 */
static bool
are_windows_safe(PlannerInfo *root, const List *windows)
{
	const WindowAggPath *last = llast(windows);
	ListCell   *cell;

	foreach(cell, windows)
	{
		if (!is_window_safe(root, lfirst(cell)))
			return false;
	}
	return is_safe_in_groups(root, (Node *) last->path.pathtarget->exprs);
}

/* Returns the order that each window needs, as an array. */
static WindowOrder *
find_orders(PlannerInfo *root, const List *windows)
{
	WindowOrder *orders = palloc(list_length(windows) * sizeof(WindowOrder));
	ListCell   *cell;

	foreach(cell, windows)
	{
		const WindowAggPath *window = lfirst(cell);
		WindowOrder *order = &orders[foreach_current_index(cell)];
		List	   *partitions = window->winclause->partitionClause;
		List	   *all = list_concat_copy(partitions,
										   window->winclause->orderClause);

		/*
		 * a sort for this window alone has these keys; to find them takes a
		 * while
		 */
		order->keys = IsA(window->subpath, SortPath) ?
			window->subpath->pathkeys :
			make_pathkeys_for_sortclauses(root, all, root->processed_tlist);
		order->npartition_keys = list_length(all) == list_length(partitions) ?
			list_length(order->keys) :
			list_length(make_pathkeys_for_sortclauses(root, partitions,
													  root->processed_tlist));
	}
	return orders;
}

/*
 * The number of keys by which a sort for the windows from this one on has to
 * keep groups together: the smallest number of a window that uses its order.
 */
static int
count_group_keys(const WindowOrder *orders, int nwindows, int first)
{
	int			count = orders[first].npartition_keys;

	for (int i = first + 1; i < nwindows; i++)
	{
		if (!pathkeys_contained_in(orders[i].keys, orders[first].keys))
			break;
		count = Min(count, orders[i].npartition_keys);
	}
	return count;
}

/* The window functions of a query, which the target of the last window has. */
static List *
list_functions(const List *windows)
{
	const WindowAggPath *last = llast(windows);

	return pull_var_clause((Node *) last->path.pathtarget->exprs,
						   PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_WINDOWFUNCS |
						   PVC_INCLUDE_PLACEHOLDERS);
}

/* Will a GpuSortWindow evaluate this window, if it does those below it? */
static bool
is_evaluated(const WindowAggPath *window, const List *functions)
{
	const WindowClause *clause = window->winclause;
	ListCell   *cell;

	if (!gpusort_enable_windows)
		return false;
	foreach(cell, functions)
	{
		const WindowFunc *function = lfirst(cell);

		if (IsA(function, WindowFunc) && function->winref == clause->winref &&
			window_function_kind(function,
								 clause->frameOptions) == WINDOW_UNKNOWN)
			return false;
	}
	return true;
}

/*
 * The cost that core charges for a window beside its input, as far as the node
 * that evaluates it takes that time.
 */
static Cost
cost_window(const WindowAggPath *model, bool is_evaluated)
{
	const QualCost *target = &model->path.pathtarget->cost;
	Cost		cost = model->path.total_cost - model->subpath->total_cost;
	Cost		expressions = target->startup +
		target->per_tuple * model->path.rows;

	return is_evaluated && cost > expressions ?
		expressions + (cost - expressions) * EVALUATED_PART : cost;
}

/* The part of all rows that the run conditions of a single window let through. */
static double
part_of_limit(const Grouped *grouped, List *windows)
{
	PlannerInfo *root = grouped->root;
	const WindowAggPath *window = linitial(windows);
	double		rows = Max(grouped->serial->rows, 1);
	double		ngroups;
	double		part = 1;
	ListCell   *cell;

	if (list_length(windows) > 1 || RUN_CONDITIONS(window) == NIL)
		return 1;
	ngroups = estimate_num_groups(root,
								  get_sortgrouplist_exprs(window->winclause->partitionClause,
														  root->processed_tlist),
								  rows, NULL, NULL);
	foreach(cell, RUN_CONDITIONS(window))
	{
		double		limit = limit_of_condition(lfirst(cell));

		if (limit > 0)
			part = Min(part, limit * ngroups / rows);
	}
	return part;
}

/*
 * Puts the windows above a path of the input, as core's paths have them, in
 * one process, or in all if "partial".  NULL if gpusort does not do one of the
 * sorts.
 */
static Path *
make_windows(const Grouped *grouped, List *windows,
			 const WindowOrder *orders, bool partial)
{
	PlannerInfo *root = grouped->root;
	Path	   *path = partial ? grouped->partial : grouped->serial;
	double		limited = part_of_limit(grouped, windows);
	List	   *functions = list_functions(windows);
	double		part = 1;
	bool		sorted = false;
	bool		evaluated = false;
	ListCell   *cell;

	foreach(cell, windows)
	{
		const WindowAggPath *model = lfirst(cell);
		int			number = foreach_current_index(cell);
		const WindowOrder *order = &orders[number];
		WindowAggPath *window;

		/* rows that are not partitioned are one group */
		if (order->npartition_keys == 0)
			return NULL;
		if (!sorted || !pathkeys_contained_in(order->keys, path->pathkeys))
		{
			int			ngroup_keys = count_group_keys(orders,
													   list_length(windows),
													   number);

			if (ngroup_keys == 0)
				return NULL;
			path = partial ?
				make_groups(grouped, path, order->keys, ngroup_keys, &part) :
				sort_paths_make(root, grouped->relation, path, order->keys,
								NO_BOUND);
			if (path == NULL)
				return NULL;
			emit_part(path, limited);
			sorted = true;
			evaluated = true;
		}
		evaluated = evaluated && is_evaluated(model, functions);

		/* a copy has all fields of this version of the server */
		window = makeNode(WindowAggPath);
		*window = *model;
		window->subpath = path;
		window->path.rows = path->rows;
		window->path.startup_cost = path->startup_cost +
			(model->path.startup_cost - model->subpath->startup_cost) *
			part * limited;
		window->path.total_cost = path->total_cost +
			cost_window(model, evaluated) * part * limited;
		window->path.pathkeys = path->pathkeys;
		window->path.parallel_safe = partial;
		window->path.parallel_workers = path->parallel_workers;
		COPY_DISABLED_NODES(&window->path, path);
		path = &window->path;
	}
	return path;
}

static void
add_window_paths(const Grouped *grouped)
{
	RelOptInfo *relation = grouped->relation;
	List	   *windows = find_windows(grouped->serial->parent, relation);
	const WindowOrder *orders;
	Path	   *alone;
	Path	   *partial;

	if (windows == NIL || !are_windows_safe(grouped->root, windows))
		return;

	orders = find_orders(grouped->root, windows);
	partial = make_windows(grouped, windows, orders, true);
	if (partial == NULL)
		return;

	/*
	 * core's paths and this one stay unsafe, as no worker may run a whole
	 * path
	 */
	alone = make_windows(grouped, windows, orders, false);
	if (alone != NULL)
		add_path(relation, alone);

	/*
	 * for set-returning functions in the target list core puts a path on top,
	 * which counts as unsafe because of the window functions
	 */
	if (grouped->root->parse->hasTargetSRFs)
		add_path(relation, group_paths_gather(grouped, partial));
	else
	{
		relation->consider_parallel = true;
		add_with_gather(grouped, partial);
	}
}

/*
 * ---- DISTINCT
 */

static void
add_distinct_paths(const Grouped *grouped)
{
	PlannerInfo *root = grouped->root;
	RelOptInfo *relation = grouped->relation;
	List	   *keys = root->distinct_pathkeys;
	int			ngroup_keys = list_length(keys);
	double		rows = ((Path *) linitial(relation->pathlist))->rows;
	double		busiest;
	double		part;
	Path	   *sorted;
	Path	   *path;

	if (keys == NIL || !relation->consider_parallel ||
		(!root->parse->hasDistinctOn &&
		 !sort_paths_know_groups(root, root->parse->distinctClause,
								 root->processed_tlist)))
		return;
	if (pathkeys_contained_in(keys, root->sort_pathkeys))
		keys = root->sort_pathkeys;
	sorted = make_groups(grouped, grouped->partial, keys, ngroup_keys,
						 &busiest);
	if (sorted == NULL)
		return;

	part = Min(rows / Max(grouped->serial->rows, 1), 1);
	emit_part(sorted, part);
	path = (Path *)
		create_unique_path(root, relation, sorted, ngroup_keys,
						   clamp_row_est(rows / group_paths_members(grouped)));
	charge_busiest(grouped, path, sorted, busiest);
	add_before_hashing(grouped, path,
					   get_sortgrouplist_exprs(root->parse->distinctClause,
											   root->processed_tlist));

	sorted = sort_paths_make(root, relation, grouped->serial, keys, NO_BOUND);
	if (sorted == NULL || !root->parse->hasDistinctOn)
		return;
	emit_part(sorted, part);
	add_path(relation, (Path *)
			 create_unique_path(root, relation, sorted, ngroup_keys,
								rows));
}

/*
 * ---- GROUP BY
 */

static void
add_grouping_paths(const Grouped *grouped, const GroupPathExtraData *extra)
{
	PlannerInfo *root = grouped->root;
	RelOptInfo *relation = grouped->relation;
	List	   *clause = GROUP_CLAUSE(root);
	bool		hashable = (extra->flags & GROUPING_CAN_USE_HASH) != 0;
	List	   *keys;
	Cost		spared;
	double		ngroups;
	double		busiest;
	Path	   *sorted;
	Path	   *path;

	if (clause == NIL || NUM_GROUP_KEYS(root) == 0 ||
		!relation->consider_parallel || root->parse->groupingSets != NIL ||
		extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL ||
		(extra->flags & GROUPING_CAN_USE_SORT) == 0 ||
		(hashable &&
		 !sort_paths_know_groups(root, clause, extra->targetList)))
		return;
	keys = aggregate_paths_order(root, grouped->serial->parent, relation,
								 extra, &spared);
	/* with the keys that core has appended for aggregates */
	if (keys == NIL)
		keys = root->group_pathkeys;
	/* core's workers sort these quickly, each for partial groups of its own */
	if ((extra->flags & GROUPING_CAN_PARTIAL_AGG) != 0 &&
		sort_paths_few_values(root, grouped->serial, keys))
		return;
	sorted = make_groups(grouped, grouped->partial, keys,
						 NUM_GROUP_KEYS(root), &busiest);
	if (sorted == NULL)
		return;

	ngroups = sort_paths_count_groups(root, grouped->serial, extra);
	path = sort_paths_group(root, relation, sorted, extra,
							clamp_row_est(ngroups / group_paths_members(grouped)));
	charge_busiest(grouped, path, sorted, busiest);
	add_before_hashing(grouped, path,
					   get_sortgrouplist_exprs(clause, extra->targetList));

	/* groups that can be hashed have this path already */
	sorted = hashable ? NULL :
		sort_paths_make(root, relation, grouped->serial, root->group_pathkeys,
						NO_BOUND);
	if (sorted != NULL)
		add_path(relation,
				 sort_paths_group(root, relation, sorted, extra, ngroups));
}

void
group_paths_add(PlannerInfo *root, UpperRelationKind stage,
				RelOptInfo *input, RelOptInfo *output, void *extra)
{
	Grouped		grouped;

	if ((stage != UPPERREL_WINDOW && stage != UPPERREL_DISTINCT &&
		 stage != UPPERREL_GROUP_AGG) ||
		!input->consider_parallel || input->partial_pathlist == NIL ||
		output->pathlist == NIL || IS_OTHER_REL(output) ||
	/* it takes less time than core expects */
		sort_paths_find_incremental(sort_paths_cheapest(output)) != NULL)
		return;
	grouped = group_paths_begin(root, input, output);
	if (stage == UPPERREL_WINDOW)
		add_window_paths(&grouped);
	else if (stage == UPPERREL_DISTINCT)
		add_distinct_paths(&grouped);
	else
		add_grouping_paths(&grouped, extra);
}

void
group_paths_init(void)
{
	RegisterCustomScanMethods(&groups_scan_methods);
}
