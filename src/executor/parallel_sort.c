/*-------------------------------------------------------------------------
 *
 * parallel_sort.c
 *	  Sorting the rows of a partial plan, by all processes that run it.
 *
 * The node is parallel-aware, and stands in a partial plan, which is a plan
 * below a Gather.  The leader and its workers, the members, all run it in
 * the same way.  They are a team (team.c): each puts its share of the child's
 * rows, and the first to come is elected to make the order.  Then each
 * member, even one that comes only then, takes a part of the order, emits
 * its rows, and takes the next part (parts.c).  Parts are slices of rows in
 * memory, or, if memory is too small, parts of the merge of all runs.
 *
 * The elected member emits all rows alone if keys cannot sort them, or if
 * rows are few and do not fit the memory.  That is right for every node above,
 * too: the groups are whole.
 *
 * Each further sort of the same rows has a team of its own, of the same
 * members.  The member that is elected in the first team makes the
 * orders of all teams, one after the other, and emits their rows.
 *
 * A leader without workers sorts for itself, and emits all rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "cost/sort_cost.h"
#include "executor/explain_sort.h"
#include "executor/parallel_sort.h"
#include "port/compat.h"
#include "settings.h"
#include "shared_state.h"

/* What members share of a further sort. */
typedef struct SharedBeside
{
	pg_atomic_uint64 nnulls;	/* rows that were left out, as NULLs */
	RowSortReport report;
} SharedBeside;

/*
 * The state that members share.  The SharedBesides lie behind it, and the
 * TeamShareds behind these: that of the sort, and those of the further sorts.
 */
struct SharedSort
{
	Size		team_bytes;		/* bytes of a TeamShared */
	pg_atomic_uint32 sorted;	/* true: the reports are there */
	RowSortReport report;		/* report of the sort of all rows */
	bool		limited_exactly;	/* no further row of a group is emitted,
									 * if one of each is wanted; set before
									 * all emit */
	pg_atomic_uint64 nrows;		/* rows that members have had */
	pg_atomic_uint64 nnulls;	/* rows of these that were left out, as NULLs */
	pg_atomic_uint64 ngroups;	/* groups that members have counted */
	pg_atomic_uint64 nread;		/* rows of the parts in which groups were
								 * counted */
};

/* Returns what is shared of a further sort. */
static SharedBeside *
shared_beside(const ParallelSort *sort, int i)
{
	return (SharedBeside *)
		((char *) sort->shared + MAXALIGN(sizeof(SharedSort))) + i;
}

/* Returns the shared state of a team: 0 for the sort, i + 1 for a further one. */
static TeamShared *
shared_team(const ParallelSort *sort, int number)
{
	return (TeamShared *) ((char *) sort->shared +
						   MAXALIGN(sizeof(SharedSort)) +
						   MAXALIGN(sort->nbeside * sizeof(SharedBeside)) +
						   number * sort->shared->team_bytes);
}

/* Returns whether this process is one of several. */
static bool
has_others(const ParallelSort *sort)
{
	return sort->shared != NULL &&
		team_has_others(shared_team(sort, 0), sort->context);
}

void
parallel_sort_begin(CustomScanState *node, EState *estate, int eflags)
{
	ParallelSort *sort = (ParallelSort *) node;

	outerPlanState(node) = ExecInitNode(outerPlan(node->ss.ps.plan), estate,
										eflags & ~(EXEC_FLAG_REWIND |
												   EXEC_FLAG_BACKWARD |
												   EXEC_FLAG_MARK));
	sort->memory = AllocSetContextCreate(estate->es_query_cxt,
										 "gpusort parallel sort",
										 ALLOCSET_SMALL_SIZES);
	node_limit_begin(&sort->limit, node);
	input_rows_init(&sort->input, outerPlanState(node));
	sort->descriptor = ExecGetResultType(outerPlanState(node));
}

void
parallel_sort_init_result(ParallelSort *sort)
{
	PlanState  *node = &sort->css.ss.ps;

	if (node->ps_ProjInfo == NULL)
	{
		ExecInitResultTupleSlotTL(node, &TTSOpsMinimalTuple);
		sort->row = node->ps_ResultTupleSlot;
	}
	else
	{
		/* core has made the projection for virtual slots */
		node->scanops = &TTSOpsMinimalTuple;
		ExecAssignProjectionInfo(node,
								 sort->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor);
		sort->row = ExecInitExtraTupleSlot(node->state, sort->descriptor,
										   &TTSOpsMinimalTuple);
	}
}

/* Puts a row of the child into a further sort. */
static inline void
put_beside(SortBeside *beside, TupleTableSlot *row)
{
	if (beside->left_out_null != 0 &&
		slot_attisnull(row, beside->left_out_null))
		beside->nnulls++;
	else if (beside->team != NULL)
		team_put(beside->team, beside->maker->make(beside->maker, row));
	else if (beside->sort != NULL)
		row_sort_put(beside->sort, beside->maker->make(beside->maker, row));
}

/* Returns the next row to be sorted; NULL if there is none. */
static inline TupleTableSlot *
next_row(ParallelSort *sort)
{
	for (;;)
	{
		TupleTableSlot *slot = input_rows_next(&sort->input);

		if (sort->take_row != NULL)
			sort->take_row(sort, TupIsNull(slot) ? NULL : slot);
		if (TupIsNull(slot))
			return NULL;
		sort->nrows++;
		for (int i = 0; i < sort->nbeside; i++)
			put_beside(&sort->beside[i], slot);
		if (sort->left_out_null == 0 ||
			!slot_attisnull(slot, sort->left_out_null))
			return sort->maker == NULL ? slot :
				sort->maker->make(sort->maker, slot);
		sort->nnulls++;
	}
}

/* Are the child's rows sorted, all of them and nothing else? */
static bool
takes_rows_unchanged(const ParallelSort *sort)
{
	return sort->take_row == NULL && sort->maker == NULL &&
		sort->nbeside == 0 && sort->left_out_null == 0;
}

/* Begins a sort in this process alone. */
static RowSort *
begin_sort(const ParallelSort *sort, RowSort **emptied, TupleDesc descriptor,
		   const SortColumn *columns, int ncolumns, NodeLimit *limit)
{
	const PlanState *child = outerPlanState(sort);
	double		rows = child->plan->plan_rows;
	Size		memory = gpusort_memory_limit();
	RowSort    *begun;
	MemoryContext caller_context =
		MemoryContextSwitchTo(child->state->es_query_cxt);

	if (sort->last_was_small)
		begun = row_sort_begin_few(emptied, descriptor, columns, ncolumns,
								   memory, rows, NO_BOUND,
								   sort->random_access);
	else
		begun = row_sort_begin(descriptor, columns, ncolumns, memory, rows,
							   NO_BOUND, sort->random_access);
	MemoryContextSwitchTo(caller_context);
	row_sort_limit_groups(begun, node_limit_of_sort(limit));
	return begun;
}

/* Begins the further sorts. */
static void
begin_beside(ParallelSort *sort)
{
	for (int i = 0; i < sort->nbeside; i++)
	{
		SortBeside *beside = &sort->beside[i];

		if (beside->ncolumns == 0)
			continue;
		beside->sort = begin_sort(sort, &beside->emptied, beside->descriptor,
								  beside->columns, beside->ncolumns,
								  &beside->limit);
		if (beside->wants_places)
			row_sort_want_places(beside->sort);
	}
}

/* Sorts a further sort's rows. */
static void
perform_beside(const ParallelSort *sort, SortBeside *beside)
{
	if (beside->sort == NULL)
		return;
	row_sort_perform(beside->sort);
	if (sort->css.ss.ps.instrument != NULL)
		row_sort_report(beside->sort, &beside->report);
}

/* Sorts the rows of a process that has no others beside it. */
static void
sort_alone(ParallelSort *sort)
{
	TupleTableSlot *slot;

	sort->sort = begin_sort(sort, &sort->emptied, sort->descriptor,
							sort->columns, sort->ncolumns, &sort->limit);
	row_sort_keep_starts(sort->sort, sort->nstart_columns);
	if (sort->marks_ties)
		row_sort_mark_ties(sort->sort);
	if (sort->wants_places)
		row_sort_want_places(sort->sort);
	begin_beside(sort);
	if (takes_rows_unchanged(sort))
		sort->nrows = row_sort_take(sort->sort, &sort->input);
	else
		while ((slot = next_row(sort)) != NULL)
			row_sort_put(sort->sort, slot);
	sort->last_was_small = sort->nrows < gpusort_min_rows;
	row_sort_perform(sort->sort);
	for (int i = 0; i < sort->nbeside; i++)
		perform_beside(sort, &sort->beside[i]);
	if (sort->css.ss.ps.instrument == NULL)
		return;
	row_sort_report(sort->sort, &sort->report.sort);
	sort->report.sorted = true;
}

/* Puts all rows that the child has for this member. */
static void
put_rows(ParallelSort *sort)
{
	TupleTableSlot *slot;

	while ((slot = next_row(sort)) != NULL)
		team_put(sort->team, slot);
	pg_atomic_fetch_add_u64(&sort->shared->nrows, sort->nrows);
	pg_atomic_fetch_add_u64(&sort->shared->nnulls, sort->nnulls);
	for (int i = 0; i < sort->nbeside; i++)
		pg_atomic_fetch_add_u64(&shared_beside(sort, i)->nnulls,
								sort->beside[i].nnulls);
	team_finish(sort->team);
	for (int i = 0; i < sort->nbeside; i++)
		if (sort->beside[i].team != NULL)
			team_finish(sort->beside[i].team);
}

/* Returns what all members should do with the parts of the order. */
static TeamWork
wished_work(const ParallelSort *sort)
{
	uint64		ngroups;

	if (sort->nbeside > 0)
		return WORK_WRITE_PARTS;
	switch (sort->emission)
	{
		case EMIT_PARTS:
			return WORK_EMIT_PARTS;
		case EMIT_PARTS_TO_COUNT:
			return row_sort_count_groups(sort->sort, &ngroups) ?
				WORK_NONE : WORK_EMIT_PARTS;
		default:
			return WORK_WRITE_PARTS;
	}
}

/* Are all members likely to emit slices of the order? */
static bool
expects_slices(const ParallelSort *sort)
{
	return sort->nbeside == 0 &&
		(sort->emission == EMIT_PARTS || sort->emission == EMIT_PARTS_TO_COUNT);
}

/* Lets other members see the reports. */
static void
share_report(ParallelSort *sort)
{
	SharedSort *shared = sort->shared;

	row_sort_report(sort->sort, &shared->report);
	for (int i = 0; i < sort->nbeside; i++)
		if (sort->beside[i].sort != NULL)
			row_sort_report(sort->beside[i].sort,
							&shared_beside(sort, i)->report);
	pg_write_barrier();
	pg_atomic_write_u32(&shared->sorted, 1);
}

/*
 * Makes the order of a team's rows, in the elected member.  in_slices: all
 * members are likely to emit slices of the order.
 */
static RowSort *
make_sort(Team *team, bool in_slices, bool wants_places)
{
	RowSort    *sort = row_sort_of_team(team, in_slices);

	if (wants_places)
		row_sort_want_places(sort);
	return sort;
}

/* Makes the orders of the further sorts, in the elected member. */
static void
make_orders_beside(ParallelSort *sort)
{
	for (int i = 0; i < sort->nbeside; i++)
	{
		SortBeside *beside = &sort->beside[i];

		beside->nnulls = pg_atomic_read_u64(&shared_beside(sort, i)->nnulls);
		if (beside->team == NULL)
			continue;
		beside->sort = make_sort(beside->team, false, beside->wants_places);
		(void) row_sort_prepare(beside->sort, WORK_WRITE_PARTS);
		row_sort_announce(beside->sort);
	}
}

/*
 * Sorts, in the elected member, and begins to emit the rows, if it emits
 * them alone.
 */
static void
make_order(ParallelSort *sort)
{
	uint64		ngroups;

	sort->sort = make_sort(sort->team, expects_slices(sort), sort->wants_places);
	if (row_sort_prepare(sort->sort, wished_work(sort)) != WORK_EMIT_PARTS)
	{
		row_sort_announce(sort->sort);
		make_orders_beside(sort);
		share_report(sort);
		return;
	}
	sort->shared->limited_exactly = row_sort_count_groups(sort->sort, &ngroups);
	/* the others may end as soon as they know of the parts */
	share_report(sort);
	row_sort_announce(sort->sort);
	row_sort_end(sort->sort);
	sort->sort = NULL;
	shared_count(STAT_SORTS_IN_PARTS, 1);
}

/* Takes part in the further teams. */
static void
join_beside(ParallelSort *sort, bool is_elected)
{
	for (int i = 0; i < sort->nbeside; i++)
		if (sort->beside[i].team != NULL)
			team_join_beside(sort->beside[i].team, is_elected);
}

/* Hands the rows of this member over, and does what is left to do. */
static void
hand_over(Team *team)
{
	if (team_hand_over(team))
		team_work(team);
}

/*
 * Takes part in the teams, while rows are taken.  The elected member
 * makes the orders of the teams in the sequence in which the others hand over
 * their rows.
 */
static void
join_teams(ParallelSort *sort)
{
	TeamRole	role = team_join(sort->team, 0);

	if (role == TEAM_LATE)
		return;
	if (role == TEAM_COLLECTS)

		/* the progress of the sort is shown until the sort is done */
		sort_progress_enter(sort->progress, PROGRESS_EMITTING_ROWS);
	join_beside(sort, role == TEAM_COLLECTS);
	put_rows(sort);
	if (role == TEAM_COLLECTS)
	{
		make_order(sort);
		return;
	}
	hand_over(sort->team);
	for (int i = 0; i < sort->nbeside; i++)
		if (sort->beside[i].team != NULL)
			hand_over(sort->beside[i].team);
}

/* Begins to emit parts, if there are any left. */
static void
begin_parts(ParallelSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->memory);
	RowComparator *groups =
		row_comparator_create(sort->descriptor,
							  minimal_tuple_column, sort->columns,
							  sort->ngroup_columns);

	sort_progress_enter(sort->progress, PROGRESS_EMITTING_ROWS);
	sort->parts = team_parts(sort->team, groups);
	MemoryContextSwitchTo(caller_context);
}

/* Makes this process a member of a team. */
static Team *
begin_team(const ParallelSort *sort, int number, TupleDesc descriptor,
		   const SortColumn *columns, int ncolumns, NodeLimit *limit,
		   bool marks_ties, SortProgress *progress)
{
	TeamRows	rows = {
		.descriptor = descriptor,
		.columns = columns,
		.ncolumns = ncolumns,
		.expected_rows = outerPlanState(sort)->plan->plan_rows,
		.bound = NO_BOUND,
		.limit = node_limit_of_sort(limit),
		.marks_ties = marks_ties
	};

	return team_begin(shared_team(sort, number), &rows, progress);
}

/* Makes this process a member of the teams. */
static void
begin_teams(ParallelSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->memory);

	sort->progress = sort_progress_begin(PROGRESS_OF_SORT,
										 outerPlanState(sort)->plan->plan_rows,
										 true);
	sort->team = begin_team(sort, 0, sort->descriptor, sort->columns,
							sort->ncolumns, &sort->limit, sort->marks_ties,
							sort->progress);
	for (int i = 0; i < sort->nbeside; i++)
	{
		SortBeside *beside = &sort->beside[i];

		if (beside->ncolumns > 0)
			beside->team = begin_team(sort, i + 1, beside->descriptor,
									  beside->columns, beside->ncolumns,
									  &beside->limit, false, NULL);
	}
	MemoryContextSwitchTo(caller_context);
}

void
parallel_sort_get_ready(ParallelSort *sort)
{
	if (sort->ready)
		return;
	sort->ready = true;
	if (!has_others(sort))
	{
		sort_alone(sort);
		return;
	}
	begin_teams(sort);
	if (team_is_undecided(shared_team(sort, 0)))
		join_teams(sort);
	if (team_await(sort->team) == WORK_EMIT_PARTS)
		begin_parts(sort);
	else
		sort_progress_end(sort->progress);
}

bool
parallel_sort_can_read_again(ParallelSort *sort)
{
	return sort->sort != NULL && sort->shared == NULL &&
		sort->random_access && outerPlanState(sort)->chgParam == NULL &&
		node_limit_suffices(&sort->limit);
}

FmgrInfo *
parallel_sort_equalities(const ParallelSort *sort, int ncolumns)
{
	FmgrInfo   *equal = palloc0((ncolumns + 1) * sizeof(FmgrInfo));

	for (int i = 0; i < ncolumns; i++)
		fmgr_info(get_opcode(sort_column_equality(&sort->columns[i])),
				  &equal[i]);
	return equal;
}

bool
parallel_sort_is_limited_exactly(const ParallelSort *sort)
{
	uint64		ngroups;

	if (sort->sort != NULL)
		return row_sort_count_groups(sort->sort, &ngroups);
	return sort->parts == NULL || sort->shared->limited_exactly;
}

bool
parallel_sort_rows_stay(const ParallelSort *sort)
{
	if (sort->sort != NULL)
		return row_sort_order(sort->sort) != NULL;
	return sort->parts != NULL && part_reader_rows_stay(sort->parts);
}

bool
parallel_sort_tells_ties(const ParallelSort *sort)
{
	const RowOrder *order;

	if (!sort->marks_ties)
		return false;
	if (sort->sort == NULL)
		return sort->parts != NULL && part_reader_tells_ties(sort->parts);
	order = row_sort_order(sort->sort);
	return order != NULL && order->has_ties;
}

uint64
parallel_sort_rows(const ParallelSort *sort)
{
	return has_others(sort) ? pg_atomic_read_u64(&sort->shared->nrows) :
		sort->nrows;
}

uint64
parallel_sort_nulls(const ParallelSort *sort)
{
	return has_others(sort) ? pg_atomic_read_u64(&sort->shared->nnulls) :
		sort->nnulls;
}

bool
parallel_sort_is_last(ParallelSort *sort, uint64 *ngroups)
{
	SharedSort *shared = sort->shared;
	uint64		nread = sort->parts == NULL ? 0 : part_reader_count(sort->parts);

	if (nread == 0)
		return false;
	/* the member that counts the last rows finds all groups counted */
	pg_atomic_fetch_add_u64(&shared->ngroups, *ngroups);
	if (pg_atomic_fetch_add_u64(&shared->nread, nread) + nread <
		team_shared_parts(shared_team(sort, 0))->nrows)
		return false;
	*ngroups = pg_atomic_read_u64(&shared->ngroups);
	return true;
}

/* Forgets the rows of a further sort. */
static void
forget_beside(SortBeside *beside)
{
	ExecClearTuple(beside->row);
	if (beside->sort != NULL)
		row_sort_empty(beside->sort, &beside->emptied);
	if (beside->team != NULL)
		team_leave(beside->team);
	beside->sort = NULL;
	beside->team = NULL;
	beside->nnulls = 0;
}

/* Forgets all rows that this process has, and those in slots. */
static void
forget_rows(ParallelSort *sort)
{
	ExecClearTuple(sort->css.ss.ss_ScanTupleSlot);
	ExecClearTuple(sort->css.ss.ps.ps_ResultTupleSlot);
	ExecClearTuple(sort->row);
	if (sort->kept != NULL)
		ExecClearTuple(sort->kept);
	if (sort->parts != NULL)
		part_reader_end(sort->parts);
	if (sort->sort != NULL)
		row_sort_empty(sort->sort, &sort->emptied);
	for (int i = 0; i < sort->nbeside; i++)
		forget_beside(&sort->beside[i]);
	if (sort->team != NULL)
		team_leave(sort->team);
	sort->parts = NULL;
	sort->sort = NULL;
	sort->progress = NULL;
	sort->team = NULL;
	sort->ready = false;
	sort->nrows = 0;
	sort->nnulls = 0;
	MemoryContextReset(sort->memory);
}

void
parallel_sort_release(ParallelSort *sort)
{
	if (sort->parts == NULL)
		return;
	forget_rows(sort);
	sort->ready = true;
}

void
parallel_sort_end(CustomScanState *node)
{
	ParallelSort *sort = (ParallelSort *) node;

	forget_rows(sort);
	if (sort->emptied != NULL)
		row_sort_end(sort->emptied);
	for (int i = 0; i < sort->nbeside; i++)
		if (sort->beside[i].emptied != NULL)
			row_sort_end(sort->beside[i].emptied);
	ExecEndNode(outerPlanState(node));
}

void
parallel_sort_rescan(CustomScanState *node)
{
	forget_rows((ParallelSort *) node);
	/* with changed parameters the child is rescanned at its first fetch */
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

/* Returns the bytes that the state of a team takes among others. */
static Size
team_bytes(const ParallelContext *context)
{
	return MAXALIGN(team_size(context->nworkers + 1));
}

Size
parallel_sort_estimate(CustomScanState *node, ParallelContext *context)
{
	const ParallelSort *sort = (ParallelSort *) node;

	return MAXALIGN(sizeof(SharedSort)) +
		MAXALIGN(sort->nbeside * sizeof(SharedBeside)) +
		(1 + sort->nbeside) * team_bytes(context);
}

/* Sets the shared state of a team, at first or again. */
static void
set_team(const ParallelSort *sort, int number, const NodeLimit *limit,
		 bool again)
{
	const Plan *child = outerPlan(sort->css.ss.ps.plan);
	TeamShared *team = shared_team(sort, number);
	TeamTerms	terms = {
		.nmembers = sort->context->nworkers + 1,
		.memory = gpusort_memory_limit(),
		.keep_rows = !sort_fits_memory(child->plan_rows, child->plan_width),
		.limits_groups = node_has_limit(limit),
		.elects = true
	};

	if (again)
		team_reset(team, &terms);
	else
		team_init(team, sort->context, &terms);
}

/* Sets what workers have to know, before they are launched. */
static void
set_shared(ParallelSort *sort, ParallelContext *context, SharedSort *shared,
		   bool again)
{
	/* without shared memory there will be no workers */
	if (context->seg == NULL)
		return;
	forget_rows(sort);
	sort->shared = shared;
	sort->context = context;
	shared->team_bytes = team_bytes(context);
	pg_atomic_init_u32(&shared->sorted, 0);
	shared->limited_exactly = false;
	pg_atomic_init_u64(&shared->nrows, 0);
	pg_atomic_init_u64(&shared->nnulls, 0);
	pg_atomic_init_u64(&shared->ngroups, 0);
	pg_atomic_init_u64(&shared->nread, 0);
	set_team(sort, 0, &sort->limit, again);
	for (int i = 0; i < sort->nbeside; i++)
	{
		pg_atomic_init_u64(&shared_beside(sort, i)->nnulls, 0);
		if (sort->beside[i].ncolumns > 0)
			set_team(sort, i + 1, &sort->beside[i].limit, again);
	}
}

/* Begins the shared state, before workers are launched. */
void
parallel_sort_init_shared(CustomScanState *node, ParallelContext *context,
						  void *place)
{
	set_shared((ParallelSort *) node, context, place, false);
}

/*
 * Begins the shared state again, when the workers of the last launch have
 * ended.
 */
void
parallel_sort_init_shared_again(CustomScanState *node,
								ParallelContext *context, void *place)
{
	set_shared((ParallelSort *) node, context, place, true);
}

void
parallel_sort_init_worker(CustomScanState *node, shm_toc *contents,
						  void *place)
{
	ParallelSort *sort = (ParallelSort *) node;

	sort->shared = place;
	team_attach(shared_team(sort, 0));
	for (int i = 0; i < sort->nbeside; i++)
		if (sort->beside[i].ncolumns > 0)
			team_attach(shared_team(sort, i + 1));
}

/* Notes the reports of the sorts before the shared memory goes that has them. */
static void
note_report(ParallelSort *sort)
{
	SharedParts *parts = team_shared_parts(shared_team(sort, 0));
	ParallelSortReport *report = &sort->report;

	if (pg_atomic_read_u32(&sort->shared->sorted) == 0)
		return;
	pg_read_barrier();
	report->sorted = true;
	report->sort = sort->shared->report;

	/*
	 * its count does not tell who is a worker; the members are shown instead
	 */
	report->sort.workers = 0;
	for (int i = 0; i < sort->nbeside; i++)
	{
		sort->beside[i].report = shared_beside(sort, i)->report;
		sort->beside[i].report.workers = 0;
	}
	report->nparts = pg_atomic_read_u64(&parts->nemitted);
	report->nemitters = pg_atomic_read_u32(&parts->nemitters);
	report->most_rows = pg_atomic_read_u64(&parts->most_rows);
}

/*
 * Ends the sort of several processes, when no more rows will be wanted, and
 * before the parallel context goes.  Also called between fetches from a
 * cursor, which has no workers.
 */
void
parallel_sort_shutdown(CustomScanState *node)
{
	ParallelSort *sort = (ParallelSort *) node;

	if (sort->shared != NULL && has_others(sort))
	{
		note_report(sort);
		forget_rows(sort);
		sort->ready = true;
	}
	sort->shared = NULL;
	sort->context = NULL;
}

void
parallel_sort_explain(const ParallelSort *sort, ExplainState *es)
{
	const ParallelSortReport *report = &sort->report;

	if (!es->analyze || !report->sorted)
		return;
	explain_sort_report(&report->sort, es);
	if (report->nparts > 0)
	{
		ExplainPropertyUInteger("Parts Emitted", NULL, report->nparts, es);
		ExplainPropertyInteger("Processes Emitting", NULL, report->nemitters,
							   es);
		ExplainPropertyUInteger("Most Rows of a Process", NULL, report->most_rows,
								es);
	}
}
