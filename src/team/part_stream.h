/*-------------------------------------------------------------------------
 *
 * part_stream.h
 *	  Parts of an order on their way to the collector, through shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PART_STREAM_H
#define GPUSORT_PART_STREAM_H

#include "storage/dsm.h"

/* The largest row that a stream takes, in bytes. */
#define STREAM_MOST_ROW_BYTES	((Size) 60 * 1024)

/* The collector's end of a stream. */
typedef struct PartReceiver PartReceiver;

/*
 * part_receiver_begin() makes a stream of nparts parts from nsenders
 * processes.  Each sender has bytes_of_sender bytes of shared memory.  Returns
 * NULL if there is not enough memory.  Allocates in the current memory
 * context.  part_receiver_handle() returns the handle by which senders attach.
 */
extern PartReceiver *part_receiver_begin(int nsenders, Size bytes_of_sender,
										 int nparts);
extern dsm_handle part_receiver_handle(const PartReceiver *receiver);

/*
 * Returns the next row of a part that another process has taken, and waits for
 * it if need be; NULL after the last row.  The row is valid until the next
 * call.  Parts are received in their order.
 */
extern void *part_receiver_next(PartReceiver *receiver, int part,
								Size (*row_bytes) (const void *row));

/*
 * Tell the senders that no more rows are wanted.  The second function also
 * ends the stream.
 */
extern void part_receiver_stop(PartReceiver *receiver);
extern void part_receiver_end(PartReceiver *receiver);

/* A sender's end of a stream. */
typedef struct PartSender PartSender;

/* Attaches to a stream; NULL if no more rows are wanted. */
extern PartSender *part_sender_begin(dsm_handle stream);

/*
 * Send a part that this process has taken: its beginning, its rows one by one,
 * and its end.  They wait for room if need be.  Return false if no more rows
 * are wanted.
 */
extern void part_sender_begin_part(PartSender *sender, int part);
extern bool part_sender_put(PartSender *sender, const void *row, Size bytes);
extern bool part_sender_end_part(PartSender *sender);

/* Returns whether more rows are wanted. */
extern bool part_sender_is_wanted(const PartSender *sender);

extern void part_sender_end(PartSender *sender);

#endif							/* GPUSORT_PART_STREAM_H */
