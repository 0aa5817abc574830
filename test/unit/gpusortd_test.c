/*-------------------------------------------------------------------------
 *
 * gpusortd_test.c
 *	  Tests of gpusortd from outside, with the host engine.
 *
 *		gpusortd_test PATH_OF_GPUSORTD
 *
 * Each test starts a gpusortd in a directory of its own and is its launcher
 * and its clients: well-behaved ones, ones that hang up, and ones that send
 * nonsense.  gpusortd is best built with sanitizers, whose reports end it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../kernels/device_sort.h"
#include "../../src/protocol.h"

#define TEST_SUBJECT		"gpusortd"
#include "daemon_test_client.h"

#define NCLIENTS		20

/* gpusortd may keep some rings, each with a descriptor, for jobs to come. */
#define MAX_IDLE_RINGS	32
#define NLEAK_ROUNDS	1000


/*
 * The tests
 */

static void
test_start(void)
{
	Daemon		daemon = start("--device-memory=50");
	char		path[96];
	struct stat status;

	snprintf(path, sizeof(path), "%s/" SOCKET_PATH, daemon.directory);
	if (stat(path, &status) < 0)
		wrong("there is no socket");
	else if ((status.st_mode & 07777) != 0600)
		wrong("the socket has mode %o", status.st_mode & 07777);
	stop(&daemon);
	conclude("starts, listens for its own user only, and ends");
}

static void
test_devices(void)
{
	Daemon		daemon = start("--device-memory=50");
	Message		message = {.kind = MSG_LIST_DEVICES};
	Client		client;

	if (connect_client(&daemon, &client) && send_message(&client, &message) &&
		receive_kind(&client, &message, MSG_DEVICE))
	{
		if (message.u.device.name[0] == '\0' ||
			message.u.device.state != DEVICE_READY ||
			message.u.device.memory_bytes == 0)
			wrong("the device is not described");
		(void) receive_kind(&client, &message, MSG_END_OF_LIST);
	}
	hang_up(&client);
	stop(&daemon);
	conclude("lists its device");
}

static void
test_jobs(void)
{
	static const uint32_t widths[] = {1, 2, 5, KEY_MAX_WORDS, 0};
	static const uint64_t sizes[] = {0, 1, 2, 1000, 300000};
	Daemon		daemon = start("--device-memory=50");

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
	{
		for (size_t j = 0; j < sizeof(sizes) / sizeof(*sizes); j++)
			(void) do_job(&daemon, widths[i], sizes[j], 1 + i * 10 + j);
	}
	conclude("sorts keys of fixed and varying width");

	/* the order alone is three chunks, of a ring of two */
	(void) do_job(&daemon, 1, 2500000, 7);
	(void) do_job(&daemon, 0, 2200000, 8);
	stop(&daemon);
	conclude("uses the chunks of a ring over and over");
}

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

static void
test_concurrency(void)
{
	Daemon		daemon = start("--device-memory=50");
	Worker		workers[NCLIENTS];

	for (int i = 0; i < NCLIENTS; i++)
	{
		workers[i].daemon = &daemon;
		workers[i].number = (uint64_t) i;
		pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
	}
	for (int i = 0; i < NCLIENTS; i++)
		pthread_join(workers[i].thread, NULL);
	stop(&daemon);
	conclude("serves 20 clients at once");
}

/* Descriptors that gpusortd has open. */
static int
count_descriptors(const Daemon *daemon)
{
	char		path[64];
	DIR		   *directory;
	int			count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int) daemon->pid);
	directory = opendir(path);
	if (directory == NULL)
		return -1;
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

/* The number in a line of gpusortd's /proc/PID/status. */
static long
status_number(const Daemon *daemon, const char *name)
{
	char		line[256];
	long		number = -1;
	FILE	   *file;

	snprintf(line, sizeof(line), "/proc/%d/status", (int) daemon->pid);
	file = fopen(line, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		if (strncmp(line, name, strlen(name)) == 0)
			number = strtol(line + strlen(name), NULL, 10);
	}
	if (file != NULL)
		fclose(file);
	return number;
}

/* What gpusortd has when it has nothing to do. */
typedef struct IdleState
{
	int			descriptors;
	long		threads;
} IdleState;

/* It may take a moment to notice that clients are gone. */
static IdleState
idle_state(const Daemon *daemon)
{
	usleep(200000);
	return (IdleState) {count_descriptors(daemon),
		status_number(daemon, "Threads:")};
}

/*
 * Waits until gpusortd has as few descriptors and threads as it had, or fewer,
 * but for idle rings.
 */
static void
check_released(const Daemon *daemon, const IdleState *before)
{
	uint64_t	deadline = milliseconds() + PATIENCE_MS;

	while (count_descriptors(daemon) > before->descriptors + MAX_IDLE_RINGS ||
		   status_number(daemon, "Threads:") > before->threads)
	{
		if (milliseconds() > deadline)
		{
			wrong("gpusortd has %d descriptors instead of %d, %ld threads instead of %ld",
				  count_descriptors(daemon), before->descriptors,
				  status_number(daemon, "Threads:"), before->threads);
			return;
		}
		usleep(10000);
	}
}

/* Stages of a job after which a client may hang up. */
typedef enum Stage
{
	STAGE_CONNECTED,
	STAGE_HELLO,
	STAGE_WELCOME,
	STAGE_SOME_KEYS,
	STAGE_KEYS,
	STAGE_RUN,
	STAGE_SORTED,
	STAGE_ORDER,
	STAGE_COUNT
} Stage;

/* Goes through a job of so many rows up to a stage and hangs up. */
static void
leave_job(const Daemon *daemon, Stage stage, uint64_t nrows)
{
	KeySet		set = make_keys(2, nrows, 5);
	Message		message;
	Client		client;
	bool		good = connect_client(daemon, &client);

	if (stage >= STAGE_HELLO)
		good = good && say_hello(&client, 2, nrows);
	if (stage >= STAGE_WELCOME)
		good = good && receive_welcome(&client);
	if (stage == STAGE_SOME_KEYS)
		set.nrows = set.nrows / 2 + 1;
	if (stage >= STAGE_SOME_KEYS)
		good = good && push_keys(&client, &set);
	if (stage >= STAGE_RUN)
		good = good && send_run(&client, nrows);
	if (stage >= STAGE_SORTED)
		good = good && receive_sorted(&client);
	if (stage >= STAGE_ORDER && good)
		(void) receive_kind(&client, &message, MSG_ORDER);
	hang_up(&client);
	free_keys(&set);
}

static void
test_hang_up(void)
{
	Daemon		daemon = start("--device-memory=50");
	IdleState	before;

	(void) do_job(&daemon, 1, 1000, 1);
	before = idle_state(&daemon);
	for (int stage = 0; stage < STAGE_COUNT; stage++)
	{
		for (int i = 0; i < 5; i++)
			leave_job(&daemon, stage, i % 2 == 0 ? 100 : 300000);
	}

	check_released(&daemon, &before);
	(void) do_job(&daemon, 1, 1000, 1);
	stop(&daemon);
	conclude("bears clients that hang up at any stage");
}

static void
test_leaks(void)
{
	Daemon		daemon = start("--device-memory=50");
	IdleState	before = {0};
	long		memory = 0;

	for (int i = 0; i < NLEAK_ROUNDS && problem[0] == '\0'; i++)
	{
		if (i == NLEAK_ROUNDS / 5)
		{
			before = idle_state(&daemon);
			memory = status_number(&daemon, "VmRSS:");
		}
		if (i % 2 == 0)
			leave_job(&daemon, i / 2 % STAGE_COUNT, 100);
		else
			(void) do_job(&daemon, i % 3, 50, (uint64_t) i);
	}
	check_released(&daemon, &before);
	if (status_number(&daemon, "VmRSS:") > memory + 16 * 1024)
		wrong("gpusortd has grown from %ld kB to %ld kB", memory,
			  status_number(&daemon, "VmRSS:"));
	stop(&daemon);
	conclude("leaks nothing in 1000 connections");
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

/* A first message that must be answered with a failure for this reason. */
static void
try_first_message(const Daemon *daemon, const char *what,
				  const Message *message, size_t length,
				  const char *expected_reason)
{
	char		reason[MESSAGE_TEXT_SIZE] = "";
	Client		client;

	if (connect_client(daemon, &client))
	{
		if (send(client.socket, message, length, MSG_NOSIGNAL) !=
			(ssize_t) length)
			wrong("%s: could not be sent", what);
		if (expect_failure(&client, what, reason) &&
			strstr(reason, expected_reason) == NULL)
			wrong("%s: the reason is \"%s\"", what, reason);
	}
	hang_up(&client);
}

/* The engine is told the algorithm, whether or not it has several. */
static void
test_algorithms(void)
{
	Daemon		daemon = start("--device-memory=50");

	for (uint32_t each = DEVICE_SORT_AUTO; each <= DEVICE_SORT_MERGE; each++)
	{
		Message		message = hello_message(1, 10);
		Client		client;

		message.u.hello.algorithm = each;
		if (connect_client(&daemon, &client) &&
			send_message(&client, &message) && receive_welcome(&client) &&
			send_run(&client, 0))
			(void) receive_sorted(&client);
		hang_up(&client);
	}
	stop(&daemon);
	conclude("takes all algorithms");
}

/* Begins a job where another one has ended; the ring stays. */
static bool
begin_again(Client *client, uint32_t fixed_words, uint64_t expected_rows)
{
	int			descriptor = client->ring_descriptor;
	Message		message;

	if (!say_hello(client, fixed_words, expected_rows) ||
		!receive_kind(client, &message, MSG_WELCOME))
		return false;
	if (client->ring_descriptor != descriptor)
		return wrong("another ring came");
	memset(client->chunk_is_ours, true, client->nchunks);
	return true;
}

static void
test_jobs_of_one_connection(void)
{
	Daemon		daemon = start("--device-memory=50");
	Client		client;
	bool		good = begin(&daemon, &client, 0, 10);

	for (uint32_t i = 0; i < 12 && good; i++)
	{
		KeySet		set = make_keys(i % 4, i % 3 == 0 ? 700000 : i * 100, i);

		good = (i == 0 || begin_again(&client, i % 4, i * 1000)) &&
			finish_job(&client, &set);
		free_keys(&set);
	}
	hang_up(&client);
	stop(&daemon);
	conclude("does one job after another for a client");
}

static void
test_bad_beginnings(void)
{
	Daemon		daemon = start("--device-memory=50");
	struct
	{
		Message		message;
		char		more[100];
	}			large = {.message = hello_message(1, 10)};
	Message		message = hello_message(1, 10);

	message.u.hello.version++;
	try_first_message(&daemon, "another version", &message, sizeof(message),
					  VERSIONS_DIFFER);
	message = hello_message(KEY_MAX_WORDS + 1, 10);
	try_first_message(&daemon, "too long keys", &message, sizeof(message),
					  "unexpected");
	message = hello_message(1, 10);
	message.u.hello.algorithm = DEVICE_SORT_MERGE + 1;
	try_first_message(&daemon, "unknown algorithm", &message,
					  sizeof(message), "unexpected");
	message = hello_message(1, UINT64_MAX);
	try_first_message(&daemon, "too many rows", &message, sizeof(message),
					  "device memory");
	message = hello_message(0, SORT_MAX_ROWS);
	try_first_message(&daemon, "too much memory", &message, sizeof(message),
					  "device memory");
	for (uint32_t kind = 0; kind < 20; kind++)
	{
		message = (Message) {.kind = kind};
		if (kind != MSG_HELLO && kind != MSG_LIST_DEVICES)
			try_first_message(&daemon, "wrong first message", &message,
							  sizeof(message), VERSIONS_DIFFER);
	}
	message = hello_message(1, 10);
	try_first_message(&daemon, "one byte", &message, 1, VERSIONS_DIFFER);
	try_first_message(&daemon, "a short message", &message,
					  sizeof(message) - 1, VERSIONS_DIFFER);
	try_first_message(&daemon, "a long message", &large.message,
					  sizeof(large), VERSIONS_DIFFER);

	(void) do_job(&daemon, 1, 1000, 1);
	stop(&daemon);
	conclude("refuses what is no proper beginning");
}

/* A chunk of keys that must be answered with a failure. */
static void
try_keys(const Daemon *daemon, const char *what, uint32_t fixed_words,
		 uint32_t chunk, uint32_t nrows, uint64_t nwords,
		 const uint64_t *ends, size_t nends)
{
	Message		message = {.kind = MSG_KEYS};
	Client		client;

	message.u.keys.chunk = chunk;
	message.u.keys.nrows = nrows;
	message.u.keys.nwords = nwords;
	if (begin(daemon, &client, fixed_words, 10))
	{
		if (nends > 0)
			memcpy(client.ring, ends, nends * sizeof(uint64_t));
		if (send_message(&client, &message))
			(void) expect_failure(&client, what, NULL);
	}
	hang_up(&client);
}

static void
test_bad_keys(void)
{
	static const uint64_t repeated[] = {1, 1, 3};
	static const uint64_t descending[] = {5, 4, 3};
	static const uint64_t from_zero[] = {0, 1, 3};
	static const uint64_t too_long[] = {1, 2, KEY_MAX_WORDS + 3};
	static const uint64_t huge[] = {1, UINT64_MAX, 3};
	static const uint64_t short_of_it[] = {1, 2, 3};
	const uint32_t chunk_words = CHUNK_BYTES / sizeof(uint64_t);
	Daemon		daemon = start("--device-memory=50");

	try_keys(&daemon, "no such chunk", 1, STAGING_CHUNKS, 1, 1, NULL, 0);
	try_keys(&daemon, "no such chunk at all", 1, UINT32_MAX, 1, 1, NULL, 0);
	try_keys(&daemon, "no rows", 1, 0, 0, 0, NULL, 0);
	try_keys(&daemon, "wrong number of words", 2, 0, 10, 10, NULL, 0);
	try_keys(&daemon, "more than a chunk", 1, 0, chunk_words + 1,
			 chunk_words + 1, NULL, 0);
	try_keys(&daemon, "far more than a chunk", 16, 0, UINT32_MAX,
			 UINT64_C(16) * UINT32_MAX, NULL, 0);
	try_keys(&daemon, "words that wrap around", 1, 0, 1,
			 UINT64_C(1) << 61 | 1, NULL, 0);
	try_keys(&daemon, "too many varying keys", 0, 0, CHUNK_VARIABLE_ROWS + 1,
			 CHUNK_VARIABLE_ROWS + 1, NULL, 0);
	try_keys(&daemon, "too many varying words", 0, 0, 10, chunk_words, NULL,
			 0);
	try_keys(&daemon, "an empty key", 0, 0, 3, 3, repeated, 3);
	try_keys(&daemon, "descending ends", 0, 0, 3, 3, descending, 3);
	try_keys(&daemon, "an empty first key", 0, 0, 3, 3, from_zero, 3);
	try_keys(&daemon, "too long a key", 0, 0, 3, KEY_MAX_WORDS + 3, too_long,
			 3);
	try_keys(&daemon, "a huge end", 0, 0, 3, 3, huge, 3);
	try_keys(&daemon, "fewer words than ends", 0, 0, 3, 4, short_of_it, 3);

	(void) do_job(&daemon, 0, 1000, 1);
	stop(&daemon);
	conclude("refuses impossible keys");
}

static void
test_bad_turns(void)
{
	Daemon		daemon = start("--device-memory=50");
	KeySet		set = make_keys(1, 1000, 3);
	Message		message;
	Client		client;

	if (begin(&daemon, &client, 1, 10) && say_hello(&client, 1, 10))
		(void) expect_failure(&client, "a second hello", NULL);
	hang_up(&client);

	if (begin(&daemon, &client, 1, 10))
	{
		message = (Message) {.kind = MSG_ORDER_TAKEN};
		if (send_message(&client, &message))
			(void) expect_failure(&client, "order taken too early", NULL);
	}
	hang_up(&client);

	if (begin(&daemon, &client, 1, 10) && push_keys(&client, &set) &&
		send_run(&client, 999))
		(void) expect_failure(&client, "run with a wrong number", NULL);
	hang_up(&client);
	free_keys(&set);

	/* with more order than fits into the ring, so that it waits for us */
	set = make_keys(1, 2500000, 3);
	if (begin(&daemon, &client, 1, 10) && push_keys(&client, &set) &&
		send_run(&client, set.nrows) && receive_sorted(&client))
	{
		message = (Message) {.kind = MSG_KEYS, .u.keys = {0, 1, 1}};
		if (send_message(&client, &message))
			(void) expect_failure(&client, "keys after run", NULL);
	}
	hang_up(&client);
	free_keys(&set);

	(void) do_job(&daemon, 1, 1000, 1);
	stop(&daemon);
	conclude("refuses messages out of turn");
}

/*
 * Gives back some chunks of an order of so many rows as they came, and then a
 * wrong one, which must be answered with a failure.
 */
static void
try_order_taken(const Daemon *daemon, const char *what, uint64_t nrows,
				uint64_t good_answers, uint32_t wrong_chunk)
{
	KeySet		set = make_keys(1, nrows, 3);
	Message		message;
	Client		client;
	bool		good = begin(daemon, &client, 1, nrows) &&
		push_keys(&client, &set) && send_run(&client, nrows) &&
		receive_sorted(&client);

	for (uint64_t i = 0; i < good_answers && good; i++)
	{
		good = receive_kind(&client, &message, MSG_ORDER);
		message.kind = MSG_ORDER_TAKEN;
		good = good && send_message(&client, &message);
	}
	message = (Message) {.kind = MSG_ORDER_TAKEN};
	message.u.order.chunk = wrong_chunk;
	if (good && send_message(&client, &message))
		(void) expect_failure(&client, what, NULL);
	hang_up(&client);
	free_keys(&set);
}

static void
test_bad_order_taken(void)
{
	Daemon		daemon = start("--device-memory=50");

	/* an order of one chunk, and one of three, of which two are in the ring */
	try_order_taken(&daemon, "no such chunk", 2500000, 0, UINT32_MAX);
	try_order_taken(&daemon, "not the oldest chunk", 2500000, 0, 1);
	try_order_taken(&daemon, "the same chunk again", 2500000, 1, 0);
	try_order_taken(&daemon, "no such chunk at the end", 1000, 0, 1);
	try_order_taken(&daemon, "more chunks than there were", 1000, 1, 1);
	stop(&daemon);
	conclude("takes back only the chunks it has handed out");
}

/*
 * A client may have sent more when its job fails; it is to get the reason all
 * the same, and not a reset connection.
 */
static void
test_reason_arrives(void)
{
	Daemon		daemon = start("--device-memory=50");
	Message		message = {.kind = MSG_KEYS};
	Client		client;

	if (begin(&daemon, &client, 1, 10))
	{
		for (int i = 0; i < 10; i++)
			(void) send(client.socket, &message, sizeof(message),
						MSG_NOSIGNAL);
		usleep(QUIET_MS * 1000);
		(void) expect_failure(&client, "several bad messages", NULL);
	}
	hang_up(&client);
	stop(&daemon);
	conclude("tells the reason to a client that has sent more");
}

/*
 * A client whose job has failed still has its ring, and may be writing keys
 * into it: the next job must not have the same.
 */
static void
test_ring_of_failed_job(void)
{
	Daemon		daemon = start("--device-memory=50");
	Message		message = {.kind = MSG_KEYS};
	Client		failed;
	Client		next;

	if (begin(&daemon, &failed, 1, 10) && send_message(&failed, &message) &&
		expect_failure(&failed, "no rows", NULL))
	{
		usleep(QUIET_MS * 1000);
		if (begin(&daemon, &next, 1, 10))
		{
			memset(next.ring, 1, CHUNK_BYTES);
			memset(failed.ring, 2, CHUNK_BYTES);
			if (next.ring[0] != 1)
				wrong("another job got the ring of a client that still has it");
		}
		hang_up(&next);
	}
	hang_up(&failed);
	stop(&daemon);
	conclude("does not hand on the ring of a client that still has it");
}

/* The bytes of all jobs of a gpusortd started with --device-memory=1. */
static uint64_t
budget_bytes(const Daemon *daemon)
{
	Message		message = {.kind = MSG_LIST_DEVICES};
	Client		client;
	uint64_t	bytes = 0;

	if (connect_client(daemon, &client) && send_message(&client, &message) &&
		receive_kind(&client, &message, MSG_DEVICE))
		bytes = message.u.device.memory_bytes / 100;
	hang_up(&client);
	return bytes;
}

/* Says hello, and is told to wait. */
static bool
is_queued(Client *client, uint32_t fixed_words, uint64_t expected_rows)
{
	Message		message;

	return say_hello(client, fixed_words, expected_rows) &&
		receive_kind(client, &message, MSG_QUEUED) && is_quiet(client);
}

/*
 * More rows than one of the devices has memory for, by so many times.  A word of
 * a key takes the host engine 9 bytes, its end as much, and a row 16.
 */
static uint64_t
rows_for_devices(const Daemon *daemon, uint32_t fixed_words, double times)
{
	double		row_bytes = fixed_words == 0 ? 2.5 * 9 + 9 + 16 :
		9 * fixed_words + 16;

	return (uint64_t) (times * 50 * (double) budget_bytes(daemon) / row_bytes);
}

/* Starts gpusortd with so many devices that have room for 15 MB each. */
static Daemon
start_small_devices(int count)
{
	static const char *const lists[] = {"", "30", "30,30", "30,30,30"};
	Daemon		daemon;

	host_devices = lists[count];
	daemon = start("--device-memory=50");
	host_devices = NULL;
	return daemon;
}

/* Begins a job, and pushes keys that take nearly all memory of a device. */
static bool
begin_to_hold(const Daemon *daemon, Client *client, KeySet *set)
{
	*set = make_keys(1, rows_for_devices(daemon, 1, 0.95), 1);
	if (!begin(daemon, client, 1, 10) || !push_keys(client, set))
		return false;
	for (uint32_t chunk = 0; chunk < client->nchunks; chunk++)
	{
		if (!await_chunk(client, chunk))
			return false;
	}
	return true;
}

static void
test_queue(void)
{
	Daemon		daemon = start_small_devices(1);
	KeySet		set;
	uint64_t	begin_time;
	Client		first;
	Client		second;
	Client		third;

	if (begin_to_hold(&daemon, &first, &set) &&
		connect_client(&daemon, &second) &&
		is_queued(&second, 1, set.nrows) &&
		connect_client(&daemon, &third))
	{
		if (!is_queued(&third, 1, 10))
			wrong("a small job has overtaken one that waits");
		hang_up(&second);
		begin_time = milliseconds();
		(void) receive_welcome(&third);
		if (milliseconds() - begin_time > 2000)
			wrong("a job that waits was not noticed to be gone");
		hang_up(&third);

		if (connect_client(&daemon, &second))
		{
			if (!is_queued(&second, 1, set.nrows))
				wrong("two jobs have got more than there is");
			hang_up(&first);
			(void) receive_welcome(&second);
		}
		hang_up(&second);
	}
	else
		wrong("jobs do not wait for memory");
	free_keys(&set);
	stop(&daemon);
	conclude("lets jobs wait for memory in order");
}

/* While its order is fetched, a job holds no more memory than that takes. */
static void
test_release_after_run(void)
{
	Daemon		daemon = start_small_devices(1);
	KeySet		set;
	Message		message;
	Client		fetching;
	Client		next;

	if (begin_to_hold(&daemon, &fetching, &set) &&
		send_run(&fetching, set.nrows) && receive_sorted(&fetching))
	{
		if (connect_client(&daemon, &next) && say_hello(&next, 1, set.nrows) &&
			!receive_kind(&next, &message, MSG_WELCOME))
			wrong("a job that has sorted keeps the memory for sorting");
		hang_up(&next);
	}
	hang_up(&fetching);
	free_keys(&set);
	stop(&daemon);
	conclude("has the memory of a job again when it has sorted");
}

/* Asks for a device, and checks its state. */
static Message
describe_device(const Daemon *daemon, int number, DeviceState state)
{
	Message		message = {.kind = MSG_LIST_DEVICES};
	Client		client;

	if (connect_client(daemon, &client) && send_message(&client, &message))
	{
		for (int i = 0; i <= number; i++)
			(void) receive_kind(&client, &message, MSG_DEVICE);
	}
	hang_up(&client);
	if (message.u.device.state != state)
		wrong("device %d has state %u", number, message.u.device.state);
	return message;
}

static void
test_several_devices(void)
{
	Worker		workers[NCLIENTS];
	Message		first;
	Message		second;
	Daemon		daemon;

	host_devices = "1000,500,500";
	wanted_devices = "--devices=0,2";
	daemon = start("--device-memory=50");
	for (int i = 0; i < NCLIENTS; i++)
	{
		workers[i].daemon = &daemon;
		workers[i].number = (uint64_t) i;
		pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
	}
	for (int i = 0; i < NCLIENTS; i++)
		pthread_join(workers[i].thread, NULL);
	first = describe_device(&daemon, 0, DEVICE_READY);
	(void) describe_device(&daemon, 1, DEVICE_UNUSED);
	second = describe_device(&daemon, 2, DEVICE_READY);
	if (first.u.device.memory_bytes != UINT64_C(1000) << 20 ||
		second.u.device.memory_bytes != UINT64_C(500) << 20)
		wrong("the devices have other memory");
	if (first.u.device.sorts + second.u.device.sorts != 5 * NCLIENTS ||
		first.u.device.sorts == 0 || second.u.device.sorts == 0)
		wrong("%llu and %llu sorts were done",
			  (unsigned long long) first.u.device.sorts,
			  (unsigned long long) second.u.device.sorts);
	stop(&daemon);
	host_devices = NULL;
	wanted_devices = "--devices=all";
	conclude("uses the devices that it is given");
}

/* The client begins anew, as backends do. */
static void
test_failing_device(void)
{
	KeySet		set = make_keys(1, 1000, 1);
	char		line[LINE_SIZE] = "";
	Message		message;
	Client		client;
	Daemon		daemon;

	host_devices = "500,500";
	host_fault = "0";
	daemon = start("--device-memory=50");
	if (begin(&daemon, &client, 1, set.nrows) && push_keys(&client, &set) &&
		send_run(&client, set.nrows))
	{
		do
		{
			if (!try_receive(&client, &message))
				wrong("there is no answer");
		} while (message.kind == MSG_KEYS_TAKEN);
		if (message.kind != MSG_FAILED ||
			message.u.failed.cause != FAILURE_ELSEWHERE)
			wrong("it was answered with kind %u", message.kind);
	}
	hang_up(&client);
	(void) read_report(&daemon, line);
	if (strstr(line, "log device 0, gpusortd (host), has failed") != line)
		wrong("it reported \"%s\"", line);
	(void) describe_device(&daemon, 0, DEVICE_FAILED);
	for (uint64_t i = 0; i < 3; i++)
		(void) do_job(&daemon, 1, 1000, i);
	stop(&daemon);
	free_keys(&set);
	host_devices = NULL;
	host_fault = NULL;
	conclude("goes on without a device that has failed");
}

/* Gives all keys another last word, made of the number of their row. */
static void
change_keys(KeySet *set, uint64_t (*word) (uint64_t row, uint64_t nrows))
{
	for (uint64_t row = 0; row < set->nrows; row++)
	{
		for (uint64_t i = key_begin(set, row) + (set->shape.fixed_words == 0);
			 i < set->ends[row]; i++)
			set->words[i] = i + 1 == set->ends[row] ?
				word(row, set->nrows) : 1;
	}
}

static uint64_t
few(uint64_t row, uint64_t nrows)
{
	(void) nrows;
	return row * 7919 % 13 % 4;
}

/* Have jobs left nothing on the devices, which have done so many at least? */
static void
check_small_devices(const Daemon *daemon, int count, uint64_t least_sorts)
{
	for (int number = 0; number < count; number++)
	{
		Message		message = describe_device(daemon, number, DEVICE_READY);

		if (message.u.device.sorts < least_sorts)
			wrong("device %d has done %llu sorts", number,
				  (unsigned long long) message.u.device.sorts);
		for (int tries = 0; message.u.device.jobs > 0 && tries < 1000; tries++)
		{
			usleep(10000);
			message = describe_device(daemon, number, DEVICE_READY);
		}
		if (message.u.device.jobs > 0 || message.u.device.reserved_bytes > 0)
			wrong("device %d is left with %u jobs", number,
				  message.u.device.jobs);
	}
}

/* A job, when all memory of these devices is free. */
static void
do_job_alone(const Daemon *daemon, int count, KeySet *set,
			 uint64_t expected_rows)
{
	check_small_devices(daemon, count, 0);
	(void) do_job_with_keys(daemon, set, expected_rows);
}

/* Jobs that no device has room for, expected as large as they are or not. */
static void
test_divided_jobs(void)
{
	static const uint32_t widths[] = {1, 2, KEY_MAX_WORDS, 0};

	for (int parts = 2; parts <= 3; parts++)
	{
		Daemon		daemon = start_small_devices(parts);

		for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
		{
			uint64_t	nrows = rows_for_devices(&daemon, widths[i],
												 parts - 0.8);
			KeySet		set = make_keys(widths[i], nrows, i);

			/* it takes keys for longer than they are if it does not know */
			do_job_alone(&daemon, parts, &set,
						 widths[i] == 0 ? nrows / 2 : nrows);
			change_keys(&set, few);
			do_job_alone(&daemon, parts, &set, 10);
			change_keys(&set, constant);
			do_job_alone(&daemon, parts, &set, nrows / 2);
			change_keys(&set, ascending);
			do_job_alone(&daemon, parts, &set, nrows / 2);
			change_keys(&set, descending);
			do_job_alone(&daemon, parts, &set, 10);
			free_keys(&set);
		}
		check_small_devices(&daemon, parts, 20);
		stop(&daemon);
	}
	conclude("divides jobs among devices that are too small for them");
}

/* More than all devices have: refused, or failed. */
static void
test_more_than_all_devices(void)
{
	Daemon		daemon = start_small_devices(2);
	KeySet		set = make_keys(1, rows_for_devices(&daemon, 1, 2.2), 1);
	char		reason[MESSAGE_TEXT_SIZE] = "";
	Client		client;

	if (connect_client(&daemon, &client) && say_hello(&client, 1, set.nrows) &&
		expect_failure(&client, "too large a job", reason) &&
		strstr(reason, "more than there is") == NULL)
		wrong("it is refused for \"%s\"", reason);
	hang_up(&client);
	if (begin(&daemon, &client, 1, 10))
	{
		Message		message = {.kind = MSG_KEYS};

		message.u.keys.nrows = CHUNK_BYTES / sizeof(uint64_t);
		message.u.keys.nwords = message.u.keys.nrows;
		while (send(client.socket, &message, sizeof(message),
					MSG_NOSIGNAL) == sizeof(message) &&
			   try_receive(&client, &message) &&
			   message.kind == MSG_KEYS_TAKEN)
		{
			message.kind = MSG_KEYS;
			message.u.keys.nrows = CHUNK_BYTES / sizeof(uint64_t);
			message.u.keys.nwords = message.u.keys.nrows;
		}
		if (message.kind != MSG_FAILED ||
			message.u.failed.cause != FAILURE_FULL)
			wrong("it ended with a message of kind %u", message.kind);
	}
	hang_up(&client);
	check_small_devices(&daemon, 2, 0);
	free_keys(&set);
	stop(&daemon);
	conclude("refuses what is more than all devices have");
}

/* Does gpusortd refuse a job that lasts and expects so many rows? */
static void
check_long_lived_refusal(const Daemon *daemon, uint64_t expected_rows,
						 const char *what)
{
	Message		message = hello_message(1, expected_rows);
	char		reason[MESSAGE_TEXT_SIZE] = "";
	Client		client;

	message.u.hello.long_lived = true;
	if (connect_client(daemon, &client) && send_message(&client, &message) &&
		expect_failure(&client, what, reason) &&
		strstr(reason, "a job that lasts") == NULL)
		wrong("%s: it is refused for \"%s\"", what, reason);
	hang_up(&client);
}

/* Does a job that lasts, expected to be small, end well? */
static void
check_long_lived_job(const Daemon *daemon, uint64_t nrows, bool taken,
					 const char *what)
{
	KeySet		set = make_keys(1, nrows, 1);
	Message		message = hello_message(1, 10);
	Client		client;

	message.u.hello.long_lived = true;
	if (connect_client(daemon, &client) && send_message(&client, &message) &&
		receive_welcome(&client))
	{
		bool		sorted = finish_job(&client, &set);

		/* it tells what has failed */
		if (!sorted && !taken)
			problem[0] = '\0';
		else if (sorted != taken)
			wrong("%s: it is sorted", what);
	}
	hang_up(&client);
	free_keys(&set);
}

static void
test_long_lived_jobs(void)
{
	Daemon		daemon = start_small_devices(2);
	uint64_t	eighth = rows_for_devices(&daemon, 1, 0.125);
	KeySet		set;
	Client		client;

	check_long_lived_job(&daemon, eighth / 2, true, "a small one");
	check_long_lived_job(&daemon, 4 * eighth, false, "a large one");
	check_long_lived_refusal(&daemon, 2 * eighth, "more than a part");
	check_small_devices(&daemon, 2, 0);
	stop(&daemon);

	/* nor does it wait */
	daemon = start_small_devices(1);
	if (begin_to_hold(&daemon, &client, &set))
		check_long_lived_refusal(&daemon, 9 * eighth / 10,
								 "while there is another");
	hang_up(&client);
	free_keys(&set);
	stop(&daemon);
	conclude("gives a part of a device to jobs that last, if it is to be had");
}

/*
 * Does a job; false, without a complaint, if it fails for memory that others
 * have.
 */
static bool
try_job(const Daemon *daemon, const KeySet *set)
{
	uint32_t   *order = malloc((set->nrows + 1) * sizeof(uint32_t));
	Client		client;
	bool		sorted = false;

	if (connect_client(daemon, &client))
	{
		client.may_fail = true;
		sorted = say_hello(&client, 1, set->nrows) &&
			receive_welcome(&client) && push_keys(&client, set) &&
			send_run(&client, set->nrows) && receive_sorted(&client) &&
			receive_order(&client, order, set->nrows) &&
			check_order(set, order, "a job");
	}
	hang_up(&client);
	free(order);
	return sorted;
}

/*
 * Whole divided jobs beside each other, and small ones.  All together do not
 * have room, so that some fail, and are tried again.
 */
static void *
run_divided_worker(void *argument)
{
	Worker	   *worker = argument;
	uint64_t	nrows = rows_for_devices(worker->daemon, 1, 1.2);

	for (uint64_t i = 0; i < 3; i++)
	{
		KeySet		set = make_keys(1, worker->number % 2 == 0 ? nrows : 1000,
									worker->number * 10 + i);
		uint64_t	deadline = milliseconds() + PATIENCE_MS;

		while (!try_job(worker->daemon, &set) && milliseconds() < deadline)
			usleep(1000 * (worker->number + 1));
		if (milliseconds() >= deadline)
			wrong("a job does not get memory");
		free_keys(&set);
	}
	return NULL;
}

static void
test_divided_jobs_at_once(void)
{
	Daemon		daemon = start_small_devices(2);
	Worker		workers[6];

	for (int i = 0; i < 6; i++)
	{
		workers[i].daemon = &daemon;
		workers[i].number = (uint64_t) i;
		pthread_create(&workers[i].thread, NULL, run_divided_worker,
					   &workers[i]);
	}
	for (int i = 0; i < 6; i++)
		pthread_join(workers[i].thread, NULL);
	check_small_devices(&daemon, 2, 9);
	stop(&daemon);
	conclude("does divided jobs beside each other, and others beside");
}

/* The client of a divided job hangs up at any stage. */
static void
test_hang_up_of_divided_job(void)
{
	Daemon		daemon = start_small_devices(3);
	uint64_t	nrows = rows_for_devices(&daemon, 2, 2.2);
	IdleState	before;

	(void) do_job(&daemon, 1, 1000, 1);
	before = idle_state(&daemon);
	for (int stage = STAGE_WELCOME; stage < STAGE_COUNT; stage++)
	{
		check_small_devices(&daemon, 3, 0);
		leave_job(&daemon, stage, nrows);
	}
	check_released(&daemon, &before);
	check_small_devices(&daemon, 3, 0);
	(void) do_job(&daemon, 2, nrows, 1);
	stop(&daemon);
	conclude("bears that the client of a divided job hangs up at any stage");
}

/* A device fails with its part: the others are too small without it. */
static void
test_failing_part(void)
{
	KeySet		set;
	char		line[LINE_SIZE] = "";
	char		reason[MESSAGE_TEXT_SIZE];
	Client		client;
	Daemon		daemon;

	host_fault = "1";
	daemon = start_small_devices(2);
	set = make_keys(1, rows_for_devices(&daemon, 1, 1.2), 1);
	if (begin(&daemon, &client, 1, set.nrows) && push_keys(&client, &set) &&
		send_run(&client, set.nrows) &&
		expect_failure(&client, "a failing part", reason) &&
		strcmp(reason, "GPUSORTD_HOST_FAULT has it so") != 0)
		wrong("the reason is \"%s\"", reason);
	hang_up(&client);
	(void) read_report(&daemon, line);
	if (strstr(line, "log device 1, gpusortd (host), has failed") != line)
		wrong("it reported \"%s\"", line);
	if (connect_client(&daemon, &client) && say_hello(&client, 1, set.nrows))
		(void) expect_failure(&client, "too large a job", NULL);
	hang_up(&client);
	(void) do_job(&daemon, 1, 1000, 1);
	free_keys(&set);
	stop(&daemon);
	host_fault = NULL;
	conclude("fails a job of which one part fails");
}

static void
test_growth(void)
{
	Daemon		daemon = start("--device-memory=1");
	uint64_t	bytes = budget_bytes(&daemon);
	KeySet		set = make_keys(1, CHUNK_BYTES / sizeof(uint64_t), 1);
	Message		message = {.kind = MSG_KEYS};
	char		reason[MESSAGE_TEXT_SIZE] = "";
	Client		holder;
	Client		grower;

	message.u.keys.nrows = (uint32_t) set.nrows;
	message.u.keys.nwords = set.nrows;
	if (begin(&daemon, &holder, 1, 10) && begin(&daemon, &grower, 1, 0))
	{
		for (uint64_t sent = 0; sent < bytes; sent += CHUNK_BYTES)
		{
			Message		answer;

			if (!send_message(&grower, &message) ||
				!try_receive(&grower, &answer))
				break;
			if (answer.kind != MSG_KEYS_TAKEN)
			{
				strcpy(reason, answer.u.failed.text);
				break;
			}
		}
		if (strstr(reason, "memory") == NULL)
			wrong("a job that outgrew the memory was told \"%s\"", reason);
		hang_up(&grower);
	}
	hang_up(&holder);
	(void) do_job(&daemon, 1, 1000, 1);
	free_keys(&set);
	stop(&daemon);
	conclude("fails a job that outgrows the memory");
}

/* The client of a long sort hangs up; its memory must soon be free again. */
static void
test_abandoned_sort(void)
{
	Daemon		daemon = start("--device-memory=1");
	uint64_t	nrows = budget_bytes(&daemon) / 10 * 6 / 27;
	KeySet		set = make_keys(1, nrows, 1);
	uint64_t	begin_time;
	Client		client;
	Client		next;

	if (begin(&daemon, &client, 1, nrows) && push_keys(&client, &set) &&
		send_run(&client, nrows))
	{
		usleep(20000);
		hang_up(&client);
		begin_time = milliseconds();
		(void) begin(&daemon, &next, 1, nrows);
		if (milliseconds() - begin_time > 2000)
			wrong("it took %llu ms",
				  (unsigned long long) (milliseconds() - begin_time));
		hang_up(&next);
	}
	free_keys(&set);
	stop(&daemon);
	conclude("gives up a sort that nobody waits for");
}

/* Each connection takes descriptors: the soft limit must not be what counts. */
static void
test_soft_limit(void)
{
	Client		clients[NCLIENTS];
	struct rlimit limit;
	struct rlimit low;
	Daemon		daemon;

	getrlimit(RLIMIT_NOFILE, &limit);
	low = limit;
	low.rlim_cur = NCLIENTS;
	setrlimit(RLIMIT_NOFILE, &low);
	daemon = start("--device-memory=50");
	setrlimit(RLIMIT_NOFILE, &limit);

	for (int i = 0; i < NCLIENTS; i++)
		(void) begin(&daemon, &clients[i], 1, 10);
	for (int i = 0; i < NCLIENTS; i++)
		hang_up(&clients[i]);
	stop(&daemon);
	conclude("has more files open than the soft limit allows");
}

/* Does gpusortd, now, use less than a third of a processor? */
static bool
is_idle(const Daemon *daemon)
{
	clockid_t	clock;
	struct timespec before = {0};
	struct timespec after = {0};

	if (clock_getcpuclockid(daemon->pid, &clock) != 0)
		return wrong("no clock for gpusortd");
	clock_gettime(clock, &before);
	usleep(QUIET_MS * 1000);
	clock_gettime(clock, &after);
	return (after.tv_sec - before.tv_sec) * 1000 +
		(after.tv_nsec - before.tv_nsec) / 1000000 < QUIET_MS / 3;
}

static void
test_out_of_descriptors(void)
{
	Daemon		daemon = start("--device-memory=50");
	struct rlimit limit = {.rlim_cur = NCLIENTS, .rlim_max = NCLIENTS};
	struct pollfd reports = {.fd = daemon.reports, .events = POLLIN};
	Client		clients[NCLIENTS];
	char		line[LINE_SIZE] = "";

	prlimit(daemon.pid, RLIMIT_NOFILE, &limit, NULL);
	for (int i = 0; i < NCLIENTS; i++)
		(void) connect_client(&daemon, &clients[i]);
	(void) read_report(&daemon, line);
	if (strncmp(line, "log ", 4) != 0 ||
		strstr(line, strerror(EMFILE)) == NULL)
		wrong("it reported \"%s\"", line);
	if (!is_idle(&daemon))
		wrong("it is busy while it cannot accept connections");
	if (poll(&reports, 1, 0) != 0)
		wrong("it goes on reporting");

	for (int i = 0; i < NCLIENTS - 1; i++)
		hang_up(&clients[i]);
	if (say_hello(&clients[NCLIENTS - 1], 1, 10))
		(void) receive_welcome(&clients[NCLIENTS - 1]);
	hang_up(&clients[NCLIENTS - 1]);
	stop(&daemon);
	conclude("lets clients wait when it has no descriptors left");
}

static void
test_second_instance(void)
{
	Daemon		daemon = start("--device-memory=50");
	Daemon		second = daemon;
	char		line[LINE_SIZE] = "";
	int			status;

	spawn(&second, "--engine=host", "--staging-memory=8",
		  "--device-memory=50");
	(void) read_report(&second, line);
	if (strncmp(line, "log ", 4) != 0)
		wrong("a second gpusortd said \"%s\"", line);
	status = exit_status(&second);
	if (status != 1)
		wrong("a second gpusortd ended with status %d", status);
	close(second.life_line);
	close(second.reports);
	(void) do_job(&daemon, 1, 1000, 1);
	stop(&daemon);
	conclude("is the only one in its directory");
}

static void
test_end_of_waiting(void)
{
	Daemon		daemon = start("--device-memory=50");
	Daemon		second = daemon;
	char		line[LINE_SIZE] = "";
	int			status;

	spawn(&second, "--engine=host", "--staging-memory=8",
		  "--device-memory=50");
	usleep(QUIET_MS * 1000);
	close(second.life_line);
	status = exit_status(&second);
	if (status != 0)
		wrong("it ended with status %d", status);
	if (read_report(&second, line))
		wrong("it said \"%s\"", line);
	close(second.reports);
	stop(&daemon);
	conclude("does not wait for the lock when its server is gone");
}

static void
test_successor(void)
{
	Daemon		daemon = start("--device-memory=50");
	Daemon		successor = daemon;

	kill(daemon.pid, SIGKILL);
	(void) exit_status(&daemon);
	close(daemon.life_line);
	close(daemon.reports);
	spawn(&successor, "--engine=host", "--staging-memory=8",
		  "--device-memory=50");
	if (wait_until_ready(&successor))
		(void) do_job(&successor, 1, 1000, 1);
	stop(&successor);
	conclude("takes the place of one that was killed");
}

static void
test_end_with_clients(void)
{
	Daemon		daemon = start("--device-memory=50");
	KeySet		set = make_keys(1, 2500000, 1);
	Client		idle;
	Client		sorting;

	if (begin(&daemon, &idle, 1, 10) &&
		begin(&daemon, &sorting, 1, set.nrows) &&
		push_keys(&sorting, &set))
		(void) send_run(&sorting, set.nrows);
	stop(&daemon);
	hang_up(&idle);
	hang_up(&sorting);
	free_keys(&set);
	conclude("ends in the middle of jobs");
}

static void
test_termination(void)
{
	Daemon		daemon = start("--device-memory=50");

	kill(daemon.pid, SIGTERM);
	stop(&daemon);
	conclude("ends in order when it is terminated");
}

/* Starts gpusortd such that it must end at once. */
static void
try_start(const char *what, const char *engine, const char *staging_memory,
		  const char *device_memory, int expected_status,
		  const char *expected_report)
{
	Daemon		daemon;
	char		line[LINE_SIZE] = "";
	int			status;

	make_directory(&daemon);
	spawn(&daemon, engine, staging_memory, device_memory);
	(void) read_report(&daemon, line);
	if (strncmp(line, expected_report, strlen(expected_report)) != 0)
		wrong("%s: reported \"%s\"", what, line);
	close(daemon.life_line);
	status = exit_status(&daemon);
	if (status != expected_status)
		wrong("%s: ended with status %d", what, status);
	if (socket_exists(&daemon))
		wrong("%s: left a socket", what);
	close(daemon.reports);
	remove_directory(&daemon);
}

/* Starts it with such a list of devices, with which it does not go on. */
static void
try_devices(const char *what, const char *devices, int expected_status,
			const char *expected_report)
{
	wanted_devices = devices;
	try_start(what, "--engine=host", "--staging-memory=8",
			  "--device-memory=50", expected_status, expected_report);
	wanted_devices = "--devices=all";
}

static void
test_bad_starts(void)
{
	try_start("auto without CUDA", "--engine=auto", "--staging-memory=8",
			  "--device-memory=50", 2, "unusable ");
	try_start("cuda without CUDA", "--engine=cuda", "--staging-memory=8",
			  "--device-memory=50", 2, "unusable ");
	conclude("says when there is no device for it");

	try_start("unknown engine", "--engine=abacus", "--staging-memory=8",
			  "--device-memory=50", 1, "");
	try_devices("no devices", "--devices=", 1, "");
	try_devices("a list with a gap", "--devices=0,,1", 1, "");
	try_devices("no numbers", "--devices=none", 1, "");
	try_devices("a number and a UUID",
				"--devices=0,GPU-00000000-0000-0000-0000-000000000000", 1, "");
	try_devices("no such device", "--devices=1", 2,
				"unusable there is no device 1");
	try_devices("no such UUID",
				"--devices=GPU-00000000-0000-0000-0000-000000000000", 2,
				"unusable there is no device GPU-00000000-0000-0000-0000-000000000000");
	try_start("no staging memory", "--engine=host", "--staging-memory=0",
			  "--device-memory=50", 1, "");
	try_start("too much device memory", "--engine=host",
			  "--staging-memory=8", "--device-memory=101", 1, "");
	try_start("no number", "--engine=host", "--staging-memory=x",
			  "--device-memory=50", 1, "");
	try_start("unknown option", "--engine=host", "--staging-memory=8",
			  "--colour=blue", 1, "");
	conclude("does not start with bad options");
}

int
main(int argc, char **argv)
{
	if (!begin_tests(argc, argv))
		return 2;

	test_start();
	test_devices();
	test_jobs();
	test_concurrency();
	test_hang_up();
	test_leaks();
	test_algorithms();
	test_jobs_of_one_connection();
	test_bad_beginnings();
	test_bad_keys();
	test_bad_turns();
	test_bad_order_taken();
	test_reason_arrives();
	test_ring_of_failed_job();
	test_queue();
	test_release_after_run();
	test_several_devices();
	test_failing_device();
	test_divided_jobs();
	test_more_than_all_devices();
	test_long_lived_jobs();
	test_divided_jobs_at_once();
	test_hang_up_of_divided_job();
	test_failing_part();
	test_growth();
	test_abandoned_sort();
	test_soft_limit();
	test_out_of_descriptors();
	test_second_instance();
	test_end_of_waiting();
	test_successor();
	test_end_with_clients();
	test_termination();
	test_bad_starts();
	return failures > 0;
}
