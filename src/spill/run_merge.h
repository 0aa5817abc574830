/*-------------------------------------------------------------------------
 *
 * run_merge.h
 *	  Merging sorted runs by a tree of losers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_MERGE_H
#define GPUSORT_RUN_MERGE_H

#include "spill/run_order.h"
#include "spill/run_tape.h"

typedef struct RunMerge RunMerge;

/*
 * Runs that are merged at once even if memory is too small; core's MINORDER.
 */
#define LEAST_MERGED_RUNS	6

/* Returns how many runs can be merged at once with "limit" bytes of memory. */
extern int	run_merge_most_runs(Size limit, Size longest_row);

/*
 * Returns the bytes that are read at once of each of nruns runs: a power of
 * two.
 */
extern Size run_merge_read_bytes(Size limit, int nruns, Size longest_row);

/*
 * Begins a merge of one or more complete runs, by their order.  Runs must
 * stay.  Each read of a run fetches read_bytes
 * bytes (run_tape.h).  A run that is being read already goes on with the row
 * that was read last, and must have one.  Allocates in the current memory
 * context.
 */
extern RunMerge *run_merge_begin(RunOrder order, RunTape **runs, int nruns,
								 Size read_bytes);

/*
 * Returns the next row of all runs, valid until the next call; NULL at the
 * end.
 */
extern void *run_merge_next(RunMerge *merge);

/*
 * Writes all rows of the merge to an empty tape, with their keys if these take
 * long to make, and completes the tape.
 */
extern void run_merge_write(RunMerge *merge, RunTape *run);

/* Ends the merge, and closes its runs. */
extern void run_merge_end(RunMerge *merge);

#endif							/* GPUSORT_RUN_MERGE_H */
