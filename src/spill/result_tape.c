/*-------------------------------------------------------------------------
 *
 * result_tape.c
 *	  Sorted rows in a temporary file, to be read forward and backward.
 *
 * If rows may be wanted backward or again, the last merge writes them to a
 * tape like a run's (run_tape.c).  The tape is in the same file as the runs,
 * and overwrites them as they are read.  So it takes no more room than core's
 * own sort, which does the same.
 *
 * A row is on the tape as its length, its values and its length again.  The
 * header of a row precedes its values only if it differs from the first row's
 * header.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "spill/result_tape.h"
#include "spill/run_tape.h"

/*
 * The length of a row is in two bytes, with a bit that says whether the row
 * has the first row's header.  A length of 0 stands for a length in four
 * bytes.  These lie between the two bytes and the values.
 */
#define FIRST_HEADER		0x8000
#define SHORT_LENGTH_MASK	0x7fff

/* The two bytes at an end of a row, and the length for which they stand. */
typedef struct RowEnd
{
	uint16		mark;
	uint32		length;
} RowEnd;

/* A position among the rows. */
typedef struct ResultPosition
{
	uint64		next;			/* position of the next row, as if the tape's
								 * pieces were one behind the other */
	bool		at_end;			/* a read has tried to go past the end */
} ResultPosition;

struct ResultTape
{
	RunTape    *tape;
	char		first_header[RUN_HEADER_BYTES];
	bool		has_rows;
	ResultPosition position;
	ResultPosition marked;

	/* the part of the tape that was read last */
	uint64		window_start;
	uint64		window_end;
	Size		buffer_bytes;
	char	   *buffer;

	MinimalTuple row;			/* row that was emitted last */
	Size		row_bytes;		/* bytes for which "row" has room */
};

ResultTape *
result_tape_create(RunFile *file)
{
	ResultTape *result = palloc0(sizeof(ResultTape));

	result->tape = run_tape_create(file, NULL);
	return result;
}

void
result_tape_write(ResultTape *result, MinimalTuple row)
{
	RunTape    *tape = result->tape;
	uint32		length = row->t_len;
	uint16		mark = length <= SHORT_LENGTH_MASK ? length : 0;
	bool		is_long = mark == 0;

	if (!result->has_rows)
		memcpy(result->first_header, ROW_HEADER(row), RUN_HEADER_BYTES);
	result->has_rows = true;
	if (memcmp(result->first_header, ROW_HEADER(row), RUN_HEADER_BYTES) == 0)
		mark |= FIRST_HEADER;

	run_tape_append(tape, &mark, sizeof(mark));
	if (is_long)
		run_tape_append(tape, &length, sizeof(length));
	if ((mark & FIRST_HEADER) == 0)
		run_tape_append(tape, ROW_HEADER(row), RUN_HEADER_BYTES);
	run_tape_append(tape, ROW_VALUES(row), length - ROW_VALUES_OFFSET);
	if (is_long)
		run_tape_append(tape, &length, sizeof(length));
	run_tape_append(tape, &mark, sizeof(mark));
}

void
result_tape_complete(ResultTape *result, Size buffer_bytes)
{
	RunTape    *tape = result->tape;

	run_tape_complete(tape);
	result->buffer_bytes = Min(buffer_bytes, run_file_piece_bytes(tape->file));
	result->buffer = MemoryContextAlloc(tape->context, result->buffer_bytes);
	result_tape_rescan(result);
}

/* Moves the window to the part of a piece that has this place. */
static void
move_window(ResultTape *result, uint64 place)
{
	const RunTape *tape = result->tape;
	Size		piece_bytes = run_file_piece_bytes(tape->file);
	uint64		start = place - place % result->buffer_bytes;
	uint64		end = Min(start + result->buffer_bytes, tape->finish);

	/* in case reading fails */
	result->window_start = result->window_end = 0;
	run_file_read(tape->file, tape->pieces.numbers[start / piece_bytes],
				  start % piece_bytes, result->buffer, end - start);
	result->window_start = start;
	result->window_end = end;
}

/* Copies the bytes at a place. */
static void
copy_bytes(ResultTape *result, uint64 place, void *bytes, Size count)
{
	while (count > 0)
	{
		Size		part;

		if (place < result->window_start || place >= result->window_end)
			move_window(result, place);
		part = Min(count, result->window_end - place);
		memcpy(bytes, result->buffer + (place - result->window_start), part);
		bytes = (char *) bytes + part;
		place += part;
		count -= part;
	}
}

/* Bytes that each of the two ends of a row takes. */
static inline Size
end_bytes(RowEnd end)
{
	return sizeof(end.mark) +
		((end.mark & SHORT_LENGTH_MASK) == 0 ? sizeof(end.length) : 0);
}

/* Bytes of a row on the tape. */
static inline uint64
bytes_on_tape(RowEnd end)
{
	return 2 * end_bytes(end) + end.length - ROW_VALUES_OFFSET +
		((end.mark & FIRST_HEADER) == 0 ? RUN_HEADER_BYTES : 0);
}

/*
 * Reads the beginning of the row at this place, or the end of the row before
 * it.
 */
static RowEnd
read_end(ResultTape *result, uint64 place, bool before)
{
	RowEnd		end;

	copy_bytes(result, before ? place - sizeof(end.mark) : place,
			   &end.mark, sizeof(end.mark));
	end.length = end.mark & SHORT_LENGTH_MASK;
	if (end.length == 0)
		copy_bytes(result,
				   before ? place - sizeof(end.mark) - sizeof(end.length) :
				   place + sizeof(end.mark),
				   &end.length, sizeof(end.length));
	return end;
}

/* Makes room for a row of this length. */
static void
make_room(ResultTape *result, uint32 length)
{
	if (length <= result->row_bytes)
		return;
	if (result->row != NULL)
		pfree(result->row);
	result->row = NULL;
	result->row_bytes = 0;
	result->row = MemoryContextAllocHuge(result->tape->context,
										 pg_nextpower2_size_t(length));
	result->row_bytes = pg_nextpower2_size_t(length);
}

/* Reads the row at this place. */
static MinimalTuple
read_row(ResultTape *result, uint64 place, RowEnd end)
{
	MinimalTuple row;

	make_room(result, end.length);
	row = result->row;
	row->t_len = end.length;
	place += end_bytes(end);
	if ((end.mark & FIRST_HEADER) != 0)
		memcpy(ROW_HEADER(row), result->first_header, RUN_HEADER_BYTES);
	else
	{
		copy_bytes(result, place, ROW_HEADER(row), RUN_HEADER_BYTES);
		place += RUN_HEADER_BYTES;
	}
	copy_bytes(result, place, ROW_VALUES(row), end.length - ROW_VALUES_OFFSET);
	return row;
}

static MinimalTuple
read_forward(ResultTape *result)
{
	uint64		place = result->position.next;
	RowEnd		end;

	if (place == result->tape->finish)
	{
		result->position.at_end = true;
		return NULL;
	}
	end = read_end(result, place, false);
	result->position.next = place + bytes_on_tape(end);
	return read_row(result, place, end);
}

/*
 * Reads the row before the one emitted last, or the last row if the end was
 * reached.
 */
static MinimalTuple
read_backward(ResultTape *result)
{
	uint64		start = result->tape->start;
	uint64	   *next = &result->position.next;
	RowEnd		end;

	if (result->position.at_end)
		result->position.at_end = false;
	else if (*next > start)
		*next -= bytes_on_tape(read_end(result, *next, true));
	if (*next == start)
		return NULL;
	end = read_end(result, *next, true);
	return read_row(result, *next - bytes_on_tape(end), end);
}

MinimalTuple
result_tape_read(ResultTape *result, bool forward)
{
	return forward ? read_forward(result) : read_backward(result);
}

void
result_tape_rescan(ResultTape *result)
{
	result->position.next = result->tape->start;
	result->position.at_end = false;
	result->marked = result->position;
}

void
result_tape_mark(ResultTape *result)
{
	result->marked = result->position;
}

void
result_tape_restore(ResultTape *result)
{
	result->position = result->marked;
}
