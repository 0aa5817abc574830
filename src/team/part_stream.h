/*-------------------------------------------------------------------------
 *
 * part_stream.h
 *	  Parts of an order on their way to the leader, through shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PART_STREAM_H
#define GPUSORT_PART_STREAM_H

#include "storage/dsm.h"

/* The largest row that a stream takes, in bytes. */
#define STREAM_MOST_ROW_BYTES	((Size) 60 * 1024)

/* The leader's end of a stream. */
typedef struct PartReceiver PartReceiver;

/*
 * Makes a stream of nparts parts from nsenders processes, each with
 * bytes_of_sender of shared memory; NULL without that memory.  Allocates in
 * the current memory context.  The second function returns the handle by which
 * the others attach.
 */
extern PartReceiver *part_receiver_begin(int nsenders, Size bytes_of_sender,
										 int nparts);
extern dsm_handle part_receiver_handle(const PartReceiver *receiver);

/*
 * Returns the next row of a part that another process has taken, if need be
 * after a wait; NULL after its last row.  The row is valid until the next
 * call.  Parts are received in their order.
 */
extern void *part_receiver_next(PartReceiver *receiver, int part,
								Size (*row_bytes) (const void *row));

/*
 * Tells the senders that no more rows are wanted; part_receiver_end() does,
 * too.
 */
extern void part_receiver_stop(PartReceiver *receiver);
extern void part_receiver_end(PartReceiver *receiver);

/* The end of a stream in another process. */
typedef struct PartSender PartSender;

/* Attaches to a stream; NULL if no more rows are wanted. */
extern PartSender *part_sender_begin(dsm_handle stream);

/*
 * Send a part that this process has taken: its beginning, its rows one by one,
 * and its end, if need be after a wait for room.  False if no more rows are
 * wanted.
 */
extern void part_sender_begin_part(PartSender *sender, int part);
extern bool part_sender_put(PartSender *sender, const void *row, Size bytes);
extern bool part_sender_end_part(PartSender *sender);

/* Are more rows wanted? */
extern bool part_sender_is_wanted(const PartSender *sender);

extern void part_sender_end(PartSender *sender);

#endif							/* GPUSORT_PART_STREAM_H */
