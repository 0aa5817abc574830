/*-------------------------------------------------------------------------
 *
 * ring.h
 *	  The memory through which a job exchanges keys and order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_RING_H
#define GPUSORTD_RING_H

#include "../common/protocol.h"
#include "engine.h"

typedef struct Ring
{
	int			descriptor;		/* the memfd */
	uint32_t	nchunks;
	char	   *memory;			/* nchunks * CHUNK_BYTES, pinned */
	uint32_t   *used_bytes;		/* bytes in use at the start of each chunk */
	uint64_t   *ends;			/* memory that ring_ends() has made, or NULL */
	struct Ring *next;			/* the next ring in the pool */
} Ring;

/* Lists of ends of keys in the memory of ring_ends(). */
#define RING_ENDS	4

/*
 * Sets the size of all rings, in chunks, and the limit of all rings together,
 * in bytes; one ring is always within the limit.  To be called once, before
 * the first ring.
 */
extern void ring_init(const Engine *engine, uint32_t nchunks,
					  uint64_t limit_bytes);

/*
 * Takes a ring from the pool or makes one; NULL on failure, with *cause and
 * *error set.  At the limit of all rings, jobs with idle clients give way.
 */
extern Ring *ring_take(FailureCause *cause, DeviceError *error);

/*
 * Frees rings that no job has needed for "delay" microseconds, except a few
 * for the next jobs.  Returns the microseconds until there may be more to
 * free, or UINT64_MAX if there is no more until another job has come.
 */
extern uint64_t ring_release_idle(uint64_t delay);

/* A chunk's memory. */
static inline void *
ring_chunk(const Ring *ring, uint32_t chunk)
{
	return ring->memory + (size_t) chunk * CHUNK_BYTES;
}

/* A descriptor of the memory for a client, to be closed; -1 on failure. */
extern int	ring_open(const Ring *ring);

/*
 * Memory for RING_ENDS lists of the ends of CHUNK_VARIABLE_ROWS keys, pinned
 * and not shared with a client; owned by the ring.  NULL on failure.
 */
extern uint64_t *ring_ends(Ring *ring, DeviceError *error);

/* Notes that the first "bytes" bytes of a chunk may hold data of the job. */
extern void ring_note_use(Ring *ring, uint32_t chunk, uint32_t bytes);

/*
 * Gives a ring back to the pool, its data cleared, if no client has its memory
 * open or mapped.  Otherwise frees the ring, and takes the memory from the
 * client, too, unless the client may still be reading an order (is_read).
 */
extern void ring_give_back(Ring *ring, bool is_read);

#endif							/* GPUSORTD_RING_H */
