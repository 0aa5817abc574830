/*-------------------------------------------------------------------------
 *
 * chunk_ring.h
 *	  Rings of chunks in shared memory, through which processes send rows to one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_CHUNK_RING_H
#define GPUSORT_CHUNK_RING_H

#include "port/atomics.h"

#define ROW_CHUNK_BYTES		((Size) 64 * 1024)

/* How far ahead of a row the receiver prefetches. */
#define PREFETCHED_BYTES	512

/* Rows, one behind the other, each aligned. */
typedef struct Chunk
{
	Size		mark;			/* what its sender says of it */
	Size		bytes;			/* bytes of "data" that are in use */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} Chunk;

#define ROW_CHUNK_DATA_BYTES	(ROW_CHUNK_BYTES - offsetof(Chunk, data))

StaticAssertDecl(offsetof(Chunk, data) % MAXIMUM_ALIGNOF == 0,
				 "rows have to be aligned");

/* The rings of some senders, numbered from 0, and of their receiver. */
typedef struct ChunkRings ChunkRings;

/* Bytes of shared memory for so many rings of so many chunks. */
extern Size chunk_rings_size(int nrings, int nchunks);

/* Makes them in that memory. */
extern void chunk_rings_init(ChunkRings *rings, int nrings, int nchunks);

/* Has senders end, as no more rows are wanted. */
extern void chunk_rings_close(ChunkRings *rings);

extern bool chunk_rings_are_closed(const ChunkRings *rings);

/* Has the receiver see what a sender has told it by another way. */
extern void chunk_rings_wake_receiver(ChunkRings *rings);

/* The end of a ring to which rows are written. */
typedef struct ChunkSender
{
	ChunkRings *rings;
	int			ring;			/* number of the ring */
	Chunk	   *chunk;			/* chunk that is filled, or NULL */
	char	   *place;			/* place of the next row in it */
	Size		free_bytes;
} ChunkSender;

/* Begins to send through the ring of this number, which nobody else does. */
extern void chunk_sender_begin(ChunkSender *sender, ChunkRings *rings,
							   int ring);

/*
 * Begins a chunk if none has been, maybe when there is room; false if no more rows
 * are wanted.
 */
extern bool chunk_sender_begin_chunk(ChunkSender *sender);

/* Sends the present chunk, if there is one, with this mark. */
extern void chunk_sender_send(ChunkSender *sender, Size mark);

/*
 * Place for a row, maybe when there is room, in a chunk that will be marked 0 if it
 * is full; NULL if no more rows are wanted.  A row has at most ROW_CHUNK_DATA_BYTES.
 */
static inline char *
chunk_sender_reserve(ChunkSender *sender, Size bytes)
{
	Size		place_bytes = MAXALIGN(bytes);
	char	   *place;

	if (unlikely(place_bytes > sender->free_bytes))
	{
		chunk_sender_send(sender, 0);
		if (!chunk_sender_begin_chunk(sender))
			return NULL;
	}
	place = sender->place;
	sender->place += place_bytes;
	sender->free_bytes -= place_bytes;
	return place;
}

/* The other end, of all rings. */
typedef struct ChunkReceiver
{
	ChunkRings *rings;
	uint64		ntaken;			/* chunks taken */
	int			ring;			/* number of the ring of the last one */
	Chunk	   *chunk;			/* chunk that is read, or NULL */
	char	   *place;			/* place of the next row in it, */
	char	   *end;			/* which is this one behind the last row */
} ChunkReceiver;

extern void chunk_receiver_begin(ChunkReceiver *receiver, ChunkRings *rings);

/* Takes the next chunk of a ring, or of any; false if none is there. */
extern bool chunk_receiver_take(ChunkReceiver *receiver, int ring);
extern bool chunk_receiver_take_any(ChunkReceiver *receiver);

/* May a chunk of any ring be there? */
extern bool chunk_receiver_has_any(const ChunkReceiver *receiver);

/* Gives the present chunk back, if there is one; its rows are gone. */
extern void chunk_receiver_give_back(ChunkReceiver *receiver);

/*
 * Waits for a chunk of any ring, or until the receiver is woken, which may have
 * happened before.  To be called in a loop that looks for what it waits for, and
 * after which ConditionVariableCancelSleep() is called.
 */
extern void chunk_receiver_sleep(ChunkReceiver *receiver);

/* Goes behind a row, which is at "place" and has so many bytes. */
static inline void
chunk_receiver_pass(ChunkReceiver *receiver, Size bytes)
{
	__builtin_prefetch(receiver->place + PREFETCHED_BYTES);
	receiver->place += MAXALIGN(bytes);
}

#endif							/* GPUSORT_CHUNK_RING_H */
