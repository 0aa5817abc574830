/*-------------------------------------------------------------------------
 *
 * shared_memory.h
 *	  How much dynamic shared memory can be had.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_MEMORY_H
#define GPUSORT_SHARED_MEMORY_H

/* Is there so much that the server has set aside? */
extern bool shared_memory_is_set_aside(double bytes);

/* Is there room for so many bytes more, as far as can be told? */
extern bool shared_memory_has_room(double bytes);

#endif							/* GPUSORT_SHARED_MEMORY_H */
