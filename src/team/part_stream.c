/*-------------------------------------------------------------------------
 *
 * part_stream.c
 *	  Parts of an order on their way to the collector, through shared memory.
 *
 * A part is a part of a merge, or a slice of rows in shared memory.  Each
 * process that makes parts has a ring of chunks of shared memory
 * (chunk_ring.c).  It puts the rows of a part into its ring, and then the rows
 * of its next part.  The collector takes the chunks of one part after the
 * other, each from the ring of the process that has the part.
 *
 * A process only ever waits for a ring: a sender for room in its own ring, the
 * collector for a chunk in the ring of the next part.  Senders take parts in
 * their order, and finish one before the next.  So the ring of the next part
 * has the chunk that the collector waits for, or will have it next.  If no
 * sender has the part, the collector raises an error when all senders have
 * ended.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/condition_variable.h"

#include "port/cache_lines.h"
#include "port/chunk_ring.h"
#include "port/shared_memory.h"
#include "team/part_stream.h"

#define LEAST_CHUNKS	4

/* No ring is known yet. */
#define NO_RING			(-1)

/* The mark of the last chunk of a part. */
#define LAST_OF_PART	1

StaticAssertDecl(STREAM_MOST_ROW_BYTES <= ROW_CHUNK_DATA_BYTES,
				 "a row has to fit a chunk");

/* The beginning of the segment; the rings follow. */
typedef struct PartStream
{
	pg_atomic_uint32 njoined;	/* processes that have attached */
	pg_atomic_uint32 nended;	/* processes that have attached, and send no
								 * more */
	int			nparts;
	pg_atomic_uint32 senders[FLEXIBLE_ARRAY_MEMBER];	/* number of each part's
														 * ring, plus 1; 0: no
														 * sender has begun the
														 * part */
} PartStream;

struct PartReceiver
{
	dsm_segment *segment;
	PartStream *stream;
	ChunkReceiver chunks;
	int			ring;			/* ring of the present part, or NO_RING */
};

struct PartSender
{
	dsm_segment *segment;
	PartStream *stream;
	ChunkSender chunks;
};

static Size
offset_of_rings(int nparts)
{
	return TYPEALIGN(CACHE_LINE_BYTES,
					 offsetof(PartStream, senders) +
					 nparts * sizeof(pg_atomic_uint32));
}

static ChunkRings *
rings_of(PartStream *stream)
{
	return (ChunkRings *) ((char *) stream + offset_of_rings(stream->nparts));
}

/*
 * ---- the collector
 */

static void
init_stream(PartStream *stream, int nparts, int nrings, int nchunks)
{
	pg_atomic_init_u32(&stream->njoined, 0);
	pg_atomic_init_u32(&stream->nended, 0);
	stream->nparts = nparts;
	for (int part = 0; part < nparts; part++)
		pg_atomic_init_u32(&stream->senders[part], 0);
	chunk_rings_init(rings_of(stream), nrings, nchunks);
}

PartReceiver *
part_receiver_begin(int nsenders, Size bytes_of_sender, int nparts)
{
	int			nchunks = Max(bytes_of_sender / ROW_CHUNK_BYTES, LEAST_CHUNKS);
	dsm_segment *segment =
		shared_memory_create(offset_of_rings(nparts) +
							 chunk_rings_size(nsenders, nchunks));
	PartReceiver *receiver;

	if (segment == NULL)
		return NULL;
	/* so that no error leaves it behind */
	dsm_unpin_mapping(segment);
	receiver = palloc0(sizeof(PartReceiver));
	receiver->segment = segment;
	receiver->stream = dsm_segment_address(segment);
	receiver->ring = NO_RING;
	init_stream(receiver->stream, nparts, nsenders, nchunks);
	chunk_receiver_begin(&receiver->chunks, rings_of(receiver->stream));
	return receiver;
}

dsm_handle
part_receiver_handle(const PartReceiver *receiver)
{
	return dsm_segment_handle(receiver->segment);
}

/* Takes the next chunk of a part; false if it is not there yet. */
static bool
take_chunk(PartReceiver *receiver, int part)
{
	if (receiver->ring == NO_RING)
	{
		uint32		sender =
			pg_atomic_read_u32(&receiver->stream->senders[part]);

		if (sender == 0)
			return false;
		receiver->ring = sender - 1;
	}
	return chunk_receiver_take(&receiver->chunks, receiver->ring);
}

/*
 * Returns whether all senders have ended and none has begun this part.  A
 * sender attaches before it takes a part.
 */
static bool
is_lost(const PartReceiver *receiver, int part)
{
	PartStream *stream = receiver->stream;
	uint32		njoined = pg_atomic_read_u32(&stream->njoined);

	if (receiver->ring != NO_RING ||
		pg_atomic_read_u32(&stream->nended) < njoined)
		return false;
	pg_read_barrier();
	return pg_atomic_read_u32(&stream->senders[part]) == 0;
}

/* Waits for the next chunk of a part, and takes it. */
static void
await_chunk(PartReceiver *receiver, int part)
{
	while (!take_chunk(receiver, part))
	{
		if (is_lost(receiver, part))
			elog(ERROR, "no process has part %d of an order", part);
		chunk_receiver_sleep(&receiver->chunks);
	}
	ConditionVariableCancelSleep();
}

void *
part_receiver_next(PartReceiver *receiver, int part,
				   Size (*row_bytes) (const void *row))
{
	ChunkReceiver *chunks = &receiver->chunks;
	char	   *row;

	while (unlikely(chunks->place == chunks->end))
	{
		bool		at_end = chunks->chunk != NULL &&
			chunks->chunk->mark == LAST_OF_PART;

		chunk_receiver_give_back(chunks);
		if (at_end)
		{
			receiver->ring = NO_RING;
			return NULL;
		}
		await_chunk(receiver, part);
	}
	row = chunks->place;
	chunk_receiver_pass(chunks, row_bytes(row));
	return row;
}

void
part_receiver_stop(PartReceiver *receiver)
{
	chunk_rings_close(rings_of(receiver->stream));
}

void
part_receiver_end(PartReceiver *receiver)
{
	part_receiver_stop(receiver);
	dsm_detach(receiver->segment);
	pfree(receiver);
}

/*
 * ---- the senders
 */

PartSender *
part_sender_begin(dsm_handle handle)
{
	/* the collector may have ended, and the stream with it */
	dsm_segment *segment = dsm_attach(handle);
	PartSender *sender;

	if (segment == NULL)
		return NULL;
	sender = palloc0(sizeof(PartSender));
	sender->segment = segment;
	sender->stream = dsm_segment_address(segment);
	chunk_sender_begin(&sender->chunks, rings_of(sender->stream),
					   pg_atomic_fetch_add_u32(&sender->stream->njoined, 1));
	return sender;
}

void
part_sender_begin_part(PartSender *sender, int part)
{
	/*
	 * the collector looks for this at the latest when the first chunk has
	 * come
	 */
	pg_atomic_write_u32(&sender->stream->senders[part],
						sender->chunks.ring + 1);
}

bool
part_sender_is_wanted(const PartSender *sender)
{
	return !chunk_rings_are_closed(sender->chunks.rings);
}

bool
part_sender_put(PartSender *sender, const void *row, Size bytes)
{
	char	   *place = chunk_sender_reserve(&sender->chunks, bytes);

	if (place == NULL)
		return false;
	memcpy(place, row, bytes);
	return true;
}

bool
part_sender_end_part(PartSender *sender)
{
	/* a part without rows has a chunk, too */
	if (!chunk_sender_begin_chunk(&sender->chunks))
		return false;
	chunk_sender_send(&sender->chunks, LAST_OF_PART);
	return part_sender_is_wanted(sender);
}

void
part_sender_end(PartSender *sender)
{
	/* a full barrier, after all parts that were begun */
	pg_atomic_fetch_add_u32(&sender->stream->nended, 1);
	chunk_rings_wake_receiver(sender->chunks.rings);
	dsm_detach(sender->segment);
	pfree(sender);
}
