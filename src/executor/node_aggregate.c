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
 * Other aggregates of the same query are made by core's functions, if the order of the rows does not matter to them.  They
 * read the rows of the first order, which carry what they need.  Without groups
 * they read the child's rows as these come, in each process; the process that
 * emits the result combines their states (other_aggregates.c).
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
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "executor/aggregate_plan.h"
#include "executor/explain_sort.h"
#include "executor/gpusort_plan.h"
#include "executor/group_rows.h"
#include "executor/node_aggregate.h"
#include "executor/other_aggregates.h"
#include "executor/parallel_sort.h"
#include "executor/row_maker.h"
#include "executor/value_aggregates.h"
#include "executor/value_order.h"
#include "port/compat.h"
#include "port/execution_check.h"
#include "shared_state.h"

typedef struct GpuSortAggregateState
{
	ParallelSort sort;			/* must be first */
	ValueOrder *orders;			/* the first is that of the sort */
	int			norders;
	OtherAggregates *others;	/* aggregates that are in none of the orders,
								 * or NULL */
	RowMaker   *other_rows;		/* makes the rows that these read, without
								 * groups */
	MemoryContext result_memory;	/* memory of the values of the emitted row */

	/* with groups */
	int			ngroup_columns; /* 0: all rows are one group */
	GroupRows  *groups;			/* tells groups apart */
	TupleTableSlot *group;		/* first row of the present group */
} GpuSortAggregateState;

static const CustomExecMethods aggregate_exec_methods;

bool
is_gpusort_aggregate(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &aggregate_scan_methods;
}

static Node *
create_aggregate_state(CustomScan *scan)
{
	GpuSortAggregateState *state = palloc0(sizeof(GpuSortAggregateState));
	ParallelSort *sort = &state->sort;
	PlannedSort planned_sort = planned_sort_read(scan);
	PlannedAggregate planned = planned_aggregate_read(scan);

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

/* Returns the columns by which a further order sorts. */
static const SortColumn *
sort_columns_of_order(const GpuSortAggregateState *state,
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

/*
 * Returns a maker of the rows that an order sorts: of the groups, the value,
 * and the carried columns.
 */
static RowMaker *
make_maker(GpuSortAggregateState *state, AttrNumber value, const List *carried,
		   Oid cast, TupleDesc *descriptor)
{
	List	   *columns = NIL;

	for (int i = 1; i <= state->ngroup_columns; i++)
		columns = lappend_int(columns, i);
	columns = list_concat(lappend_int(columns, value), carried);
	return row_maker_create(&state->sort.css, columns, cast,
							state->ngroup_columns, descriptor);
}

/* Begins the sort of a further order. */
static void
init_beside(GpuSortAggregateState *state, SortBeside *beside,
			const AggregatedOrder *planned, Oid cast)
{
	AttrNumber	value = state->ngroup_columns + planned->column + 1;

	beside->left_out_null = state->ngroup_columns == 0 ? value : 0;
	beside->maker = make_maker(state, value, NIL, cast, &beside->descriptor);
	if (planned->clause == NULL)
		return;
	beside->columns = sort_columns_of_order(state, planned);
	beside->ncolumns = state->sort.ncolumns;
}

/*
 * Begins the sort of the first order, whose rows carry these columns of the
 * child.
 */
static void
init_first(GpuSortAggregateState *state, const AggregatedOrder *planned,
		   Oid cast, const List *carried)
{
	ParallelSort *sort = &state->sort;
	AttrNumber	value = state->ngroup_columns + planned->column + 1;

	if (state->ngroup_columns == 0)
		sort->left_out_null = value;
	/* without a cast the only value comes as it is sorted */
	if (sort->descriptor->natts > state->ngroup_columns + 1 ||
		OidIsValid(cast))
		sort->maker = make_maker(state, value, carried, cast,
								 &sort->descriptor);
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
		!aggregates_only_count(aggregates))
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
	PlannedAggregate planned = planned_aggregate_read(scan);
	List	   *fractions = list_copy_tail(scan->custom_exprs,
										   node_has_limit(&sort->limit) ? 1 : 0);

	state->orders = palloc0(state->norders * sizeof(ValueOrder));
	sort->nbeside = state->norders - 1;
	sort->beside = palloc0(sort->nbeside * sizeof(SortBeside));
	for (int i = 0; i < state->norders; i++)
	{
		ValueOrder *order = &state->orders[i];
		SortBeside *beside = i > 0 ? &sort->beside[i - 1] : NULL;
		AggregatedOrder planned_one = planned_aggregate_order(&planned, i);
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
			init_first(state, &planned_one, cast,
					   state->ngroup_columns > 0 ? planned.carried : NIL);
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
		planned_aggregate_read((const CustomScan *) node->ss.ps.plan);

	state->groups = group_rows_create(descriptor, state->ngroup_columns);
	for (int i = 0; i < state->ngroup_columns; i++)
		group_rows_set_column(state->groups, i, i + 1,
							  list_nth_oid(planned.values.group_equal, i),
							  list_nth_oid(planned.values.group_collations, i));
	state->group = ExecInitExtraTupleSlot(estate, descriptor,
										  &TTSOpsMinimalTuple);
}

/* The other aggregates take a row of the child; NULL: there are no more. */
static void
take_row_of_child(ParallelSort *sort, TupleTableSlot *row)
{
	GpuSortAggregateState *state = (GpuSortAggregateState *) sort;

	if (row == NULL)
		other_aggregates_share(state->others);
	else
		other_aggregates_add(state->others,
							 state->other_rows->make(state->other_rows, row));
}

/*
 * Begins the aggregates that are in none of the orders.  They read the rows of
 * the first order, group by group.  Without groups they read rows of their
 * own, as the child's rows come.
 */
static void
init_others(GpuSortAggregateState *state, EState *estate, int eflags)
{
	CustomScanState *node = &state->sort.css;
	const CustomScan *scan = (const CustomScan *) node->ss.ps.plan;
	PlannedAggregate planned = planned_aggregate_read(scan);
	const TupleTableSlotOps *kind = &TTSOpsMinimalTuple;
	TupleDesc	descriptor;

	if (planned.others == NULL)
		return;
	if (state->ngroup_columns == 0)
	{
		kind = &TTSOpsVirtual;
		state->other_rows = row_maker_create(node, planned.carried, InvalidOid,
											 -1, &descriptor);
		state->sort.take_row = take_row_of_child;
	}
	state->others =
		other_aggregates_begin(planned.others,
							   columns_of_others(scan, &planned), kind,
							   state->ngroup_columns == 0 &&
							   scan->scan.plan.parallel_aware,
							   estate, eflags);
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
	init_others(state, estate, eflags);
}

/* Returns whether this row is in the present group. */
static bool
is_same_group(GpuSortAggregateState *state, TupleTableSlot *row)
{
	int			ncolumns = state->ngroup_columns;

	return group_rows_difference(state->groups, ncolumns, state->group,
								 row) == ncolumns;
}

/*
 * Takes an order's rows of the present group, which begin with the order's
 * present row.  The rows go to these aggregates, too, unless that is NULL.
 */
static void
take_group_of_order(GpuSortAggregateState *state, ValueOrder *order,
					OtherAggregates *others)
{
	value_order_begin(order);
	do
	{
		CHECK_FOR_INTERRUPTS();
		value_order_take(order, state->result_memory);
		if (others != NULL)
			other_aggregates_add(others, order->row);
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
	group_rows_keep(state->groups, state->group, state->orders[0].row, false);
	if (state->others != NULL)
		other_aggregates_begin_group(state->others);
	take_group_of_order(state, &state->orders[0], state->others);
	for (int i = 1; i < state->norders; i++)
	{
		ValueOrder *order = &state->orders[i];

		if (TupIsNull(order->row) || !is_same_group(state, order->row))
			elog(ERROR, "sorts of the same rows have different groups");
		take_group_of_order(state, order, NULL);
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

/* Sets the results of the other aggregates of the present group. */
static void
set_other_results(GpuSortAggregateState *state, Datum *values, bool *isnull)
{
	const TupleTableSlot *results =
		other_aggregates_results(state->others,
								 state->ngroup_columns > 0 ? state->group : NULL);
	int			count = results->tts_tupleDescriptor->natts;

	memcpy(values, results->tts_values, count * sizeof(Datum));
	memcpy(isnull, results->tts_isnull, count * sizeof(bool));
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
	if (state->others != NULL)
		set_other_results(state, slot->tts_values + column,
						  slot->tts_isnull + column);
	ExecStoreVirtualTuple(slot);
}

/* Sorts, unless that is done, and fetches the first row of each order. */
static void
get_ready(GpuSortAggregateState *state)
{
	if (state->sort.ready)
		return;
	shared_count(STAT_AGGREGATES, 1);
	if (state->others != NULL)
		other_aggregates_begin_group(state->others);
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

static void
end_aggregate(CustomScanState *node)
{
	GpuSortAggregateState *state = (GpuSortAggregateState *) node;

	if (state->others != NULL)
		other_aggregates_end(state->others);
	parallel_sort_end(node);
}

/*
 * The state that the processes share.  The states of the other aggregates lie
 * behind it, and what is shared of the sort behind these.
 */
typedef struct SharedAggregate
{
	Size		sort_place;		/* bytes before what is shared of the sort */
} SharedAggregate;

static SharedStates *
shared_states(SharedAggregate *shared)
{
	return (SharedStates *) ((char *) shared + MAXALIGN(sizeof(SharedAggregate)));
}

static void *
shared_sort(SharedAggregate *shared)
{
	return (char *) shared + shared->sort_place;
}

/* Returns the bytes before what is shared of the sort. */
static Size
shared_bytes(const ParallelContext *context)
{
	return MAXALIGN(sizeof(SharedAggregate)) +
		MAXALIGN(shared_states_size(context->nworkers + 1));
}

static Size
estimate_shared(CustomScanState *node, ParallelContext *context)
{
	return add_size(shared_bytes(context),
					parallel_sort_estimate(node, context));
}

/* Lets the other aggregates share their states, if there are any. */
static void
share_states(CustomScanState *node, SharedAggregate *shared)
{
	GpuSortAggregateState *state = (GpuSortAggregateState *) node;

	if (state->others != NULL)
		state->others->shared = shared_states(shared);
}

static void
init_shared(CustomScanState *node, ParallelContext *context, void *place)
{
	SharedAggregate *shared = place;

	shared->sort_place = shared_bytes(context);
	shared_states_init(shared_states(shared));
	parallel_sort_init_shared(node, context, shared_sort(shared));
	/* without shared memory there will be no workers */
	if (context->seg != NULL)
		share_states(node, shared);
}

static void
init_shared_again(CustomScanState *node, ParallelContext *context, void *place)
{
	SharedAggregate *shared = place;

	shared_states_reset(shared_states(shared),
						node->ss.ps.state->es_query_dsa);
	parallel_sort_init_shared_again(node, context, shared_sort(shared));
	if (context->seg != NULL)
		share_states(node, shared);
}

static void
init_worker(CustomScanState *node, shm_toc *contents, void *place)
{
	share_states(node, place);
	parallel_sort_init_worker(node, contents, shared_sort(place));
}

static void
shutdown_aggregate(CustomScanState *node)
{
	GpuSortAggregateState *state = (GpuSortAggregateState *) node;

	if (state->others != NULL)
		state->others->shared = NULL;
	parallel_sort_shutdown(node);
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
	PlannedAggregate planned = planned_aggregate_read(scan);
	List	   *columns = columns_of_order(scan, &planned, 0);

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
			explain_beside(state, i, columns_of_order(scan, &planned, i),
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
	.EndCustomScan = end_aggregate,
	.ReScanCustomScan = parallel_sort_rescan,
	.EstimateDSMCustomScan = estimate_shared,
	.InitializeDSMCustomScan = init_shared,
	.ReInitializeDSMCustomScan = init_shared_again,
	.InitializeWorkerCustomScan = init_worker,
	.ShutdownCustomScan = shutdown_aggregate,
	.ExplainCustomScan = explain_aggregate
};
