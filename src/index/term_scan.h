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

#include "index/term_block.h"
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

	/* empties the block, which is full; called in the context of the scan */
	void		(*spill) (TermScan *scan);
};

/*
 * Scans a table, or a share of it with "parallel", and puts the terms of each
 * row that belongs into the index.  Returns the number of live rows.
 */
extern double term_scan_perform(TermScan *scan, Relation heap, Relation index,
								IndexInfo *info,
								ParallelTableScanDesc parallel,
								bool show_progress);

#endif							/* GPUSORT_TERM_SCAN_H */
