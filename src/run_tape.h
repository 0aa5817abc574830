/*-------------------------------------------------------------------------
 *
 * run_tape.h
 *	  One sorted run of rows, in a temporary file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_TAPE_H
#define GPUSORT_RUN_TAPE_H

#include "access/htup.h"
#include "utils/logtape.h"

typedef struct RunTape
{
	LogicalTape *tape;
	MinimalTuple row;			/* that was read last; NULL before the first */
	Size		room;			/* bytes for a row there */
} RunTape;

/* Bytes that a tape takes while it is read, beside its longest row. */
#define RUN_TAPE_BYTES		(BLCKSZ + sizeof(RunTape))

/* Makes an empty one, to be written; allocates in the current context. */
extern RunTape *run_tape_create(LogicalTapeSet *tapes);

extern void run_tape_write(RunTape *run, MinimalTuple row);

/* Between writing and reading. */
extern void run_tape_rewind(RunTape *run);

/* The next row, valid until the next call; NULL after the last one. */
extern MinimalTuple run_tape_read(RunTape *run);

extern void run_tape_close(RunTape *run);

#endif							/* GPUSORT_RUN_TAPE_H */
