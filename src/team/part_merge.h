/*-------------------------------------------------------------------------
 *
 * part_merge.h
 *	  Merging the runs of several processes by all of them, part by part.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PART_MERGE_H
#define GPUSORT_PART_MERGE_H

#include "sort/row_compare.h"
#include "team/parts.h"

/* A process that merges parts. */
typedef struct PartMerge PartMerge;

/*
 * Begins to merge parts, when all runs have been written.  Rows have this format, and
 * "order", which has to stay, compares them.  Unless "groups" is NULL, parts end where
 * groups of rows do that are equal by it; it is the same in all processes.  Allocates in
 * a memory context that is a child of the current one.
 */
extern PartMerge *part_merge_begin(SharedRuns *shared, SharedParts *parts,
								   RowOrder *order, const RunFormat *format,
								   const RowComparator *groups);

/*
 * In the collector, before the decision: divides the order of all rows into parts, with
 * which this work is to be done, by those who have offered help or by all nmembers.
 * False if that does not pay, or memory or disk space does not suffice.  For parts that
 * are sent, SharedRuns has the memory of each sender then.
 */
extern bool part_merge_divide(PartMerge *merge, TeamWork work, int nmembers);

/*
 * What makes parts, and owns the merge.  The runs are opened with the first part: a
 * process that has taken none may come too late for them.
 */
extern PartMaker *part_merge_maker(PartMerge *merge);

/* Ends a merge that has made no parts. */
extern void part_merge_end(PartMerge *merge);

#endif							/* GPUSORT_PART_MERGE_H */
