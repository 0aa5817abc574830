/*-------------------------------------------------------------------------
 *
 * shared_runs.h
 *	  Sorted runs that the members of a team write, and all of them can read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_RUNS_H
#define GPUSORT_SHARED_RUNS_H

#include "nodes/pg_list.h"
#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/sharedfileset.h"
#include "storage/spin.h"

#include "sort/row_order.h"
#include "spill/external_sort.h"
#include "spill/run_tape.h"

/* Names of files of runs and of parts; a number follows. */
#define RUN_FILE_NAME		"run"
#define PART_FILE_NAME		"part"

/* The state that all members share. */
typedef struct SharedRuns
{
	SharedFileSet files;		/* runs, each an indexed tape, and parts */
	Size		limit;			/* bytes of memory of each member */
	pg_atomic_uint32 nruns;		/* number of runs that were begun */
	slock_t		mutex;			/* protects the fields up to the next blank
								 * line */
	uint64		nsorted;		/* rows of which runs were made */
	uint64		nrows;			/* rows in all runs, which may leave some out */
	Size		longest_row;	/* bytes of the longest row */
	Size		disk;			/* bytes of all files, of parts too */
	char		method[REPORT_TEXT_SIZE];	/* how the last run was sorted */
	char		device[REPORT_TEXT_SIZE];
	bool		on_device;		/* gpusortd has sorted some run */
	uint64		device_microseconds;	/* time of the sorts on the device */

	/*
	 * for a merge in parts (part_merge.h); set by the collector before its
	 * decision
	 */
	uint64		sampled;		/* every n-th index entry is a sample */
	Size		stream_memory;	/* bytes of each sender's memory for parts; 0:
								 * parts are not sent */
} SharedRuns;

/*
 * Initializes shared runs, in a segment to which all members attach.  Each
 * member has "limit" bytes of memory.
 */
extern void shared_runs_init(SharedRuns *shared, dsm_segment *segment,
							 Size limit);

/*
 * Begins again without runs, when no process uses them and their files are
 * gone.
 */
extern void shared_runs_reset(SharedRuns *shared, Size limit);

/* Returns the number of runs. */
extern int	shared_runs_count(SharedRuns *shared);

/*
 * shared_runs_begin_run() begins a run, an indexed tape in a file of its own.
 * shared_runs_end_run() completes a run of nrows rows, and notes how "order"
 * was made; "order" is NULL if the rows are in no order.  It closes the run,
 * but not the file, which it returns: files that a process has closed do not
 * count for temp_file_limit.
 */
extern RunTape *shared_runs_begin_run(SharedRuns *shared,
									  const RunFormat *format);
extern RunFile *shared_runs_end_run(SharedRuns *shared, RunTape *run,
									const RowOrder *order, uint64 nrows);

/* Opens the file of a run, in any member, and sets *bytes to its size. */
extern RunFile *shared_runs_open(SharedRuns *shared, int number,
								 uint64 *bytes);

/*
 * Adds all runs to "runs", which deletes the file of each run once it has read
 * it.
 */
extern void shared_runs_import(SharedRuns *shared, SortedRuns *runs,
							   const RunFormat *format);

/*
 * Counts the bytes of a file that has rows of runs once more, when it is
 * complete.
 */
extern void shared_runs_note_file(SharedRuns *shared, const RunFile *file);

/*
 * Takes the figures of the runs so far into the report and the progress of the
 * collector's sort, when the other members have finished.
 */
extern void shared_runs_report(SharedRuns *shared, ExternalSort *sort);

/* The runs that a member's sort writes. */
typedef struct MemberRuns
{
	RunWriter	writer;			/* must be first */
	SharedRuns *shared;
	const RunFormat *format;
	List	   *files;			/* open files of the runs */
} MemberRuns;

extern void member_runs_begin(MemberRuns *runs, SharedRuns *shared,
							  const RunFormat *format);

/*
 * Begin and end a run, as shared_runs_begin_run() and shared_runs_end_run()
 * do.  Its file stays open.
 */
extern RunTape *member_runs_begin_run(MemberRuns *runs);
extern void member_runs_end_run(MemberRuns *runs, RunTape *run,
								const RowOrder *order, uint64 nrows);

/*
 * Closes the files, before this process reads the runs, or at any other time.
 */
extern void member_runs_close(MemberRuns *runs);

#endif							/* GPUSORT_SHARED_RUNS_H */
