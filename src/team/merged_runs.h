/*-------------------------------------------------------------------------
 *
 * merged_runs.h
 *	  The rows of all runs that the members of a team have written, in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_MERGED_RUNS_H
#define GPUSORT_MERGED_RUNS_H

#include "spill/sorted_runs.h"
#include "team/part_merge.h"

/* The runs of all members, in the collector. */
typedef struct MergedRuns
{
	SharedRuns *shared;
	SharedParts *parts;
	RowOrder   *order;			/* compares rows */
	const RunFormat *format;
	Size		limit;			/* bytes for a merge by the collector alone */
	TeamWork	work;			/* what will be done with parts; WORK_NONE:
								 * the collector merges alone */
	PartMerge  *merge;			/* divides the order, until it is announced */
	PartReader *reader;			/* rows of all parts, or NULL */
	SortedRuns *alone;			/* or all runs */
} MergedRuns;

/*
 * Begins when all runs have been written, in the current memory context, which has to be
 * the same in all later calls.
 */
extern void merged_runs_begin(MergedRuns *runs, SharedRuns *shared,
							  SharedParts *parts, RowOrder *order,
							  const RunFormat *format, Size limit);

/*
 * Prepares this work for all nmembers members, or for those who have offered help; false
 * if it does not pay or is not possible.  May be tried with other work then.
 */
extern bool merged_runs_prepare(MergedRuns *runs, TeamWork work, int nmembers);

/*
 * Announces the work that was prepared last, or WORK_NONE, and begins to read the rows of
 * all runs, if this process emits them.
 */
extern void merged_runs_announce(MergedRuns *runs);

/* The rows, to be read once; NULL if all members emit them. */
extern RowReader *merged_runs_rows(const MergedRuns *runs);

/* The most bytes in files, so far. */
extern Size merged_runs_disk(const MergedRuns *runs);

/* Tells others, if they send parts, that no more rows will be read. */
extern void merged_runs_stop(MergedRuns *runs);

/* Ends the merge at any time, and deletes the files that have been read. */
extern void merged_runs_end(MergedRuns *runs);

/*
 * In another member, after this work has been announced for runs: writes or sends parts.
 * It has offered that, and has an order that compares rows.
 */
extern void merged_runs_help(SharedRuns *shared, SharedParts *parts,
							 TeamWork work, RowOrder *order,
							 const RunFormat *format);

#endif							/* GPUSORT_MERGED_RUNS_H */
