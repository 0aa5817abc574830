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
	Size		mark;			/* what the sender tells by it */
	Size		bytes;			/* bytes of "data" that are in use */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} Chunk;

#define ROW_CHUNK_DATA_BYTES	(ROW_CHUNK_BYTES - offsetof(Chunk, data))

StaticAssertDecl(offsetof(Chunk, data) % MAXIMUM_ALIGNOF == 0,
				 "rows have to be aligned");

/* The rings of some senders, numbered from 0, and of their receiver. */
typedef struct ChunkRings ChunkRings;

/* Bytes of shared memory for this many rings of this many chunks. */
extern Size chunk_rings_size(int nrings, int nchunks);

/* Makes the rings in that memory. */
extern void chunk_rings_init(ChunkRings *rings, int nrings, int nchunks);

/* Tells senders that no more rows are wanted. */
extern void chunk_rings_close(ChunkRings *rings);

extern bool chunk_rings_are_closed(const ChunkRings *rings);

/* Wakes the receiver for what a sender has told it in another way. */
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

/* Begins to send through this ring, as its only sender. */
extern void chunk_sender_begin(ChunkSender *sender, ChunkRings *rings,
							   int ring);

/*
 * Begins a chunk if there is none, if need be after a wait for room; false if
 * no more rows are wanted.
 */
extern bool chunk_sender_begin_chunk(ChunkSender *sender);

/* Sends the present chunk, if there is one, with this mark. */
extern void chunk_sender_send(ChunkSender *sender, Size mark);

/*
 * Returns the place for a row of at most ROW_CHUNK_DATA_BYTES, if need be
 * after a wait for room.  Sends a chunk that is full with the mark 0.  NULL if
 * no more rows are wanted.
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

/* The end at which the chunks of all rings are read. */
typedef struct ChunkReceiver
{
	ChunkRings *rings;
	uint64		ntaken;			/* chunks taken */
	int			ring;			/* number of the last chunk's ring */
	Chunk	   *chunk;			/* chunk that is read, or NULL */
	char	   *place;			/* place of the next row in it, */
	char	   *end;			/* which is this one behind the last row */
} ChunkReceiver;

extern void chunk_receiver_begin(ChunkReceiver *receiver, ChunkRings *rings);

/* Takes the next chunk of a ring, or of any ring; false if there is none. */
extern bool chunk_receiver_take(ChunkReceiver *receiver, int ring);
extern bool chunk_receiver_take_any(ChunkReceiver *receiver);

/* May there be a chunk in any ring? */
extern bool chunk_receiver_has_any(const ChunkReceiver *receiver);

/* Gives the present chunk back, if there is one; its rows are gone. */
extern void chunk_receiver_give_back(ChunkReceiver *receiver);

/*
 * Waits for a chunk of any ring, or until the receiver is woken, which may
 * have happened before.  The caller loops until it finds what it waits for,
 * and then calls ConditionVariableCancelSleep().
 */
extern void chunk_receiver_sleep(ChunkReceiver *receiver);

/* Moves "place" behind the row there, which has this many bytes. */
static inline void
chunk_receiver_pass(ChunkReceiver *receiver, Size bytes)
{
	__builtin_prefetch(receiver->place + PREFETCHED_BYTES);
	receiver->place += MAXALIGN(bytes);
}

#endif							/* GPUSORT_CHUNK_RING_H */
