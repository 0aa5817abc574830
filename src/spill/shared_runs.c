/*-------------------------------------------------------------------------
 *
 * shared_runs.c
 *	  Shared memory of processes that write runs, and merge them together.
 *
 * A process that has written its runs may wait to help the leader merge them
 * (leader_decision.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/compat.h"
#include "spill/shared_runs.h"

void
shared_runs_init(SharedRuns *shared, dsm_segment *segment, Size limit)
{
	SharedFileSetInit(&shared->files, segment);
	SpinLockInit(&shared->mutex);
	ConditionVariableInit(&shared->merged);
	shared_runs_reset(shared, limit);
}

void
shared_runs_reset(SharedRuns *shared, Size limit)
{
	shared->limit = limit;
	pg_atomic_init_u32(&shared->nruns, 0);
	shared->nrows = 0;
	shared->longest_row = 0;
	shared->disk = 0;
	shared->method[0] = '\0';
	shared->device[0] = '\0';
	shared->on_device = false;
	shared->device_microseconds = 0;
	pg_atomic_init_u32(&shared->nhelpers, 0);
	leader_decision_init(&shared->decision);
	shared->nparts = 0;
	shared->stream = DSM_HANDLE_INVALID;
	shared->stream_memory = 0;
	pg_atomic_init_u32(&shared->next_part, 0);
	pg_atomic_init_u32(&shared->nmerged, 0);
}

RunTape *
shared_runs_begin_run(SharedRuns *shared, const RunFormat *format)
{
	uint32		number = pg_atomic_fetch_add_u32(&shared->nruns, 1);

	return run_tape_create(run_file_create_shared(&shared->files,
												  RUN_FILE_NAME, number,
												  shared->limit),
						   format);
}

/* Adds the figures of a run to those of all. */
static void
note_run(SharedRuns *shared, const RowOrder *order, uint64 nrows,
		 Size longest_row, Size bytes)
{
	SpinLockAcquire(&shared->mutex);
	shared->nrows += nrows;
	shared->longest_row = Max(shared->longest_row, longest_row);
	shared->disk += bytes;
	if (order != NULL)
	{
		memcpy(shared->method, order->method, REPORT_TEXT_SIZE);
		memcpy(shared->device, order->device, REPORT_TEXT_SIZE);
		shared->on_device |= order->on_device;
		shared->device_microseconds += order->device_microseconds;
	}
	SpinLockRelease(&shared->mutex);
}

RunFile *
shared_runs_end_run(SharedRuns *shared, RunTape *run, const RowOrder *order,
					uint64 nrows)
{
	RunFile    *file = run->file;

	run_tape_complete_indexed(run);
	run_file_end_write(file);
	note_run(shared, order, nrows, run->longest_row, run_file_bytes(file));
	run_tape_close(run);
	return file;
}

bool
shared_runs_take_part(SharedRuns *shared, int *part)
{
	uint32		next = pg_atomic_fetch_add_u32(&shared->next_part, 1);

	*part = next;
	return next < shared->nparts;
}

bool
shared_runs_take_this_part(SharedRuns *shared, int part)
{
	uint32		next = part;

	return pg_atomic_compare_exchange_u32(&shared->next_part, &next, part + 1);
}

void
shared_runs_finish_part(SharedRuns *shared, int part, uint64 nrows,
						Size bytes)
{
	shared->part_rows[part] = nrows;
	SpinLockAcquire(&shared->mutex);
	shared->disk += bytes;
	SpinLockRelease(&shared->mutex);
	/* an atomic operation with a result is a barrier */
	if (pg_atomic_add_fetch_u32(&shared->nmerged, 1) == shared->nparts)
		ConditionVariableBroadcast(&shared->merged);
}

void
shared_runs_await_parts(SharedRuns *shared)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortParts");
	while (pg_atomic_read_u32(&shared->nmerged) < shared->nparts)
		ConditionVariableSleep(&shared->merged, wait_event);
	ConditionVariableCancelSleep();
	pg_read_barrier();
}
