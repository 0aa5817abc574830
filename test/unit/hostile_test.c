/*-------------------------------------------------------------------------
 *
 * hostile_test.c
 *	  Tests of gpusortd, with the host engine, against clients that mean harm.
 *
 *		hostile_test PATH_OF_GPUSORTD
 *
 * A client can do three things to gpusortd: send messages, write to the ring
 * at any time, and do to the ring's file whatever can be done to a file.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define TEST_SUBJECT		"hostile client"
#include "daemon_test.h"

/* Attempts to have keys read while they change. */
#define NRACES			300

/* Connections of each client that sends random messages. */
#define NRANDOM			200


/*
 * A ring that changes while gpusortd reads it
 */

typedef struct Scribbler
{
	pthread_t	thread;
	volatile uint64_t *place;
	uint64_t	good;
	uint64_t	bad;
	atomic_bool is_done;
} Scribbler;

static void *
scribble(void *argument)
{
	Scribbler  *scribbler = argument;

	while (!scribbler->is_done)
	{
		*scribbler->place = scribbler->good;
		*scribbler->place = scribbler->bad;
	}
	return NULL;
}

/*
 * Pushes a full chunk of keys that vary in length.  All the while one of their
 * ends changes between the right value and this one.
 */
static void
race_with_ends(const Daemon *daemon, uint32_t row, uint64_t bad)
{
	const uint32_t nrows = CHUNK_VARIABLE_ROWS;
	Message		message = {.kind = MSG_KEYS};
	Scribbler	scribbler = {.good = row + 1,.bad = bad};
	Client		client;

	message.u.keys.nrows = nrows;
	message.u.keys.nwords = nrows;
	if (begin(daemon, &client, 0, nrows))
	{
		uint64_t   *ends = (uint64_t *) client.ring;

		for (uint32_t i = 0; i < nrows; i++)
			ends[i] = i + 1;
		scribbler.place = &ends[row];
		pthread_create(&scribbler.thread, NULL, scribble, &scribbler);

		/* either it is refused, or it is sorted by what was right */
		if (send_message(&client, &message) && send_run(&client, nrows))
		{
			while (try_receive(&client, &message) &&
				   message.kind == MSG_KEYS_TAKEN)
				;
			if (message.kind != MSG_FAILED && message.kind != MSG_SORTED)
				wrong("it was answered with kind %u", message.kind);
		}
		scribbler.is_done = true;
		pthread_join(scribbler.thread, NULL);
	}
	hang_up(&client);
}

static void
test_changing_ends(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);

	for (int i = 0; i < NRACES && problem[0] == '\0'; i++)
		race_with_ends(&daemon, (uint32_t) (i * 109 % CHUNK_VARIABLE_ROWS),
					   i % 2 == 0 ? UINT64_C(1) << 40 : 0);
	(void) do_job(&daemon, 0, 1000, 1);
	stop(&daemon);
	conclude("bears ends of keys that change while they are read");
}


/*
 * What is left in a ring
 */

/* Is nothing but zeros in a ring? */
static bool
is_clear(const Client *client)
{
	const size_t bytes = (size_t) client->nchunks * CHUNK_BYTES;

	return client->ring[0] == 0 && memcmp(client->ring, client->ring + 1,
										  bytes - 1) == 0;
}

/* Checks that the next client finds nothing of the one before. */
static void
check_clear(const Daemon *daemon, const char *what)
{
	Client		client;

	/* it may take a moment to notice that a client is gone */
	usleep(QUIET_MS * 1000);
	if (begin(daemon, &client, 1, 10) && !is_clear(&client))
		wrong("%s: the next client finds what was of the job", what);
	hang_up(&client);
}

static void
test_left_keys(void)
{
	static const uint32_t widths[] = {1, 3, KEY_MAX_WORDS, 0};
	Daemon		daemon = start(HALF_OF_MEMORY);
	Client		client;

	check_clear(&daemon, "no job");
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
	{
		(void) do_job(&daemon, widths[i], 1000, i);
		check_clear(&daemon, "a small job");
		(void) do_job(&daemon, widths[i], 300000, i);
		check_clear(&daemon, "a large job");
	}

	/* keys that it has not announced when it hangs up */
	for (uint32_t pushed = 0; pushed < STAGING_CHUNKS; pushed += 3)
	{
		KeySet		set = make_keys(0, CHUNK_VARIABLE_ROWS / 8, pushed);

		if (begin(&daemon, &client, 0, 10))
		{
			Message		message = {.kind = MSG_KEYS};
			uint64_t	nrows = 0;

			for (uint32_t i = 0; i < pushed; i++)
			{
				uint64_t   *ends = (uint64_t *)
					(client.ring + (size_t) i * CHUNK_BYTES);

				ends[0] = ++nrows;
				ends[CHUNK_VARIABLE_ROWS] = 77;
				message.u.keys.chunk = i;
				message.u.keys.nrows = 1;
				message.u.keys.nwords = 1;
				(void) send_message(&client, &message);
			}
			memset(client.ring + (size_t) pushed * CHUNK_BYTES, 1,
				   CHUNK_BYTES);
		}
		hang_up(&client);
		free_keys(&set);
		check_clear(&daemon, "a job that was left");
	}
	stop(&daemon);
	conclude("leaves nothing of a job to the next client");
}

/*
 * A client that has hung up but kept its ring must not share it with another
 * client.
 */
static void
test_kept_ring(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);

	for (int mapped = 0; mapped <= 1; mapped++)
	{
		Client		client;
		Client		next;
		char	   *ring = NULL;
		int			descriptor = -1;

		if (begin(&daemon, &client, 1, 10))
		{
			ring = client.ring;
			descriptor = client.ring_descriptor;
			if (mapped == 0)
			{
				munmap(client.ring, (size_t) client.nchunks * CHUNK_BYTES);
				ring = NULL;
			}
			else
				close(client.ring_descriptor);
			client.ring = NULL;
			client.ring_descriptor = -1;
		}
		hang_up(&client);
		usleep(QUIET_MS * 1000);
		if (begin(&daemon, &next, 1, 10))
		{
			strcpy(next.ring, "a secret");
			if (ring != NULL ? strcmp(ring, "a secret") == 0 :
				pread(descriptor, problem, 8, 0) == 8 &&
				memcmp(problem, "a secret", 8) == 0)
				wrong("a client reads the keys of the next one");
			else
				problem[0] = '\0';
		}
		hang_up(&next);
		if (ring != NULL)
			munmap(ring, STAGING_CHUNKS * CHUNK_BYTES);
		else
			close(descriptor);
	}
	stop(&daemon);
	conclude("does not hand on a ring that a client has kept");
}

/* The number of the memory behind a descriptor. */
static ino_t
memory_number(int descriptor)
{
	struct stat status = {0};

	(void) fstat(descriptor, &status);
	return status.st_ino;
}

/* A ring with holes has other pages than those that are pinned. */
static void
test_holes(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
	ino_t		punched = 0;
	Client		client;

	if (begin(&daemon, &client, 1, 10))
	{
		punched = memory_number(client.ring_descriptor);
		if (fallocate(client.ring_descriptor,
					  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192,
					  4096) < 0)
			wrong("no hole could be punched");
	}
	hang_up(&client);
	usleep(QUIET_MS * 1000);
	if (begin(&daemon, &client, 1, 10) &&
		memory_number(client.ring_descriptor) == punched)
		wrong("a ring with a hole is used again");
	if (ftruncate(client.ring_descriptor, 4096) == 0 ||
		ftruncate(client.ring_descriptor, 1 << 30) == 0 ||
		fcntl(client.ring_descriptor, F_ADD_SEALS, F_SEAL_WRITE) == 0)
		wrong("the size of a ring can be changed, or the ring be sealed");
	hang_up(&client);
	(void) do_job(&daemon, 1, 300000, 1);
	stop(&daemon);
	conclude("uses no ring again that lacks pages");
}


/*
 * More clients than there are rings for
 */

/* Memory of all rings that gpusortd has, in MB. */
static long
staging_megabytes(const Daemon *daemon)
{
	char		path[64];
	char		target[64];
	struct stat status;
	long		blocks = 0;

	/*
	 * a ring that is being sent to a client has two descriptors for a moment
	 */
	usleep(QUIET_MS * 1000);
	for (int descriptor = 0; descriptor < 256; descriptor++)
	{
		ssize_t		length;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) daemon->pid,
				 descriptor);
		length = readlink(path, target, sizeof(target) - 1);
		if (length > 0 && strncmp(target, "/memfd:gpusort", 14) == 0 &&
			stat(path, &status) == 0)
			blocks += status.st_blocks;
	}
	return blocks / 2048;
}

/* Says hello, and is refused since there is no ring. */
static void
check_refused(const Daemon *daemon)
{
	Message		message;
	Client		client;

	if (connect_client(daemon, &client) && say_hello(&client, 1, 10) &&
		try_receive(&client, &message) &&
		(message.kind != MSG_REFUSED ||
		 message.u.failed.cause != FAILURE_FULL ||
		 strstr(message.u.failed.text, "staging memory") == NULL))
		wrong("without a ring it is answered with kind %u, cause %u",
			  message.kind, message.u.failed.cause);
	hang_up(&client);
}

/* Begins a job as soon as there is a ring for it. */
static void
begin_in_time(const Daemon *daemon, Client *client)
{
	uint64_t	deadline = milliseconds() + patience_ms;

	while (connect_client(daemon, client) && milliseconds() < deadline)
	{
		client->may_fail = true;
		if (say_hello(client, 1, 10) && receive_welcome(client))
			return;
		hang_up(client);
		usleep(10000);
	}
	wrong("no ring is to be had");
}

static void
test_staging_limit(void)
{
	Client		clients[3];
	Daemon		daemon;

	/* a ring takes 16 MB, and 1 MB beside it */
	staging_limit = "--staging-memory-limit=60";
	daemon = start(HALF_OF_MEMORY);
	for (int i = 0; i < 3; i++)
		(void) begin(&daemon, &clients[i], 1, 10);
	check_refused(&daemon);
	if (staging_megabytes(&daemon) != 48)
		wrong("rings have %ld MB", staging_megabytes(&daemon));
	hang_up(&clients[1]);
	begin_in_time(&daemon, &clients[1]);
	check_refused(&daemon);
	for (int i = 0; i < 3; i++)
		hang_up(&clients[i]);
	stop(&daemon);
	conclude("has no more rings than it may have");

	/* less than a ring and what is beside it allows one */
	staging_limit = "--staging-memory-limit=16";
	daemon = start(HALF_OF_MEMORY);
	(void) do_job(&daemon, 0, 1000, 1);
	stop(&daemon);
	staging_limit = "--staging-memory-limit=1024";
	conclude("has one ring at least");
}

/* True if gpusortd has ended the client's job, with this cause. */
static bool
has_failed(Client *client, FailureCause cause)
{
	Message		message;

	return recv(client->socket, &message, sizeof(message),
				MSG_DONTWAIT) == sizeof(message) &&
		message.kind == MSG_FAILED && message.u.failed.cause == cause;
}

/* Is the client's connection closed, with nothing said? */
static bool
is_closed(Client *client)
{
	char		byte;

	return recv(client->socket, &byte, 1, MSG_DONTWAIT) == 0;
}

static void
test_idle_rings(void)
{
	KeySet		set = make_keys(1, 1000, 1);
	Message		message;
	Client		between;
	Client		filling;
	Client		reading;
	bool		filling_failed = false;
	bool		between_closed = false;
	uint64_t	deadline = milliseconds() + patience_ms;
	Daemon		daemon;

	staging_limit = "--staging-memory-limit=60";
	idle_milliseconds = SOON_IDLE;
	daemon = start(HALF_OF_MEMORY);

	/* one has done a job, one has keys to come, one does not fetch its order */
	if (!begin(&daemon, &between, 1, 10) || !finish_job(&between, &set) ||
		!begin(&daemon, &filling, 1, 10) || !push_keys(&filling, &set) ||
		!await_chunk(&filling, 0) ||
		!begin(&daemon, &reading, 1, 10) || !push_keys(&reading, &set) ||
		!send_run(&reading, set.nrows) || !receive_sorted(&reading) ||
		!receive_kind(&reading, &message, MSG_ORDER))
		wrong("the clients cannot begin");

	/* the two that come may have to give way to each other, too */
	while ((!filling_failed || !between_closed) && milliseconds() < deadline &&
		   problem[0] == '\0')
	{
		Client		next;
		Client		last;

		begin_in_time(&daemon, &next);
		begin_in_time(&daemon, &last);
		filling_failed |= has_failed(&filling, FAILURE_FULL);
		between_closed |= is_closed(&between);
		hang_up(&next);
		hang_up(&last);
	}
	if (!filling_failed || !between_closed)
		wrong("idle clients keep their rings");

	/* what it may be reading is still there */
	(void) check_order(&set, (uint32_t *) reading.ring, "an order read late");
	hang_up(&between);
	hang_up(&filling);
	hang_up(&reading);
	free_keys(&set);
	stop(&daemon);
	staging_limit = "--staging-memory-limit=1024";
	idle_milliseconds = NEVER_IDLE;
	conclude("takes rings away from idle clients");
}

/* Clients that say nothing at all are not kept. */
static void
test_silent_clients(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
	Client		clients[20];
	Message		message;

	for (int i = 0; i < 20; i++)
		(void) connect_client(&daemon, &clients[i]);
	(void) do_job(&daemon, 1, 1000, 1);
	for (int i = 0; i < 20; i++)
	{
		if (try_receive(&clients[i], &message))
			wrong("kind %u came", message.kind);
		hang_up(&clients[i]);
	}
	stop(&daemon);
	conclude("closes connections of clients that say nothing");
}


/*
 * Whatever comes to mind
 */

/* A number that may be at some limit. */
static uint64_t
random_number(uint64_t *state)
{
	static const uint64_t limits[] = {
		0, 1, 2, KEY_MAX_WORDS, STAGING_CHUNKS, CHUNK_VARIABLE_ROWS,
		CHUNK_BYTES / sizeof(uint64_t), CHUNK_BYTES, INT32_MAX, UINT32_MAX,
		SORT_MAX_ROWS, UINT64_C(1) << 61, INT64_MAX, UINT64_MAX
	};
	uint64_t	choice = random_word(state);

	if (choice % 4 == 0)
		return random_word(state) % 1000;
	return limits[choice / 4 % (sizeof(limits) / sizeof(*limits))] +
		random_word(state) % 3 - 1;
}

/* Makes ends of keys in a chunk; mostly all of them are right. */
static void
scribble_ends(Client *client, uint32_t chunk, uint64_t nrows, uint64_t *end,
			  uint64_t *state)
{
	uint64_t   *ends = (uint64_t *) (client->ring + (size_t) chunk * CHUNK_BYTES);

	for (uint64_t row = 0; row < nrows && row < CHUNK_VARIABLE_ROWS; row++)
		ends[row] = *end += 1 + random_word(state) % 3;
	if (random_word(state) % 8 == 0)
		ends[random_word(state) % CHUNK_VARIABLE_ROWS] = random_number(state);
}

/* A message that may be right for a job that has come this far. */
static Message
random_message(Client *client, uint32_t fixed_words, uint64_t *nrows,
			   uint64_t *end, uint64_t *state)
{
	uint64_t	choice = random_word(state) % 16;
	Message		message = {.kind = MSG_KEYS};

	if (choice < 10)
	{
		uint64_t	first = *end;

		message.u.keys.chunk = random_word(state) % STAGING_CHUNKS;
		message.u.keys.nrows = (uint32_t) (1 + random_word(state) % 1000);
		if (fixed_words == 0)
			scribble_ends(client, message.u.keys.chunk, message.u.keys.nrows,
						  end, state);
		message.u.keys.nwords = fixed_words == 0 ? *end - first :
			message.u.keys.nrows * fixed_words;
		*nrows += message.u.keys.nrows;
		return message;
	}
	if (choice < 12)
	{
		message.kind = MSG_SORT;
		message.u.sort.nrows = *nrows;
		return message;
	}
	message.kind = (uint32_t) (random_word(state) % (MSG_END_OF_LIST + 2));
	message.u.hello.version = PROTOCOL_VERSION;
	if (message.kind == MSG_HELLO)
	{
		message.u.hello.fixed_words = (uint32_t) random_number(state);
		message.u.hello.algorithm = (uint32_t) (random_word(state) % 8);
		message.u.hello.role = (uint32_t) random_number(state);
		message.u.hello.role_limit = random_number(state);
		message.u.hello.expected_rows = random_number(state);
		return message;
	}
	message.u.keys.chunk = (uint32_t) random_number(state);
	message.u.keys.nrows = (uint32_t) random_number(state);
	message.u.keys.nwords = random_number(state);
	return message;
}

/* What a client may do to its ring. */
static void
spoil_ring(Client *client, uint64_t *state)
{
	uint64_t	place = random_word(state) % (STAGING_CHUNKS * CHUNK_BYTES / 8);

	switch (random_word(state) % 8)
	{
		case 0:
			(void) fallocate(client->ring_descriptor,
							 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
							 (off_t) (place * 8), 100000);
			break;
		case 1:
			(void) ftruncate(client->ring_descriptor, (off_t) place);
			break;
		case 2:
			(void) fcntl(client->ring_descriptor, F_ADD_SEALS, F_SEAL_WRITE);
			break;
		default:
			((uint64_t *) client->ring)[place] = random_number(state);
			break;
	}
}

/* Takes whatever has come. */
static void
receive_all(Client *client)
{
	Message		message;

	while (recv(client->socket, &message, sizeof(message), MSG_DONTWAIT) > 0)
		;
}

static void *
run_random_clients(void *argument)
{
	Worker	   *worker = argument;
	uint64_t	state = worker->number * 2 + 1;

	for (int i = 0; i < NRANDOM && problem[0] == '\0'; i++)
	{
		uint32_t	fixed_words = (uint32_t) (random_word(&state) % 4);
		uint64_t	nrows = 0;
		uint64_t	end = 0;
		Client		client;

		if (begin(worker->daemon, &client, fixed_words, 100))
		{
			for (uint64_t left = random_word(&state) % 30; left > 0; left--)
			{
				Message		message = random_message(&client, fixed_words,
													 &nrows, &end, &state);

				spoil_ring(&client, &state);
				(void) send(client.socket, &message,
							random_word(&state) % 32 == 0 ?
							random_word(&state) % sizeof(message) + 1 :
							sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
				if (random_word(&state) % 2 == 0)
					receive_all(&client);
			}
		}
		hang_up(&client);
	}
	return NULL;
}

static void
test_random(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);

	run_workers(&daemon, 4, run_random_clients);
	(void) do_job(&daemon, 0, 1000, 1);
	stop(&daemon);
	conclude("bears clients that send anything");
}

int
main(int argc, char **argv)
{
	if (!begin_tests(argc, argv))
		return 2;

	test_changing_ends();
	test_left_keys();
	test_kept_ring();
	test_holes();
	test_staging_limit();
	test_idle_rings();
	test_silent_clients();
	test_random();
	return failures > 0;
}
