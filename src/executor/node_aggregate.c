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
#include "executor/value_buffer.h"
#include "executor/value_cast.h"
#include "port/compat.h"
#include "port/execution_check.h"
#include "shared_state.h"

typedef struct GpuSortAggregateState
{
	ParallelSort sort;			/* must be first */
	AttrNumber	value_column;	/* column of values, behind the columns of
								 * groups */
	FmgrInfo	equal;			/* equality of values */
	Oid			cast;			/* cast of the child's values, or InvalidOid */
	int16		value_length;	/* length, as in pg_type */
	bool		value_by_value;
	ValueAggregates aggregates;
	MemoryContext result_memory;	/* memory of the values of the emitted row */

	/* with groups */
	int			ngroup_columns; /* 0: all rows are one group */
	bool		groups_by_value;	/* all columns of groups are by value */
	ExprState  *same_group;		/* compares the groups of two rows */
	TupleTableSlot *group;		/* first row of the present group */
	ValueBuffer *values;		/* values of the present group; NULL if values
								 * are only counted */
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

/* What a plan of this node says beside its sort. */
typedef struct PlannedAggregate
{
	AggregatedValues values;	/* its aggregates until the plan is finished */
	Oid			cast;			/* function that casts values of the child
								 * before they are sorted, or InvalidOid */
} PlannedAggregate;

static List *
write_aggregate(const PlannedAggregate *planned)
{
	const AggregatedValues *values = &planned->values;

	return list_make4(list_make2_oid(values->equal, planned->cast),
					  values->group_equal, values->group_collations,
					  values->aggregates);
}

static PlannedAggregate
read_aggregate(const CustomScan *scan)
{
	const List *written = lsecond(scan->custom_private);

	return (PlannedAggregate)
	{
		.values.equal = linitial_oid(linitial(written)),
			.values.group_equal = lsecond(written),
			.values.group_collations = lthird(written),
			.values.aggregates = lfourth(written),
			.cast = lsecond_oid(linitial(written))
	};
}

CustomScan *
aggregate_make_plan(const Sort *sort, List *target_list, List *having,
					const AggregatedValues *values)
{
	CustomScan *scan = makeNode(CustomScan);
	int			ngroup_columns = list_length(values->group_equal);
	PlannedAggregate planned = {
		.values = *values,
		.cast = value_cast_take(sort->plan.lefttree)
	};
	PlannedSort planned_sort;
	ListCell   *cell;

	/*
	 * core takes a column of the groups for the value if only the labels
	 * differ
	 */
	planned_sort = planned_sort_of(sort);
	planned_sort.columns[sort->numCols - 1].attno = ngroup_columns + 1;
	scan->methods = &aggregate_scan_methods;
	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = having;
	scan->scan.plan.lefttree = sort->plan.lefttree;
	/* here the planner finds the values of the aggregates */
	scan->custom_scan_tlist = copyObject(sort->plan.lefttree->targetlist);
	planned.values.aggregates = copyObject(values->aggregates);
	scan->custom_private = list_make2(planned_sort_write(&planned_sort),
									  write_aggregate(&planned));
	if (values->group_equal == NIL && only_counts(values->aggregates))
		gpusort_limit_to_one(scan, list_make1_oid(values->equal));
	foreach(cell, values->aggregates)
		scan->custom_exprs =
		list_concat(scan->custom_exprs,
					copyObject(lfirst_node(Aggref, cell)->aggdirectargs));
	return scan;
}

/*
 * Returns column i of the sorted rows, as an expression of the child's
 * columns.
 */
static Expr *
sorted_column(const CustomScan *scan, Oid cast, int i)
{
	List	   *columns = scan->scan.plan.lefttree->targetlist;
	Expr	   *column = (Expr *) makeVarFromTargetEntry(OUTER_VAR,
														 list_nth(columns, i));

	return i < list_length(columns) - 1 ? column :
		value_cast_of(cast, column);
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

void
aggregate_refers_to_child(CustomScan *scan)
{
	PlannedAggregate planned = read_aggregate(scan);
	int			ngroup_columns = list_length(planned.values.group_equal);
	int			most = 0;
	TargetEntry **columns;
	ListCell   *cell;

	scan->custom_scan_tlist = list_truncate(scan->custom_scan_tlist,
											ngroup_columns);
	foreach(cell, scan->custom_scan_tlist)
		lfirst_node(TargetEntry, cell)->expr =
		sorted_column(scan, planned.cast, foreach_current_index(cell));

	foreach(cell, planned.values.aggregates)
		most = Max(most, lfirst_node(Aggref, cell)->aggno);
	columns = palloc0((most + 1) * sizeof(TargetEntry *));
	foreach(cell, planned.values.aggregates)
	{
		Aggref	   *aggregate = lfirst(cell);
		AttrNumber	number = list_length(scan->custom_scan_tlist) + 1;

		if (aggregate->args != NIL)
			linitial_node(TargetEntry, aggregate->args)->expr =
				sorted_column(scan, planned.cast, ngroup_columns);
		columns[aggregate->aggno] = makeTargetEntry((Expr *) aggregate,
													number, NULL, false);
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
										  columns[aggregate->aggno]);
	}
	planned.values.aggregates = NIL;
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
	state->value_column = state->ngroup_columns + 1;
	node_limit_set(&sort->limit, &planned_sort.limit);
	if (state->ngroup_columns > 0)
	{
		sort->ngroup_columns = sort->ncolumns - 1;
		sort->emission = EMIT_PARTS;
	}
	else
	{
		sort->ngroup_columns = 1;
		sort->leaves_out_nulls = true;
		sort->emission = node_has_limit(&sort->limit) ? EMIT_PARTS_TO_COUNT :
			EMIT_ALONE;
	}
	fmgr_info(get_opcode(planned.values.equal), &state->equal);
	state->cast = planned.cast;
	return (Node *) state;
}

/*
 * Begins the aggregates.  Their fractions are all expressions of the plan, but
 * for the count of a limit, which is the first.
 */
static void
init_aggregates(GpuSortAggregateState *state)
{
	PlanState  *node = &state->sort.css.ss.ps;
	const CustomScan *scan = (const CustomScan *) node->plan;
	List	   *aggregates = NIL;
	ListCell   *cell;

	for_each_from(cell, scan->custom_scan_tlist, state->ngroup_columns)
		aggregates = lappend(aggregates, lfirst_node(TargetEntry, cell)->expr);
	value_aggregates_begin(&state->aggregates, node, aggregates,
						   list_copy_tail(scan->custom_exprs,
										  node_has_limit(&state->sort.limit) ? 1 : 0));
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
	if (state->aggregates.looks_up)
		state->values = value_buffer_create(estate, descriptor,
											state->value_column);
}

static void
begin_aggregate(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortAggregateState *state = (GpuSortAggregateState *) node;
	TupleDesc	descriptor;
	Form_pg_attribute value;

	parallel_sort_begin(node, estate, eflags);
	if (OidIsValid(state->cast))
	{
		check_execution(state->cast, GetUserId(), OBJECT_FUNCTION);
		value_cast_begin(&state->sort, estate);
	}
	descriptor = state->sort.descriptor;
	value = TupleDescAttr(descriptor, state->value_column - 1);
	state->value_length = value->attlen;
	state->value_by_value = value->attbyval;
	state->sort.row = ExecInitExtraTupleSlot(estate, descriptor,
											 &TTSOpsMinimalTuple);
	state->result_memory = AllocSetContextCreate(estate->es_query_cxt,
												 "gpusort aggregates",
												 ALLOCSET_SMALL_SIZES);
	init_aggregates(state);
	if (state->ngroup_columns > 0)
		init_groups(state, estate, descriptor);
}

/* Returns the value of the present row. */
static inline Datum
current_value(const GpuSortAggregateState *state, bool *isnull)
{
	return slot_getattr(state->sort.row, state->value_column, isnull);
}

static Datum
copy_value(const GpuSortAggregateState *state, Datum value)
{
	return datumCopy(value, state->value_by_value, state->value_length);
}

/* A count of different values that ascend. */
typedef struct ValueCount
{
	uint64		ndistinct;
	Datum		last;			/* a copy of the last value */
} ValueCount;

/* Counts a value that is not less than the values before it. */
static inline void
count_value(GpuSortAggregateState *state, ValueCount *count, Datum value)
{
	ExprContext *context = state->sort.css.ss.ps.ps_ExprContext;
	Oid			collation = state->sort.columns[state->sort.ncolumns - 1].collation;

	if (count->ndistinct > 0)
	{
		MemoryContext caller_context =
			MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
		bool		is_equal = DatumGetBool(FunctionCall2Coll(&state->equal, collation,
															  count->last, value));

		MemoryContextSwitchTo(caller_context);
		ResetExprContext(context);
		if (is_equal)
			return;
		if (!state->value_by_value)
			pfree(DatumGetPointer(count->last));
	}
	count->last = copy_value(state, value);
	count->ndistinct++;
}

/*
 * Counts the different values among those that this process has still to emit.
 */
static uint64
count_values(GpuSortAggregateState *state)
{
	ValueCount	count = {0};
	bool		isnull;

	while (parallel_sort_next(&state->sort))
	{
		CHECK_FOR_INTERRUPTS();
		count_value(state, &count, current_value(state, &isnull));
	}
	return count.ndistinct;
}

/*
 * Fetches the wanted values, which are listed in ascending positions, and
 * counts different values if need be.
 */
static uint64
fetch_values(GpuSortAggregateState *state, List *wanted)
{
	ValueCount	count = {0};
	uint64		position = 0;
	ListCell   *cell = list_head(wanted);

	while (cell != NULL || state->aggregates.counts_distinct)
	{
		Datum		value;
		Datum		copy = (Datum) 0;
		bool		is_copied = false;
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		if (!state->aggregates.counts_distinct)
		{
			uint64		next = ((WantedValue *) lfirst(cell))->position;

			row_sort_skip(state->sort.sort, next - position);
			position = next;
		}
		if (!parallel_sort_next(&state->sort))
			break;
		value = current_value(state, &isnull);
		if (state->aggregates.counts_distinct)
			count_value(state, &count, value);
		for (; cell != NULL; cell = lnext(wanted, cell))
		{
			WantedValue *one = lfirst(cell);

			if (one->position != position)
				break;
			if (!is_copied)
				copy = copy_value(state, value);
			is_copied = true;
			one->value = copy;
		}
		position++;
	}
	if (cell != NULL)
		elog(ERROR, "fewer rows were sorted than put");
	return count.ndistinct;
}

/*
 * Finds what the aggregates need in the values of all rows that this process
 * has.  Returns false if another process emits the result.
 */
static bool
take_values(GpuSortAggregateState *state, ValueCounts *counts)
{
	ParallelSort *sort = &state->sort;

	counts->nrows = parallel_sort_rows(sort);
	counts->nvalues = counts->nrows - parallel_sort_nulls(sort);
	if (sort->parts != NULL)
	{
		counts->ndistinct = count_values(state);
		return parallel_sort_is_last(sort, &counts->ndistinct);
	}
	if (sort->sort == NULL)
		return false;
	if (!node_has_limit(&sort->limit))
		counts->ndistinct = fetch_values(state,
										 value_aggregates_wanted(&state->aggregates,
																 counts->nvalues));
	else if (!row_sort_count_groups(sort->sort, &counts->ndistinct))
		counts->ndistinct = count_values(state);
	return true;
}

/* Takes the value of the present row, which is in the present group. */
static void
take_group_value(GpuSortAggregateState *state, ValueCounts *counts,
				 ValueCount *distinct)
{
	bool		isnull;
	Datum		value = current_value(state, &isnull);

	counts->nrows++;
	if (isnull)
		return;
	counts->nvalues++;
	if (state->values != NULL)
		value_buffer_add(state->values, value);
	if (state->aggregates.counts_distinct)
	{
		MemoryContext caller_context =
			MemoryContextSwitchTo(state->result_memory);

		count_value(state, distinct, value);
		MemoryContextSwitchTo(caller_context);
	}
}

/*
 * Returns whether the present group and the present row have the same datums
 * as columns of the group.  Then these are equal, as mostly in a large group,
 * and no operator has to be called.
 */
static inline bool
has_same_datums(const GpuSortAggregateState *state)
{
	TupleTableSlot *group = state->group;
	TupleTableSlot *row = state->sort.row;

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

/* Returns whether the present row is in the present group. */
static bool
is_same_group(GpuSortAggregateState *state)
{
	ExprContext *context = state->sort.css.ss.ps.ps_ExprContext;

	if (has_same_datums(state))
		return true;
	context->ecxt_innertuple = state->sort.row;
	context->ecxt_outertuple = state->group;
	return ExecQualAndReset(state->same_group, context);
}

/*
 * Takes all rows of the next group, which begins with the present row.
 * Returns false if this process has no more rows.
 */
static bool
take_group(GpuSortAggregateState *state, ValueCounts *counts)
{
	ParallelSort *sort = &state->sort;
	ValueCount	distinct = {0};

	if (TupIsNull(sort->row))
		return false;
	ExecCopySlot(state->group, sort->row);
	do
	{
		CHECK_FOR_INTERRUPTS();
		take_group_value(state, counts, &distinct);
	} while (parallel_sort_next(sort) && is_same_group(state));
	counts->ndistinct = distinct.ndistinct;
	return true;
}

/* Finds the wanted values of a group. */
static void
find_group_values(GpuSortAggregateState *state, uint64 nvalues)
{
	ListCell   *cell;

	foreach(cell, value_aggregates_wanted(&state->aggregates, nvalues))
	{
		WantedValue *one = lfirst(cell);

		one->value = copy_value(state, value_buffer_get(state->values,
														one->position));
	}
	if (state->values != NULL)
		value_buffer_reset(state->values);
}

/*
 * Stores the columns of the present group and the results in the node's slot.
 */
static void
store_results(GpuSortAggregateState *state, const ValueCounts *counts)
{
	TupleTableSlot *slot = state->sort.css.ss.ss_ScanTupleSlot;
	int			ngroup_columns = state->ngroup_columns;

	ExecClearTuple(slot);
	for (int i = 0; i < ngroup_columns; i++)
		slot->tts_values[i] = slot_getattr(state->group, i + 1,
										   &slot->tts_isnull[i]);
	value_aggregates_results(&state->aggregates, counts,
							 slot->tts_values + ngroup_columns,
							 slot->tts_isnull + ngroup_columns);
	ExecStoreVirtualTuple(slot);
}

/* Makes the next row to emit; false if this process emits no more. */
static bool
make_row(GpuSortAggregateState *state)
{
	ParallelSort *sort = &state->sort;
	bool		is_first = !sort->ready;
	bool		has_groups = state->ngroup_columns > 0;
	MemoryContext caller_context;
	ValueCounts counts = {0};
	bool		is_made;

	/* without groups there is one row */
	if (!is_first && !has_groups)
		return false;
	if (is_first)
		shared_count(STAT_AGGREGATES, 1);
	/* the child and the sort allocate in contexts of their own */
	parallel_sort_get_ready(sort);
	if (is_first && has_groups)
		(void) parallel_sort_next(sort);
	ExecClearTuple(sort->css.ss.ss_ScanTupleSlot);
	MemoryContextReset(state->result_memory);
	if (has_groups && !take_group(state, &counts))
		return false;

	caller_context = MemoryContextSwitchTo(state->result_memory);
	if (has_groups)
		find_group_values(state, counts.nvalues);
	is_made = has_groups || take_values(state, &counts);
	if (is_made)
		store_results(state, &counts);
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
	return ExecClearTuple(plan->ps_ResultTupleSlot);
}

static void
explain_aggregate(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const GpuSortAggregateState *state = (const GpuSortAggregateState *) node;
	const ParallelSort *sort = &state->sort;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	List	   *columns = NIL;

	/* the sorted value is no column of the node */
	for (int i = 0; i <= state->ngroup_columns; i++)
		columns = lappend(columns, makeTargetEntry(sorted_column(scan, state->cast, i),
												   i + 1, NULL, false));
	ExplainPropertyList("Sort Key",
						explain_sort_describe_keys(&scan->scan.plan, columns,
												   sort->columns, sort->ncolumns,
												   ancestors, es),
						es);
	if (state->ngroup_columns > 0)
		ExplainPropertyList("Group Key",
							explain_sort_describe_keys(&scan->scan.plan, columns,
													   sort->columns,
													   sort->ngroup_columns,
													   ancestors, es),
							es);
	parallel_sort_explain(sort, es);
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
