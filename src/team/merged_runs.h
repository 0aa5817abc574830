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

/*
 * Lets another maker stand before the maker of parts: wrap() returns that
 * maker, which owns the maker that it gets.  It may make other rows, in an
 * order of their own, which take no more bytes than the rows that it gets; and
 * it checks the order of these for gpusort.verify.  Has to be the same in all
 * processes.
 */
typedef struct PartWrapper
{
	PartMaker  *(*wrap) (struct PartWrapper *wrapper, PartMaker *maker);
} PartWrapper;

/* The merge of the runs of all members, in the collector. */
typedef struct MergedRuns
{
	SharedRuns *shared;
	SharedParts *parts;
	RunOrder	order;			/* compares rows */
	const RunFormat *format;
	Size		limit;			/* bytes for a merge by the collector alone */
	PartWrapper *wrapper;		/* set by the caller after
								 * merged_runs_begin(), or NULL */
	TeamWork	work;			/* what members will do with parts; WORK_NONE:
								 * the collector merges alone */
	PartMerge  *merge;			/* divides the order into parts; NULL after
								 * the announcement */
	PartReader *reader;			/* rows of all parts, or NULL */
	SortedRuns *alone;			/* all runs, if the collector merges alone */
} MergedRuns;

/*
 * Begins when all runs have been written.  The current memory context has to
 * be the same in all later calls.
 */
extern void merged_runs_begin(MergedRuns *runs, SharedRuns *shared,
							  SharedParts *parts, RunOrder order,
							  const RunFormat *format, Size limit);

/*
 * Prepares parts for this work: for all nmembers members to emit, or for the
 * helpers to send or write.  Returns false if that does not pay or is not
 * possible; then the caller may try other work.
 */
extern bool merged_runs_prepare(MergedRuns *runs, TeamWork work, int nmembers);

/*
 * Announces the work that was prepared last, or WORK_NONE.  Begins to read the
 * rows of all runs, unless all members emit them.  Writes parts first, if that
 * is the work.
 */
extern void merged_runs_announce(MergedRuns *runs);

/* Returns what reads the rows, once; NULL if all members emit them. */
extern RowReader *merged_runs_rows(const MergedRuns *runs);

/* Returns the bytes of all files so far. */
extern Size merged_runs_disk(const MergedRuns *runs);

/* Tells the members that send parts that no more rows will be read. */
extern void merged_runs_stop(MergedRuns *runs);

/* Ends the merge, at any time, and deletes the files that have been read. */
extern void merged_runs_end(MergedRuns *runs);

/*
 * Writes or sends parts of the merge, in a helper, after this work was
 * announced.  "order" compares rows.  "wrapper" may be NULL.
 */
extern void merged_runs_help(SharedRuns *shared, SharedParts *parts,
							 TeamWork work, RunOrder order,
							 const RunFormat *format, PartWrapper *wrapper);

#endif							/* GPUSORT_MERGED_RUNS_H */
