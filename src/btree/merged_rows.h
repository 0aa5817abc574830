/*-------------------------------------------------------------------------
 *
 * merged_rows.h
 *	  A window on the rows of an index that come from the merge of sorted runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_MERGED_ROWS_H
#define GPUSORT_MERGED_ROWS_H

#include "btree/tuple_source.h"
#include "spill/row_reader.h"

typedef struct MergedRows MergedRows;

/* The best number of bytes to read at a time, within a build's limit. */
extern Size merged_rows_bytes(Size limit);

/*
 * Begins with an empty window, before the first of the reader's nrows rows.  At most
 * max_rows rows and "bytes" bytes are read at a time.  Allocates in the current memory
 * context.
 */
extern MergedRows *merged_rows_begin(RowReader *reader, uint64 nrows,
									 uint32 max_rows, Size bytes);

/* The rows as a source of tuples, which finds only rows of the window. */
extern const TupleSource *merged_rows_source(const MergedRows *merged);

/*
 * Moves the window: reads the next rows, and returns their number, 0 after the
 * last row.  Of the rows before, the window keeps only the last "kept".
 */
extern uint32 merged_rows_read(MergedRows *merged, uint32 kept);

#endif							/* GPUSORT_MERGED_ROWS_H */
