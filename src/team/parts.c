/*-------------------------------------------------------------------------
 *
 * parts.c
 *	  Parts of the order of all rows, which the members of a team take in turn.
 *
 * The order of all rows is cut into parts, so that several processes can work
 * on rows in that order at the same time.  A part is either a slice of rows in
 * shared memory (sorted_slices.c), or a part of the merge of all runs
 * (part_merge.c).  A member that is free takes the next part that nobody has
 * taken, and makes its rows.  Then the member does what the collector has
 * decided.  It either
 *
 *	- emits the rows, if every member may emit rows; or
 *	- sends the rows to the collector through a ring in shared memory
 *	  (part_stream.c).  The collector emits all rows.  If nobody has taken a
 *	  part when its turn comes, the collector makes that part; or
 *	- writes the rows to a file.  When all files are complete, the collector
 *	  reads one after the other.
 *
 * Rows in shared memory lie where members have put them.  So each row that is
 * emitted costs a cache miss, and with many rows another one for the page
 * table.  Members that send slices take these misses for the collector.  But
 * they may be too slow, or the machine may have too few processors: then the
 * collector waits.  If the collector waits for more than half of its time, it
 * would have fetched the rows faster by itself.  So now and then it compares
 * the time that has passed with its processor time, and takes all other parts
 * if it has waited too long.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "port/compat.h"
#include "port/timing.h"
#include "team/part_stream.h"
#include "team/parts.h"

/*
 * The collector measures its waiting in periods of PERIOD_PARTS parts.  After
 * MOST_IDLE_PERIODS periods of too much waiting in succession it takes all
 * other parts.  Periods in the first 1/UNTIMED_SHARE of the parts do not
 * count: there each sender has to map all pages of the rows, which takes
 * longer than all its other work for a row.
 */
#define PERIOD_PARTS		16
#define MOST_IDLE_PERIODS	2
#define UNTIMED_SHARE		16

/* Where the rows of the present part come from. */
typedef enum PartSource
{
	NO_PART,
	PART_IS_MADE,				/* this process has taken the part, and makes
								 * its rows */
	PART_IS_SENT,
	PART_IS_WRITTEN
} PartSource;

struct PartReader
{
	RowReader	rows;			/* must be first */
	TeamWork	work;			/* what members do with parts */
	SharedParts *shared;
	PartMaker  *maker;			/* makes parts; NULL: all parts are in files */
	int			part;			/* present part */
	int			next_part;		/* next part to be read; unused if members
								 * emit the parts that they take */
	PartSource	source;
	uint64		rows_of_part;	/* rows of the present part so far */
	uint64		nrows;			/* rows of the parts before the present one */
	SortProgress *progress;
	bool		checks;			/* "check" checks the sequence of rows */
	RowCheck	check;

	/* if parts are sent */
	PartReceiver *receiver;
	uint64		nsent;
	int			rest;			/* first of the parts that others can no
								 * longer take */
	bool		fetches_fast;
	instr_time	begun;			/* when the present period began */
	uint64		processor_time; /* processor time of this process when the
								 * period began */
	int			idle_periods;	/* idle periods in succession before the
								 * present one */

	/* if parts are in files */
	SharedRuns *runs;
	const RunFormat *format;
	Size		buffer_bytes;
	RunFile    *file;
	RunTape    *tape;
};

void
shared_parts_init(SharedParts *shared)
{
	memset(shared, 0, sizeof(SharedParts));
	leader_decision_init(&shared->decision);
	pg_atomic_init_u32(&shared->nhelpers, 0);
	shared->stream = DSM_HANDLE_INVALID;
	pg_atomic_init_u32(&shared->next, 0);
	pg_atomic_init_u32(&shared->nwritten, 0);
	ConditionVariableInit(&shared->written);
	pg_atomic_init_u64(&shared->nemitted, 0);
	pg_atomic_init_u32(&shared->nemitters, 0);
	pg_atomic_init_u64(&shared->most_rows, 0);
}

void
shared_parts_offer(SharedParts *shared)
{
	pg_atomic_fetch_add_u32(&shared->nhelpers, 1);
}

int
shared_parts_helpers(SharedParts *shared)
{
	return pg_atomic_read_u32(&shared->nhelpers);
}

void
shared_parts_set(SharedParts *shared, bool of_runs, int nparts, uint64 nrows)
{
	shared->of_runs = of_runs;
	shared->nparts = nparts;
	shared->nrows = nrows;
}

/* Takes the next part; false if there is none. */
static bool
take_part(SharedParts *shared, int *part)
{
	uint32		next = pg_atomic_fetch_add_u32(&shared->next, 1);

	*part = next;
	return next < shared->nparts;
}

/* Takes this part, if it is the next one that nobody has taken. */
static bool
take_this_part(SharedParts *shared, int part)
{
	uint32		next = part;

	return pg_atomic_compare_exchange_u32(&shared->next, &next, part + 1);
}

/* Takes all parts that have not been taken; returns the first of them. */
static int
take_rest(SharedParts *shared)
{
	uint32		next = pg_atomic_exchange_u32(&shared->next, shared->nparts);

	return Min(next, shared->nparts);
}

/*
 * ---- parts in files
 */

/* Notes that a part is written. */
static void
finish_written(SharedParts *shared, int part, uint64 nrows)
{
	shared->rows_written[part] = nrows;
	/* an atomic operation that returns a value is a barrier */
	if (pg_atomic_add_fetch_u32(&shared->nwritten, 1) == shared->nparts)
		ConditionVariableBroadcast(&shared->written);
}

/*
 * Writes the rows of a part to a file, "row" first; returns the number of
 * rows.
 */
static uint64
write_rows(PartMaker *maker, int part, const void *row, SharedRuns *runs,
		   const RunFormat *format)
{
	RunFile    *file = run_file_create_shared(&runs->files, PART_FILE_NAME,
											  part, runs->limit);
	RunTape    *tape = run_tape_create(file, format);
	uint64		nrows = 0;

	for (; row != NULL; nrows++)
	{
		run_tape_write(tape, row);
		row = maker->methods->next(maker);
	}
	run_tape_complete(tape);
	run_file_end_write(file);
	run_tape_close(tape);
	shared_runs_note_file(runs, file);
	run_file_close(file);
	return nrows;
}

/* Makes a part, and writes it to a file, unless it has no rows. */
static void
write_part(SharedParts *shared, PartMaker *maker, int part, SharedRuns *runs,
		   const RunFormat *format)
{
	const void *row;
	uint64		nrows = 0;

	maker->methods->open(maker, part);
	row = maker->methods->next(maker);
	if (row != NULL)
		nrows = write_rows(maker, part, row, runs, format);
	maker->methods->close(maker);
	finish_written(shared, part, nrows);
}

void
parts_write(SharedParts *shared, PartMaker *maker, SharedRuns *runs,
			const RunFormat *format)
{
	int			part;

	while (take_part(shared, &part))
		write_part(shared, maker, part, runs, format);
}

/* Waits until all parts are in files. */
static void
await_written(SharedParts *shared)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortParts");
	while (pg_atomic_read_u32(&shared->nwritten) < shared->nparts)
		ConditionVariableSleep(&shared->written, wait_event);
	ConditionVariableCancelSleep();
	pg_read_barrier();
}

/* Begins to read a part in a file. */
static void
open_written(PartReader *reader, int part)
{
	SharedRuns *runs = reader->runs;
	uint64		bytes;

	if (reader->shared->rows_written[part] == 0)
		return;
	reader->file = run_file_open_shared(&runs->files, PART_FILE_NAME, part,
										runs->limit, &bytes);
	reader->tape = run_tape_open(reader->file, reader->format, bytes);
	run_tape_begin_read(reader->tape, reader->buffer_bytes);
	reader->source = PART_IS_WRITTEN;
}

/*
 * ---- parts that are sent
 */

/* Sends a part; false if no more rows are wanted. */
static bool
send_part(PartMaker *maker, PartSender *sender, int part)
{
	bool		wanted;
	const void *row;

	part_sender_begin_part(sender, part);
	maker->methods->open(maker, part);
	wanted = part_sender_is_wanted(sender);
	while (wanted && (row = maker->methods->next(maker)) != NULL)
		wanted = part_sender_put(sender, row, maker->row_bytes(row));
	maker->methods->close(maker);
	return wanted && part_sender_end_part(sender);
}

void
parts_send(SharedParts *shared, PartMaker *maker)
{
	PartSender *sender = part_sender_begin(shared->stream);
	int			part;

	if (sender == NULL)
		return;
	while (take_part(shared, &part) && send_part(maker, sender, part))
		;
	part_sender_end(sender);
}

/* Begins a period in which waiting is measured. */
static void
begin_period(PartReader *reader)
{
	INSTR_TIME_SET_CURRENT(reader->begun);
	reader->processor_time = processor_microseconds();
}

/* Ends a period; takes all other parts if this process has waited too long. */
static void
end_period(PartReader *reader)
{
	uint64		busy = processor_microseconds() - reader->processor_time;

	if (reader->part < reader->shared->nparts / UNTIMED_SHARE ||
		busy >= microseconds_since(reader->begun) / 2)
		reader->idle_periods = 0;
	else if (++reader->idle_periods == MOST_IDLE_PERIODS)
		reader->rest = take_rest(reader->shared);
	begin_period(reader);
}

/*
 * Begins the next part in turn: makes it, unless another member has taken it.
 */
static void
open_sent(PartReader *reader, int part)
{
	if (reader->fetches_fast && part % PERIOD_PARTS == 0 &&
		reader->idle_periods < MOST_IDLE_PERIODS)
		end_period(reader);
	/* the collector has taken the first part */
	if (part > 0 && part < reader->rest &&
		!take_this_part(reader->shared, part))
	{
		reader->source = PART_IS_SENT;
		return;
	}
	reader->maker->methods->open(reader->maker, part);
	reader->source = PART_IS_MADE;
}

/* The next row of a part that is sent; NULL at its end. */
static inline void *
next_sent(PartReader *reader)
{
	PartMaker  *maker = reader->maker;
	void	   *row = part_receiver_next(reader->receiver, reader->part,
										 maker->row_bytes);

	return row == NULL || maker->methods->find == NULL ? row :
		maker->methods->find(maker, reader->part, reader->rows_of_part, row);
}

/*
 * ---- the reader
 */

/*
 * Takes the next part for this process to emit, and begins it; false if there
 * is none.
 */
static bool
open_taken(PartReader *reader)
{
	if (reader->progress != NULL)
		sort_progress_emitted(reader->progress, reader->nrows);
	if (!take_part(reader->shared, &reader->part))
		return false;
	reader->maker->methods->open(reader->maker, reader->part);
	reader->source = PART_IS_MADE;
	return true;
}

/* Begins the next part; false if there is none. */
static bool
open_next_part(PartReader *reader)
{
	CHECK_FOR_INTERRUPTS();
	if (reader->work == WORK_EMIT_PARTS)
		return open_taken(reader);
	if (reader->next_part == reader->shared->nparts)
		return false;
	reader->part = reader->next_part++;
	if (reader->work == WORK_SEND_PARTS)
		open_sent(reader, reader->part);
	else
		open_written(reader, reader->part);
	return true;
}

/* Counts a part that this process has emitted. */
static void
count_emitted(PartReader *reader)
{
	SharedParts *shared = reader->shared;
	uint64		nrows = reader->nrows + reader->rows_of_part;
	uint64		most = pg_atomic_read_u64(&shared->most_rows);

	if (reader->rows_of_part == 0)
		return;
	if (reader->nrows == 0)
		pg_atomic_fetch_add_u32(&shared->nemitters, 1);
	pg_atomic_fetch_add_u64(&shared->nemitted, 1);
	while (nrows > most &&
		   !pg_atomic_compare_exchange_u64(&shared->most_rows, &most, nrows))
		;
}

/* Ends the present part, if there is one. */
static void
close_part(PartReader *reader)
{
	switch (reader->source)
	{
		case PART_IS_MADE:
			reader->maker->methods->close(reader->maker);
			if (reader->work == WORK_EMIT_PARTS)
				count_emitted(reader);
			break;
		case PART_IS_SENT:
			reader->nsent += reader->rows_of_part;
			break;
		case PART_IS_WRITTEN:
			run_tape_close(reader->tape);
			run_file_delete(reader->file);
			break;
		case NO_PART:
			break;
	}
	reader->source = NO_PART;
	reader->nrows += reader->rows_of_part;
	reader->rows_of_part = 0;
}

/* The next row of the present part; NULL at its end. */
static inline void *
next_of_part(PartReader *reader)
{
	switch (reader->source)
	{
		case PART_IS_MADE:
			return reader->maker->methods->next(reader->maker);
		case PART_IS_SENT:
			return next_sent(reader);
		case PART_IS_WRITTEN:
			CHECK_FOR_INTERRUPTS();
			return run_tape_read(reader->tape);
		default:
			return NULL;
	}
}

/* The next row of all parts; NULL after the last one. */
static void *
next_row(RowReader *rows)
{
	PartReader *reader = (PartReader *) rows;

	for (;;)
	{
		void	   *row = next_of_part(reader);

		if (likely(row != NULL))
		{
			reader->rows_of_part++;
			if (unlikely(reader->checks))
				row_check(&reader->check, row);
			return row;
		}
		close_part(reader);
		if (!open_next_part(reader))
			return NULL;
	}
}

/* Makes a reader of parts with which members do "work". */
static PartReader *
begin_reader(SharedParts *shared, TeamWork work, PartMaker *maker)
{
	PartReader *reader = palloc0(sizeof(PartReader));

	reader->rows.next = next_row;
	reader->work = work;
	reader->shared = shared;
	reader->maker = maker;
	return reader;
}

PartReader *
part_reader_begin_taken(SharedParts *shared, PartMaker *maker,
						SortProgress *progress)
{
	PartReader *reader = begin_reader(shared, WORK_EMIT_PARTS, maker);

	reader->progress = progress;
	return reader;
}

PartReader *
part_reader_begin_sent(SharedParts *shared, PartMaker *maker,
					   Size bytes_of_sender, bool fetches_fast)
{
	PartReceiver *receiver = part_receiver_begin(shared_parts_helpers(shared),
												 bytes_of_sender,
												 shared->nparts);
	PartReader *reader;

	if (receiver == NULL)
		return NULL;
	shared->stream = part_receiver_handle(receiver);
	(void) take_this_part(shared, 0);
	reader = begin_reader(shared, WORK_SEND_PARTS, maker);
	reader->receiver = receiver;
	reader->rest = shared->nparts;
	reader->fetches_fast = fetches_fast;
	begin_period(reader);
	return reader;
}

PartReader *
part_reader_begin_written(SharedParts *shared, PartMaker *maker,
						  SharedRuns *runs, const RunFormat *format,
						  Size buffer_bytes)
{
	PartReader *reader = begin_reader(shared, WORK_WRITE_PARTS, NULL);

	await_written(shared);
	maker->methods->end(maker, true);
	reader->runs = runs;
	reader->format = format;
	reader->buffer_bytes = buffer_bytes;
	return reader;
}

RowReader *
part_reader_rows(PartReader *reader)
{
	return &reader->rows;
}

bool
part_reader_rows_stay(const PartReader *reader)
{
	return reader->work == WORK_EMIT_PARTS && !reader->shared->of_runs;
}

bool
part_reader_tells_ties(const PartReader *reader)
{
	return reader->work == WORK_EMIT_PARTS && reader->maker->tells_ties;
}

bool
part_reader_is_tie(const PartReader *reader)
{
	return reader->maker->methods->is_tie(reader->maker);
}

void
part_reader_check(PartReader *reader, RunOrder order, const RunFormat *format)
{
	reader->checks = true;
	row_check_begin(&reader->check, order, format);
}

uint64
part_reader_count(const PartReader *reader)
{
	return reader->nrows + reader->rows_of_part;
}

uint64
part_reader_sent(const PartReader *reader)
{
	return reader->nsent +
		(reader->source == PART_IS_SENT ? reader->rows_of_part : 0);
}

void
part_reader_stop(PartReader *reader)
{
	if (reader->receiver != NULL)
		part_receiver_stop(reader->receiver);
}

void
part_reader_end(PartReader *reader)
{
	bool		at_end = reader->source == NO_PART &&
		reader->next_part == reader->shared->nparts;

	close_part(reader);
	if (reader->receiver != NULL)
		part_receiver_end(reader->receiver);
	/* the maker of parts in files has ended already */
	if (reader->maker != NULL)
		reader->maker->methods->end(reader->maker, at_end);
	pfree(reader);
}
