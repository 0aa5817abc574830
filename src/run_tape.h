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
#include "utils/logtape.h"

/* What is ahead of the values of a minimal tuple: of its nulls the first byte. */
#define RUN_HEADER_BYTES \
	(MAXALIGN(SizeofMinimalTupleHeader) - MINIMAL_TUPLE_DATA_OFFSET)

typedef struct RunTape
{
	LogicalTape *tape;
	const struct RunFormat *format;
	void	   *row;			/* that was read last; NULL before the first */
	Size		room;			/* bytes for a row there */
	char		header[RUN_HEADER_BYTES];	/* of the last minimal tuple */
} RunTape;

/* What rows are, and how they go to a tape and come back. */
typedef struct RunFormat
{
	Size		(*bytes) (const void *row);
	void		(*write) (RunTape *run, const void *row);
	void	   *(*read) (RunTape *run);
} RunFormat;

extern const RunFormat run_of_minimal_tuples;
extern const RunFormat run_of_index_tuples;

/* Bytes that a tape takes while it is read, beside its longest row. */
#define RUN_TAPE_BYTES		(BLCKSZ + sizeof(RunTape))

/*
 * Makes one of a tape, which is empty or has a run; that is ended with it.
 * Allocates in the current memory context.
 */
extern RunTape *run_tape_create(LogicalTape *tape, const RunFormat *format);

/* Between writing and reading. */
extern void run_tape_rewind(RunTape *run);

extern void run_tape_close(RunTape *run);

static inline void
run_tape_write(RunTape *run, const void *row)
{
	run->format->write(run, row);
}

/* The next row, valid until the next call; NULL after the last one. */
static inline void *
run_tape_read(RunTape *run)
{
	return run->format->read(run);
}

#endif							/* GPUSORT_RUN_TAPE_H */
