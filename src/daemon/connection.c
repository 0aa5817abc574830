/*-------------------------------------------------------------------------
 *
 * connection.c
 *	  Serving one client: the conversation of protocol.h, and its job.
 *
 * A connection has a thread of its own, and may have another job when its last
 * one has ended: to begin all anew takes longer than to sort few rows.  While
 * keys come in, the thread starts the copy of each chunk to the device and goes
 * on; only when there is nothing to receive does it wait for the oldest copy
 * under way, to give the chunk back.  So copies go on while the client fills
 * other chunks.
 *
 * A job that has no room on one device has several parts, each a job of the
 * engine on another device.  Rows go to the first part until it is full, then
 * to the second one, and so on; so a row's number is that within its part and
 * those of the parts before.  They are sorted at the same time, and their order
 * is merged while it is sent (merge.c).
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
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../protocol.h"
#include "clock.h"
#include "devices.h"
#include "merge.h"
#include "report.h"
#include "ring.h"
#include "shortage.h"
#include "thread.h"
#include "watch.h"

/* Words of a key that varies in length, until they are counted. */
#define GUESSED_WORDS	5

/* Of a device's memory a job that lasts gets so small a part at the most. */
#define LONG_LIVED_PART	8

/* How long a client may take to say what it wants. */
#define GREETING_MILLISECONDS	5000

/* How long one whose job has failed may take to hang up. */
#define HANG_UP_MILLISECONDS	2000

/* What one device has of a job. */
typedef struct Part
{
	Reservation reservation;	/* of its memory */
	EngineJob  *job;			/* NULL as long as no rows are for it */
	uint64_t	first_row;		/* what the parts before have */
	uint64_t	first_word;
	uint64_t	nrows;			/* pushed so far */
	uint64_t	nwords;
	bool		is_sorted;
	DeviceError error;			/* if it could not be */
} Part;

/* A chunk of keys that is being copied. */
typedef struct Push
{
	uint32_t	chunk;
	int			part;
	uint64_t	ticket;
} Push;

typedef struct Connection
{
	int			socket;
	Watch		watch;
	Ring	   *ring;
	KeyShape	shape;
	DeviceAlgorithm algorithm;
	Owner		owner;
	bool		long_lived;
	uint32_t	longest_key;	/* in words */
	bool		was_sorted;		/* all of the order has been sent */
	uint64_t	nrows;			/* pushed so far */
	uint64_t	nwords;
	bool		in_place;		/* only memory for a sort in place is reserved */

	Part		parts[MAX_PARTS];
	int			nparts;			/* that have memory */
	int			part;			/* the one that rows go to */

	uint64_t	chunks_taken;	/* of keys */
	Push	   *pushes;			/* those under way; a queue */
	uint32_t	first_push;
	uint32_t	npushes;

	/* chunks of the order, counted through all of it */
	uint64_t	sent;
	uint64_t	taken;			/* of them, those that came back */
	bool		gives_way;		/* what it has to others */
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

/*
 * Waits until the socket is ready for these events of poll().  False if the job
 * is to give way to others, of which the client has not been told.
 */
static bool
wait_for_client(Connection *connection, short events)
{
	const bool	has[SCARCE_COUNT] = {
		[SCARCE_DEVICE_MEMORY] = connection->nparts > 0,
		/* what the client may be reading cannot be taken away */
		[SCARCE_STAGING] = connection->ring != NULL &&
			connection->sent == connection->taken
	};
	Waited		waited;

	watch_wait(&connection->watch);
	waited = shortage_wait(connection->socket, events, has);
	watch_go_on(&connection->watch, connection->nrows);
	return waited == WAITED_READY;
}

static bool
send_message(Connection *connection, const Message *message)
{
	ssize_t		sent;

	for (;;)
	{
		sent = send(connection->socket, message, sizeof(Message),
					MSG_NOSIGNAL | MSG_DONTWAIT);
		watch_go_on(&connection->watch, connection->nrows);
		if (sent >= 0 || (errno != EINTR && errno != EAGAIN))
			return sent == sizeof(Message);
		if (errno == EAGAIN && !wait_for_client(connection, POLLOUT))
			return false;
	}
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
 * The same for an error of the engine, for which the device of this part is to
 * blame unless the client is gone: then the job may have been given up.  Where
 * a job of several parts could go will be found out when it begins anew.  That
 * others have taken the memory of a device is no fault of it.
 */
static bool
fail(Connection *connection, int part, MessageKind kind,
	 const DeviceError *error)
{
	const Reservation *reservation = &connection->parts[part].reservation;
	FailureCause cause = FAILURE_FAULT;

	if (client_is_gone(connection))
		return false;
	if (error->is_full)
	{
		cause = FAILURE_FULL;
		devices_note_full(reservation);
	}
	else if (!engine->is_lost())
	{
		if (devices_other_has(reservation, connection->nparts == 1 ?
							  reservation->bytes : 0))
			cause = FAILURE_ELSEWHERE;
		devices_blame(reservation, error->text);
	}
	return refuse(connection, kind, cause, "%.*s", MESSAGE_TEXT_SIZE - 1,
				  error->text);
}

/* Why a job fails by an error for which no device is to blame. */
static FailureCause
cause_of(const DeviceError *error)
{
	return error->is_full ? FAILURE_FULL : FAILURE_FAULT;
}

/* The same for a merge, which may have failed without a device. */
static bool
fail_merge(Connection *connection, const MergeFailure *failure)
{
	if (failure->part >= 0)
		return fail(connection, failure->part, MSG_FAILED, &failure->error);
	return refuse(connection, MSG_FAILED, cause_of(&failure->error), "%.*s",
				  MESSAGE_TEXT_SIZE - 1, failure->error.text);
}

/* The same for a job whose role has what it may have. */
static bool
refuse_for_role(Connection *connection, MessageKind kind)
{
	return refuse(connection, kind, FAILURE_FULL,
				  "the sort would exceed the device memory that its role may use (gpusort.device_memory_limit)");
}

/* The same for a client that does not keep to the protocol. */
static bool
fail_unexpected(Connection *connection)
{
	/* it may have written to the ring when that was not its own */
	connection->was_sorted = false;
	return refuse(connection, MSG_FAILED, FAILURE_FAULT,
				  "gpusortd received an unexpected message");
}

typedef enum Received
{
	RECEIVED,
	NOTHING_YET,				/* only if not to wait */
	CLIENT_GONE,
	TO_GIVE_WAY					/* nothing has come, and others wait */
} Received;

static Received
try_receive_message(Connection *connection, Message *message)
{
	ssize_t		length;

	do
		length = recv(connection->socket, message, sizeof(Message),
					  MSG_TRUNC | MSG_DONTWAIT);
	while (length < 0 && errno == EINTR);
	watch_go_on(&connection->watch, connection->nrows);
	if (length < 0 && errno == EAGAIN)
		return NOTHING_YET;
	if (length <= 0)
		return CLIENT_GONE;
	if (length != sizeof(Message))
		message->kind = 0;		/* of no kind that is expected */
	return RECEIVED;
}

static Received
receive_message(Connection *connection, Message *message, bool wait)
{
	Received	received;

	while ((received = try_receive_message(connection, message)) ==
		   NOTHING_YET && wait)
	{
		if (!wait_for_client(connection, POLLIN))
			return TO_GIVE_WAY;
	}
	return received;
}

/* Receives a message, or waits for so long; false if none comes. */
static bool
receive_within(Connection *connection, Message *message,
			   uint64_t milliseconds)
{
	uint64_t	deadline = microseconds_now() + milliseconds * 1000;
	struct pollfd events = {.fd = connection->socket, .events = POLLIN};
	Received	received;
	uint64_t	now;

	while ((received = try_receive_message(connection, message)) ==
		   NOTHING_YET)
	{
		now = microseconds_now();
		if (now >= deadline)
			return false;
		(void) poll(&events, 1, (int) ((deadline - now) / 1000) + 1);
	}
	return received == RECEIVED;
}

/* The job ends because its client is idle and others wait. */
static bool
give_way(Connection *connection)
{
	connection->gives_way = true;
	return refuse(connection, MSG_FAILED, FAILURE_FULL,
				  "the sort was idle while others waited for what it had");
}

/*
 * The oldest push under way is waited for, and its chunk given back.
 */
static bool
finish_push(Connection *connection)
{
	Push	   *push = &connection->pushes[connection->first_push];
	Message		message = {.kind = MSG_KEYS_TAKEN};
	DeviceError error = {.is_full = false};

	if (!engine->wait_pushed(connection->parts[push->part].job, push->ticket,
							 &error))
		return fail(connection, push->part, MSG_FAILED, &error);
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
			case TO_GIVE_WAY:
				return give_way(connection);
			case NOTHING_YET:
				if (!finish_push(connection))
					return false;
				break;
		}
	}
}

/*
 * Bytes that a job needs on a device that is to have so many keys of it: when
 * it sorts, and, if they are not all, when they are merged.
 */
static uint64_t
memory_needed(const Connection *connection, uint64_t nrows, uint64_t nwords)
{
	uint64_t	to_sort;
	uint64_t	to_merge;

	if (!connection->in_place)
		return engine->job_memory(&connection->shape, nrows, nwords);
	to_sort = engine->job_memory_in_place(&connection->shape, nrows, nwords);
	to_merge = engine->job_memory_kept(&connection->shape, nrows, nwords);
	return to_sort > to_merge ? to_sort : to_merge;
}

/* May the job have so much memory of a device, if there is so much? */
static bool
may_have(const Connection *connection, uint64_t bytes)
{
	return !connection->long_lived ||
		devices_could_have((Demand) {.bytes = bytes * LONG_LIVED_PART});
}

/* Makes sure that so much memory is reserved, which is more than there is. */
static bool
reserve(Reservation *reservation, uint64_t needed)
{
	uint64_t	more = needed - reservation->bytes;

	/* some more than needed, so as not to ask with every chunk */
	return devices_grow(reservation, more + needed / 8) ||
		devices_grow(reservation, more);
}

/* What a part needs for its keys and so many more. */
static uint64_t
memory_for_keys(const Connection *connection, const Part *part, uint64_t nrows,
				uint64_t nwords)
{
	return memory_needed(connection, part->nrows + nrows,
						 part->nwords + nwords);
}

/* Makes sure that a part has enough memory for them. */
static bool
reserve_for_keys(Connection *connection, Part *part, uint64_t nrows,
				 uint64_t nwords)
{
	uint64_t	needed = memory_for_keys(connection, part, nrows, nwords);

	return needed <= part->reservation.bytes ||
		(may_have(connection, needed) && reserve(&part->reservation, needed));
}

/*
 * Makes a job of the engine for the part that rows go to from now on.  False if
 * it has told the client that it cannot.
 */
static bool
begin_part(Connection *connection, MessageKind if_failed)
{
	Part	   *part = &connection->parts[connection->part];
	DeviceAlgorithm algorithm = connection->algorithm;
	DeviceError error = {.is_full = false};

	part->first_row = connection->nrows;
	part->first_word = connection->nwords;
	/* to sort batches while keys come takes memory that is not reserved then */
	if (connection->in_place && algorithm == DEVICE_SORT_MERGE)
		algorithm = DEVICE_SORT_AUTO;
	part->job = engine->begin(part->reservation.device, &connection->shape,
							  algorithm, client_is_gone, connection, &error);
	return part->job != NULL ||
		fail(connection, connection->part, if_failed, &error);
}

/*
 * Gets another part for the job, with memory for so many keys.  False if there
 * is none.
 */
static bool
add_part(Connection *connection, uint64_t nrows, uint64_t nwords)
{
	Reservation reservations[MAX_PARTS];
	int			count = connection->nparts;

	for (int i = 0; i < count; i++)
		reservations[i] = connection->parts[i].reservation;
	if (count == MAX_PARTS || connection->long_lived ||
		!devices_add(connection->owner, reservations, count,
					 memory_needed(connection, nrows, nwords),
					 &connection->parts[count].reservation))
		return false;
	connection->nparts++;
	return true;
}

/*
 * When there is no memory for more keys: may there be some after idle jobs have
 * given way?  They are of no use to a job whose role may not have more.  If not
 * the client has been told.
 */
static bool
may_find_room(Connection *connection, const Part *part, uint64_t nrows,
			  uint64_t nwords)
{
	uint64_t	more = memory_for_keys(connection, part, nrows, nwords) -
		part->reservation.bytes;

	if (!devices_may_have(connection->owner, more))
		return refuse_for_role(connection, MSG_FAILED);
	return devices_have_idle_give_way() ||
		refuse(connection, MSG_FAILED, FAILURE_FULL,
			   "device memory is full, it is in use by other sorts");
}

/*
 * Makes sure that the part that rows go to has enough memory for these keys
 * too: to sort them in place, if there is no more; or goes on to another part.
 */
static bool
find_room(Connection *connection, uint64_t nrows, uint64_t nwords)
{
	Part	   *part = &connection->parts[connection->part];

	if (reserve_for_keys(connection, part, nrows, nwords))
		return true;
	connection->in_place = true;
	while (!reserve_for_keys(connection, part, nrows, nwords))
	{
		/* what it has must do for keys that it has to keep */
		if ((part->nrows > 0 && !reserve_for_keys(connection, part, 0, 0)) ||
			!add_part(connection, nrows, nwords))
		{
			if (!may_find_room(connection, part, nrows, nwords))
				return false;
			continue;
		}
		connection->part++;
		if (!begin_part(connection, MSG_FAILED))
			return false;
		part++;
	}
	return true;
}

/*
 * Copies the ends of a chunk's keys, unless they are not what key_format.h says
 * they are.  The client can write to the ring at any time, so each is read
 * once, and only the copy is used.  Notes the longest key.
 */
static bool
copy_ends(Connection *connection, const volatile uint64_t *ends,
		  uint32_t nrows, uint64_t nwords, uint64_t *copy)
{
	uint64_t	previous = connection->nwords;

	for (uint32_t row = 0; row < nrows; row++)
	{
		uint64_t	end = ends[row];
		uint64_t	key_words = end - previous;

		/* in this form it also catches what is not ascending */
		if (key_words - 1 >= KEY_MAX_WORDS)
			return false;
		if (key_words > connection->longest_key)
			connection->longest_key = (uint32_t) key_words;
		copy[row] = end;
		previous = end;
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

/* Begins the copy of a chunk's keys to the part that rows go to. */
static bool
push_keys(Connection *connection, uint32_t chunk, const uint64_t *words,
		  uint64_t nwords, uint64_t *ends, uint32_t nrows)
{
	Part	   *part = &connection->parts[connection->part];
	Push	   *push = &connection->pushes[(connection->first_push +
											connection->npushes) %
										   connection->ring->nchunks];
	DeviceError error = {.is_full = false};

	/* the engine counts from the first key of the part */
	if (ends != NULL && part->first_word > 0)
	{
		for (uint32_t row = 0; row < nrows; row++)
			ends[row] -= part->first_word;
	}
	if (!engine->push(part->job, words, nwords, ends, nrows, &push->ticket,
					  &error))
		return fail(connection, connection->part, MSG_FAILED, &error);
	push->chunk = chunk;
	push->part = connection->part;
	connection->npushes++;
	connection->chunks_taken++;
	part->nrows += nrows;
	part->nwords += nwords;
	connection->nrows += nrows;
	connection->nwords += nwords;
	return true;
}

/*
 * Memory for the ends of a chunk's keys that no push under way reads from; NULL
 * if there is none, which the client has been told.
 */
static uint64_t *
room_for_ends(Connection *connection)
{
	DeviceError error = {.is_full = false};
	uint64_t   *all = ring_ends(connection->ring, &error);

	if (all == NULL)
	{
		(void) refuse(connection, MSG_FAILED, cause_of(&error), "%.*s",
					  MESSAGE_TEXT_SIZE - 1, error.text);
		return NULL;
	}
	while (connection->npushes >= RING_ENDS)
	{
		if (!finish_push(connection))
			return NULL;
	}
	return all + (connection->chunks_taken % RING_ENDS) * CHUNK_VARIABLE_ROWS;
}

/*
 * Takes the ends of a chunk's keys: a copy of them, or NULL if they are not
 * right or there is no room for them, which the client has been told.
 */
static uint64_t *
take_ends(Connection *connection, const uint64_t *in_ring, uint32_t nrows,
		  uint64_t nwords)
{
	uint64_t   *ends;

	if (nrows > CHUNK_VARIABLE_ROWS)
	{
		(void) fail_unexpected(connection);
		return NULL;
	}
	ends = room_for_ends(connection);
	if (ends != NULL && !copy_ends(connection, in_ring, nrows, nwords, ends))
	{
		(void) fail_unexpected(connection);
		return NULL;
	}
	return ends;
}

/* MSG_KEYS: takes a chunk of keys. */
static bool
take_keys(Connection *connection, const Message *message)
{
	uint32_t	chunk = message->u.keys.chunk;
	uint32_t	nrows = message->u.keys.nrows;
	uint64_t	nwords = message->u.keys.nwords;
	uint64_t	ends_words = 0;
	const uint64_t *in_ring;
	uint64_t   *ends = NULL;

	if (chunk >= connection->ring->nchunks || nrows == 0 ||
		is_under_way(connection, chunk))
		return fail_unexpected(connection);
	if (nrows > SORT_MAX_ROWS - connection->nrows)
		return refuse(connection, MSG_FAILED, FAILURE_FULL,
					  "too many rows for one sort");

	in_ring = (uint64_t *) (connection->ring->memory +
							(size_t) chunk * CHUNK_BYTES);
	if (connection->shape.fixed_words == 0)
		ends_words = CHUNK_VARIABLE_ROWS;
	if (nwords > CHUNK_BYTES / sizeof(uint64_t) - ends_words)
		return fail_unexpected(connection);
	ring_note_use(connection->ring, chunk,
				  (uint32_t) ((ends_words + nwords) * sizeof(uint64_t)));
	if (connection->shape.fixed_words != 0)
	{
		if (nwords != (uint64_t) nrows * connection->shape.fixed_words)
			return fail_unexpected(connection);
	}
	else
	{
		ends = take_ends(connection, in_ring, nrows, nwords);
		if (ends == NULL)
			return false;
	}
	return find_room(connection, nrows, nwords) &&
		push_keys(connection, chunk, in_ring + ends_words, nwords, ends,
				  nrows);
}

/*
 * MSG_ORDER_TAKEN: takes back a chunk of the order.  The client gives them back
 * one after another.
 */
static bool
take_back_chunk(Connection *connection, const Message *message)
{
	if (message->kind != MSG_ORDER_TAKEN ||
		connection->taken == connection->sent ||
		message->u.order.chunk != connection->taken %
		connection->ring->nchunks)
		return fail_unexpected(connection);
	connection->taken++;
	return true;
}

/* Waits until some chunk of the ring is not the client's. */
static bool
await_chunk(Connection *connection)
{
	Message		message;

	if (connection->sent - connection->taken < connection->ring->nchunks)
		return true;
	switch (receive_message(connection, &message, true))
	{
		case RECEIVED:
			return take_back_chunk(connection, &message);
		case TO_GIVE_WAY:
			return give_way(connection);
		default:
			return false;
	}
}

/*
 * Begins to merge the parts.  NULL if that fails, which the client has been
 * told.
 */
static Merge *
begin_merge(Connection *connection)
{
	MergePart	parts[MAX_PARTS];
	MergeFailure failure = {.part = 0};
	Merge	   *merge;

	for (int i = 0; i < connection->nparts; i++)
	{
		parts[i].job = connection->parts[i].job;
		parts[i].nrows = connection->parts[i].nrows;
		parts[i].first_row = connection->parts[i].first_row;
	}
	merge = merge_begin(engine, parts, connection->nparts,
						connection->longest_key, connection->shape.mark_ties,
						&failure);
	if (merge == NULL)
		(void) fail_merge(connection, &failure);
	return merge;
}

/*
 * Gets a part of the order, from the merge if there is one.  False if that
 * fails, which the client has been told.
 */
static bool
pull_order(Connection *connection, Merge *merge, uint64_t first,
		   uint32_t count, uint32_t *order)
{
	MergeFailure failure = {.part = 0};

	if (merge != NULL)
		return merge_next(merge, count, order, &failure) ||
			fail_merge(connection, &failure);
	return engine->pull(connection->parts[0].job, first, count, order,
						&failure.error) ||
		fail(connection, 0, MSG_FAILED, &failure.error);
}

/* Sends the order through the ring. */
static bool
send_order(Connection *connection, Merge *merge)
{
	const uint32_t chunk_entries = CHUNK_BYTES / sizeof(uint32_t);

	for (uint64_t first = 0; first < connection->nrows; first += chunk_entries)
	{
		Message		message = {.kind = MSG_ORDER};
		uint64_t	left = connection->nrows - first;
		uint32_t	chunk = connection->sent % connection->ring->nchunks;

		if (!await_chunk(connection))
			return false;
		message.u.order.chunk = chunk;
		message.u.order.count = left < chunk_entries ? left : chunk_entries;
		ring_note_use(connection->ring, chunk,
					  (uint32_t) (message.u.order.count * sizeof(uint32_t)));
		if (!pull_order(connection, merge, first, message.u.order.count,
						(uint32_t *) (connection->ring->memory +
									  (size_t) chunk * CHUNK_BYTES)) ||
			!send_message(connection, &message))
			return false;
		connection->sent++;
	}
	return true;
}

/* Merges the parts, and sends the order. */
static bool
send_merged_order(Connection *connection)
{
	Merge	   *merge = begin_merge(connection);
	bool		sent = merge != NULL && send_order(connection, merge);

	merge_end(merge);
	return sent;
}

/* Leaves out parts that got no rows, but for one if none has any. */
static void
drop_empty_parts(Connection *connection)
{
	int			kept = 0;

	for (int i = 0; i < connection->nparts; i++)
	{
		Part	   *part = &connection->parts[i];

		if (part->nrows > 0 || (i == 0 && connection->nrows == 0))
			connection->parts[kept++] = *part;
		else
		{
			engine->end(part->job);
			devices_release(&part->reservation);
		}
	}
	connection->nparts = kept;
}

/* Sorts a part; allowed in a thread of its own. */
static void *
sort_part(void *argument)
{
	Part	   *part = argument;

	devices_begin_sort(&part->reservation);
	part->is_sorted = engine->run(part->job, part->reservation.bytes,
								  &part->error);
	devices_end_sort(&part->reservation, part->is_sorted);
	return NULL;
}

/* Sorts all parts, at the same time if there can be threads for them. */
static bool
sort_parts(Connection *connection)
{
	pthread_t	threads[MAX_PARTS];
	bool		is_running[MAX_PARTS];

	for (int i = 1; i < connection->nparts; i++)
		is_running[i] = start_thread(&threads[i], sort_part,
									 &connection->parts[i]);
	(void) sort_part(&connection->parts[0]);
	for (int i = 1; i < connection->nparts; i++)
	{
		if (is_running[i])
			pthread_join(threads[i], NULL);
		else
			(void) sort_part(&connection->parts[i]);
	}
	for (int i = 0; i < connection->nparts; i++)
	{
		Part	   *part = &connection->parts[i];

		if (!part->is_sorted)
			return fail(connection, i, MSG_FAILED, &part->error);
	}
	return true;
}

/* Gives back the memory that parts that have sorted need no more. */
static void
shrink_parts(Connection *connection)
{
	for (int i = 0; i < connection->nparts; i++)
	{
		Part	   *part = &connection->parts[i];
		uint64_t	kept = connection->nparts == 1 ?
			part->nrows * sizeof(uint32_t) :
			engine->job_memory_kept(&connection->shape, part->nrows,
									part->nwords);

		if (kept < part->reservation.bytes)
			devices_shrink(&part->reservation, kept);
	}
}

/* Says which devices have sorted. */
static void
name_devices(const Connection *connection, char *names, size_t size)
{
	size_t		length = 0;

	for (int i = 0; i < connection->nparts && length < size; i++)
	{
		if (i > 0)
			length += snprintf(names + length, size - length, " and ");
		if (length < size)
			length += devices_name_one(connection->parts[i].reservation.device,
									   names + length, size - length);
	}
}

/* Says how it was sorted; mostly all parts in the same way. */
static void
name_methods(const Connection *connection, char *names, size_t size)
{
	const char *method = engine->method(connection->parts[0].job);
	size_t		length = snprintf(names, size, "%s", method);

	for (int i = 1; i < connection->nparts && length < size; i++)
	{
		const char *next = engine->method(connection->parts[i].job);

		if (strcmp(next, method) != 0)
			length += snprintf(names + length, size - length, " and %s", next);
		method = next;
	}
	if (connection->nparts > 1 && length < size)
		snprintf(names + length, size - length, ", %d parts merged",
				 connection->nparts);
}

/*
 * Reserves what it takes not to sort in place, if there is so much now: fewer
 * keys may have come than expected, or others may have gone.
 */
static void
reserve_to_sort(Connection *connection)
{
	if (connection->algorithm == DEVICE_SORT_BITONIC)
		return;
	for (int i = 0; i < connection->nparts; i++)
	{
		Part	   *part = &connection->parts[i];
		uint64_t	needed = engine->job_memory(&connection->shape,
												part->nrows, part->nwords);

		if (needed > part->reservation.bytes && may_have(connection, needed))
			(void) devices_grow(&part->reservation,
								needed - part->reservation.bytes);
	}
}

/* MSG_RUN: sorts and sends the order. */
static bool
run_job(Connection *connection, const Message *message)
{
	Message		answer = {.kind = MSG_SORTED};
	uint64_t	start;

	if (message->u.run.nrows != connection->nrows)
		return fail_unexpected(connection);
	while (connection->npushes > 0)
	{
		if (!finish_push(connection))
			return false;
	}

	drop_empty_parts(connection);
	for (int i = 0; i < connection->nparts && connection->nparts > 1; i++)
		engine->keep_keys(connection->parts[i].job);
	reserve_to_sort(connection);
	start = microseconds_now();
	if (!sort_parts(connection))
		return false;
	answer.u.sorted.sort_microseconds = microseconds_now() - start;
	name_devices(connection, answer.u.sorted.device,
				 sizeof(answer.u.sorted.device));
	name_methods(connection, answer.u.sorted.method,
				 sizeof(answer.u.sorted.method));
	shrink_parts(connection);
	connection->was_sorted = send_message(connection, &answer) &&
		(connection->nparts == 1 ? send_order(connection, NULL) :
		 send_merged_order(connection));
	return connection->was_sorted;
}

/*
 * Sends MSG_WELCOME, and the ring's descriptor along with it if it is new to
 * the client.
 */
static bool
send_welcome(Connection *connection, bool with_ring)
{
	Message		message = {.kind = MSG_WELCOME};
	int			descriptor;
	bool		sent;
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
	if (!with_ring)
		return send_message(connection, &message);
	descriptor = ring_open(connection->ring);
	if (descriptor < 0)
		return refuse(connection, MSG_REFUSED, FAILURE_FAULT,
					  "could not open the staging memory: %s",
					  strerror(errno));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
	sent = sendmsg(connection->socket, &envelope,
				   MSG_NOSIGNAL) == sizeof(message);
	close(descriptor);
	return sent;
}

/* Could it be met if there was no other job, neither of its role? */
static bool
is_possible_for(const Connection *connection, Demand demand)
{
	return demand.bytes <= connection->owner.limit &&
		devices_could_have(demand);
}

/*
 * May the job begin, if it is as large as expected?  It sorts in place if there
 * is no device for anything else.  A part takes some memory by itself, and at
 * its end there may be too little left for a chunk.  If it may not the client
 * has been told.
 */
static bool
is_possible(Connection *connection, uint64_t nrows, uint64_t key_words)
{
	const uint64_t chunk_words = CHUNK_BYTES / sizeof(uint64_t);
	Demand		demand = {.for_part = 0};

	connection->in_place = connection->algorithm == DEVICE_SORT_BITONIC;
	demand.bytes = memory_needed(connection, nrows, nrows * key_words);
	if (connection->long_lived)
		return may_have(connection, demand.bytes) ||
			refuse(connection, MSG_REFUSED, FAILURE_FULL,
				   "there is too little device memory for a job that lasts");
	if (is_possible_for(connection, demand))
		return true;
	connection->in_place = true;
	demand.bytes = memory_needed(connection, nrows, nrows * key_words);
	demand.for_part = memory_needed(connection, chunk_words / key_words,
									chunk_words);
	if (demand.bytes > connection->owner.limit)
		return refuse_for_role(connection, MSG_REFUSED);
	return devices_could_have(demand) ||
		refuse(connection, MSG_REFUSED, FAILURE_FULL,
			   "the sort is expected to need %llu MB of device memory, more than there is",
			   (unsigned long long) demand.bytes >> 20);
}

/*
 * Gets the job memory for its first keys, for which it may have to wait.  More
 * is reserved as they come, whatever is expected.
 */
static bool
get_memory(Connection *connection, uint64_t nrows, uint64_t key_words)
{
	const uint64_t chunk_rows = CHUNK_BYTES / sizeof(uint64_t) / key_words;
	Message		queued = {.kind = MSG_QUEUED};
	Reservation *reservation = &connection->parts[0].reservation;
	uint64_t	bytes;
	bool		has_come;

	if (nrows > chunk_rows)
		nrows = chunk_rows;
	bytes = memory_needed(connection, nrows, nrows * key_words);
	if (!devices_may_have(connection->owner, bytes))
		return refuse_for_role(connection, MSG_REFUSED);
	if (!devices_reserve(connection->owner, bytes, reservation))
	{
		if (connection->long_lived)
			return refuse(connection, MSG_REFUSED, FAILURE_FULL,
						  "there is too little device memory for a job that lasts");
		if (!send_message(connection, &queued))
			return false;
		watch_wait(&connection->watch);
		has_come = devices_wait(connection->owner, bytes, client_is_gone,
								connection, reservation);
		watch_go_on(&connection->watch, 0);
		if (!has_come)
			return refuse(connection, MSG_REFUSED, FAILURE_FULL,
						  "there is no device any longer that has memory for the sort");
	}
	connection->nparts = 1;
	return true;
}

/*
 * Takes a ring.  False if there is none, which the client has been told.
 */
static bool
get_ring(Connection *connection)
{
	DeviceError error = {.is_full = false};
	FailureCause cause;

	connection->ring = ring_take(&cause, &error);
	if (connection->ring == NULL)
		return refuse(connection, MSG_REFUSED,
					  error.is_full ? FAILURE_FULL : cause, "%.*s",
					  MESSAGE_TEXT_SIZE - 1, error.text);
	connection->pushes = calloc(connection->ring->nchunks, sizeof(Push));
	return connection->pushes != NULL ||
		refuse(connection, MSG_REFUSED, FAILURE_FAULT,
			   "gpusortd is out of memory");
}

/* Gets all that the job needs: memory, a ring, a job of the engine. */
static bool
begin_job(Connection *connection, uint64_t expected_rows)
{
	bool		is_first = connection->ring == NULL;
	uint64_t	key_words = connection->shape.fixed_words;

	if (key_words == 0)
		key_words = GUESSED_WORDS;
	if (expected_rows > SORT_MAX_ROWS)
		expected_rows = SORT_MAX_ROWS;
	return is_possible(connection, expected_rows, key_words) &&
		get_memory(connection, expected_rows, key_words) &&
		(!is_first || get_ring(connection)) &&
		begin_part(connection, MSG_REFUSED) &&
		send_welcome(connection, is_first);
}

/* Frees all that the job has; the ring stays. */
static void
end_job(Connection *connection)
{
	/* ends copies from and to the ring */
	for (int i = 0; i < connection->nparts; i++)
	{
		engine->end(connection->parts[i].job);
		devices_release(&connection->parts[i].reservation);
		connection->parts[i] = (Part) {.job = NULL};
	}
	connection->nparts = 0;
	connection->part = 0;
	connection->nrows = 0;
	connection->nwords = 0;
	connection->in_place = false;
	connection->chunks_taken = 0;
	connection->first_push = 0;
	connection->npushes = 0;
}

/*
 * When the order has been sent: waits for what comes next; false at the end.  A
 * client whose ring others wait for needs no reason: it has no job.
 */
static bool
next_job(Connection *connection, Message *message)
{
	for (;;)
	{
		Received	received = receive_message(connection, message, true);

		if (received != RECEIVED)
		{
			connection->gives_way = received == TO_GIVE_WAY;
			return false;
		}
		if (message->kind == MSG_HELLO)
		{
			connection->was_sorted = false;
			connection->sent = 0;
			connection->taken = 0;
			return true;
		}
		if (!take_back_chunk(connection, message))
			return false;
	}
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
	connection->longest_key = connection->shape.fixed_words;
	connection->algorithm = hello->u.hello.algorithm;
	connection->owner = (Owner) {
		.role = hello->u.hello.role,
		.limit = hello->u.hello.role_limit
	};
	connection->long_lived = hello->u.hello.long_lived != 0;
	if (!begin_job(connection, hello->u.hello.expected_rows))
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

/* Serves one job after another. */
static void
serve_jobs(Connection *connection, Message *hello)
{
	while (serve_job(connection, hello))
	{
		end_job(connection);
		if (!next_job(connection, hello))
			break;
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
	uint64_t	deadline = microseconds_now() + HANG_UP_MILLISECONDS * 1000;
	uint64_t	now;
	Message		message;

	while ((now = microseconds_now()) < deadline &&
		   receive_within(connection, &message, (deadline - now) / 1000 + 1))
		;
}

/*
 * Notes that there may be keys anywhere in the ring, of which nothing has been
 * heard, unless the job came to its end.
 */
static void
note_unannounced_keys(Connection *connection)
{
	if (connection->ring == NULL || connection->was_sorted)
		return;
	for (uint32_t chunk = 0; chunk < connection->ring->nchunks; chunk++)
		ring_note_use(connection->ring, chunk, CHUNK_BYTES);
}

/*
 * Frees all that the connection has, whatever it got to.  What others wait for
 * is free before the client knows.
 */
static void
close_connection(Connection *connection)
{
	bool		is_read = connection->sent != connection->taken;

	note_unannounced_keys(connection);
	end_job(connection);
	free(connection->pushes);
	if (connection->ring != NULL && connection->gives_way)
	{
		ring_give_back(connection->ring, is_read);
		connection->ring = NULL;
	}
	if (!client_is_gone(connection))
		wait_until_client_is_gone(connection);
	if (connection->ring != NULL)
		ring_give_back(connection->ring, is_read);
	close(connection->socket);
	watch_end(&connection->watch);
}

void
connection_serve(int socket)
{
	Connection	connection = {.socket = socket};
	Message		message;

	watch_begin(&connection.watch);
	if (receive_within(&connection, &message, GREETING_MILLISECONDS))
	{
		if (message.kind == MSG_HELLO)
			serve_jobs(&connection, &message);
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
