/*-------------------------------------------------------------------------
 *
 * shared_state.c
 *	  What all processes of the server know together.
 *
 * A few hundred bytes of shared memory.  A library in
 * shared_preload_libraries asks for them as usual; one that a session loads
 * later takes them from the reserve that every server has for this.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "shared_state.h"

typedef struct SharedState
{
	slock_t		mutex;			/* protects the status */
	DaemonStatus daemon;
	pg_atomic_flag memory_hint; /* the log has been told, or is */
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
	[STAT_BYTES] = "bytes",
	[STAT_FILL_MICROSECONDS] = "fill_microseconds",
	[STAT_SORT_MICROSECONDS] = "sort_microseconds",
	[STAT_DEVICE_FAULTS] = "device_faults",
	[STAT_DEVICE_FULL] = "device_full",
	[STAT_NATIVE_SMALL] = "left_native_small",
	[STAT_NATIVE_BOUNDED] = "left_native_bounded",
	[STAT_NATIVE_TYPE] = "left_native_type",
	[STAT_NATIVE_COLLATION] = "left_native_collation",
	[STAT_NATIVE_OPERATOR] = "left_native_operator",
	[STAT_NATIVE_INCREMENTAL] = "left_native_incremental",
	[STAT_NATIVE_AGGREGATE] = "left_native_aggregate",
	[STAT_INDEXES_DEVICE] = "indexes_device",
	[STAT_INDEXES_HOST] = "indexes_host",
	[STAT_INDEXES_SPILLED] = "indexes_spilled",
	[STAT_INDEXES_NATIVE] = "indexes_native",
	[STAT_INDEX_WORKERS] = "index_workers",
	[STAT_INDEX_WORKER_PAGES] = "index_worker_pages",
	[STAT_INDEX_ROWS] = "index_rows",
	[STAT_INDEX_BYTES] = "index_bytes",
	[STAT_INDEX_COLLECT_MICROSECONDS] = "index_collect_microseconds",
	[STAT_INDEX_SORT_MICROSECONDS] = "index_sort_microseconds",
	[STAT_INDEX_WRITE_MICROSECONDS] = "index_write_microseconds",
	[STAT_INDEX_NATIVE_SMALL] = "index_left_native_small",
	[STAT_INDEX_NATIVE_TYPE] = "index_left_native_type",
	[STAT_INDEX_NATIVE_COLLATION] = "index_left_native_collation",
	[STAT_INDEX_NATIVE_OPERATOR] = "index_left_native_operator",
};

static shmem_request_hook_type previous_shmem_request_hook;
static SharedState *shared_state;
static bool preloaded;			/* in shared_preload_libraries */

static void
request_shared_state(void)
{
	if (previous_shmem_request_hook != NULL)
		previous_shmem_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(SharedState)));
}

void
shared_state_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	preloaded = true;
	previous_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared_state;
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
		/* if preloaded, the postmaster is about to start the launcher */
		shared_state->daemon.state =
			preloaded ? DAEMON_STARTING : DAEMON_NOT_STARTED;
		pg_atomic_init_flag(&shared_state->memory_hint);
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
	DaemonStatus status = {.state = daemon_state, .has_gpu = has_gpu};

	strlcpy(status.reason, reason, sizeof(status.reason));
	SpinLockAcquire(&state->mutex);
	state->daemon = status;
	SpinLockRelease(&state->mutex);
}

bool
shared_claim_launcher(void)
{
	SharedState *state = get_shared_state();
	bool		claimed;

	SpinLockAcquire(&state->mutex);
	claimed = state->daemon.state == DAEMON_NOT_STARTED;
	if (claimed)
		state->daemon.state = DAEMON_STARTING;
	SpinLockRelease(&state->mutex);
	return claimed;
}

bool
shared_claim_memory_hint(void)
{
	return pg_atomic_test_set_flag(&get_shared_state()->memory_hint);
}

void
shared_count(Statistic statistic, uint64 amount)
{
	pg_atomic_fetch_add_u64(&get_shared_state()->counters[statistic], amount);
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
