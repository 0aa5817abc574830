/*-------------------------------------------------------------------------
 *
 * part_merge.h
 *	  Merging the runs of several processes by all of them, part by part.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PART_MERGE_H
#define GPUSORT_PART_MERGE_H

#include "spill/run_tape.h"
#include "spill/shared_runs.h"

/* A process that merges parts. */
typedef struct PartMerge PartMerge;

/*
 * Opens the runs, when all have been written.  A process that helps the leader must
 * have taken a part first: the leader keeps the runs until all parts are merged.
 * Rows have this format, and are compared as "order" does, which has to stay.
 * Allocates in a memory context that is a child of the current one.
 */
extern PartMerge *part_merge_begin(SharedRuns *shared, RowOrder *order,
								   const RunFormat *format);

/*
 * In the leader, before shared_runs_decide(): divides the order of all rows into
 * parts for nprocesses processes.  False if the leader had better merge alone, since
 * there is no disk space for parts, or since rows are few.
 */
extern bool part_merge_divide(PartMerge *merge, int nprocesses);

/*
 * Merges a part that this process has taken, and then further parts, until every
 * part has been taken by some process.
 */
extern void part_merge_perform(PartMerge *merge, int part);

/* Closes the runs, with deletes_runs deletes them too, and frees the memory. */
extern void part_merge_end(PartMerge *merge, bool deletes_runs);

/* The reader of the parts, in the leader. */
typedef struct PartReader PartReader;

/*
 * Begins to read all parts, which are in files, one after the other;
 * buffer_bytes are read at once.  Allocates in the current memory context.
 */
extern PartReader *part_reader_begin(SharedRuns *shared,
									 const RunFormat *format,
									 Size buffer_bytes);

/* The next row, valid until the next call; NULL after the last one. */
extern void *part_reader_next(PartReader *reader);

/* Ends the reading, at any time; the files are deleted as they are read. */
extern void part_reader_end(PartReader *reader);

#endif							/* GPUSORT_PART_MERGE_H */
