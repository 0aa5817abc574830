/*-------------------------------------------------------------------------
 *
 * device_client.c
 *	  A backend's side of the conversation with gpusortd.
 *
 * The socket never blocks.  The backend first tries to send or receive a
 * message at once.  If it cannot, it waits on its latch and the socket
 * together, as libpqwalreceiver and postgres_fdw do.
 *
 * No wait is for ever.  When no message has come for half a second, the
 * backend asks the launcher to see whether gpusortd answers.  If gpusortd does
 * not answer, the launcher kills it, which ends the wait.  If the launcher is
 * stopped as well, or only the job's thread hangs, the wait ends by itself
 * after some time.  A statement loses this time only once: afterwards it does
 * not ask gpusortd again.
 *
 * The backend believes nothing that arrives.  It checks chunk numbers, counts
 * and row numbers before it uses them, so that whatever a device or gpusortd
 * does costs at most this job.  The contents of the ring may change at any
 * time, so they are copied before they are checked.  The ring must not become
 * shorter, since access behind its end would raise a signal.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#include "common/host_sort.h"
#include "device/device_client.h"
#include "device/launcher.h"
#include "device/order_sums.h"
#include "port/compat.h"
#include "port/timing.h"
#include "settings.h"
#include "shared_state.h"

/* How much longer a query may wait than the launcher should take to react. */
#define FURTHER_MILLISECONDS	1000

/*
 * Only longer waits count: on a busy machine gpusortd may take this long.
 */
#define SHORT_MILLISECONDS		50

/* Entries of the order that are checked while the cache has them. */
#define CACHED_ENTRIES			1024

/*
 * The time that the current statement has lost by waiting for gpusortd.
 * Parallel workers have the start of the statement from their leader.
 */
typedef struct Losses
{
	TimestampTz statement;		/* start of the statement */
	uint64		milliseconds;
	bool		is_enough;		/* gpusortd is not asked again */
} Losses;

static Losses losses;

/* A wait, for any number of interruptions; times as milliseconds_now(). */
typedef struct Wait
{
	uint64		start;
	uint64		limit;			/* longest time that the wait may last */
	uint64		same_here;		/* time that this process would take instead */
	bool		launcher_is_asked;
} Wait;

struct DeviceClient
{
	MemoryContext context;		/* context of this client */
	MemoryContextCallback on_reset; /* closes everything below */
	DeviceFailure failure;		/* failure; without a reason there is none */
	bool		is_told;		/* gpusortd itself has reported the failure */
	KeyShape	shape;
	char		device[MESSAGE_TEXT_SIZE];
	char		method[MESSAGE_TEXT_SIZE];

	int			socket;			/* -1 when closed */
	bool		is_brief;		/* the connection has no job */
	bool		long_lived;		/* the job is never queued */
	bool		is_queued;
	bool		is_counted;		/* the job counts among those under way */
	char	   *ring;			/* NULL before MSG_WELCOME */
	uint32		nchunks;
	uint32		chunk;			/* chunk that is being filled */
	bool	   *chunk_is_ours;

	/* while the order is received */
	uint64		nrows;			/* rows of the order */
	uint64		nordered;		/* entries of the order that have come */
	OrderSums	sums;			/* of these entries' rows */
};

/*
 * Notes why the client cannot go on.  Returns false, so that callers can
 * return that.
 */
static bool
fail(DeviceClient *client, const char *failure)
{
	client->failure.reason = MemoryContextStrdup(client->context, failure);
	return false;
}

static bool
fail_with_errno(DeviceClient *client, const char *what)
{
	client->failure.reason = MemoryContextStrdup(client->context,
												 psprintf("%s: %m", what));
	return false;
}

static bool
fail_unexpected(DeviceClient *client)
{
	return fail(client, "gpusortd sent an unexpected message");
}

/* Counts the client's job among those under way, or no longer. */
static void
count_job(DeviceClient *client, bool is_under_way)
{
	if (is_under_way && !client->is_counted)
		shared_begin_device_job();
	else if (!is_under_way && client->is_counted)
		shared_end_device_job();
	client->is_counted = is_under_way;
}

/* Memory context callback: ends the job, however its context is deleted. */
static void
close_connection(void *argument)
{
	DeviceClient *client = argument;

	count_job(client, false);
	if (client->ring != NULL)
		munmap(client->ring, (Size) client->nchunks * CHUNK_BYTES);
	client->ring = NULL;
	if (client->socket >= 0)
	{
		close(client->socket);
		ReleaseExternalFD();
	}
	client->socket = -1;
}

/* Returns what the current statement has lost so far. */
static Losses *
current_losses(void)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	if (losses.statement != statement)
	{
		memset(&losses, 0, sizeof(losses));
		losses.statement = statement;
	}
	return &losses;
}

/* Returns the most that a statement may lose, in milliseconds. */
static uint64
may_be_lost(void)
{
	if (gpusort_daemon_timeout == 0)
		return PG_UINT64_MAX;
	return gpusort_daemon_timeout + FURTHER_MILLISECONDS;
}

/*
 * Begins a wait.  The wait may last as long as this process would take for the
 * same work, or as long as the statement may still lose, whichever is longer.
 */
static Wait
begin_wait(const DeviceClient *client, uint64 same_here)
{
	uint64		lost = current_losses()->milliseconds;
	Wait		wait = {.start = milliseconds_now(),.same_here = same_here};

	wait.limit = Max(same_here, may_be_lost() - Min(may_be_lost(), lost));
	if (client->is_brief)
		wait.limit = may_be_lost() / 2;
	return wait;
}

/*
 * Waits until the socket is ready for this event, an interrupt is served, or
 * the launcher is to be asked.  False if the wait has lasted as long as it
 * may.
 */
static bool
wait_for_socket(DeviceClient *client, Wait *wait, int socket_event)
{
	static uint32 wait_event = 0;
	uint64		waited = milliseconds_now() - wait->start;
	uint64		rest;

	if (waited >= wait->limit)
		return false;
	if (waited >= QUIET_MILLISECONDS && !wait->launcher_is_asked)
	{
		shared_ask_launcher();
		wait->launcher_is_asked = true;
	}
	rest = wait->limit - waited;
	if (!wait->launcher_is_asked)
		rest = Min(rest, QUIET_MILLISECONDS - waited);

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortDevice");
	(void) WaitLatchOrSocket(MyLatch,
							 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT |
							 socket_event,
							 client->socket, Min(rest, INT_MAX), wait_event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return true;
}

/* Ends a wait, and counts the time that it has cost.  Returns has_come. */
static bool
end_wait(const Wait *wait, bool has_come)
{
	Losses	   *all = current_losses();
	uint64		waited = milliseconds_now() - wait->start;

	if (has_come)
		waited -= Min(waited, wait->same_here);
	if (waited >= SHORT_MILLISECONDS)
		all->milliseconds += waited;
	if (all->milliseconds >= may_be_lost() ||
		(!has_come && waited >= QUIET_MILLISECONDS))
		all->is_enough = true;
	return has_come;
}

/*
 * Gives up.  Other processes need not wait as long, unless earlier waits of
 * this statement have made this one short.
 */
static bool
fail_silent(DeviceClient *client, const Wait *wait)
{
	uint64		waited = milliseconds_now() - wait->start;

	if (waited >= QUIET_MILLISECONDS)
	{
		shared_note_silence();
		shared_ask_launcher();
	}
	waited += current_losses()->milliseconds;
	return fail(client,
				psprintf("gpusortd has kept the query waiting for " UINT64_FORMAT " ms",
						 waited));
}

/* Makes sure that the texts of a message end, whatever gpusortd has sent. */
static void
end_texts(Message *message)
{
	const int	last = MESSAGE_TEXT_SIZE - 1;

	switch (message->kind)
	{
		case MSG_REFUSED:
		case MSG_FAILED:
			message->u.failed.text[last] = '\0';
			break;
		case MSG_SORTED:
			message->u.sorted.device[last] = '\0';
			message->u.sorted.method[last] = '\0';
			break;
		case MSG_DEVICE:
			message->u.device.name[last] = '\0';
			message->u.device.uuid[last] = '\0';
			message->u.device.reason[last] = '\0';
			break;
		default:
			break;
	}
}

/*
 * Returns the descriptor passed along with a message, or -1, and closes all
 * further ones.
 */
static int
take_descriptor(struct msghdr *envelope)
{
	int			taken = -1;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(envelope); header != NULL;
		 header = CMSG_NXTHDR(envelope, header))
	{
		if (header->cmsg_level != SOL_SOCKET ||
			header->cmsg_type != SCM_RIGHTS)
			continue;
		for (Size at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len;
			 at += sizeof(int))
		{
			if (taken >= 0)
				close(taken);
			memcpy(&taken, (char *) header + at, sizeof(int));
		}
	}
	return taken;
}

/*
 * Receives a message if one has come, and sets *received to whether there was
 * one.  False if the connection is lost.  Stores a descriptor passed along
 * with MSG_WELCOME in *descriptor, which must be -1 before; "descriptor" is
 * NULL where none is expected.
 */
static bool
try_receive_message(DeviceClient *client, Message *message, int *descriptor,
					bool *received)
{
	union
	{
		struct cmsghdr header;
		char		space[CMSG_SPACE(sizeof(int))];
	}			control;
	struct iovec part = {message, sizeof(Message)};
	struct msghdr envelope = {0};
	ssize_t		length;
	int			passed;

	envelope.msg_iov = &part;
	envelope.msg_iovlen = 1;
	envelope.msg_control = control.space;
	envelope.msg_controllen = sizeof(control.space);

	*received = false;
	length = recvmsg(client->socket, &envelope,
					 MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (length < 0)
		return fail_with_errno(client, "could not receive from gpusortd");
	if (length == 0)
		return fail(client, "gpusortd closed the connection");

	passed = take_descriptor(&envelope);
	if (descriptor != NULL && length == sizeof(Message) &&
		message->kind == MSG_WELCOME)
		*descriptor = passed;
	else if (passed >= 0)
		close(passed);
	if (length != sizeof(Message))
		return fail(client, VERSIONS_DIFFER);
	end_texts(message);
	if (message->kind == MSG_FAILED || message->kind == MSG_REFUSED)
	{
		client->is_told = true;
		client->failure.cause = message->u.failed.cause;
		return fail(client, message->u.failed.text);
	}
	*received = true;
	return true;
}

/*
 * Notes why a message could not be sent.  If gpusortd has said why it closed the
 * connection, that is the reason.
 */
static bool
fail_to_send(DeviceClient *client)
{
	int			send_error = errno;
	bool		received = true;

	while (received)
	{
		Message		message;

		if (!try_receive_message(client, &message, NULL, &received) &&
			client->is_told)
			return false;
	}
	errno = send_error;
	return fail_with_errno(client, "could not send to gpusortd");
}

/*
 * Sends a message if that is possible now; results as of
 * try_receive_message().
 */
static bool
try_send_message(DeviceClient *client, const Message *message, bool *sent)
{
	ssize_t		length = send(client->socket, message, sizeof(Message),
							  MSG_DONTWAIT | MSG_NOSIGNAL);

	*sent = length == sizeof(Message);
	return *sent || (length < 0 && (errno == EAGAIN || errno == EINTR)) ||
		fail_to_send(client);
}

static bool
send_message(DeviceClient *client, const Message *message)
{
	Wait		wait = begin_wait(client, 0);
	bool		good;
	bool		sent;

	while ((good = try_send_message(client, message, &sent)) && !sent)
	{
		if (!wait_for_socket(client, &wait, WL_SOCKET_WRITEABLE))
		{
			good = fail_silent(client, &wait);
			break;
		}
	}
	return end_wait(&wait, good);
}

/*
 * Waits for a message and receives it.  "same_here" are the milliseconds that
 * this process would need for what gpusortd does meanwhile.
 */
static bool
receive_message(DeviceClient *client, Message *message, int *descriptor,
				uint64 same_here)
{
	Wait		wait = begin_wait(client, same_here);
	bool		good;
	bool		received;

	while ((good = try_receive_message(client, message, descriptor,
									   &received)) && !received)
	{
		if (!wait_for_socket(client, &wait, WL_SOCKET_READABLE))
		{
			good = fail_silent(client, &wait);
			break;
		}
	}
	return end_wait(&wait, good);
}

/*
 * Makes a client, for a job or for a brief question, and connects it to
 * gpusortd; otherwise it has a failure.  Its context is a child of the current
 * one.
 */
static DeviceClient *
connect_client(bool is_brief)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort device client",
												  ALLOCSET_SMALL_SIZES);
	DeviceClient *client = MemoryContextAllocZero(context,
												  sizeof(DeviceClient));
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	client->context = context;
	client->socket = -1;
	client->is_brief = is_brief;
	client->on_reset.func = close_connection;
	client->on_reset.arg = client;
	MemoryContextRegisterResetCallback(context, &client->on_reset);

	if (current_losses()->is_enough && !is_brief)
	{
		fail(client, "the query has waited too long for gpusortd before");
		return client;
	}
	if (!AcquireExternalFD())
	{
		fail(client, "too many open files");
		return client;
	}
	client->socket = socket(AF_UNIX,
							SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (client->socket < 0)
	{
		ReleaseExternalFD();
		fail_with_errno(client, "could not make a socket");
		return client;
	}
	strlcpy(address.sun_path, SOCKET_PATH, sizeof(address.sun_path));
	if (connect(client->socket, (struct sockaddr *) &address,
				sizeof(address)) < 0)
	{
		/* the queue of connections is full, so gpusortd may accept none */
		if (errno == EAGAIN)
			shared_ask_launcher();
		fail_with_errno(client, "could not connect to gpusortd");
	}
	return client;
}

/* True if the memory of a ring has this many bytes, for good. */
static bool
is_ring(int descriptor, Size bytes)
{
	struct stat status;
	int			seals = fcntl(descriptor, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 &&
		fstat(descriptor, &status) == 0 && status.st_size >= bytes;
}

/* Maps the ring that came with MSG_WELCOME. */
static bool
map_ring(DeviceClient *client, uint32 nchunks, int descriptor)
{
	void	   *ring;

	/* the ring of the job before */
	if (client->ring != NULL && nchunks == client->nchunks)
		return true;
	if (client->ring != NULL || nchunks == 0 || descriptor < 0)
		return fail_unexpected(client);
	if (!is_ring(descriptor, (Size) nchunks * CHUNK_BYTES))
		return fail(client, "gpusortd sent staging memory that may be too short");
	ring = mmap(NULL, (Size) nchunks * CHUNK_BYTES, PROT_READ | PROT_WRITE,
				MAP_SHARED, descriptor, 0);
	if (ring == MAP_FAILED)
		return fail_with_errno(client, "could not map the staging memory");
	client->ring = ring;
	client->nchunks = nchunks;
	client->chunk = 0;
	client->chunk_is_ours = MemoryContextAlloc(client->context, nchunks);
	memset(client->chunk_is_ours, true, nchunks);
	return true;
}

/* Takes the answer to MSG_HELLO, and the ring that may have come with it. */
static bool
take_answer(DeviceClient *client, const Message *message, int descriptor)
{
	bool		good = true;

	client->is_queued = message->kind == MSG_QUEUED;
	if (message->kind == MSG_WELCOME)
		good = map_ring(client, message->u.welcome.chunks, descriptor);
	else if (!client->is_queued || client->long_lived)
		good = fail_unexpected(client);
	if (descriptor >= 0)
		close(descriptor);
	return good;
}

/* Says hello and takes the answer. */
static bool
introduce(DeviceClient *client, uint64 expected_rows)
{
	Message		message = {.kind = MSG_HELLO};
	int			descriptor = -1;

	count_job(client, true);
	message.u.hello.version = PROTOCOL_VERSION;
	message.u.hello.fixed_words = client->shape.fixed_words;
	message.u.hello.mark_ties = client->shape.mark_ties;
	message.u.hello.algorithm = gpusort_algorithm;
	message.u.hello.long_lived = client->long_lived;
	message.u.hello.role = GetSessionUserId();
	message.u.hello.role_limit = gpusort_role_limit();
	message.u.hello.expected_rows = expected_rows;

	return send_message(client, &message) &&
		receive_message(client, &message, &descriptor, 0) &&
		take_answer(client, &message, descriptor);
}

DeviceClient *
device_client_begin(const KeyShape *shape, uint64 expected_rows,
					bool long_lived, DeviceFailure *failure)
{
	DeviceClient *client = connect_client(false);

	client->shape = *shape;
	client->long_lived = long_lived;
	if (client->failure.reason == NULL && introduce(client, expected_rows))
		return client;

	failure->cause = client->failure.cause;
	failure->reason = pstrdup(client->failure.reason);
	device_client_end(client);
	return NULL;
}

bool
device_client_again(DeviceClient *client, const KeyShape *shape,
					uint64 expected_rows)
{
	client->shape = *shape;
	client->chunk = 0;
	memset(client->chunk_is_ours, true, client->nchunks);
	return introduce(client, expected_rows);
}

bool
device_client_is_queued(const DeviceClient *client)
{
	return client->is_queued;
}

bool
device_client_await_turn(DeviceClient *client, uint64 milliseconds)
{
	Wait		wait = {.start = milliseconds_now(),.limit = milliseconds};
	Message		message;
	int			descriptor = -1;
	bool		received;

	while (try_receive_message(client, &message, &descriptor, &received))
	{
		if (received)
			return take_answer(client, &message, descriptor);
		if (!wait_for_socket(client, &wait, WL_SOCKET_READABLE))
			return true;
	}
	return end_wait(&wait, false);
}

const char *
device_client_device(const DeviceClient *client)
{
	return client->device;
}

const char *
device_client_method(const DeviceClient *client)
{
	return client->method;
}

DeviceFailure
device_client_failure(const DeviceClient *client)
{
	return client->failure;
}

void
device_client_end(DeviceClient *client)
{
	MemoryContextDelete(client->context);
}

/* Takes back a chunk whose keys gpusortd has copied. */
static bool
take_back_chunk(DeviceClient *client, const Message *message)
{
	if (message->kind != MSG_KEYS_TAKEN ||
		message->u.keys.chunk >= client->nchunks ||
		client->chunk_is_ours[message->u.keys.chunk])
		return fail_unexpected(client);
	client->chunk_is_ours[message->u.keys.chunk] = true;
	return true;
}

bool
device_client_next_batch(DeviceClient *client, KeyBatch *batch)
{
	char	   *chunk = client->ring + (Size) client->chunk * CHUNK_BYTES;
	Message		message;
	bool		received = true;

	/* reads all that has come, so that a failure is known soon */
	while (received)
	{
		if (!try_receive_message(client, &message, NULL, &received) ||
			(received && !take_back_chunk(client, &message)))
			return false;
	}
	while (!client->chunk_is_ours[client->chunk])
	{
		if (!receive_message(client, &message, NULL, 0) ||
			!take_back_chunk(client, &message))
			return false;
	}

	batch->nwords = 0;
	batch->nrows = 0;
	if (client->shape.fixed_words > 0)
	{
		batch->ends = NULL;
		batch->words = (uint64_t *) chunk;
		batch->max_words = CHUNK_BYTES / sizeof(uint64_t);
		batch->max_rows = batch->max_words / client->shape.fixed_words;
	}
	else
	{
		batch->ends = (uint64_t *) chunk;
		batch->max_rows = CHUNK_VARIABLE_ROWS;
		batch->words = batch->ends + CHUNK_VARIABLE_ROWS;
		batch->max_words = CHUNK_BYTES / sizeof(uint64_t) -
			CHUNK_VARIABLE_ROWS;
	}
	return true;
}

bool
device_client_push(DeviceClient *client, const KeyBatch *batch)
{
	Message		message = {.kind = MSG_KEYS};

	message.u.keys.chunk = client->chunk;
	message.u.keys.nrows = batch->nrows;
	message.u.keys.nwords = batch->nwords;
	client->chunk_is_ours[client->chunk] = false;
	client->chunk = (client->chunk + 1) % client->nchunks;
	return send_message(client, &message);
}

/*
 * Receives the message that comes after the keys.  Chunks of keys may still
 * come back before.
 */
static bool
receive_after_keys(DeviceClient *client, Message *message, uint64 same_here)
{
	do
	{
		if (!receive_message(client, message, NULL, same_here))
			return false;
	} while (message->kind == MSG_KEYS_TAKEN &&
			 take_back_chunk(client, message));
	return client->failure.reason == NULL;
}

bool
device_client_begin_sort(DeviceClient *client, uint64 nrows)
{
	Message		message = {.kind = MSG_SORT};

	message.u.sort.nrows = nrows;
	client->nrows = nrows;
	return send_message(client, &message);
}

bool
device_client_await_sort(DeviceClient *client, uint64 *sort_microseconds)
{
	Message		message;

	if (!receive_after_keys(client, &message,
							host_sort_milliseconds(client->nrows)))
		return false;
	if (message.kind != MSG_SORTED)
		return fail_unexpected(client);
	*sort_microseconds = message.u.sorted.sort_microseconds;
	strlcpy(client->device, message.u.sorted.device, sizeof(client->device));
	strlcpy(client->method, message.u.sorted.method, sizeof(client->method));
	client->nordered = 0;
	memset(&client->sums, 0, sizeof(client->sums));
	count_job(client, false);
	return true;
}

/* Gives back a chunk of the order, once it has been copied. */
static bool
give_back_order(DeviceClient *client, uint32 chunk)
{
	Message		message = {.kind = MSG_ORDER_TAKEN};

	message.u.order.chunk = chunk;
	return send_message(client, &message);
}

/*
 * Copies entries of the order from the ring, whose contents may change at any
 * time.  Notes their rows, and returns false if these cannot be the next
 * entries: rows are looked up by them.  Ties are marked only if the caller has
 * asked for that, and never on the first entry.  A wrong entry sets the bit of
 * the mark, so that the loop has no branch.
 */
static bool
copy_entries(DeviceClient *client, uint32 *entries, const uint32 *ring,
			 uint32 count)
{
	OrderSums	sums = client->sums;
	uint32		mask = client->shape.mark_ties ? ~ORDER_TIE : ~0;
	uint32		last_row = client->nrows - 1;
	uint32		wrong;

	memcpy(entries, ring, count * sizeof(uint32));
	wrong = client->nordered == 0 ? entries[0] : 0;
	for (uint32 i = 0; i < count; i++)
	{
		uint32		row = entries[i] & mask;

		wrong |= row | (last_row - row);
		order_sums_add(&sums, row);
	}
	client->sums = sums;
	client->nordered += count;
	return (wrong & ORDER_TIE) == 0;
}

/* Takes a part of the order; false if it cannot be one. */
static bool
take_order(DeviceClient *client, uint32 *part, const uint32 *ring, uint32 count)
{
	for (uint32 have = 0; have < count; have += CACHED_ENTRIES)
	{
		if (!copy_entries(client, part + have, ring + have,
						  Min(count - have, CACHED_ENTRIES)))
			return fail(client,
						"gpusortd sent an order with impossible row numbers");
	}
	if (client->nordered == client->nrows &&
		!order_sums_are_of_all(&client->sums, client->nrows))
		return fail(client,
					"gpusortd sent an order in which a row comes twice");
	return true;
}

bool
device_client_order_part(DeviceClient *client, uint32 *part, uint32 *count)
{
	Message		message;

	*count = 0;
	if (!receive_after_keys(client, &message, 0))
		return false;
	if (message.kind != MSG_ORDER ||
		message.u.order.chunk >= client->nchunks ||
		message.u.order.count == 0 ||
		message.u.order.count > ORDER_PART_ENTRIES ||
		message.u.order.count > client->nrows - client->nordered)
		return fail_unexpected(client);
	*count = message.u.order.count;
	if (!take_order(client, part, (const uint32 *)
					(client->ring +
					 (Size) message.u.order.chunk * CHUNK_BYTES), *count))
		return false;

	/* once the whole order is here, gpusortd may be gone */
	return give_back_order(client, message.u.order.chunk) ||
		client->nordered == client->nrows;
}

/* Receives the answers to MSG_LIST_DEVICES. */
static bool
receive_devices(DeviceClient *client, List **devices)
{
	Message		message = {.kind = MSG_LIST_DEVICES};

	if (!send_message(client, &message))
		return false;
	for (;;)
	{
		Message    *device;

		if (!receive_message(client, &message, NULL, 0))
			return false;
		if (message.kind == MSG_END_OF_LIST)
			return true;
		if (message.kind != MSG_DEVICE)
			return fail_unexpected(client);
		device = palloc(sizeof(Message));
		*device = message;
		*devices = lappend(*devices, device);
	}
}

bool
device_client_list_devices(List **devices, const char **failure)
{
	DeviceClient *client = connect_client(true);
	bool		answered;

	*devices = NIL;
	answered = client->failure.reason == NULL &&
		receive_devices(client, devices);
	if (!answered)
		*failure = pstrdup(client->failure.reason);
	device_client_end(client);
	return answered;
}
