/*-------------------------------------------------------------------------
 *
 * shared_memory.h
 *	  How much dynamic shared memory can be had.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_MEMORY_H
#define GPUSORT_SHARED_MEMORY_H

/* Is there room for so many bytes more, as far as can be told? */
extern bool shared_memory_has_room(double bytes);

#endif							/* GPUSORT_SHARED_MEMORY_H */
