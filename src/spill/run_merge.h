/*-------------------------------------------------------------------------
 *
 * run_merge.h
 *	  Many sorted runs as one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_MERGE_H
#define GPUSORT_RUN_MERGE_H

#include "sort/row_order.h"
#include "spill/run_tape.h"

typedef struct RunMerge RunMerge;

/* Bytes for each run, beside its longest row and what is read at once. */
extern Size run_merge_bytes(void);

/*
 * Begins with complete runs, at least one, which were put in order by "order";
 * both must stay.  Of each so many bytes are read at once (run_tape.h).
 * Allocates in the current memory context.
 */
extern RunMerge *run_merge_begin(RowOrder *order, RunTape **runs, int nruns,
								 Size read_bytes);

/* The next row of all, valid until the next call; NULL after the last one. */
extern void *run_merge_next(RunMerge *merge);

/* Closes the runs too. */
extern void run_merge_end(RunMerge *merge);

#endif							/* GPUSORT_RUN_MERGE_H */
