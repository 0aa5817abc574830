/*-------------------------------------------------------------------------
 *
 * thread.h
 *	  Threads with no more stack than they need.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_THREAD_H
#define GPUSORTD_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

/* host_sort() takes 150 kB; the rest is for CUDA, and for sanitizers. */
#define THREAD_STACK_BYTES	(1 << 20)

/* Starts a thread; false on failure, with errno set. */
static inline bool
start_thread(pthread_t *thread, void *(*function) (void *), void *argument)
{
	pthread_attr_t attributes;
	int			failure = pthread_attr_init(&attributes);

	if (failure == 0)
	{
		failure = pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
		if (failure == 0)
			failure = pthread_create(thread, &attributes, function, argument);
		pthread_attr_destroy(&attributes);
	}
	errno = failure;
	return failure == 0;
}

#endif							/* GPUSORTD_THREAD_H */
