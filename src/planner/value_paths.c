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
 * All aggregates of the query have to be of this kind.  Beside them the query
 * may have the numbers of all rows and of all values, and the columns by which
 * it groups.  If the aggregates have several values, or several orders of a
 * value, the node does several sorts.  Several sorts of groups are made in one
 * process: the processes below a Gather would cut the orders in different places.
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
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "cost/sort_choice.h"
#include "executor/node_aggregate.h"
#include "executor/value_aggregates.h"
#include "planner/aggregate_paths.h"
#include "planner/gather_paths.h"
#include "planner/group_paths.h"
#include "planner/sort_paths.h"
#include "planner/value_paths.h"
#include "port/compat.h"
#include "port/shared_memory.h"

/*
 * The most orders of one query.  They share the memory of one sort, and planning
 * takes some time for each.
 */
#define MOST_ORDERS		16

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

/* Values in one order, and their aggregates. */
typedef struct QueryOrder
{
	List	   *aggregates;		/* each once */
	Expr	   *value;
	int			column;			/* number of the value among all values */
	SortGroupClause *clause;	/* sort clause of the values; NULL if they are
								 * only counted */
	List	   *pathkeys;
	List	   *sort_keys;		/* pathkeys of the groups, and of the value */
	int			nsorts;			/* sorts that core makes, of unsorted input */
	bool		is_presorted;	/* core sorts its input so */
	bool		counts_distinct;
	bool		finds_percentiles;
} QueryOrder;

/* The aggregates of a query. */
typedef struct QueryAggregates
{
	List	   *orders;			/* QueryOrders; those with a clause come first */
	List	   *values;			/* values, all different */
	List	   *row_counts;		/* aggregates that count rows */
	List	   *groups;			/* grouping expressions; NIL: all rows are one
								 * group */
	List	   *group_keys;		/* their pathkeys */
	double		ngroups;
} QueryAggregates;

/* Is an aggregate still made as core makes it, and not replaced? */
static bool
is_as_in_core(const PlannerInfo *root, const Aggref *aggregate)
{
	const AggInfo *info = list_nth(root->agginfos, aggregate->aggno);
	const AggTransInfo *transition = list_nth(root->aggtransinfos,
											  aggregate->aggtransno);

	if (transition->transfn_oid != value_aggregate_transition(aggregate) ||
		info->finalfn_oid != value_aggregate_final(aggregate))
		return false;
	return transition->transfn_oid == F_ORDERED_SET_TRANSITION ||
		(!transition->initValueIsNull &&
		 DatumGetInt64(transition->initValue) == 0);
}

/*
 * Returns the number of a value, or -1 if values of this kind are left to core.
 */
static int
note_value(QueryAggregates *all, const Aggref *aggregate)
{
	Expr	   *value;
	ListCell   *cell;

	if (list_length(aggregate->args) != 1)
		return -1;
	value = linitial_node(TargetEntry, aggregate->args)->expr;
	foreach(cell, all->values)
	{
		if (equal(lfirst(cell), value))
			return foreach_current_index(cell);
	}
	if (contain_volatile_functions((Node *) value) ||
		contain_subplans((Node *) value))
		return -1;
	all->values = lappend(all->values, value);
	return list_length(all->values) - 1;
}

/*
 * Returns the order of this value with these pathkeys.  An order in which the
 * value is only counted becomes this one.
 */
static QueryOrder *
find_order(QueryAggregates *all, int column, SortGroupClause *clause,
		   List *pathkeys)
{
	QueryOrder *order;
	ListCell   *cell;

	foreach(cell, all->orders)
	{
		order = lfirst(cell);
		if (order->column != column)
			continue;
		if (clause == NULL ||
			(order->clause != NULL &&
			 compare_pathkeys(pathkeys, order->pathkeys) == PATHKEYS_EQUAL))
			return order;
		if (order->clause == NULL)
			break;
	}
	if (cell == NULL)
	{
		order = palloc0(sizeof(QueryOrder));
		all->orders = lappend(all->orders, order);
	}
	order->column = column;
	order->value = list_nth(all->values, column);
	order->clause = clause;
	order->pathkeys = pathkeys;
	return order;
}

/* Notes an aggregate of sorted values; false if it is left to core. */
static bool
note_sorted(PlannerInfo *root, QueryAggregates *all, Aggref *aggregate)
{
	bool		is_distinct = aggregate->aggdistinct != NIL;
	List	   *clauses = is_distinct ? aggregate->aggdistinct :
		aggregate->aggorder;
	int			column = note_value(all, aggregate);
	List	   *pathkeys;
	QueryOrder *order;

	if (column < 0 || list_length(clauses) != 1)
		return false;
	pathkeys = make_pathkeys_for_sortclauses(root, clauses, aggregate->args);
	/* a value that is known to be a constant has no keys */
	if (list_length(pathkeys) != 1)
		return false;
	order = find_order(all, column, linitial(clauses), pathkeys);
	order->aggregates = lappend(order->aggregates, aggregate);
	order->nsorts++;
	order->is_presorted |= AGG_IS_PRESORTED(aggregate);
	order->counts_distinct |= is_distinct;
	order->finds_percentiles |= !is_distinct;
	return true;
}

/* Notes an aggregate that counts values; false if it is left to core. */
static bool
note_count(QueryAggregates *all, Aggref *aggregate)
{
	int			column = note_value(all, aggregate);
	QueryOrder *order;

	if (column < 0)
		return false;
	order = find_order(all, column, NULL, NIL);
	order->aggregates = lappend(order->aggregates, aggregate);
	return true;
}

/* Notes an aggregate; false if it is left to core. */
static bool
note_aggregate(PlannerInfo *root, QueryAggregates *all, Aggref *aggregate)
{
	ValueAggregateKind kind = value_aggregate_kind(aggregate);

	if (kind == NO_VALUE_AGGREGATE || aggregate->aggfilter != NULL ||
		!is_as_in_core(root, aggregate) ||
		contain_subplans((Node *) aggregate->aggdirectargs) ||
		contain_var_clause((Node *) aggregate->aggdirectargs))
		return false;
	switch (kind)
	{
		case COUNT_ROWS:
			all->row_counts = lappend(all->row_counts, aggregate);
			return aggregate->args == NIL;
		case COUNT_VALUES:
			return note_count(all, aggregate);
		default:
			return note_sorted(root, all, aggregate);
	}
}

/* The state of a walk through expressions that looks for aggregates. */
typedef struct Search
{
	PlannerInfo *root;
	QueryAggregates *all;
	Bitmapset  *found;			/* their numbers */
} Search;

/*
 * Notes the aggregates of an expression; true if it has anything else than
 * these aggregates and groups.
 */
static bool
search_aggregates(Node *node, Search *search)
{
	if (node == NULL || list_member(search->all->groups, node))
		return false;
	if (IsA(node, Aggref))
	{
		Aggref	   *aggregate = (Aggref *) node;

		/* equal aggregates have one number */
		if (bms_is_member(aggregate->aggno, search->found))
			return false;
		search->found = bms_add_member(search->found, aggregate->aggno);
		return !note_aggregate(search->root, search->all, aggregate);
	}
	return IsA(node, Var) || IsA(node, PlaceHolderVar) ||
		IsA(node, GroupingFunc) ||
		expression_tree_walker(node, search_aggregates, (void *) search);
}

/*
 * Moves the orders with a clause to the front.  Returns false if there is none,
 * or if there are too many.
 */
static bool
arrange_orders(QueryAggregates *all)
{
	List	   *sorted = NIL;
	List	   *counted = NIL;
	QueryOrder *first;
	ListCell   *cell;

	foreach(cell, all->orders)
	{
		QueryOrder *order = lfirst(cell);

		if (order->clause != NULL)
			sorted = lappend(sorted, order);
		else
			counted = lappend(counted, order);
	}
	/* within groups only sorted values are counted */
	if (sorted == NIL || list_length(all->orders) > MOST_ORDERS ||
		(all->groups != NIL && counted != NIL))
		return false;
	first = linitial(sorted);
	first->aggregates = list_concat(first->aggregates, all->row_counts);
	all->orders = list_concat(sorted, counted);
	return true;
}

/* Finds the aggregates of a query; false if it has others. */
static bool
find_aggregates(PlannerInfo *root, const RelOptInfo *grouped,
				const GroupPathExtraData *extra, QueryAggregates *all)
{
	List	   *exprs = list_make2(grouped->reltarget->exprs, extra->havingQual);
	Search		search = {root, all};

	return !search_aggregates((Node *) exprs, &search) && arrange_orders(all);
}

/*
 * Notes the expressions by which rows are grouped.  Returns false if a sort
 * does not tell apart the groups, and the values in them.
 */
static bool
find_groups(PlannerInfo *root, const Path *input,
			const GroupPathExtraData *extra, QueryAggregates *all)
{
	int			nkeys = NUM_GROUP_KEYS(root);

	if (root->parse->groupClause == NIL)
		return true;
	if (nkeys == 0 || (extra->flags & GROUPING_CAN_USE_SORT) == 0)
		return false;
	all->groups = get_sortgrouplist_exprs(root->parse->groupClause,
										  extra->targetList);
	all->ngroups = sort_paths_count_groups(root, input, extra);
	all->group_keys = list_truncate(list_copy(root->group_pathkeys), nkeys);
	return sort_paths_join_equals(all->group_keys) &&
		!contain_volatile_functions((Node *) all->groups);
}

/*
 * Adds the key of each value behind the keys of the groups; false if it is there
 * already.
 */
static bool
append_value_keys(QueryAggregates *all)
{
	ListCell   *cell;

	foreach(cell, all->orders)
	{
		QueryOrder *order = lfirst(cell);

		if (order->clause == NULL)
			continue;
		order->sort_keys = aggregate_paths_append_keys(all->group_keys,
													   order->pathkeys);
		if (list_length(order->sort_keys) == list_length(all->group_keys))
			return false;
	}
	return true;
}

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
 * Does a sort of these rows write them only because several sorts share the
 * memory of one?  Core's sorts inside an Agg do not share it.
 */
static bool
shares_too_little(const QueryAggregates *all, double rows, int width)
{
	return sort_fits_memory(rows, width) &&
		!sort_fits_memory(rows * count_sorts(all), width);
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
 * them, and what a selection spares of it.  Returns false if gpusort does not do this sort, or if that does not
 * pay.
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
	values = project_values(root, input, all, list_make1(order->value));
	sort = sort_paths_make(root, input->parent, values, order->sort_keys,
						   NO_BOUND);
	if (sort == NULL ||
		shares_too_little(all, values->rows, values->pathtarget->width))
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
	Path	   *values = project_values(root, grouped->serial, all, all->values);
	const QueryOrder *first = linitial(all->orders);
	Cost		startup = values->total_cost;
	Cost		total = values->total_cost;
	Path	   *sort;
	ListCell   *cell;

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
				  const SortSize *size, double participants)
{
	bool		is_read_alone = order->finds_percentiles ||
		list_length(all->orders) > 1;
	double		busiest = is_read_alone ? 1 : 1 / participants;
	Cost		looking = cost_values(all, order, size->rows * busiest);
	Cost		startup;
	Cost		total;

	if (!sort_fits_memory(size->rows / participants, size->width))
	{
		/* values in files are read one after the other */
		if (is_read_alone)
			cost_sort_together(size, participants, &startup, &total);
		else
			cost_sort_in_groups(size, participants, busiest, &startup, &total);
		return total + looking;
	}
	cost_sort_in_groups(size, participants, busiest, &startup, &total);
	return startup + looking;
}

/*
 * Adds the cost of an order's values of all rows as one group, as above.
 * Returns false if processes do not sort them together, or if that does not
 * pay.
 */
static bool
add_cost_together(const Grouped *grouped, const QueryAggregates *all,
				  const QueryOrder *order, double participants, Cost *total)
{
	double		rows = grouped->serial->rows;
	Path	   *values;
	SortSize	size;

	if (order->clause == NULL)
		return true;
	values = project_values(grouped->root, grouped->partial, all,
							list_make1(order->value));
	if (!sort_paths_share(grouped->root, values, order->sort_keys, rows,
						  &size) ||
		shares_too_little(all, rows / participants, size.width))
		return false;
	*total += cost_all_together(all, order, &size, participants);
	return true;
}

/* The path in all processes of which one emits the single row; NULL as above. */
static Path *
make_row_together(const Grouped *grouped, const QueryAggregates *all,
				  const GroupPathExtraData *extra)
{
	Path	   *values = project_values(grouped->root, grouped->partial, all,
										all->values);
	const QueryOrder *first = linitial(all->orders);
	int			nsorts = count_sorts(all);
	Cost		total = values->total_cost;
	Path	   *sort;
	ListCell   *cell;

	if (nsorts > 1 &&
		!shared_memory_has_segments((double) nsorts * SEGMENTS_OF_PROCESS *
									(values->parallel_workers + 1)))
		return NULL;
	foreach(cell, all->orders)
	{
		if (!add_cost_together(grouped, all, lfirst(cell),
							   group_paths_participants(grouped), &total))
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
	Path	   *values = project_values(root, grouped->partial, all, all->values);
	double		rows = grouped->serial->rows;
	double		participants = group_paths_participants(grouped);
	double		busiest;
	SortSize	size;
	Cost		startup;
	Cost		total;
	Path	   *sort;

	if (list_length(all->orders) > 1 ||
		!sort_paths_share(root, values, order->sort_keys, rows, &size))
		return NULL;
	sort = (Path *) create_sort_path(root, values->parent, values,
									 order->sort_keys, NO_BOUND);
	busiest = group_paths_busiest(grouped, all->groups);
	cost_sort_in_groups(&size, participants, busiest, &startup, &total);
	return make_aggregate(root, grouped->relation, sort, all, extra,
						  values->total_cost + startup,
						  values->total_cost + total +
						  cost_values(all, order, rows * busiest),
						  all->ngroups / participants);
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

/* The expression below the casts of a value. */
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
	VariableStatData variable;
	bool		is_default;
	double		count;

	examine_variable(root, skip_casts((Node *) order->value), 0, &variable);
	count = get_variable_numdistinct(&variable, &is_default);
	ReleaseVariableStats(variable);
	return is_default ? 1 : count;
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
	InnerSize	size = {input->rows, input->rows / all->ngroups};

	if (order->clause == NULL || order->is_presorted)
		return 0;
	/* values in order are hardly compared */
	size.group_values = sort_paths_come_in_order(root, input, order->pathkeys) ?
		1 : Min(estimate_values(root, order), size.group_rows);
	return order->nsorts * cost_sorts_inside(&size, exprType(value),
											 exprCollation(value));
}

/*
 * The same for all orders.  If there are several, one of core's paths has its
 * input sorted by one of them: by the order that core has chosen, or else by
 * the order that costs most (aggregate_paths.c).
 */
static Cost
cost_of_core(PlannerInfo *root, const QueryAggregates *all, const Path *input)
{
	bool		is_chosen = list_length(all->orders) == 1;
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
	return is_chosen ? cost : cost - highest;
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
is_hardly_better(const Path *gather, const RelOptInfo *relation, Cost spared,
				 Cost selection)
{
	ListCell   *cell;

	foreach(cell, relation->pathlist)
	{
		const Path *path = lfirst(cell);
		Cost		sorts = IsA(path, AggPath) ? spared : 0;

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
add_single_row(const Grouped *grouped, Path *partial, Cost spared,
			   Cost selection)
{
	double		rows = 1;
	GatherPath *gather = create_gather_path(grouped->root, grouped->relation,
											partial, partial->pathtarget, NULL,
											&rows);

	if (!is_hardly_better(&gather->path, grouped->relation, spared,
						  selection))
		aggregate_paths_add_sparing(grouped->root, grouped->relation,
									&gather->path, spared);
}

/*
 * The same for groups, which all processes emit; nodes above may run in all
 * of them, too.
 */
static void
add_groups(const Grouped *grouped, Path *partial, Cost spared)
{
	if (aggregate_paths_add_partial_sparing(grouped->root, grouped->relation,
											partial, spared))
		aggregate_paths_add_sparing(grouped->root, grouped->relation,
									group_paths_gather(grouped, partial),
									spared);
}

void
value_paths_add(PlannerInfo *root, RelOptInfo *input, RelOptInfo *relation,
				const GroupPathExtraData *extra)
{
	Grouped		grouped = {root, relation, input->cheapest_total_path};
	QueryAggregates all = {.ngroups = 1};
	Cost		spared;
	Cost		selection = 0;
	Path	   *alone;
	Path	   *together = NULL;

	if (!root->parse->hasAggs || root->parse->groupingSets != NIL ||
		root->parse->hasTargetSRFs || root->numOrderedAggs == 0 ||
		IS_OTHER_REL(relation) ||
		extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL ||
		!find_groups(root, grouped.serial, extra, &all) ||
		!find_aggregates(root, relation, extra, &all) ||
		!append_value_keys(&all))
		return;
	alone = make_alone(&grouped, &all, extra, &selection);
	if (relation->consider_parallel && input->partial_pathlist != NIL)
	{
		grouped.partial = linitial(input->partial_pathlist);
		together = make_together(&grouped, &all, extra);
	}
	if (alone == NULL && together == NULL)
		return;
	spared = cost_of_core(root, &all, grouped.serial);
	if (alone != NULL)
		aggregate_paths_add_sparing(root, relation, alone, spared);
	if (together == NULL)
		return;
	if (all.groups == NIL)
		add_single_row(&grouped, together, spared, selection);
	else
		add_groups(&grouped, together, spared);
}

void
value_paths_init(void)
{
	RegisterCustomScanMethods(&aggregate_scan_methods);
}
