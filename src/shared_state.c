/*-------------------------------------------------------------------------
 *
 * shared_state.c
 *	  The state that all processes of the server share.
 *
 * A few hundred bytes of shared memory.  A library in shared_preload_libraries
 * requests them as usual; a library that a session loads later takes them from
 * the reserve that every server has for that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"

#include "database_stats.h"
#include "port/timing.h"
#include "shared_state.h"

/* Between two attempts to start a launcher. */
#define FIRST_DELAY_MILLISECONDS	1000
#define LONGEST_DELAY_MILLISECONDS	60000

/* Statements that may be told apart, see shared_claim_warning(). */
#define WARNED_STATEMENTS			64

/* The time that the postmaster may take to start the preloaded launcher. */
#define PRELOAD_MILLISECONDS		10000

typedef struct SharedState
{
	slock_t		mutex;			/* protects all down to the hint */
	DaemonStatus daemon;
	Latch	   *launcher;		/* NULL: there is none */
	bool		launcher_is_asked;
	uint64		next_launcher;	/* no launcher is started before this time; as
								 * milliseconds_now() */
	uint64		launcher_delay; /* from the last attempt on */
	pg_atomic_flag memory_hint; /* the log has been told, or is */
	pg_atomic_uint64 warned[WARNED_STATEMENTS]; /* their starts, by leaders */
	pg_atomic_uint32 device_jobs;	/* under way, of all processes */
	pg_atomic_uint64 counters[STAT_COUNT];
} SharedState;

static const char *const counter_names[STAT_COUNT] = {
	[STAT_SORTS_DEVICE] = "sorts_device",
	[STAT_SORTS_HOST] = "sorts_host",
	[STAT_SORTS_SPILLED] = "sorts_spilled",
	[STAT_SORTS_NATIVE] = "sorts_native",
	[STAT_ROWS] = "rows",
	[STAT_SORTS_TOGETHER] = "sorts_together",
	[STAT_SORT_WORKERS] = "sort_workers",
	[STAT_SORTS_IN_PARTS] = "sorts_in_parts",
	[STAT_WINDOWS] = "windows",
	[STAT_AGGREGATES] = "aggregates",
	[STAT_SET_OPERATIONS] = "set_operations",
	[STAT_ROWS_LEFT_OUT] = "rows_left_out",
	[STAT_BYTES] = "bytes",
	[STAT_FILL_MICROSECONDS] = "fill_microseconds",
	[STAT_SORT_MICROSECONDS] = "sort_microseconds",
	[STAT_DEVICE_FAULTS] = "device_faults",
	[STAT_DEVICE_FULL] = "device_full",
	[STAT_REFUSED_SMALL] = "refused_small",
	[STAT_REFUSED_BOUNDED] = "refused_bounded",
	[STAT_REFUSED_TYPE] = "refused_type",
	[STAT_REFUSED_COLLATION] = "refused_collation",
	[STAT_REFUSED_OPERATOR] = "refused_operator",
	[STAT_REFUSED_INCREMENTAL] = "refused_incremental",
	[STAT_REFUSED_AGGREGATE] = "refused_aggregate",
	[STAT_REFUSED_FOREIGN] = "refused_foreign",
	[STAT_INDEXES_DEVICE] = "indexes_device",
	[STAT_INDEXES_HOST] = "indexes_host",
	[STAT_INDEXES_SPILLED] = "indexes_spilled",
	[STAT_INDEXES_INVERTED] = "indexes_inverted",
	[STAT_INDEXES_NATIVE] = "indexes_native",
	[STAT_INDEX_WORKERS] = "index_workers",
	[STAT_INDEX_WORKER_PAGES] = "index_worker_pages",
	[STAT_INDEX_ROWS] = "index_rows",
	[STAT_INDEX_BYTES] = "index_bytes",
	[STAT_INDEX_COLLECT_MICROSECONDS] = "index_collect_microseconds",
	[STAT_INDEX_SORT_MICROSECONDS] = "index_sort_microseconds",
	[STAT_INDEX_WRITE_MICROSECONDS] = "index_write_microseconds",
	[STAT_INDEX_REFUSED_SMALL] = "index_refused_small",
	[STAT_INDEX_REFUSED_TYPE] = "index_refused_type",
	[STAT_INDEX_REFUSED_COLLATION] = "index_refused_collation",
	[STAT_INDEX_REFUSED_OPERATOR] = "index_refused_operator",
};

static SharedState *shared_state;
static bool launcher_is_expected;	/* the postmaster keeps one */
static uint32 own_device_jobs;	/* the jobs of this process among them */

void
shared_state_request(void)
{
	RequestAddinShmemSpace(MAXALIGN(sizeof(SharedState)));
}

void
shared_expect_launcher(bool expected)
{
	launcher_is_expected = expected;
}

/* Finds the shared memory, making it if this is the first process to. */
static SharedState *
get_shared_state(void)
{
	bool		found;

	if (shared_state != NULL)
		return shared_state;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared_state = ShmemInitStruct("gpusort", sizeof(SharedState), &found);
	if (!found)
	{
		memset(shared_state, 0, sizeof(SharedState));
		SpinLockInit(&shared_state->mutex);
		shared_state->daemon.state =
			launcher_is_expected ? DAEMON_STARTING : DAEMON_NOT_STARTED;
		if (launcher_is_expected)
			shared_state->next_launcher =
				milliseconds_now() + PRELOAD_MILLISECONDS;
		pg_atomic_init_flag(&shared_state->memory_hint);
		for (int i = 0; i < WARNED_STATEMENTS; i++)
			pg_atomic_init_u64(&shared_state->warned[i], 0);
		pg_atomic_init_u32(&shared_state->device_jobs, 0);
		for (int i = 0; i < STAT_COUNT; i++)
			pg_atomic_init_u64(&shared_state->counters[i], 0);
	}
	LWLockRelease(AddinShmemInitLock);
	return shared_state;
}

DaemonStatus
shared_daemon_status(void)
{
	SharedState *state = get_shared_state();
	DaemonStatus status;

	SpinLockAcquire(&state->mutex);
	status = state->daemon;
	SpinLockRelease(&state->mutex);
	return status;
}

void
shared_set_daemon_status(DaemonState daemon_state, bool has_gpu,
						 const char *reason)
{
	SharedState *state = get_shared_state();
	DaemonStatus status = {.state = daemon_state,.has_gpu = has_gpu};

	strlcpy(status.reason, reason, sizeof(status.reason));
	SpinLockAcquire(&state->mutex);
	state->daemon = status;
	if (daemon_state == DAEMON_READY || daemon_state == DAEMON_UNUSABLE)
		state->launcher_delay = 0;
	SpinLockRelease(&state->mutex);
}

void
shared_note_silence(void)
{
	SharedState *state = get_shared_state();

	SpinLockAcquire(&state->mutex);
	if (state->daemon.state == DAEMON_READY)
	{
		state->daemon.state = DAEMON_SILENT;
		strlcpy(state->daemon.reason, "gpusortd does not answer",
				STATE_REASON_SIZE);
	}
	SpinLockRelease(&state->mutex);
}

void
shared_note_answer(void)
{
	SharedState *state = get_shared_state();

	SpinLockAcquire(&state->mutex);
	if (state->daemon.state == DAEMON_SILENT)
	{
		state->daemon.state = DAEMON_READY;
		state->daemon.reason[0] = '\0';
	}
	SpinLockRelease(&state->mutex);
}

/*
 * A process may claim the launcher and die before there is one, and a launcher
 * may not start or not last.  So a claim is not kept: it only delays the next
 * claim.
 */
bool
shared_claim_launcher(void)
{
	SharedState *state = get_shared_state();
	uint64		now = milliseconds_now();
	bool		claimed;

	SpinLockAcquire(&state->mutex);
	claimed = state->launcher == NULL && now >= state->next_launcher;
	if (claimed)
	{
		state->launcher_delay = Max(FIRST_DELAY_MILLISECONDS,
									Min(2 * state->launcher_delay,
										LONGEST_DELAY_MILLISECONDS));
		state->next_launcher = now + state->launcher_delay;
		if (state->daemon.state == DAEMON_NOT_STARTED)
			state->daemon.state = DAEMON_STARTING;
	}
	SpinLockRelease(&state->mutex);
	return claimed;
}

bool
shared_begin_launcher(void)
{
	SharedState *state = get_shared_state();
	bool		is_first;

	SpinLockAcquire(&state->mutex);
	is_first = state->launcher == NULL;
	if (is_first)
		state->launcher = MyLatch;
	SpinLockRelease(&state->mutex);
	return is_first;
}

void
shared_end_launcher(void)
{
	SharedState *state = get_shared_state();
	uint64		now = milliseconds_now();

	SpinLockAcquire(&state->mutex);
	state->launcher = NULL;
	state->next_launcher = now + state->launcher_delay;
	SpinLockRelease(&state->mutex);
}

void
shared_ask_launcher(void)
{
	SharedState *state = get_shared_state();
	Latch	   *launcher;

	SpinLockAcquire(&state->mutex);
	state->launcher_is_asked = true;
	launcher = state->launcher;
	SpinLockRelease(&state->mutex);

	/* the latch may be another process's by now, which does no harm */
	if (launcher != NULL)
		SetLatch(launcher);
}

bool
shared_launcher_is_asked(void)
{
	SharedState *state = get_shared_state();
	bool		is_asked;

	SpinLockAcquire(&state->mutex);
	is_asked = state->launcher_is_asked;
	state->launcher_is_asked = false;
	SpinLockRelease(&state->mutex);
	return is_asked;
}

bool
shared_claim_memory_hint(void)
{
	return pg_atomic_test_set_flag(&get_shared_state()->memory_hint);
}

/*
 * A worker has the start of the statement from its leader.  If another leader
 * uses the same place in between, there is one more warning.
 */
bool
shared_claim_warning(void)
{
	const		PGPROC *leader = MyProc->lockGroupLeader != NULL ?
		MyProc->lockGroupLeader : MyProc;
	uint64		start = (uint64) GetCurrentStatementStartTimestamp();

	return pg_atomic_exchange_u64(&get_shared_state()->warned[leader->pid % WARNED_STATEMENTS],
								  start) != start;
}

/* At exit: ends jobs that nobody has ended by then. */
static void
end_own_device_jobs(int code, Datum argument)
{
	while (own_device_jobs > 0)
		shared_end_device_job();
}

void
shared_begin_device_job(void)
{
	static bool is_registered = false;

	if (!is_registered)
		on_shmem_exit(end_own_device_jobs, (Datum) 0);
	is_registered = true;
	pg_atomic_fetch_add_u32(&get_shared_state()->device_jobs, 1);
	own_device_jobs++;
}

void
shared_end_device_job(void)
{
	if (own_device_jobs == 0)
		return;
	own_device_jobs--;
	pg_atomic_fetch_sub_u32(&get_shared_state()->device_jobs, 1);
}

uint32
shared_device_jobs(void)
{
	return pg_atomic_read_u32(&get_shared_state()->device_jobs);
}

/* Adds to the database's own counter, if there is one for it. */
static void
count_for_database(Statistic statistic, uint64 amount)
{
	switch (statistic)
	{
		case STAT_SORTS_DEVICE:
			database_stats_count(DATABASE_SORTS_DEVICE, amount);
			break;
		case STAT_SORTS_HOST:
			database_stats_count(DATABASE_SORTS_HOST, amount);
			break;
		case STAT_SORTS_NATIVE:
			database_stats_count(DATABASE_SORTS_NATIVE, amount);
			break;
		case STAT_SORTS_SPILLED:
			database_stats_count(DATABASE_SORTS_SPILLED, amount);
			break;
		case STAT_ROWS:
			database_stats_count(DATABASE_ROWS, amount);
			break;
		case STAT_BYTES:
			database_stats_count(DATABASE_BYTES, amount);
			break;
		case STAT_INDEXES_DEVICE:
		case STAT_INDEXES_HOST:
			database_stats_count(DATABASE_INDEXES, amount);
			break;
		default:
			break;
	}
}

void
shared_count(Statistic statistic, uint64 amount)
{
	pg_atomic_fetch_add_u64(&get_shared_state()->counters[statistic], amount);
	count_for_database(statistic, amount);
}

uint64
shared_counter(Statistic statistic)
{
	return pg_atomic_read_u64(&get_shared_state()->counters[statistic]);
}

const char *
shared_counter_name(Statistic statistic)
{
	return counter_names[statistic];
}
