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

/* The names of the files, with numbers. */
#define RUN_FILE_NAME		"run"
#define PART_FILE_NAME		"part"

/* What all members share. */
typedef struct SharedRuns
{
	SharedFileSet files;		/* runs, each an indexed tape, and parts */
	Size		limit;			/* bytes of memory of each member */
	pg_atomic_uint32 nruns;		/* runs that were begun */
	slock_t		mutex;			/* protects the fields up to the next blank
								 * line */
	uint64		nsorted;		/* rows that were sorted */
	uint64		nrows;			/* rows of all runs, which may leave some out */
	Size		longest_row;	/* bytes of the longest row */
	Size		disk;			/* bytes of all files */
	char		method[REPORT_TEXT_SIZE];	/* how the last run was sorted */
	char		device[REPORT_TEXT_SIZE];
	bool		on_device;		/* some runs were sorted by gpusortd */
	uint64		device_microseconds;	/* time of the sorts on the device */

	/*
	 * of a merge in parts (part_merge.h); set by the collector before it
	 * decides
	 */
	uint64		sampled;		/* every n-th index entry is a sample */
	Size		stream_memory;	/* each member's memory for sending parts */
} SharedRuns;

/*
 * Initializes shared runs in a segment to which all members attach.  Each has "limit"
 * bytes of memory.
 */
extern void shared_runs_init(SharedRuns *shared, dsm_segment *segment,
							 Size limit);

/* Begins again with no runs, when no process uses them and their files are gone. */
extern void shared_runs_reset(SharedRuns *shared, Size limit);

/* The number of runs. */
extern int	shared_runs_count(SharedRuns *shared);

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

/* Opens a run's file, in any member; sets *bytes to its size. */
extern RunFile *shared_runs_open(SharedRuns *shared, int number,
								 uint64 *bytes);

/* Adds all runs to those of a process, which deletes their files as it reads them. */
extern void shared_runs_import(SharedRuns *shared, SortedRuns *runs,
							   const RunFormat *format);

/* Counts a complete file that has the rows of runs once more. */
extern void shared_runs_note_file(SharedRuns *shared, const RunFile *file);

/* Takes the runs of a member's sort. */
typedef struct MemberRuns
{
	RunWriter	writer;			/* must be first */
	SharedRuns *shared;
	const RunFormat *format;
	List	   *files;			/* files of the runs, which are open */
} MemberRuns;

extern void member_runs_begin(MemberRuns *runs, SharedRuns *shared,
							  const RunFormat *format);

/* Closes the files, for the runs to be read, or at any other time. */
extern void member_runs_close(MemberRuns *runs);

#endif							/* GPUSORT_SHARED_RUNS_H */
