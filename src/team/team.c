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
 * is full, the member keeps this and all later rows: in runs, or, if it is
 * the collector, in the sort of all rows (member_sort.c).  A collector that emits all rows puts its
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

#include "port/timing.h"
#include "settings.h"
#include "team/row_deposit.h"
#include "team/team.h"

/*
 * A member has one part in KEPT_ROWS_PART of its memory for rows that it keeps.
 */
#define KEPT_ROWS_PART		5

/* The least that it keeps: core's sorts have as much, whatever the setting. */
#define LEAST_KEPT_BYTES	((Size) 64 * 1024)

/* Behind it are the SharedRows. */
struct TeamShared
{
	TeamTerms	terms;
	CollectorLimits limits;		/* memory of all members */
	SharedKeptRows kept;		/* rows in files, and the decision of all */
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
	MemberSort	sort;			/* rows kept, or those of all */
	bool		may_merge;		/* has runs, which it may have to send in
								 * parts */
	bool		may_gather;		/* may have to send slices */

	/* in the collector */
	RowCollector *collector;	/* NULL: another process collects */
	bool		shares_order;	/* all of its rows can be in shared memory */
	instr_time	started;
	TeamReport	report;
	GatheredRows *gathered;		/* rows that workers send, or NULL */
};

/* The part of the shared memory behind the TeamShared. */
static SharedRows *
shared_rows(TeamShared *shared)
{
	return (SharedRows *) ((char *) shared + MAXALIGN(sizeof(TeamShared)));
}

/* The decision of all, also before there are runs. */
static LeaderDecision *
shared_decision(TeamShared *shared)
{
	return &shared->kept.runs.decision;
}

Size
team_size(int nparticipants)
{
	return MAXALIGN(sizeof(TeamShared)) + shared_rows_size(nparticipants);
}

/* Divides the memory of all members. */
static CollectorLimits
divide_memory(const TeamTerms *terms)
{
	Size		memory = gpusort_memory_limit();
	CollectorLimits limits;

	limits.kept_rows = terms->keep_rows ? memory :
		Min(memory, Max(memory / KEPT_ROWS_PART, LEAST_KEPT_BYTES));
	limits.rows = terms->nparticipants * (memory - limits.kept_rows);
	limits.merge = terms->nparticipants * limits.kept_rows;
	return limits;
}

/* Sets all but the kept rows. */
static void
set_terms(TeamShared *shared, const TeamTerms *terms)
{
	int			nworkers = terms->nparticipants - 1;

	shared->terms = *terms;
	shared->limits = divide_memory(terms);
	shared_slices_init(&shared->slices);
	shared_gather_init(&shared->gather, nworkers,
					   shared->limits.rows > 0 ?
					   terms->expected_to_send : 0);
	shared_rows_init(shared_rows(shared), terms->nparticipants,
					 shared->limits.rows);
}

void
team_init(TeamShared *shared, ParallelContext *context,
		  const TeamTerms *terms)
{
	set_terms(shared, terms);
	shared_kept_rows_init(&shared->kept, context,
						  shared->limits.kept_rows);
}

void
team_reset(TeamShared *shared, const TeamTerms *terms)
{
	set_terms(shared, terms);
	shared_kept_rows_reset(&shared->kept, shared->limits.kept_rows);
}

void
team_attach(TeamShared *shared)
{
	shared_kept_rows_attach(&shared->kept);
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

	INSTR_TIME_SET_CURRENT(team->started);
	team->collector = row_collector_begin(shared_rows(shared),
										  team->segments);
	member_sort_begin_all(&team->sort, &shared->kept, &team->rows,
						  team->collector, shared->terms.nparticipants,
						  shared->limits.rows == 0, &shared->limits);
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
		member_sort_prepare(&team->sort, &shared->kept, rows);
	MemoryContextSwitchTo(caller_context);
	if (is_collector)
		return TEAM_COLLECTS;
	return team->deposit != NULL ? TEAM_DEPOSITS : TEAM_LATE;
}

/* In the collector: takes what members have sent until now. */
static inline void
take_sent(Team *team)
{
	if (unlikely(row_exchange_has_batches(&shared_rows(team->shared)->exchange)))
		member_sort_take_sent(&team->sort);
}

void
team_put(Team *team, TupleTableSlot *slot)
{
	if (unlikely(team->keeps_rows) ||
		unlikely(!row_deposit_put(team->deposit, slot)))
	{
		team->keeps_rows = true;
		member_sort_put(&team->sort, slot);
	}
	if (team->collector != NULL)
		take_sent(team);
}

void
team_finish(Team *team)
{
	bool		is_collector = team->collector != NULL;

	if (!is_collector)
	{
		member_sort_finish(&team->sort);
		team->may_gather = team->sort.nkept == 0 &&
			shared_gather_offer(&team->shared->gather);
	}
	if (!is_collector && team->progress != NULL)
		sort_progress_enter(team->progress, PROGRESS_WAITING_FOR_LEADER);
	if (team->deposit != NULL)
		row_deposit_finish(team->deposit,
						   is_collector ? 0 : team->sort.nkept);
}

/* Takes all rows, until all members have finished. */
static void
take_rest(Team *team)
{
	do
		member_sort_take_sent(&team->sort);
	while (row_collector_wait(team->collector));
	team->report.workers = row_collector_workers(team->collector);
	team->report.kept_rows = row_collector_kept(team->collector);
}

bool
team_order(Team *team)
{
	instr_time	filled;
	bool		sorted;

	take_rest(team);
	team->report.fill_microseconds = microseconds_since(team->started);
	INSTR_TIME_SET_CURRENT(filled);
	sorted = member_sort_perform(&team->sort);
	team->report.sort_microseconds = microseconds_since(filled);
	return sorted;
}

ExternalSort *
team_sort(Team *team)
{
	return &team->sort.external;
}

MinimalTuple
team_take_back(Team *team)
{
	return member_sort_take_back(&team->sort);
}

TeamReport
team_report(const Team *team)
{
	return team->report;
}

const TeamRows *
team_rows(const Team *team)
{
	return &team->rows;
}

Size
team_kept_bytes(const Team *team)
{
	return team->shared->limits.kept_rows;
}

/* Shares the order for all to emit slices of it; false if there is no memory for that. */
static bool
share_order(Team *team)
{
	TeamShared *shared = team->shared;
	RowOrder   *order = team->sort.external.order;

	if (!shared_slices_share(&shared->slices, order, team->collector,
							 shared_slices_even(order->nentries,
												shared->terms.nparticipants),
							 shared->limits.rows))
		return false;
	member_sort_end(&team->sort);
	return true;
}

/* Begins to have workers send slices; false if that does not pay, or memory is too little. */
static bool
begin_gathering(Team *team)
{
	TeamShared *shared = team->shared;
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);

	if (team->shares_order)
		team->gathered = gathered_rows_begin(&shared->gather, &shared->slices,
											 team->sort.external.order,
											 team->collector,
											 shared->limits.rows);
	MemoryContextSwitchTo(caller_context);
	return team->gathered != NULL;
}

TeamWork
team_decide(Team *team, TeamWork wish)
{
	bool		done = false;

	if (wish != WORK_NONE && member_sort_is_shared(&team->sort))
		done = wish == WORK_SEND_SLICES ? begin_gathering(team) :
			share_order(team);
	leader_decision_make(shared_decision(team->shared),
						 done ? wish : WORK_NONE);
	return team_await(team->shared);
}

GatheredRows *
team_gathered(Team *team)
{
	return team->gathered;
}

bool
team_help(Team *team)
{
	team->may_merge = member_sort_merge(&team->sort);
	row_deposit_end(team->deposit);
	team->deposit = NULL;
	return team->may_merge || team->may_gather;
}

void
team_help_later(Team *team)
{
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);

	if (team->may_merge)
		member_sort_send_parts(&team->sort);
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
	if (team->gathered != NULL)
		gathered_rows_end(team->gathered);
	member_sort_end(&team->sort);
	row_segments_end(team->segments);
	MemoryContextDelete(team->context);
}
