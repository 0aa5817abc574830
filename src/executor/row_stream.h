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

/* What leader and workers share, in the parallel context. */
typedef struct RowStream RowStream;

extern Size row_stream_size(int nworkers);

/* In the leader, before workers are launched. */
extern void row_stream_init(RowStream *stream, int nworkers);

/* Makes workers end, as no more of their rows are wanted. */
extern void row_stream_close(RowStream *stream);

/* A worker. */
typedef struct RowSender RowSender;

/*
 * Begins to send rows of this descriptor, in the worker of this number; NULL if
 * the stream is closed, as all others have sent all rows.
 */
extern RowSender *row_sender_begin(RowStream *stream, int worker,
								   TupleDesc descriptor);

/* Sends a slot's row, maybe when there is room; false if no more are wanted. */
extern bool row_sender_put(RowSender *sender, TupleTableSlot *slot);

/* Sends what has not been sent, and ends. */
extern void row_sender_end(RowSender *sender);

/* The leader. */
typedef struct RowReceiver RowReceiver;

extern RowReceiver *row_receiver_begin(RowStream *stream);

/*
 * The next row, valid until this is called again; NULL if no worker has sent one.
 */
extern MinimalTuple row_receiver_next(RowReceiver *receiver);

/*
 * Waits for more rows; false, at its end, if all workers that have begun
 * have ended.
 */
extern bool row_receiver_wait(RowReceiver *receiver);

extern void row_receiver_end(RowReceiver *receiver);

#endif							/* GPUSORT_ROW_STREAM_H */
