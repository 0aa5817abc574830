/*-------------------------------------------------------------------------
 *
 * part_merge.h
 *	  Merging the runs of several processes by all of them, part by part.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PART_MERGE_H
#define GPUSORT_PART_MERGE_H

#include "spill/part_stream.h"
#include "spill/run_merge.h"
#include "spill/run_tape.h"
#include "spill/shared_runs.h"

/* A process that merges parts. */
typedef struct PartMerge PartMerge;

/*
 * Opens the runs, when all have been written.  A process that helps the leader
 * must have taken a part before: the leader keeps the runs until all parts are
 * merged.  Rows have this format, and "order", which has to stay, compares
 * them.  Allocates in a memory context that is a child of the current one.
 */
extern PartMerge *part_merge_begin(SharedRuns *shared, RowOrder *order,
								   const RunFormat *format);

/*
 * In the leader, before the decision: divides the order of all rows into
 * parts.  The first function is for a stream, and returns its receiver; NULL
 * if files are better.  The second is for files and nprocesses processes;
 * false if the leader had better merge alone, for lack of disk space or since
 * rows are few.
 */
extern PartReceiver *part_merge_divide_to_stream(PartMerge *merge,
												 int nhelpers);
extern bool part_merge_divide_to_files(PartMerge *merge, int nprocesses);

/*
 * Merges a part that this process has taken, and then further parts, until every
 * part has been taken by some process, or until the leader wants no more rows.
 */
extern void part_merge_to_files(PartMerge *merge, int part);
extern void part_merge_to_stream(PartMerge *merge, int part,
								 PartSender *sender);

/*
 * Begins to merge a part that this process has taken, and ends that; one part
 * at a time.  NULL stands for a part without rows.
 */
extern RunMerge *part_merge_open(PartMerge *merge, int part);
extern void part_merge_close(PartMerge *merge, RunMerge *rows);

/* Closes the runs, deletes them if deletes_runs, and frees the memory. */
extern void part_merge_end(PartMerge *merge, bool deletes_runs);

#endif							/* GPUSORT_PART_MERGE_H */
