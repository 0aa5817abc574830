/*-------------------------------------------------------------------------
 *
 * memory_budget.c
 *	  The memory that all jobs share, and the queue for it.
 *
 * A job reserves what it is expected to need before it begins, and waits for
 * that in the order of arrival.  If it then needs more it either gets that at
 * once or fails: a job that has memory never waits for memory, so no jobs can
 * wait for each other.  (Before it fails it makes do with a sort in place,
 * which connection.c decides.)  Once it has sorted it gives back all but what
 * its order takes.
 *
 *-------------------------------------------------------------------------
 */
#include "memory_budget.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

/* How often a waiting job looks whether it is still wanted. */
#define CANCEL_CHECK_NANOSECONDS	50000000

/* A job in the queue; lives on its thread's stack. */
typedef struct Waiter
{
	struct Waiter *next;
} Waiter;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t total;
static uint64_t reserved;
static Waiter *first_waiter;

void
memory_budget_init(uint64_t bytes)
{
	total = bytes;
}

uint64_t
memory_budget_total(void)
{
	return total;
}

static void
enqueue(Waiter *waiter)
{
	Waiter	  **link = &first_waiter;

	while (*link != NULL)
		link = &(*link)->next;
	waiter->next = NULL;
	*link = waiter;
}

static void
dequeue(Waiter *waiter)
{
	Waiter	  **link = &first_waiter;

	while (*link != waiter)
		link = &(*link)->next;
	*link = waiter->next;
	pthread_cond_broadcast(&changed);
}

/* Waits, with the mutex held, for a change or until it is time to look. */
static void
wait_for_change(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_nsec += CANCEL_CHECK_NANOSECONDS;
	if (deadline.tv_nsec >= 1000000000)
	{
		deadline.tv_sec++;
		deadline.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&changed, &mutex, &deadline);
}

/* Reserves memory, with the mutex held, if there is that much. */
static bool
reserve(uint64_t bytes)
{
	if (bytes > total - reserved)
		return false;
	reserved += bytes;
	return true;
}

bool
memory_budget_wait(uint64_t bytes, bool (*cancelled) (void *), void *argument)
{
	Waiter		self;
	bool		granted;

	if (bytes > total)
		return false;

	pthread_mutex_lock(&mutex);
	enqueue(&self);
	for (;;)
	{
		granted = first_waiter == &self && reserve(bytes);
		if (granted || cancelled(argument))
			break;
		wait_for_change();
	}
	dequeue(&self);
	pthread_mutex_unlock(&mutex);
	return granted;
}

bool
memory_budget_grow(uint64_t bytes)
{
	bool		granted;

	pthread_mutex_lock(&mutex);
	granted = reserve(bytes);
	pthread_mutex_unlock(&mutex);
	return granted;
}

void
memory_budget_release(uint64_t bytes)
{
	pthread_mutex_lock(&mutex);
	reserved -= bytes;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}
