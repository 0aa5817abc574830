/*-------------------------------------------------------------------------
 *
 * connection.c
 *	  Serving one client: the conversation of protocol.h.
 *
 * A connection has a thread of its own, and may have another job when its last
 * one has ended, since a new connection takes longer than to sort few rows.
 * This file knows which side sends which message next.  The files of a job's
 * stages do the work:
 *
 *		admission.c		gets memory of devices, as long as keys come
 *		take_keys.c		copies keys from the ring to devices
 *		sort_parts.c	sorts
 *		send_order.c	sends the order through the ring
 *
 * These share the Job of job.h, and talk to the client through wire.c.
 *
 * Nothing that a client says is believed.  A message that does not fit is
 * answered with MSG_FAILED, and the connection ends.
 *
 *-------------------------------------------------------------------------
 */
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admission.h"
#include "clock.h"
#include "job.h"
#include "report.h"
#include "send_order.h"
#include "sort_parts.h"
#include "take_keys.h"

/* How long a client may take to say what it wants. */
#define GREETING_MILLISECONDS	5000

/* How long a client whose job has failed may take to hang up. */
#define HANG_UP_MILLISECONDS	2000

static const Engine *engine;

void
connection_init(const Engine *used_engine)
{
	engine = used_engine;
}


/*
 * The beginning of a job
 */

/* Takes a ring for the job, or tells the client why there is none. */
static bool
get_ring(Job *job)
{
	DeviceError error = {.is_full = false};
	FailureCause cause;

	job->ring = ring_take(&cause, &error);
	if (job->ring == NULL)
		return wire_refuse(job->wire, MSG_REFUSED,
						   error.is_full ? FAILURE_FULL : cause, "%.*s",
						   MESSAGE_TEXT_SIZE - 1, error.text);
	job->wire->has[SCARCE_STAGING] = true;
	job->pushes = calloc(job->ring->nchunks, sizeof(Push));
	return job->pushes != NULL ||
		wire_refuse(job->wire, MSG_REFUSED, FAILURE_FAULT,
					"gpusortd is out of memory");
}

/* Sends MSG_WELCOME with the ring's descriptor. */
static bool
send_ring(Job *job, const Message *welcome)
{
	int			descriptor = ring_open(job->ring);
	bool		is_sent;

	if (descriptor < 0)
		return wire_refuse(job->wire, MSG_REFUSED, FAILURE_FAULT,
						   "could not open the staging memory: %s",
						   strerror(errno));
	is_sent = wire_send_descriptor(job->wire, welcome, descriptor);
	close(descriptor);
	return is_sent;
}

/* Sends MSG_WELCOME, with the ring if the client does not have it yet. */
static bool
send_welcome(Job *job, bool with_ring)
{
	Message		message = {.kind = MSG_WELCOME};

	message.u.welcome.chunks = job->ring->nchunks;
	return with_ring ? send_ring(job, &message) :
		wire_send(job->wire, &message);
}

/* Notes what the client asks for; all chunks of the ring are the client's. */
static void
read_hello(Job *job, const Message *hello)
{
	job->stage = JOB_TAKES_KEYS;
	job->shape.fixed_words = hello->u.hello.fixed_words;
	job->shape.mark_ties = hello->u.hello.mark_ties != 0;
	job->longest_key = job->shape.fixed_words;
	job->algorithm = hello->u.hello.algorithm;
	job->owner.role = hello->u.hello.role;
	job->owner.limit = hello->u.hello.role_limit;
	job->long_lived = hello->u.hello.long_lived != 0;
	job->sent = 0;
	job->returned = 0;
	job->wire->has[SCARCE_STAGING] = job->ring != NULL;
}

/*
 * MSG_HELLO: gets memory, a ring, and a job of the engine.
 */
static bool
begin_job(Job *job, const Message *hello)
{
	bool		is_first = job->ring == NULL;

	read_hello(job, hello);
	if (hello->u.hello.version != PROTOCOL_VERSION)
		return wire_refuse(job->wire, MSG_REFUSED, FAILURE_FAULT,
						   VERSIONS_DIFFER);
	if (hello->u.hello.fixed_words > KEY_MAX_WORDS ||
		hello->u.hello.algorithm > DEVICE_SORT_BITONIC)
		return job_fail_unexpected(job);
	return admission_begin(job, hello->u.hello.expected_rows) &&
		(!is_first || get_ring(job)) &&
		job_begin_part(job, MSG_REFUSED) &&
		send_welcome(job, is_first);
}


/*
 * The conversation
 */

/* Receives the next message, finishing pushes while there is none. */
static bool
next_message(Job *job, Message *message)
{
	for (;;)
	{
		switch (wire_receive(job->wire, message, job->npushes == 0))
		{
			case RECEIVED:
				return true;
			case RECEIVED_END:
				return false;
			case RECEIVED_GIVE_WAY:
				return job_give_way(job);
			case RECEIVED_NOTHING:
				if (!take_keys_finish_one(job))
					return false;
				break;
		}
	}
}

/* Takes keys until MSG_SORT comes, with the number of rows there are. */
static bool
take_all_keys(Job *job)
{
	Message		message;

	for (;;)
	{
		if (!next_message(job, &message))
			return false;
		if (message.kind == MSG_SORT && message.u.sort.nrows == job->nrows)
			return take_keys_finish(job);
		if (message.kind != MSG_KEYS)
			return job_fail_unexpected(job);
		if (!take_keys(job, &message))
			return false;
	}
}

/* Serves a job from MSG_HELLO to the end of its order. */
static bool
serve_job(Job *job, const Message *hello)
{
	if (!begin_job(job, hello) || !take_all_keys(job))
		return false;
	job->stage = JOB_SENDS_ORDER;
	if (!sort_parts(job) || !send_order(job))
		return false;
	job->stage = JOB_DONE;
	return true;
}

/*
 * When the order has been sent: waits for MSG_HELLO, or the end.  When the
 * ring is wanted elsewhere the client is not told why: it has no job.
 */
static bool
next_hello(Job *job, Message *message)
{
	for (;;)
	{
		if (wire_receive(job->wire, message, true) != RECEIVED)
			return false;
		if (message->kind == MSG_HELLO)
			return true;
		if (!send_order_take_back(job, message))
			return false;
	}
}

/* Serves one job after another. */
static void
serve_jobs(Job *job, Message *hello)
{
	while (serve_job(job, hello))
	{
		job_end(job);
		if (!next_hello(job, hello))
			break;
	}
}

/* MSG_LIST_DEVICES */
static void
list_devices(Wire *wire)
{
	Message		end = {.kind = MSG_END_OF_LIST};

	for (int number = 0; number < devices_count(); number++)
	{
		Message		message = {.kind = 0};

		devices_describe(number, &message);
		if (!wire_send(wire, &message))
			return;
	}
	(void) wire_send(wire, &end);
}

static void
greet(Job *job)
{
	Message		message;

	if (!wire_receive_within(job->wire, &message, GREETING_MILLISECONDS))
		return;
	if (message.kind == MSG_HELLO)
		serve_jobs(job, &message);
	else if (message.kind == MSG_LIST_DEVICES)
		list_devices(job->wire);
	else
		(void) wire_refuse(job->wire, MSG_REFUSED, FAILURE_FAULT,
						   VERSIONS_DIFFER);
}


/*
 * The end
 */

/*
 * Waits until the client has read why its job has failed, and hangs up.  If
 * this side closed the socket while the client had sent more, the reason could
 * be lost.
 */
static void
wait_until_client_is_gone(Wire *wire)
{
	uint64_t	deadline = microseconds_now() + HANG_UP_MILLISECONDS * 1000;
	uint64_t	now;
	Message		message;

	while ((now = microseconds_now()) < deadline &&
		   wire_receive_within(wire, &message, (deadline - now) / 1000 + 1))
		;
}

/*
 * Notes that keys may be anywhere in the ring, unless the job came to its end:
 * the client may have written some without saying so.
 */
static void
note_unannounced_keys(const Job *job)
{
	if (job->ring == NULL || job->stage == JOB_DONE)
		return;
	for (uint32_t chunk = 0; chunk < job->ring->nchunks; chunk++)
		ring_note_use(job->ring, chunk, CHUNK_BYTES);
}

static void
give_back_ring(Job *job)
{
	if (job->ring != NULL)
		ring_give_back(job->ring, send_order_is_read(job));
	job->ring = NULL;
}

/*
 * Frees all that the connection has, at whatever point it ends.  Frees what
 * others wait for before the client learns of the end.
 */
static void
close_connection(Job *job)
{
	note_unannounced_keys(job);
	job_end(job);
	free(job->pushes);
	if (job->wire->gives_way)
		give_back_ring(job);
	wire_has_given_way(job->wire);
	if (!wire_client_is_gone(job->wire))
		wait_until_client_is_gone(job->wire);
	give_back_ring(job);
	wire_end(job->wire);
}

void
connection_serve(int socket)
{
	Wire		wire;
	Job			job = {.engine = engine,.wire = &wire};

	wire_begin(&wire, socket);
	greet(&job);
	close_connection(&job);

	if (engine->is_lost())
	{
		report("failed a device has failed for good");
		leave(EXIT_LOST);
	}
}
