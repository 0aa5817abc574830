/*-------------------------------------------------------------------------
 *
 * sort_progress.h
 *	  How far the sorts of each process have come, for all processes to see.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_PROGRESS_H
#define GPUSORT_SORT_PROGRESS_H

#include "lib/ilist.h"

/*
 * A sort shows its progress each time after this many rows, so that the cost
 * does not matter.
 */
#define PROGRESS_ROWS	4096

typedef enum ProgressKind
{
	PROGRESS_OF_SORT,
	PROGRESS_OF_INDEX_BUILD
} ProgressKind;

typedef enum ProgressPhase
{
	PROGRESS_TAKING_ROWS,
	PROGRESS_SORTING,			/* all rows, or those of a run */
	PROGRESS_WRITING_RUN,
	PROGRESS_MERGING_RUNS,		/* before the first row can be emitted, or for
								 * another process that emits them */
	PROGRESS_WAITING_FOR_LEADER,	/* a worker, which has no rows left */
	PROGRESS_EMITTING_ROWS,
	PROGRESS_WRITING_INDEX
} ProgressPhase;

/* The figures of a sort that are shown. */
typedef struct SortFigures
{
	ProgressKind kind;
	ProgressPhase phase;
	uint64		rows_put;
	uint64		rows_expected;	/* estimate; 0 if there is none */
	uint64		runs_written;
	bool		emits;			/* rows_emitted is known */
	uint64		rows_emitted;
	char		device[NAMEDATALEN];	/* empty if it is not known yet */
} SortFigures;

/* The progress of a sort of this process, which its functions fill in. */
typedef struct SortProgress
{
	SortFigures figures;
	dlist_node	node;			/* among the sorts of this process */
	bool		listed;
	bool		hidden;			/* until it has some thousand rows */
	MemoryContextCallback on_reset;
} SortProgress;

/* The sort that a process shows. */
typedef struct SortOfProcess
{
	int			pid;			/* 0 if it shows none */
	Oid			database;
	Oid			role;			/* role of the session */
	SortFigures figures;
} SortOfProcess;

/*
 * Reserves the shared memory, if the library is in shared_preload_libraries.
 * Otherwise nothing is shown.
 */
/* Asks for the shared memory, without which no process shows its sorts. */
extern void sort_progress_request(void);

/*
 * Begins to show a sort, which takes rows.  Shows it at once, or only when it
 * has some thousand rows, for sorts that may have few rows and soon end.  The
 * sort is shown until the end of the current memory context at the latest.
 */
extern SortProgress *sort_progress_begin(ProgressKind kind,
										 double expected_rows, bool at_once);
extern void sort_progress_end(SortProgress *progress);

/* The same for another sort, after the end of the last one. */
extern void sort_progress_begin_again(SortProgress *progress,
									  double expected_rows, bool at_once);

/* Shows the changed figures, and the phase, which may be the present one. */
extern void sort_progress_enter(SortProgress *progress, ProgressPhase phase);
extern void sort_progress_show(SortProgress *progress);

/*
 * The same when the first nrows rows, in order, have been emitted or written.
 */
extern void sort_progress_emitted(SortProgress *progress, uint64 nrows);

/* Sets how many rows are expected, to be shown with the next change. */
extern void sort_progress_expect(SortProgress *progress, double rows);

/* Sets the name of the device, to be shown with the next change. */
extern void sort_progress_set_device(SortProgress *progress,
									 const char *device);

/* Adds rows that were put, and shows them now and then. */
static inline void
sort_progress_add(SortProgress *progress, uint64 nrows)
{
	uint64		before = progress->figures.rows_put;

	progress->figures.rows_put += nrows;
	if (unlikely(before / PROGRESS_ROWS !=
				 progress->figures.rows_put / PROGRESS_ROWS))
		sort_progress_show(progress);
}

/* How many processes can show a sort; 0 if nothing is shown. */
extern int	sort_progress_processes(void);

/* Copies what a process shows, by its number; false if it shows nothing. */
extern bool sort_progress_read(int number, SortOfProcess *copy);

/* The names that users see. */
extern const char *progress_kind_name(ProgressKind kind);
extern const char *progress_phase_name(ProgressPhase phase);

#endif							/* GPUSORT_SORT_PROGRESS_H */
