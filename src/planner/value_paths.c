/*-------------------------------------------------------------------------
 *
 * value_paths.c
 *	  Paths for aggregates that follow from the places of sorted values.
 *
 * Percentiles and count(DISTINCT), of all rows or of each group, need only
 * values of each row, and these sorted; see node_aggregate.c.  The
 * node takes the place of core's Agg, in one process or below a Gather:
 *
 *		GpuSortAggregate -> path of the input
 *		Gather -> GpuSortAggregate -> partial path of the input
 *
 * query_aggregates.c tells which queries these are.  If the aggregates have
 * several values, or several orders of a value, the node does several sorts.
 * Several sorts of groups are made in one process: the processes below a Gather
 * would cut the orders in different places.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "cost/sort_choice.h"
#include "executor/aggregate_plan.h"
#include "executor/node_aggregate.h"
#include "executor/value_aggregates.h"
#include "planner/aggregate_paths.h"
#include "planner/gather_paths.h"
#include "planner/group_paths.h"
#include "planner/query_aggregates.h"
#include "planner/sort_paths.h"
#include "planner/value_paths.h"
#include "port/compat.h"
#include "port/shared_memory.h"
#include "settings.h"

/*
 * The part of a sort's cost that is spared if a few values are found without
 * the sort: three medians took 0.64 of the time of their sorts, beside the scan
 * (docs/notes/2026-11-consumers.md).  That counts only beside workers: core
 * takes little time for values in order.
 */
#define SELECTION_SPARES	0.3

/*
 * Segments of shared memory that a process fills in a sort of some 20 MB of
 * rows for each process (row_deposit.c).
 */
#define SEGMENTS_OF_PROCESS		10

/* Projects an input to the columns of the groups, and these values. */
static Path *
project_values(PlannerInfo *root, Path *input, const QueryAggregates *all,
			   List *values)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell   *cell;

	foreach(cell, all->groups)
		add_column_to_pathtarget(target, copyObject(lfirst(cell)), 0);
	foreach(cell, values)
		add_column_to_pathtarget(target, copyObject(lfirst(cell)), 0);
	return (Path *)
		create_projection_path(root, input->parent, input,
							   set_pathtarget_cost_width(root, target));
}

/* Projects an input to the columns of the groups, and all that is needed. */
static Path *
project_all(PlannerInfo *root, Path *input, const QueryAggregates *all)
{
	return project_values(root, input, all,
						  list_concat_copy(all->values, all->carried));
}

/*
 * Projects an input to the columns that an order sorts: with groups the first
 * one carries the columns of other aggregates.
 */
static Path *
project_order(PlannerInfo *root, Path *input, const QueryAggregates *all,
			  const QueryOrder *order)
{
	List	   *values = list_make1(order->value);

	if (all->groups != NIL && order == linitial(all->orders))
		values = list_concat(values, all->carried);
	return project_values(root, input, all, values);
}

/* The equality operators of the groups, and their collations. */
static List *
group_equalities(const PlannerInfo *root, const QueryAggregates *all,
				 List **collations)
{
	List	   *operators = NIL;
	ListCell   *clause;
	ListCell   *group;

	*collations = NIL;
	if (all->groups == NIL)
		return NIL;
	forboth(clause, root->parse->groupClause, group, all->groups)
	{
		operators = lappend_oid(operators,
								((SortGroupClause *) lfirst(clause))->eqop);
		*collations = lappend_oid(*collations, exprCollation(lfirst(group)));
	}
	return operators;
}

/* What a path tells its node: the aggregates, and the HAVING clause. */
static List *
write_values(const AggregatedValues *values, Node *having)
{
	return list_make4(values->orders, values->group_equal,
					  values->group_collations, having);
}

static AggregatedValues
read_values(const CustomPath *path, List **having)
{
	const List *written = path->custom_private;

	*having = lfourth(written);
	return (AggregatedValues)
	{
		.orders = linitial(written),
			.group_equal = lsecond(written),
			.group_collations = lthird(written)
	};
}

/* The orders as the node gets them. */
static List *
write_orders(const QueryAggregates *all)
{
	List	   *written = NIL;
	ListCell   *cell;

	foreach(cell, all->orders)
	{
		const QueryOrder *order = lfirst(cell);
		AggregatedOrder one = {
			.aggregates = order->aggregates,
			.column = order->column,
			.clause = order->clause,
			.collation = exprCollation((Node *) order->value)
		};

		written = lappend(written, aggregated_order_write(&one));
	}
	return written;
}

static Plan *
plan_aggregate(PlannerInfo *root, RelOptInfo *relation, CustomPath *path,
			   List *target_list, List *clauses, List *custom_plans)
{
	List	   *having;
	AggregatedValues values = read_values(path, &having);

	return &aggregate_make_plan(linitial_node(Sort, custom_plans), target_list,
								having, &values)->scan.plan;
}

static const CustomPathMethods aggregate_path_methods = {
	.CustomName = "GpuSortAggregate",
	.PlanCustomPath = plan_aggregate
};

/*
 * The path of the aggregates of sorted values, with these costs and this
 * number of rows.  The Sort stays its child only so that the plan gets the
 * columns.
 */
static Path *
make_aggregate(PlannerInfo *root, RelOptInfo *grouped, Path *sort,
			   const QueryAggregates *all, const GroupPathExtraData *extra,
			   Cost startup, Cost total, double rows)
{
	CustomPath *path = makeNode(CustomPath);
	const PathTarget *target = grouped->reltarget;
	AggregatedValues values = {.orders = write_orders(all)};
	QualCost	having;

	cost_qual_eval(&having, (List *) extra->havingQual, root);
	path->path.pathtype = T_CustomScan;
	path->path.parent = grouped;
	path->path.pathtarget = grouped->reltarget;
	path->path.rows = clamp_row_est(rows);
	path->path.startup_cost = startup + having.startup + target->cost.startup;
	path->path.total_cost = total + having.startup + target->cost.startup +
		path->path.rows * (having.per_tuple + target->cost.per_tuple);
	path->path.pathkeys = list_copy(all->group_keys);
	path->path.parallel_safe = grouped->consider_parallel &&
		sort->parallel_safe;
	path->path.parallel_workers = sort->parallel_workers;
	COPY_DISABLED_NODES(&path->path, sort);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(sort);
	values.group_equal = group_equalities(root, all, &values.group_collations);
	path->custom_private = write_values(&values, extra->havingQual);
	path->methods = &aggregate_path_methods;
	return &path->path;
}

/*
 * The cost of looking at this many sorted values of an order, beside emitting
 * them.
 */
static Cost
cost_values(const QueryAggregates *all, const QueryOrder *order, double values)
{
	return all->groups != NIL || order->counts_distinct ?
		cost_counting(values) : 0;
}

/*
 * The cost of the other aggregates of this many rows and groups, as core counts
 * it.
 */
static Cost
cost_others(PlannerInfo *root, const QueryAggregates *all, double rows,
			double groups)
{
	QualCost	of_row = {0};
	QualCost	of_group = {0};
	Bitmapset  *states = NULL;
	ListCell   *cell;

	foreach(cell, all->others)
	{
		const Aggref *aggregate = lfirst(cell);
		const AggInfo *info = list_nth(root->agginfos, aggregate->aggno);
		const AggTransInfo *transition = list_nth(root->aggtransinfos,
												  aggregate->aggtransno);
		QualCost	arguments;

		if (OidIsValid(info->finalfn_oid))
			add_function_cost(root, info->finalfn_oid, NULL, &of_group);
		if (bms_is_member(aggregate->aggtransno, states))
			continue;
		states = bms_add_member(states, aggregate->aggtransno);
		cost_qual_eval_node(&arguments, (Node *)
							list_make2(aggregate->args, aggregate->aggfilter),
							root);
		of_row.per_tuple += arguments.per_tuple;
		add_function_cost(root, transition->transfn_oid, NULL, &of_row);
	}
	return of_row.per_tuple * rows + of_group.per_tuple * groups;
}

/* Returns the number of sorts that the node does. */
static int
count_sorts(const QueryAggregates *all)
{
	int			nsorts = 0;
	ListCell   *cell;

	foreach(cell, all->orders)
		nsorts += ((const QueryOrder *) lfirst(cell))->clause != NULL;
	return nsorts;
}

/*
 * Are an order's values few of all rows, which one process finds without a sort
 * (rank_selection.c)?
 */
static bool
is_selected(const QueryAggregates *all, const QueryOrder *order,
			const Path *values)
{
	return all->groups == NIL && !order->counts_distinct &&
		get_typbyval(exprType((Node *) order->value)) &&
		sort_fits_memory(values->rows, values->pathtarget->width);
}

/*
 * Adds the cost of sorting an order's values in one process, and of looking at
 * them, and what a selection spares of it.  Returns false if gpusort does not do
 * this sort, or if that does not pay.
 */
static bool
add_cost_alone(const Grouped *grouped, const QueryAggregates *all,
			   const QueryOrder *order, Cost *startup, Cost *total,
			   Cost *selection)
{
	PlannerInfo *root = grouped->root;
	Path	   *input = grouped->serial;
	Path	   *values;
	Path	   *sort;
	Cost		looking = cost_values(all, order, input->rows);

	if (order->clause == NULL)
		return true;
	values = project_order(root, input, all, order);
	sort = sort_paths_make(root, input->parent, values, order->sort_keys,
						   NO_BOUND);
	if (sort == NULL)
		return false;
	*startup += sort->startup_cost - values->total_cost;
	*total += sort->total_cost - values->total_cost + looking;
	if (is_selected(all, order, values))
		*selection += SELECTION_SPARES *
			(sort->startup_cost - values->total_cost);
	if (all->groups == NIL)
		*startup += looking;
	return true;
}

/*
 * The path in one process; NULL if gpusort does not do a sort.  Sets what
 * selections spare of its cost.
 */
static Path *
make_alone(const Grouped *grouped, const QueryAggregates *all,
		   const GroupPathExtraData *extra, Cost *selection)
{
	PlannerInfo *root = grouped->root;
	Path	   *values = project_all(root, grouped->serial, all);
	const QueryOrder *first = linitial(all->orders);
	Cost		others = cost_others(root, all, values->rows, all->ngroups);
	Cost		startup = values->total_cost;
	Cost		total = values->total_cost + others;
	Path	   *sort;
	ListCell   *cell;

	if (all->groups == NIL)
		startup += others;
	foreach(cell, all->orders)
	{
		if (!add_cost_alone(grouped, all, lfirst(cell), &startup, &total,
							selection))
			return NULL;
	}
	sort = (Path *) create_sort_path(root, values->parent, values,
									 first->sort_keys, NO_BOUND);
	return make_aggregate(root, grouped->relation, sort, all, extra, startup,
						  all->groups == NIL ? startup : total, all->ngroups);
}

/*
 * The cost of an order's values of all rows as one group, if all processes sort
 * them.  One process reads the values in order if percentiles are wanted, or if
 * there are other orders.  Otherwise all processes read parts of them.
 */
static Cost
cost_all_together(const QueryAggregates *all, const QueryOrder *order,
				  const SortSize *size, double members)
{
	bool		is_read_alone = order->finds_percentiles ||
		list_length(all->orders) > 1;
	double		busiest = is_read_alone ? 1 : 1 / members;
	Cost		looking = cost_values(all, order, size->rows * busiest);
	Cost		startup;
	Cost		total;

	if (!sort_fits_memory(size->rows / members, size->width))
	{
		/* values in files are read one after the other */
		if (is_read_alone)
			cost_sort_together(size, members, &startup, &total);
		else
			cost_sort_in_groups(size, members, busiest, &startup, &total);
		return total + looking;
	}
	cost_sort_in_groups(size, members, busiest, &startup, &total);
	return startup + looking;
}

/*
 * Adds the cost of an order's values of all rows as one group, as above.
 * Returns false if processes do not sort them together, or if that does not
 * pay.
 */
static bool
add_cost_together(const Grouped *grouped, const QueryAggregates *all,
				  const QueryOrder *order, double members, Cost *total)
{
	double		rows = grouped->serial->rows;
	Path	   *values;
	SortSize	size;

	if (order->clause == NULL)
		return true;
	values = project_order(grouped->root, grouped->partial, all, order);
	if (!sort_paths_share(grouped->root, values, order->sort_keys, rows,
						  &size))
		return false;
	*total += cost_all_together(all, order, &size, members);
	return true;
}

/* The path in all processes of which one emits the single row; NULL as above. */
static Path *
make_row_together(const Grouped *grouped, const QueryAggregates *all,
				  const GroupPathExtraData *extra)
{
	Path	   *values = project_all(grouped->root, grouped->partial, all);
	const QueryOrder *first = linitial(all->orders);
	int			nsorts = count_sorts(all);
	Cost		total = values->total_cost + grouped->repeated +
		cost_others(grouped->root, all, values->rows, 1);
	Path	   *sort;
	ListCell   *cell;

	if (all->need_order || all->need_one_process)
		return NULL;
	if (nsorts > 1 &&
		!shared_memory_has_segments((double) nsorts * SEGMENTS_OF_PROCESS *
									(values->parallel_workers + 1)))
		return NULL;
	foreach(cell, all->orders)
	{
		if (!add_cost_together(grouped, all, lfirst(cell),
							   group_paths_members(grouped), &total))
			return NULL;
	}
	sort = (Path *) create_sort_path(grouped->root, values->parent, values,
									 first->sort_keys, NO_BOUND);
	return make_aggregate(grouped->root, grouped->relation, sort, all, extra,
						  total, total, 1);
}

/*
 * The path in all processes, each of which emits groups; NULL as above, or if
 * there are several orders.
 */
static Path *
make_groups_together(const Grouped *grouped, const QueryAggregates *all,
					 const GroupPathExtraData *extra)
{
	PlannerInfo *root = grouped->root;
	const QueryOrder *order = linitial(all->orders);
	Path	   *values = project_all(root, grouped->partial, all);
	double		rows = grouped->serial->rows;
	double		members = group_paths_members(grouped);
	double		busiest;
	SortSize	size;
	Cost		input;
	Cost		startup;
	Cost		total;
	Path	   *sort;

	if (list_length(all->orders) > 1 ||
		!sort_paths_share(root, values, order->sort_keys, rows, &size))
		return NULL;
	sort = (Path *) create_sort_path(root, values->parent, values,
									 order->sort_keys, NO_BOUND);
	busiest = group_paths_busiest(grouped, all->groups);
	input = values->total_cost + grouped->repeated;
	cost_sort_in_groups(&size, members, busiest, &startup, &total);
	return make_aggregate(root, grouped->relation, sort, all, extra,
						  input + startup,
						  input + total +
						  cost_values(all, order, rows * busiest) +
						  cost_others(root, all, rows * busiest,
									  all->ngroups * busiest),
						  all->ngroups / members);
}

/* The path in all processes that run the partial path; NULL as above. */
static Path *
make_together(const Grouped *grouped, const QueryAggregates *all,
			  const GroupPathExtraData *extra)
{
	Path	   *path = all->groups == NIL ?
		make_row_together(grouped, all, extra) :
		make_groups_together(grouped, all, extra);

	if (path != NULL)
		path->parallel_aware = true;
	return path;
}

/* The expression below the casts and the filter of a value. */
static Node *
skip_casts(Node *value)
{
	for (;;)
	{
		const FuncExpr *call = (const FuncExpr *) value;

		if (IsA(value, RelabelType))
			value = (Node *) ((RelabelType *) value)->arg;
		else if (IsA(value, FuncExpr) &&
				 (call->funcformat == COERCE_IMPLICIT_CAST ||
				  call->funcformat == COERCE_EXPLICIT_CAST))
			value = linitial(call->args);
		else if (IsA(value, CaseExpr))
			value = (Node *)
				linitial_node(CaseWhen, ((CaseExpr *) value)->args)->result;
		else
			return value;
	}
}

/*
 * The number of different values.  Without statistics it counts as one, since
 * core's sort takes the least time for few different values.
 */
static double
estimate_values(PlannerInfo *root, const QueryOrder *order)
{
	double		count = sort_paths_count_values(root,
												skip_casts((Node *) order->value));

	return count == 0 ? 1 : count;
}

/*
 * The cost of core's sorts of an order's values inside its Agg, for which core
 * charges nothing.
 */
static Cost
cost_order_of_core(PlannerInfo *root, const QueryAggregates *all,
				   const QueryOrder *order, const Path *input)
{
	const Node *value = (Node *) order->value;
	double		rows = input->rows * order->selectivity;
	InnerSize	size = {rows, rows / all->ngroups};

	if (order->clause == NULL || order->is_presorted)
		return 0;
	/* values in order are hardly compared */
	size.group_values = sort_paths_come_in_order(root, input, order->pathkeys) ?
		1 : Min(estimate_values(root, order), size.group_rows);
	return order->nsorts * cost_sorts_inside(&size, exprType(value),
											 exprCollation(value));
}

/*
 * The same for all orders.  If there are several, a path of core may have its
 * input sorted by one of them: by the order that core has chosen, or else by
 * the order that costs most (aggregate_paths.c).
 */
static SortsInside
cost_of_core(PlannerInfo *root, const QueryAggregates *all, const Path *input)
{
	bool		is_chosen = count_sorts(all) == 1;
	Cost		cost = 0;
	Cost		highest = 0;
	ListCell   *cell;

	foreach(cell, all->orders)
	{
		const QueryOrder *order = lfirst(cell);
		Cost		of_order = cost_order_of_core(root, all, order, input);

		is_chosen |= order->is_presorted;
		cost += of_order;
		highest = Max(highest, of_order);
	}
	return (SortsInside)
	{
		.of_unsorted = cost,
			.of_sorted = is_chosen ? cost : cost - highest
	};
}

/* Is this the path of the aggregates of sorted values? */
static bool
is_aggregate_path(const Path *path)
{
	return IsA(path, CustomPath) &&
		((const CustomPath *) path)->methods == &aggregate_path_methods;
}

/*
 * Does a path of one process cost hardly more than this one?  Core's paths
 * are charged with their sorts, and ours are spared what selections spare.
 */
static bool
is_hardly_better(const Grouped *grouped, const Path *gather,
				 const SortsInside *inside, Cost selection)
{
	ListCell   *cell;

	foreach(cell, grouped->relation->pathlist)
	{
		const Path *path = lfirst(cell);
		Cost		sorts = aggregate_paths_cost_inside(grouped->root, path, inside);

		if (is_aggregate_path(path))
			sorts -= selection;
		if (gather_paths_gathered(path) == NULL &&
			DISABLED_NODES(path) <= DISABLED_NODES(gather) &&
			workers_hardly_gain(gather->total_cost, path->total_cost + sorts))
			return true;
	}
	return false;
}

/*
 * Adds the path in which one of all processes emits the row, if that gains
 * enough, and drops core's paths as above.
 */
static void
add_single_row(const Grouped *grouped, Path *partial,
			   const SortsInside *inside, Cost selection)
{
	double		rows = 1;
	GatherPath *gather = create_gather_path(grouped->root, grouped->relation,
											partial, partial->pathtarget, NULL,
											&rows);

	if (!is_hardly_better(grouped, &gather->path, inside, selection))
		aggregate_paths_add_sparing(grouped->root, grouped->relation,
									&gather->path, inside);
}

/*
 * The same for groups, which all processes emit; nodes above may run in all
 * of them, too.
 */
static void
add_groups(const Grouped *grouped, Path *partial,
		   const SortsInside *inside)
{
	if (aggregate_paths_add_partial_sparing(grouped->root, grouped->relation,
											partial, inside))
		aggregate_paths_add_sparing(grouped->root, grouped->relation,
									group_paths_gather(grouped, partial),
									inside);
}

void
value_paths_add(PlannerInfo *root, RelOptInfo *input, RelOptInfo *relation,
				const GroupPathExtraData *extra)
{
	Grouped		grouped;
	QueryAggregates all;
	SortsInside inside;
	Cost		selection = 0;
	Path	   *alone;
	Path	   *together = NULL;

	if (!root->parse->hasAggs || root->parse->groupingSets != NIL ||
		root->parse->hasTargetSRFs || root->numOrderedAggs == 0 ||
		IS_OTHER_REL(relation) ||
		extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL ||
		input->cheapest_total_path->rows < gpusort_min_rows ||
		!query_aggregates_find(root, relation, input->cheapest_total_path,
							   extra, &all))
		return;
	grouped = group_paths_begin(root, input, relation);
	alone = make_alone(&grouped, &all, extra, &selection);
	if (relation->consider_parallel && grouped.partial != NULL)
		together = make_together(&grouped, &all, extra);
	if (alone == NULL && together == NULL)
		return;
	inside = cost_of_core(root, &all, grouped.serial);
	if (alone != NULL)
		aggregate_paths_add_sparing(root, relation, alone, &inside);
	if (together == NULL)
		return;
	if (all.groups == NIL)
		add_single_row(&grouped, together, &inside, selection);
	else
		add_groups(&grouped, together, &inside);
}

void
value_paths_init(void)
{
	RegisterCustomScanMethods(&aggregate_scan_methods);
}
