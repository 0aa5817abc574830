/*-------------------------------------------------------------------------
 *
 * fuzz_connection.c
 *	  A fuzzer of gpusortd's side: clients that do anything at any time.
 *
 * An input is what a client does, see script.h.  The client is served by
 * connection.c with the host engine, through a socket and a ring as in
 * gpusortd, but in one thread with the client, so that an input always does
 * the same.  It is the client's turn whenever gpusortd waits for a message or
 * for device memory, or looks whether its client is there.  A client can also
 * write to the ring between any two loads of gpusortd from it, since the
 * compiler adds a call ahead of each load (-fsanitize-coverage=trace-loads).
 * So it can change what gpusortd has checked before gpusortd uses it.  Time
 * passes only when the input says so.
 *
 * Besides what the sanitizers find, these are faults:
 *
 *		- gpusortd says what protocol.h does not allow, or hands the engine keys
 *		  that are not as key_format.h has them;
 *		- an order has not each row once, or, of keys that were not changed
 *		  behind gpusortd's back, is not sorted;
 *		- the ring of a new client has anything in it;
 *		- more is reserved of a device than there is, or anything is left, of
 *		  that or of descriptors, when the client is gone.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../src/daemon/connection.h"
#include "../../src/daemon/devices.h"
#include "../../src/daemon/ring.h"
#include "../../src/common/protocol.h"
#include "script.h"

#define TEST_SUBJECT		"connection"
#include "../unit/test_report.h"
#include "../unit/daemon_test_keys.h"

#define RING_CHUNKS			2
#define CHUNK_WORDS			(CHUNK_BYTES / sizeof(uint64_t))

/* Memory of the devices; the last one has too little for a chunk. */
static const uint64_t device_bytes[] = {8 << 20, 3 << 20, 2 << 20, 64 << 10};

#define NDEVICES			((int) (sizeof(device_bytes) / sizeof(*device_bytes)))

/*
 * An input must not take long: it has at most this many words of keys, and
 * actions.
 */
#define MOST_WORDS			(UINT64_C(1) << 20)
#define MOST_ACTIONS		1000

/*
 * A client that does nothing any more goes when gpusortd has waited for it
 * this often.
 */
#define MOST_WAITS			100

/* Writes that are to happen later. */
#define MOST_RACES			4

/* Rings that gpusortd has at once: it keeps one from an input to the next. */
#define MOST_RINGS			4

/* More time than it takes until a device that failed is used again. */
#define LONG_TIME			(10 * OUT_SECONDS)

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Race
{
	uint64_t	when;			/* the number of an event; 0: none */
	bool		leaves;
	uint64_t	place;
	uint64_t	value;
} Race;

typedef struct Client
{
	int			socket;			/* -1 when closed */
	char	   *ring;			/* NULL before MSG_WELCOME */
	int			ring_descriptor;
	Message		last;			/* that was sent */
	KeyShape	shape;			/* of the last MSG_HELLO */
	uint64_t	nrows;			/* of its job */
	uint64_t	nwords;
	uint32_t	chunk;			/* that it writes to next */
	bool		is_announced[RING_CHUNKS];	/* by MSG_KEYS, and not taken */

	/* what gpusortd has heard and said */
	int			heard_keys[RING_CHUNKS];	/* not taken yet */
	bool		is_answered;
	bool		is_sorted;
	bool		is_ended;		/* refused or failed */
	bool		has_order[RING_CHUNKS];
	uint32_t	orders[RING_CHUNKS];	/* chunks of the order; a queue */
	uint32_t	first_order;
	uint32_t	norders;
	bool		is_listing;

	/* the order, as far as it has come */
	uint32_t   *order;
	uint64_t	nordered;
	bool		order_is_changed;	/* it may be, by the client itself */

	/* the one before wrote to its ring what it did not announce */
	bool		may_find_anything;
} Client;

static pthread_t main_thread;
static Script script;
static Client client;
static int	server_socket = -1;
static int	actions;
static int	waits;
static uint64_t now;			/* microseconds */

static uint64_t events;			/* at which it could be the client's turn */
static Race races[MOST_RACES];
static char *rings[MOST_RINGS]; /* of gpusortd */
static int	engine_failure = -1;	/* calls until then */

/* The keys that the engine was given for the job. */
static KeySet keys;
static uint64_t key_words;
static uint64_t max_key_words;
static uint64_t max_rows;
static int	engine_jobs;
static bool keys_are_changed;	/* they may be, behind gpusortd's back */

/* Memory of devices that other jobs have. */
static Reservation others[NDEVICES];

/* What must not be. */
static void
__attribute__((format(printf, 1, 2), noreturn))
found(const char *format,...)
{
	va_list		arguments;

	va_start(arguments, format);
	fprintf(stderr, "found: ");
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n");
	va_end(arguments);
	abort();
}

#define must(condition)	((condition) ? (void) 0 : found("not so: %s", #condition))


/*
 * The functions of the system that gpusortd waits in
 */

extern ssize_t __real_recv(int socket, void *buffer, size_t size, int flags);
extern ssize_t __real_send(int socket, const void *buffer, size_t size,
						   int flags);
extern ssize_t __real_sendmsg(int socket, const struct msghdr *message,
							  int flags);
extern int	__real_poll(struct pollfd *events, nfds_t count, int milliseconds);
extern int	__real_clock_gettime(clockid_t clock, struct timespec *time);
extern int	__real_pthread_cond_timedwait(pthread_cond_t *condition,
										  pthread_mutex_t *mutex,
										  const struct timespec *deadline);

extern ssize_t __wrap_recv(int socket, void *buffer, size_t size, int flags);
extern ssize_t __wrap_send(int socket, const void *buffer, size_t size,
						   int flags);
extern ssize_t __wrap_sendmsg(int socket, const struct msghdr *message,
							  int flags);
extern int	__wrap_poll(struct pollfd *events, nfds_t count, int milliseconds);
extern int	__wrap_clock_gettime(clockid_t clock, struct timespec *time);
extern int	__wrap_pthread_cond_timedwait(pthread_cond_t *condition,
										  pthread_mutex_t *mutex,
										  const struct timespec *deadline);

static bool act(void);
static void hang_up(void);
static void note_heard(const Message *message);
static void pass_event(void);
static void receive_all(void);

static bool
is_servers(int socket)
{
	return socket >= 0 && socket == server_socket &&
		pthread_equal(pthread_self(), main_thread);
}

/*
 * Gives the client its turn, for one action.  A client that has no action
 * left, or does nothing that ends the wait, goes.
 */
static void
let_client_act(void)
{
	if (!act() || ++waits > MOST_WAITS)
		hang_up();
}

ssize_t
__wrap_recv(int socket, void *buffer, size_t size, int flags)
{
	ssize_t		length;

	if (!is_servers(socket))
		return __real_recv(socket, buffer, size, flags);
	for (;;)
	{
		let_client_act();
		length = __real_recv(socket, buffer, size, flags | MSG_DONTWAIT);
		if (length >= 0 || errno != EAGAIN || (flags & MSG_DONTWAIT) != 0)
			break;
	}
	if (length >= 0)
		waits = 0;
	if (length == sizeof(Message))
		note_heard(buffer);
	return length;
}

/* Whatever gpusortd says is received at once, so that it can always send. */
ssize_t
__wrap_send(int socket, const void *buffer, size_t size, int flags)
{
	ssize_t		length = __real_send(socket, buffer, size, flags);

	if (is_servers(socket) && length >= 0)
		receive_all();
	return length;
}

ssize_t
__wrap_sendmsg(int socket, const struct msghdr *message, int flags)
{
	ssize_t		length = __real_sendmsg(socket, message, flags);

	if (is_servers(socket) && length >= 0)
		receive_all();
	return length;
}

int
__wrap_poll(struct pollfd *polled, nfds_t count, int milliseconds)
{
	int			ready;

	if (count == 0 || !is_servers(polled[0].fd))
		return __real_poll(polled, count, milliseconds);
	pass_event();
	ready = __real_poll(polled, count, 0);
	while (ready == 0 && milliseconds != 0)
	{
		let_client_act();
		ready = __real_poll(polled, count, 0);
		if (milliseconds > 0)
		{
			now += ready == 0 ? milliseconds * UINT64_C(1000) : 0;
			break;
		}
	}
	return ready;
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	if (now == 0)
		return __real_clock_gettime(clock, time);
	time->tv_sec = (time_t) (now / 1000000);
	time->tv_nsec = (long) (now % 1000000) * 1000;
	return 0;
}

int
__wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
							  const struct timespec *deadline)
{
	if (!pthread_equal(pthread_self(), main_thread))
		return __real_pthread_cond_timedwait(condition, mutex, deadline);
	pthread_mutex_unlock(mutex);
	let_client_act();
	pthread_mutex_lock(mutex);
	if (now < deadline->tv_sec * UINT64_C(1000000) + deadline->tv_nsec / 1000)
		now = deadline->tv_sec * UINT64_C(1000000) + deadline->tv_nsec / 1000;
	return ETIMEDOUT;
}


/*
 * What the client does behind gpusortd's back
 */

static bool
is_in_ring(const void *address)
{
	for (int i = 0; i < MOST_RINGS; i++)
	{
		if (rings[i] != NULL && (const char *) address >= rings[i] &&
			(const char *) address < rings[i] + RING_CHUNKS * CHUNK_BYTES)
			return true;
	}
	return false;
}

static void
write_to_ring(uint64_t place, uint64_t value)
{
	if (client.ring == NULL)
		return;
	((uint64_t *) client.ring)[place] = value;
	keys_are_changed = true;
	client.order_is_changed = true;
}

/* Something happens in gpusortd; the client may act in the middle of it. */
static void
pass_event(void)
{
	if (server_socket < 0 || !pthread_equal(pthread_self(), main_thread))
		return;
	events++;
	for (int i = 0; i < MOST_RACES; i++)
	{
		Race		race = races[i];

		if (race.when == 0 || race.when > events)
			continue;
		races[i].when = 0;
		if (race.leaves)
			hang_up();
		else
			write_to_ring(race.place, race.value);
	}
}

/* Called by what the compiler has added ahead of each load of gpusortd. */
#define LOAD_CALLBACK(bytes, type) \
extern void __sanitizer_cov_load##bytes(const type *address); \
void __sanitizer_cov_load##bytes(const type *address) \
{ \
	if (is_in_ring(address)) \
		pass_event(); \
}

LOAD_CALLBACK(1, uint8_t)
LOAD_CALLBACK(2, uint16_t)
LOAD_CALLBACK(4, uint32_t)
LOAD_CALLBACK(8, uint64_t)
LOAD_CALLBACK(16, __uint128_t)


/*
 * The engine: the host's, looked at
 */

static Engine engine;

static bool
fails_now(DeviceError *error)
{
	if (engine_failure < 0 || !pthread_equal(pthread_self(), main_thread) ||
		engine_failure-- > 0)
		return false;
	snprintf(error->text, sizeof(error->text), "the input has it so");
	error->is_full = actions % 2 == 0;
	return true;
}

static int
count_devices(DeviceError *error)
{
	(void) error;
	return NDEVICES;
}

static bool
describe_device(int number, DeviceInfo *info, DeviceError *error)
{
	(void) error;
	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "device");
	info->memory_bytes = device_bytes[number];
	return true;
}

static bool
pin(void *memory, size_t bytes, DeviceError *error)
{
	if (bytes != RING_CHUNKS * CHUNK_BYTES)
		return true;			/* that of a merge */
	if (fails_now(error))
		return false;
	for (int i = 0; i < MOST_RINGS; i++)
	{
		if (rings[i] == NULL)
		{
			rings[i] = memory;
			return true;
		}
	}
	found("more than %d rings", MOST_RINGS);
}

static void
unpin(void *memory)
{
	for (int i = 0; i < MOST_RINGS; i++)
	{
		if (rings[i] == memory)
			rings[i] = NULL;
	}
}

/*
 * A sort in place takes less memory here, so that there is a reason for one.
 */
static uint64_t
memory_in_place(const KeyShape *shape, uint64_t nrows, uint64_t nwords)
{
	return host_engine.job_memory_kept(shape, nrows, nwords);
}

static EngineJob *
begin_job(int device, const KeyShape *shape, DeviceAlgorithm algorithm,
		  EngineCancelled cancelled, void *argument, DeviceError *error)
{
	EngineJob  *job;

	must(device >= 0 && device < NDEVICES);
	must(shape->fixed_words <= KEY_MAX_WORDS);
	if (fails_now(error))
		return NULL;
	if (engine_jobs == 0)
	{
		keys.nrows = 0;
		key_words = 0;
		keys.shape = *shape;
	}
	job = host_engine.begin(device, shape, algorithm, cancelled, argument,
							error);
	engine_jobs += job != NULL;
	return job;
}

/* Keeps keys that the engine was given. */
static void
keep_keys(const uint64_t *words, uint64_t nwords, const uint64_t *ends,
		  uint32_t nrows)
{
	uint64_t	first_end = 0;

	if (key_words + nwords > max_key_words)
	{
		max_key_words = 2 * (key_words + nwords);
		keys.words = realloc(keys.words, max_key_words * sizeof(uint64_t));
	}
	if (keys.nrows + nrows > max_rows)
	{
		max_rows = 2 * (keys.nrows + nrows);
		keys.ends = realloc(keys.ends, max_rows * sizeof(uint64_t));
	}
	memcpy(keys.words + key_words, words, nwords * sizeof(uint64_t));
	if (ends != NULL)
		first_end = ends[nrows - 1] - nwords;	/* of the part so far */
	for (uint32_t row = 0; row < nrows; row++)
		keys.ends[keys.nrows++] = key_words + (ends != NULL ? ends[row] - first_end :
											   (row + 1) * (uint64_t) keys.shape.fixed_words);
	key_words += nwords;
}

/* Are keys as key_format.h has them? */
static void
check_ends(const uint64_t *ends, uint64_t nwords, uint32_t nrows)
{
	uint64_t	previous = ends[nrows - 1] - nwords;

	for (uint32_t row = 0; row < nrows; row++)
	{
		must(ends[row] - previous - 1 < KEY_MAX_WORDS);
		previous = ends[row];
	}
}

static bool
push(EngineJob *job, const uint64_t *words, uint64_t nwords,
	 const uint64_t *ends, uint32_t nrows, uint64_t *ticket,
	 DeviceError *error)
{
	/* what gpusortd has checked is what must be used */
	pass_event();
	must(nrows > 0);
	must((ends == NULL) == (keys.shape.fixed_words != 0));
	if (ends == NULL)
		must(nwords == (uint64_t) nrows * keys.shape.fixed_words);
	else
		check_ends(ends, nwords, nrows);
	if (fails_now(error))
		return false;
	keep_keys(words, nwords, ends, nrows);
	return host_engine.push(job, words, nwords, ends, nrows, ticket, error);
}

static bool
wait_pushed(EngineJob *job, uint64_t ticket, DeviceError *error)
{
	pass_event();
	return !fails_now(error) && host_engine.wait_pushed(job, ticket, error);
}

static bool
perform(EngineJob *job, uint64_t memory, DeviceError *error)
{
	pass_event();
	if (pthread_equal(pthread_self(), main_thread))
		client.order_is_changed = false;
	return !fails_now(error) && host_engine.perform(job, memory, error);
}

static bool
pull(EngineJob *job, uint64_t first, uint32_t count, uint32_t *order,
	 DeviceError *error)
{
	pass_event();
	if (pthread_equal(pthread_self(), main_thread))
		client.order_is_changed = false;
	return !fails_now(error) && host_engine.pull(job, first, count, order, error);
}

static bool
pull_keys(EngineJob *job, uint64_t first, uint32_t step, uint32_t count,
		  uint32_t key_words, uint64_t *words, DeviceError *error)
{
	pass_event();
	return !fails_now(error) &&
		host_engine.pull_keys(job, first, step, count, key_words, words, error);
}

static void
end_job(EngineJob *job)
{
	if (job != NULL)
		engine_jobs--;
	host_engine.end(job);
}

static void
start_engine(void)
{
	static const DeviceList all_devices = {.text = "all",.is_all = true};
	DeviceError error;

	engine = host_engine;
	engine.count = count_devices;
	engine.describe = describe_device;
	engine.pin = pin;
	engine.unpin = unpin;
	engine.job_memory_in_place = memory_in_place;
	engine.begin = begin_job;
	engine.push = push;
	engine.wait_pushed = wait_pushed;
	engine.perform = perform;
	engine.pull = pull;
	engine.pull_keys = pull_keys;
	engine.end = end_job;
	must(devices_start(&engine, &all_devices, 100, &error));
	ring_init(&engine, RING_CHUNKS, (uint64_t) MOST_RINGS * RING_CHUNKS * CHUNK_BYTES);
	connection_init(&engine);
}


/*
 * What the client hears
 */

/*
 * A new client must not be able to read what another client left in the ring.
 */
static void
check_is_clear(const char *ring)
{
	if (client.may_find_anything)
		return;
	if (ring[0] != 0 || memcmp(ring, ring + 1, RING_CHUNKS * CHUNK_BYTES - 1) != 0)
		found("a new client can read what others had in its ring");
}

static void
take_ring(int descriptor)
{
	must(client.ring == NULL);
	client.ring = mmap(NULL, RING_CHUNKS * CHUNK_BYTES, PROT_READ | PROT_WRITE,
					   MAP_SHARED, descriptor, 0);
	must(client.ring != MAP_FAILED);
	client.ring_descriptor = descriptor;
	check_is_clear(client.ring);
}

/* The whole order is there. */
static void
check_whole_order(void)
{
	if (!client.order_is_changed)
	{
		if (!check_rows(&keys, client.order, "the order") ||
			((keys.shape.fixed_words != 0 || !keys_are_changed) &&
			 !check_order(&keys, client.order, "the order")))
			found("%s", problem);
	}
}

static void
take_order(const Message *message)
{
	uint32_t	chunk = message->u.order.chunk;
	uint32_t	count = message->u.order.count;

	must(client.is_sorted);
	must(chunk < RING_CHUNKS && !client.has_order[chunk]);
	must(count > 0 && count <= CHUNK_BYTES / sizeof(uint32_t));
	must(count <= keys.nrows - client.nordered);
	if (client.order == NULL)
		client.order = malloc(keys.nrows * sizeof(uint32_t));
	memcpy(client.order + client.nordered, client.ring + chunk * CHUNK_BYTES,
		   count * sizeof(uint32_t));
	client.nordered += count;
	client.has_order[chunk] = true;
	client.orders[(client.first_order + client.norders) % RING_CHUNKS] = chunk;
	client.norders++;
	if (client.nordered == keys.nrows)
		check_whole_order();
}

/* Notes what gpusortd may answer to a message that it has received. */
static void
note_heard(const Message *message)
{
	if (message->kind == MSG_KEYS && message->u.keys.chunk < RING_CHUNKS)
		client.heard_keys[message->u.keys.chunk]++;
	else if (message->kind == MSG_LIST_DEVICES)
		client.is_listing = true;
	else if (message->kind == MSG_HELLO)
	{
		client.is_answered = false;
		client.is_sorted = false;
		client.nordered = 0;
		free(client.order);
		client.order = NULL;
		memset(client.has_order, 0, sizeof(client.has_order));
	}
}

static void
check_text(const char *text)
{
	must(memchr(text, '\0', MESSAGE_TEXT_SIZE) != NULL);
}

static void
take_device(const Message *message)
{
	must(client.is_listing);
	must(message->u.device.number >= 0 && message->u.device.number < NDEVICES);
	must(message->u.device.reserved_bytes <= message->u.device.memory_bytes);
	check_text(message->u.device.name);
	check_text(message->u.device.uuid);
	check_text(message->u.device.reason);
}

static void
take_message(const Message *message, int descriptor)
{
	must(!client.is_ended);
	must((descriptor >= 0) == (message->kind == MSG_WELCOME &&
							   client.ring == NULL));
	switch (message->kind)
	{
		case MSG_QUEUED:
			must(!client.is_answered);
			break;
		case MSG_WELCOME:
			must(!client.is_answered);
			must(message->u.welcome.chunks == RING_CHUNKS);
			client.is_answered = true;
			if (client.ring == NULL)
				take_ring(descriptor);
			break;
		case MSG_KEYS_TAKEN:
			must(message->u.keys.chunk < RING_CHUNKS);
			must(client.heard_keys[message->u.keys.chunk]-- > 0);
			client.is_announced[message->u.keys.chunk] = false;
			break;
		case MSG_SORTED:
			must(client.is_answered && !client.is_sorted);
			check_text(message->u.sorted.device);
			check_text(message->u.sorted.method);
			client.is_sorted = true;
			break;
		case MSG_ORDER:
			take_order(message);
			break;
		case MSG_REFUSED:
		case MSG_FAILED:
			check_text(message->u.failed.text);
			client.is_ended = true;
			break;
		case MSG_DEVICE:
			take_device(message);
			break;
		case MSG_END_OF_LIST:
			must(client.is_listing);
			client.is_listing = false;
			break;
		default:
			found("message of kind %u", message->kind);
	}
}

static void
receive_all(void)
{
	while (client.socket >= 0)
	{
		char		control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
		Message		message;
		struct iovec part = {&message, sizeof(message)};
		struct msghdr envelope = {
			.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control)
		};
		int			descriptor = -1;
		ssize_t		length = recvmsg(client.socket, &envelope,
									 MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);

		if (length <= 0)
			break;
		must(length == sizeof(message));
		if (CMSG_FIRSTHDR(&envelope) != NULL)
			memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&envelope)),
				   sizeof(int));
		take_message(&message, descriptor);
	}
}


/*
 * What the client does
 */

/* The client's process ends, and with it all that it has. */
static void
hang_up(void)
{
	if (client.socket >= 0)
		close(client.socket);
	if (client.ring != NULL)
		munmap(client.ring, RING_CHUNKS * CHUNK_BYTES);
	if (client.ring_descriptor >= 0)
		close(client.ring_descriptor);
	client.socket = -1;
	client.ring = NULL;
	client.ring_descriptor = -1;
}

/* The client goes, but keeps the ring, or only stops talking. */
static void
leave(void)
{
	switch (script_below(&script, 1, 3))
	{
		case 0:
			hang_up();
			break;
		case 1:
			shutdown(client.socket, SHUT_WR);
			break;
		default:
			close(client.socket);
			client.socket = -1;
			break;
	}
}

static void
say_bytes(const void *bytes, size_t size, int ndescriptors)
{
	char		control[CMSG_SPACE(3 * sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec part = {(void *) bytes, size};
	struct msghdr envelope = {.msg_iov = &part,.msg_iovlen = 1};
	int			descriptors[3] = {STDERR_FILENO, STDERR_FILENO, STDERR_FILENO};

	if (client.socket < 0)
		return;
	if (ndescriptors > 0)
	{
		struct cmsghdr *header = (struct cmsghdr *) control;

		envelope.msg_control = control;
		envelope.msg_controllen = CMSG_SPACE(ndescriptors * sizeof(int));
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(ndescriptors * sizeof(int));
		memcpy(CMSG_DATA(header), descriptors, ndescriptors * sizeof(int));
	}
	(void) __real_sendmsg(client.socket, &envelope,
						  MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
say(const Message *message)
{
	client.last = *message;
	if (message->kind == MSG_KEYS && message->u.keys.chunk < RING_CHUNKS)
		client.is_announced[message->u.keys.chunk] = true;
	say_bytes(message, sizeof(*message), 0);
}

static void
say_hello(void)
{
	Message		message = {.kind = MSG_HELLO};
	uint8_t		shape = (uint8_t) script_number(&script, 1);
	uint8_t		algorithm;

	message.u.hello.version = PROTOCOL_VERSION;
	message.u.hello.fixed_words = (shape >> 2) % (KEY_MAX_WORDS + 1);
	message.u.hello.mark_ties = shape & 1;
	message.u.hello.long_lived = (shape & 2) != 0 &&
		script_below(&script, 1, 4) == 0;
	algorithm = (uint8_t) script_number(&script, 1);
	message.u.hello.algorithm = algorithm % (DEVICE_SORT_BITONIC + 1);
	message.u.hello.role = algorithm % 2;
	message.u.hello.role_limit = (algorithm & 0xC0) != 0xC0 ? UINT64_MAX :
		(uint64_t) (algorithm & 0x3F) << 16;
	message.u.hello.expected_rows = script_number(&script, 3);
	client.shape.fixed_words = message.u.hello.fixed_words;
	client.shape.mark_ties = message.u.hello.mark_ties;
	client.nrows = 0;
	client.nwords = 0;
	client.chunk = 0;
	client.norders = 0;
	memset(client.is_announced, 0, sizeof(client.is_announced));
	say(&message);
}

/* A number as good as random for each one. */
static uint64_t
scatter(uint64_t number)
{
	number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
	return number ^ (number >> 31);
}

static uint64_t
key_word(KeyKind kind, uint64_t row, uint64_t nth)
{
	switch (kind)
	{
		case KEYS_RANDOM:
			return scatter(row * KEY_MAX_WORDS + nth + 1);
		case KEYS_FEW:
			return scatter(row + 1) % 3;
		case KEYS_ASCENDING:
			return row / 2;
		default:
			return 77;
	}
}

/*
 * Words of a row's key.  The first word tells this number, so no key begins
 * another.
 */
static uint32_t
key_length(KeyKind kind, uint64_t row)
{
	if (client.shape.fixed_words != 0)
		return client.shape.fixed_words;
	return kind == KEYS_EQUAL ? 3 : 1 + scatter(row + 99) % KEY_MAX_WORDS;
}

/* Mostly few, but up to as many as a chunk holds. */
static uint64_t
number_of_keys(void)
{
	uint64_t	scale = script_number(&script, 1);

	return scale < 224 ? scale + 1 : (scale - 223) * (scale - 223) * 128;
}

/* Writes keys to a chunk, and announces them. */
static void
say_keys(void)
{
	Message		message = {.kind = MSG_KEYS};
	uint64_t	most_rows = number_of_keys();
	KeyKind		kind = (KeyKind) script_below(&script, 1, KEY_KINDS);
	uint64_t	max_words = CHUNK_WORDS;
	uint64_t   *ends = NULL;
	uint64_t   *words;
	uint64_t	nwords = 0;
	uint32_t	row = 0;

	/* a client waits for its chunk, and stops when its job has failed */
	if (client.ring == NULL || client.nwords > MOST_WORDS ||
		client.is_announced[client.chunk] || client.is_ended)
		return;
	words = (uint64_t *) (client.ring + client.chunk * CHUNK_BYTES);
	if (client.shape.fixed_words == 0)
	{
		ends = words;
		words += CHUNK_VARIABLE_ROWS;
		max_words -= CHUNK_VARIABLE_ROWS;
		if (most_rows > CHUNK_VARIABLE_ROWS)
			most_rows = CHUNK_VARIABLE_ROWS;
	}
	for (; row < most_rows; row++)
	{
		uint64_t	number = client.nrows + row;
		uint32_t	length = key_length(kind, number);

		if (nwords + length > max_words)
			break;
		for (uint32_t i = 0; i < length; i++)
			words[nwords++] = ends != NULL && i == 0 ? length :
				key_word(kind, number, i);
		if (ends != NULL)
			ends[row] = client.nwords + nwords;
	}
	/* by now the ring could be gpusortd's */
	if (client.is_sorted)
		keys_are_changed = client.order_is_changed = true;
	client.nrows += row;
	client.nwords += nwords;
	message.u.keys.chunk = client.chunk;
	message.u.keys.nrows = row;
	message.u.keys.nwords = nwords;
	client.chunk = (client.chunk + 1) % RING_CHUNKS;
	say(&message);
}

static void
say_run(void)
{
	Message		message = {.kind = MSG_SORT};

	message.u.sort.nrows = client.nrows;
	say(&message);
}

static void
give_back_order(void)
{
	Message		message = {.kind = MSG_ORDER_TAKEN};

	if (client.norders == 0)
		return;
	message.u.order.chunk = client.orders[client.first_order];
	client.has_order[message.u.order.chunk] = false;
	client.first_order = (client.first_order + 1) % RING_CHUNKS;
	client.norders--;
	say(&message);
}

static void
say_list_devices(void)
{
	Message		message = {.kind = MSG_LIST_DEVICES};

	say(&message);
}

/* A number that may just pass, or just fail, a comparison. */
static uint64_t
odd_number(void)
{
	static const uint64_t numbers[] = {
		0, 1, 2, KEY_MAX_WORDS, KEY_MAX_WORDS + 1, RING_CHUNKS,
		CHUNK_VARIABLE_ROWS, CHUNK_WORDS, CHUNK_WORDS - CHUNK_VARIABLE_ROWS,
		CHUNK_BYTES, INT32_MAX, UINT32_MAX, UINT64_C(1) << 32, SORT_MAX_ROWS,
		UINT64_C(1) << 60, UINT64_C(1) << 61, INT64_MAX, UINT64_MAX
	};
	uint64_t	chosen = script_number(&script, 1);

	if (chosen < 64)
		return script_number(&script, 8);
	if (chosen < 128)
		return script_number(&script, 2);
	if (chosen < 160)
		return client.nwords + script_number(&script, 1);
	return numbers[chosen % (sizeof(numbers) / sizeof(*numbers))] +
		(chosen % 3) - 1;
}

/* The last message once more, another kind of message, or other numbers. */
static void
say_changed(void)
{
	Message		message = client.last;
	uint8_t		changes = (uint8_t) script_number(&script, 1);
	size_t		nbytes = (changes & 1) != 0 ? sizeof(uint32_t) : sizeof(uint64_t);
	uint64_t	number;

	if ((changes & 0x80) != 0)
		message.kind = script_below(&script, 1, MSG_END_OF_LIST + 2);
	for (int i = 0; i < (changes & 0x60) >> 5; i++)
	{
		number = odd_number();
		memcpy((char *) &message + script_below(&script, 1, 8) * sizeof(uint32_t),
			   &number, nbytes);
	}
	keys_are_changed = true;
	say(&message);
}

static void
say_anything(void)
{
	char		bytes[2 * sizeof(Message)] = {0};
	size_t		size = script_below(&script, 2, sizeof(bytes) + 1);
	int			ndescriptors = (int) script_below(&script, 1, 4);
	int			given = (int) script_below(&script, 1, 32);

	memcpy(bytes, &client.last, sizeof(client.last));
	for (int i = 0; i < given; i++)
		bytes[i] = (char) script_number(&script, 1);
	keys_are_changed = true;
	say_bytes(bytes, size, ndescriptors);
}

/* A place in the ring, mostly near the beginning or the end of something. */
static uint64_t
ring_place(void)
{
	uint64_t	chunk = script_below(&script, 1, RING_CHUNKS);
	uint64_t	kind = script_below(&script, 1, 4);
	uint64_t	word = script_number(&script, 1);

	if (kind == 1)
		word = CHUNK_WORDS - 1 - word;
	else if (kind == 2)
		word = CHUNK_VARIABLE_ROWS + word - 128;
	else if (kind == 3)
		word = (word | script_number(&script, 2) << 8) % CHUNK_WORDS;
	return chunk * CHUNK_WORDS + word;
}

static void
plan_race(bool leaves)
{
	Race		race = {.leaves = leaves};
	uint64_t	when = script_number(&script, 1);

	/* soon, or a while later */
	race.when = events + 1 + (when < 128 ? when : (when - 127) * 97);
	if (!leaves)
	{
		race.place = ring_place();
		race.value = odd_number();
	}
	for (int i = 0; i < MOST_RACES; i++)
	{
		if (races[i].when == 0)
		{
			races[i] = race;
			return;
		}
	}
}

/* Tries to take the memory of the ring away from gpusortd. */
static void
change_file(void)
{
	uint64_t	how = script_below(&script, 1, 5);
	int			file = client.ring_descriptor;

	if (file < 0)
		return;
	if (how == 0)
		must(ftruncate(file, 0) < 0);
	else if (how == 1)
		must(ftruncate(file, 2 * RING_CHUNKS * CHUNK_BYTES) < 0);
	else if (how == 2)
		must(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE) < 0);
	else if (how == 3)
	{
		if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					  script_below(&script, 1, RING_CHUNKS) * CHUNK_BYTES,
					  CHUNK_BYTES) == 0)
			keys_are_changed = client.order_is_changed = true;
	}
	else
	{
		uint64_t	value = odd_number();

		if (pwrite(file, &value, sizeof(value),
				   ring_place() * sizeof(uint64_t)) > 0)
			keys_are_changed = client.order_is_changed = true;
	}
}

/* Jobs of other clients. */
static void
change_others_memory(void)
{
	uint8_t		how = (uint8_t) script_number(&script, 1);
	Reservation *other = &others[how % NDEVICES];
	Owner		owner = {how % 2, UINT64_MAX};

	if (other->device >= 0)
		devices_release(other);
	else
		(void) devices_add(owner, NULL, 0, (uint64_t) (how >> 2) << 16, other);
}

/* Does the next action of the input; false if there is none left. */
static bool
act(void)
{
	if (script_is_over(&script) || client.socket < 0 ||
		++actions > MOST_ACTIONS)
		return false;
	switch ((ClientAction) script_below(&script, 1, CLIENT_ACTIONS))
	{
		case CLIENT_HELLO:
			say_hello();
			break;
		case CLIENT_KEYS:
			say_keys();
			break;
		case CLIENT_RUN:
			say_run();
			break;
		case CLIENT_TAKE_ORDER:
			give_back_order();
			break;
		case CLIENT_LIST_DEVICES:
			say_list_devices();
			break;
		case CLIENT_CHANGED_MESSAGE:
			say_changed();
			break;
		case CLIENT_ANY_MESSAGE:
			say_anything();
			break;
		case CLIENT_WRITE:
			{
				uint64_t	place = ring_place();

				write_to_ring(place, odd_number());
			}
			break;
		case CLIENT_RACE:
			plan_race(false);
			break;
		case CLIENT_LEAVE:
			leave();
			break;
		case CLIENT_LEAVE_LATER:
			plan_race(true);
			break;
		case CLIENT_FILE:
			change_file();
			break;
		case OTHERS_MEMORY:
			change_others_memory();
			break;
		case ENGINE_FAILURE:
			engine_failure = (int) script_number(&script, 1);
			break;
		case TIME_PASSES:
			now += script_number(&script, 3) << 8;
			break;
		default:
			break;
	}
	return true;
}


/*
 * One input
 */

/* A client that only looks into its ring. */
static const uint8_t next_client[] = {CLIENT_HELLO, 0, 0, 1, 0, 0, CLIENT_YIELD};

static int
count_descriptors(void)
{
	DIR		   *directory = opendir("/proc/self/fd");
	int			count = 0;

	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

static int
count_kept(void)
{
	int			kept = 0;

	for (int i = 0; i < MOST_RINGS; i++)
		kept += rings[i] != NULL;
	return kept;
}

static void
check_nothing_is_left(int descriptors)
{
	Message		device;

	must(engine_jobs == 0);
	for (int number = 0; number < NDEVICES; number++)
	{
		devices_describe(number, &device);
		must(device.u.device.reserved_bytes == 0);
		must(device.u.device.jobs == 0);
	}
	if (count_descriptors() - count_kept() != descriptors)
		found("%d descriptors are left",
			  count_descriptors() - count_kept() - descriptors);
}

static void
serve_client(const uint8_t *data, size_t size)
{
	int			sockets[2];

	script.next = data;
	script.end = data + size;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	memset(&client, 0, sizeof(client));
	client.socket = sockets[0];
	client.ring_descriptor = -1;
	client.may_find_anything = keys_are_changed;
	server_socket = sockets[1];
	for (int i = 0; i < NDEVICES; i++)
		others[i] = NO_RESERVATION;
	memset(races, 0, sizeof(races));
	events = 0;
	actions = 0;
	waits = 0;
	engine_failure = -1;
	keys_are_changed = false;
	problem[0] = '\0';
	/* devices that failed before are tried again */
	now += LONG_TIME * UINT64_C(1000000);

	connection_serve(server_socket);
	server_socket = -1;
	hang_up();
	free(client.order);
	for (int i = 0; i < NDEVICES; i++)
		devices_release(&others[i]);
}

/* The next input must not find what the client wrote where it should not. */
static void
clear_rings(void)
{
	for (int i = 0; i < MOST_RINGS; i++)
	{
		if (rings[i] != NULL)
			memset(rings[i], 0, RING_CHUNKS * CHUNK_BYTES);
	}
}

static void
start(void)
{
	int			null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* reports go to standard output */
	dup2(null, STDOUT_FILENO);
	close(null);
	main_thread = pthread_self();
	now = 1;
	start_engine();
	/* what gpusortd makes once */
	serve_client(next_client, sizeof(next_client));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_started = false;
	int			descriptors;

	if (!is_started)
		start();
	is_started = true;
	descriptors = count_descriptors() - count_kept();
	serve_client(data, size);
	serve_client(next_client, sizeof(next_client));
	clear_rings();
	check_nothing_is_left(descriptors);
	return 0;
}
