/*-------------------------------------------------------------------------
 *
 * node_aggregate.c
 *	  The GpuSortAggregate plan node: aggregates of sorted values.
 *
 * A percentile, and the number of different values, are known when the values
 * of all rows, or of each group, are sorted.  In core's Agg each value passes
 * through a sort.  This node sorts the values by their keys, and then looks
 * only at the values that make a percentile.  It counts different values where
 * they lie, unless the keys tell their number.  The node replaces the Agg.
 * Its child emits nothing but the columns of the groups, and the values behind
 * them.  NULLs are no values.
 *
 * If aggregates have different values, or different orders, the node does a sort
 * for each order (value_order.c).  The first is the node's own, the others are
 * done beside it, in one process.  With groups, all sorts are by the groups
 * first.  So they have the same groups in the same order, and each group is
 * taken from all of them.
 *
 * In a partial plan, which is a plan below a Gather, all processes sort their
 * rows together (parallel_sort.c).  With groups, each process emits the groups
 * of the parts that it takes.  Without groups, the processes count different
 * values in parts of the order, and one process emits the result, a row: the
 * process that has counted the last part, or the process that has the order,
 * if nothing has to be counted.
 *
 * The expressions of the node are the query's aggregates themselves, so a user
 * sees nothing of this.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "executor/explain_sort.h"
#include "executor/gpusort_plan.h"
#include "executor/node_aggregate.h"
#include "executor/parallel_sort.h"
#include "executor/value_aggregates.h"
#include "executor/value_cast.h"
#include "executor/value_order.h"
#include "executor/value_row.h"
#include "port/compat.h"
#include "port/execution_check.h"
#include "shared_state.h"

typedef struct GpuSortAggregateState
{
	ParallelSort sort;			/* must be first */
	ValueOrder *orders;			/* the first is that of the sort */
	int			norders;
	Oid		   *casts;			/* cast of each order's values, or InvalidOid */
	MemoryContext result_memory;	/* memory of the values of the emitted row */

	/* with groups */
	int			ngroup_columns; /* 0: all rows are one group */
	bool		groups_by_value;	/* all columns of groups are by value */
	ExprState  *same_group;		/* compares the groups of two rows */
	TupleTableSlot *group;		/* first row of the present group */
} GpuSortAggregateState;

static const CustomExecMethods aggregate_exec_methods;

bool
is_gpusort_aggregate(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &aggregate_scan_methods;
}

/*
 * Returns whether aggregates need nothing of the values but the number of
 * different ones.
 */
static bool
only_counts(const List *aggregates)
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

/* What a plan of this node says beside its sort. */
typedef struct PlannedAggregate
{
	AggregatedValues values;	/* its aggregates until the plan is finished */
	List	   *counts;			/* number of aggregates of each order */
	List	   *casts;			/* function that casts an order's values
								 * before they are sorted, or InvalidOid */
} PlannedAggregate;

static List *
write_aggregate(const PlannedAggregate *planned)
{
	const AggregatedValues *values = &planned->values;

	return list_make5(values->orders, values->group_equal,
					  values->group_collations, planned->counts,
					  planned->casts);
}

static PlannedAggregate
read_aggregate(const CustomScan *scan)
{
	const List *written = lsecond(scan->custom_private);

	return (PlannedAggregate)
	{
		.values.orders = linitial(written),
			.values.group_equal = lsecond(written),
			.values.group_collations = lthird(written),
			.counts = lfourth(written),
			.casts = list_nth(written, 4)
	};
}

static AggregatedOrder
planned_order(const PlannedAggregate *planned, int i)
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
		if (planned_order(planned, i).column == order->column)
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
	if (values->group_equal == NIL && only_counts(first.aggregates))
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
	AggregatedOrder order = planned_order(planned, i);

	return value_cast_of(list_nth_oid(planned->casts, i),
						 child_column(scan, ngroup_columns + order.column));
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

/* Adds the columns of an order's aggregates. */
static void
add_aggregate_columns(CustomScan *scan, const List *aggregates, Expr *value,
					  TargetEntry **columns)
{
	ListCell   *cell;

	foreach(cell, aggregates)
	{
		Aggref	   *aggregate = lfirst(cell);
		AttrNumber	number = list_length(scan->custom_scan_tlist) + 1;

		if (aggregate->args != NIL)
			linitial_node(TargetEntry, aggregate->args)->expr =
				copyObject(value);
		columns[aggregate->aggno] = makeTargetEntry((Expr *) aggregate,
													number, NULL, false);
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
										  columns[aggregate->aggno]);
	}
}

/* Returns one more than the highest number of an aggregate. */
static int
count_aggregate_numbers(const PlannedAggregate *planned)
{
	int			count = 0;

	for (int i = 0; i < list_length(planned->values.orders); i++)
	{
		AggregatedOrder order = planned_order(planned, i);
		ListCell   *cell;

		foreach(cell, order.aggregates)
			count = Max(count, lfirst_node(Aggref, cell)->aggno + 1);
	}
	return count;
}

void
aggregate_refers_to_child(CustomScan *scan)
{
	PlannedAggregate planned = read_aggregate(scan);
	int			ngroup_columns = list_length(planned.values.group_equal);
	TargetEntry **columns = palloc0(count_aggregate_numbers(&planned) *
									sizeof(TargetEntry *));

	scan->custom_scan_tlist = list_truncate(scan->custom_scan_tlist,
											ngroup_columns);
	for (int i = 0; i < ngroup_columns; i++)
		list_nth_node(TargetEntry, scan->custom_scan_tlist, i)->expr =
			child_column(scan, i);
	for (int i = 0; i < list_length(planned.values.orders); i++)
	{
		AggregatedOrder order = planned_order(&planned, i);

		add_aggregate_columns(scan, order.aggregates,
							  value_of_order(scan, &planned, i), columns);
		order.aggregates = NIL;
		lfirst(list_nth_cell(planned.values.orders, i)) =
			aggregated_order_write(&order);
	}
	lsecond(scan->custom_private) = write_aggregate(&planned);

	scan->scan.plan.targetlist = (List *)
		refer_to_aggregates((Node *) scan->scan.plan.targetlist, columns);
	scan->scan.plan.qual = (List *)
		refer_to_aggregates((Node *) scan->scan.plan.qual, columns);
}

static Node *
create_aggregate_state(CustomScan *scan)
{
	GpuSortAggregateState *state = palloc0(sizeof(GpuSortAggregateState));
	ParallelSort *sort = &state->sort;
	PlannedSort planned_sort = planned_sort_read(scan);
	PlannedAggregate planned = read_aggregate(scan);

	NodeSetTag(state, T_CustomScanState);
	sort->css.methods = &aggregate_exec_methods;
	sort->ncolumns = planned_sort.ncolumns;
	sort->columns = planned_sort.columns;
	state->ngroup_columns = list_length(planned.values.group_equal);
	state->norders = list_length(planned.values.orders);
	node_limit_set(&sort->limit, &planned_sort.limit);
	if (state->ngroup_columns > 0)
	{
		sort->ngroup_columns = sort->ncolumns - 1;
		sort->emission = EMIT_PARTS;
	}
	else
	{
		sort->ngroup_columns = 1;
		sort->emission = node_has_limit(&sort->limit) ? EMIT_PARTS_TO_COUNT :
			EMIT_ALONE;
	}
	return (Node *) state;
}

/* Returns the aggregates of each order, as the finished plan has them. */
static List *
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

/* Returns the columns by which a further order sorts. */
static const SortColumn *
columns_of_order(const GpuSortAggregateState *state,
				 const AggregatedOrder *order)
{
	const ParallelSort *sort = &state->sort;
	SortColumn *columns = palloc(sort->ncolumns * sizeof(SortColumn));

	memcpy(columns, sort->columns, sort->ncolumns * sizeof(SortColumn));
	columns[sort->ncolumns - 1] = (SortColumn)
	{
		.attno = state->ngroup_columns + 1,
			.sort_operator = order->clause->sortop,
			.collation = order->collation,
			.nulls_first = order->clause->nulls_first
	};
	return columns;
}

/* Begins the sort of a further order. */
static void
init_beside(GpuSortAggregateState *state, SortBeside *beside,
			const AggregatedOrder *planned, Oid cast)
{
	CustomScanState *node = &state->sort.css;
	AttrNumber	value = state->ngroup_columns + planned->column + 1;

	beside->left_out_null = state->ngroup_columns == 0 ? value : 0;
	beside->maker = value_row_maker(node, state->ngroup_columns, value, cast,
									&beside->descriptor);
	if (planned->clause == NULL)
		return;
	beside->columns = columns_of_order(state, planned);
	beside->ncolumns = state->sort.ncolumns;
}

/* Begins the sort of the first order. */
static void
init_first(GpuSortAggregateState *state, const AggregatedOrder *planned,
		   Oid cast)
{
	ParallelSort *sort = &state->sort;
	AttrNumber	value = state->ngroup_columns + planned->column + 1;

	if (state->ngroup_columns == 0)
		sort->left_out_null = value;
	/* without a cast the only value comes as it is sorted */
	if (state->norders > 1 || OidIsValid(cast))
		sort->maker = value_row_maker(&sort->css, state->ngroup_columns, value,
									  cast, &sort->descriptor);
}

/* Sets what an order has to know of its values. */
static void
init_values(GpuSortAggregateState *state, ValueOrder *order,
			const AggregatedOrder *planned, TupleDesc descriptor)
{
	EState	   *estate = state->sort.css.ss.ps.state;
	Form_pg_attribute value;

	order->sort = &state->sort;
	order->column = state->ngroup_columns + 1;
	value = TupleDescAttr(descriptor, order->column - 1);
	order->length = value->attlen;
	order->by_value = value->attbyval;
	order->collation = planned->collation;
	if (planned->clause != NULL)
		fmgr_info(get_opcode(planned->clause->eqop), &order->equal);
	order->row = ExecInitExtraTupleSlot(estate, descriptor,
										&TTSOpsMinimalTuple);
	if (order->beside == NULL)
		state->sort.row = order->row;
	else
		order->beside->row = order->row;
	if (state->ngroup_columns > 0 && order->aggregates.looks_up)
		order->values = value_buffer_create(estate, descriptor, order->column);
}

/*
 * Lets the sort of a further order leave out all but one of equal values, if
 * only the number of different ones is wanted.
 */
static void
limit_beside(GpuSortAggregateState *state, SortBeside *beside,
			 const AggregatedOrder *planned, const List *aggregates)
{
	PlannedGroupLimit limit;

	if (planned->clause == NULL || state->ngroup_columns > 0 ||
		!only_counts(aggregates))
		return;
	limit = planned_limit_to_one(list_make1_oid(planned->clause->eqop));
	node_limit_set(&beside->limit, &limit);
	node_limit_begin(&beside->limit, &state->sort.css);
}

/* Are all values of an order one group, of which only percentiles are wanted? */
static bool
wants_places(const GpuSortAggregateState *state, const ValueOrder *order)
{
	return state->ngroup_columns == 0 && order->aggregates.looks_up &&
		!order->aggregates.counts_distinct;
}

/*
 * Begins the orders.  The fractions are all expressions of the plan, but for
 * the count of the first sort's limit, which is the first.
 */
static void
init_orders(GpuSortAggregateState *state)
{
	ParallelSort *sort = &state->sort;
	const CustomScan *scan = (const CustomScan *) sort->css.ss.ps.plan;
	PlannedAggregate planned = read_aggregate(scan);
	List	   *fractions = list_copy_tail(scan->custom_exprs,
										   node_has_limit(&sort->limit) ? 1 : 0);

	state->orders = palloc0(state->norders * sizeof(ValueOrder));
	sort->nbeside = state->norders - 1;
	sort->beside = palloc0(sort->nbeside * sizeof(SortBeside));
	for (int i = 0; i < state->norders; i++)
	{
		ValueOrder *order = &state->orders[i];
		SortBeside *beside = i > 0 ? &sort->beside[i - 1] : NULL;
		AggregatedOrder planned_one = planned_order(&planned, i);
		Oid			cast = list_nth_oid(planned.casts, i);
		List	   *aggregates = aggregates_of_order(scan, &planned, i);

		if (OidIsValid(cast))
			check_execution(cast, GetUserId(), OBJECT_FUNCTION);
		fractions = value_aggregates_begin(&order->aggregates,
										   &sort->css.ss.ps, aggregates,
										   fractions);
		order->beside = beside;
		if (beside == NULL)
		{
			init_first(state, &planned_one, cast);
			sort->wants_places = wants_places(state, order);
		}
		else
		{
			init_beside(state, beside, &planned_one, cast);
			limit_beside(state, beside, &planned_one, aggregates);
			beside->wants_places = wants_places(state, order);
		}
		init_values(state, order, &planned_one,
					beside == NULL ? sort->descriptor : beside->descriptor);
	}
}

/* Prepares the comparison of groups, and a place for the values of a group. */
static void
init_groups(GpuSortAggregateState *state, EState *estate, TupleDesc descriptor)
{
	CustomScanState *node = &state->sort.css;
	PlannedAggregate planned =
		read_aggregate((const CustomScan *) node->ss.ps.plan);
	int			ncolumns = state->ngroup_columns;
	AttrNumber *columns = palloc(ncolumns * sizeof(AttrNumber));
	Oid		   *operators = palloc(ncolumns * sizeof(Oid));
	Oid		   *collations = palloc(ncolumns * sizeof(Oid));

	for (int i = 0; i < ncolumns; i++)
	{
		columns[i] = i + 1;
		operators[i] = list_nth_oid(planned.values.group_equal, i);
		collations[i] = list_nth_oid(planned.values.group_collations, i);
	}
	state->groups_by_value = true;
	for (int i = 0; i < ncolumns; i++)
		state->groups_by_value &= TupleDescAttr(descriptor, i)->attbyval;
	state->same_group = execTuplesMatchPrepare(descriptor, ncolumns, columns,
											   operators, collations,
											   &node->ss.ps);
	state->group = ExecInitExtraTupleSlot(estate, descriptor,
										  &TTSOpsMinimalTuple);
}

static void
begin_aggregate(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortAggregateState *state = (GpuSortAggregateState *) node;

	parallel_sort_begin(node, estate, eflags);
	state->result_memory = AllocSetContextCreate(estate->es_query_cxt,
												 "gpusort aggregates",
												 ALLOCSET_SMALL_SIZES);
	init_orders(state);
	if (state->ngroup_columns > 0)
		init_groups(state, estate, state->sort.descriptor);
}

/*
 * Returns whether the present group and this row have the same datums as
 * columns of the group.  Then these are equal, as mostly in a large group, and
 * no operator has to be called.
 */
static inline bool
has_same_datums(const GpuSortAggregateState *state, TupleTableSlot *row)
{
	TupleTableSlot *group = state->group;

	if (!state->groups_by_value)
		return false;
	slot_getsomeattrs(group, state->ngroup_columns);
	slot_getsomeattrs(row, state->ngroup_columns);
	for (int i = 0; i < state->ngroup_columns; i++)
		if (group->tts_isnull[i] || row->tts_isnull[i] ||
			group->tts_values[i] != row->tts_values[i])
			return false;
	return true;
}

/* Returns whether this row is in the present group. */
static bool
is_same_group(GpuSortAggregateState *state, TupleTableSlot *row)
{
	ExprContext *context = state->sort.css.ss.ps.ps_ExprContext;

	if (has_same_datums(state, row))
		return true;
	context->ecxt_innertuple = row;
	context->ecxt_outertuple = state->group;
	return ExecQualAndReset(state->same_group, context);
}

/*
 * Takes an order's rows of the present group, which begin with the order's
 * present row.
 */
static void
take_group_of_order(GpuSortAggregateState *state, ValueOrder *order)
{
	value_order_begin(order);
	do
	{
		CHECK_FOR_INTERRUPTS();
		value_order_take(order, state->result_memory);
	} while (value_order_next(order) && is_same_group(state, order->row));
}

/*
 * Takes all rows of the next group, which begins with the present row of each
 * order.  Returns false if this process has no more rows.
 */
static bool
take_group(GpuSortAggregateState *state)
{
	if (TupIsNull(state->orders[0].row))
		return false;
	ExecCopySlot(state->group, state->orders[0].row);
	take_group_of_order(state, &state->orders[0]);
	for (int i = 1; i < state->norders; i++)
	{
		ValueOrder *order = &state->orders[i];

		if (TupIsNull(order->row) || !is_same_group(state, order->row))
			elog(ERROR, "sorts of the same rows have different groups");
		take_group_of_order(state, order);
	}
	return true;
}

/* Finds the wanted values of the present group. */
static void
complete_group(GpuSortAggregateState *state)
{
	for (int i = 0; i < state->norders; i++)
		value_order_complete(&state->orders[i]);
}

/*
 * Finds what the aggregates need in the values of all rows that this process
 * has.  Returns false if another process emits the result.
 */
static bool
take_all(GpuSortAggregateState *state)
{
	for (int i = 0; i < state->norders; i++)
		if (!value_order_take_all(&state->orders[i]))
			return false;
	return true;
}

/*
 * Stores the columns of the present group and the results in the node's slot.
 */
static void
store_results(GpuSortAggregateState *state)
{
	TupleTableSlot *slot = state->sort.css.ss.ss_ScanTupleSlot;
	int			column;

	ExecClearTuple(slot);
	for (column = 0; column < state->ngroup_columns; column++)
		slot->tts_values[column] = slot_getattr(state->group, column + 1,
												&slot->tts_isnull[column]);
	for (int i = 0; i < state->norders; i++)
	{
		const ValueOrder *order = &state->orders[i];

		value_aggregates_results(&order->aggregates, &order->counts,
								 slot->tts_values + column,
								 slot->tts_isnull + column);
		column += order->aggregates.count;
	}
	ExecStoreVirtualTuple(slot);
}

/* Sorts, unless that is done, and fetches the first row of each order. */
static void
get_ready(GpuSortAggregateState *state)
{
	if (state->sort.ready)
		return;
	shared_count(STAT_AGGREGATES, 1);
	/* the child and the sorts allocate in contexts of their own */
	parallel_sort_get_ready(&state->sort);
	if (state->ngroup_columns == 0)
		return;
	for (int i = 0; i < state->norders; i++)
		(void) value_order_next(&state->orders[i]);
}

/* Makes the next row to emit; false if this process emits no more. */
static bool
make_row(GpuSortAggregateState *state)
{
	bool		has_groups = state->ngroup_columns > 0;
	MemoryContext caller_context;
	bool		is_made = true;

	/* without groups there is one row */
	if (state->sort.ready && !has_groups)
		return false;
	get_ready(state);
	ExecClearTuple(state->sort.css.ss.ss_ScanTupleSlot);
	MemoryContextReset(state->result_memory);
	if (has_groups && !take_group(state))
		return false;

	caller_context = MemoryContextSwitchTo(state->result_memory);
	if (has_groups)
		complete_group(state);
	else
		is_made = take_all(state);
	if (is_made)
		store_results(state);
	MemoryContextSwitchTo(caller_context);
	return is_made;
}

static TupleTableSlot *
exec_aggregate(CustomScanState *node)
{
	GpuSortAggregateState *state = (GpuSortAggregateState *) node;
	PlanState  *plan = &node->ss.ps;
	ExprContext *context = plan->ps_ExprContext;

	while (make_row(state))
	{
		ResetExprContext(context);
		context->ecxt_scantuple = node->ss.ss_ScanTupleSlot;
		if (plan->qual == NULL || ExecQual(plan->qual, context))
			return plan->ps_ProjInfo == NULL ? node->ss.ss_ScanTupleSlot :
				ExecProject(plan->ps_ProjInfo);
	}
	parallel_sort_release(&state->sort);
	return ExecClearTuple(plan->ps_ResultTupleSlot);
}

/* Returns the columns of an order's rows, as expressions for EXPLAIN. */
static List *
columns_to_explain(CustomScan *scan, const PlannedAggregate *planned, int i)
{
	int			ngroup_columns = list_length(planned->values.group_equal);
	List	   *columns = NIL;

	for (int j = 0; j < ngroup_columns; j++)
		columns = lappend(columns, makeTargetEntry(child_column(scan, j), j + 1,
												   NULL, false));
	/* the sorted value is no column of the node */
	return lappend(columns, makeTargetEntry(value_of_order(scan, planned, i),
											ngroup_columns + 1, NULL, false));
}

static void
explain_columns(const char *name, const GpuSortAggregateState *state,
				List *target_list, const SortColumn *columns, int ncolumns,
				List *ancestors, ExplainState *es)
{
	ExplainPropertyList(name,
						explain_sort_describe_keys(state->sort.css.ss.ps.plan,
												   target_list, columns, ncolumns,
												   ancestors, es),
						es);
}

/* Shows the sort of a further order. */
static void
explain_beside(const GpuSortAggregateState *state, int i, List *target_list,
			   List *ancestors, ExplainState *es)
{
	const SortBeside *beside = &state->sort.beside[i - 1];

	ExplainOpenGroup("Sort", NULL, true, es);
	explain_columns("Sort Key", state, target_list, beside->columns,
					beside->ncolumns, ancestors, es);
	if (es->analyze && state->sort.report.sorted)
		explain_sort_report(&beside->report, es);
	ExplainCloseGroup("Sort", NULL, true, es);
}

static void
explain_aggregate(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const GpuSortAggregateState *state = (const GpuSortAggregateState *) node;
	const ParallelSort *sort = &state->sort;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	PlannedAggregate planned = read_aggregate(scan);
	List	   *columns = columns_to_explain(scan, &planned, 0);

	explain_columns("Sort Key", state, columns, sort->columns, sort->ncolumns,
					ancestors, es);
	if (state->ngroup_columns > 0)
		explain_columns("Group Key", state, columns, sort->columns,
						sort->ngroup_columns, ancestors, es);
	parallel_sort_explain(sort, es);
	if (state->norders == 1)
		return;
	ExplainOpenGroup("Further Sorts", "Further Sorts", false, es);
	for (int i = 1; i < state->norders; i++)
		if (sort->beside[i - 1].ncolumns > 0)
			explain_beside(state, i, columns_to_explain(scan, &planned, i),
						   ancestors, es);
	ExplainCloseGroup("Further Sorts", "Further Sorts", false, es);
}

const CustomScanMethods aggregate_scan_methods = {
	.CustomName = "GpuSortAggregate",
	.CreateCustomScanState = create_aggregate_state
};

static const CustomExecMethods aggregate_exec_methods = {
	.CustomName = "GpuSortAggregate",
	.BeginCustomScan = begin_aggregate,
	.ExecCustomScan = exec_aggregate,
	.EndCustomScan = parallel_sort_end,
	.ReScanCustomScan = parallel_sort_rescan,
	.EstimateDSMCustomScan = parallel_sort_estimate,
	.InitializeDSMCustomScan = parallel_sort_init_shared,
	.ReInitializeDSMCustomScan = parallel_sort_init_shared_again,
	.InitializeWorkerCustomScan = parallel_sort_init_worker,
	.ShutdownCustomScan = parallel_sort_shutdown,
	.ExplainCustomScan = explain_aggregate
};
