/*-------------------------------------------------------------------------
 *
 * ring.h
 *	  The memory through which a job exchanges keys and order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_RING_H
#define GPUSORTD_RING_H

#include "engine.h"

typedef struct Ring
{
	int			descriptor;		/* the memfd, for the client to map */
	uint32_t	nchunks;
	char	   *memory;			/* nchunks * CHUNK_BYTES, pinned */
	struct Ring *next;			/* in the pool */
} Ring;

/* Sets the size of all rings; once, before the first. */
extern void ring_init(const Engine *engine, uint32_t nchunks);

/* Takes a ring from the pool or makes one; NULL on failure. */
extern Ring *ring_take(DeviceError *error);

/*
 * Gives a ring back.  It will be used again only if the client is gone, and
 * with it any other use of the memory.
 */
extern void ring_give_back(Ring *ring, bool client_is_gone);

#endif							/* GPUSORTD_RING_H */
