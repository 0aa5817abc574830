/*-------------------------------------------------------------------------
 *
 * daemon_test.h
 *	  A gpusortd, and whole jobs of it, for tests from outside.
 *
 * The only source of a test includes this, after it has defined TEST_SUBJECT.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DAEMON_TEST_H
#define GPUSORT_DAEMON_TEST_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon_client.h"

/* not every test uses all functions */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"

#include "test_report.h"
#include "daemon_test_keys.h"

/* How long to watch that something does not happen. */
#define QUIET_MS		300

/* Clients that a test has at the same time. */
#define NCLIENTS		20

/* Chunks of a ring. */
#define STAGING_CHUNKS	((RING_MB << 20) / CHUNK_BYTES)

/* Usual options of gpusortd. */
#define HOST_ENGINE		"--engine=host"
#define HALF_OF_MEMORY	"--device-memory=50"
#define LITTLE_MEMORY	"--device-memory=1"

static const char *gpusortd_path;

bool
daemon_client_wrong(const char *text)
{
	return wrong("%s", text);
}


/*
 * gpusortd
 */

/* The devices of the host engine, for gpusortd's environment; or NULL. */
static const char *host_devices = NULL;
static const char *host_fault = NULL;
static const char *wanted_devices = "--devices=all";

/* The limit of all rings. */
static const char *staging_limit = "--staging-memory-limit=1024";

/*
 * The time without a message after which a client is idle, for gpusortd's
 * environment; in most tests no client ever is.
 */
#define NEVER_IDLE		"3600000"
#define SOON_IDLE		"100"
static const char *idle_milliseconds = NEVER_IDLE;

/* Sets a variable of gpusortd's environment, or unsets it. */
static void
set_variable(const char *name, const char *value)
{
	if (value != NULL)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/* Starts gpusortd in the daemon's directory. */
static void
spawn(Daemon *daemon, const char *engine, const char *device_memory)
{
	const char *const arguments[] = {
		gpusortd_path, engine, wanted_devices, staging_limit, device_memory,
		NULL
	};

	set_variable("GPUSORTD_HOST_DEVICES", host_devices);
	set_variable("GPUSORTD_HOST_FAULT", host_fault);
	set_variable("GPUSORTD_IDLE_MILLISECONDS", idle_milliseconds);
	spawn_program(daemon, (char *const *) arguments);
}

static bool
wait_until_ready(Daemon *daemon)
{
	char		line[LINE_SIZE];

	if (!read_report(daemon, line))
		return wrong("gpusortd did not start");
	if (strncmp(line, "ready host", 10) != 0)
		return wrong("gpusortd reported \"%s\"", line);
	return true;
}

/* Starts gpusortd with a ring of eight chunks, in a directory of its own. */
static Daemon
start(const char *device_memory)
{
	Daemon		daemon;

	make_directory(&daemon);
	spawn(&daemon, HOST_ENGINE, device_memory);
	(void) wait_until_ready(&daemon);
	return daemon;
}

static bool
socket_exists(const Daemon *daemon)
{
	char		path[96];
	struct stat status;

	snprintf(path, sizeof(path), "%s/" SOCKET_PATH, daemon->directory);
	return stat(path, &status) == 0;
}

/* Closes the life line, and checks that gpusortd ends as it should. */
static void
stop(Daemon *daemon)
{
	int			status;

	close(daemon->life_line);
	status = exit_status(daemon);
	if (status != 0)
		wrong("gpusortd ended with status %d", status);
	if (socket_exists(daemon))
		wrong("gpusortd left its socket behind");
	close(daemon->reports);
	remove_directory(daemon);
}


/*
 * Clients
 */

/* Does anything come within the time that QUIET_MS gives? */
static bool
is_quiet(Client *client)
{
	struct pollfd state = {.fd = client->socket,.events = POLLIN};

	return poll(&state, 1, QUIET_MS) == 0;
}

/* Expects MSG_FAILED or MSG_REFUSED with a reason, and then the end. */
static bool
expect_failure(Client *client, const char *what, char *reason)
{
	Message		message;

	do
	{
		if (!try_receive(client, &message))
			return wrong("%s: the connection was closed without a reason",
						 what);
	} while (message.kind == MSG_KEYS_TAKEN || message.kind == MSG_SORTED ||
			 message.kind == MSG_ORDER);
	if (message.kind != MSG_FAILED && message.kind != MSG_REFUSED)
		return wrong("%s: was answered with kind %u", what, message.kind);
	if (message.u.failed.text[0] == '\0')
		return wrong("%s: the reason is empty", what);
	if (reason != NULL)
		strcpy(reason, message.u.failed.text);
	return true;
}


/*
 * Whole jobs
 */

static uint64_t
random_word(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/*
 * Makes keys, some of which are equal.  If keys vary in length the first word
 * of each tells its length, so that keys are prefix-free.
 */
static KeySet
make_keys(uint32_t fixed_words, uint64_t nrows, uint64_t seed)
{
	KeySet		set = {{fixed_words, true}, nrows, NULL, NULL};
	uint64_t	state = seed * 2 + 1;
	uint32_t	max_words = fixed_words != 0 ? fixed_words : 4;
	uint64_t	nwords = 0;

	set.words = malloc((nrows * max_words + 1) * sizeof(uint64_t));
	set.ends = malloc((nrows + 1) * sizeof(uint64_t));
	for (uint64_t row = 0; row < nrows; row++)
	{
		uint32_t	length = fixed_words;

		if (fixed_words == 0)
			length = 1 + random_word(&state) % max_words;
		for (uint32_t i = 0; i < length; i++)
			set.words[nwords + i] = i == 0 && fixed_words == 0 ? length :
				random_word(&state) % (nrows / 2 + 1);
		nwords += length;
		set.ends[row] = nwords;
	}
	return set;
}

/* Rows of the next batch: at random, as many as fit into a chunk at most. */
static uint64_t
batch_rows(const KeySet *set, uint64_t first, uint64_t *state)
{
	uint64_t	max_rows = CHUNK_BYTES / sizeof(uint64_t) /
		(set->shape.fixed_words != 0 ? set->shape.fixed_words : 1);
	uint64_t	rows;

	if (set->shape.fixed_words == 0)
		max_rows = CHUNK_VARIABLE_ROWS;
	rows = random_word(state) % 4 == 0 ? max_rows :
		1 + random_word(state) % max_rows;
	if (rows > set->nrows - first)
		rows = set->nrows - first;
	if (set->shape.fixed_words == 0)
	{
		while (set->ends[first + rows - 1] - key_begin(set, first) >
			   CHUNK_BYTES / sizeof(uint64_t) - CHUNK_VARIABLE_ROWS)
			rows--;
	}
	return rows;
}

/* Pushes all keys, in batches of different sizes. */
static bool
push_keys(Client *client, const KeySet *set)
{
	/* other batches for other keys */
	uint64_t	state = set->nrows == 0 ? 1 :
		set->words[set->ends[set->nrows - 1] - 1] * 2 + 1;
	uint32_t	chunk = 0;
	uint64_t	rows;

	for (uint64_t first = 0; first < set->nrows; first += rows)
	{
		Message		message = {.kind = MSG_KEYS};
		uint64_t   *words;
		uint64_t	begin_word = key_begin(set, first);
		uint64_t	nwords;

		if (!await_chunk(client, chunk))
			return false;
		rows = batch_rows(set, first, &state);
		nwords = set->ends[first + rows - 1] - begin_word;
		words = (uint64_t *) (client->ring + (size_t) chunk * CHUNK_BYTES);
		if (set->shape.fixed_words == 0)
		{
			memcpy(words, set->ends + first, rows * sizeof(uint64_t));
			words += CHUNK_VARIABLE_ROWS;
		}
		memcpy(words, set->words + begin_word, nwords * sizeof(uint64_t));

		message.u.keys.chunk = chunk;
		message.u.keys.nrows = (uint32_t) rows;
		message.u.keys.nwords = nwords;
		client->chunk_is_ours[chunk] = false;
		if (!send_message(client, &message))
			return false;
		chunk = (chunk + 1) % client->nchunks;
	}
	return true;
}

/* From the first key of a job that has begun to the check of its order. */
static bool
finish_job(Client *client, const KeySet *set)
{
	uint32_t   *order = malloc((set->nrows + 1) * sizeof(uint32_t));
	bool		good = push_keys(client, set) &&
		send_run(client, set->nrows) &&
		receive_sorted(client) &&
		receive_order(client, order, set->nrows) &&
		check_order(set, order, "a job");

	free(order);
	return good;
}

/*
 * Does a whole job with these keys, from its beginning to the check of its
 * order, with this expected number of rows.
 */
static bool
do_job_with_keys(const Daemon *daemon, const KeySet *set,
				 uint64_t expected_rows)
{
	Client		client;
	bool		good = begin(daemon, &client, set->shape.fixed_words,
							 expected_rows) &&
		finish_job(&client, set);

	hang_up(&client);
	return good;
}

static bool
do_job(const Daemon *daemon, uint32_t fixed_words, uint64_t nrows,
	   uint64_t seed)
{
	KeySet		set = make_keys(fixed_words, nrows, seed);
	bool		good = do_job_with_keys(daemon, &set, nrows / 2);

	free_keys(&set);
	return good;
}

/* A client in a thread of its own, among others. */
typedef struct Worker
{
	pthread_t	thread;
	const Daemon *daemon;
	uint64_t	number;
} Worker;

/* Runs this many clients at a time, each in a thread. */
static void
run_workers(const Daemon *daemon, int count, void *(*work) (void *))
{
	Worker		workers[NCLIENTS];

	for (int i = 0; i < count; i++)
	{
		workers[i].daemon = daemon;
		workers[i].number = (uint64_t) i;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
}

/* Some jobs of a client among others, one after the other. */
static void *
run_worker(void *argument)
{
	Worker	   *worker = argument;

	for (uint64_t i = 0; i < 5; i++)
	{
		if (!do_job(worker->daemon, worker->number % 3, 20000 * i,
					worker->number * 100 + i))
			break;
	}
	return NULL;
}

/* Takes the path of gpusortd, which is a test's only argument. */
static bool
begin_tests(int argc, char **argv)
{
	if (argc != 2)
	{
		fprintf(stderr, "usage: %s PATH_OF_GPUSORTD\n", argv[0]);
		return false;
	}
	gpusortd_path = realpath(argv[1], NULL);
	if (gpusortd_path == NULL)
	{
		printf("Bail out! there is no %s\n", argv[1]);
		return false;
	}
	signal(SIGPIPE, SIG_IGN);
	return true;
}

#endif							/* GPUSORT_DAEMON_TEST_H */
