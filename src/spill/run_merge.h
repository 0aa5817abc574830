/*-------------------------------------------------------------------------
 *
 * run_merge.h
 *	  Merging sorted runs by a tree of losers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_MERGE_H
#define GPUSORT_RUN_MERGE_H

#include "sort/row_order.h"
#include "spill/run_tape.h"

typedef struct RunMerge RunMerge;

/* Bytes of memory for each run, beside its buffer and its longest row. */
extern Size run_merge_bytes(void);

/*
 * Begins a merge of complete runs, at least one, by the keys and comparators of
 * "order"; both must stay.  read_bytes are read of a run at once (run_tape.h).
 * Allocates in the current memory context.
 */
extern RunMerge *run_merge_begin(RowOrder *order, RunTape **runs, int nruns,
								 Size read_bytes);

/* The next row of all runs, valid until the next call; NULL at the end. */
extern void *run_merge_next(RunMerge *merge);

/* Ends the merge, and closes its runs. */
extern void run_merge_end(RunMerge *merge);

#endif							/* GPUSORT_RUN_MERGE_H */
