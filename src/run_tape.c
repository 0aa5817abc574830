/*-------------------------------------------------------------------------
 *
 * run_tape.c
 *	  One sorted run of rows, in a temporary file.
 *
 * All runs of a sort are tapes of one of core's tape sets (logtape.c), so that
 * they share a file, give back its space as they are read, and are cleaned up
 * with the query.  A row is on the tape as core's own sort has it there: its
 * length, and the tuple without what only has a meaning in memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "run_tape.h"

/* Most rows fit into this. */
#define FIRST_ROOM			256

RunTape *
run_tape_create(LogicalTapeSet *tapes)
{
	RunTape    *run = palloc0(sizeof(RunTape));

	run->tape = LogicalTapeCreate(tapes);
	return run;
}

void
run_tape_write(RunTape *run, MinimalTuple row)
{
	uint32		bytes = row->t_len - MINIMAL_TUPLE_DATA_OFFSET;

	LogicalTapeWrite(run->tape, &bytes, sizeof(bytes));
	LogicalTapeWrite(run->tape, (char *) row + MINIMAL_TUPLE_DATA_OFFSET,
					 bytes);
}

void
run_tape_rewind(RunTape *run)
{
	LogicalTapeRewindForRead(run->tape, BLCKSZ);
}

/* Reads so many bytes; false at the end of the tape. */
static bool
read_bytes(RunTape *run, void *bytes, Size count)
{
	Size		have = LogicalTapeRead(run->tape, bytes, count);

	if (have == 0 && count > 0)
		return false;
	if (have != count)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("gpusort: a temporary file ends in the middle of a row")));
	return true;
}

static void
make_room(RunTape *run, Size bytes)
{
	if (run->row == NULL)
	{
		run->room = Max(FIRST_ROOM, pg_nextpower2_size_t(bytes));
		run->row = MemoryContextAllocHuge(GetMemoryChunkContext(run),
										  run->room);
	}
	else if (run->room < bytes)
	{
		run->room = pg_nextpower2_size_t(bytes);
		run->row = repalloc_huge(run->row, run->room);
	}
}

MinimalTuple
run_tape_read(RunTape *run)
{
	uint32		bytes;

	if (!read_bytes(run, &bytes, sizeof(bytes)))
		return NULL;
	make_room(run, MINIMAL_TUPLE_DATA_OFFSET + bytes);
	run->row->t_len = MINIMAL_TUPLE_DATA_OFFSET + bytes;
	if (!read_bytes(run, (char *) run->row + MINIMAL_TUPLE_DATA_OFFSET, bytes))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("gpusort: a temporary file ends in the middle of a row")));
	return run->row;
}

void
run_tape_close(RunTape *run)
{
	LogicalTapeClose(run->tape);
	if (run->row != NULL)
		pfree(run->row);
	pfree(run);
}
