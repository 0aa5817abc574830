/*-------------------------------------------------------------------------
 *
 * row_stream.c
 *	  A stream of rows from parallel workers to their leader, in chunks.
 *
 * Each worker forms rows in the chunks of a ring (chunk_ring.c).  The leader
 * emits the rows from there, in the order in which chunks come.
 *
 * A row that is larger than a chunk is sent in pieces, each of them a chunk.
 * The pieces of a row come in their order, though not one behind the other.
 * The leader puts them together.
 *
 * A worker waits when all of its chunks are full, as it would wait for room in
 * a tuple queue.  The leader waits only when it has nothing else to do.
 *
 * The leader waits only for workers that have begun.  When these have ended,
 * and the leader has no row of its own left, the stream is at its end for a
 * worker that comes then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/memutils.h"

#include "executor/row_stream.h"
#include "port/chunk_ring.h"
#include "sort/slot_row.h"

#define CHUNKS_PER_WORKER	4

/*
 * The shared state.  The rings lie behind it; the ring of a worker has the
 * worker's number.
 */
struct RowStream
{
	int			nworkers;

	slock_t		mutex;			/* protects all fields below */
	int			njoined;		/* workers that have begun */
	int			nended;			/* workers that have ended */
	bool		at_end;			/* no further worker may begin */
};

struct RowSender
{
	RowStream  *stream;
	TupleDesc	descriptor;
	ChunkSender chunks;
};

/* The pieces that the leader has of a worker's large row. */
typedef struct PartialRow
{
	char	   *row;			/* memory of the row; NULL: no piece has come */
	Size		bytes;			/* bytes that have come */
} PartialRow;

struct RowReceiver
{
	RowStream  *stream;
	ChunkReceiver chunks;
	char	   *large_row;		/* the last row, if it was put together */
	PartialRow	partial_rows[FLEXIBLE_ARRAY_MEMBER];	/* by the number of the
														 * worker */
};

static ChunkRings *
rings_of(RowStream *stream)
{
	return (ChunkRings *) ((char *) stream + MAXALIGN(sizeof(RowStream)));
}

Size
row_stream_size(int nworkers)
{
	return MAXALIGN(sizeof(RowStream)) +
		chunk_rings_size(nworkers, CHUNKS_PER_WORKER);
}

void
row_stream_init(RowStream *stream, int nworkers)
{
	memset(stream, 0, sizeof(RowStream));
	stream->nworkers = nworkers;
	SpinLockInit(&stream->mutex);
	chunk_rings_init(rings_of(stream), nworkers, CHUNKS_PER_WORKER);
}

void
row_stream_close(RowStream *stream)
{
	chunk_rings_close(rings_of(stream));
}

/*
 * ---- workers
 */

RowSender *
row_sender_begin(RowStream *stream, int worker, TupleDesc descriptor)
{
	RowSender  *sender;
	bool		at_end;

	SpinLockAcquire(&stream->mutex);
	at_end = stream->at_end;
	if (!at_end)
		stream->njoined++;
	SpinLockRelease(&stream->mutex);
	if (at_end)
		return NULL;

	sender = palloc0(sizeof(RowSender));
	sender->stream = stream;
	sender->descriptor = descriptor;
	chunk_sender_begin(&sender->chunks, rings_of(stream), worker);
	return sender;
}

/*
 * Sends a row that is larger than a chunk.  Each piece is marked with the
 * bytes of the row.
 */
static bool
put_pieces(RowSender *sender, const SlotRow *found, TupleTableSlot *slot)
{
	ChunkSender *chunks = &sender->chunks;
	Size		bytes = MAXALIGN(found->bytes);
	char	   *row = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	Size		sent = 0;

	slot_row_write(found, slot, sender->descriptor, (MinimalTuple) row);
	chunk_sender_send(chunks, 0);
	while (sent < bytes)
	{
		Size		piece = Min(bytes - sent, ROW_CHUNK_DATA_BYTES);
		char	   *place = chunk_sender_reserve(chunks, piece);

		if (place == NULL)
			break;
		memcpy(place, row + sent, piece);
		chunk_sender_send(chunks, bytes);
		sent += piece;
	}
	pfree(row);
	return sent == bytes;
}

bool
row_sender_put(RowSender *sender, TupleTableSlot *slot)
{
	SlotRow		row = slot_row_find(slot, sender->descriptor);
	char	   *place;

	if (unlikely(row.bytes > ROW_CHUNK_DATA_BYTES))
		return put_pieces(sender, &row, slot);
	place = chunk_sender_reserve(&sender->chunks, row.bytes);
	if (place == NULL)
		return false;
	slot_row_write(&row, slot, sender->descriptor, (MinimalTuple) place);
	return true;
}

void
row_sender_end(RowSender *sender)
{
	RowStream  *stream = sender->stream;

	chunk_sender_send(&sender->chunks, 0);
	SpinLockAcquire(&stream->mutex);
	stream->nended++;
	SpinLockRelease(&stream->mutex);
	chunk_rings_wake_receiver(rings_of(stream));
	pfree(sender);
}

/*
 * ---- the leader
 */

RowReceiver *
row_receiver_begin(RowStream *stream)
{
	RowReceiver *receiver =
		palloc0(offsetof(RowReceiver, partial_rows) +
				stream->nworkers * sizeof(PartialRow));

	receiver->stream = stream;
	chunk_receiver_begin(&receiver->chunks, rings_of(stream));
	return receiver;
}

/*
 * Adds the present chunk, a piece of a row.  Returns the row if it is
 * complete; otherwise NULL.
 */
static MinimalTuple
add_piece(RowReceiver *receiver)
{
	const Chunk *chunk = receiver->chunks.chunk;
	PartialRow *partial = &receiver->partial_rows[receiver->chunks.ring];

	if (partial->row == NULL)
	{
		partial->row = MemoryContextAllocHuge(GetMemoryChunkContext(receiver),
											  chunk->mark);
		partial->bytes = 0;
	}
	memcpy(partial->row + partial->bytes, chunk->data, chunk->bytes);
	partial->bytes += chunk->bytes;
	receiver->chunks.place = receiver->chunks.end;
	if (partial->bytes < chunk->mark)
		return NULL;
	receiver->large_row = partial->row;
	partial->row = NULL;
	return (MinimalTuple) receiver->large_row;
}

MinimalTuple
row_receiver_next(RowReceiver *receiver)
{
	ChunkReceiver *chunks = &receiver->chunks;
	MinimalTuple row;

	if (unlikely(receiver->large_row != NULL))
	{
		pfree(receiver->large_row);
		receiver->large_row = NULL;
	}
	while (chunks->place == chunks->end)
	{
		chunk_receiver_give_back(chunks);
		if (!chunk_receiver_take_any(chunks))
			return NULL;
		if (unlikely(chunks->chunk->mark > 0))
		{
			row = add_piece(receiver);
			if (row != NULL)
				return row;
		}
	}
	row = (MinimalTuple) chunks->place;
	chunk_receiver_pass(chunks, row->t_len);
	return row;
}

/*
 * Ends the stream if all workers that have begun have ended.  Returns whether
 * they have.
 */
static bool
is_at_end(RowStream *stream)
{
	bool		at_end;

	SpinLockAcquire(&stream->mutex);
	at_end = stream->at_end = stream->nended == stream->njoined;
	SpinLockRelease(&stream->mutex);
	return at_end;
}

bool
row_receiver_wait(RowReceiver *receiver)
{
	bool		at_end;
	bool		has_rows;

	for (;;)
	{
		/* in this order: a worker has sent all rows before it ends */
		at_end = is_at_end(receiver->stream);
		has_rows = chunk_receiver_has_any(&receiver->chunks);
		if (at_end || has_rows)
			break;
		chunk_receiver_sleep(&receiver->chunks);
	}
	ConditionVariableCancelSleep();
	return has_rows;
}

void
row_receiver_end(RowReceiver *receiver)
{
	for (int i = 0; i < receiver->stream->nworkers; i++)
		if (receiver->partial_rows[i].row != NULL)
			pfree(receiver->partial_rows[i].row);
	if (receiver->large_row != NULL)
		pfree(receiver->large_row);
	pfree(receiver);
}
