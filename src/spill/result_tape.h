/*-------------------------------------------------------------------------
 *
 * result_tape.h
 *	  Sorted rows in a temporary file, to be read forward and backward.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RESULT_TAPE_H
#define GPUSORT_RESULT_TAPE_H

#include "access/htup_details.h"

#include "spill/run_file.h"

typedef struct ResultTape ResultTape;

/*
 * Makes an empty tape in this file.  The file stays the caller's, and nothing
 * else is written to it until the tape is complete.  Allocates in the current
 * memory context.
 */
extern ResultTape *result_tape_create(RunFile *file);

extern void result_tape_write(ResultTape *result, MinimalTuple row);

/*
 * Completes the tape, after the last row and before run_file_flush().  Each
 * read fetches buffer_bytes bytes: a power of two, BLCKSZ at least.
 */
extern void result_tape_complete(ResultTape *result, Size buffer_bytes);

/*
 * result_tape_read() returns the next row, or the previous one; NULL at the
 * end or the beginning.  The row is valid until the next call.  The other
 * three go back to the beginning, mark the position, and restore it, as
 * tuplesort's functions do.  All may be called after run_file_flush().
 */
extern MinimalTuple result_tape_read(ResultTape *result, bool forward);
extern void result_tape_rescan(ResultTape *result);
extern void result_tape_mark(ResultTape *result);
extern void result_tape_restore(ResultTape *result);

#endif							/* GPUSORT_RESULT_TAPE_H */
