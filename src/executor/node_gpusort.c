/*-------------------------------------------------------------------------
 *
 * node_gpusort.c
 *	  The GpuSort plan node: a Sort, in the form of a custom scan.
 *
 * The node behaves as nodeSort.c does in every respect.  At the first fetch it
 * takes all rows from the child, whatever the direction.  Marks have no effect
 * before that.  A rescan sorts anew only if the child's parameters have
 * changed, if the result could not be kept, or if it had fewer rows than are
 * wanted now. row_sort.c does the sort itself.
 *
 * A plan may expect many rows where few come, time and again in a join.  When
 * a sort has had few rows, the next rows go to core's sort, which begins
 * sooner.
 *
 * Directly below a Gather Merge the leader and its workers sort together
 * (team.c).  The node is parallel-aware then: each process takes its share of
 * the child's rows, and the leader emits the rows of all.  Each process sorts
 * for itself if there are no workers, if the leader does not run the plan, or
 * if only a few first rows are wanted.
 *
 * Below a node that looks only at the first rows of each group, the sort may
 * leave out the others (group_limit.c).  The limit is an expression, which is
 * evaluated when rows are sorted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"

#include "cost/sort_choice.h"
#include "executor/after_rows.h"
#include "executor/explain_sort.h"
#include "executor/gpusort_plan.h"
#include "executor/node_gpusort.h"
#include "executor/row_sort.h"
#include "executor/sort_bound.h"
#include "executor/worker_reports.h"
#include "port/compat.h"
#include "settings.h"
#include "team/team.h"

/*
 * The state that leader and workers share, in the parallel context.  The
 * TeamShared lies behind it.
 */
typedef struct SharedGpuSort
{
	bool		together;		/* the processes sort together; otherwise each
								 * sorts for itself */
	WorkerReports reports;		/* reports of workers that sort for themselves */
	double		bound;			/* first rows that the leader wants, or
								 * NO_BOUND */
} SharedGpuSort;

typedef struct GpuSortState
{
	BoundedScanState scan;		/* must be first; has the bound */
	const SortColumn *columns;
	int			ncolumns;
	bool		random_access;	/* rows may be wanted again or backward */
	InputRows	input;			/* rows of the child */
	TupleTableSlot *row;		/* row as it is sorted */
	AttrNumber *copied;			/* columns of the row of which copies are
								 * added */
	int			ncopied;
	RowSort    *sort;			/* NULL before the first fetch */
	RowSort    *emptied;		/* an earlier sort, of few rows, to be used
								 * again, or NULL */
	bool		last_was_small; /* the last sort had few rows */
	bool		finished;		/* all rows have been emitted */
	NodeLimit	limit;			/* limits the rows of each group */

	SharedGpuSort *shared;		/* NULL: this is the only process */
	ParallelContext *context;	/* parallel context, in the leader */
	Team	   *team;			/* while processes sort together; otherwise
								 * NULL */
	bool		has_senders;	/* workers send parts while rows are emitted */
	RowSortReport report;		/* report of the last finished sort */
	bool		reported;
} GpuSortState;

bool
is_gpusort(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &gpusort_scan_methods;
}

static Node *
create_gpusort_state(CustomScan *scan)
{
	GpuSortState *state = palloc0(sizeof(GpuSortState));
	PlannedSort sort = planned_sort_read(scan);

	NodeSetTag(state, T_CustomScanState);
	state->scan.css.methods = &gpusort_exec_methods;
	state->ncolumns = sort.ncolumns;
	state->columns = sort.columns;
	node_limit_set(&state->limit, &sort.limit);
	return (Node *) state;
}

/*
 * Prepares the slots of rows.  Rows are emitted as they are stored.  If the
 * node has columns that are copies of others, which stored rows lack, the
 * copies are added in the slot that core has made for a projection.  A
 * projection itself would read all columns one by one.
 */
static void
init_result(GpuSortState *state)
{
	ScanState  *scan = &state->scan.css.ss;
	CustomScan *plan = (CustomScan *) scan->ps.plan;
	List	   *target_list = plan->scan.plan.targetlist;
	int			nstored = list_length(plan->custom_scan_tlist);

	scan->ps.ps_ProjInfo = NULL;
	state->ncopied = list_length(target_list) - nstored;
	if (state->ncopied == 0)
	{
		ExecInitResultSlot(&scan->ps, &TTSOpsMinimalTuple);
		state->row = scan->ps.ps_ResultTupleSlot;
		return;
	}

	state->row = ExecInitExtraTupleSlot(scan->ps.state,
										ExecGetResultType(outerPlanState(scan)),
										&TTSOpsMinimalTuple);
	state->copied = palloc(state->ncopied * sizeof(AttrNumber));
	for (int i = 0; i < state->ncopied; i++)
	{
		TargetEntry *entry = list_nth(target_list, nstored + i);

		state->copied[i] = castNode(Var, entry->expr)->varattno;
	}
}

/* Returns the present row, with the copies added. */
static TupleTableSlot *
add_copies(GpuSortState *state)
{
	TupleTableSlot *row = state->row;
	TupleTableSlot *slot = state->scan.css.ss.ps.ps_ResultTupleSlot;
	int			nstored = row->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, nstored * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, nstored * sizeof(bool));
	for (int i = 0; i < state->ncopied; i++)
	{
		slot->tts_values[nstored + i] = row->tts_values[state->copied[i] - 1];
		slot->tts_isnull[nstored + i] = row->tts_isnull[state->copied[i] - 1];
	}
	return ExecStoreVirtualTuple(slot);
}

static void
begin_gpusort(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortState *state = (GpuSortState *) node;
	const int	again = EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK;

	/* the child is read once, forward */
	state->random_access = (eflags & again) != 0;
	outerPlanState(node) = ExecInitNode(outerPlan(node->ss.ps.plan), estate,
										eflags & ~again);

	input_rows_init(&state->input, outerPlanState(node));
	init_result(state);
	node_limit_begin(&state->limit, node);
	sort_bound_await();
}

/* Chooses the sort for these numbers of processes and of wanted rows. */
static SortChoice
choose(const GpuSortState *state, double members, double wanted)
{
	const PlanState *node = &state->scan.css.ss.ps;
	SortSize	size;

	/* the same for any size, which takes some time to find */
	if (members == 1 && wanted == NO_BOUND)
		return SORT_ALONE;
	size = gpusort_size((CustomScan *) node->plan,
						node->state->es_range_table);
	return sort_choose(&size, members, wanted);
}

/* Returns the TeamShared, which lies behind the SharedGpuSort. */
static TeamShared *
shared_team(SharedGpuSort *shared)
{
	return (TeamShared *) ((char *) shared + MAXALIGN(sizeof(SharedGpuSort)));
}

/* Returns whether this process is one of several that sort together. */
static bool
sorts_together(const GpuSortState *state)
{
	return state->shared != NULL && state->shared->together &&
		team_has_others(shared_team(state->shared), state->context);
}

/* Joins the team, in the memory context of the query. */
static TeamRole
join_team(GpuSortState *state, SortProgress *progress)
{
	PlanState  *child = outerPlanState(&state->scan.css);
	TeamRows	rows = {
		.descriptor = ExecGetResultType(child),
		.columns = state->columns,
		.ncolumns = state->ncolumns,
		.expected_rows = child->plan->plan_rows,
		.bound = sort_bound_rows(&state->scan.bound),
		.limit = node_limit_of_sort(&state->limit)
	};

	state->team = team_begin(shared_team(state->shared), &rows, progress);
	return team_join(state->team, IsParallelWorker() ? 0 :
					 state->context->nworkers_launched);
}

/* Leaves the team, when the sort has ended. */
static void
leave_team(void *node)
{
	GpuSortState *state = node;

	team_leave(state->team);
	state->team = NULL;
}

/* Puts all rows of the child into the team's sort; returns their number. */
static uint64
put_rows(GpuSortState *state)
{
	uint64		nrows = 0;

	for (;; nrows++)
	{
		TupleTableSlot *slot = input_rows_next(&state->input);

		if (TupIsNull(slot))
			break;
		team_put(state->team, slot);
	}
	team_finish(state->team);
	return nrows;
}

/*
 * Sorts the rows of all processes, in the leader.  Returns the number of rows
 * of the leader's own child.
 */
static uint64
sort_together(GpuSortState *state)
{
	MemoryContext caller_context =
		MemoryContextSwitchTo(state->scan.css.ss.ps.state->es_query_cxt);
	uint64		nrows;

	(void) join_team(state, NULL);
	MemoryContextSwitchTo(caller_context);
	nrows = put_rows(state);
	state->sort = row_sort_of_team(state->team,
								   state->scan.gather_merge != NULL);
	state->has_senders =
		row_sort_prepare(state->sort, state->scan.gather_merge != NULL ?
						 WORK_SEND_PARTS : WORK_WRITE_PARTS) == WORK_SEND_PARTS;
	row_sort_announce(state->sort);
	return nrows;
}

/* Begins a sort in this process alone, in the memory context of the query. */
static RowSort *
begin_sort(GpuSortState *state)
{
	PlanState  *node = &state->scan.css.ss.ps;
	PlanState  *child = outerPlanState(node);
	TupleDesc	descriptor = ExecGetResultType(child);
	double		rows = child->plan->plan_rows;
	double		bound = sort_bound_rows(&state->scan.bound);
	MemoryContext caller_context =
		MemoryContextSwitchTo(node->state->es_query_cxt);
	RowSort    *sort;

	if (state->last_was_small || choose(state, 1, bound) == SORT_NATIVELY)
		sort = row_sort_begin_few(&state->emptied, descriptor, state->columns,
								  state->ncolumns, gpusort_memory_limit(), rows,
								  bound, state->random_access);
	else
		sort = row_sort_begin(descriptor, state->columns, state->ncolumns,
							  gpusort_memory_limit(), rows, bound,
							  state->random_access);
	MemoryContextSwitchTo(caller_context);
	return sort;
}

/* Makes the workers end, before the Gather Merge waits for them. */
static void
stop_senders(Datum arg)
{
	team_stop((Team *) DatumGetPointer(arg));
}

/*
 * Lets stop_senders() be called before the Gather Merge is rescanned.  A
 * rescan waits for the workers before the child hears of it, but first resets
 * the expression context of the Gather Merge.
 */
static void
watch_gather_merge(GpuSortState *state)
{
	RegisterExprContextCallback(state->scan.gather_merge->ps_ExprContext,
								stop_senders, PointerGetDatum(state->team));
}

/* Sorts all rows of the child in this process; returns their number. */
static uint64
sort_alone(GpuSortState *state)
{
	uint64		nrows;

	state->sort = begin_sort(state);
	row_sort_limit_groups(state->sort, node_limit_of_sort(&state->limit));
	nrows = row_sort_take(state->sort, &state->input);
	row_sort_perform(state->sort);
	return nrows;
}

/* Takes all rows of the child and sorts them. */
static void
sort_child(GpuSortState *state)
{
	uint64		nrows = sorts_together(state) ? sort_together(state) :
		sort_alone(state);

	state->last_was_small = nrows < gpusort_min_rows;
	if (state->has_senders)
		watch_gather_merge(state);
	if (state->scan.css.ss.ps.instrument == NULL)
		return;
	row_sort_report(state->sort, &state->report);
	state->reported = true;
	if (IsParallelWorker() && state->shared != NULL)
		worker_reports_leave(&state->shared->reports, &state->report);
}

/*
 * Does the work that the leader has decided on, in a worker, after its rows.
 */
static void
work_for_leader(void *node)
{
	GpuSortState *state = node;

	team_work(state->team);
	leave_team(state);
}

/*
 * Puts all rows of the child into the team's sort, in a worker, which emits
 * none.
 */
static void
send_child(GpuSortState *state)
{
	PlanState  *child = outerPlanState(&state->scan.css);
	EState	   *estate = child->state;
	MemoryContext caller_context = MemoryContextSwitchTo(estate->es_query_cxt);
	SortProgress *progress = sort_progress_begin(PROGRESS_OF_SORT,
												 child->plan->plan_rows, true);
	TeamRole	role = join_team(state, progress);
	bool		has_work = false;

	MemoryContextSwitchTo(caller_context);
	if (role != TEAM_LATE)
	{
		(void) put_rows(state);
		has_work = team_hand_over(state->team);
	}
	if (has_work)
		after_rows_do(estate, work_for_leader, state);
	else
		leave_team(state);
	sort_progress_end(progress);
	state->finished = true;
}

/* Takes the child's rows, at the first fetch, whatever the direction. */
static void
take_child(GpuSortState *state)
{
	EState	   *estate = state->scan.css.ss.ps.state;
	ScanDirection direction = estate->es_direction;

	estate->es_direction = ForwardScanDirection;
	/* a plan that rechecks rows does not begin as a query does */
	if (unlikely(estate->es_epq_active != NULL))
		sort_bound_find(estate->es_epq_active->recheckplanstate);
	if (IsParallelWorker() && sorts_together(state))
		send_child(state);
	else
		sort_child(state);
	estate->es_direction = direction;
}

static TupleTableSlot *
exec_gpusort(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;
	EState	   *estate = node->ss.ps.state;

	if (unlikely(state->sort == NULL) && !state->finished)
		take_child(state);
	if (unlikely(state->finished) ||
		!row_sort_get(state->sort,
					  ScanDirectionIsForward(estate->es_direction),
					  state->row))
		return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
	return likely(state->ncopied == 0) ? state->row : add_copies(state);
}

/* Clears the row that was emitted last. */
static void
clear_row(GpuSortState *state)
{
	ExecClearTuple(state->scan.css.ss.ps.ps_ResultTupleSlot);
	ExecClearTuple(state->row);
}

/* Ends the sort, if there is one. */
static void
drop_sort(GpuSortState *state)
{
	clear_row(state);
	if (state->sort == NULL)
		return;
	if (state->has_senders)
		UnregisterExprContextCallback(state->scan.gather_merge->ps_ExprContext,
									  stop_senders, PointerGetDatum(state->team));
	state->has_senders = false;
	if (state->team != NULL)
		state->report.gathered_rows = team_rows_sent(state->team);
	row_sort_empty(state->sort, &state->emptied);
	state->sort = NULL;
	if (state->team != NULL)
		leave_team(state);
}

static void
end_gpusort(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;

	drop_sort(state);
	if (state->emptied != NULL)
		row_sort_end(state->emptied);
	ExecEndNode(outerPlanState(node));
}

static void
rescan_gpusort(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;
	PlanState  *child = outerPlanState(node);

	/* before the first fetch there is nothing to do */
	if (state->sort == NULL && !state->finished)
		return;

	if (child->chgParam == NULL && state->random_access &&
		state->shared == NULL && state->sort != NULL &&
		row_sort_suffices(state->sort, sort_bound_rows(&state->scan.bound)) &&
		node_limit_suffices(&state->limit))
	{
		clear_row(state);
		row_sort_rescan(state->sort);
		return;
	}
	drop_sort(state);
	state->finished = false;
	/* with changed parameters the child is rescanned at its first fetch */
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static void
mark_gpusort(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;

	if (state->sort != NULL)
		row_sort_mark(state->sort);
}

static void
restore_gpusort(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;

	if (state->sort != NULL)
		row_sort_restore(state->sort);
}

static Size
estimate_shared(CustomScanState *node, ParallelContext *context)
{
	return MAXALIGN(sizeof(SharedGpuSort)) + team_size(context->nworkers + 1);
}

/*
 * Returns whether leader and workers sort together.  The leader has to run the
 * plan, too, and its settings count.  The planner has seen to it that there is
 * room.
 */
static bool
wants_together(SortChoice choice, double bound)
{
	return gpusort_enable && gpusort_enable_sort &&
		parallel_leader_participation && choice != SORT_NATIVELY &&
		first_rows_may_be_together(bound);
}

/*
 * Chooses the sort to do with workers.  If ties of a few first rows are wanted
 * as well, core's sort does not know which rows to leave out.  But the rows of
 * all processes need not come together.
 */
static SortChoice
choose_shared(const GpuSortState *state, const ParallelContext *context)
{
	return choose(state, sort_members(context->nworkers),
				  sort_bound_expected_rows(&state->scan.bound));
}

/*
 * Returns the number of rows that workers might have to send in their order.
 */
static double
expected_to_send(const GpuSortState *state, int nmembers)
{
	PlanState  *child = outerPlanState(&state->scan.css);

	return state->scan.gather_merge != NULL &&
		sort_bound_rows(&state->scan.bound) == NO_BOUND &&
		!row_sort_is_of_values(ExecGetResultType(child), state->ncolumns) ?
		child->plan->plan_rows * nmembers : 0;
}

/*
 * Sets what workers have to know, before they are launched; returns the terms
 * of the team.
 */
static TeamTerms
set_shared(GpuSortState *state, ParallelContext *context,
		   SharedGpuSort *shared)
{
	SortChoice	choice = choose_shared(state, context);
	int			nmembers = context->nworkers + 1;
	TeamTerms	terms = {
		.nmembers = nmembers,
		.memory = gpusort_memory_limit(),
		.keep_rows = choice == SORT_TOGETHER_IN_RUNS,
		.limits_groups = node_has_limit(&state->limit),
		.expected_to_send = expected_to_send(state, nmembers)
	};

	state->shared = shared;
	state->context = context;
	shared->bound = sort_bound_rows(&state->scan.bound);
	shared->together = wants_together(choice, shared->bound);
	worker_reports_init(&shared->reports);
	return terms;
}

/* Begins the shared state, before workers are launched. */
static void
init_shared(CustomScanState *node, ParallelContext *context, void *place)
{
	TeamTerms	terms;

	/* without shared memory there will be no workers */
	if (context->seg == NULL)
		return;
	terms = set_shared((GpuSortState *) node, context, place);
	team_init(shared_team(place), context, &terms);
}

/*
 * Begins the shared state again, when the workers of the last launch have
 * ended.
 */
static void
init_shared_again(CustomScanState *node, ParallelContext *context,
				  void *place)
{
	GpuSortState *state = (GpuSortState *) node;
	TeamTerms	terms;

	if (context->seg == NULL)
		return;

	/*
	 * the sort may have files open; the rescan that follows lets it be done
	 * anew
	 */
	if (state->sort != NULL)
	{
		drop_sort(state);
		state->finished = true;
	}
	terms = set_shared(state, context, place);
	team_reset(shared_team(place), &terms);
}

static void
init_worker(CustomScanState *node, shm_toc *contents, void *place)
{
	GpuSortState *state = (GpuSortState *) node;

	state->shared = place;
	team_attach(shared_team(place));
	state->scan.leader_bound = &state->shared->bound;
}

/*
 * Ends the sort of several processes, when no more rows will be wanted, and
 * before the parallel context goes.  Also called between fetches from a
 * cursor, which has no workers.
 */
static void
shutdown_gpusort(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;

	if (state->sort != NULL && sorts_together(state))
	{
		drop_sort(state);
		state->finished = true;
	}
	if (state->shared != NULL && state->scan.css.ss.ps.instrument != NULL &&
		worker_reports_add(&state->shared->reports, &state->report))
		state->reported = true;
	state->shared = NULL;
	state->context = NULL;
}

static void
explain_gpusort(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpuSortState *state = (GpuSortState *) node;

	explain_sort_keys("Sort Key", node, state->columns, state->ncolumns,
					  ancestors, es);
	if (node_has_limit(&state->limit))
	{
		explain_sort_keys("Group Key", node, state->columns,
						  state->limit.limit.ngroup_columns, ancestors, es);
		node_limit_explain(&state->limit, node, ancestors, es);
	}
	if (es->analyze && state->reported)
		explain_sort_report(&state->report, es);
}

const CustomScanMethods gpusort_scan_methods = {
	.CustomName = "GpuSort",
	.CreateCustomScanState = create_gpusort_state
};

const CustomExecMethods gpusort_exec_methods = {
	.CustomName = "GpuSort",
	.BeginCustomScan = begin_gpusort,
	.ExecCustomScan = exec_gpusort,
	.EndCustomScan = end_gpusort,
	.ReScanCustomScan = rescan_gpusort,
	.MarkPosCustomScan = mark_gpusort,
	.RestrPosCustomScan = restore_gpusort,
	.EstimateDSMCustomScan = estimate_shared,
	.InitializeDSMCustomScan = init_shared,
	.ReInitializeDSMCustomScan = init_shared_again,
	.InitializeWorkerCustomScan = init_worker,
	.ShutdownCustomScan = shutdown_gpusort,
	.ExplainCustomScan = explain_gpusort
};
