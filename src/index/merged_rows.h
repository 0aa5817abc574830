/*-------------------------------------------------------------------------
 *
 * merged_rows.h
 *	  The rows of an index as they come from the merge of sorted runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_MERGED_ROWS_H
#define GPUSORT_MERGED_ROWS_H

#include "index/tuple_source.h"
#include "spill/sorted_runs.h"

typedef struct MergedRows MergedRows;

/* Bytes of the rows that are best read at a time, within a build's limit. */
extern Size merged_rows_bytes(Size limit);

/*
 * Begins ahead of the first of so many rows, which the runs have, merged.
 * They are read at most max_rows and "bytes" at a time.  Allocates in the
 * current memory context.
 */
extern MergedRows *merged_rows_begin(SortedRuns *runs, uint64 nrows,
									 uint32 max_rows, Size bytes);

/* The rows, of which only those can be found that are held at the time. */
extern const TupleSource *merged_rows_source(const MergedRows *merged);

/*
 * Reads the rows that come next, and returns how many, 0 after the last one.
 * They are held from then on; of those before only the last "kept" are.
 */
extern uint32 merged_rows_read(MergedRows *merged, uint32 kept);

#endif							/* GPUSORT_MERGED_ROWS_H */
