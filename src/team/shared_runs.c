/*-------------------------------------------------------------------------
 *
 * shared_runs.c
 *	  Sorted runs that the members of a team write, and all of them can read.
 *
 * A member writes each run to a file of its own.  The files are in a set that
 * belongs to the parallel context, so that all members can open them.  A run
 * has an index of some of its positions, so that any member can begin to read
 * at any of these.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "spill/sorted_runs.h"
#include "team/shared_runs.h"

void
shared_runs_init(SharedRuns *shared, dsm_segment *segment, Size limit)
{
	SharedFileSetInit(&shared->files, segment);
	SpinLockInit(&shared->mutex);
	shared_runs_reset(shared, limit);
}

void
shared_runs_reset(SharedRuns *shared, Size limit)
{
	shared->limit = limit;
	pg_atomic_init_u32(&shared->nruns, 0);
	shared->nsorted = 0;
	shared->nrows = 0;
	shared->longest_row = 0;
	shared->disk = 0;
	shared->method[0] = '\0';
	shared->device[0] = '\0';
	shared->on_device = false;
	shared->device_microseconds = 0;
	shared->sampled = 0;
	shared->stream_memory = 0;
}

int
shared_runs_count(SharedRuns *shared)
{
	return pg_atomic_read_u32(&shared->nruns);
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

/* Adds the figures of a run to the figures of all runs. */
static void
note_run(SharedRuns *shared, const RowOrder *order, uint64 nrows,
		 Size longest_row, Size bytes)
{
	SpinLockAcquire(&shared->mutex);
	shared->nsorted += order != NULL ? order->store->nrows : nrows;
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

RunFile *
shared_runs_open(SharedRuns *shared, int number, uint64 *bytes)
{
	return run_file_open_shared(&shared->files, RUN_FILE_NAME, number,
								shared->limit, bytes);
}

void
shared_runs_import(SharedRuns *shared, SortedRuns *runs,
				   const RunFormat *format)
{
	int			nruns = shared_runs_count(shared);

	for (int number = 0; number < nruns; number++)
	{
		uint64		bytes;
		RunFile    *file = shared_runs_open(shared, number, &bytes);
		RunTape    *run = run_tape_open(file, format,
										run_tape_rows_bytes(file, bytes));

		run->longest_row = shared->longest_row;
		sorted_runs_import(runs, run);
	}
}

void
shared_runs_note_file(SharedRuns *shared, const RunFile *file)
{
	Size		bytes = run_file_bytes(file);

	SpinLockAcquire(&shared->mutex);
	shared->disk += bytes;
	SpinLockRelease(&shared->mutex);
}

void
shared_runs_report(SharedRuns *shared, ExternalSort *sort)
{
	SortFigures *figures = &sort->progress->figures;

	if (sort->nrows == 0)
	{
		memcpy(sort->method, shared->method, REPORT_TEXT_SIZE);
		memcpy(sort->device, shared->device, REPORT_TEXT_SIZE);
	}
	sort->nrows = shared->nsorted;
	sort->nruns = shared_runs_count(shared);
	sort->on_device = shared->on_device;
	sort->device_microseconds = shared->device_microseconds;
	figures->rows_put = sort->nrows;
	figures->runs_written = sort->nruns;
}

RunTape *
member_runs_begin_run(MemberRuns *runs)
{
	return shared_runs_begin_run(runs->shared, runs->format);
}

void
member_runs_end_run(MemberRuns *runs, RunTape *run, const RowOrder *order,
					uint64 nrows)
{
	runs->files = lappend(runs->files,
						  shared_runs_end_run(runs->shared, run, order, nrows));
}

/* Writes the rows of an order as a run. */
static void
add_run(RunWriter *writer, RowOrder *order)
{
	MemberRuns *runs = (MemberRuns *) writer;
	RunTape    *run = member_runs_begin_run(runs);

	sorted_run_write(run, order, true);
	member_runs_end_run(runs, run, order, order->nentries);
}

void
member_runs_begin(MemberRuns *runs, SharedRuns *shared,
				  const RunFormat *format)
{
	memset(runs, 0, sizeof(MemberRuns));
	runs->writer.add = add_run;
	runs->shared = shared;
	runs->format = format;
}

void
member_runs_close(MemberRuns *runs)
{
	ListCell   *cell;

	foreach(cell, runs->files)
		run_file_close(lfirst(cell));
	list_free(runs->files);
	runs->files = NIL;
}
