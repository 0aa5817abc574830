/*-------------------------------------------------------------------------
 *
 * shared_memory.h
 *	  Dynamic shared memory: the room for it, and segments of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_MEMORY_H
#define GPUSORT_SHARED_MEMORY_H

#include "storage/dsm.h"

/* Has the server set aside memory that could hold this many bytes? */
extern bool shared_memory_is_set_aside(double bytes);

/*
 * Is there room for this many bytes outside that memory, as far as is known?
 */
extern bool shared_memory_has_room(double bytes);

/* Is there room for this many bytes in either of them? */
extern bool shared_memory_suffices(double bytes);

/* Are this many segments at most half of what all backends can have? */
extern bool shared_memory_has_segments(double nsegments);

/*
 * Tells why sorts with workers, which may take this many bytes, cannot have
 * the shared memory that the settings intend for them.  NULL if they can.
 */
extern const char *shared_memory_lack(double bytes);

/*
 * Makes a segment without a resource owner: it lives until it is detached.
 * NULL if there is no memory.
 */
extern dsm_segment *shared_memory_create(Size bytes);

/* The same, but only in memory that the server has set aside in huge pages. */
extern dsm_segment *shared_memory_create_huge(Size bytes);

#endif							/* GPUSORT_SHARED_MEMORY_H */
