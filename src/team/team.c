/*-------------------------------------------------------------------------
 *
 * team.c
 *	  Processes that sort the rows of one plan node together.
 *
 * A team is all processes that sort one set of rows together: the leader of a
 * parallel query and its workers.  Each process is a member.  A member takes
 * its share of the child's rows, and puts them.  One member, the collector,
 * sorts the rows of all:
 *
 *	join --> put rows --> finish --> order --> decide --> emit
 *
 *	- Below a Gather Merge the leader is the collector, and emits all rows
 *	  (node_gpusort.c).
 *	- Where every process that runs the plan may emit rows, the first member to
 *	  come is the collector (parallel_sort.c).
 *
 * A member puts a row into shared memory, where the row stays (row_deposit.c).
 * If shared memory is full, the member keeps this and all later rows: it sorts
 * them into runs, or, in the collector, puts them into the sort of all rows
 * (member_sort.c).  A collector that emits all rows puts its own rows into
 * that sort at once, which is faster.  If members are expected to send rows in
 * their order, the collector's rows have to be in shared memory, too.
 *
 * If only the first rows of each group are wanted, each member leaves out rows
 * of its share that cannot be among them (group_thresholds.c).
 *
 * When all members have finished, no other process can join, and the collector
 * makes the order.  Then it decides once what all members do with the parts of
 * the order (parts.c).  A member keeps its shared memory mapped until the
 * collector has mapped it, too.
 *
 * A member waits for others only before it emits its first row.  The exception
 * is a collector to which members send parts: it waits for the next part.  The
 * collector waits only for members that have joined.  So nobody waits for a
 * process that has never started, or that in turn waits for room in a tuple
 * queue.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "utils/memutils.h"

#include "port/timing.h"
#include "settings.h"
#include "sort/group_thresholds.h"
#include "team/row_deposit.h"
#include "team/team.h"

/*
 * A member has 1/KEPT_ROWS_PART of its memory for rows that it keeps, unless
 * all members keep their rows: then it has all of it.
 */
#define KEPT_ROWS_PART		5

/*
 * The least memory for rows that a member keeps: core's sorts have as much,
 * whatever the setting.
 */
#define LEAST_KEPT_BYTES	((Size) 64 * 1024)

/* The fewest rows that workers send in their order, and the fewest workers that do so. */
#define LEAST_SENT_ROWS		5000000
#define LEAST_SENDERS		4

/* Memory of a worker that sends slices, and how much of it a slice is to take. */
#define SENDER_BYTES		((Size) 2 * 1024 * 1024)
#define SLICE_BYTES			(SENDER_BYTES / 2)

/* The state that all members share.  The SharedRows lie behind it. */
struct TeamShared
{
	TeamTerms	terms;
	CollectorLimits limits;		/* how the memory of all members is divided */
	bool		sends_slices;	/* members may have to send slices */
	pg_atomic_uint64 nleft_out; /* rows that members have left out */
	SharedKeptRows kept;		/* rows that members keep, in files */
	SharedParts parts;			/* parts of the order of all rows */
	SharedSlices slices;		/* slices: parts of rows in shared memory */
};

struct Team
{
	MemoryContext context;		/* owns all that the member has */
	TeamShared *shared;
	TeamRows	rows;
	int			number;			/* of this member */
	SortProgress *progress;		/* the caller's progress, or NULL */
	RowSegments *segments;		/* shared memory of all members */
	RowDeposit *deposit;		/* writes rows to shared memory, or NULL */
	GroupThresholds *thresholds;	/* tell which rows need not be put, or
									 * NULL */
	uint64		nleft_out;		/* rows that were not put, as nobody wants
								 * them */
	bool		keeps_rows;		/* further rows do not go to shared memory */
	MemberSort	sort;			/* sort of the rows kept, or of all rows */
	bool		has_runs;		/* this member, not the collector, has written
								 * sorted runs */

	/* in the collector */
	RowCollector *collector;	/* NULL: another process collects */
	bool		shares_order;	/* the collector's rows go to shared memory,
								 * too, so that others can read all rows */
	instr_time	started;
	TeamReport	report;
	bool		by_keys;		/* the rows of all are sorted */
	TeamWork	work;			/* what will be announced */
	MergedRuns	merge;			/* the runs of all */
	SharedOrderRoom room;		/* where the order is to be, if it is shared */
	PartReader *slices;			/* reader of slices, some of which members
								 * send, or NULL */
};

/* Returns the SharedRows, which lie behind the TeamShared. */
static SharedRows *
shared_rows(TeamShared *shared)
{
	return (SharedRows *) ((char *) shared + MAXALIGN(sizeof(TeamShared)));
}

Size
team_size(int nmembers)
{
	return MAXALIGN(sizeof(TeamShared)) + shared_rows_size(nmembers);
}

/*
 * Returns whether it can pay that nworkers workers send nrows rows in their
 * order, instead of the collector fetching these rows.  It cannot if workers
 * and leader do not have a processor each.
 */
static bool
sending_pays(int nworkers, double nrows)
{
	switch (gpusort_gather_rows)
	{
		case GATHER_ON:
			return nworkers > 0 && nrows > 0;
		case GATHER_AUTO:
			return nworkers >= LEAST_SENDERS && nrows >= LEAST_SENT_ROWS &&
				sysconf(_SC_NPROCESSORS_ONLN) > nworkers;
		default:
			return false;
	}
}

/* Divides the memory of all members, in bytes. */
static CollectorLimits
divide_memory(const TeamTerms *terms)
{
	Size		memory = terms->memory;
	CollectorLimits limits;

	if (terms->limits_groups)
		memory -= group_thresholds_most_bytes(memory);
	limits.kept_rows = terms->keep_rows ? memory :
		Min(memory, Max(memory / KEPT_ROWS_PART, LEAST_KEPT_BYTES));
	limits.rows = terms->nmembers * (memory - limits.kept_rows);
	limits.merge = terms->nmembers * limits.kept_rows;
	return limits;
}

/* Sets the shared state, but for the kept rows. */
static void
set_terms(TeamShared *shared, const TeamTerms *terms)
{
	int			nworkers = terms->nmembers - 1;

	shared->terms = *terms;
	shared->limits = divide_memory(terms);
	pg_atomic_init_u64(&shared->nleft_out, 0);
	shared_slices_init(&shared->slices);
	shared_parts_init(&shared->parts);
	shared->sends_slices = shared->limits.rows > 0 &&
		sending_pays(nworkers, terms->expected_to_send);
	shared_rows_init(shared_rows(shared), terms->nmembers,
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
		shared->terms.nmembers - 1;
	team->progress = progress;
	team->segments = row_segments_begin(shared_rows(shared));
	member_sort_prepare(&team->sort, &shared->kept, &team->rows);
	MemoryContextSwitchTo(caller_context);
	return team;
}

/* Returns whether this member is the collector. */
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
	member_sort_begin_all(&team->sort, team->collector,
						  shared->terms.nmembers,
						  shared->limits.rows == 0, &shared->limits);
}

/* Joins the team, as its collector or not. */
static TeamRole
join(Team *team, bool is_collector, int nworkers)
{
	TeamShared *shared = team->shared;
	const TeamRows *rows = &team->rows;
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);

	team->shares_order = shared->terms.elects ||
		(is_collector && shared->sends_slices &&
		 sending_pays(nworkers, shared->terms.expected_to_send));
	if (!is_collector || team->shares_order)
		team->deposit = row_deposit_begin(shared_rows(shared), team->segments,
										  team->number, rows->descriptor,
										  rows->columns, rows->ncolumns,
										  team->progress);
	team->keeps_rows = team->deposit == NULL;
	if (is_collector)
		begin_collecting(team);
	if (rows->limit != NULL)
		team->thresholds = group_thresholds_begin(rows->limit,
												  rows->descriptor,
												  rows->columns,
												  rows->ncolumns,
												  rows->expected_rows);
	MemoryContextSwitchTo(caller_context);
	if (is_collector)
		return TEAM_COLLECTS;
	return team->deposit != NULL ? TEAM_DEPOSITS : TEAM_LATE;
}

TeamRole
team_join(Team *team, int nworkers)
{
	return join(team, collects(team), nworkers);
}

void
team_join_beside(Team *team, bool is_collector)
{
	/* the collector does not close this team before the first one */
	if (join(team, is_collector, 0) == TEAM_LATE)
		elog(ERROR, "a team was closed while members put rows");
}

/* Takes the rows that members have sent so far, in the collector. */
static inline void
take_sent(Team *team)
{
	if (unlikely(row_exchange_has_batches(&shared_rows(team->shared)->exchange)))
		member_sort_take_sent(&team->sort);
}

/* Counts a row that is not put. */
static inline void
count_left_out(Team *team)
{
	team->nleft_out++;
	if (team->collector != NULL)
		member_sort_leave_out(&team->sort);
	else if (team->progress != NULL)
		sort_progress_add(team->progress, 1);
}

/* Returns whether a row need not be put; counts it if so. */
static pg_noinline bool
leaves_out(Team *team, TupleTableSlot *slot)
{
	if (!group_thresholds_leave_out(&team->thresholds, slot))
		return false;
	count_left_out(team);
	return true;
}

/* Puts a row that has not been left out. */
static inline void
put_row(Team *team, TupleTableSlot *slot)
{
	if (unlikely(team->keeps_rows) ||
		unlikely(!row_deposit_put(team->deposit, slot)))
	{
		team->keeps_rows = true;
		member_sort_put(&team->sort, slot);
	}
}

void
team_put(Team *team, TupleTableSlot *slot)
{
	if (likely(team->thresholds == NULL) || !leaves_out(team, slot))
		put_row(team, slot);
	if (team->collector != NULL)
		take_sent(team);
}

/*
 * Returns whether this member may have to send slices.  Only a member all of
 * whose rows are in shared memory may.
 */
static bool
may_send_slices(const Team *team)
{
	return team->shared->sends_slices && team->sort.nkept == 0;
}

void
team_finish(Team *team)
{
	bool		is_collector = team->collector != NULL;

	group_thresholds_end(&team->thresholds);
	pg_atomic_fetch_add_u64(&team->shared->nleft_out, team->nleft_out);
	if (!is_collector)
	{
		team->has_runs = member_sort_finish(&team->sort);
		if (team->has_runs || may_send_slices(team))
			shared_parts_offer(&team->shared->parts);
		if (team->progress != NULL)
			sort_progress_enter(team->progress, PROGRESS_WAITING_FOR_LEADER);
	}
	if (team->deposit != NULL)
		row_deposit_finish(team->deposit,
						   is_collector ? 0 : team->sort.nkept);
}

/* Takes the rows of the other members until all have finished. */
static void
take_rest(Team *team)
{
	do
		member_sort_take_sent(&team->sort);
	while (row_collector_wait(team->collector));
	team->report.workers = row_collector_workers(team->collector);
	team->report.kept_rows = row_collector_kept(team->collector);
	team->report.left_out_rows =
		pg_atomic_read_u64(&team->shared->nleft_out);
}

/* Returns the memory for rows and their order in shared memory. */
static Size
memory_of_slices(Team *team)
{
	TeamShared *shared = team->shared;
	Size		limit = shared->limits.rows;
	Size		bytes_of_senders = shared->terms.elects ? 0 :
		shared_parts_helpers(&shared->parts) * SENDER_BYTES;

	return limit - Min(limit, bytes_of_senders);
}

/* May the order be shared, before it is made? */
static bool
may_share_order(const Team *team)
{
	TeamShared *shared = team->shared;

	return team->shares_order && member_sort_is_shared(&team->sort) &&
		(shared->terms.elects ||
		 sending_pays(shared_parts_helpers(&shared->parts),
					  team->sort.external.order->store->nrows));
}

bool
team_order(Team *team, bool in_slices)
{
	instr_time	filled;

	take_rest(team);
	team->report.fill_microseconds = microseconds_since(team->started);
	INSTR_TIME_SET_CURRENT(filled);
	if (in_slices && may_share_order(team))
		shared_order_expect(&team->room, &team->shared->slices.order,
							team->sort.external.order, team->collector,
							&team->shared->parts.decision,
							memory_of_slices(team));
	team->by_keys = member_sort_perform(&team->sort);
	team->report.sort_microseconds = microseconds_since(filled);
	return team->by_keys;
}

ExternalSort *
team_sort(Team *team)
{
	return &team->sort.external;
}

bool
team_has_runs(const Team *team)
{
	return member_sort_has_runs(&team->sort);
}

int
team_merged_parts(const Team *team)
{
	return team->merge.shared == NULL || team->merge.work == WORK_NONE ? 0 :
		team->shared->parts.nparts;
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

/* Prepares the merge of all runs; returns the work that members will do. */
static TeamWork
prepare_merge(Team *team, TeamWork wish)
{
	TeamShared *shared = team->shared;
	int			nmembers = shared->terms.nmembers;

	merged_runs_begin(&team->merge, &shared->kept.runs, &shared->parts,
					  run_order_of_rows(team->sort.external.order),
					  &run_of_minimal_tuples, shared->limits.merge);
	if (wish == WORK_SEND_PARTS &&
		!merged_runs_prepare(&team->merge, wish, nmembers))
		wish = WORK_WRITE_PARTS;
	if (wish == WORK_WRITE_PARTS || wish == WORK_EMIT_PARTS)
		(void) merged_runs_prepare(&team->merge, wish, nmembers);
	team->sort.external.memory = merged_runs_disk(&team->merge);
	return team->merge.work;
}

/*
 * Shares the order, and divides it into slices.  Returns false if there is not
 * enough memory.
 */
static bool
share_order(Team *team, uint64 slice_rows)
{
	TeamShared *shared = team->shared;

	return shared_slices_share(&shared->slices, &shared->parts,
							   team->sort.external.order, team->collector,
							   slice_rows, memory_of_slices(team));
}

/* Prepares slices for all members to emit; false if memory is too small. */
static bool
prepare_to_emit(Team *team)
{
	uint64		nrows = team->sort.external.order->nentries;

	return share_order(team, shared_slices_even(nrows,
												team->shared->terms.nmembers));
}

/*
 * Prepares slices for members to send to this process; false if that does not
 * pay, or memory is too small.
 */
static bool
prepare_to_receive(Team *team)
{
	TeamShared *shared = team->shared;
	RowOrder   *order = team->sort.external.order;
	int			nhelpers = shared_parts_helpers(&shared->parts);
	Size		row_bytes = row_store_row_bytes(order->store);
	PartMaker  *maker;

	if (!team->shares_order || !sending_pays(nhelpers, order->nentries) ||
		!share_order(team, Max(SLICE_BYTES / Max(row_bytes, 1), 1)))
		return false;
	maker = slice_maker_begin(&shared->slices, team->segments, NULL);
	team->slices = part_reader_begin_sent(&shared->parts, maker, SENDER_BYTES,
										  true);
	if (team->slices != NULL)
		return true;
	maker->methods->end(maker, false);
	return false;
}

/* Prepares work with rows in shared memory; returns what was prepared. */
static TeamWork
prepare_slices(Team *team, TeamWork wish)
{
	if (!member_sort_is_shared(&team->sort))
		return WORK_NONE;
	switch (wish)
	{
		case WORK_EMIT_PARTS:
			return prepare_to_emit(team) ? wish : WORK_NONE;
		case WORK_SEND_PARTS:
			return prepare_to_receive(team) ? wish : WORK_NONE;
		default:
			return WORK_NONE;
	}
}

TeamWork
team_prepare(Team *team, TeamWork wish)
{
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);

	if (!team->by_keys)
		team->work = WORK_NONE;
	else if (team_has_runs(team))
		team->work = prepare_merge(team, wish);
	else
		team->work = prepare_slices(team, wish);
	MemoryContextSwitchTo(caller_context);
	return team->work;
}

void
team_announce(Team *team)
{
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);

	if (team->merge.shared != NULL)
	{
		merged_runs_announce(&team->merge);
		team->sort.external.memory = merged_runs_disk(&team->merge);
	}
	else
	{
		leader_decision_make(&team->shared->parts.decision, team->work);
		if (team->work == WORK_EMIT_PARTS)
			member_sort_end(&team->sort);
	}
	MemoryContextSwitchTo(caller_context);
}

RowReader *
team_rows_in_order(const Team *team)
{
	return team->slices != NULL ? part_reader_rows(team->slices) :
		merged_runs_rows(&team->merge);
}

uint64
team_rows_sent(const Team *team)
{
	return team->slices != NULL ? part_reader_sent(team->slices) : 0;
}

void
team_stop(Team *team)
{
	if (team->slices != NULL)
		part_reader_stop(team->slices);
	merged_runs_stop(&team->merge);
}

bool
team_hand_over(Team *team)
{
	/*
	 * the deposit's segments stay mapped until the collector has mapped them
	 */
	row_deposit_end(team->deposit);
	team->deposit = NULL;
	return team->has_runs || may_send_slices(team);
}

/* Writes or sends parts of the merge of all runs. */
static void
help_to_merge(Team *team, TeamWork work)
{
	SharedKeptRows *kept = &team->shared->kept;
	RowOrder   *order = member_sort_comparing(&team->sort);

	if (order == NULL)
		return;
	sort_progress_enter(team->sort.external.progress, PROGRESS_MERGING_RUNS);
	merged_runs_help(&kept->runs, &team->shared->parts, work,
					 run_order_of_rows(order), &run_of_minimal_tuples, NULL);
}

/* Sends slices of rows in shared memory, if the rows are still there. */
static void
send_slices(Team *team)
{
	PartMaker  *maker = slice_maker_begin(&team->shared->slices,
										  team->segments, NULL);

	if (maker == NULL)
		return;
	parts_send(&team->shared->parts, maker);
	maker->methods->end(maker, false);
}

TeamWork
team_await(Team *team)
{
	SharedSlices *slices = &team->shared->slices;
	LeaderDecision *decision = &team->shared->parts.decision;

	if (leader_decision_await_or(decision, &slices->order.has_room) ==
		WORK_UNDECIDED)
		shared_slices_find_rows(slices, team->segments);
	return leader_decision_await(decision);
}

void
team_work(Team *team)
{
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);
	SharedParts *parts = &team->shared->parts;
	TeamWork	work = team_await(team);

	if (work == WORK_SEND_PARTS && !parts->of_runs)
		send_slices(team);
	else if (work == WORK_SEND_PARTS || work == WORK_WRITE_PARTS)
		help_to_merge(team, work);
	MemoryContextSwitchTo(caller_context);
}

bool
team_is_undecided(TeamShared *shared)
{
	return leader_decision_is_open(&shared->parts.decision);
}

/*
 * Makes the maker of the parts that this member emits; NULL if it can make
 * none.
 */
static PartMaker *
begin_to_make(Team *team, const RowComparator *groups)
{
	TeamShared *shared = team->shared;
	RowOrder   *order;

	if (!shared->parts.of_runs)
		return slice_maker_begin(&shared->slices, team->segments, groups);
	order = member_sort_comparing(&team->sort);
	return order == NULL ? NULL :
		part_merge_maker(part_merge_begin(&shared->kept.runs, &shared->parts,
										  run_order_of_rows(order),
										  &run_of_minimal_tuples, groups));
}

PartReader *
team_parts(Team *team, const RowComparator *groups)
{
	MemoryContext caller_context = MemoryContextSwitchTo(team->context);
	PartMaker  *maker = begin_to_make(team, groups);
	PartReader *reader = NULL;

	if (maker != NULL)
		reader = part_reader_begin_taken(&team->shared->parts, maker,
										 team->progress);
	if (reader != NULL && team->shared->parts.of_runs)
	{
		/* the caller's progress shows the rows */
		sort_progress_end(team->sort.external.progress);
		if (gpusort_verify)
			part_reader_check(reader, run_order_of_rows(team->sort.external.order),
							  &run_of_minimal_tuples);
	}
	MemoryContextSwitchTo(caller_context);
	return reader;
}

SharedParts *
team_shared_parts(TeamShared *shared)
{
	return &shared->parts;
}

void
team_leave(Team *team)
{
	if (team->slices != NULL)
		part_reader_end(team->slices);
	merged_runs_end(&team->merge);
	member_sort_end(&team->sort);
	shared_order_drop(&team->shared->slices.order);
	row_segments_end(team->segments);
	MemoryContextDelete(team->context);
}
