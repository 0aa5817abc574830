/*-------------------------------------------------------------------------
 *
 * node_aggregate.c
 *	  The GpuSortAggregate plan node: aggregates of sorted values.
 *
 * Percentiles and the number of different values, of all rows of a query, are
 * known when the values are sorted.  In core's Agg each of them passes a sort, and
 * comes out again.  This node sorts the values by their keys, and looks at those
 * that make a percentile, and at no others; different ones are counted, where
 * their keys do not tell that, where they lie.  It stands in the place of the Agg,
 * and its child emits nothing but the values.  NULLs are none.
 *
 * In a partial plan, that is below a Gather, all processes sort their rows together
 * (parallel_sort.c).  Different values are counted by all of them, in slices of the
 * order.  A single one emits the result, a row: who has counted the last slice, or
 * who has the order, if nothing has to be counted.
 *
 * Nothing of this is seen outside: the expressions of the node are the query's
 * aggregates themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "executor/node_aggregate.h"
#include "executor/node_gpusort.h"
#include "executor/parallel_sort.h"
#include "executor/percentile.h"
#include "executor/value_cast.h"
#include "port/compat.h"

/* An aggregate of the node. */
typedef struct ValueAggregate
{
	ValueAggregateKind kind;
	const Aggref *aggregate;

	/* of percentiles */
	PercentileKind percentile_kind;
	ExprState  *fraction;		/* or an array of them */
	ArrayType  *fractions;		/* that array, NULL if it is NULL */
	Percentile *percentiles;
	int			npercentiles;
} ValueAggregate;

typedef struct GpuSortAggregateState
{
	ParallelSort sort;			/* must be first */
	FmgrInfo	equal;			/* equality of values */
	Oid			cast;			/* cast of the child's values, or InvalidOid */
	int16		value_length;	/* length, as in pg_type */
	bool		value_by_value;
	ValueAggregate *aggregates;
	int			naggregates;
	bool		counts_distinct;	/* different values are to be counted */
	MemoryContext result_memory;	/* has what the row is made of */
} GpuSortAggregateState;

static const CustomExecMethods aggregate_exec_methods;

ValueAggregateKind
value_aggregate_kind(const Aggref *aggregate)
{
	switch (aggregate->aggfnoid)
	{
		case F_COUNT_:
			return COUNT_ROWS;
		case F_COUNT_ANY:
			return aggregate->aggdistinct != NIL ? COUNT_DISTINCT_VALUES :
				COUNT_VALUES;
		case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
			return PERCENTILE;
		case F_PERCENTILE_DISC__FLOAT8_ANYELEMENT:
		case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
			return PERCENTILE_ARRAY;
		default:
			return NO_VALUE_AGGREGATE;
	}
}

Oid
value_aggregate_transition(const Aggref *aggregate)
{
	switch (value_aggregate_kind(aggregate))
	{
		case COUNT_ROWS:
			return F_INT8INC;
		case COUNT_VALUES:
		case COUNT_DISTINCT_VALUES:
			return F_INT8INC_ANY;
		default:
			return F_ORDERED_SET_TRANSITION;
	}
}

Oid
value_aggregate_final(const Aggref *aggregate)
{
	switch (aggregate->aggfnoid)
	{
		case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
			return F_PERCENTILE_DISC_FINAL;
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
			return F_PERCENTILE_CONT_FLOAT8_FINAL;
		case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
			return F_PERCENTILE_CONT_INTERVAL_FINAL;
		case F_PERCENTILE_DISC__FLOAT8_ANYELEMENT:
			return F_PERCENTILE_DISC_MULTI_FINAL;
		case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
			return F_PERCENTILE_CONT_FLOAT8_MULTI_FINAL;
		case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
			return F_PERCENTILE_CONT_INTERVAL_MULTI_FINAL;
		default:
			return InvalidOid;
	}
}

/* How the values of one that is a percentile make it. */
static PercentileKind
percentile_kind(const Aggref *aggregate)
{
	switch (aggregate->aggfnoid)
	{
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
			return PERCENTILE_OF_NUMBERS;
		case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
		case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
			return PERCENTILE_OF_INTERVALS;
		default:
			return PERCENTILE_DISCRETE;
	}
}

bool
is_gpusort_aggregate(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &aggregate_scan_methods;
}

/* Is the number of different values all that is wanted of them? */
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

CustomScan *
aggregate_make_plan(const Sort *sort, List *target_list, List *having,
					List *aggregates, Oid equal)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *fractions = NIL;
	ListCell   *cell;

	Assert(sort->numCols == 1 && sort->sortColIdx[0] == 1);
	scan->methods = &aggregate_scan_methods;
	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = having;
	scan->scan.plan.lefttree = sort->plan.lefttree;
	scan->custom_private = lappend(gpusort_scan_private(sort),
								   list_make2_oid(equal,
												  value_cast_take(sort->plan.lefttree)));
	foreach(cell, aggregates)
	{
		/* aggregate_refers_to_child() changes it */
		Aggref	   *aggregate = copyObject(lfirst(cell));
		AttrNumber	number = list_length(scan->custom_scan_tlist) + 1;

		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
										  makeTargetEntry((Expr *) aggregate,
														  number, NULL, false));
		fractions = list_concat(fractions, aggregate->aggdirectargs);
	}
	if (only_counts(aggregates))
	{
		PlannedGroupLimit one_of_each = {
			.unit = LIMITS_ROWS,
			.ngroup_columns = 1,
			.equal = list_make1_oid(equal),
			.count = (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
										Int64GetDatum(1), false,
										FLOAT8PASSBYVAL)
		};

		gpusort_limit_groups(scan, &one_of_each);
	}
	scan->custom_exprs = list_concat(scan->custom_exprs, fractions);
	return scan;
}

/* The function that casts values of the child before they are sorted, or InvalidOid. */
static Oid
planned_cast(const CustomScan *scan)
{
	return lsecond_oid(llast(scan->custom_private));
}

/* What is sorted, as an expression of the child's column. */
static Expr *
sorted_value(const CustomScan *scan)
{
	TargetEntry *column = linitial(scan->scan.plan.lefttree->targetlist);

	return value_cast_of(planned_cast(scan),
						 (Expr *) makeVarFromTargetEntry(OUTER_VAR, column));
}

void
aggregate_refers_to_child(CustomScan *scan)
{
	Expr	   *value = sorted_value(scan);
	ListCell   *cell;

	foreach(cell, scan->custom_scan_tlist)
	{
		Aggref	   *aggregate = castNode(Aggref, lfirst_node(TargetEntry, cell)->expr);

		if (aggregate->args != NIL)
			linitial_node(TargetEntry, aggregate->args)->expr = value;
	}
}

static Node *
create_aggregate_state(CustomScan *scan)
{
	GpuSortAggregateState *state = palloc0(sizeof(GpuSortAggregateState));
	ParallelSort *sort = &state->sort;
	ListCell   *cell;

	NodeSetTag(state, T_CustomScanState);
	sort->css.methods = &aggregate_exec_methods;
	sort->columns = gpusort_make_columns(scan, &sort->ncolumns);
	sort->ngroup_columns = 1;
	sort->leaves_out_nulls = true;
	node_limit_set(&sort->limit, gpusort_planned_limit(scan));
	sort->emission = node_has_limit(&sort->limit) ? EMIT_SLICES_TO_COUNT :
		EMIT_ALONE;
	fmgr_info(get_opcode(linitial_oid(llast(scan->custom_private))),
			  &state->equal);
	state->cast = planned_cast(scan);

	state->aggregates = palloc0(list_length(scan->custom_scan_tlist) *
								sizeof(ValueAggregate));
	foreach(cell, scan->custom_scan_tlist)
	{
		const TargetEntry *entry = lfirst(cell);
		ValueAggregate *one = &state->aggregates[state->naggregates++];

		one->aggregate = castNode(Aggref, entry->expr);
		one->kind = value_aggregate_kind(one->aggregate);
		one->percentile_kind = percentile_kind(one->aggregate);
		state->counts_distinct |= one->kind == COUNT_DISTINCT_VALUES;
	}
	return (Node *) state;
}

/* An error if this role may not execute a function, InvalidOid being none. */
static void
check_execution(Oid function, Oid role, ObjectType type)
{
	AclResult	result;

	if (!OidIsValid(function))
		return;
	result = function_aclcheck(function, role);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, type, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

/*
 * An error where core's Agg raises one: if the user may not call an aggregate, or
 * its owner not the functions that it is made of.
 */
static void
check_permission(const Aggref *aggregate)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID,
										ObjectIdGetDatum(aggregate->aggfnoid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u",
			 aggregate->aggfnoid);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	check_execution(aggregate->aggfnoid, GetUserId(), OBJECT_AGGREGATE);
	check_execution(value_aggregate_transition(aggregate), owner,
					OBJECT_FUNCTION);
	check_execution(value_aggregate_final(aggregate), owner, OBJECT_FUNCTION);
}

/* Prepares the fractions of percentiles, which are the last expressions. */
static void
init_fractions(GpuSortAggregateState *state)
{
	List	   *expressions = ((CustomScan *) state->sort.css.ss.ps.plan)->custom_exprs;
	int			next = node_has_limit(&state->sort.limit) ? 1 : 0;

	for (int i = 0; i < state->naggregates; i++)
	{
		ValueAggregate *one = &state->aggregates[i];

		check_permission(one->aggregate);
		if (one->kind == PERCENTILE || one->kind == PERCENTILE_ARRAY)
			one->fraction = ExecInitExpr(list_nth(expressions, next++),
										 &state->sort.css.ss.ps);
	}
}

static void
begin_aggregate(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortAggregateState *state = (GpuSortAggregateState *) node;
	TupleDesc	descriptor;

	parallel_sort_begin(node, estate, eflags);
	if (OidIsValid(state->cast))
	{
		check_execution(state->cast, GetUserId(), OBJECT_FUNCTION);
		value_cast_begin(&state->sort, estate);
	}
	descriptor = state->sort.descriptor;
	state->value_length = TupleDescAttr(descriptor, 0)->attlen;
	state->value_by_value = TupleDescAttr(descriptor, 0)->attbyval;
	state->sort.row = ExecInitExtraTupleSlot(estate, descriptor,
											 &TTSOpsMinimalTuple);
	state->result_memory = AllocSetContextCreate(estate->es_query_cxt,
												 "gpusort aggregates",
												 ALLOCSET_SMALL_SIZES);
	init_fractions(state);
}

/* The value of the present row. */
static inline Datum
current_value(const GpuSortAggregateState *state)
{
	bool		isnull;

	return slot_getattr(state->sort.row, 1, &isnull);
}

static Datum
copy_value(const GpuSortAggregateState *state, Datum value)
{
	return datumCopy(value, state->value_by_value, state->value_length);
}

/* Evaluates the fractions of an aggregate, and finds of which values it is made. */
static void
find_percentiles(GpuSortAggregateState *state, ValueAggregate *one,
				 uint64 nvalues)
{
	bool		isnull;
	Datum		fraction = ExecEvalExpr(one->fraction,
										state->sort.css.ss.ps.ps_ExprContext,
										&isnull);

	one->fractions = NULL;
	if (one->kind == PERCENTILE)
	{
		one->npercentiles = 1;
		one->percentiles = palloc0(sizeof(Percentile));
		one->percentiles->isnull = isnull;
		if (!isnull)
			one->percentiles->fraction = DatumGetFloat8(fraction);
	}
	else if (isnull || nvalues == 0)
		one->npercentiles = 0;
	else
	{
		one->fractions = DatumGetArrayTypeP(fraction);
		one->percentiles = percentiles_of_array(one->fractions,
												&one->npercentiles);
	}
	for (int i = 0; i < one->npercentiles; i++)
		percentile_find(&one->percentiles[i], one->percentile_kind, nvalues);
}

static int
compare_positions(const ListCell *a, const ListCell *b)
{
	uint64		position_a = ((const WantedValue *) lfirst(a))->position;
	uint64		position_b = ((const WantedValue *) lfirst(b))->position;

	return position_a < position_b ? -1 : position_a > position_b;
}

/* The values that are wanted, by their positions. */
static List *
list_wanted(GpuSortAggregateState *state, uint64 nvalues)
{
	List	   *wanted = NIL;

	for (int i = 0; i < state->naggregates; i++)
	{
		ValueAggregate *one = &state->aggregates[i];

		if (one->fraction == NULL)
			continue;
		find_percentiles(state, one, nvalues);
		for (int j = 0; j < one->npercentiles; j++)
		{
			Percentile *percentile = &one->percentiles[j];

			if (percentile->isnull)
				continue;
			wanted = lappend(wanted, &percentile->first);
			if (percentile->second.position > percentile->first.position)
				wanted = lappend(wanted, &percentile->second);
		}
	}
	list_sort(wanted, compare_positions);
	return wanted;
}

/* Different values that follow one another are counted. */
typedef struct ValueCount
{
	uint64		ngroups;
	Datum		last;			/* a copy of the last one */
} ValueCount;

/* Counts a value of which none is less than those before it. */
static inline void
count_value(GpuSortAggregateState *state, ValueCount *count, Datum value)
{
	ExprContext *context = state->sort.css.ss.ps.ps_ExprContext;
	Oid			collation = state->sort.columns[0].collation;

	if (count->ngroups > 0)
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
	count->ngroups++;
}

/* Counts the different ones of the values that this process has still to emit. */
static uint64
count_values(GpuSortAggregateState *state)
{
	ValueCount	count = {0};

	while (parallel_sort_next(&state->sort))
	{
		CHECK_FOR_INTERRUPTS();
		count_value(state, &count, current_value(state));
	}
	return count.ngroups;
}

/* Fetches the wanted values, which are in this order, and counts if need be. */
static uint64
fetch_values(GpuSortAggregateState *state, List *wanted)
{
	ValueCount	count = {0};
	uint64		position = 0;
	ListCell   *cell = list_head(wanted);

	while (cell != NULL || state->counts_distinct)
	{
		Datum		value;
		Datum		copy = (Datum) 0;
		bool		is_copied = false;

		CHECK_FOR_INTERRUPTS();
		if (!state->counts_distinct)
		{
			uint64		next = ((WantedValue *) lfirst(cell))->position;

			row_sort_skip(state->sort.sort, next - position);
			position = next;
		}
		if (!parallel_sort_next(&state->sort))
			break;
		value = current_value(state);
		if (state->counts_distinct)
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
	return count.ngroups;
}

/*
 * Finds what the aggregates need in the values that this process has; sets the
 * number of different ones of all.  False if another process emits the row.
 */
static bool
take_values(GpuSortAggregateState *state, uint64 *ngroups)
{
	ParallelSort *sort = &state->sort;

	if (sort->slices != NULL)
	{
		*ngroups = count_values(state);
		return parallel_sort_is_last(sort, ngroups);
	}
	if (sort->sort == NULL)
		return false;
	if (node_has_limit(&sort->limit))
	{
		if (!row_sort_count_groups(sort->sort, ngroups))
			*ngroups = count_values(state);
	}
	else
		*ngroups = fetch_values(state,
								list_wanted(state,
											parallel_sort_rows(sort) -
											parallel_sort_nulls(sort)));
	return true;
}

/* The result of an aggregate. */
static Datum
result_of(const GpuSortAggregateState *state, const ValueAggregate *one,
		  uint64 ngroups, bool *isnull)
{
	const ParallelSort *sort = &state->sort;

	*isnull = false;
	switch (one->kind)
	{
		case COUNT_ROWS:
			return Int64GetDatum(parallel_sort_rows(sort));
		case COUNT_VALUES:
			return Int64GetDatum(parallel_sort_rows(sort) -
								 parallel_sort_nulls(sort));
		case COUNT_DISTINCT_VALUES:
			return Int64GetDatum(ngroups);
		case PERCENTILE:
			*isnull = one->percentiles->isnull;
			return *isnull ? (Datum) 0 :
				percentile_value(one->percentiles, one->percentile_kind);
		default:
			*isnull = one->fractions == NULL;
			return *isnull ? (Datum) 0 :
				PointerGetDatum(percentiles_to_array(one->percentiles,
													 one->npercentiles,
													 one->percentile_kind,
													 one->fractions,
													 get_element_type(one->aggregate->aggtype)));
	}
}

/* Makes the row of the results; false if this process emits none. */
static bool
make_row(GpuSortAggregateState *state)
{
	TupleTableSlot *slot = state->sort.css.ss.ss_ScanTupleSlot;
	MemoryContext caller_context;
	uint64		ngroups = 0;
	bool		is_made;

	/* what the child allocates is its own */
	parallel_sort_get_ready(&state->sort);
	MemoryContextReset(state->result_memory);
	caller_context = MemoryContextSwitchTo(state->result_memory);
	is_made = take_values(state, &ngroups);
	ExecClearTuple(slot);
	if (is_made)
	{
		for (int i = 0; i < state->naggregates; i++)
			slot->tts_values[i] = result_of(state, &state->aggregates[i],
											ngroups, &slot->tts_isnull[i]);
		ExecStoreVirtualTuple(slot);
	}
	MemoryContextSwitchTo(caller_context);
	return is_made;
}

static TupleTableSlot *
exec_aggregate(CustomScanState *node)
{
	GpuSortAggregateState *state = (GpuSortAggregateState *) node;
	PlanState  *plan = &node->ss.ps;
	ExprContext *context = plan->ps_ExprContext;

	/* there is one row */
	if (state->sort.ready)
		return ExecClearTuple(plan->ps_ResultTupleSlot);
	if (!make_row(state))
		return NULL;
	ResetExprContext(context);
	context->ecxt_scantuple = node->ss.ss_ScanTupleSlot;
	if (plan->qual != NULL && !ExecQual(plan->qual, context))
		return NULL;
	return plan->ps_ProjInfo == NULL ? node->ss.ss_ScanTupleSlot :
		ExecProject(plan->ps_ProjInfo);
}

static void
explain_aggregate(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const ParallelSort *sort = (const ParallelSort *) node;
	CustomScan	scan = *(CustomScan *) node->ss.ps.plan;

	/* the value is no column of the node */
	scan.scan.plan.targetlist =
		list_make1(makeTargetEntry(sorted_value(&scan), 1, NULL, false));
	ExplainPropertyList("Sort Key",
						gpusort_describe_keys(&scan.scan.plan, sort->columns,
											  sort->ncolumns, ancestors, es),
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
