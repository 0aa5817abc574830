/*-------------------------------------------------------------------------
 *
 * run_tape.c
 *	  One sorted run of rows, in a temporary file.
 *
 * All runs of a sort are tapes of one of core's tape sets (logtape.c), so that
 * they share a file, give back its space as they are read, and are cleaned up
 * with the query.
 *
 * A minimal tuple is on the tape much as core's own sort has it there: its
 * length, and the tuple without what only has a meaning in memory.  What the
 * tuple has ahead of its values is left out if it is the same as that of the
 * row before it, as it mostly is.  An index tuple, whose length is a part of
 * its head, is there as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "run_tape.h"

/* Most rows fit into this. */
#define FIRST_ROOM			256

/* Goes with a row's length on the tape; no row is as long. */
#define SAME_HEADER			UINT32_C(0x80000000)

/* Where the header of a minimal tuple is, and what follows it. */
#define ROW_HEADER(row)		((char *) (row) + MINIMAL_TUPLE_DATA_OFFSET)
#define ROW_VALUES(row)		(ROW_HEADER(row) + RUN_HEADER_BYTES)
#define VALUES_BYTES(row_bytes) \
	((row_bytes) - MINIMAL_TUPLE_DATA_OFFSET - RUN_HEADER_BYTES)

RunTape *
run_tape_create(LogicalTape *tape, const RunFormat *format)
{
	RunTape    *run = palloc0(sizeof(RunTape));

	run->tape = tape;
	run->format = format;
	return run;
}

void
run_tape_rewind(RunTape *run)
{
	LogicalTapeRewindForRead(run->tape, BLCKSZ);
}

void
run_tape_close(RunTape *run)
{
	LogicalTapeClose(run->tape);
	if (run->row != NULL)
		pfree(run->row);
	pfree(run);
}

static void
check_bytes(Size have, Size wanted)
{
	if (unlikely(have != wanted))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("gpusort: a temporary file ends in the middle of a row")));
}

static void
read_bytes(RunTape *run, void *bytes, Size count)
{
	check_bytes(LogicalTapeRead(run->tape, bytes, count), count);
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

static Size
minimal_tuple_bytes(const void *row)
{
	return ((const MinimalTupleData *) row)->t_len;
}

static void
write_minimal_tuple(RunTape *run, const void *row)
{
	uint32		length = minimal_tuple_bytes(row);
	Size		values_bytes = VALUES_BYTES(length);

	if (likely(memcmp(run->header, ROW_HEADER(row), RUN_HEADER_BYTES) == 0))
	{
		length |= SAME_HEADER;
		LogicalTapeWrite(run->tape, &length, sizeof(length));
	}
	else
	{
		memcpy(run->header, ROW_HEADER(row), RUN_HEADER_BYTES);
		LogicalTapeWrite(run->tape, &length, sizeof(length));
		LogicalTapeWrite(run->tape, run->header, RUN_HEADER_BYTES);
	}
	LogicalTapeWrite(run->tape, ROW_VALUES(row), values_bytes);
}

static void *
read_minimal_tuple(RunTape *run)
{
	uint32		length;
	Size		have = LogicalTapeRead(run->tape, &length, sizeof(length));
	MinimalTuple row;

	if (have == 0)
		return NULL;
	check_bytes(have, sizeof(length));
	if ((length & SAME_HEADER) == 0)
		read_bytes(run, run->header, RUN_HEADER_BYTES);
	length &= ~SAME_HEADER;
	make_room(run, length);
	row = run->row;
	row->t_len = length;
	memcpy(ROW_HEADER(row), run->header, RUN_HEADER_BYTES);
	read_bytes(run, ROW_VALUES(row), VALUES_BYTES(length));
	return row;
}

const RunFormat run_of_minimal_tuples = {
	.bytes = minimal_tuple_bytes,
	.write = write_minimal_tuple,
	.read = read_minimal_tuple
};

static Size
index_tuple_bytes(const void *row)
{
	return IndexTupleSize((const IndexTupleData *) row);
}

static void
write_index_tuple(RunTape *run, const void *row)
{
	/* up to 15 it is declared as if it changed the row */
	LogicalTapeWrite(run->tape, unconstify(void *, row),
					 index_tuple_bytes(row));
}

static void *
read_index_tuple(RunTape *run)
{
	IndexTupleData head;
	Size		have = LogicalTapeRead(run->tape, &head, sizeof(head));

	if (have == 0)
		return NULL;
	check_bytes(have, sizeof(head));
	make_room(run, index_tuple_bytes(&head));
	memcpy(run->row, &head, sizeof(head));
	read_bytes(run, (char *) run->row + sizeof(head),
			   index_tuple_bytes(&head) - sizeof(head));
	return run->row;
}

const RunFormat run_of_index_tuples = {
	.bytes = index_tuple_bytes,
	.write = write_index_tuple,
	.read = read_index_tuple
};
