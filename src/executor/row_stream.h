/*-------------------------------------------------------------------------
 *
 * row_stream.h
 *	  A stream of rows from parallel workers to their leader, in chunks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_STREAM_H
#define GPUSORT_ROW_STREAM_H

#include "executor/tuptable.h"

/* The state that leader and workers share, in the parallel context. */
typedef struct RowStream RowStream;

extern Size row_stream_size(int nworkers);

/* Initializes a stream, in the leader, before workers are launched. */
extern void row_stream_init(RowStream *stream, int nworkers);

/* Makes workers end, when no more of their rows are wanted. */
extern void row_stream_close(RowStream *stream);

/* A worker's end of a stream. */
typedef struct RowSender RowSender;

/*
 * Begins to send rows of this descriptor, in the worker of this number.
 * Returns NULL if the stream is at its end, as all other workers have sent all
 * rows.
 */
extern RowSender *row_sender_begin(RowStream *stream, int worker,
								   TupleDesc descriptor);

/*
 * Sends the row of a slot, and waits for room if need be.  Returns false if no
 * more rows are wanted.
 */
extern bool row_sender_put(RowSender *sender, TupleTableSlot *slot);

/* Sends the rows that have not been sent, and ends. */
extern void row_sender_end(RowSender *sender);

/* The leader's end of a stream. */
typedef struct RowReceiver RowReceiver;

extern RowReceiver *row_receiver_begin(RowStream *stream);

/*
 * Returns the next row, valid until the next call; NULL if no worker has sent
 * one.
 */
extern MinimalTuple row_receiver_next(RowReceiver *receiver);

/*
 * Waits for more rows.  Returns false at the end of the stream, when all
 * workers that have begun have ended.
 */
extern bool row_receiver_wait(RowReceiver *receiver);

extern void row_receiver_end(RowReceiver *receiver);

#endif							/* GPUSORT_ROW_STREAM_H */
