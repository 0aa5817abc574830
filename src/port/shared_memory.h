/*-------------------------------------------------------------------------
 *
 * shared_memory.h
 *	  Dynamic shared memory: how much can be had, and taking it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_MEMORY_H
#define GPUSORT_SHARED_MEMORY_H

#include "storage/dsm.h"

/* Is there so much that the server has set aside? */
extern bool shared_memory_is_set_aside(double bytes);

/* Is there room beside that for so many bytes more, as far as can be told? */
extern bool shared_memory_has_room(double bytes);

/* Can so much be had, of the one or the other? */
extern bool shared_memory_suffices(double bytes);

/*
 * Makes a segment, which no resource owner has: it lives until it is detached.
 * NULL if there is no memory.
 */
extern dsm_segment *shared_memory_create(Size bytes);

/*
 * The same, but only of memory that the server has set aside and that is in
 * huge pages.
 */
extern dsm_segment *shared_memory_create_huge(Size bytes);

#endif							/* GPUSORT_SHARED_MEMORY_H */
