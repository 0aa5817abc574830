/*-------------------------------------------------------------------------
 *
 * query_aggregates.c
 *	  The aggregates of a query, as a GpuSortAggregate makes them.
 *
 * Percentiles and count(DISTINCT) follow from sorted values, each order of
 * which is noted with its aggregates.  A filter leaves out values: it makes a
 * value NULL, and NULLs are no values.  So a value with another filter is
 * another value.
 *
 * All other aggregates are made by core's functions.  With groups they read
 * rows that are sorted by a value, and not as in core.  So any order of the rows
 * has to give the same result.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "executor/value_aggregates.h"
#include "planner/aggregate_paths.h"
#include "planner/any_order.h"
#include "planner/query_aggregates.h"
#include "planner/sort_paths.h"
#include "port/compat.h"

/*
 * The most orders of one query.  Each has the memory of a sort, and planning
 * takes some time for it.
 */
#define MOST_ORDERS		16

/* Returns the state of an aggregate. */
static const AggTransInfo *
transition_of(const PlannerInfo *root, const Aggref *aggregate)
{
	return list_nth(root->aggtransinfos, aggregate->aggtransno);
}

/* Is an aggregate still made as core makes it, and not replaced? */
static bool
is_as_in_core(const PlannerInfo *root, const Aggref *aggregate)
{
	const AggInfo *info = list_nth(root->agginfos, aggregate->aggno);
	const AggTransInfo *transition = transition_of(root, aggregate);

	if (transition->transfn_oid != value_aggregate_transition(aggregate) ||
		info->finalfn_oid != value_aggregate_final(aggregate))
		return false;
	return transition->transfn_oid == F_ORDERED_SET_TRANSITION ||
		(!transition->initValueIsNull &&
		 DatumGetInt64(transition->initValue) == 0);
}

/* Returns a value that is NULL unless a filter is true. */
static Expr *
filter_value(Expr *value, Expr *filter)
{
	const Node *node = (Node *) value;
	CaseExpr   *filtered = makeNode(CaseExpr);
	CaseWhen   *kept = makeNode(CaseWhen);

	kept->expr = filter;
	kept->result = value;
	kept->location = -1;
	filtered->casetype = exprType(node);
	filtered->casecollid = exprCollation(node);
	filtered->args = list_make1(kept);
	filtered->defresult = (Expr *) makeNullConst(exprType(node),
												 exprTypmod(node),
												 exprCollation(node));
	filtered->location = -1;
	return (Expr *) filtered;
}

/*
 * Returns the value of an aggregate.  A numeric is filtered below its cast to
 * double precision, since the node does that faster (value_cast.c).
 */
static Expr *
value_of_aggregate(const Aggref *aggregate)
{
	Expr	   *value = linitial_node(TargetEntry, aggregate->args)->expr;
	FuncExpr   *cast = (FuncExpr *) value;

	if (aggregate->aggfilter == NULL)
		return value;
	if (!IsA(cast, FuncExpr) || cast->funcid != F_FLOAT8_NUMERIC)
		return filter_value(value, aggregate->aggfilter);
	cast = copyObject(cast);
	cast->args = list_make1(filter_value(linitial(cast->args),
										 aggregate->aggfilter));
	return (Expr *) cast;
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
	value = value_of_aggregate(aggregate);
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
	TargetEntry value;
	List	   *pathkeys;
	QueryOrder *order;

	if (column < 0 || list_length(clauses) != 1)
		return false;
	value = *linitial_node(TargetEntry, aggregate->args);
	value.expr = list_nth(all->values, column);
	pathkeys = make_pathkeys_for_sortclauses(root, clauses, list_make1(&value));
	/* a value that is known to be a constant has no keys */
	if (list_length(pathkeys) != 1)
		return false;
	order = find_order(all, column, linitial(clauses), pathkeys);
	order->aggregates = lappend(order->aggregates, aggregate);
	order->nsorts++;
	order->selectivity = aggregate->aggfilter == NULL ? 1 :
		clause_selectivity(root, (Node *) aggregate->aggfilter, 0, JOIN_INNER,
						   NULL);
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

/* Notes the columns of an expression that are no groups and no values. */
static bool
note_carried(Node *node, QueryAggregates *all)
{
	if (node == NULL || list_member(all->groups, node) ||
		list_member(all->values, node))
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar))
	{
		all->carried = list_append_unique(all->carried, node);
		return false;
	}
	return expression_tree_walker(node, note_carried, (void *) all);
}

/* Can the states that several processes have of a group be combined? */
static bool
can_combine(const PlannerInfo *root, const Aggref *aggregate)
{
	const AggTransInfo *transition = transition_of(root, aggregate);

	return OidIsValid(transition->combinefn_oid) &&
		(transition->aggtranstype != INTERNALOID ||
		 (OidIsValid(transition->serialfn_oid) &&
		  OidIsValid(transition->deserialfn_oid)));
}

/* Has an aggregate a transition function of core, and not one of a user? */
static bool
is_of_core(const PlannerInfo *root, const Aggref *aggregate)
{
	return transition_of(root, aggregate)->transfn_oid < FirstGenbkiObjectId;
}

/*
 * Notes an aggregate that core's functions make; false if all are left to core.
 */
static bool
note_other(const PlannerInfo *root, QueryAggregates *all,
		   Aggref *aggregate)
{
	Node	   *exprs = (Node *) list_make2(aggregate->args,
											aggregate->aggfilter);
	bool		has_groups = all->groups != NIL;
	bool		needs_order = !is_of_any_order(aggregate) ||
		!is_of_core(root, aggregate);

	if (!can_be_beside_values(aggregate, has_groups) ||
		(has_groups && needs_order) ||
		contain_volatile_functions(exprs) || contain_subplans(exprs))
		return false;
	all->others = lappend(all->others, aggregate);
	all->need_order |= needs_order;
	all->need_one_process |= !can_combine(root, aggregate);
	return true;
}

/* Can a GpuSortAggregate make an aggregate by the places of its values? */
static bool
is_by_place(const PlannerInfo *root, const Aggref *aggregate,
			ValueAggregateKind kind)
{
	return kind != NO_VALUE_AGGREGATE && is_as_in_core(root, aggregate) &&
		!(kind == COUNT_ROWS && aggregate->aggfilter != NULL) &&
		!contain_subplans((Node *) aggregate->aggdirectargs) &&
		!contain_var_clause((Node *) aggregate->aggdirectargs);
}

/* Notes an aggregate; false if all are left to core. */
static bool
note_aggregate(PlannerInfo *root, QueryAggregates *all, Aggref *aggregate)
{
	ValueAggregateKind kind = value_aggregate_kind(aggregate);

	if (!is_by_place(root, aggregate, kind))
		return note_other(root, all, aggregate);
	switch (kind)
	{
		case COUNT_ROWS:
			all->row_counts = lappend(all->row_counts, aggregate);
			return aggregate->args == NIL;
		case COUNT_VALUES:
			return note_count(all, aggregate) ||
				note_other(root, all, aggregate);
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
 * Moves the orders with a clause to the front.  Within groups only sorted
 * values are counted by their places.  Returns false if there is no order, or
 * if there are too many.
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
		else if (all->groups == NIL)
			counted = lappend(counted, order);
		else
			all->others = list_concat(all->others, order->aggregates);
	}
	if (sorted == NIL || list_length(all->orders) > MOST_ORDERS)
		return false;
	first = linitial(sorted);
	first->aggregates = list_concat(first->aggregates, all->row_counts);
	all->orders = list_concat(sorted, counted);
	return true;
}

/* Does core sort its input by one of the orders? */
static bool
is_any_presorted(const QueryAggregates *all)
{
	ListCell   *cell;

	foreach(cell, all->orders)
	{
		if (((const QueryOrder *) lfirst(cell))->is_presorted)
			return true;
	}
	return false;
}

/* Finds the aggregates of a query; false if these are left to core. */
static bool
find_aggregates(PlannerInfo *root, const RelOptInfo *grouped,
				const GroupPathExtraData *extra, QueryAggregates *all)
{
	List	   *exprs = list_make2(grouped->reltarget->exprs, extra->havingQual);
	Search		search = {root, all};
	ListCell   *cell;

	if (search_aggregates((Node *) exprs, &search) || !arrange_orders(all) ||
		(all->need_order && is_any_presorted(all)))
		return false;
	foreach(cell, all->others)
	{
		const Aggref *aggregate = lfirst(cell);

		(void) note_carried((Node *) list_make2(aggregate->args,
												aggregate->aggfilter), all);
	}
	return true;
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

bool
query_aggregates_find(PlannerInfo *root, const RelOptInfo *grouped,
					  const Path *input, const GroupPathExtraData *extra,
					  QueryAggregates *all)
{
	*all = (QueryAggregates)
	{
		.ngroups = 1
	};
	return find_groups(root, input, extra, all) &&
		find_aggregates(root, grouped, extra, all) && append_value_keys(all);
}
