/*-------------------------------------------------------------------------
 *
 * row_stream.c
 *	  A stream of rows from parallel workers to their leader, in chunks.
 *
 * A tuple queue takes rows one by one: each is formed, copied into the queue in
 * pieces, and looked for by the leader in the queues of all workers.  Here a worker
 * forms rows where they stay, in a chunk of memory, one behind the other.  A full
 * chunk goes to the end of a list that all workers have, the leader emits its rows
 * from where they are, and gives the chunk back to its worker.  So what is done for
 * a row is not much more than to form it, and the few chunks stay in the cache.
 *
 * A row that is larger than a chunk is sent in pieces, each a chunk, which come in
 * their order though not one behind the other.  The leader puts them together.
 *
 * A worker waits when all of its chunks are full, as it would for room in a tuple
 * queue.  The leader waits only when it has nothing else to do.  Rows come in any
 * order.
 *
 * Workers that have begun are waited for, others are not: one that comes when the
 * leader has seen the end of all others, and has no row left to emit itself, finds
 * the stream closed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

#include "executor/row_stream.h"
#include "port/compat.h"
#include "sort/slot_row.h"

#define CHUNK_BYTES			((Size) 64 * 1024)
#define CHUNKS_PER_WORKER	4

/* How far ahead of a row the leader prefetches. */
#define PREFETCHED_BYTES	512

/* No chunk, in a list. */
#define NO_CHUNK			(-1)

/* Rows, or a piece of a row. */
typedef struct Chunk
{
	int			next;			/* next chunk of a list */
	uint32		bytes;			/* bytes of "data" that are in use */
	Size		row_bytes;		/* of a piece: bytes of the row; 0: rows */
	char		data[CHUNK_BYTES];
} Chunk;

/* What is shared of one worker. */
typedef struct StreamWorker
{
	int			free;			/* list of chunks that can be filled */
	int			nfree;
	ConditionVariable freed;	/* there are some again, or it is closed */
} StreamWorker;

/* Behind it are the chunks, those of a worker one behind the other. */
struct RowStream
{
	int			nworkers;
	ConditionVariable filled;	/* a full chunk, or the end of a worker */

	slock_t		mutex;			/* for all fields below */
	int			first;			/* list of full chunks */
	int			last;
	int			njoined;		/* workers that have begun */
	int			nended;			/* workers that have ended */
	bool		closed;			/* no more rows are wanted */
	StreamWorker workers[FLEXIBLE_ARRAY_MEMBER];
};

struct RowSender
{
	RowStream  *stream;
	StreamWorker *own;
	TupleDesc	descriptor;
	Chunk	   *chunk;			/* chunk that is filled, or NULL */
	char	   *place;			/* of the next row */
	Size		free_bytes;
};

/* The pieces that the leader has of a worker's row. */
typedef struct PartialRow
{
	char	   *row;			/* NULL: none */
	Size		bytes;			/* bytes that have come */
} PartialRow;

struct RowReceiver
{
	RowStream  *stream;
	int			current;		/* chunk whose rows are emitted, or NO_CHUNK */
	char	   *place;			/* of the next row in it */
	char	   *end;
	char	   *large_row;		/* the last row, if it was put together */
	PartialRow	partial_rows[FLEXIBLE_ARRAY_MEMBER];	/* by worker */
};

static inline Chunk *
chunk_at(RowStream *stream, int number)
{
	char	   *chunks = (char *) stream +
		MAXALIGN(offsetof(RowStream, workers) +
				 stream->nworkers * sizeof(StreamWorker));

	return (Chunk *) chunks + number;
}

Size
row_stream_size(int nworkers)
{
	return MAXALIGN(offsetof(RowStream, workers) +
					nworkers * sizeof(StreamWorker)) +
		nworkers * CHUNKS_PER_WORKER * sizeof(Chunk);
}

void
row_stream_init(RowStream *stream, int nworkers)
{
	memset(stream, 0, offsetof(RowStream, workers) +
		   nworkers * sizeof(StreamWorker));
	stream->nworkers = nworkers;
	stream->first = NO_CHUNK;
	SpinLockInit(&stream->mutex);
	ConditionVariableInit(&stream->filled);
	for (int i = 0; i < nworkers; i++)
	{
		StreamWorker *worker = &stream->workers[i];

		ConditionVariableInit(&worker->freed);
		worker->free = NO_CHUNK;
		worker->nfree = CHUNKS_PER_WORKER;
		for (int j = 0; j < CHUNKS_PER_WORKER; j++)
		{
			int			number = i * CHUNKS_PER_WORKER + j;

			chunk_at(stream, number)->next = worker->free;
			worker->free = number;
		}
	}
}

void
row_stream_close(RowStream *stream)
{
	SpinLockAcquire(&stream->mutex);
	stream->closed = true;
	SpinLockRelease(&stream->mutex);
	for (int i = 0; i < stream->nworkers; i++)
		ConditionVariableBroadcast(&stream->workers[i].freed);
}

/*
 * ---- workers
 */

RowSender *
row_sender_begin(RowStream *stream, int worker, TupleDesc descriptor)
{
	RowSender  *sender;
	bool		closed;

	SpinLockAcquire(&stream->mutex);
	closed = stream->closed;
	if (!closed)
		stream->njoined++;
	SpinLockRelease(&stream->mutex);
	if (closed)
		return NULL;

	sender = palloc0(sizeof(RowSender));
	sender->stream = stream;
	sender->own = &stream->workers[worker];
	sender->descriptor = descriptor;
	return sender;
}

/* Sends the present chunk to the leader. */
static void
send_chunk(RowSender *sender)
{
	RowStream  *stream = sender->stream;
	Chunk	   *chunk = sender->chunk;
	int			number = chunk - chunk_at(stream, 0);

	chunk->bytes = sender->place - chunk->data;
	chunk->next = NO_CHUNK;
	SpinLockAcquire(&stream->mutex);
	if (stream->first == NO_CHUNK)
		stream->first = number;
	else
		chunk_at(stream, stream->last)->next = number;
	stream->last = number;
	SpinLockRelease(&stream->mutex);
	ConditionVariableSignal(&stream->filled);
	sender->chunk = NULL;
	sender->free_bytes = 0;
}

/* Takes a free chunk, if there is one; false if no more rows are wanted. */
static bool
take_free_chunk(RowSender *sender)
{
	RowStream  *stream = sender->stream;
	StreamWorker *own = sender->own;
	int			number;
	bool		closed;

	SpinLockAcquire(&stream->mutex);
	closed = stream->closed;
	number = own->free;
	if (number != NO_CHUNK)
	{
		own->free = chunk_at(stream, number)->next;
		own->nfree--;
	}
	SpinLockRelease(&stream->mutex);
	if (number != NO_CHUNK)
	{
		sender->chunk = chunk_at(stream, number);
		sender->chunk->row_bytes = 0;
		sender->place = sender->chunk->data;
		sender->free_bytes = CHUNK_BYTES;
	}
	return !closed;
}

/* Begins a chunk, when there is a free one; false if no more rows are wanted. */
static bool
begin_chunk(RowSender *sender)
{
	static uint32 wait_event = 0;
	bool		wanted;

	if (sender->chunk != NULL)
		send_chunk(sender);
	wanted = take_free_chunk(sender);
	if (!wanted || sender->chunk != NULL)
		return wanted;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortStreamRoom");
	for (;;)
	{
		ConditionVariablePrepareToSleep(&sender->own->freed);
		wanted = take_free_chunk(sender);
		if (!wanted || sender->chunk != NULL)
			break;
		ConditionVariableSleep(&sender->own->freed, wait_event);
	}
	ConditionVariableCancelSleep();
	return wanted;
}

/* Sends a row that is larger than a chunk. */
static bool
put_pieces(RowSender *sender, const SlotRow *found, TupleTableSlot *slot)
{
	Size		bytes = MAXALIGN(found->bytes);
	char	   *row = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	bool		wanted = true;

	slot_row_write(found, slot, sender->descriptor, (MinimalTuple) row);
	for (Size sent = 0; sent < bytes && wanted; sent += CHUNK_BYTES)
	{
		Size		piece = Min(bytes - sent, CHUNK_BYTES);

		wanted = begin_chunk(sender);
		if (!wanted)
			break;
		sender->chunk->row_bytes = bytes;
		memcpy(sender->place, row + sent, piece);
		sender->place += piece;
	}
	pfree(row);
	/* the next row is not to follow the last piece */
	sender->free_bytes = 0;
	return wanted;
}

bool
row_sender_put(RowSender *sender, TupleTableSlot *slot)
{
	SlotRow		row = slot_row_find(slot, sender->descriptor);
	Size		bytes = MAXALIGN(row.bytes);

	if (unlikely(bytes > sender->free_bytes))
	{
		if (bytes > CHUNK_BYTES)
			return put_pieces(sender, &row, slot);
		if (!begin_chunk(sender))
			return false;
	}
	slot_row_write(&row, slot, sender->descriptor,
				   (MinimalTuple) sender->place);
	sender->place += bytes;
	sender->free_bytes -= bytes;
	return true;
}

void
row_sender_end(RowSender *sender)
{
	RowStream  *stream = sender->stream;

	if (sender->chunk != NULL)
		send_chunk(sender);
	SpinLockAcquire(&stream->mutex);
	stream->nended++;
	SpinLockRelease(&stream->mutex);
	ConditionVariableSignal(&stream->filled);
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
	receiver->current = NO_CHUNK;
	return receiver;
}

/* Gives the present chunk back to its worker. */
static void
give_back_chunk(RowReceiver *receiver)
{
	RowStream  *stream = receiver->stream;
	int			number = receiver->current;
	StreamWorker *worker;
	int			nfree;

	if (number == NO_CHUNK)
		return;
	worker = &stream->workers[number / CHUNKS_PER_WORKER];
	SpinLockAcquire(&stream->mutex);
	chunk_at(stream, number)->next = worker->free;
	worker->free = number;
	nfree = ++worker->nfree;
	SpinLockRelease(&stream->mutex);
	/* one that waits has sent all the others, which come back, too */
	if (nfree == CHUNKS_PER_WORKER / 2)
		ConditionVariableSignal(&worker->freed);
	receiver->current = NO_CHUNK;
}

/* Takes the next full chunk; false if there is none. */
static bool
take_full_chunk(RowReceiver *receiver)
{
	RowStream  *stream = receiver->stream;
	int			number;
	Chunk	   *chunk;

	/* without the lock: one that comes just now is seen next time */
	if (*(volatile int *) &stream->first == NO_CHUNK)
		return false;
	SpinLockAcquire(&stream->mutex);
	number = stream->first;
	stream->first = chunk_at(stream, number)->next;
	SpinLockRelease(&stream->mutex);

	chunk = chunk_at(stream, number);
	receiver->current = number;
	receiver->place = chunk->data;
	receiver->end = chunk->data + chunk->bytes;
	return true;
}

/* Adds the piece of a row that the present chunk has; the row if that is complete. */
static MinimalTuple
add_piece(RowReceiver *receiver, const Chunk *chunk)
{
	PartialRow *partial =
		&receiver->partial_rows[receiver->current / CHUNKS_PER_WORKER];

	if (partial->row == NULL)
	{
		partial->row = MemoryContextAllocHuge(GetMemoryChunkContext(receiver),
											  chunk->row_bytes);
		partial->bytes = 0;
	}
	memcpy(partial->row + partial->bytes, chunk->data, chunk->bytes);
	partial->bytes += chunk->bytes;
	receiver->place = receiver->end;
	if (partial->bytes < chunk->row_bytes)
		return NULL;
	receiver->large_row = partial->row;
	partial->row = NULL;
	return (MinimalTuple) receiver->large_row;
}

MinimalTuple
row_receiver_next(RowReceiver *receiver)
{
	MinimalTuple row;

	if (unlikely(receiver->large_row != NULL))
	{
		pfree(receiver->large_row);
		receiver->large_row = NULL;
	}
	while (receiver->place == receiver->end)
	{
		const Chunk *chunk;

		give_back_chunk(receiver);
		if (!take_full_chunk(receiver))
			return NULL;
		chunk = chunk_at(receiver->stream, receiver->current);
		if (unlikely(chunk->row_bytes > 0))
		{
			row = add_piece(receiver, chunk);
			if (row != NULL)
				return row;
		}
	}
	row = (MinimalTuple) receiver->place;
	__builtin_prefetch(receiver->place + PREFETCHED_BYTES);
	receiver->place += MAXALIGN(row->t_len);
	return row;
}

bool
row_receiver_wait(RowReceiver *receiver)
{
	static uint32 wait_event = 0;
	RowStream  *stream = receiver->stream;
	bool		filled;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortStreamRows");
	for (;;)
	{
		ConditionVariablePrepareToSleep(&stream->filled);
		SpinLockAcquire(&stream->mutex);
		filled = stream->first != NO_CHUNK;
		if (!filled && stream->nended == stream->njoined)
			stream->closed = true;
		SpinLockRelease(&stream->mutex);
		if (filled || stream->closed)
			break;
		ConditionVariableSleep(&stream->filled, wait_event);
	}
	ConditionVariableCancelSleep();
	return filled;
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
