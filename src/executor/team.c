/*-------------------------------------------------------------------------
 *
 * team.c
 *	  Processes that sort the rows of one plan node together.
 *
 * A team is all processes that sort one set of rows: a leader and its workers.  Each
 * member takes its share of the child's rows, and puts them.  One of them, the
 * collector, sorts the rows of all:
 *
 *		join --> put rows --> finish --> order --> decide --> emit
 *
 *	- Below a Gather Merge the leader collects, and emits all rows (node_gpusort.c).
 *	- Where every process that runs the plan may emit rows, the first to come is
 *	  elected to collect (parallel_sort.c).
 *
 * A row that is put goes to shared memory, and stays there (row_deposit.c).  If that
 * is full, the member keeps this and all later rows: in runs (kept_rows.c), or, if it
 * is the collector, in the sort of all rows.  A collector that emits all rows puts its
 * own to that sort at once, which is faster, unless members are expected to send rows
 * in their order: then all have to be in shared memory.
 *
 * When all members have finished, nobody else can join, and the collector makes the
 * order.  It decides once what the members do then (leader_decision.h).  A member has
 * its shared memory mapped until the collector has mapped it, too.
 *
 * A member waits only before it has emitted its first row, and the collector waits
 * only for members that have joined.  So nobody is waited for that could wait, in turn,
 * for room in a tuple queue, or has never started.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "executor/team.h"
#include "shared_state.h"
#include "team/kept_rows.h"
#include "team/row_deposit.h"

/* Behind it are the SharedRows and the SharedKeptRows. */
struct TeamShared
{
	TeamTerms	terms;
	SharedMemoryLimits limits;	/* memory of all members */
	SharedSlices slices;		/* order of the rows, if it is shared */
	SharedGather gather;		/* how slices are sent to the collector */
};

struct Team
{
	MemoryContext context;		/* owns all that the member has */
	TeamShared *shared;
	TeamRows	rows;
	int			number;			/* of this member */
	SortProgress *progress;		/* the caller's, or NULL */
	RowSegments *segments;		/* shared memory of all members */
	RowDeposit *deposit;		/* what takes rows to shared memory, or NULL */
	bool		keeps_rows;		/* no more rows go there */
	KeptRows	kept;			/* rows kept, if another process collects */
	RowCollector *collector;	/* in the collector */
	RowSort    *sort;			/* sort of all rows, in the collector */
	bool		shares_order;	/* all of its rows can be in shared memory */
	bool		may_merge;		/* has runs, which it may have to send in
								 * parts */
	bool		may_gather;		/* may have to send slices */
};

/* The parts of the shared memory behind the TeamShared. */
static SharedRows *
shared_rows(TeamShared *shared)
{
	return (SharedRows *) ((char *) shared + MAXALIGN(sizeof(TeamShared)));
}

static SharedKeptRows *
shared_kept_rows(TeamShared *shared)
{
	return (SharedKeptRows *)
		((char *) shared_rows(shared) +
		 MAXALIGN(shared_rows_size(shared->terms.nparticipants)));
}

/* The decision of all, also before there are runs. */
static LeaderDecision *
shared_decision(TeamShared *shared)
{
	return &shared_kept_rows_runs(shared_kept_rows(shared))->decision;
}

Size
team_size(int nparticipants)
{
	return MAXALIGN(sizeof(TeamShared)) +
		MAXALIGN(shared_rows_size(nparticipants)) +
		shared_kept_rows_size();
}

/* Sets all but the kept rows. */
static void
set_terms(TeamShared *shared, const TeamTerms *terms)
{
	int			nworkers = terms->nparticipants - 1;

	shared->terms = *terms;
	shared->limits = row_sort_divide_memory(nworkers, terms->keep_rows);
	shared_slices_init(&shared->slices);
	shared_gather_init(&shared->gather, nworkers,
					   shared->limits.shared_rows > 0 ?
					   terms->expected_to_send : 0);
	shared_rows_init(shared_rows(shared), terms->nparticipants,
					 shared->limits.shared_rows);
}

void
team_init(TeamShared *shared, ParallelContext *context,
		  const TeamTerms *terms)
{
	set_terms(shared, terms);
	shared_kept_rows_init(shared_kept_rows(shared), context,
						  shared->limits.kept_rows);
}

void
team_reset(TeamShared *shared, const TeamTerms *terms)
{
	set_terms(shared, terms);
	shared_kept_rows_reset(shared_kept_rows(shared),
						   shared->limits.kept_rows);
}

void
team_attach(TeamShared *shared)
{
	shared_kept_rows_attach(shared_kept_rows(shared));
}

bool
team_has_others(const TeamShared *shared, const ParallelContext *context)
{
	return shared != NULL &&
		(IsParallelWorker() || context->nworkers_launched > 0);
}

Team *
team_begin(TeamShared *shared, const TeamRows *rows, SortProgress *progress)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort team",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(context);
	Team	   *team = palloc0(sizeof(Team));

	team->context = context;
	team->shared = shared;
	team->rows = *rows;
	team->number = IsParallelWorker() ? ParallelWorkerNumber :
		shared->terms.nparticipants - 1;
	team->progress = progress;
	team->segments = row_segments_begin(shared_rows(shared));
	MemoryContextSwitchTo(caller_context);
	return team;
}

/* Is this member to collect the rows? */
static bool
collects(Team *team)
{
	return team->shared->terms.elects ?
		shared_rows_elect(shared_rows(team->shared)) : !IsParallelWorker();
}

/* Begins the sort of the rows of all members. */
static void
begin_collecting(Team *team)
{
	TeamShared *shared = team->shared;
	const TeamRows *rows = &team->rows;
	SharedRuns *runs = shared_kept_rows_runs(shared_kept_rows(shared));

	team->collector = row_collector_begin(shared_rows(shared),
										  team->segments);
	team->sort = row_sort_begin_leader(rows->descriptor, rows->columns,
									   rows->ncolumns,
									   rows->expected_rows * shared->terms.nparticipants,
									   rows->bound, &shared->limits,
									   team->collector, runs, rows->help);
	row_sort_limit_groups(team->sort, rows->limit);
}

TeamRole
team_join(Team *team, int nworkers)
{
	TeamShared *shared = team->shared;
	const TeamRows *rows = &team->rows;
	bool		is_collector = collects(team);
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);

	team->shares_order = shared->terms.elects ||
		(is_collector && shared_gather_is_expected(&shared->gather, nworkers));
	if (!is_collector || team->shares_order)
		team->deposit = row_deposit_begin(shared_rows(shared), team->segments,
										  team->number, rows->descriptor,
										  rows->columns, rows->ncolumns,
										  team->progress);
	team->keeps_rows = team->deposit == NULL;
	if (is_collector)
		begin_collecting(team);
	else
		kept_rows_init(&team->kept, shared_kept_rows(shared),
					   rows->descriptor, rows->columns, rows->ncolumns,
					   rows->expected_rows, rows->bound, rows->limit);
	MemoryContextSwitchTo(caller_context);
	if (is_collector)
		return TEAM_COLLECTS;
	return team->deposit != NULL ? TEAM_DEPOSITS : TEAM_LATE;
}

/* Keeps a row that does not go to shared memory. */
static inline void
keep_row(Team *team, TupleTableSlot *slot)
{
	team->keeps_rows = true;
	if (team->sort != NULL)
		row_sort_put(team->sort, slot);
	else
		kept_rows_put(&team->kept, slot);
}

void
team_put(Team *team, TupleTableSlot *slot)
{
	if (unlikely(team->keeps_rows) ||
		unlikely(!row_deposit_put(team->deposit, slot)))
		keep_row(team, slot);
	else if (team->sort != NULL)
		row_sort_take_sent(team->sort);
}

/* Writes the rest of the rows that this member keeps; offers help. */
static void
finish_kept_rows(Team *team)
{
	kept_rows_end(&team->kept);
	team->may_gather = team->kept.nrows == 0 &&
		shared_gather_offer(&team->shared->gather);
}

void
team_finish(Team *team)
{
	bool		is_collector = team->sort != NULL;

	if (!is_collector)
		finish_kept_rows(team);
	if (!is_collector && team->progress != NULL)
		sort_progress_enter(team->progress, PROGRESS_WAITING_FOR_LEADER);
	if (team->deposit != NULL)
		row_deposit_finish(team->deposit, is_collector ? 0 : team->kept.nrows);
}

RowSort *
team_order(Team *team)
{
	if (row_sort_take_rest(team->sort) > 0 &&
		!shared_kept_rows_have_keys(shared_kept_rows(team->shared)))
		row_sort_give_up_keys(team->sort);
	row_sort_perform(team->sort);
	return team->sort;
}

/* Shares the order of all rows; false if there is no memory for that. */
static bool
share_order(Team *team)
{
	TeamShared *shared = team->shared;
	RowOrder   *order = row_sort_shared_order(team->sort);

	return order != NULL &&
		shared_slices_share(&shared->slices, order,
							team->collector,
							shared_slices_even(order->nentries,
											   shared->terms.nparticipants),
							shared->limits.shared_rows);
}

TeamWork
team_decide(Team *team, TeamWork wish)
{
	TeamShared *shared = team->shared;
	bool		done = false;

	if (wish == WORK_SEND_SLICES)
		done = row_sort_gather(team->sort, &shared->gather, &shared->slices,
							   team->shares_order ?
							   shared->limits.shared_rows : 0);
	else if (wish == WORK_EMIT_SLICES)
		done = share_order(team);
	leader_decision_make(shared_decision(shared), done ? wish : WORK_NONE);
	return team_await(shared);
}

bool
team_help(Team *team)
{
	team->may_merge = kept_rows_merge(&team->kept);
	row_deposit_end(team->deposit);
	team->deposit = NULL;
	return team->may_merge || team->may_gather;
}

void
team_help_later(Team *team)
{
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);

	if (team->may_merge)
		kept_rows_send_parts(&team->kept);
	else if (team_await(team->shared) == WORK_SEND_SLICES)
		gather_rows(&team->shared->gather, &team->shared->slices,
					team->segments);
	MemoryContextSwitchTo(caller_context);
}

bool
team_is_undecided(TeamShared *shared)
{
	return leader_decision_is_open(shared_decision(shared));
}

TeamWork
team_await(TeamShared *shared)
{
	return leader_decision_await(shared_decision(shared));
}

SliceReader *
team_slices(Team *team, const RowComparator *groups)
{
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);
	SliceReader *reader = slice_reader_begin(&team->shared->slices,
											 team->segments, groups,
											 team->progress);

	MemoryContextSwitchTo(caller_context);
	return reader;
}

SharedSlices *
team_shared_slices(TeamShared *shared)
{
	return &shared->slices;
}

void
team_leave(Team *team)
{
	row_segments_end(team->segments);
	MemoryContextDelete(team->context);
}
