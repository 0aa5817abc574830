/*-------------------------------------------------------------------------
 *
 * part_reader.h
 *	  The rows of merged parts, one part after the other, in the leader.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PART_READER_H
#define GPUSORT_PART_READER_H

#include "spill/part_merge.h"

typedef struct PartReader PartReader;

/*
 * Begins to read parts that are all in files, buffer_bytes at once.  Or parts
 * of a stream, while they are being merged: before the decision, as this
 * process takes the first part; then the reader owns the merge and the
 * receiver.  Allocates in the current memory context.
 */
extern PartReader *part_reader_begin_files(SharedRuns *shared,
										   const RunFormat *format,
										   Size buffer_bytes);
extern PartReader *part_reader_begin_stream(SharedRuns *shared,
											const RunFormat *format,
											PartMerge *merge,
											PartReceiver *receiver);

/* The next row, valid until the next call; NULL after the last one. */
extern void *part_reader_next(PartReader *reader);

/* Does the reader read parts of a stream? */
extern bool part_reader_is_streamed(const PartReader *reader);

/*
 * Tells the processes that merge parts of the stream that no more rows will be
 * read.
 */
extern void part_reader_stop(PartReader *reader);

/*
 * Ends the reading, at any time.  Files of parts are deleted as they are read.
 */
extern void part_reader_end(PartReader *reader);

#endif							/* GPUSORT_PART_READER_H */
