/*-------------------------------------------------------------------------
 *
 * aggregate_plan.c
 *	  The plan of a GpuSortAggregate.
 *
 * The child's columns are those of the groups, then the values, each once,
 * then the columns that only other aggregates need.  The plan's expressions
 * are the query's aggregates until the planner has finished.  Then each
 * aggregate becomes a column of the node, and refers to the child's columns in
 * EXPLAIN.
 *
 * Aggregates that are in none of the orders are core's.  An Agg of these alone,
 * which the node keeps (other_aggregates.c), reads rows that have only what
 * it needs.  With groups these are the rows of the first order: the columns of
 * the groups, the value, and the carried columns of the child behind it.
 * Without groups they are made of the child's rows as these come, and have only
 * the carried columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "executor/aggregate_plan.h"
#include "executor/gpusort_plan.h"
#include "executor/node_aggregate.h"
#include "executor/value_aggregates.h"
#include "executor/value_cast.h"
#include "port/compat.h"

bool
aggregates_only_count(const List *aggregates)
{
	bool		counts = false;
	ListCell   *cell;

	foreach(cell, aggregates)
	{
		ValueAggregateKind kind = value_aggregate_kind(lfirst(cell));

		if (kind == PERCENTILE || kind == PERCENTILE_ARRAY)
			return false;
		counts |= kind == COUNT_DISTINCT_VALUES;
	}
	return counts;
}

List *
aggregated_order_write(const AggregatedOrder *order)
{
	return list_make4(order->aggregates, order->clause,
					  list_make1_int(order->column),
					  list_make1_oid(order->collation));
}

AggregatedOrder
aggregated_order_read(const List *written)
{
	return (AggregatedOrder)
	{
		.aggregates = linitial(written),
			.clause = lsecond(written),
			.column = linitial_int(lthird(written)),
			.collation = linitial_oid(lfourth(written))
	};
}

static List *
write_aggregate(const PlannedAggregate *planned)
{
	const AggregatedValues *values = &planned->values;

	return lappend(list_make5(values->orders, values->group_equal,
							  values->group_collations, planned->counts,
							  planned->casts),
				   list_make2(planned->others, planned->carried));
}

PlannedAggregate
planned_aggregate_read(const CustomScan *scan)
{
	const List *written = lsecond(scan->custom_private);
	const List *others = list_nth(written, 5);

	return (PlannedAggregate)
	{
		.values.orders = linitial(written),
			.values.group_equal = lsecond(written),
			.values.group_collations = lthird(written),
			.counts = lfourth(written),
			.casts = list_nth(written, 4),
			.others = linitial(others),
			.carried = lsecond(others)
	};
}

AggregatedOrder
planned_aggregate_order(const PlannedAggregate *planned, int i)
{
	return aggregated_order_read(list_nth(planned->values.orders, i));
}

/*
 * Returns the function by which an order casts the values of this column, if
 * its child leaves that to it.  Orders of the same column share the cast.
 * Values that are only counted are not cast; so the child does it, which may
 * fail.
 */
static Oid
take_cast(Plan *child, const PlannedAggregate *planned,
		  const AggregatedOrder *order, AttrNumber column)
{
	if (order->clause == NULL)
		return InvalidOid;
	for (int i = 0; i < list_length(planned->casts); i++)
		if (planned_aggregate_order(planned, i).column == order->column)
			return list_nth_oid(planned->casts, i);
	return value_cast_take(child, column);
}

/* Adds an order to a plan that is being made. */
static void
add_order(CustomScan *scan, PlannedAggregate *planned,
		  const AggregatedOrder *order)
{
	Plan	   *child = scan->scan.plan.lefttree;
	AttrNumber	column = list_length(planned->values.group_equal) +
		order->column + 1;
	ListCell   *cell;

	planned->counts = lappend_int(planned->counts,
								  list_length(order->aggregates));
	planned->casts = lappend_oid(planned->casts,
								 take_cast(child, planned, order, column));
	foreach(cell, order->aggregates)
		scan->custom_exprs =
		list_concat(scan->custom_exprs,
					copyObject(lfirst_node(Aggref, cell)->aggdirectargs));
}

/* Adds an expression to a target list. */
static List *
add_column(List *columns, Expr *column)
{
	return lappend(columns, makeTargetEntry(column, list_length(columns) + 1,
											NULL, false));
}

/*
 * Lets the planner find the columns of aggregates with a filter, which are in
 * the value only.
 */
static void
add_filter_columns(CustomScan *scan, const List *aggregates)
{
	ListCell   *aggregate_cell;
	ListCell   *cell;

	foreach(aggregate_cell, aggregates)
	{
		const Aggref *aggregate = lfirst_node(Aggref, aggregate_cell);

		if (aggregate->aggfilter == NULL)
			continue;
		foreach(cell, pull_var_clause((Node *)
									  list_make2(aggregate->args,
												 aggregate->aggfilter),
									  PVC_INCLUDE_PLACEHOLDERS))
			scan->custom_scan_tlist = add_column(scan->custom_scan_tlist,
												 copyObject(lfirst(cell)));
	}
}

CustomScan *
aggregate_make_plan(const Sort *sort, List *target_list, List *having,
					const AggregatedValues *values)
{
	CustomScan *scan = makeNode(CustomScan);
	AggregatedOrder first = aggregated_order_read(linitial(values->orders));
	PlannedAggregate planned = {.values = *values};
	PlannedSort planned_sort = planned_sort_of(sort);
	ListCell   *cell;

	/*
	 * core takes a column of the groups for the value if only the labels
	 * differ
	 */
	planned_sort.columns[sort->numCols - 1].attno =
		list_length(values->group_equal) + 1;
	scan->methods = &aggregate_scan_methods;
	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = having;
	scan->scan.plan.lefttree = sort->plan.lefttree;
	if (values->group_equal == NIL && aggregates_only_count(first.aggregates))
	{
		planned_sort.limit =
			planned_limit_to_one(list_make1_oid(first.clause->eqop));
		scan->custom_exprs = list_make1(planned_sort.limit.count);
	}
	foreach(cell, values->orders)
	{
		AggregatedOrder order = aggregated_order_read(lfirst(cell));

		add_order(scan, &planned, &order);
	}
	/* here the planner finds the values of the aggregates */
	scan->custom_scan_tlist = copyObject(sort->plan.lefttree->targetlist);
	foreach(cell, values->orders)
		add_filter_columns(scan, linitial(lfirst(cell)));
	planned.values.orders = copyObject(values->orders);
	scan->custom_private = list_make2(planned_sort_write(&planned_sort),
									  write_aggregate(&planned));
	return scan;
}

/* Returns a column of the child as an expression. */
static Expr *
child_column(const CustomScan *scan, int i)
{
	const List *columns = scan->scan.plan.lefttree->targetlist;

	return (Expr *) makeVarFromTargetEntry(OUTER_VAR, list_nth(columns, i));
}

/* Returns the values of an order as an expression of the child's columns. */
static Expr *
value_of_order(const CustomScan *scan, const PlannedAggregate *planned, int i)
{
	int			ngroup_columns = list_length(planned->values.group_equal);
	AggregatedOrder order = planned_aggregate_order(planned, i);

	return value_cast_of(list_nth_oid(planned->casts, i),
						 child_column(scan, ngroup_columns + order.column));
}

List *
aggregates_of_order(const CustomScan *scan, const PlannedAggregate *planned,
					int i)
{
	int			first = list_length(planned->values.group_equal);
	int			count = list_nth_int(planned->counts, i);
	List	   *aggregates = NIL;

	for (int j = 0; j < i; j++)
		first += list_nth_int(planned->counts, j);
	for (int j = first; j < first + count; j++)
		aggregates = lappend(aggregates,
							 list_nth_node(TargetEntry, scan->custom_scan_tlist,
										   j)->expr);
	return aggregates;
}

List *
columns_of_order(const CustomScan *scan, const PlannedAggregate *planned,
				 int i)
{
	List	   *columns = NIL;

	for (int j = 0; j < list_length(planned->values.group_equal); j++)
		columns = add_column(columns, child_column(scan, j));
	return add_column(columns, value_of_order(scan, planned, i));
}

List *
columns_of_others(const CustomScan *scan, const PlannedAggregate *planned)
{
	List	   *columns = planned->values.group_equal == NIL ? NIL :
		columns_of_order(scan, planned, 0);
	ListCell   *cell;

	foreach(cell, planned->carried)
		columns = add_column(columns, child_column(scan, lfirst_int(cell) - 1));
	return columns;
}

/*
 * Replaces each aggregate in an expression by its column.  "columns" is an
 * array by the numbers of aggregates.
 */
static Node *
refer_to_aggregates(Node *node, TargetEntry **columns)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
		return (Node *) makeVarFromTargetEntry(INDEX_VAR,
											   columns[((Aggref *) node)->aggno]);
	return expression_tree_mutator(node, refer_to_aggregates,
								   (void *) columns);
}

/* Adds the column of an aggregate. */
static void
add_aggregate_column(CustomScan *scan, Aggref *aggregate,
					 TargetEntry **columns)
{
	scan->custom_scan_tlist = add_column(scan->custom_scan_tlist,
										 (Expr *) aggregate);
	columns[aggregate->aggno] = llast(scan->custom_scan_tlist);
}

/* Adds the columns of an order's aggregates.  The value has their filter. */
static void
add_columns_of_order(CustomScan *scan, const List *aggregates, Expr *value,
					 TargetEntry **columns)
{
	ListCell   *cell;

	foreach(cell, aggregates)
	{
		Aggref	   *aggregate = lfirst(cell);

		if (aggregate->args != NIL)
			linitial_node(TargetEntry, aggregate->args)->expr =
				copyObject(value);
		aggregate->aggfilter = NULL;
		add_aggregate_column(scan, aggregate, columns);
	}
}

/*
 * The columns of the aggregates, while a plan is finished: an array by their
 * numbers.
 */
typedef struct AggregateColumns
{
	TargetEntry **columns;		/* NULL: in none of the orders */
	int			count;			/* one more than the highest number */
	List	   *others;			/* aggregates that are in none of the orders */
} AggregateColumns;

/* Counts the numbers of the aggregates in an expression. */
static bool
count_numbers(Node *node, AggregateColumns *all)
{
	if (node != NULL && IsA(node, Aggref))
		all->count = Max(all->count, ((Aggref *) node)->aggno + 1);
	return node != NULL &&
		expression_tree_walker(node, count_numbers, (void *) all);
}

/* Stands for the column of an aggregate that has been found. */
static TargetEntry other_column;

/* Finds aggregates that have no column yet, each once. */
static bool
find_others(Node *node, AggregateColumns *all)
{
	const Aggref *aggregate = (const Aggref *) node;

	if (node == NULL || !IsA(node, Aggref))
		return node != NULL &&
			expression_tree_walker(node, find_others, (void *) all);
	if (all->columns[aggregate->aggno] == NULL)
	{
		all->others = lappend(all->others, node);
		all->columns[aggregate->aggno] = &other_column;
	}
	return false;
}

/*
 * Returns the place of a column of the child in the rows that the other
 * aggregates read; 0 if it is carried, and not yet noted as such.
 */
static AttrNumber
place_of_column(const PlannedAggregate *planned, AttrNumber column)
{
	int			nplaces = 0;
	ListCell   *cell;

	if (planned->values.group_equal != NIL)
	{
		nplaces = list_length(planned->values.group_equal) + 1;
		if (column < nplaces)
			return column;
		/* the value in the row is cast */
		if (column == nplaces + planned_aggregate_order(planned, 0).column &&
			!OidIsValid(linitial_oid(planned->casts)))
			return nplaces;
	}
	foreach(cell, planned->carried)
	{
		nplaces++;
		if (lfirst_int(cell) == column)
			return nplaces;
	}
	return 0;
}

/* Notes the columns of the child that only the other aggregates need. */
static void
note_carried(PlannedAggregate *planned, const List *others)
{
	Bitmapset  *columns = NULL;
	int			column = -1;

	pull_varattnos((Node *) others, INDEX_VAR, &columns);
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	attno = column + FirstLowInvalidHeapAttributeNumber;

		if (place_of_column(planned, attno) == 0)
			planned->carried = lappend_int(planned->carried, attno);
	}
}

/*
 * Lets an expression over the node's columns refer to the child's columns, or
 * to their places in the rows that the other aggregates read.
 */
static Node *
refer_to_outer(Node *node, const PlannedAggregate *places)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == INDEX_VAR)
	{
		Var		   *column = copyObject((Var *) node);

		column->varno = OUTER_VAR;
		if (places != NULL)
			column->varattno = place_of_column(places, column->varattno);
		return (Node *) column;
	}
	return expression_tree_mutator(node, refer_to_outer, (void *) places);
}

/*
 * Returns an aggregate as core's Agg of the other aggregates has it.  These are
 * numbered anew, and their states too, of which aggregates may share one.
 */
static Aggref *
make_other(const Aggref *aggregate, const PlannedAggregate *planned,
		   int number, List **states)
{
	Aggref	   *made = (Aggref *) refer_to_outer((Node *) aggregate, planned);
	int			state = 0;
	ListCell   *cell;

	foreach(cell, *states)
	{
		if (lfirst_int(cell) == aggregate->aggtransno)
			break;
		state++;
	}
	if (cell == NULL)
		*states = lappend_int(*states, aggregate->aggtransno);
	made->aggno = number;
	made->aggtransno = state;
	return made;
}

/* Adds the columns of the other aggregates, and makes the Agg of these. */
static void
add_others(CustomScan *scan, PlannedAggregate *planned, AggregateColumns *all)
{
	List	   *states = NIL;
	Agg		   *agg;
	ListCell   *cell;

	if (all->others == NIL)
		return;
	agg = makeNode(Agg);
	agg->aggstrategy = AGG_PLAIN;
	agg->aggsplit = AGGSPLIT_SIMPLE;
	agg->numGroups = 1;
	note_carried(planned, all->others);
	foreach(cell, all->others)
	{
		const Aggref *aggregate = lfirst(cell);
		Aggref	   *other = make_other(aggregate, planned,
									   foreach_current_index(cell), &states);

		agg->plan.targetlist = add_column(agg->plan.targetlist, (Expr *) other);
		add_aggregate_column(scan, (Aggref *)
							 refer_to_outer((Node *) aggregate, NULL),
							 all->columns);
	}
	planned->others = agg;
}

void
aggregate_refers_to_child(CustomScan *scan)
{
	PlannedAggregate planned = planned_aggregate_read(scan);
	int			ngroup_columns = list_length(planned.values.group_equal);
	List	   *exprs = list_make2(scan->scan.plan.targetlist,
								   scan->scan.plan.qual);
	AggregateColumns all = {NULL};
	ListCell   *cell;

	(void) count_numbers((Node *) exprs, &all);
	foreach(cell, planned.values.orders)
		(void) count_numbers(linitial(lfirst(cell)), &all);
	all.columns = palloc0(all.count * sizeof(TargetEntry *));
	scan->custom_scan_tlist = list_truncate(scan->custom_scan_tlist,
											ngroup_columns);
	for (int i = 0; i < ngroup_columns; i++)
		list_nth_node(TargetEntry, scan->custom_scan_tlist, i)->expr =
			child_column(scan, i);
	for (int i = 0; i < list_length(planned.values.orders); i++)
	{
		AggregatedOrder order = planned_aggregate_order(&planned, i);

		add_columns_of_order(scan, order.aggregates,
							 value_of_order(scan, &planned, i), all.columns);
		order.aggregates = NIL;
		lfirst(list_nth_cell(planned.values.orders, i)) =
			aggregated_order_write(&order);
	}
	(void) find_others((Node *) exprs, &all);
	add_others(scan, &planned, &all);
	lsecond(scan->custom_private) = write_aggregate(&planned);

	scan->scan.plan.targetlist = (List *)
		refer_to_aggregates((Node *) scan->scan.plan.targetlist, all.columns);
	scan->scan.plan.qual = (List *)
		refer_to_aggregates((Node *) scan->scan.plan.qual, all.columns);
}
