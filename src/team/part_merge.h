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
#include "spill/run_order.h"
#include "team/parts.h"

/* The merge of parts in one process. */
typedef struct PartMerge PartMerge;

/*
 * Begins to merge parts, when all runs have been written.  Rows have this
 * format, and this order.  If "groups" is not NULL, or the rows have an order
 * of their own, parts end where groups do: rows of a group compare as equal by
 * "groups", which is the same in all processes, or by that order.  Allocates
 * in a child of the current memory context.
 */
extern PartMerge *part_merge_begin(SharedRuns *shared, SharedParts *parts,
								   RunOrder order, const RunFormat *format,
								   const RowComparator *groups);

/*
 * Divides the order of all rows into parts for this work, in the collector,
 * before its decision.  All nmembers members emit parts; the helpers send
 * parts; helpers and collector write parts.  Returns false if that does not
 * pay, or if memory or disk space does not suffice.  For parts that are sent,
 * sets stream_memory in SharedRuns.
 */
extern bool part_merge_divide(PartMerge *merge, TeamWork work, int nmembers);

/*
 * Returns the maker of the parts, which owns the merge.  The first part that
 * it makes opens the runs: a process that takes no part may come when the runs
 * are gone.
 */
extern PartMaker *part_merge_maker(PartMerge *merge);

/* Ends a merge whose maker is not used any more; the runs stay. */
extern void part_merge_end(PartMerge *merge);

#endif							/* GPUSORT_PART_MERGE_H */
