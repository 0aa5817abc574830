/*-------------------------------------------------------------------------
 *
 * part_stream.c
 *	  Merged parts on their way to the leader, through shared memory.
 *
 * Each process that merges parts has a ring of chunks of shared memory.  It puts the
 * rows of a part there, one behind the other, a chunk at a time, and then those of
 * its next part.  The leader takes the chunks of part after part, each from the ring
 * of the process that has the part, and emits rows from where they are.
 *
 * Somebody waits only for a ring: a process for room in its own, the leader for a chunk
 * in the one of the next part.  As processes take parts in their order, and finish
 * one before the next, that ring has, or will have next, what the leader waits for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/condition_variable.h"

#include "port/cache_lines.h"
#include "port/compat.h"
#include "port/shared_memory.h"
#include "spill/part_stream.h"

#define PART_CHUNK_BYTES		((Size) 64 * 1024)
#define LEAST_CHUNKS	4

/* How far ahead of a row the leader prefetches. */
#define PREFETCHED_BYTES	512

/* Rows of a part. */
typedef struct Chunk
{
	bool		is_last;		/* the part has no more */
	uint32		bytes;			/* bytes of "data" that are in use */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} Chunk;

#define PART_CHUNK_DATA_BYTES	(PART_CHUNK_BYTES - offsetof(Chunk, data))

StaticAssertDecl(offsetof(Chunk, data) % MAXIMUM_ALIGNOF == 0,
				 "rows have to be aligned");
StaticAssertDecl(STREAM_MOST_ROW_BYTES <= PART_CHUNK_DATA_BYTES,
				 "a row has to fit a chunk");

/* The ring of a process; the numbers count all chunks that have ever been. */
typedef struct Ring
{
	pg_atomic_uint64 nfilled;
	char		padding[CACHE_LINE_BYTES];
	pg_atomic_uint64 nemptied;
	ConditionVariable emptied;	/* half of it is free, or no more is wanted */
} Ring;

/* What is in the segment.  Behind it are the chunks, those of a ring together. */
typedef struct PartStream
{
	int			nrings;
	int			nchunks;		/* chunks of a ring */
	pg_atomic_uint32 njoined;	/* processes that have attached */
	pg_atomic_uint32 stopped;	/* no more rows are wanted */
	ConditionVariable filled;	/* a chunk has been filled */
	pg_atomic_uint32 senders[MOST_MERGED_PARTS];	/* for each part, the
													 * number of its ring, and
													 * 1; 0 before that */
	Ring		rings[FLEXIBLE_ARRAY_MEMBER];
} PartStream;

struct PartReceiver
{
	dsm_segment *segment;
	PartStream *stream;

	/* the present part */
	Ring	   *ring;			/* its ring; NULL: not known yet */
	Chunk	   *chunk;			/* chunk that is emitted, or NULL */
	char	   *place;			/* place of the next row in it */
	char	   *end;
};

struct PartSender
{
	dsm_segment *segment;
	PartStream *stream;
	int			number;			/* number of the ring */
	Ring	   *ring;
	Chunk	   *chunk;			/* chunk that is filled, or NULL */
	char	   *place;			/* place of the next row in it */
	Size		free_bytes;
};

static Size
offset_of_chunks(int nrings)
{
	return TYPEALIGN(CACHE_LINE_BYTES,
					 offsetof(PartStream, rings) + nrings * sizeof(Ring));
}

/* The chunk of a ring that has this place among all that have ever been. */
static Chunk *
chunk_at(PartStream *stream, const Ring *ring, uint64 count)
{
	uint64		number = (uint64) (ring - stream->rings) * stream->nchunks +
		count % stream->nchunks;

	return (Chunk *) ((char *) stream + offset_of_chunks(stream->nrings) +
					  number * PART_CHUNK_BYTES);
}

/*
 * ---- the leader
 */

static void
init_stream(PartStream *stream, int nrings, int nchunks)
{
	stream->nrings = nrings;
	stream->nchunks = nchunks;
	pg_atomic_init_u32(&stream->njoined, 0);
	pg_atomic_init_u32(&stream->stopped, 0);
	ConditionVariableInit(&stream->filled);
	for (int part = 0; part < MOST_MERGED_PARTS; part++)
		pg_atomic_init_u32(&stream->senders[part], 0);
	for (int i = 0; i < nrings; i++)
	{
		pg_atomic_init_u64(&stream->rings[i].nfilled, 0);
		pg_atomic_init_u64(&stream->rings[i].nemptied, 0);
		ConditionVariableInit(&stream->rings[i].emptied);
	}
}

PartReceiver *
part_receiver_begin(int nsenders, Size bytes_of_sender)
{
	int			nchunks = Max(bytes_of_sender / PART_CHUNK_BYTES, LEAST_CHUNKS);
	dsm_segment *segment =
		shared_memory_create(offset_of_chunks(nsenders) +
							 nsenders * nchunks * PART_CHUNK_BYTES);
	PartReceiver *receiver;

	if (segment == NULL)
		return NULL;
	/* so that no error leaves it behind */
	dsm_unpin_mapping(segment);
	receiver = palloc0(sizeof(PartReceiver));
	receiver->segment = segment;
	receiver->stream = dsm_segment_address(segment);
	init_stream(receiver->stream, nsenders, nchunks);
	return receiver;
}

dsm_handle
part_receiver_handle(const PartReceiver *receiver)
{
	return dsm_segment_handle(receiver->segment);
}

/* Takes the next chunk of a part, if it is there. */
static bool
take_chunk(PartReceiver *receiver, int part)
{
	PartStream *stream = receiver->stream;
	uint64		nemptied;

	if (receiver->ring == NULL)
	{
		uint32		sender = pg_atomic_read_u32(&stream->senders[part]);

		if (sender == 0)
			return false;
		receiver->ring = &stream->rings[sender - 1];
	}
	nemptied = pg_atomic_read_u64(&receiver->ring->nemptied);
	if (pg_atomic_read_u64(&receiver->ring->nfilled) == nemptied)
		return false;
	pg_read_barrier();
	receiver->chunk = chunk_at(stream, receiver->ring, nemptied);
	receiver->place = receiver->chunk->data;
	receiver->end = receiver->place + receiver->chunk->bytes;
	return true;
}

/* Takes the next chunk of a part, when it comes. */
static void
await_chunk(PartReceiver *receiver, int part)
{
	static uint32 wait_event = 0;

	if (take_chunk(receiver, part))
		return;
	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortPartRows");
	while (!take_chunk(receiver, part))
		ConditionVariableSleep(&receiver->stream->filled, wait_event);
	ConditionVariableCancelSleep();
}

/* Gives the present chunk back. */
static void
give_back_chunk(PartReceiver *receiver)
{
	Ring	   *ring = receiver->ring;
	uint64		nemptied = pg_atomic_add_fetch_u64(&ring->nemptied, 1);

	/* who waits has filled all of them, so that this comes while it waits */
	if (pg_atomic_read_u64(&ring->nfilled) - nemptied ==
		receiver->stream->nchunks / 2)
		ConditionVariableSignal(&ring->emptied);
	receiver->chunk = NULL;
}

void *
part_receiver_next(PartReceiver *receiver, int part,
				   Size (*row_bytes) (const void *row))
{
	char	   *row;

	while (unlikely(receiver->chunk == NULL ||
					receiver->place == receiver->end))
	{
		bool		at_end = receiver->chunk != NULL &&
			receiver->chunk->is_last;

		if (receiver->chunk != NULL)
			give_back_chunk(receiver);
		if (at_end)
		{
			receiver->ring = NULL;
			return NULL;
		}
		await_chunk(receiver, part);
	}
	row = receiver->place;
	__builtin_prefetch(row + PREFETCHED_BYTES);
	receiver->place += MAXALIGN(row_bytes(row));
	return row;
}

void
part_receiver_stop(PartReceiver *receiver)
{
	PartStream *stream = receiver->stream;

	(void) pg_atomic_exchange_u32(&stream->stopped, 1);
	for (int i = 0; i < stream->nrings; i++)
		ConditionVariableBroadcast(&stream->rings[i].emptied);
}

void
part_receiver_end(PartReceiver *receiver)
{
	part_receiver_stop(receiver);
	dsm_detach(receiver->segment);
	pfree(receiver);
}

/*
 * ---- the others
 */

PartSender *
part_sender_begin(dsm_handle handle)
{
	/* the leader may have ended, and the stream with it */
	dsm_segment *segment = dsm_attach(handle);
	PartSender *sender;

	if (segment == NULL)
		return NULL;
	sender = palloc0(sizeof(PartSender));
	sender->segment = segment;
	sender->stream = dsm_segment_address(segment);
	sender->number = pg_atomic_fetch_add_u32(&sender->stream->njoined, 1);
	if (sender->number >= sender->stream->nrings)
		elog(ERROR, "a stream of parts has more senders than rings");
	sender->ring = &sender->stream->rings[sender->number];
	return sender;
}

void
part_sender_begin_part(PartSender *sender, int part)
{
	/* the leader looks for it when the first chunk has come, if not before */
	pg_atomic_write_u32(&sender->stream->senders[part], sender->number + 1);
}

bool
part_sender_is_wanted(const PartSender *sender)
{
	return pg_atomic_read_u32(&sender->stream->stopped) == 0;
}

/* Begins a chunk, if there is a free one; false if no more rows are wanted. */
static bool
begin_chunk(PartSender *sender)
{
	PartStream *stream = sender->stream;
	uint64		nfilled = pg_atomic_read_u64(&sender->ring->nfilled);

	if (nfilled - pg_atomic_read_u64(&sender->ring->nemptied) <
		stream->nchunks)
	{
		pg_memory_barrier();
		sender->chunk = chunk_at(stream, sender->ring, nfilled);
		sender->place = sender->chunk->data;
		sender->free_bytes = PART_CHUNK_DATA_BYTES;
	}
	return part_sender_is_wanted(sender);
}

/* Begins a chunk, when there is a free one; false if no more rows are wanted. */
static bool
await_free_chunk(PartSender *sender)
{
	static uint32 wait_event = 0;
	bool		wanted = begin_chunk(sender);

	if (!wanted || sender->chunk != NULL)
		return wanted;
	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortPartRoom");
	while ((wanted = begin_chunk(sender)) && sender->chunk == NULL)
		ConditionVariableSleep(&sender->ring->emptied, wait_event);
	ConditionVariableCancelSleep();
	return wanted;
}

/* Sends the present chunk to the leader. */
static void
send_chunk(PartSender *sender, bool is_last)
{
	Chunk	   *chunk = sender->chunk;

	chunk->bytes = sender->place - chunk->data;
	chunk->is_last = is_last;
	/* an atomic operation that has a result is a barrier */
	(void) pg_atomic_fetch_add_u64(&sender->ring->nfilled, 1);
	ConditionVariableSignal(&sender->stream->filled);
	sender->chunk = NULL;
	sender->free_bytes = 0;
}

bool
part_sender_put(PartSender *sender, const void *row, Size bytes)
{
	Size		place_bytes = MAXALIGN(bytes);

	if (unlikely(place_bytes > sender->free_bytes))
	{
		if (sender->chunk != NULL)
			send_chunk(sender, false);
		if (!await_free_chunk(sender))
			return false;
	}
	Assert(sender->place == (char *) MAXALIGN(sender->place));
	memcpy(sender->place, row, bytes);
	sender->place += place_bytes;
	sender->free_bytes -= place_bytes;
	return true;
}

bool
part_sender_end_part(PartSender *sender)
{
	/* one without rows has a chunk, too */
	if (sender->chunk == NULL && !await_free_chunk(sender))
		return false;
	send_chunk(sender, true);
	return part_sender_is_wanted(sender);
}

void
part_sender_end(PartSender *sender)
{
	dsm_detach(sender->segment);
	pfree(sender);
}
