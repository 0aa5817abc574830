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
	uint64_t   *ends;			/* memory of ring_ends(), NULL before */
	struct Ring *next;			/* the next ring in the pool */
} Ring;

/* Lists of ends of keys that a ring has room for beside its chunks. */
#define RING_ENDS	4

/*
 * Sets the size of all rings, and what all of them together may take, which is
 * that of one at least; once, before the first.
 */
extern void ring_init(const Engine *engine, uint32_t nchunks,
					  uint64_t limit_bytes);

/*
 * Takes a ring from the pool or makes one; NULL on failure.  Clients that are
 * idle give way if there are as many as there may be.
 */
extern Ring *ring_take(FailureCause *cause, DeviceError *error);

/*
 * Frees rings that no job has needed for so long, in microseconds, but for a few
 * for the next one.  Returns how long it is until there may be more to free,
 * UINT64_MAX as long as there is no other job.
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
 * and out of reach of clients; NULL on failure.
 */
extern uint64_t *ring_ends(Ring *ring, DeviceError *error);

/* Notes that so many bytes of a chunk may hold what is of the job. */
extern void ring_note_use(Ring *ring, uint32_t chunk, uint32_t bytes);

/*
 * Gives a ring back.  It will be used again only if no client has it any
 * longer, and what was of the job is cleared.  Otherwise its memory is freed
 * under the client, unless that may still be reading an order.
 */
extern void ring_give_back(Ring *ring, bool is_read);

#endif							/* GPUSORTD_RING_H */
