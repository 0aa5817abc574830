/*-------------------------------------------------------------------------
 *
 * watch.c
 *	  Detecting a job that hangs in its device.
 *
 * A kernel that never ends, or a driver that does not return, cannot be helped
 * from within the process, and would keep the memory of its job for ever.  So
 * gpusortd ends, and is started anew.
 *
 * A step may take as long as one processor would take to sort all jobs under
 * way, and ten seconds more.  Time is counted in checks, one a second, not by
 * a clock, so that time in which the process was stopped does not count.
 *
 *-------------------------------------------------------------------------
 */
#include "watch.h"

#include <pthread.h>
#include <stddef.h>

#include "../common/host_sort.h"

/*
 * A thread with nothing to sort hangs after this many checks without a step.
 */
#define PATIENT_CHECKS	10

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Watch *watches;

void
watch_begin(Watch *watch)
{
	pthread_mutex_lock(&mutex);
	watch->next = watches;
	watch->link = &watches;
	if (watch->next != NULL)
		watch->next->link = &watch->next;
	watches = watch;
	pthread_mutex_unlock(&mutex);
}

void
watch_end(Watch *watch)
{
	pthread_mutex_lock(&mutex);
	*watch->link = watch->next;
	if (watch->next != NULL)
		watch->next->link = watch->link;
	pthread_mutex_unlock(&mutex);
}

bool
watch_is_needed(void)
{
	bool		is_needed;

	pthread_mutex_lock(&mutex);
	is_needed = watches != NULL;
	pthread_mutex_unlock(&mutex);
	return is_needed;
}

/* True if the thread works, in the same step as at the last check. */
static bool
has_made_no_step(Watch *watch)
{
	unsigned long long steps = atomic_load(&watch->steps);
	bool		is_same = steps == watch->seen_steps;

	watch->seen_steps = steps;
	return is_same && steps % 2 == 0;
}

bool
watch_finds_hanging(void)
{
	uint64_t	rows = 0;
	unsigned int most_checks = 0;

	pthread_mutex_lock(&mutex);
	for (Watch *watch = watches; watch != NULL; watch = watch->next)
	{
		if (!has_made_no_step(watch))
			watch->checks = 0;
		else if (++watch->checks > most_checks)
			most_checks = watch->checks;
		rows += atomic_load(&watch->rows);
	}
	pthread_mutex_unlock(&mutex);
	return most_checks > PATIENT_CHECKS +
		host_sort_milliseconds(rows) / WATCH_MILLISECONDS;
}
