/*-------------------------------------------------------------------------
 *
 * term_scan.h
 *	  Parsing the rows of a table into blocks of terms.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TERM_SCAN_H
#define GPUSORT_TERM_SCAN_H

#include "access/tableam.h"

#include "inverted/term_buckets.h"
#include "sort_progress.h"

typedef struct TermScan TermScan;

/* The scan of a process. */
struct TermScan
{
	Terms	   *terms;
	TermBlock  *block;			/* takes the terms of the rows */
	MemoryContext context;		/* the scan's */
	MemoryContext row_context;	/* memory of the functions that parse a row */
	SortProgress *progress;		/* counts rows */
	double		expected_rows;	/* of this process */
	Size		limit;			/* bytes */
	bool		may_divide;		/* pairs of further rows may go to buckets */

	/*
	 * Takes the terms of the block, which is sorted; called in the context of
	 * the scan.  They come behind those of the call before, unless that ended
	 * the run.
	 */
	void		(*spill) (TermScan *scan, bool ends_run);

	bool		has_spilled;
	TermBuckets *buckets;		/* buckets of rows after the first block, or
								 * NULL */
	bool		is_dividing;	/* rows go to the buckets, not to the block */
	uint64		spill_microseconds; /* time for sorting and spilling */
	Size		most_bytes;		/* of a block, and of all buckets' files */
};

/*
 * Scans a table, or a share of it with "parallel", and puts the terms of each
 * row that belongs into the index.  Returns the number of live rows.
 */
extern double term_scan_perform(TermScan *scan, Relation heap, Relation index,
								IndexInfo *info,
								ParallelTableScanDesc parallel,
								bool show_progress);

/* Sorts the block. */
extern void term_scan_sort(TermScan *scan);

/* Sorts the block, spills it, and empties it. */
extern void term_scan_spill(TermScan *scan, bool ends_run);

#endif							/* GPUSORT_TERM_SCAN_H */
