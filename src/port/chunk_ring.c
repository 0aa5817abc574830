/*-------------------------------------------------------------------------
 *
 * chunk_ring.c
 *	  Rings of chunks in shared memory, through which processes send rows to one.
 *
 * A tuple queue takes rows one by one: a sender forms each row, and copies
 * it into the queue in pieces, and the receiver looks for each row in the
 * queues of all senders.  Here a sender forms rows one behind the other in a
 * chunk of its ring.  The rows stay there until the receiver has read them,
 * and gives the chunk back.  So a row takes little more time than to form
 * it, and the few chunks of a ring stay in the cache.
 *
 * A ring has one sender and one receiver.  So its state is only two numbers:
 * how many chunks have ever been filled, and how many emptied.  Each number
 * is written by one side.  A sender waits for room in its own ring only.  It
 * is woken when half of the ring is free, so that it does not wake for each
 * chunk.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/condition_variable.h"

#include "port/cache_lines.h"
#include "port/chunk_ring.h"
#include "port/compat.h"

/* A ring; the numbers count chunks from the beginning. */
typedef struct ChunkRing
{
	pg_atomic_uint64 nfilled;
	char		padding[CACHE_LINE_BYTES];
	pg_atomic_uint64 nemptied;
	ConditionVariable emptied;	/* half of the ring is free, or no more rows
								 * are wanted */
} ChunkRing;

/* All rings.  Their chunks follow, those of a ring together. */
struct ChunkRings
{
	int			nrings;
	int			nchunks;		/* chunks of a ring */
	pg_atomic_uint32 closed;	/* no more rows are wanted */
	pg_atomic_uint64 nfilled;	/* chunks that have been filled, of all rings */
	ConditionVariable filled;	/* one more chunk has been filled, or the
								 * receiver is woken */
	ChunkRing	rings[FLEXIBLE_ARRAY_MEMBER];
};

static Size
offset_of_chunks(int nrings)
{
	return TYPEALIGN(CACHE_LINE_BYTES,
					 offsetof(ChunkRings, rings) + nrings * sizeof(ChunkRing));
}

/* The chunk of a ring that has this number from the beginning. */
static Chunk *
chunk_at(ChunkRings *rings, int ring, uint64 count)
{
	uint64		number = (uint64) ring * rings->nchunks +
		count % rings->nchunks;

	return (Chunk *) ((char *) rings + offset_of_chunks(rings->nrings) +
					  number * ROW_CHUNK_BYTES);
}

Size
chunk_rings_size(int nrings, int nchunks)
{
	return offset_of_chunks(nrings) + (Size) nrings * nchunks * ROW_CHUNK_BYTES;
}

void
chunk_rings_init(ChunkRings *rings, int nrings, int nchunks)
{
	rings->nrings = nrings;
	rings->nchunks = nchunks;
	pg_atomic_init_u32(&rings->closed, 0);
	pg_atomic_init_u64(&rings->nfilled, 0);
	ConditionVariableInit(&rings->filled);
	for (int i = 0; i < nrings; i++)
	{
		pg_atomic_init_u64(&rings->rings[i].nfilled, 0);
		pg_atomic_init_u64(&rings->rings[i].nemptied, 0);
		ConditionVariableInit(&rings->rings[i].emptied);
	}
}

void
chunk_rings_close(ChunkRings *rings)
{
	(void) pg_atomic_exchange_u32(&rings->closed, 1);
	for (int i = 0; i < rings->nrings; i++)
		ConditionVariableBroadcast(&rings->rings[i].emptied);
}

bool
chunk_rings_are_closed(const ChunkRings *rings)
{
	return pg_atomic_read_u32(unconstify(pg_atomic_uint32 *,
										 &rings->closed)) != 0;
}

void
chunk_rings_wake_receiver(ChunkRings *rings)
{
	ConditionVariableSignal(&rings->filled);
}

/*
 * ---- senders
 */

void
chunk_sender_begin(ChunkSender *sender, ChunkRings *rings, int ring)
{
	if (ring >= rings->nrings)
		elog(ERROR, "there are more senders than rings of chunks");
	memset(sender, 0, sizeof(ChunkSender));
	sender->rings = rings;
	sender->ring = ring;
}

/* Begins a chunk, if there is room; false if no more rows are wanted. */
static bool
begin_chunk(ChunkSender *sender)
{
	ChunkRings *rings = sender->rings;
	ChunkRing  *ring = &rings->rings[sender->ring];
	uint64		nfilled = pg_atomic_read_u64(&ring->nfilled);

	if (nfilled - pg_atomic_read_u64(&ring->nemptied) < rings->nchunks)
	{
		pg_memory_barrier();
		sender->chunk = chunk_at(rings, sender->ring, nfilled);
		sender->place = sender->chunk->data;
		sender->free_bytes = ROW_CHUNK_DATA_BYTES;
	}
	return !chunk_rings_are_closed(rings);
}

/* Waits for room in the ring, or until no more rows are wanted. */
static void
sleep_until_emptied(ChunkSender *sender)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortChunkRoom");
	ConditionVariableSleep(&sender->rings->rings[sender->ring].emptied,
						   wait_event);
}

bool
chunk_sender_begin_chunk(ChunkSender *sender)
{
	bool		wanted;

	if (sender->chunk != NULL)
		return !chunk_rings_are_closed(sender->rings);
	while ((wanted = begin_chunk(sender)) && sender->chunk == NULL)
		sleep_until_emptied(sender);
	ConditionVariableCancelSleep();
	return wanted;
}

void
chunk_sender_send(ChunkSender *sender, Size mark)
{
	ChunkRings *rings = sender->rings;
	Chunk	   *chunk = sender->chunk;

	if (chunk == NULL)
		return;
	chunk->bytes = sender->place - chunk->data;
	chunk->mark = mark;
	/* an atomic operation with a result is a barrier */
	(void) pg_atomic_fetch_add_u64(&rings->rings[sender->ring].nfilled, 1);
	(void) pg_atomic_fetch_add_u64(&rings->nfilled, 1);
	ConditionVariableSignal(&rings->filled);
	sender->chunk = NULL;
	sender->free_bytes = 0;
}

/*
 * ---- the receiver
 */

void
chunk_receiver_begin(ChunkReceiver *receiver, ChunkRings *rings)
{
	memset(receiver, 0, sizeof(ChunkReceiver));
	receiver->rings = rings;
}

bool
chunk_receiver_take(ChunkReceiver *receiver, int number)
{
	ChunkRing  *ring = &receiver->rings->rings[number];
	uint64		nemptied = pg_atomic_read_u64(&ring->nemptied);

	Assert(receiver->chunk == NULL);
	if (pg_atomic_read_u64(&ring->nfilled) == nemptied)
		return false;
	pg_read_barrier();
	receiver->ntaken++;
	receiver->ring = number;
	receiver->chunk = chunk_at(receiver->rings, number, nemptied);
	receiver->place = receiver->chunk->data;
	receiver->end = receiver->place + receiver->chunk->bytes;
	return true;
}

bool
chunk_receiver_has_any(const ChunkReceiver *receiver)
{
	/* a chunk that was just filled may not be counted yet, but soon will be */
	return pg_atomic_read_u64(&receiver->rings->nfilled) != receiver->ntaken;
}

bool
chunk_receiver_take_any(ChunkReceiver *receiver)
{
	int			nrings = receiver->rings->nrings;

	if (!chunk_receiver_has_any(receiver))
		return false;
	/* beginning at the next ring, so that each ring has its turn */
	for (int i = 1; i <= nrings; i++)
		if (chunk_receiver_take(receiver, (receiver->ring + i) % nrings))
			return true;
	return false;
}

void
chunk_receiver_give_back(ChunkReceiver *receiver)
{
	ChunkRings *rings = receiver->rings;
	ChunkRing  *ring = &rings->rings[receiver->ring];
	uint64		nemptied;

	if (receiver->chunk == NULL)
		return;
	nemptied = pg_atomic_add_fetch_u64(&ring->nemptied, 1);
	/* a waiting sender has filled all chunks, so it waits until this */
	if (pg_atomic_read_u64(&ring->nfilled) - nemptied == rings->nchunks / 2)
		ConditionVariableSignal(&ring->emptied);
	receiver->chunk = NULL;
	receiver->place = NULL;
	receiver->end = NULL;
}

void
chunk_receiver_sleep(ChunkReceiver *receiver)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortChunkRows");
	ConditionVariableSleep(&receiver->rings->filled, wait_event);
}
