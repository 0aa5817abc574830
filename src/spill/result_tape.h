/*-------------------------------------------------------------------------
 *
 * result_tape.h
 *	  Rows in their final order, in a temporary file, to be read in any
 *	  direction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RESULT_TAPE_H
#define GPUSORT_RESULT_TAPE_H

#include "access/htup_details.h"

#include "spill/run_file.h"

typedef struct ResultTape ResultTape;

/*
 * Makes an empty one in this file, to which nothing else is written until it is
 * complete.  Allocates in the current memory context.
 */
extern ResultTape *result_tape_create(RunFile *file);

extern void result_tape_write(ResultTape *result, MinimalTuple row);

/*
 * After the last row, and before run_file_flush(): so many bytes will be read
 * at once, which is a power of two, and a page at least.
 */
extern void result_tape_complete(ResultTape *result, Size buffer_bytes);

/*
 * After both: the next row, or the previous one, valid until the next call;
 * NULL when there is none.  As of tuplesort: back to the start; note and restore
 * the position.
 */
extern MinimalTuple result_tape_read(ResultTape *result, bool forward);
extern void result_tape_rescan(ResultTape *result);
extern void result_tape_mark(ResultTape *result);
extern void result_tape_restore(ResultTape *result);

#endif							/* GPUSORT_RESULT_TAPE_H */
