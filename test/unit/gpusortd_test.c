/*-------------------------------------------------------------------------
 *
 * gpusortd_test.c
 *	  The start, the life and the end of gpusortd, with the host engine.
 *
 *		gpusortd_test PATH_OF_GPUSORTD
 *
 * gpusortd is best built with sanitizers, whose reports end it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define TEST_SUBJECT		"gpusortd"
#include "daemon_test.h"

static void
test_start(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
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
	Daemon		daemon = start(HALF_OF_MEMORY);
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

/* Each connection takes descriptors: the soft limit must not count. */
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
	daemon = start(HALF_OF_MEMORY);
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
	Daemon		daemon = start(HALF_OF_MEMORY);
	struct rlimit limit = {.rlim_cur = NCLIENTS,.rlim_max = NCLIENTS};
	struct pollfd reports = {.fd = daemon.reports,.events = POLLIN};
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
	Daemon		daemon = start(HALF_OF_MEMORY);
	Daemon		second = daemon;
	char		line[LINE_SIZE] = "";
	int			status;

	spawn(&second, HOST_ENGINE, HALF_OF_MEMORY);
	(void) read_report(&second, line);
	if (strncmp(line, "failed ", 7) != 0)
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
	Daemon		daemon = start(HALF_OF_MEMORY);
	Daemon		second = daemon;
	char		line[LINE_SIZE] = "";
	int			status;

	spawn(&second, HOST_ENGINE, HALF_OF_MEMORY);
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
	Daemon		daemon = start(HALF_OF_MEMORY);
	Daemon		successor = daemon;

	kill(daemon.pid, SIGKILL);
	(void) exit_status(&daemon);
	close(daemon.life_line);
	close(daemon.reports);
	spawn(&successor, HOST_ENGINE, HALF_OF_MEMORY);
	if (wait_until_ready(&successor))
		(void) do_job(&successor, 1, 1000, 1);
	stop(&successor);
	conclude("takes the place of one that was killed");
}

static void
test_end_with_clients(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
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
	Daemon		daemon = start(HALF_OF_MEMORY);

	kill(daemon.pid, SIGTERM);
	stop(&daemon);
	conclude("ends in order when it is terminated");
}

/*
 * A guard that starts when the launcher has ended already.  It guards another
 * program here, which does not look at its standard input.
 */
static void
test_late_guard(void)
{
	Daemon		guard = {.life_line = -1};
	int			life_line[2];

	if (pipe(life_line) < 0)
		wrong("no pipe");
	close(life_line[1]);
	guard.pid = fork();
	if (guard.pid == 0)
	{
		dup2(life_line[0], STDIN_FILENO);
		execl(gpusortd_path, "/bin/sleep", "--guard", "600", (char *) NULL);
		_exit(99);
	}
	close(life_line[0]);
	if (exit_status(&guard) != 0)
		wrong("its guard did not end with status 0");
	conclude("does not begin when its launcher has ended");
}

/* Starts gpusortd with arguments with which it must end at once. */
static void
try_start(const char *what, const char *engine, const char *device_memory,
		  int expected_status, const char *expected_report)
{
	Daemon		daemon;
	char		line[LINE_SIZE] = "";
	int			status;

	make_directory(&daemon);
	spawn(&daemon, engine, device_memory);
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

/* Starts gpusortd with a list of devices with which it cannot go on. */
static void
try_devices(const char *what, const char *devices, int expected_status,
			const char *expected_report)
{
	wanted_devices = devices;
	try_start(what, HOST_ENGINE, HALF_OF_MEMORY, expected_status, expected_report);
	wanted_devices = "--devices=all";
}

static void
test_bad_starts(void)
{
	try_start("auto without CUDA", "--engine=auto", HALF_OF_MEMORY, 2, "unusable ");
	try_start("cuda without CUDA", "--engine=cuda", HALF_OF_MEMORY, 2, "unusable ");
	conclude("says when there is no device for it");

	try_start("unknown engine", "--engine=abacus", HALF_OF_MEMORY, 1, "");
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
	staging_limit = "--staging-memory-limit=15";
	try_start("no staging memory", HOST_ENGINE, HALF_OF_MEMORY, 1, "");
	staging_limit = "--staging-memory-limit=x";
	try_start("no number", HOST_ENGINE, HALF_OF_MEMORY, 1, "");
	staging_limit = "--staging-memory-limit=1024";
	try_start("too much device memory", HOST_ENGINE,
			  "--device-memory=101", 1, "");
	try_start("unknown option", HOST_ENGINE, "--colour=blue", 1, "");
	conclude("does not start with bad options");
}

/* From now on this process and its children get this error from a system call. */
static bool
forbid(uint32_t call, uint32_t error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(*filter),
		.filter = filter
	};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Starts gpusortd with a system call forbidden, for which it must end. */
static void
try_forbidden(const char *what, uint32_t call, uint32_t error,
			  const char *expected_report)
{
	pid_t		child = fork();
	int			status = 0;

	if (child == 0)
	{
		if (!forbid(call, error))
			_exit(0);
		try_start(what, HOST_ENGINE, HALF_OF_MEMORY, 2,
				  expected_report);
		if (problem[0] != '\0')
			fprintf(stderr, "%s\n", problem);
		_exit(problem[0] != '\0');
	}
	waitpid(child, &status, 0);
	if (status != 0)
		wrong("%s", what);
}

static void
test_lack(void)
{
	struct rlimit limit;
	struct rlimit low;

	try_forbidden("no memory files", SYS_memfd_create, EPERM,
				  "unusable could not make staging memory of 16 MB: memfd_create: Operation not permitted, the seccomp profile");
	try_forbidden("a kernel without memory files", SYS_memfd_create, ENOSYS,
				  "unusable could not make staging memory of 16 MB: memfd_create: Function not implemented, the seccomp profile");
	try_forbidden("no passing of files", SYS_sendmsg, EPERM,
				  "unusable could not pass staging memory to a client: sendmsg: Operation not permitted, the seccomp profile");
	try_forbidden("no threads", SYS_clone3, EPERM,
				  "unusable could not start a thread: clone3: Operation not permitted, the seccomp profile");
	getrlimit(RLIMIT_FSIZE, &limit);
	low = limit;
	low.rlim_cur = 4 << 20;
	setrlimit(RLIMIT_FSIZE, &low);
	try_start("no large files", HOST_ENGINE, HALF_OF_MEMORY, 2,
			  "unusable could not make staging memory of 16 MB: fallocate: File too large");
	setrlimit(RLIMIT_FSIZE, &limit);
	conclude("says what the system lacks for jobs");
}

int
main(int argc, char **argv)
{
	if (!begin_tests(argc, argv))
		return 2;

	test_start();
	test_devices();
	test_soft_limit();
	test_out_of_descriptors();
	test_second_instance();
	test_end_of_waiting();
	test_successor();
	test_end_with_clients();
	test_termination();
	test_late_guard();
	test_bad_starts();
	test_lack();
	return failures > 0;
}
