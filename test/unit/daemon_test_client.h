/*-------------------------------------------------------------------------
 *
 * daemon_test_client.h
 *	  gpusortd and its clients, for tests from outside.
 *
 * A test starts a gpusortd in a directory of its own and is its launcher and
 * its clients.
 *
 *-------------------------------------------------------------------------
 */
#ifndef DAEMON_TEST_CLIENT_H
#define DAEMON_TEST_CLIENT_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/protocol.h"

/* not every test has use for all of it */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "daemon_test_report.h"
#include "daemon_test_keys.h"

/* How long anything that should happen may take, sanitizers included. */
#define PATIENCE_MS		30000

/* How long to watch that something does not happen. */
#define QUIET_MS		300

#define LINE_SIZE		1024

/* The rings that the tests use, of 8 MB. */
#define STAGING_OPTION	"--staging-memory=8"
#define STAGING_CHUNKS	((8u << 20) / CHUNK_BYTES)

static const char *gpusortd_path;

static uint64_t
milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}


/*
 * gpusortd
 */

typedef struct Daemon
{
	char		directory[64];
	pid_t		pid;
	int			life_line;
	int			reports;
} Daemon;

/* Reads a line of gpusortd's reports; false at their end. */
static bool
read_report(Daemon *daemon, char *line)
{
	int			length = 0;
	struct pollfd state = {.fd = daemon->reports, .events = POLLIN};

	while (length < LINE_SIZE - 1)
	{
		if (poll(&state, 1, PATIENCE_MS) <= 0)
			return wrong("no report came");
		if (read(daemon->reports, line + length, 1) != 1)
			return false;
		if (line[length] == '\n')
			break;
		length++;
	}
	line[length] = '\0';
	return true;
}

/* What gpusortd is told of the devices of the host engine, if anything. */
static const char *host_devices = NULL;
static const char *host_fault = NULL;
static const char *wanted_devices = "--devices=all";

/* What all rings may take. */
static const char *staging_limit = "--staging-memory-limit=1024";

/*
 * How long its clients may say nothing before they are idle, as its environment
 * has it; in most tests none ever is.
 */
#define NEVER_IDLE		"3600000"
#define SOON_IDLE		"100"
static const char *idle_milliseconds = NEVER_IDLE;

/* Starts gpusortd in the daemon's directory. */
static void
spawn(Daemon *daemon, const char *engine, const char *staging_memory,
	  const char *device_memory)
{
	int			life_line[2];
	int			reports[2];

	if (pipe2(life_line, O_CLOEXEC) < 0 || pipe2(reports, O_CLOEXEC) < 0)
	{
		wrong("no pipe");
		return;
	}
	daemon->pid = fork();
	if (daemon->pid == 0)
	{
		if (chdir(daemon->directory) < 0)
			_exit(99);
		dup2(life_line[0], STDIN_FILENO);
		dup2(reports[1], STDOUT_FILENO);
		if (host_devices != NULL)
			setenv("GPUSORTD_HOST_DEVICES", host_devices, 1);
		if (host_fault != NULL)
			setenv("GPUSORTD_HOST_FAULT", host_fault, 1);
		setenv("GPUSORTD_IDLE_MILLISECONDS", idle_milliseconds, 1);
		execl(gpusortd_path, gpusortd_path, engine, wanted_devices,
			  staging_memory, staging_limit, device_memory, (char *) NULL);
		_exit(99);
	}
	close(life_line[0]);
	close(reports[1]);
	daemon->life_line = life_line[1];
	daemon->reports = reports[0];
}

static void
make_directory(Daemon *daemon)
{
	char		path[96];

	strcpy(daemon->directory, "/tmp/gpusortd_test.XXXXXX");
	if (mkdtemp(daemon->directory) == NULL)
		wrong("no temporary directory");
	snprintf(path, sizeof(path), "%s/pg_stat_tmp", daemon->directory);
	if (mkdir(path, 0700) < 0)
		wrong("could not make %s", path);
}

static void
remove_directory(const Daemon *daemon)
{
	char		path[96];

	snprintf(path, sizeof(path), "%s/" SOCKET_PATH, daemon->directory);
	(void) unlink(path);
	snprintf(path, sizeof(path), "%s/" LOCK_PATH, daemon->directory);
	(void) unlink(path);
	snprintf(path, sizeof(path), "%s/pg_stat_tmp", daemon->directory);
	(void) rmdir(path);
	(void) rmdir(daemon->directory);
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
	spawn(&daemon, "--engine=host", STAGING_OPTION, device_memory);
	(void) wait_until_ready(&daemon);
	return daemon;
}

/* Waits for the end of gpusortd; -1 if it was not an exit. */
static int
exit_status(Daemon *daemon)
{
	uint64_t	deadline = milliseconds() + PATIENCE_MS;
	int			status;

	while (waitpid(daemon->pid, &status, WNOHANG) == 0)
	{
		if (milliseconds() > deadline)
		{
			wrong("gpusortd did not end");
			kill(daemon->pid, SIGKILL);
		}
		usleep(1000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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

typedef struct Client
{
	int			socket;
	int			ring_descriptor;
	char	   *ring;			/* NULL before MSG_WELCOME */
	uint32_t	nchunks;
	bool	   *chunk_is_ours;
	bool		may_fail;		/* for lack of memory, or of a connection then */
} Client;

static bool
connect_client(const Daemon *daemon, Client *client)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};

	memset(client, 0, sizeof(*client));
	client->ring_descriptor = -1;
	client->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" SOCKET_PATH,
			 daemon->directory);
	if (connect(client->socket, (struct sockaddr *) &address,
				sizeof(address)) < 0)
		return wrong("could not connect: %s", strerror(errno));
	setsockopt(client->socket, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
	setsockopt(client->socket, SOL_SOCKET, SO_SNDTIMEO, &patience,
			   sizeof(patience));
	return true;
}

static void
hang_up(Client *client)
{
	if (client->ring != NULL)
		munmap(client->ring, (size_t) client->nchunks * CHUNK_BYTES);
	if (client->ring_descriptor >= 0)
		close(client->ring_descriptor);
	close(client->socket);
	free(client->chunk_is_ours);
	memset(client, 0, sizeof(*client));
	client->ring_descriptor = -1;
	client->socket = -1;
}

static bool
send_message(Client *client, const Message *message)
{
	if (send(client->socket, message, sizeof(Message), MSG_NOSIGNAL) !=
		sizeof(Message))
		return !client->may_fail && wrong("could not send: %s", strerror(errno));
	return true;
}

/* Receives a message; false without a complaint at the end. */
static bool
try_receive(Client *client, Message *message)
{
	union
	{
		struct cmsghdr header;
		char		space[CMSG_SPACE(sizeof(int))];
	}			control;
	struct iovec part = {message, sizeof(Message)};
	struct msghdr envelope = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)
	};
	ssize_t		length = recvmsg(client->socket, &envelope, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header;

	if (length == 0)
		return false;
	if (length != sizeof(Message))
		return wrong("could not receive: %s", strerror(errno));
	header = CMSG_FIRSTHDR(&envelope);
	if (header != NULL)
		memcpy(&client->ring_descriptor, CMSG_DATA(header), sizeof(int));
	return true;
}

static bool
receive_message(Client *client, Message *message)
{
	if (!try_receive(client, message))
		return !client->may_fail && wrong("gpusortd closed the connection");
	if (client->may_fail &&
		(message->kind == MSG_FAILED || message->kind == MSG_REFUSED) &&
		message->u.failed.cause == FAILURE_FULL)
		return false;
	if (message->kind == MSG_FAILED || message->kind == MSG_REFUSED)
		return wrong("gpusortd says: %s", message->u.failed.text);
	return true;
}

static bool
receive_kind(Client *client, Message *message, MessageKind kind)
{
	if (!receive_message(client, message))
		return false;
	if (message->kind != kind)
		return wrong("expected a message of kind %d, received %u", kind,
					 message->kind);
	return true;
}

/* Does anything come within the time that QUIET_MS gives? */
static bool
is_quiet(Client *client)
{
	struct pollfd state = {.fd = client->socket, .events = POLLIN};

	return poll(&state, 1, QUIET_MS) == 0;
}

static Message
hello_message(uint32_t fixed_words, uint64_t expected_rows)
{
	Message		message = {.kind = MSG_HELLO};

	message.u.hello.version = PROTOCOL_VERSION;
	message.u.hello.fixed_words = fixed_words;
	message.u.hello.mark_ties = 1;
	message.u.hello.role_limit = UINT64_MAX;
	message.u.hello.expected_rows = expected_rows;
	return message;
}

static bool
say_hello(Client *client, uint32_t fixed_words, uint64_t expected_rows)
{
	Message		message = hello_message(fixed_words, expected_rows);

	return send_message(client, &message);
}

/* Takes the ring that comes with MSG_WELCOME, when it is the job's turn. */
static bool
receive_welcome(Client *client)
{
	Message		message;

	do
	{
		if (!receive_message(client, &message))
			return false;
	} while (message.kind == MSG_QUEUED);
	if (message.kind != MSG_WELCOME)
		return wrong("expected MSG_WELCOME, received %u", message.kind);
	if (client->ring_descriptor < 0)
		return wrong("no descriptor came with the welcome");
	client->nchunks = message.u.welcome.chunks;
	client->chunk_is_ours = malloc(client->nchunks);
	memset(client->chunk_is_ours, true, client->nchunks);
	client->ring = mmap(NULL, (size_t) client->nchunks * CHUNK_BYTES,
						PROT_READ | PROT_WRITE, MAP_SHARED,
						client->ring_descriptor, 0);
	if (client->ring == MAP_FAILED)
	{
		client->ring = NULL;
		return wrong("could not map the ring");
	}
	return true;
}

/* Connects and begins a job. */
static bool
begin(const Daemon *daemon, Client *client, uint32_t fixed_words,
	  uint64_t expected_rows)
{
	return connect_client(daemon, client) &&
		say_hello(client, fixed_words, expected_rows) &&
		receive_welcome(client);
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
 * Makes keys of which some are equal.  The first word of a key that varies in
 * length tells its length, so that keys are prefix-free.
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

/* Waits until a chunk is the client's. */
static bool
await_chunk(Client *client, uint32_t chunk)
{
	while (!client->chunk_is_ours[chunk])
	{
		Message		message;

		if (!receive_kind(client, &message, MSG_KEYS_TAKEN))
			return false;
		if (message.u.keys.chunk >= client->nchunks ||
			client->chunk_is_ours[message.u.keys.chunk])
			return wrong("chunk %u came back, which is not gpusortd's",
						 message.u.keys.chunk);
		client->chunk_is_ours[message.u.keys.chunk] = true;
	}
	return true;
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

static bool
send_run(Client *client, uint64_t nrows)
{
	Message		message = {.kind = MSG_RUN};

	message.u.run.nrows = nrows;
	return send_message(client, &message);
}

/* Receives up to MSG_SORTED. */
static bool
receive_sorted(Client *client)
{
	Message		message;

	do
	{
		if (!receive_message(client, &message))
			return false;
	} while (message.kind == MSG_KEYS_TAKEN);
	if (message.kind != MSG_SORTED)
		return wrong("expected MSG_SORTED, received %u", message.kind);
	return true;
}

static bool
receive_order(Client *client, uint32_t *order, uint64_t nrows)
{
	uint64_t	have = 0;

	while (have < nrows)
	{
		Message		message;
		uint32_t	count;

		if (!receive_kind(client, &message, MSG_ORDER))
			return false;
		count = message.u.order.count;
		if (message.u.order.chunk >= client->nchunks || count == 0 ||
			count > CHUNK_BYTES / sizeof(uint32_t) || count > nrows - have)
			return wrong("impossible part of an order");
		memcpy(order + have,
			   client->ring + (size_t) message.u.order.chunk * CHUNK_BYTES,
			   count * sizeof(uint32_t));
		have += count;
		message.kind = MSG_ORDER_TAKEN;
		if (!send_message(client, &message))
			return false;
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
 * A whole job with these keys, of which so many are expected, from the beginning
 * to the check of its order.
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

#endif							/* DAEMON_TEST_CLIENT_H */
