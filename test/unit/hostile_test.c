/*-------------------------------------------------------------------------
 *
 * hostile_test.c
 *	  Tests of gpusortd, with the host engine, against clients that mean harm.
 *
 *		hostile_test PATH_OF_GPUSORTD
 *
 * What a client can do to gpusortd is to send messages, to write to the ring at
 * any time, and to do to the ring's file what can be done to a file.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <pthread.h>

#define TEST_SUBJECT		"hostile client"
#include "daemon_test_client.h"

/* Attempts to have keys read while they change. */
#define NRACES			300


/*
 * A ring that changes while gpusortd reads it
 */

typedef struct Scribbler
{
	pthread_t	thread;
	volatile uint64_t *place;
	uint64_t	good;
	uint64_t	bad;
	volatile bool is_done;
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
 * Pushes a full chunk of keys that vary in length, one of whose ends changes all
 * the while between what it should be and this.
 */
static void
race_with_ends(const Daemon *daemon, uint32_t row, uint64_t bad)
{
	const uint32_t nrows = CHUNK_VARIABLE_ROWS;
	Message		message = {.kind = MSG_KEYS};
	Scribbler	scribbler = {.good = row + 1, .bad = bad};
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
	Daemon		daemon = start("--device-memory=50");

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

/* Looks whether the next client finds anything of the one before. */
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
	Daemon		daemon = start("--device-memory=50");
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
 * A client that has hung up but kept its ring must not have it together with
 * another one.
 */
static void
test_kept_ring(void)
{
	Daemon		daemon = start("--device-memory=50");

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
	Daemon		daemon = start("--device-memory=50");
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

int
main(int argc, char **argv)
{
	if (argc != 2)
	{
		fprintf(stderr, "usage: %s PATH_OF_GPUSORTD\n", argv[0]);
		return 2;
	}
	gpusortd_path = realpath(argv[1], NULL);
	if (gpusortd_path == NULL)
	{
		printf("Bail out! there is no %s\n", argv[1]);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);

	test_changing_ends();
	test_left_keys();
	test_kept_ring();
	test_holes();
	return failures > 0;
}
