/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  The background worker that keeps gpusortd running.
 *
 * The launcher's child is the guard (daemon/guard.c), and gpusortd is the
 * guard's child.  The standard input of gpusortd is a pipe that the launcher
 * holds open: when the launcher ends, however it ends, gpusortd sees end of
 * file and ends too.  The standard output of gpusortd is a pipe on which it
 * reports its state, a line at a time.  The launcher notes the state in shared
 * memory and in the server's log.  The lines are
 *
 *		ready ENGINE DEVICE...	it listens, and sorts with ENGINE on DEVICE
 *		unusable REASON...		there is no device for it, or the system lacks what
 *								every job needs, and it ends
 *		failed REASON...		it ends, and is to be started again
 *		log SENTENCE...			anything else that should be known
 *		alive					the answer to a question
 *		ended STATUS			the guard's: it has ended, as waitpid() has it
 *
 * A byte that is written to gpusortd's standard input asks whether it is
 * alive.  The launcher asks only at the request of a process that waits for
 * gpusortd, so an idle server is never woken.  It asks a few times, since on a
 * busy machine an answer may take long.  Without an answer the launcher kills
 * gpusortd, which ends all waits for it.  A stopped gpusortd does not see the
 * end of its standard input, so the guard kills it when the launcher has
 * ended.  If the guard is killed, gpusortd becomes a child of the launcher,
 * not of the postmaster.  The launcher ends only when its children have ended,
 * so that the postmaster gets no child that a signal has ended.
 *
 * When gpusortd dies it is started again: at once if it had been ready for a
 * while, otherwise with a delay that doubles each time.  Without a usable
 * device gpusortd is started again too, since a driver may come later than the
 * server, but with longer delays.
 *
 * The postmaster starts a launcher of shared_preload_libraries again after an
 * error.  Any other launcher runs only once: a process that needs one, and
 * finds none, registers the next.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
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

#include "device/launcher.h"
#include "port/compat.h"
#include "port/timing.h"
#include "settings.h"
#include "shared_state.h"

#define LAUNCHER_NAME				"gpusort launcher"
#define LAUNCHER_RESTART_SECONDS	10
#define LONGEST_DELAY_SECONDS		60
#define STABLE_SECONDS				10
#define LINE_SIZE					1024

/* The least and the longest time until gpusortd looks for a device again. */
#define UNUSABLE_DELAY_SECONDS			60
#define LONGEST_UNUSABLE_DELAY_SECONDS	3600

/* The time that gpusortd may take to make devices ready. */
#define START_SECONDS				60

/* Questions in gpusort.daemon_timeout. */
#define QUESTIONS					3

/*
 * How long gpusortd may take to end by itself, and after it is killed.  A
 * shutdown waits for both, so they are short.
 */
#define LEAVE_MILLISECONDS			100
#define KILL_MILLISECONDS			1000

/*
 * How long the launcher waits for the end of gpusortd after a crash of another
 * process.  The postmaster kills the launcher after five seconds.
 */
#define QUIT_MILLISECONDS			4000

/* A running gpusortd, or none; times as milliseconds_now(). */
typedef struct Daemon
{
	pid_t		guard;			/* process of the guard; 0: there is none */
	int			life_line;		/* standard input of gpusortd */
	int			reports;		/* standard output of gpusortd */
	uint64		ready_since;	/* time; 0: not ready yet */
	bool		is_unusable;
	int			questions;		/* questions that gpusortd has not answered
								 * yet */
	char		line[LINE_SIZE];	/* line of a report, as far as it is read */
	int			line_length;
	char		failure[LINE_SIZE]; /* why gpusortd ends, as it has reported */
	int			ended;			/* how it has ended, by the guard's report;
								 * -1: unknown */
} Daemon;

static Daemon the_daemon = {.life_line = -1,.reports = -1};

/*
 * The time at which the launcher acts if nothing happens before.  It starts
 * gpusortd if there is none, gives it up if it is not ready yet, and otherwise
 * asks it again.
 */
#define NEVER	PG_UINT64_MAX
static uint64 next_time = 0;

/* Seconds from the end of one gpusortd to the start of the next. */
static int	delay = 0;

/* The launcher's entry for the postmaster. */
static BackgroundWorker
launcher_worker(void)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_PostmasterStart;
	worker.bgw_restart_time = LAUNCHER_RESTART_SECONDS;
	strlcpy(worker.bgw_library_name, "gpusort", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "gpusort_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, LAUNCHER_NAME, BGW_MAXLEN);
	strlcpy(worker.bgw_type, LAUNCHER_NAME, BGW_MAXLEN);
	return worker;
}

/*
 * The postmaster does not start the launcher if there was no slot for it, nor
 * after the launcher was told to end, nor in single-user mode, where 15 has a
 * list of workers all the same.
 */
void
launcher_expect(void)
{
	shared_expect_launcher(IsPostmasterEnvironment &&
						   background_worker_is_kept(LAUNCHER_NAME));
}

void
launcher_register(void)
{
	BackgroundWorker worker = launcher_worker();

	RegisterBackgroundWorker(&worker);
}

/*
 * Reports, once, that no launcher can be started now.  Says nothing in
 * single-user mode, where there never is one.
 */
static void
note_no_launcher(void)
{
	const char *reason = IsUnderPostmaster ?
		"no background worker slot is free, see max_worker_processes" :
		"there are no background workers in single-user mode";
	bool		is_news = strcmp(shared_daemon_status().reason, reason) != 0;

	shared_set_daemon_status(DAEMON_FAILED, false, reason);
	if (is_news && IsUnderPostmaster)
		ereport(LOG,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("gpusort: could not start the launcher of gpusortd"),
				 errdetail("No background worker slot is free."),
				 errhint("Increase max_worker_processes.")));
}

void
launcher_start(void)
{
	BackgroundWorker worker = launcher_worker();

	if (!shared_claim_launcher())
		return;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	if (!RegisterDynamicBackgroundWorker(&worker, NULL))
		note_no_launcher();
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

/*
 * Finds gpusortd: where gpusort was built to install it, otherwise beside this
 * library.
 */
static void
daemon_path(char *path)
{
#ifdef GPUSORTD_PATH
	strlcpy(path, GPUSORTD_PATH, MAXPGPATH);
#else
	Dl_info		library;

	if (dladdr((void *) gpusort_launcher_main, &library) == 0)
		ereport(ERROR,
				(errmsg("gpusort: could not find the path of its own library")));
	strlcpy(path, library.dli_fname, MAXPGPATH);
	get_parent_directory(path);
	join_path_components(path, path, "gpusortd");
#endif
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

/*
 * In the child, with all signals blocked: becomes the guard of gpusortd.  Does not
 * return.
 */
static void
exec_daemon(const char *path, int life_line, int reports)
{
	char		engine[32];
	char	   *devices;
	char		staging_memory_limit[48];
	char		device_memory[32];
	sigset_t	no_signals;

	snprintf(engine, sizeof(engine), "--engine=%s", gpusort_engine_name());
	devices = psprintf("--devices=%s", gpusort_device_list);
	remove_spaces(devices);
	snprintf(staging_memory_limit, sizeof(staging_memory_limit),
			 "--staging-memory-limit=%d", gpusort_staging_memory_limit);
	snprintf(device_memory, sizeof(device_memory), "--device-memory=%d",
			 gpusort_device_memory);

	/*
	 * Signals for the launcher's process group are not for gpusortd. Ignoring
	 * the signals discards those that have come.
	 */
	setsid();
	for (int signal_number = 1; signal_number < NSIG; signal_number++)
	{
		signal(signal_number, SIG_IGN);
		signal(signal_number, SIG_DFL);
	}
	sigemptyset(&no_signals);
	sigprocmask(SIG_SETMASK, &no_signals, NULL);

	/* gpusortd keeps the server's log, and none of its other files */
	dup2(life_line, STDIN_FILENO);
	dup2(reports, STDOUT_FILENO);
	(void) syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);

	execl(path, path, "--guard", engine, devices, staging_memory_limit,
		  device_memory, (char *) NULL);
	dprintf(STDOUT_FILENO, "failed could not execute \"%s\": %s\n", path,
			strerror(errno));
	/* the postmaster does not take this status for a crash, see guard.c */
	_exit(1);
}

static void
start_daemon(void)
{
	char		path[MAXPGPATH];
	int			life_line[2];
	int			reports[2];
	sigset_t	all_signals;
	sigset_t	signals;
	pid_t		pid;

	/* a guard that took too long to end may have ended since */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;

	daemon_path(path);
	if (pipe2(life_line, O_CLOEXEC) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("gpusort: could not make a pipe: %m")));
	if (pipe2(reports, O_CLOEXEC | O_NONBLOCK) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("gpusort: could not make a pipe: %m")));

	/* until the new gpusortd reports, there is still no device */
	if (shared_daemon_status().state != DAEMON_UNUSABLE)
		shared_set_daemon_status(DAEMON_STARTING, false, "");
	memset(&the_daemon, 0, sizeof(the_daemon));
	sigfillset(&all_signals);
	sigprocmask(SIG_SETMASK, &all_signals, &signals);
	pid = fork();
	if (pid == 0)
		exec_daemon(path, life_line[0], reports[1]);
	/* SIGQUIT finds the guard */
	the_daemon.guard = Max(pid, 0);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	close(life_line[0]);
	close(reports[1]);
	if (pid < 0)
		ereport(ERROR,
				(errmsg("gpusort: could not fork gpusortd: %m")));
	(void) fcntl(life_line[1], F_SETFL, O_NONBLOCK);

	the_daemon.ended = -1;
	the_daemon.life_line = life_line[1];
	the_daemon.reports = reports[0];
	next_time = milliseconds_now() + START_SECONDS * 1000;
}

/*
 * Waits for the end of gpusortd, but not longer than this.  Returns true, and
 * sets *status, if it has ended.
 */
static bool
daemon_ends_within(int milliseconds, int *status)
{
	uint64		deadline = milliseconds_now() + milliseconds;

	while (waitpid(the_daemon.guard, status, WNOHANG) == 0)
	{
		if (milliseconds_now() >= deadline)
			return false;
		pg_usleep(1000L);
	}
	return true;
}

/* Makes the guard kill gpusortd, also if both are stopped. */
static void
kill_daemon(void)
{
	kill(the_daemon.guard, SIGTERM);
	kill(the_daemon.guard, SIGCONT);
}

/*
 * Ends gpusortd, if it runs, and waits for its end.  Kills it if it does not
 * end by itself.  Sets *status to how the guard ended, as waitpid() has it.
 * Returns false if gpusortd is stuck in a driver, so that not even a kill ends
 * it; then it is left to the guard.
 */
static bool
stop_daemon(int *status)
{
	bool		ended = true;

	*status = 0;
	if (the_daemon.guard == 0)
		return true;
	close(the_daemon.life_line);
	close(the_daemon.reports);
	if (!daemon_ends_within(LEAVE_MILLISECONDS, status))
	{
		kill_daemon();
		ended = daemon_ends_within(KILL_MILLISECONDS, status);
	}
	the_daemon.guard = 0;
	the_daemon.life_line = -1;
	the_daemon.reports = -1;
	return ended;
}

/* Returns what follows this word in a line that begins with it, else NULL. */
static const char *
after_word(const char *line, const char *word)
{
	size_t		length = strlen(word);

	if (strncmp(line, word, length) != 0 || line[length] != ' ')
		return NULL;
	return line + length + 1;
}

/* "ready": gpusortd sorts from now on. */
static void
note_ready(const char *engine)
{
	const char *gpu = after_word(engine, "cuda");

	the_daemon.ready_since = milliseconds_now();
	next_time = NEVER;
	shared_set_daemon_status(DAEMON_READY, gpu != NULL, "");
	ereport(LOG, (errmsg("gpusort: gpusortd is ready, sorting on %s",
						 gpu != NULL ? gpu : "the host")));
}

/*
 * "unusable": gpusortd has nothing to sort with.  Says so in the log, once.
 */
static void
note_unusable(const char *reason)
{
	DaemonStatus before = shared_daemon_status();

	the_daemon.is_unusable = true;
	shared_set_daemon_status(DAEMON_UNUSABLE, false, reason);
	if (before.state != DAEMON_UNUSABLE ||
		strncmp(before.reason, reason, STATE_REASON_SIZE - 1) != 0)
		ereport(LOG, (errmsg("gpusort: no usable device, sorting on the host"),
					  errdetail("%s.", reason)));
}

/* "alive": one answer is enough for any number of questions. */
static void
note_answer(void)
{
	the_daemon.questions = 0;
	next_time = NEVER;
	shared_note_answer();
}

/* Acts on a line of gpusortd's reports. */
static void
handle_report(const char *line)
{
	const char *rest;

	if ((rest = after_word(line, "ready")) != NULL)
		note_ready(rest);
	else if ((rest = after_word(line, "unusable")) != NULL)
		note_unusable(rest);
	else if ((rest = after_word(line, "failed")) != NULL)
		strlcpy(the_daemon.failure, rest, LINE_SIZE);
	else if ((rest = after_word(line, "log")) != NULL)
		ereport(LOG, (errmsg("gpusortd: %s", rest)));
	else if ((rest = after_word(line, "ended")) != NULL)
		the_daemon.ended = atoi(rest);
	else if (strcmp(line, "alive") == 0)
		note_answer();
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

/* How long until the next start of gpusortd, in seconds. */
static int
next_delay(bool was_stable)
{
	if (the_daemon.is_unusable)
		return Min(Max(UNUSABLE_DELAY_SECONDS, delay * 2),
				   LONGEST_UNUSABLE_DELAY_SECONDS);
	if (was_stable)
		return 0;
	return Min(Max(1, delay * 2), LONGEST_DELAY_SECONDS);
}

/*
 * Cleans up after a gpusortd that is gone, or kills one for this reason.
 * Reports why it ended, unless there is no device for it, and sets the time to
 * start it again.
 */
static void
bury_daemon(const char *killed_because)
{
	bool		was_stable = the_daemon.ready_since != 0 &&
		milliseconds_now() - the_daemon.ready_since >= STABLE_SECONDS * 1000;
	char		reason[STATE_REASON_SIZE];
	int			status;
	bool		ended;

	if (killed_because != NULL)
		kill_daemon();
	ended = stop_daemon(&status);
	if (the_daemon.ended != -1)
		status = the_daemon.ended;
	delay = next_delay(was_stable);
	next_time = milliseconds_now() + delay * UINT64CONST(1000);
	if (the_daemon.is_unusable)
		return;

	if (!ended)
		snprintf(reason, sizeof(reason), "gpusortd was killed and does not end");
	else if (killed_because != NULL)
		snprintf(reason, sizeof(reason), "gpusortd was killed, %s",
				 killed_because);
	else if (WIFSIGNALED(status))
		snprintf(reason, sizeof(reason), "gpusortd was terminated by signal %d: %s",
				 WTERMSIG(status), pg_strsignal(WTERMSIG(status)));
	else
		snprintf(reason, sizeof(reason), "gpusortd exited with status %d%s%s",
				 WEXITSTATUS(status),
				 the_daemon.failure[0] != '\0' ? ": " : "",
				 the_daemon.failure);
	shared_set_daemon_status(DAEMON_FAILED, false, reason);
	ereport(LOG, (errmsg("gpusort: %s", reason)));
}

/*
 * Asks gpusortd whether it is alive.  From the second question on no other
 * process begins to wait for it.
 */
static void
ask_daemon(void)
{
	if (the_daemon.questions > 0)
		shared_note_silence();
	the_daemon.questions++;
	if (write(the_daemon.life_line, "?", 1) < 0)
		ereport(DEBUG1,
				(errmsg_internal("gpusort: could not ask gpusortd: %m")));
	next_time = milliseconds_now() + gpusort_daemon_timeout / QUESTIONS;
}

/*
 * Acts when the time has come and gpusortd has said nothing.  A question
 * without an answer counts only after another wait, so that time in which this
 * process or the machine stood still does not count against gpusortd.
 */
static void
look_after_daemon(void)
{
	char		reason[64];

	if (the_daemon.guard == 0)
		start_daemon();
	else if (gpusort_daemon_timeout == 0)
		note_answer();			/* gpusortd need not answer */
	else if (the_daemon.ready_since == 0)
	{
		snprintf(reason, sizeof(reason), "it was not ready after %d seconds",
				 START_SECONDS);
		bury_daemon(reason);
	}
	else if (the_daemon.questions >= QUESTIONS)
	{
		snprintf(reason, sizeof(reason), "it did not answer for %d ms",
				 gpusort_daemon_timeout);
		bury_daemon(reason);
	}
	else
		ask_daemon();
}

/* Waits until there is something to do. */
static void
wait_for_events(void)
{
	static uint32 wait_event = 0;
	int			events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;
	long		timeout = -1;

	if (next_time != NEVER)
	{
		uint64		now = milliseconds_now();

		events |= WL_TIMEOUT;
		timeout = next_time > now ? next_time - now : 0;
	}
	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortLauncher");
	if (the_daemon.guard != 0)
		(void) WaitLatchOrSocket(MyLatch, events | WL_SOCKET_READABLE,
								 the_daemon.reports, timeout, wait_event);
	else
		(void) WaitLatch(MyLatch, events, timeout, wait_event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Loads the configuration; true if settings of gpusortd have changed. */
static bool
reload_settings(void)
{
	int			engine = gpusort_daemon_engine;
	char	   *devices = pstrdup(gpusort_device_list);
	int			staging_memory_limit = gpusort_staging_memory_limit;
	int			device_memory = gpusort_device_memory;
	bool		changed;

	ProcessConfigFile(PGC_SIGHUP);
	changed = engine != gpusort_daemon_engine ||
		strcmp(devices, gpusort_device_list) != 0 ||
		staging_memory_limit != gpusort_staging_memory_limit ||
		device_memory != gpusort_device_memory;
	pfree(devices);
	return changed;
}

/* At exit. */
static void
leave_no_daemon(int code, Datum argument)
{
	int			status;

	(void) stop_daemon(&status);
	if (code == 0)
		shared_set_daemon_status(DAEMON_NOT_STARTED, false, "");
	else
		shared_set_daemon_status(DAEMON_FAILED, false,
								 "the launcher of gpusortd has failed");
	shared_end_launcher();
}

/*
 * Loads the configuration again.  Starts gpusortd anew if it runs with other
 * settings, and at once if it was to be started later.
 */
static void
reload(void)
{
	int			status;

	ConfigReloadPending = false;
	if (!reload_settings() && the_daemon.guard != 0)
		return;
	(void) stop_daemon(&status);
	delay = 0;
	next_time = 0;
}

/*
 * Handler of SIGQUIT, which says that another process has crashed.  The guard
 * or gpusortd may have been killed together with that process, and the
 * launcher has to wait for their end.  Like the server's handler this one
 * cleans up nothing else.
 */
static void
quit_without_children(SIGNAL_ARGS)
{
	uint64		deadline = milliseconds_now() + QUIT_MILLISECONDS;

	if (the_daemon.guard != 0)
		kill_daemon();
	while (waitpid(-1, NULL, WNOHANG) >= 0 && milliseconds_now() < deadline)
		pg_usleep(1000L);
	_exit(2);
}

void
gpusort_launcher_main(Datum argument)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGQUIT, quit_without_children);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	if (!shared_begin_launcher())
		proc_exit(0);
	before_shmem_exit(leave_no_daemon, (Datum) 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);

	while (!ShutdownRequestPending)
	{
		if (ConfigReloadPending)
			reload();
		if (the_daemon.guard != 0 && !read_reports())
			bury_daemon(NULL);
		if (shared_launcher_is_asked() && the_daemon.guard != 0 &&
			the_daemon.ready_since != 0 && the_daemon.questions == 0)
			next_time = 0;
		if (milliseconds_now() >= next_time)
			look_after_daemon();
		wait_for_events();
	}
	proc_exit(0);
}
