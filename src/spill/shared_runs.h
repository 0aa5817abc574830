/*-------------------------------------------------------------------------
 *
 * shared_runs.h
 *	  Sorted runs of several processes, and what they share while they merge
 *	  them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_RUNS_H
#define GPUSORT_SHARED_RUNS_H

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/dsm.h"
#include "storage/sharedfileset.h"

#include "port/leader_decision.h"
#include "sort/row_order.h"
#include "spill/run_tape.h"

/* The most parts of a merge. */
#define MOST_MERGED_PARTS	1024

/* The names of the files, with numbers. */
#define RUN_FILE_NAME		"run"
#define PART_FILE_NAME		"part"

/*
 * Shared memory of processes that write runs; one of them, the leader, emits
 * the rows in the end.
 */
typedef struct SharedRuns
{
	SharedFileSet files;		/* runs, each an indexed tape, and parts */
	Size		limit;			/* bytes of memory of each process */
	pg_atomic_uint32 nruns;		/* runs that were begun */
	slock_t		mutex;			/* protects the fields up to the next blank
								 * line */
	uint64		nrows;			/* rows of all runs */
	Size		longest_row;	/* bytes of the longest row */
	Size		disk;			/* bytes of all files */
	char		method[REPORT_TEXT_SIZE];	/* how the last run was sorted */
	char		device[REPORT_TEXT_SIZE];
	bool		on_device;		/* some runs were sorted by gpusortd */
	uint64		device_microseconds;	/* time of the sorts on the device */

	pg_atomic_uint32 nhelpers;	/* processes that wait to help to merge, noted
								 * before the leader knows of their last row */
	LeaderDecision decision;	/* what they wait for */

	/* of a merge in parts; the leader sets the first four before it decides */
	int			nparts;			/* parts of the order of all rows */
	uint64		sampled;		/* every n-th index entry is a sample */
	dsm_handle	stream;			/* stream of the parts (part_stream.h) */
	Size		stream_memory;	/* each process's memory for it; 0: there is
								 * none */
	pg_atomic_uint32 next_part; /* next part that a process may take */
	pg_atomic_uint32 nmerged;	/* parts that are in files */
	ConditionVariable merged;	/* signalled when all parts are in files */
	uint64		part_rows[MOST_MERGED_PARTS];	/* rows of each part */
} SharedRuns;

/*
 * Initializes shared runs in a segment to which all processes attach.  Each
 * process has "limit" bytes of memory.
 */
extern void shared_runs_init(SharedRuns *shared, dsm_segment *segment,
							 Size limit);

/* Begins again with no runs, when no process uses them and their files are gone. */
extern void shared_runs_reset(SharedRuns *shared, Size limit);

/*
 * Begins a run, an indexed tape in a file of its own; and completes it, with nrows rows,
 * and notes how its order was made, or with NULL that its rows are in no order.  Closes
 * the run, but not the file, which the second function returns: files that a process
 * has closed do not count for temp_file_limit.
 */
extern RunTape *shared_runs_begin_run(SharedRuns *shared,
									  const RunFormat *format);
extern RunFile *shared_runs_end_run(SharedRuns *shared, RunTape *run,
									const RowOrder *order, uint64 nrows);

/*
 * Takes the next part for this process to merge; false if there is none.  The
 * second function, for the leader of a stream, takes this part; false if
 * another process has it already.
 */
extern bool shared_runs_take_part(SharedRuns *shared, int *part);
extern bool shared_runs_take_this_part(SharedRuns *shared, int part);

/* Notes that a part is in a file, if it has rows. */
extern void shared_runs_finish_part(SharedRuns *shared, int part,
									uint64 nrows, Size bytes);

/* Waits until all parts are in files. */
extern void shared_runs_await_parts(SharedRuns *shared);

#endif							/* GPUSORT_SHARED_RUNS_H */
