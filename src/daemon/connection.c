/*-------------------------------------------------------------------------
 *
 * connection.c
 *	  Serving one client: the conversation of protocol.h, and its job.
 *
 * A connection has a thread of its own.  While keys come in, the thread
 * starts the copy of each chunk to the device and goes on; only when there is
 * nothing to receive does it wait for the oldest copy under way, to give the
 * chunk back.  So copies go on while the client fills other chunks.
 *
 * Nothing that a client says is believed.  A message that does not fit is
 * answered with MSG_FAILED, and the connection ends.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../protocol.h"
#include "clock.h"
#include "devices.h"
#include "report.h"
#include "ring.h"

/* Words of a key that varies in length, until they are counted. */
#define GUESSED_WORDS	5

/* How long a client whose job has failed may take to hang up. */
#define HANG_UP_SECONDS	2

/* A chunk of keys that is being copied. */
typedef struct Push
{
	uint32_t	chunk;
	uint64_t	ticket;
} Push;

typedef struct Connection
{
	int			socket;
	Ring	   *ring;
	EngineJob  *job;
	KeyShape	shape;
	uint64_t	nrows;			/* pushed so far */
	uint64_t	nwords;
	bool		in_place;		/* only memory for a sort in place is reserved */
	Reservation reservation;	/* of a device's memory */

	Push	   *pushes;			/* those under way; a queue */
	uint32_t	first_push;
	uint32_t	npushes;
} Connection;

static const Engine *engine;

void
connection_init(const Engine *used_engine)
{
	engine = used_engine;
}

/* Has the client closed the connection?  For those who wait otherwise. */
static bool
client_is_gone(void *argument)
{
	const Connection *connection = argument;
	struct pollfd events = {.fd = connection->socket, .events = POLLRDHUP};

	return poll(&events, 1, 0) > 0 &&
		(events.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static bool
send_message(Connection *connection, const Message *message)
{
	ssize_t		sent;

	do
		sent = send(connection->socket, message, sizeof(Message),
					MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == sizeof(Message);
}

/* Tells the client why its job ends; returns false for the caller to. */
static bool __attribute__((format(printf, 4, 5)))
refuse(Connection *connection, MessageKind kind, FailureCause cause,
	   const char *format,...)
{
	Message		message = {.kind = kind};
	va_list		arguments;

	message.u.failed.cause = cause;
	va_start(arguments, format);
	vsnprintf(message.u.failed.text, sizeof(message.u.failed.text), format,
			  arguments);
	va_end(arguments);
	(void) send_message(connection, &message);
	return false;
}

/*
 * The same for an error of the engine, for which the device is to blame unless
 * the client is gone: then the job may have been given up.
 */
static bool
fail(Connection *connection, MessageKind kind, const DeviceError *error)
{
	FailureCause cause = FAILURE_FAULT;

	if (client_is_gone(connection))
		return false;
	if (!engine->is_lost())
	{
		if (devices_other_has(&connection->reservation,
							  connection->reservation.bytes))
			cause = FAILURE_ELSEWHERE;
		devices_blame(&connection->reservation, error->text);
	}
	return refuse(connection, kind, cause, "%.*s", MESSAGE_TEXT_SIZE - 1,
				  error->text);
}

static bool
fail_unexpected(Connection *connection)
{
	return refuse(connection, MSG_FAILED, FAILURE_FAULT,
				  "gpusortd received an unexpected message");
}

typedef enum Received
{
	RECEIVED,
	NOTHING_YET,				/* only if not to wait */
	CLIENT_GONE
} Received;

static Received
receive_message(Connection *connection, Message *message, bool wait)
{
	ssize_t		length;

	do
		length = recv(connection->socket, message, sizeof(Message),
					  MSG_TRUNC | (wait ? 0 : MSG_DONTWAIT));
	while (length < 0 && errno == EINTR);
	if (length < 0 && errno == EAGAIN)
		return NOTHING_YET;
	if (length == 0 || length < 0)
		return CLIENT_GONE;
	if (length != sizeof(Message))
		message->kind = 0;		/* of no kind that is expected */
	return RECEIVED;
}

/*
 * The oldest push under way is waited for, and its chunk given back.
 */
static bool
finish_push(Connection *connection)
{
	Push	   *push = &connection->pushes[connection->first_push];
	Message		message = {.kind = MSG_KEYS_TAKEN};
	DeviceError error;

	if (!engine->wait_pushed(connection->job, push->ticket, &error))
		return fail(connection, MSG_FAILED, &error);
	message.u.keys.chunk = push->chunk;
	connection->first_push =
		(connection->first_push + 1) % connection->ring->nchunks;
	connection->npushes--;
	return send_message(connection, &message);
}

/* Receives the next message, finishing pushes while there is none. */
static bool
next_message(Connection *connection, Message *message)
{
	for (;;)
	{
		switch (receive_message(connection, message,
								connection->npushes == 0))
		{
			case RECEIVED:
				return true;
			case CLIENT_GONE:
				return false;
			case NOTHING_YET:
				if (!finish_push(connection))
					return false;
				break;
		}
	}
}

/* Bytes that the job needs if it has so many keys. */
static uint64_t
memory_needed(const Connection *connection, uint64_t nrows, uint64_t nwords)
{
	return connection->in_place ?
		engine->job_memory_in_place(&connection->shape, nrows, nwords) :
		engine->job_memory(&connection->shape, nrows, nwords);
}

/* Makes sure that so much memory is reserved. */
static bool
reserve(Connection *connection, uint64_t needed)
{
	Reservation *reservation = &connection->reservation;
	uint64_t	more;

	if (needed <= reservation->bytes)
		return true;
	more = needed - reservation->bytes;

	/* some more than needed, so as not to ask with every chunk */
	return devices_grow(reservation, more + needed / 8) ||
		devices_grow(reservation, more);
}

/*
 * Makes sure that enough memory is reserved for the keys so far and these: to
 * sort them in place, if there is no more.
 */
static bool
reserve_for_keys(Connection *connection, uint64_t nrows, uint64_t nwords)
{
	if (reserve(connection, memory_needed(connection, nrows, nwords)))
		return true;
	connection->in_place = true;
	return reserve(connection, memory_needed(connection, nrows, nwords));
}

/* Ends a job that needs more memory than its device has left. */
static bool
fail_full(Connection *connection, uint64_t nrows, uint64_t nwords)
{
	bool		elsewhere =
		devices_other_has(&connection->reservation,
						  memory_needed(connection, nrows, nwords));

	return refuse(connection, MSG_FAILED,
				  elsewhere ? FAILURE_ELSEWHERE : FAILURE_FULL,
				  "device memory is full, it is in use by other sorts");
}

/* Are the ends of a chunk's keys what key_format.h says they are? */
static bool
ends_are_right(const Connection *connection, const uint64_t *ends,
			   uint32_t nrows, uint64_t nwords)
{
	uint64_t	previous = connection->nwords;

	for (uint32_t row = 0; row < nrows; row++)
	{
		/* in this form it also catches what is not ascending */
		if (ends[row] - previous - 1 >= KEY_MAX_WORDS)
			return false;
		previous = ends[row];
	}
	return previous == connection->nwords + nwords;
}

/* Is the chunk among those that are being copied? */
static bool
is_under_way(const Connection *connection, uint32_t chunk)
{
	for (uint32_t i = 0; i < connection->npushes; i++)
	{
		uint32_t	place = (connection->first_push + i) %
			connection->ring->nchunks;

		if (connection->pushes[place].chunk == chunk)
			return true;
	}
	return false;
}

/* MSG_KEYS: begins the copy of a chunk to the device. */
static bool
take_keys(Connection *connection, const Message *message)
{
	uint32_t	chunk = message->u.keys.chunk;
	uint32_t	nrows = message->u.keys.nrows;
	uint64_t	nwords = message->u.keys.nwords;
	uint64_t   *words;
	uint64_t   *ends = NULL;
	uint64_t	max_words = CHUNK_BYTES / sizeof(uint64_t);
	Push	   *push;
	DeviceError error;

	if (chunk >= connection->ring->nchunks || nrows == 0 ||
		is_under_way(connection, chunk))
		return fail_unexpected(connection);
	if (nrows > SORT_MAX_ROWS - connection->nrows)
		return refuse(connection, MSG_FAILED, FAILURE_FULL,
					  "too many rows for one sort");

	words = (uint64_t *) (connection->ring->memory +
						  (size_t) chunk * CHUNK_BYTES);
	if (connection->shape.fixed_words == 0)
	{
		ends = words;
		words += CHUNK_VARIABLE_ROWS;
		max_words -= CHUNK_VARIABLE_ROWS;
		if (nrows > CHUNK_VARIABLE_ROWS || nwords > max_words ||
			!ends_are_right(connection, ends, nrows, nwords))
			return fail_unexpected(connection);
	}
	else if (nwords > max_words ||
			 nwords != (uint64_t) nrows * connection->shape.fixed_words)
		return fail_unexpected(connection);

	if (!reserve_for_keys(connection, connection->nrows + nrows,
						  connection->nwords + nwords))
		return fail_full(connection, connection->nrows + nrows,
						 connection->nwords + nwords);

	push = &connection->pushes[(connection->first_push + connection->npushes) %
							   connection->ring->nchunks];
	if (!engine->push(connection->job, words, nwords, ends, nrows,
					  &push->ticket, &error))
		return fail(connection, MSG_FAILED, &error);
	push->chunk = chunk;
	connection->npushes++;
	connection->nrows += nrows;
	connection->nwords += nwords;
	return true;
}

/*
 * Waits for the client to give back a chunk of the order.  It has those from
 * number *taken up to "sent", counted through the whole order, and gives them
 * back one after another.
 */
static bool
take_back_chunk(Connection *connection, uint64_t sent, uint64_t *taken)
{
	Message		message;

	if (receive_message(connection, &message, true) != RECEIVED)
		return false;
	if (message.kind != MSG_ORDER_TAKEN || *taken == sent ||
		message.u.order.chunk != *taken % connection->ring->nchunks)
		return fail_unexpected(connection);
	(*taken)++;
	return true;
}

/* Sends the order through the ring. */
static bool
send_order(Connection *connection)
{
	const uint32_t chunk_entries = CHUNK_BYTES / sizeof(uint32_t);
	uint32_t	nchunks = connection->ring->nchunks;
	uint64_t	sent = 0;		/* chunks */
	uint64_t	taken = 0;		/* of them, those given back */
	DeviceError error;

	for (uint64_t first = 0; first < connection->nrows; first += chunk_entries)
	{
		Message		message = {.kind = MSG_ORDER};
		uint64_t	left = connection->nrows - first;
		uint32_t	chunk = sent % nchunks;

		if (sent - taken == nchunks &&
			!take_back_chunk(connection, sent, &taken))
			return false;
		message.u.order.chunk = chunk;
		message.u.order.count = left < chunk_entries ? left : chunk_entries;
		if (!engine->pull(connection->job, first, message.u.order.count,
						  (uint32_t *) (connection->ring->memory +
										(size_t) chunk * CHUNK_BYTES), &error))
			return fail(connection, MSG_FAILED, &error);
		if (!send_message(connection, &message))
			return false;
		sent++;
	}

	/* the ring belongs to the client until it closes the connection */
	while (take_back_chunk(connection, sent, &taken))
		;
	return true;
}

/* MSG_RUN: sorts and sends the order. */
static bool
run_job(Connection *connection, const Message *message)
{
	Message		answer = {.kind = MSG_SORTED};
	uint64_t	start;
	bool		sorted;
	DeviceError error;

	if (message->u.run.nrows != connection->nrows)
		return fail_unexpected(connection);
	while (connection->npushes > 0)
	{
		if (!finish_push(connection))
			return false;
	}

	start = microseconds_now();
	devices_begin_sort(&connection->reservation);
	sorted = engine->run(connection->job, connection->reservation.bytes,
						 &error);
	devices_end_sort(&connection->reservation, sorted);
	if (!sorted)
		return fail(connection, MSG_FAILED, &error);
	answer.u.sorted.sort_microseconds = microseconds_now() - start;
	snprintf(answer.u.sorted.method, sizeof(answer.u.sorted.method), "%s",
			 engine->method(connection->job));

	/* the order is all that is left of the job on the device */
	devices_shrink(&connection->reservation,
				   connection->nrows * sizeof(uint32_t));
	return send_message(connection, &answer) && send_order(connection);
}

/* Sends MSG_WELCOME, and the ring's descriptor along with it. */
static bool
send_welcome(Connection *connection)
{
	Message		message = {.kind = MSG_WELCOME};
	union
	{
		struct cmsghdr header;
		char		space[CMSG_SPACE(sizeof(int))];
	}			control = {{0}};
	struct iovec part = {&message, sizeof(message)};
	struct msghdr envelope = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space)
	};

	message.u.welcome.chunks = connection->ring->nchunks;
	devices_name_one(connection->reservation.device, message.u.welcome.device,
					 sizeof(message.u.welcome.device));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &connection->ring->descriptor,
		   sizeof(int));
	return sendmsg(connection->socket, &envelope,
				   MSG_NOSIGNAL) == sizeof(message);
}

/* Gets the job memory of a device, for which it may have to wait. */
static bool
get_memory(Connection *connection, uint64_t bytes)
{
	Message		queued = {.kind = MSG_QUEUED};

	if (devices_reserve(bytes, &connection->reservation))
		return true;
	if (bytes <= devices_most_memory() && !send_message(connection, &queued))
		return false;
	return devices_wait(bytes, client_is_gone, connection,
						&connection->reservation) ||
		refuse(connection, MSG_REFUSED, FAILURE_FULL,
			   "the sort is expected to need %llu MB of device memory, more than there is",
			   (unsigned long long) bytes >> 20);
}

/* Gets all that the job needs: memory, a ring, a job of the engine. */
static bool
begin_job(Connection *connection, const Message *hello)
{
	uint64_t	nrows = hello->u.hello.expected_rows;
	uint64_t	key_words = connection->shape.fixed_words;
	DeviceError error;

	if (key_words == 0)
		key_words = GUESSED_WORDS;
	if (nrows > SORT_MAX_ROWS)
		nrows = SORT_MAX_ROWS;
	connection->in_place = hello->u.hello.algorithm == DEVICE_SORT_BITONIC ||
		memory_needed(connection, nrows, nrows * key_words) >
		devices_most_memory();
	if (!get_memory(connection,
					memory_needed(connection, nrows, nrows * key_words)))
		return false;

	connection->ring = ring_take(&error);
	if (connection->ring == NULL)
		return refuse(connection, MSG_REFUSED, FAILURE_FAULT, "%.*s",
					  MESSAGE_TEXT_SIZE - 1, error.text);
	connection->pushes = calloc(connection->ring->nchunks, sizeof(Push));
	if (connection->pushes == NULL)
		return refuse(connection, MSG_REFUSED, FAILURE_FAULT,
					  "gpusortd is out of memory");
	connection->job = engine->begin(connection->reservation.device,
									&connection->shape,
									hello->u.hello.algorithm, client_is_gone,
									connection, &error);
	if (connection->job == NULL)
		return fail(connection, MSG_REFUSED, &error);
	return send_welcome(connection);
}

/* MSG_HELLO: serves a job to its end. */
static bool
serve_job(Connection *connection, const Message *hello)
{
	Message		message;

	if (hello->u.hello.version != PROTOCOL_VERSION)
		return refuse(connection, MSG_REFUSED, FAILURE_FAULT,
					  VERSIONS_DIFFER);
	if (hello->u.hello.fixed_words > KEY_MAX_WORDS ||
		hello->u.hello.algorithm > DEVICE_SORT_MERGE)
		return fail_unexpected(connection);
	connection->shape.fixed_words = hello->u.hello.fixed_words;
	connection->shape.mark_ties = hello->u.hello.mark_ties != 0;
	if (!begin_job(connection, hello))
		return false;

	for (;;)
	{
		if (!next_message(connection, &message))
			return false;
		if (message.kind == MSG_RUN)
			return run_job(connection, &message);
		if (message.kind != MSG_KEYS)
			return fail_unexpected(connection);
		if (!take_keys(connection, &message))
			return false;
	}
}

/* MSG_LIST_DEVICES */
static bool
list_devices(Connection *connection)
{
	Message		end = {.kind = MSG_END_OF_LIST};

	for (int number = 0; number < devices_count(); number++)
	{
		Message		message = {.kind = 0};

		devices_describe(number, &message);
		if (!send_message(connection, &message))
			return false;
	}
	return send_message(connection, &end);
}

/*
 * Lets the client read why its job has failed, and hang up: what it has not
 * read yet would be lost if it had sent more and the socket was closed now.
 */
static void
wait_until_client_is_gone(Connection *connection)
{
	struct timeval patience = {.tv_sec = HANG_UP_SECONDS};
	Message		message;

	setsockopt(connection->socket, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
	while (receive_message(connection, &message, true) == RECEIVED)
		;
}

/* Frees all that the connection has, whatever it got to. */
static void
close_connection(Connection *connection)
{
	/* ends copies from and to the ring */
	engine->end(connection->job);
	free(connection->pushes);
	devices_release(&connection->reservation);
	if (!client_is_gone(connection))
		wait_until_client_is_gone(connection);
	if (connection->ring != NULL)
		ring_give_back(connection->ring, client_is_gone(connection));
	close(connection->socket);
}

void
connection_serve(int socket)
{
	Connection	connection = {
		.socket = socket,
		.reservation = NO_RESERVATION
	};
	Message		message;

	if (receive_message(&connection, &message, true) == RECEIVED)
	{
		if (message.kind == MSG_HELLO)
			(void) serve_job(&connection, &message);
		else if (message.kind == MSG_LIST_DEVICES)
			(void) list_devices(&connection);
		else
			(void) refuse(&connection, MSG_REFUSED, FAILURE_FAULT,
						  VERSIONS_DIFFER);
	}
	close_connection(&connection);

	if (engine->is_lost())
	{
		report("log a device has failed for good, and gpusortd ends to be started again");
		leave(EXIT_LOST);
	}
}
