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

/* Runs that are merged at once even if memory does not suffice; core's MINORDER. */
#define LEAST_MERGED_RUNS	6

/* The number of runs that "limit" bytes of memory are enough to merge at once. */
extern int	run_merge_most_runs(Size limit, Size longest_row);

/* The bytes that are read at once of each of nruns runs; a power of two. */
extern Size run_merge_read_bytes(Size limit, int nruns, Size longest_row);

/*
 * Begins a merge of one or more complete runs, by the keys and comparators of
 * "order"; both must stay.  read_bytes are read of a run at once (run_tape.h).
 * A run that is being read already goes on with the row that was read last,
 * and must have one.  Allocates in the current memory context.
 */
extern RunMerge *run_merge_begin(RowOrder *order, RunTape **runs, int nruns,
								 Size read_bytes);

/* The next row of all runs, valid until the next call; NULL at the end. */
extern void *run_merge_next(RunMerge *merge);

/*
 * Writes all rows of the merge, with their keys, to an empty tape, and
 * completes it.
 */
extern void run_merge_write(RunMerge *merge, RunTape *run);

/* Ends the merge, and closes its runs. */
extern void run_merge_end(RunMerge *merge);

#endif							/* GPUSORT_RUN_MERGE_H */
