/*-------------------------------------------------------------------------
 *
 * trial.c
 *	  A trial of what jobs need of the system.
 *
 * A seccomp profile or a limit may forbid gpusortd what each job needs.
 * Without the trial each sort would fail by itself, and nobody would know
 * beforehand.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "trial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "failed_call.h"
#include "ring.h"
#include "thread.h"
#include "wire.h"

static void *
do_nothing(void *argument)
{
	return argument;
}

/* Can there be a thread for a client? */
static bool
try_thread(DeviceError *error)
{
	pthread_t	thread;
	char		reason[FAILED_CALL_SIZE];

	if (start_thread(&thread, do_nothing, NULL))
		return pthread_join(thread, NULL) == 0;
	describe_failed_call(reason, "clone3", errno);
	snprintf(error->text, sizeof(error->text),
			 "could not start a thread: %s", reason);
	return false;
}

/* Can a ring be passed to a client? */
static bool
try_passing(const Ring *ring, DeviceError *error)
{
	Message		message = {0};
	int			sockets[2];
	int			descriptor = ring_open(ring);
	bool		is_passed = false;
	int			failure;

	if (descriptor >= 0 &&
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0)
	{
		Wire		wire = {.socket = sockets[0]};

		is_passed = wire_send_descriptor(&wire, &message, descriptor);
		failure = errno;
		close(sockets[0]);
		close(sockets[1]);
		errno = failure;
	}
	if (!is_passed)
	{
		char		reason[FAILED_CALL_SIZE];

		describe_failed_call(reason, "sendmsg", errno);
		snprintf(error->text, sizeof(error->text),
				 "could not pass staging memory to a client: %s", reason);
	}
	if (descriptor >= 0)
		close(descriptor);
	return is_passed;
}

bool
trial_succeeds(DeviceError *error)
{
	FailureCause ignored;
	Ring	   *ring = ring_take(&ignored, error);
	bool		is_good;

	if (ring == NULL)
		return false;
	is_good = try_passing(ring, error) && try_thread(error);
	ring_give_back(ring, false);
	return is_good;
}
