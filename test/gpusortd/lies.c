/*-------------------------------------------------------------------------
 *
 * lies.c
 *	  A gpusortd that now and then says what it should not.
 *
 * gpusortd is linked so that its calls to send messages and to make rings come
 * to this file.  gpusortd lies if GPUSORTD_LIES in its environment has a seed.
 * Then one message in LIE_EVERY is a lie, and one MSG_WELCOME in
 * LIE_EVERY_WELCOME.  The message is changed, cut, lengthened, repeated or
 * left out; or it brings descriptors, or a ring that is smaller than the
 * message says or gets smaller; or the order that it announces has a row twice
 * or an impossible row, from the beginning or a moment later.  A moment after
 * a lie the connection is closed, so that nobody waits for what will not come.
 *
 * Which lie it is depends only on the seed and on the number of the message in
 * this process; but threads share numbers.  A file named "lie" in the working
 * directory, with two numbers, gives all messages of the first kind the second
 * kind, and no other lie is told.
 *
 * The file "wrong" asks for rings that are not as they should be, see
 * test_engine.c.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/common/protocol.h"
#include "wrong.h"

#define LIE_EVERY			20
#define LIE_EVERY_WELCOME	6
#define MOMENT_MICROSECONDS	3000

typedef enum Lie
{
	LIE_NUMBERS,
	LIE_KIND,
	LIE_CUT,
	LIE_LONG,
	LIE_TWICE,
	LIE_SILENCE,
	LIE_DESCRIPTORS,
	LIE_TEXTS,
	LIE_ORDER,
	LIE_ORDER_LATER,
	LIE_RING,
	LIES
} Lie;

/* What is done a moment after a lie. */
typedef struct Later
{
	int			socket;			/* a copy, to shut down */
	int			ring;			/* a copy, or -1 */
	bool		shrinks;		/* the ring, or else */
	bool		changes;
	uint64_t	place;			/* in the ring */
	uint32_t	entry;
} Later;

extern ssize_t __real_send(int socket, const void *buffer, size_t size,
						   int flags);
extern ssize_t __real_sendmsg(int socket, const struct msghdr *message,
							  int flags);
extern ssize_t __wrap_send(int socket, const void *buffer, size_t size,
						   int flags);
extern ssize_t __wrap_sendmsg(int socket, const struct msghdr *message,
							  int flags);
extern int	__real_posix_fallocate(int descriptor, off_t offset, off_t length);
extern int	__wrap_posix_fallocate(int descriptor, off_t offset, off_t length);
extern int	__real_fcntl(int descriptor, int command,...);
extern int	__wrap_fcntl(int descriptor, int command,...);

/* The ring of the connection that the thread serves. */
static __thread int ring = -1;
static atomic_uint_fast64_t messages;

/* A number as good as random for each one. */
static uint64_t
scatter(uint64_t number)
{
	number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
	return number ^ (number >> 31);
}

/* The next random number of a message. */
static uint64_t
draw(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return scatter(*state);
}

/* Does the file "lie" give this message another kind, and which? */
static bool
kind_is_given(const Message *message, uint32_t *kind)
{
	FILE	   *file = fopen("lie", "r");
	uint32_t	changed;
	bool		given = file != NULL && fscanf(file, "%u %u", &changed, kind) == 2;

	if (file != NULL)
		fclose(file);
	if (given && message->kind != changed)
		*kind = message->kind;
	return given;
}

/* Random numbers for a message; false if it is not a lie. */
static bool
is_lie(const char *seed, int every, uint64_t *state)
{
	*state = scatter(strtoull(seed, NULL, 10)) +
		scatter(atomic_fetch_add(&messages, 1) + 1);
	return draw(state) % every == 0;
}

static void *
finish_lie(void *argument)
{
	Later	   *later = argument;

	usleep(MOMENT_MICROSECONDS);
	if (later->shrinks)
		(void) !ftruncate(later->ring, 0);
	/* first, for these must not become the keys of another job */
	shutdown(later->socket, SHUT_RDWR);
	if (later->changes)
		(void) !pwrite(later->ring, &later->entry, sizeof(later->entry),
					   later->place);
	close(later->socket);
	if (later->ring >= 0)
		close(later->ring);
	free(later);
	return NULL;
}

static void
finish_later(Later later)
{
	Later	   *copy = malloc(sizeof(Later));
	pthread_t	thread;

	*copy = later;
	if (pthread_create(&thread, NULL, finish_lie, copy) == 0)
		pthread_detach(thread);
}

/* Changes an entry of the order that is announced: now, or later. */
static void
change_order(const Message *message, uint64_t *state, Later *later)
{
	uint64_t	first = (uint64_t) message->u.order.chunk * CHUNK_BYTES;
	uint64_t	count = message->u.order.count;
	uint64_t	place = first + draw(state) % count * sizeof(uint32_t);
	uint32_t	entry = (uint32_t) draw(state);

	char		path[64];

	if (ring < 0)
		return;
	if (entry % 2 == 0)
		(void) !pread(ring, &entry, sizeof(entry),
					  first + draw(state) % count * sizeof(uint32_t));
	if (later == NULL)
		(void) !pwrite(ring, &entry, sizeof(entry), place);
	else
	{
		/* opened anew, so that gpusortd sees that somebody has it */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", ring);
		later->ring = open(path, O_RDWR | O_CLOEXEC);
		later->changes = later->ring >= 0;
		later->place = place;
		later->entry = entry;
	}
}

/* A number that may just pass, or just fail, a comparison. */
static uint64_t
odd_number(uint64_t *state)
{
	static const uint64_t numbers[] = {
		0, 1, 8, 16, 64, 65, CHUNK_BYTES / 4, CHUNK_BYTES / 4 + 1, INT32_MAX,
		UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX
	};
	uint64_t	number = draw(state);

	return number % 4 == 0 ? draw(state) :
		numbers[number / 4 % (sizeof(numbers) / sizeof(*numbers))];
}

static void
send_with_descriptors(int socket, const Message *message, int descriptor,
					  int count)
{
	char		control[CMSG_SPACE(3 * sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec part = {(void *) message, sizeof(*message)};
	struct msghdr envelope = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int))
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
	int			descriptors[3] = {descriptor, descriptor, descriptor};

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
	(void) __real_sendmsg(socket, &envelope, MSG_NOSIGNAL);
}

/*
 * Sends, with MSG_WELCOME, a ring that is not as large as the message says, or
 * soon will not be.
 */
static void
send_bad_ring(int socket, Message *message, uint64_t *state, Later *later)
{
	off_t		size = (off_t) message->u.welcome.chunks * CHUNK_BYTES;
	int			bad = memfd_create("gpusort ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	switch (draw(state) % 4)
	{
		case 0:					/* too small */
			(void) !ftruncate(bad, size / 2);
			(void) fcntl(bad, F_ADD_SEALS, F_SEAL_SHRINK);
			break;
		case 1:					/* soon too small */
			(void) !ftruncate(bad, size);
			later->ring = fcntl(bad, F_DUPFD_CLOEXEC, 0);
			later->shrinks = true;
			break;
		case 2:					/* more is said of it */
			(void) !ftruncate(bad, size);
			(void) fcntl(bad, F_ADD_SEALS, F_SEAL_SHRINK);
			message->u.welcome.chunks = (uint32_t) odd_number(state);
			break;
		default:				/* no memory */
			close(bad);
			bad = open("/dev/null", O_RDWR | O_CLOEXEC);
			break;
	}
	send_with_descriptors(socket, message, bad, 1);
	close(bad);
}

/* Sends a lie in the place of the message. */
static void
lie(int socket, const Message *message, int descriptor, uint64_t *state)
{
	struct
	{
		Message		message;
		char		more[64];
	}			changed = {.message = *message};
	Later		later = {.socket = fcntl(socket, F_DUPFD_CLOEXEC, 0),.ring = -1};
	uint64_t	number = odd_number(state);
	Lie			kind = draw(state) % LIES;
	size_t		size = sizeof(Message);

	if (message->kind == MSG_WELCOME && draw(state) % 2 == 0)
		kind = LIE_RING;
	if (message->kind == MSG_ORDER && draw(state) % 2 == 0)
		kind = draw(state) % 2 == 0 ? LIE_ORDER : LIE_ORDER_LATER;
	switch (kind)
	{
		case LIE_NUMBERS:
			memcpy((char *) &changed.message + 8 * (draw(state) % 4), &number,
				   draw(state) % 2 == 0 ? 4 : 8);
			break;
		case LIE_KIND:
			changed.message.kind = draw(state) % (MSG_END_OF_LIST + 2);
			break;
		case LIE_CUT:
			size = draw(state) % sizeof(Message);
			break;
		case LIE_LONG:
			size += 1 + draw(state) % sizeof(changed.more);
			break;
		case LIE_TWICE:
			(void) __real_send(socket, message, sizeof(Message), MSG_NOSIGNAL);
			break;
		case LIE_SILENCE:
			finish_later(later);
			return;
		case LIE_DESCRIPTORS:
			later.ring = memfd_create("gpusort lie", MFD_CLOEXEC);
			send_with_descriptors(socket, message, later.ring,
								  1 + draw(state) % 3);
			finish_later(later);
			return;
		case LIE_TEXTS:
			memset((char *) &changed.message + sizeof(uint32_t),
				   'a' + draw(state) % 26,
				   sizeof(Message) - sizeof(uint32_t));
			break;
		case LIE_ORDER:
		case LIE_ORDER_LATER:
			if (message->kind == MSG_ORDER)
				change_order(message, state, kind == LIE_ORDER ? NULL : &later);
			break;
		default:
			if (message->kind != MSG_WELCOME)
				break;
			send_bad_ring(socket, &changed.message, state, &later);
			finish_later(later);
			return;
	}
	if (descriptor >= 0)
		send_with_descriptors(socket, &changed.message, descriptor, 1);
	else
		(void) __real_send(socket, &changed, size, MSG_NOSIGNAL);
	finish_later(later);
}

/* Sends a message as one of this kind. */
static void
send_as(int socket, const Message *message, int descriptor, uint32_t kind)
{
	Message		changed = *message;

	changed.kind = kind;
	if (descriptor >= 0)
		send_with_descriptors(socket, &changed, descriptor, 1);
	else
		(void) __real_send(socket, &changed, sizeof(Message), MSG_NOSIGNAL);
}

/*
 * Lies in the place of the message, if a lie is due: one message in "every" is
 * a lie.  False if the message itself has to be sent.  The descriptor is -1 if
 * the message brings none.
 */
static bool
say_something_else(int socket, const Message *message, int descriptor,
				   int every)
{
	const char *seed = getenv("GPUSORTD_LIES");
	uint64_t	state;
	uint32_t	kind;

	if (seed == NULL)
		return false;
	if (kind_is_given(message, &kind))
		send_as(socket, message, descriptor, kind);
	else if (is_lie(seed, every, &state))
		lie(socket, message, descriptor, &state);
	else
		return false;
	return true;
}

ssize_t
__wrap_send(int socket, const void *buffer, size_t size, int flags)
{
	if (size == sizeof(Message) &&
		say_something_else(socket, buffer, -1, LIE_EVERY))
		return (ssize_t) size;
	return __real_send(socket, buffer, size, flags);
}

/*
 * gpusortd sends only MSG_WELCOME with a ring this way, and what trial.c sends
 * to itself.
 */
ssize_t
__wrap_sendmsg(int socket, const struct msghdr *message, int flags)
{
	const Message *sent = message->msg_iov[0].iov_base;

	memcpy(&ring, CMSG_DATA(CMSG_FIRSTHDR(message)), sizeof(int));
	if (sent->kind == MSG_WELCOME &&
		say_something_else(socket, sent, ring, LIE_EVERY_WELCOME))
		return sizeof(Message);
	return __real_sendmsg(socket, message, flags);
}

/* The calls that make a ring. */
int
__wrap_posix_fallocate(int descriptor, off_t offset, off_t length)
{
	return does_wrong("short") ? 0 :
		__real_posix_fallocate(descriptor, offset, length);
}

int
__wrap_fcntl(int descriptor, int command,...)
{
	va_list		arguments;
	long		argument;

	va_start(arguments, command);
	argument = va_arg(arguments, long);
	va_end(arguments);
	return command == F_ADD_SEALS && does_wrong("unsealed") ? 0 :
		__real_fcntl(descriptor, command, argument);
}
