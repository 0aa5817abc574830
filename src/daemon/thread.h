/*-------------------------------------------------------------------------
 *
 * thread.h
 *	  Threads with no more stack than they need.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_THREAD_H
#define GPUSORTD_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* host_sort() takes 150 kB; the rest is for CUDA, and for sanitizers. */
#define THREAD_STACK_BYTES	(1 << 20)

static inline bool
start_thread(pthread_t *thread, void *(*function) (void *), void *argument)
{
	pthread_attr_t attributes;
	bool		started;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	started = pthread_attr_setstacksize(&attributes,
										THREAD_STACK_BYTES) == 0 &&
		pthread_create(thread, &attributes, function, argument) == 0;
	pthread_attr_destroy(&attributes);
	return started;
}

#endif							/* GPUSORTD_THREAD_H */
