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

/* Are so many bytes left of the memory that the server has set aside? */
extern bool shared_memory_is_set_aside(double bytes);

/* Is there room for so many bytes beside that memory, as far as is known? */
extern bool shared_memory_has_room(double bytes);

/* Can so many bytes be had, of either kind? */
extern bool shared_memory_suffices(double bytes);

/*
 * What keeps sorts from the shared memory that the settings intend for them, where
 * those of workers may take so many bytes; NULL if there is nothing.
 */
extern const char *shared_memory_lack(double bytes);

/*
 * Makes a segment that no resource owner has: it lives until it is detached.  NULL
 * without memory.
 */
extern dsm_segment *shared_memory_create(Size bytes);

/*
 * The same, but only of memory that the server has set aside in huge pages.
 */
extern dsm_segment *shared_memory_create_huge(Size bytes);

#endif							/* GPUSORT_SHARED_MEMORY_H */
