/*-------------------------------------------------------------------------
 *
 * gpusortd.c
 *	  The process that owns the GPUs of a server: start, life and end.
 *
 *		gpusortd [--guard]
 *				 --engine=auto|cuda|host --devices=all|NUMBER,...|UUID,...
 *				 --staging-memory-limit=MB --device-memory=PERCENT
 *
 * The extension's launcher starts it in the data directory, and it lives as
 * long as its standard input is open.  It listens on a unix socket there; a
 * lock file makes sure that a server has only one gpusortd.  Every connection
 * is served by a thread of its own, see connection.c.  With --guard, which the
 * launcher gives, a child process does all this, see guard.c.
 *
 * Its reports go to standard output, a line at a time, see launcher.c.  Its
 * exit codes are in report.h.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../common/device_list.h"
#include "../common/protocol.h"
#include "clock.h"
#include "connection.h"
#include "devices.h"
#include "engine.h"
#include "guard.h"
#include "report.h"
#include "ring.h"
#include "shortage.h"
#include "thread.h"
#include "trial.h"
#include "watch.h"

/* How long to wait for the end of the gpusortd before this one. */
#define LOCK_WAIT_SECONDS	5
#define LOCK_RETRY_MILLISECONDS	10

#define LISTEN_BACKLOG		1024

/* Clients that are served at the same time; others wait to be accepted. */
#define MOST_CLIENTS		1000

/*
 * When to try again to accept a client after a failure, and when to report
 * again.
 */
#define ACCEPT_RETRY_MILLISECONDS	100
#define ACCEPT_REPORT_SECONDS		60

/* Memory that no sort has needed for this time is given back. */
#ifndef RELEASE_MILLISECONDS
#define RELEASE_MILLISECONDS		5000
#endif

typedef struct Options
{
	const char *engine;
	const char *devices;
	int			staging_limit_megabytes;
	int			device_percent;
} Options;

/* Signal handler: all that leave() does is allowed in one. */
static void
leave_on_signal(int signal_number)
{
	(void) signal_number;
	leave(EXIT_STOPPED);
}

static void
leave_with_errno(const char *what)
{
	report("failed %s: %s", what, strerror(errno));
	leave(EXIT_ERROR);
}

static bool
are_valid(const Options *options)
{
	return (strcmp(options->engine, "auto") == 0 ||
			strcmp(options->engine, "cuda") == 0 ||
			strcmp(options->engine, "host") == 0) &&
		options->staging_limit_megabytes >= RING_MB &&
		options->device_percent >= 1 && options->device_percent <= 100;
}

static void
leave_with_usage(const char *program)
{
	fprintf(stderr, "usage: %s [--guard] --engine=auto|cuda|host "
			"--devices=all|NUMBER,...|UUID,... "
			"--staging-memory-limit=MB --device-memory=PERCENT\n", program);
	leave(EXIT_ERROR);
}

static void
parse_options(int argc, char **argv, Options *options)
{
	static const struct option known[] = {
		{"engine", required_argument, NULL, 'e'},
		{"devices", required_argument, NULL, 'n'},
		{"staging-memory-limit", required_argument, NULL, 'l'},
		{"device-memory", required_argument, NULL, 'd'},
		{NULL, 0, NULL, 0}
	};
	int			option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
	{
		switch (option)
		{
			case 'e':
				options->engine = optarg;
				break;
			case 'n':
				options->devices = optarg;
				break;
			case 'l':
				options->staging_limit_megabytes = atoi(optarg);
				break;
			case 'd':
				options->device_percent = atoi(optarg);
				break;
			default:
				leave(EXIT_ERROR);	/* getopt has said why */
		}
	}
}

/*
 * Raises the limit of open files as far as the system allows.  A connection
 * takes two, besides CUDA's own; the usual limit of 1024 is for programs that
 * use select().
 */
static void
raise_limit_of_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
	{
		limit.rlim_cur = limit.rlim_max;
		(void) setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/*
 * Waits for this time, or until the launcher asks through standard input
 * whether this process is alive.  True if the launcher has closed standard
 * input.
 */
static bool
launcher_is_gone_within(int milliseconds)
{
	struct pollfd life_line = {.fd = STDIN_FILENO,.events = POLLIN};
	char		questions[16];
	ssize_t		length;

	if (poll(&life_line, 1, milliseconds) <= 0)
		return false;
	length = read(STDIN_FILENO, questions, sizeof(questions));
	if (length > 0)
		report("alive");
	return length == 0 || (length < 0 && errno != EINTR);
}

/*
 * Takes the lock that makes this gpusortd the only one of its server.  It is
 * held until the process is gone.
 */
static void
take_lock(void)
{
	int			lock = open(LOCK_PATH, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (lock < 0)
		leave_with_errno("could not open \"" LOCK_PATH "\"");
	for (int tries = 0; flock(lock, LOCK_EX | LOCK_NB) < 0; tries++)
	{
		if (errno != EWOULDBLOCK && errno != EINTR)
			leave_with_errno("could not lock \"" LOCK_PATH "\"");
		if (tries == LOCK_WAIT_SECONDS * 1000 / LOCK_RETRY_MILLISECONDS)
		{
			report("failed another gpusortd of this server holds \"" LOCK_PATH "\"");
			leave(EXIT_ERROR);
		}
		if (launcher_is_gone_within(LOCK_RETRY_MILLISECONDS))
			leave(EXIT_STOPPED);
	}
}

/*
 * Names slices of GPUs to CUDA.  CUDA shows a slice only to a process that
 * names it beforehand, and then shows nothing else.
 */
static void
name_slices(const DeviceList *devices)
{
	if (devices->has_slices &&
		setenv("CUDA_VISIBLE_DEVICES", devices->text, 1) < 0)
		leave_with_errno("could not name the devices");
}

/* The engine to use, started; does not return if there is none. */
static const Engine *
start_engine(const Options *options, const DeviceList *devices)
{
	DeviceError error = {.text = "gpusortd was built without CUDA"};
	const Engine *engine = NULL;

	name_slices(devices);
	if (strcmp(options->engine, "host") == 0)
		engine = &host_engine;
#ifdef HAVE_CUDA
	else
		engine = &cuda_engine;
#endif
	if (engine != NULL &&
		devices_start(engine, devices, options->device_percent, &error))
		return engine;
	report("unusable %s", error.text);
	leave(EXIT_UNUSABLE);
}

/* Ends the process if the system lacks what every job needs. */
static void
leave_without_needs(void)
{
	DeviceError error = {0};

	if (trial_succeeds(&error))
		return;
	report("unusable %s", error.text);
	leave(EXIT_UNUSABLE);
}

/* A socket that only the server's own user can connect to. */
static int
listen_on_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int			listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (listener < 0)
		leave_with_errno("could not make a socket");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", SOCKET_PATH);

	/* the lock is ours, so a socket here is left from a killed gpusortd */
	unlink(SOCKET_PATH);
	umask(S_IXUSR | S_IRWXG | S_IRWXO);
	if (bind(listener, (struct sockaddr *) &address, sizeof(address)) < 0)
		leave_with_errno("could not bind to \"" SOCKET_PATH "\"");
	leave_removes_socket();
	if (listen(listener, LISTEN_BACKLOG) < 0)
		leave_with_errno("could not listen on \"" SOCKET_PATH "\"");
	return listener;
}

static atomic_int client_count;

static void *
connection_thread(void *argument)
{
	connection_serve((int) (intptr_t) argument);
	atomic_fetch_sub(&client_count, 1);
	return NULL;
}

/* Reports why clients wait, but not for every client that has to. */
static void
report_accept_failure(const char *reason)
{
	static time_t next_report = 0;
	time_t		now = time(NULL);

	if (now >= next_report)
	{
		report("log could not accept a connection, sorts wait for others to end: %s",
			   reason);
		next_report = now + ACCEPT_REPORT_SECONDS;
	}
}

/* Serves a new client in a thread of its own. */
static bool
accept_client(int listener)
{
	int			client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	pthread_t	thread;

	if (client < 0)
	{
		report_accept_failure(strerror(errno));
		return false;
	}
	atomic_fetch_add(&client_count, 1);
	if (start_thread(&thread, connection_thread, (void *) (intptr_t) client))
		pthread_detach(thread);
	else
	{
		atomic_fetch_sub(&client_count, 1);
		close(client);
	}
	return true;
}

/*
 * The same, if another client may be served.  Returns false if the client has
 * to wait until another one leaves or, most likely, until there is a
 * descriptor.
 */
static bool
admit_client(int listener)
{
	if (atomic_load(&client_count) < MOST_CLIENTS)
		return accept_client(listener);
	report_accept_failure("there are too many");
	return false;
}

/*
 * Lets clients wait for a while, in which idle clients give way.  True if
 * standard input is closed.
 */
static bool
launcher_is_gone_meanwhile(void)
{
	bool		is_gone;

	shortage_begin(SCARCE_STAGING);
	is_gone = launcher_is_gone_within(ACCEPT_RETRY_MILLISECONDS);
	shortage_end(SCARCE_STAGING);
	return is_gone;
}

/*
 * Looks after the jobs when it is time again.  Ends this process, with all
 * connections, if a job hangs in its device.
 */
static void
look_after_jobs(void)
{
	static uint64_t last_look = 0;
	uint64_t	now = microseconds_now();

	if (now - last_look < WATCH_MILLISECONDS * 1000)
		return;
	last_look = now;
	if (watch_finds_hanging())
	{
		report("failed a job hangs in its device");
		leave(EXIT_LOST);
	}
}

/*
 * Gives back memory that has not been needed for a while.  Returns the
 * milliseconds until there may be more, or -1 if there is no more until a
 * client comes.
 */
static int
release_idle_memory(void)
{
	uint64_t	microseconds = UINT64_C(1000) * RELEASE_MILLISECONDS;
	uint64_t	devices_left;
	uint64_t	rings_left;
	uint64_t	left;

	devices_left = devices_release_idle(microseconds);
	rings_left = ring_release_idle(microseconds);
	left = devices_left < rings_left ? devices_left : rings_left;
	return left == UINT64_MAX ? -1 : (int) (left / 1000) + 1;
}

/* Serves clients until standard input is closed. */
static void
serve(int listener)
{
	struct pollfd events[] = {
		{.fd = listener,.events = POLLIN},
		{.fd = STDIN_FILENO,.events = POLLIN}
	};
	int			timeout = -1;

	for (;;)
	{
		/* without clients it soon sleeps until the next client comes */
		if (poll(events, 2, timeout) < 0)
			continue;
		/* the launcher's question comes first, as the rest may take long */
		if (events[1].revents != 0 && launcher_is_gone_within(0))
			return;
		look_after_jobs();

		/* poll() would return at once because of a client that has to wait */
		if (events[0].revents != 0 && !admit_client(listener) &&
			launcher_is_gone_meanwhile())
			return;
		timeout = release_idle_memory();
		if (events[0].revents != 0 || watch_is_needed())
			timeout = WATCH_MILLISECONDS;
	}
}

int
main(int argc, char **argv)
{
	Options		options = {
		.engine = "auto",
		.devices = "all",
		.staging_limit_megabytes = 1024,
		.device_percent = 90
	};
	DeviceList	devices;
	const Engine *engine;
	char		names[MESSAGE_TEXT_SIZE];
	int			listener;

	if (argc > 1 && strcmp(argv[1], "--guard") == 0)
	{
		argv[1] = argv[0];
		guard(argv + 1);
	}
	signal(SIGPIPE, SIG_IGN);
	/* a ring beyond the limit on file size is an error, not the end */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGTERM, leave_on_signal);
	parse_options(argc, argv, &options);
	if (!are_valid(&options) || !device_list_read(options.devices, &devices))
		leave_with_usage(argv[0]);
	raise_limit_of_files();
	take_lock();
	engine = start_engine(&options, &devices);
	ring_init(engine, (RING_MB << 20) / CHUNK_BYTES,
			  (uint64_t) options.staging_limit_megabytes << 20);
	connection_init(engine);
	shortage_init();
	leave_without_needs();
	listener = listen_on_socket();
	devices_name(names, sizeof(names));
	report("ready %s %s", engine->name, names);
	serve(listener);
	leave(EXIT_STOPPED);
}
