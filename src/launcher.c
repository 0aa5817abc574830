/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  The background worker that keeps gpusortd running.
 *
 * gpusortd is the launcher's child.  Its standard input is a pipe that the
 * launcher holds open and never writes to: when the launcher ends, however it
 * ends, gpusortd sees end of file and ends too.  Its standard output is a
 * pipe on which it says how it is, a line at a time: the launcher notes that
 * in shared memory and in the server's log.  The lines are
 *
 *		ready ENGINE DEVICE...	it listens, and sorts with ENGINE on DEVICE
 *		unusable REASON...		there is no device for it, and it ends
 *		log SENTENCE...			anything else that should be known
 *
 * When gpusortd dies it is started again: at once if it had been ready for a
 * while, otherwise with a delay that doubles each time.  Without a
 * usable device it is not, until the configuration is loaded again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "launcher.h"
#include "settings.h"
#include "shared_state.h"

#define LAUNCHER_RESTART_SECONDS	10
#define LONGEST_DELAY_SECONDS		60
#define STABLE_SECONDS				10
#define STOP_SECONDS				5
#define LINE_SIZE					1024

/* A running gpusortd, or none. */
typedef struct Daemon
{
	pid_t		pid;			/* 0: none */
	int			life_line;		/* its standard input */
	int			reports;		/* its standard output */
	TimestampTz ready_since;	/* 0: not ready yet */
	char		line[LINE_SIZE];	/* of its reports, as far as read */
	int			line_length;
	char		last_words[LINE_SIZE];	/* the last "log" line */
} Daemon;

static Daemon the_daemon = {.life_line = -1, .reports = -1};

/*
 * The worker as the postmaster has to know it.
 */
static BackgroundWorker
launcher_worker(void)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_PostmasterStart;
	worker.bgw_restart_time = LAUNCHER_RESTART_SECONDS;
	strlcpy(worker.bgw_library_name, "gpusort", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "gpusort_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "gpusort launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "gpusort launcher", BGW_MAXLEN);
	return worker;
}

void
launcher_register(void)
{
	BackgroundWorker worker = launcher_worker();

	RegisterBackgroundWorker(&worker);
}

void
launcher_start(void)
{
	BackgroundWorker worker = launcher_worker();

	if (!shared_claim_launcher())
		return;
	if (!RegisterDynamicBackgroundWorker(&worker, NULL))
	{
		shared_set_daemon_status(DAEMON_UNUSABLE, false,
								 "no background worker slot is free, see max_worker_processes");
		ereport(LOG,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("gpusort: could not start the launcher of gpusortd"),
				 errhint("Increase max_worker_processes, or add gpusort to shared_preload_libraries.")));
	}
}

bool
launcher_device_ready(const char **failure)
{
	DaemonStatus status;

	launcher_start();
	status = shared_daemon_status();
	if (status.state == DAEMON_READY &&
		(status.has_gpu || gpusort_device == DEVICE_CUDA))
		return true;

	if (gpusort_device != DEVICE_CUDA)
		*failure = NULL;
	else if (status.state == DAEMON_STARTING)
		*failure = "gpusortd is not ready yet";
	else
		*failure = pstrdup(status.reason);
	return false;
}

/* The path of gpusortd: it is installed beside this library. */
static void
daemon_path(char *path)
{
	Dl_info		library;

	if (dladdr((void *) gpusort_launcher_main, &library) == 0)
		ereport(ERROR,
				(errmsg("gpusort: could not find the path of its own library")));
	strlcpy(path, library.dli_fname, MAXPGPATH);
	get_parent_directory(path);
	join_path_components(path, path, "gpusortd");
}

/* Removes the spaces that the server allows in lists. */
static void
remove_spaces(char *list)
{
	char	   *end = list;

	for (; *list != '\0'; list++)
	{
		if (!isspace((unsigned char) *list))
			*end++ = *list;
	}
	*end = '\0';
}

/* In the child: becomes gpusortd.  Does not return. */
static void
exec_daemon(const char *path, int life_line, int reports)
{
	char		engine[32];
	char	   *devices;
	char		staging_memory[32];
	char		device_memory[32];
	sigset_t	no_signals;

	snprintf(engine, sizeof(engine), "--engine=%s", gpusort_engine_name());
	devices = psprintf("--devices=%s", gpusort_device_list);
	remove_spaces(devices);
	snprintf(staging_memory, sizeof(staging_memory), "--staging-memory=%d",
			 gpusort_staging_memory);
	snprintf(device_memory, sizeof(device_memory), "--device-memory=%d",
			 gpusort_device_memory);

	/* signals for the launcher's process group are not for gpusortd */
	setsid();
	for (int signal_number = 1; signal_number < NSIG; signal_number++)
		signal(signal_number, SIG_DFL);
	sigemptyset(&no_signals);
	sigprocmask(SIG_SETMASK, &no_signals, NULL);

	/* the server's files are none of its business, its log is */
	dup2(life_line, STDIN_FILENO);
	dup2(reports, STDOUT_FILENO);
	(void) syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);

	execl(path, path, engine, devices, staging_memory, device_memory,
		  (char *) NULL);
	dprintf(STDOUT_FILENO, "log could not execute \"%s\": %s\n", path,
			strerror(errno));
	_exit(127);
}

static void
start_daemon(void)
{
	char		path[MAXPGPATH];
	int			life_line[2];
	int			reports[2];
	pid_t		pid;

	daemon_path(path);
	if (pipe2(life_line, O_CLOEXEC) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("gpusort: could not make a pipe: %m")));
	if (pipe2(reports, O_CLOEXEC | O_NONBLOCK) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("gpusort: could not make a pipe: %m")));

	shared_set_daemon_status(DAEMON_STARTING, false, "");
	pid = fork();
	if (pid == 0)
		exec_daemon(path, life_line[0], reports[1]);
	close(life_line[0]);
	close(reports[1]);
	if (pid < 0)
		ereport(ERROR,
				(errmsg("gpusort: could not fork gpusortd: %m")));

	the_daemon.pid = pid;
	the_daemon.life_line = life_line[1];
	the_daemon.reports = reports[0];
	the_daemon.ready_since = 0;
	the_daemon.line_length = 0;
	the_daemon.last_words[0] = '\0';
}

/*
 * Ends gpusortd, if it runs, and waits for that; also the way to learn how it
 * ended by itself.  One that does not end by itself, being stuck in a driver,
 * is killed.  The result is what waitpid() says.
 */
static int
stop_daemon(void)
{
	TimestampTz deadline = GetCurrentTimestamp() + STOP_SECONDS * USECS_PER_SEC;
	int			status = 0;

	if (the_daemon.pid == 0)
		return 0;
	close(the_daemon.life_line);
	close(the_daemon.reports);
	while (waitpid(the_daemon.pid, &status, WNOHANG) == 0)
	{
		if (GetCurrentTimestamp() > deadline)
			kill(the_daemon.pid, SIGKILL);
		pg_usleep(1000L);
	}
	the_daemon.pid = 0;
	the_daemon.life_line = -1;
	the_daemon.reports = -1;
	return status;
}

/* If the line begins with this word, what follows it, else NULL. */
static const char *
after_word(const char *line, const char *word)
{
	size_t		length = strlen(word);

	if (strncmp(line, word, length) != 0 || line[length] != ' ')
		return NULL;
	return line + length + 1;
}

/* Does what a line of gpusortd's reports calls for. */
static void
handle_report(const char *line)
{
	const char *rest;

	if ((rest = after_word(line, "ready")) != NULL)
	{
		const char *gpu = after_word(rest, "cuda");

		shared_set_daemon_status(DAEMON_READY, gpu != NULL, "");
		the_daemon.ready_since = GetCurrentTimestamp();
		ereport(LOG, (errmsg("gpusort: gpusortd is ready, sorting on %s",
							 gpu != NULL ? gpu : "the host")));
	}
	else if ((rest = after_word(line, "unusable")) != NULL)
	{
		shared_set_daemon_status(DAEMON_UNUSABLE, false, rest);
		ereport(LOG, (errmsg("gpusort: no usable device, sorting on the host"),
					  errdetail("%s.", rest)));
	}
	else if ((rest = after_word(line, "log")) != NULL)
	{
		strlcpy(the_daemon.last_words, rest, LINE_SIZE);
		ereport(LOG, (errmsg("gpusortd: %s", rest)));
	}
	else
		ereport(LOG, (errmsg("gpusort: unexpected report from gpusortd: \"%s\"",
							 line)));
}

/* Reads what gpusortd reports; false at the end, when it is gone. */
static bool
read_reports(void)
{
	Daemon	   *daemon = &the_daemon;
	char		buffer[LINE_SIZE];
	ssize_t		length = read(daemon->reports, buffer, sizeof(buffer));

	if (length < 0)
		return errno == EAGAIN || errno == EINTR;
	for (ssize_t i = 0; i < length; i++)
	{
		if (buffer[i] != '\n')
		{
			if (daemon->line_length < LINE_SIZE - 1)
				daemon->line[daemon->line_length++] = buffer[i];
			continue;
		}
		daemon->line[daemon->line_length] = '\0';
		daemon->line_length = 0;
		handle_report(daemon->line);
	}
	return length > 0;
}

/*
 * gpusortd is gone: says so unless it has said why itself, and returns after
 * how many seconds to start it again, -1 for never.
 */
static int
bury_daemon(int previous_delay)
{
	bool		was_stable = the_daemon.ready_since != 0 &&
		TimestampDifferenceExceeds(the_daemon.ready_since,
								   GetCurrentTimestamp(),
								   STABLE_SECONDS * 1000);
	int			status = stop_daemon();
	char		reason[STATE_REASON_SIZE];

	if (shared_daemon_status().state == DAEMON_UNUSABLE)
		return -1;

	if (WIFSIGNALED(status))
		snprintf(reason, sizeof(reason), "gpusortd was terminated by signal %d: %s",
				 WTERMSIG(status), pg_strsignal(WTERMSIG(status)));
	else
		snprintf(reason, sizeof(reason), "gpusortd exited with status %d%s%s",
				 WEXITSTATUS(status),
				 the_daemon.last_words[0] != '\0' ? ": " : "",
				 the_daemon.last_words);
	shared_set_daemon_status(DAEMON_FAILED, false, reason);
	ereport(LOG, (errmsg("gpusort: %s", reason)));

	if (was_stable)
		return 0;
	return Min(Max(1, previous_delay * 2), LONGEST_DELAY_SECONDS);
}

/* Have the settings changed that gpusortd is started with? */
static bool
reload_settings(void)
{
	int			engine = gpusort_daemon_engine;
	char	   *devices = pstrdup(gpusort_device_list);
	int			staging_memory = gpusort_staging_memory;
	int			device_memory = gpusort_device_memory;
	bool		changed;

	ProcessConfigFile(PGC_SIGHUP);
	changed = engine != gpusort_daemon_engine ||
		strcmp(devices, gpusort_device_list) != 0 ||
		staging_memory != gpusort_staging_memory ||
		device_memory != gpusort_device_memory;
	pfree(devices);
	return changed;
}

/*
 * At exit.  A launcher that ends in an error is started again by the
 * postmaster, one that was told to end by whoever needs it next.
 */
static void
leave_no_daemon(int code, Datum argument)
{
	(void) stop_daemon();
	if (code == 0)
		shared_set_daemon_status(DAEMON_NOT_STARTED, false, "");
	else
		shared_set_daemon_status(DAEMON_FAILED, false,
								 "the launcher of gpusortd has failed");
}

void
gpusort_launcher_main(Datum argument)
{
	uint32		wait_event = WaitEventExtensionNew("GpusortLauncher");
	int			delay = 0;		/* seconds before the next start; -1: none */

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	before_shmem_exit(leave_no_daemon, (Datum) 0);

	while (!ShutdownRequestPending)
	{
		int			events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;
		int			happened;

		if (the_daemon.pid == 0 && delay == 0)
			start_daemon();

		if (the_daemon.pid != 0)
			happened = WaitLatchOrSocket(MyLatch, events | WL_SOCKET_READABLE,
										 the_daemon.reports, -1L, wait_event);
		else if (delay > 0)
			happened = WaitLatch(MyLatch, events | WL_TIMEOUT, delay * 1000L,
								 wait_event);
		else
			happened = WaitLatch(MyLatch, events, -1L, wait_event);

		if (happened & WL_LATCH_SET)
			ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();

		if ((happened & WL_SOCKET_READABLE) && !read_reports())
			delay = bury_daemon(delay);
		else if (happened & WL_TIMEOUT)
			start_daemon();

		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			if (reload_settings() || delay < 0)
			{
				(void) stop_daemon();
				delay = 0;
			}
		}
	}
	proc_exit(0);
}
