/*-------------------------------------------------------------------------
 *
 * run_order.h
 *	  From which sorted run each next row is, as gpusortd knows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_ORDER_H
#define GPUSORT_RUN_ORDER_H

#include "run_tape.h"
#include "sort_job.h"

typedef struct RunOrder RunOrder;

/*
 * Begins without a run; keys will be of this shape, and exact.  NULL if
 * gpusortd does not take so many.  Allocates in the current memory context, in
 * which all that follows has to be called, too.
 */
extern RunOrder *run_order_begin(const KeyShape *shape, uint64 expected_rows);

/* The key of the next row; false if gpusortd has been lost, and all keys. */
extern bool run_order_add(RunOrder *order, const uint64_t *words, int nwords);

/*
 * The rows since the last call are in this run; false if there are not so many
 * of them.
 */
extern bool run_order_end_run(RunOrder *order, RunTape *run, uint64 nrows);

/* Rows that were in the one run are in the other now. */
extern void run_order_replace(RunOrder *order, const RunTape *run,
							  RunTape *replacement);

/*
 * After the last run: makes the order, and writes it to the file; false if
 * gpusortd has been lost.
 */
extern bool run_order_make(RunOrder *order, RunFile *file);

/*
 * After that, and run_file_flush(): the run that has the next row, NULL after
 * the last one.  All runs must be being read.
 */
extern RunTape *run_order_next(RunOrder *order);

/* Ends it, made or not.  The runs stay. */
extern void run_order_free(RunOrder *order);

#endif							/* GPUSORT_RUN_ORDER_H */
