/*-------------------------------------------------------------------------
 *
 * run_tape.h
 *	  A tape: one sorted run of rows, in a temporary file.
 *
 * A tape is written row by row, then completed, then read row by row, once.
 * Its bytes are in pieces of a file (run_file.h), which has other tapes, too.
 * Positions on a tape count as if its pieces lay one behind the other.
 *
 * A tape for several processes has a file of its own, and an index of some of
 * its positions.  Each process can begin to read at any position of the index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_TAPE_H
#define GPUSORT_RUN_TAPE_H

#include "access/htup_details.h"

#include "sort/row_order.h"
#include "spill/run_file.h"

/*
 * Bytes of a minimal tuple from t_infomask2 to its values, with one byte of
 * its null bitmap.  These bytes are on the tape only if they differ from the
 * header of the row before.
 */
#define RUN_HEADER_BYTES \
	(MAXALIGN(SizeofMinimalTupleHeader) - MINIMAL_TUPLE_DATA_OFFSET)

/* Offset of the values. */
#define ROW_VALUES_OFFSET	(MINIMAL_TUPLE_DATA_OFFSET + RUN_HEADER_BYTES)

#define ROW_HEADER(row)		((char *) (row) + MINIMAL_TUPLE_DATA_OFFSET)
#define ROW_VALUES(row)		((char *) (row) + ROW_VALUES_OFFSET)

/* The key of a row; a key without words is unknown. */
typedef struct RunKey
{
	int			nwords;
	uint64_t	words[KEY_MAX_WORDS];
} RunKey;

typedef struct RunTape
{
	/* the fields that each row needs, in few cache lines */
	void	   *row;			/* row that was read last; NULL at the end */
	char	   *next;			/* first byte to be read, or to be written */
	char	   *end;			/* end of the bytes in memory, or of the free
								 * bytes */
	const struct RunFormat *format; /* form of the rows; NULL: bytes only */
	RunKey	   *key;			/* key of the row that was read last; NULL:
								 * the tape has no keys */
	char		header[RUN_HEADER_BYTES];	/* header of the last minimal
											 * tuple */

	MemoryContext context;		/* owns everything below but the file */
	RunFile    *file;
	bool		owns_file;		/* the file is deleted with the tape */
	NumberList	pieces;			/* pieces of the file that have the tape; none
								 * after run_tape_open() */
	uint32		key_changes;	/* number of changes of the sort's keys
								 * (sort_keys.h) before the keys on the tape
								 * were made */
	uint64		start;			/* position of the first byte */
	uint64		finish;			/* position behind the last byte */
	Size		longest_row;	/* bytes of the longest row */

	/* while a tape with an index is written */
	NumberList	index;			/* positions of some rows, from the first row
								 * on */
	uint64		next_indexed;	/* the next row from this position on is
								 * indexed */

	/* while the tape is read */
	uint64		fetched;		/* position behind the bytes read so far */
	Size		buffer_bytes;	/* bytes that are read at once */
	char	   *buffer;
	char	   *space;			/* memory for a row that spans two reads */
	Size		space_bytes;	/* bytes of that memory */
} RunTape;

/* The form of the rows on a tape. */
typedef struct RunFormat
{
	Size		(*bytes) (const void *row); /* bytes of a row in memory */
	void		(*write) (RunTape *run, const void *row);
	void		(*read) (RunTape *run); /* sets run->row; not at the end */
} RunFormat;

extern const RunFormat run_of_minimal_tuples;
extern const RunFormat run_of_index_rows;

/* Rows that are one value, a Datum, each. */
extern const RunFormat run_of_values;

/* The header of a row that is no tuple. */
typedef struct RunBlock
{
	uint32		bytes;			/* bytes that follow */
} RunBlock;

extern const RunFormat run_of_blocks;

/*
 * run_tape_create() makes an empty tape in this file.  No other tape is
 * written to the file until this one is complete.  run_tape_open() makes a
 * complete tape of the first "bytes" bytes of a file that another process has
 * written.  The file stays the caller's.  Both allocate in the current memory
 * context.
 */
extern RunTape *run_tape_create(RunFile *file, const RunFormat *format);
extern RunTape *run_tape_open(RunFile *file, const RunFormat *format,
							  uint64 bytes);

/*
 * run_tape_keep_keys() lets the rows of an empty tape have keys.  Then
 * run_tape_write_key() has to write the key of each row ahead of the row, and
 * keys are read along with the rows. key_changes is the number of changes that
 * the sort's keys have had so far (sort_keys.h).
 */
extern void run_tape_keep_keys(RunTape *run, uint32 key_changes);
extern void run_tape_write_key(RunTape *run, const uint64_t *words,
							   int nwords);

static inline void
run_tape_write(RunTape *run, const void *row)
{
	run->format->write(run, row);
}

/*
 * Writes bytes of a row, in place of run_tape_write(): the tape has no format,
 * or all bytes together are a row of its format.
 */
extern void run_tape_append(RunTape *run, const void *bytes, Size count);

/*
 * Returns the position of the next row, on a tape that is being written or
 * read.
 */
extern uint64 run_tape_position(const RunTape *run);

/* Adds this position to the index, so that reading can begin there. */
extern void run_tape_add_to_index(RunTape *run);

/*
 * Does what run_tape_write() does, for a tape with an index, alone in its
 * file.
 */
static inline void
run_tape_write_indexed(RunTape *run, const void *row)
{
	if (unlikely(run_tape_position(run) >= run->next_indexed))
		run_tape_add_to_index(run);
	run->format->write(run, row);
}

/*
 * Complete the tape, after the last row.  The second function also writes the
 * index.
 */
extern void run_tape_complete(RunTape *run);
extern void run_tape_complete_indexed(RunTape *run);

/*
 * For a tape with an index, in a file of "bytes" bytes.  run_tape_rows_bytes()
 * returns the bytes of its rows.  run_tape_read_index() returns the index,
 * thinned out to "most" entries, in the current memory context.
 */
extern uint64 run_tape_rows_bytes(RunFile *file, uint64 bytes);
extern NumberList run_tape_read_index(RunFile *file, uint64 rows_bytes,
									  uint64 bytes, uint64 most);

/*
 * Begins to read the tape, after run_file_flush().  Each read fetches
 * buffer_bytes bytes: a power of two, BLCKSZ at least.  Pieces are given back
 * to the file as they are read.
 */
extern void run_tape_begin_read(RunTape *run, Size buffer_bytes);

/* Begins to read the tape at a position of the index. */
extern void run_tape_begin_read_at(RunTape *run, uint64 position,
								   Size buffer_bytes);

/* Reads the key of the next row into run->key. */
extern void run_tape_read_key(RunTape *run);

/* Returns the next row, valid until the next call; NULL after the last row. */
static inline void *
run_tape_read(RunTape *run)
{
	if (likely(run->next != run->end || run->fetched < run->finish))
	{
		if (run->key != NULL)
			run_tape_read_key(run);
		run->format->read(run);
	}
	else
		run->row = NULL;
	return run->row;
}

extern void run_tape_close(RunTape *run);

#endif							/* GPUSORT_RUN_TAPE_H */
