/*-------------------------------------------------------------------------
 *
 * shortage.c
 *	  Jobs with idle clients give way to jobs that lack a resource.
 *
 * A client may take as long as it likes, while its query waits for a lock or
 * the network, or sleeps, as long as nobody else lacks what its job has.  But
 * nobody shall wait for an idle client.  So a thread that waits for a resource
 * makes a descriptor readable.  The threads of idle clients watch this
 * descriptor along with their own socket, and give up what their jobs have.
 * One job gives way after the other, with a moment in between, in which it may
 * turn out that there is enough.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shortage.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include "clock.h"

/* After this time without a message a client is idle; tests set another. */
#ifndef IDLE_MILLISECONDS
#define IDLE_MILLISECONDS	1000
#endif

/* Between one job that gives way and the next one. */
#define TURN_MILLISECONDS	20

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int	descriptors[SCARCE_COUNT];	/* readable as long as someone waits */
static int	nwaiting[SCARCE_COUNT]; /* threads that wait for it */
static int	nidle[SCARCE_COUNT];	/* idle clients that have some */
static int	ngiving;			/* clients that give up what they have */
static uint64_t next_turn;		/* time of the next, in microseconds */

/* Without a descriptor, which poll() then ignores, nobody gives way. */
static void
prepare(void)
{
	for (int what = 0; what < SCARCE_COUNT; what++)
		descriptors[what] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void
shortage_init(void)
{
	pthread_once(&once, prepare);
}

void
shortage_begin(Scarce what)
{
	shortage_init();
	pthread_mutex_lock(&mutex);
	if (nwaiting[what]++ == 0)
		(void) eventfd_write(descriptors[what], 1);
	pthread_mutex_unlock(&mutex);
}

void
shortage_end(Scarce what)
{
	eventfd_t	ignored;

	pthread_mutex_lock(&mutex);
	if (--nwaiting[what] == 0)
		(void) eventfd_read(descriptors[what], &ignored);
	pthread_mutex_unlock(&mutex);
}

int
shortage_idle(Scarce what)
{
	int			count;

	pthread_mutex_lock(&mutex);
	count = nidle[what] + ngiving;
	pthread_mutex_unlock(&mutex);
	return count;
}

/* Counts one client as idle (1), or as idle no more (-1). */
static void
count_idle(const bool *has, int change)
{
	pthread_mutex_lock(&mutex);
	for (int what = 0; what < SCARCE_COUNT; what++)
	{
		if (has[what])
			nidle[what] += change;
	}
	pthread_mutex_unlock(&mutex);
}

/*
 * True if someone still waits for what the client has, and it is time for the
 * next turn.  Counts the client as one that gives way then.
 */
static bool
take_turn(const bool *has)
{
	uint64_t	now = microseconds_now();
	bool		is_wanted = false;

	pthread_mutex_lock(&mutex);
	for (int what = 0; what < SCARCE_COUNT; what++)
		is_wanted |= has[what] && nwaiting[what] > 0;
	is_wanted = is_wanted && now >= next_turn;
	if (is_wanted)
	{
		next_turn = now + TURN_MILLISECONDS * 1000;
		ngiving++;
	}
	pthread_mutex_unlock(&mutex);
	return is_wanted;
}

void
shortage_has_given_way(void)
{
	pthread_mutex_lock(&mutex);
	ngiving--;
	pthread_mutex_unlock(&mutex);
}

/* Waits for the client, or for its turn to give way. */
static Waited
wait_idle(struct pollfd *polled, const bool *has)
{
	for (;;)
	{
		/* when woken out of turn, ignores waiting threads for a moment */
		if (poll(polled, 1 + SCARCE_COUNT, -1) > 0)
		{
			if (polled[0].revents != 0)
				return WAITED_READY;
			if (take_turn(has))
				return WAITED_GIVE_WAY;
			if (poll(polled, 1, TURN_MILLISECONDS) > 0)
				return WAITED_READY;
		}
	}
}

Waited
shortage_wait(int socket, short events, const bool *has)
{
	struct pollfd polled[1 + SCARCE_COUNT] = {{.fd = socket,.events = events}};
	uint64_t	deadline;
	uint64_t	now;
	Waited		waited;

	shortage_init();
	deadline = microseconds_now() + UINT64_C(1000) * IDLE_MILLISECONDS;
	while ((now = microseconds_now()) < deadline)
	{
		if (poll(polled, 1, (int) ((deadline - now) / 1000) + 1) > 0)
			return WAITED_READY;
	}

	for (int what = 0; what < SCARCE_COUNT; what++)
	{
		polled[1 + what].fd = has[what] ? descriptors[what] : -1;
		polled[1 + what].events = POLLIN;
	}
	count_idle(has, 1);
	waited = wait_idle(polled, has);
	count_idle(has, -1);
	return waited;
}
