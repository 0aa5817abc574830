/*-------------------------------------------------------------------------
 *
 * run_tape.h
 *	  One sorted run of rows, in a temporary file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_TAPE_H
#define GPUSORT_RUN_TAPE_H

#include "access/htup_details.h"

#include "spill/run_file.h"

/* What is ahead of the values of a minimal tuple: of its nulls the first byte. */
#define RUN_HEADER_BYTES \
	(MAXALIGN(SizeofMinimalTupleHeader) - MINIMAL_TUPLE_DATA_OFFSET)

/* Its values come after that. */
#define ROW_VALUES_OFFSET	(MINIMAL_TUPLE_DATA_OFFSET + RUN_HEADER_BYTES)

#define ROW_HEADER(row)		((char *) (row) + MINIMAL_TUPLE_DATA_OFFSET)
#define ROW_VALUES(row)		((char *) (row) + ROW_VALUES_OFFSET)

typedef struct RunTape
{
	/* what each row takes is ahead, in few cache lines */
	void	   *row;			/* that was read last; NULL at the end */
	char	   *next;			/* of the buffer what is not read; or, while */
	char	   *end;			/* it is written, of the file's what is free */
	const struct RunFormat *format;
	char		header[RUN_HEADER_BYTES];	/* of the last minimal tuple */

	MemoryContext context;		/* holds everything below */
	RunFile    *file;
	bool		owns_file;		/* which goes with it */
	PieceList	pieces;			/* of the file, where it is */
	uint64		start;			/* in the first one, and its end, as if the */
	uint64		finish;			/* pieces were one behind the other */
	Size		longest_row;	/* that was written */

	/* while it is read */
	uint64		fetched;		/* so far, as above */
	Size		buffer_bytes;
	char	   *buffer;
	char	   *space;			/* for a row of which it has not all */
	Size		space_bytes;
} RunTape;

/* What rows are, and how they go to a tape and come back. */
typedef struct RunFormat
{
	Size		(*bytes) (const void *row);
	void		(*write) (RunTape *run, const void *row);
	void		(*read) (RunTape *run);	/* the next row; there is one */
} RunFormat;

extern const RunFormat run_of_minimal_tuples;
extern const RunFormat run_of_index_rows;

/* A row that is no tuple begins with this. */
typedef struct RunBlock
{
	uint32		bytes;			/* that follow */
} RunBlock;

extern const RunFormat run_of_blocks;

/*
 * Makes an empty one in this file, to which no other is written until this one
 * is complete; or one of all that another process has written to the file,
 * which it deletes when it is closed.  Allocates in the current memory context.
 */
extern RunTape *run_tape_create(RunFile *file, const RunFormat *format);
extern RunTape *run_tape_import(RunFile *file, const RunFormat *format,
								uint64 bytes);

static inline void
run_tape_write(RunTape *run, const void *row)
{
	run->format->write(run, row);
}

/* The same for bytes of a row of any other form, on a tape without a format. */
extern void run_tape_append(RunTape *run, const void *bytes, Size count);

/* After the last row. */
extern void run_tape_complete(RunTape *run);

/*
 * After that, and run_file_flush(): so many bytes will be read at once, which
 * is a power of two, and a page at least.  The file's pieces are given back as
 * they are read.
 */
extern void run_tape_begin_read(RunTape *run, Size buffer_bytes);

/* The next row, valid until the next call; NULL after the last one. */
static inline void *
run_tape_read(RunTape *run)
{
	if (likely(run->next != run->end || run->fetched < run->finish))
		run->format->read(run);
	else
		run->row = NULL;
	return run->row;
}

extern void run_tape_close(RunTape *run);

#endif							/* GPUSORT_RUN_TAPE_H */
