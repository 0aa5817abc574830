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
 * Begins to read parts that are all in files; buffer_bytes are read at once.  Or parts of
 * a stream, while they are merged: before the decision, as this process takes
 * the first one; the merge and the receiver are the reader's then.  Allocates in the
 * current memory context.
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

/* Are these the parts of a stream? */
extern bool part_reader_is_streamed(const PartReader *reader);

/* Has those end who merge parts of the stream, as no more rows will be read. */
extern void part_reader_stop(PartReader *reader);

/* Ends the reading, at any time; files of parts are deleted as they are read. */
extern void part_reader_end(PartReader *reader);

#endif							/* GPUSORT_PART_READER_H */
