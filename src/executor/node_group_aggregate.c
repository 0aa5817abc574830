/*-------------------------------------------------------------------------
 *
 * node_group_aggregate.c
 *	  The GpuSortGroupAggregate plan node: a sort, and aggregates of its groups.
 *
 * The node stands for a sort and the GroupAggregate right above it.  It sorts
 * the child's rows, reads them in order, and emits a row for each group.  If
 * keys tell all, they tell where a group begins (row_order.h).  Otherwise each
 * row is compared with the first row of its group.  Core's own functions make
 * the results (core_aggregates.c), but for counts, sums and averages of columns
 * (group_totals.c).
 *
 * Of grouping sets, each is of the first columns of the set before it.  So one
 * order has the groups of all, and a group of a set consists of groups of the
 * set before.  Where a group of the first set ends, those of the next sets end
 * too, as far as their columns differ in the next row.  Totals of a group are
 * added to the group of the next set once, when the first one ends.
 *
 * In a partial plan, which is a plan below a Gather, all processes sort their
 * rows together (parallel_sort.c), and each process emits parts of the order
 * that consist of whole groups.
 *
 * A rescan reads the sorted rows again, unless the child's parameters have
 * changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "executor/core_aggregates.h"
#include "executor/explain_sort.h"
#include "executor/group_rows.h"
#include "executor/group_totals.h"
#include "executor/node_group_aggregate.h"
#include "executor/parallel_sort.h"
#include "executor/row_source.h"
#include "port/compat.h"
#include "settings.h"
#include "shared_state.h"
#include "sort/group_starts.h"

typedef struct GroupAggregateState
{
	ParallelSort sort;			/* must be first */
	PlannedGroupAggregate planned;
	AggState   *aggregates;
	int			nsets;			/* sets of columns by which rows are grouped */
	const int  *set_columns;	/* first sort columns that make a group of
								 * each set; the first set has the most */
	int			nwhole_sets;	/* sets with as many columns as the first */
	bool		has_totals;		/* all aggregates are totals */
	GroupTotals *totals;		/* of the present group of each set */
	GroupRows  *groups;			/* tells groups apart */
	TupleTableSlot *first;		/* first row of the present group of the first
								 * set */

	/* once there are sorted rows */
	bool		has_begun;
	RowOrder   *order;			/* their order in memory, or NULL */
	bool		rows_stay;		/* each row stays where it is */
	bool		tells_ties;		/* keys tell where groups begin */
	bool		has_next;		/* there is a next row, in the sort's slot */
	uint64		nfetched;		/* rows that have been fetched, with this one */
	int			nended;			/* first sets whose group has ended */
	int			nemitted;		/* first sets whose group has been emitted, of
								 * these */
} GroupAggregateState;

static const CustomExecMethods group_aggregate_exec_methods;

bool
is_gpusort_group_aggregate(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &group_aggregate_scan_methods;
}

List *
group_aggregate_write(const PlannedGroupAggregate *planned)
{
	return list_make3(planned_sort_write(&planned->sort),
					  list_make2_int(planned->nshared_columns,
									 planned->ngroup_columns),
					  planned->agg);
}

/* Reads what the plan says.  The Agg is a copy, which may be changed. */
static PlannedGroupAggregate
read_group_aggregate(const CustomScan *scan)
{
	const List *numbers = lsecond(scan->custom_private);

	return (PlannedGroupAggregate)
	{
		.sort = planned_sort_read(scan),
			.nshared_columns = linitial_int(numbers),
			.ngroup_columns = lsecond_int(numbers),
			.agg = copyObject(lthird_node(Agg, scan->custom_private))
	};
}

static Node *
create_group_aggregate_state(CustomScan *scan)
{
	GroupAggregateState *state = palloc0(sizeof(GroupAggregateState));
	ParallelSort *sort = &state->sort;

	NodeSetTag(state, T_CustomScanState);
	sort->css.methods = &group_aggregate_exec_methods;
	state->planned = read_group_aggregate(scan);
	sort->ncolumns = state->planned.sort.ncolumns;
	sort->columns = state->planned.sort.columns;
	sort->ngroup_columns = state->planned.nshared_columns;
	sort->marks_ties = state->planned.ngroup_columns == sort->ncolumns;
	node_limit_set(&sort->limit, &state->planned.sort.limit);
	sort->emission = EMIT_PARTS;
	return (Node *) state;
}

/* Notes the sets of columns by which rows are grouped. */
static void
init_sets(GroupAggregateState *state)
{
	const AggState *aggregates = state->aggregates;

	state->nsets = core_aggregates_sets(aggregates);
	state->set_columns = state->planned.agg->groupingSets != NIL ?
		aggregates->phase->gset_lengths : &state->planned.ngroup_columns;
	while (state->nwhole_sets < state->nsets &&
		   state->set_columns[state->nwhole_sets] == state->set_columns[0])
		state->nwhole_sets++;
}

/* Prepares the totals of each set, if all aggregates are totals. */
static void
init_totals(GroupAggregateState *state)
{
	state->totals = palloc0(state->nsets * sizeof(GroupTotals));
	state->has_totals = true;
	for (int i = 0; i < state->nsets && state->has_totals; i++)
		state->has_totals = group_totals_init(&state->totals[i],
											  state->aggregates, i);
}

/* Prepares to tell the groups apart. */
static void
init_groups(GroupAggregateState *state)
{
	const ParallelSort *sort = &state->sort;

	init_sets(state);
	init_totals(state);
	state->groups = group_rows_of_sort(sort->descriptor, sort->columns,
									   state->planned.ngroup_columns);
}

static void
begin_group_aggregate(CustomScanState *node, EState *estate, int eflags)
{
	GroupAggregateState *state = (GroupAggregateState *) node;
	ParallelSort *sort = &state->sort;

	parallel_sort_begin(node, estate, eflags);
	sort->random_access = (eflags & EXEC_FLAG_REWIND) != 0;
	sort->row = ExecInitExtraTupleSlot(estate, sort->descriptor,
									   &TTSOpsMinimalTuple);
	state->aggregates = core_aggregates_begin(state->planned.agg,
											  outerPlan(node->ss.ps.plan)->targetlist,
											  &TTSOpsMinimalTuple, estate,
											  eflags);
	state->first = state->aggregates->ss.ss_ScanTupleSlot;
	/* EXPLAIN and rescans find subplans of expressions here */
	node->ss.ps.subPlan = state->aggregates->ss.ps.subPlan;
	init_groups(state);
}

/* Fetches the next row, in the sort's slot. */
static inline void
fetch_next(GroupAggregateState *state)
{
	state->has_next = parallel_sort_next(&state->sort);
	state->nfetched++;
}

/*
 * The first of the first sort columns in which the next row differs from the
 * first row of the present group; their number if there is none.
 */
static inline int
first_difference(GroupAggregateState *state, int ncolumns)
{
	return group_rows_difference(state->groups, ncolumns, state->first,
								 state->sort.row);
}

/* Is there a next row in the present group of the first set? */
static inline bool
is_next_in_group(GroupAggregateState *state)
{
	int			ncolumns = state->planned.ngroup_columns;

	if (!state->has_next)
		return false;
	return state->tells_ties ?
		parallel_sort_is_tie(&state->sort, state->order, state->nfetched - 1) :
		first_difference(state, ncolumns) == ncolumns;
}

/*
 * The number of sets whose groups have ended, if that of the first set has.
 */
static inline int
count_ended(GroupAggregateState *state)
{
	int			nended = state->nwhole_sets;
	int			difference;

	if (nended == state->nsets || !state->has_next)
		return state->nsets;
	difference = first_difference(state, state->set_columns[nended]);
	while (nended < state->nsets && state->set_columns[nended] > difference)
		nended++;
	return nended;
}

/* Begins groups of the first sets, without rows. */
static void
begin_groups(GroupAggregateState *state, int nsets)
{
	for (int i = 0; i < nsets; i++)
	{
		core_aggregates_begin_group(state->aggregates, i);
		if (state->has_totals)
			group_totals_begin_group(&state->totals[i]);
	}
}

/*
 * Begins to read sorted rows, from the first one on.  Without rows only sets
 * without columns have a group.
 */
static void
begin_reading(GroupAggregateState *state)
{
	state->nfetched = 0;
	fetch_next(state);
	state->nended = state->nsets;
	state->nemitted = state->nsets;
	if (state->has_next)
		return;
	begin_groups(state, state->nsets);
	while (state->nemitted > 0 &&
		   state->set_columns[state->nemitted - 1] == 0)
		state->nemitted--;
}

/* Sorts, and begins to read the sorted rows. */
static void
begin_rows(GroupAggregateState *state)
{
	ParallelSort *sort = &state->sort;

	shared_count(STAT_AGGREGATES, 1);
	parallel_sort_get_ready(sort);
	state->order = sort->sort == NULL ? NULL : row_sort_order(sort->sort);
	state->rows_stay = parallel_sort_rows_stay(sort);
	state->tells_ties = parallel_sort_tells_ties(sort);
	begin_reading(state);
	state->has_begun = true;
}

/* Adds the rows of a group of the first set to its totals. */
static void
sum_up_group(GroupAggregateState *state)
{
	TupleTableSlot *row = state->first;

	do
	{
		CHECK_FOR_INTERRUPTS();
		group_totals_add(&state->totals[0], row);
		fetch_next(state);
		row = state->sort.row;
	} while (is_next_in_group(state));
}

/* Stores the totals of the groups that have ended, and adds each to the next. */
static void
end_totals(GroupAggregateState *state)
{
	for (int i = 0; i < state->nended; i++)
	{
		group_totals_store(&state->totals[i]);
		if (i + 1 < state->nsets)
			group_totals_add_part(&state->totals[i + 1], &state->totals[i]);
	}
}

/*
 * Adds the rows of a group of the first set to the states of all sets.  The first
 * row is added from where it is kept, so that its columns are taken out once.
 */
static void
aggregate_group(GroupAggregateState *state)
{
	TupleTableSlot *row = state->first;

	do
	{
		CHECK_FOR_INTERRUPTS();
		core_aggregates_add(state->aggregates, row);
		fetch_next(state);
		row = state->sort.row;
	} while (is_next_in_group(state));
}

/* Takes the rows of the next group of the first set; false if there is none. */
static bool
take_group(GroupAggregateState *state)
{
	if (!state->has_next)
		return false;
	group_rows_keep(state->groups, state->first, state->sort.row,
					state->rows_stay);
	begin_groups(state, state->nended);
	if (state->has_totals)
		sum_up_group(state);
	else
		aggregate_group(state);
	state->nended = count_ended(state);
	state->nemitted = 0;
	if (state->has_totals)
		end_totals(state);
	return true;
}

/* Forgets the present groups, which may refer to their rows. */
static void
forget_group(GroupAggregateState *state)
{
	core_aggregates_rescan(state->aggregates);
	ExecClearTuple(state->sort.row);
	state->has_next = false;
}

/* Forgets all rows, before the sort does. */
static void
forget_rows(GroupAggregateState *state)
{
	forget_group(state);
	state->order = NULL;
	state->has_begun = false;
}

/* Drops what is not needed after the last row. */
static void
end_rows(GroupAggregateState *state)
{
	if (state->sort.parts == NULL)
		return;
	forget_rows(state);
	parallel_sort_release(&state->sort);
}

static TupleTableSlot *
exec_group_aggregate(CustomScanState *node)
{
	GroupAggregateState *state = (GroupAggregateState *) node;

	if (unlikely(!state->has_begun))
		begin_rows(state);
	while (state->nemitted < state->nended || take_group(state))
	{
		int			set = state->nemitted++;
		TupleTableSlot *result = state->has_totals ?
			group_totals_emit(&state->totals[set], state->first) :
			core_aggregates_emit(state->aggregates, set, state->first);

		CHECK_FOR_INTERRUPTS();
		if (result != NULL)
			return result;
		InstrCountFiltered1(node, 1);
	}
	end_rows(state);
	return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
}

static void
end_group_aggregate(CustomScanState *node)
{
	GroupAggregateState *state = (GroupAggregateState *) node;

	forget_rows(state);
	ExecEndAgg(state->aggregates);
	parallel_sort_end(node);
}

static void
rescan_group_aggregate(CustomScanState *node)
{
	GroupAggregateState *state = (GroupAggregateState *) node;

	if (!state->has_begun || !parallel_sort_can_read_again(&state->sort))
	{
		forget_rows(state);
		parallel_sort_rescan(node);
		return;
	}
	forget_group(state);
	row_sort_rescan(state->sort.sort);
	begin_reading(state);
}

static void
init_shared(CustomScanState *node, ParallelContext *context, void *place)
{
	forget_rows((GroupAggregateState *) node);
	parallel_sort_init_shared(node, context, place);
}

static void
init_shared_again(CustomScanState *node, ParallelContext *context, void *place)
{
	forget_rows((GroupAggregateState *) node);
	parallel_sort_init_shared_again(node, context, place);
}

static void
shutdown_group_aggregate(CustomScanState *node)
{
	GroupAggregateState *state = (GroupAggregateState *) node;

	/* the rows of several processes go */
	if (state->sort.shared != NULL && state->sort.team != NULL)
		forget_rows(state);
	parallel_sort_shutdown(node);
}

/* Shows the HAVING clause, and the groups that it has left out. */
static void
explain_having(GroupAggregateState *state, List *ancestors, ExplainState *es)
{
	PlanState  *node = &state->sort.css.ss.ps;
	List	   *qual = state->planned.agg->plan.qual;
	List	   *context;

	if (qual == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, node->plan, ancestors);
	ExplainPropertyText("Filter",
						deparse_expression((Node *) make_ands_explicit(qual),
										   context,
										   EXPLAIN_TABLES(es) > 1 || es->verbose,
										   false),
						es);
	if (es->analyze && node->instrument != NULL &&
		(node->instrument->nfiltered1 > 0 ||
		 es->format != EXPLAIN_FORMAT_TEXT) && node->instrument->nloops > 0)
		ExplainPropertyFloat("Rows Removed by Filter", NULL,
							 node->instrument->nfiltered1 /
							 node->instrument->nloops, 0, es);
}

/* Shows the columns of the groups, of each set in the manner of core. */
static void
explain_groups(const GroupAggregateState *state, List *keys, ExplainState *es)
{
	const List *sets = state->planned.agg->groupingSets;
	ListCell   *cell;

	if (sets == NIL)
	{
		keys = list_truncate(keys, state->planned.ngroup_columns);
		ExplainPropertyList("Group Key", keys, es);
		return;
	}
	ExplainOpenGroup("Grouping Sets", "Grouping Sets", false, es);
	ExplainOpenGroup("Grouping Set", NULL, true, es);
	ExplainOpenGroup("Group Keys", "Group Keys", false, es);
	foreach(cell, sets)
	{
		List	   *columns = list_truncate(list_copy(keys),
											list_length(lfirst(cell)));

		if (columns == NIL && es->format == EXPLAIN_FORMAT_TEXT)
			ExplainPropertyText("Group Key", "()", es);
		else
			ExplainPropertyListNested("Group Key", columns, es);
	}
	ExplainCloseGroup("Group Keys", "Group Keys", false, es);
	ExplainCloseGroup("Grouping Set", NULL, true, es);
	ExplainCloseGroup("Grouping Sets", "Grouping Sets", false, es);
}

static void
explain_group_aggregate(CustomScanState *node, List *ancestors,
						ExplainState *es)
{
	GroupAggregateState *state = (GroupAggregateState *) node;
	const ParallelSort *sort = &state->sort;
	List	   *columns = copy_columns(outerPlan(node->ss.ps.plan)->targetlist,
									   OUTER_VAR);
	List	   *keys;

	keys = explain_sort_describe_keys(node->ss.ps.plan, columns, sort->columns,
									  sort->ncolumns, ancestors, es);
	ExplainPropertyList("Sort Key", keys, es);
	explain_groups(state, keys, es);
	explain_having(state, ancestors, es);
	parallel_sort_explain(sort, es);
}

const CustomScanMethods group_aggregate_scan_methods = {
	.CustomName = "GpuSortGroupAggregate",
	.CreateCustomScanState = create_group_aggregate_state
};

static const CustomExecMethods group_aggregate_exec_methods = {
	.CustomName = "GpuSortGroupAggregate",
	.BeginCustomScan = begin_group_aggregate,
	.ExecCustomScan = exec_group_aggregate,
	.EndCustomScan = end_group_aggregate,
	.ReScanCustomScan = rescan_group_aggregate,
	.EstimateDSMCustomScan = parallel_sort_estimate,
	.InitializeDSMCustomScan = init_shared,
	.ReInitializeDSMCustomScan = init_shared_again,
	.InitializeWorkerCustomScan = parallel_sort_init_worker,
	.ShutdownCustomScan = shutdown_group_aggregate,
	.ExplainCustomScan = explain_group_aggregate
};
