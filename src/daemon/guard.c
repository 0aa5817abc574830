/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  The process between the launcher and gpusortd.
 *
 * In a container without an init the postmaster is process 1, and so becomes
 * the parent of each process that its children leave behind.  If such a
 * process ends by a signal, or with a status above 1, the postmaster takes it
 * for a crashed child of its own, and restarts. gpusortd has to end when the
 * launcher does, even when gpusortd is stopped or stuck in a driver.  Only a
 * signal can end it then.  The guard is its parent.  The guard kills gpusortd,
 * waits for its end however long that takes, and always ends with status 0.
 *
 * When the launcher ends, the kernel sends the guard SIGCONT, which a process
 * gets even if it is stopped.  When the guard ends, the kernel sends gpusortd
 * SIGKILL.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"

/*
 * True if the launcher has ended, which closes the other end of standard
 * input.
 */
static bool
launcher_is_gone(void)
{
	struct pollfd life_line = {.fd = STDIN_FILENO,.events = POLLIN};

	return poll(&life_line, 1, 0) > 0 && (life_line.revents & POLLHUP) != 0;
}

/*
 * In the child: becomes gpusortd, with the signal mask that there was before.
 */
static void
become_guarded(pid_t guard, const sigset_t *signals, char **arguments)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		leave(EXIT_STOPPED);
	sigprocmask(SIG_SETMASK, signals, NULL);
	execv(arguments[0], arguments);
	report("failed could not execute \"%s\": %s", arguments[0], strerror(errno));
	leave(EXIT_ERROR);
}

/*
 * Waits until gpusortd has ended, and kills it when the launcher says so or has
 * ended.  Returns how it has ended, as waitpid() does.
 */
static int
wait_for_guarded(pid_t guarded, pid_t launcher, const sigset_t *awaited)
{
	int			status;

	while (waitpid(guarded, &status, WNOHANG) == 0)
	{
		if (sigwaitinfo(awaited, NULL) == SIGTERM || getppid() != launcher)
			kill(guarded, SIGKILL);
	}
	return status;
}

void
guard(char **arguments)
{
	pid_t		launcher = getppid();
	pid_t		self = getpid();
	pid_t		guarded;
	sigset_t	awaited;
	sigset_t	signals;

	/* a launcher that no longer reads is no reason to die */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGCONT);
	sigprocmask(SIG_BLOCK, &awaited, &signals);

	/* the kernel does not tell of a launcher that has ended before this */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (launcher_is_gone())
		leave(EXIT_STOPPED);
	prctl(PR_SET_NAME, "gpusortd guard");
	guarded = fork();
	if (guarded == 0)
		become_guarded(self, &signals, arguments);
	if (guarded < 0)
	{
		report("failed could not fork: %s", strerror(errno));
		leave(EXIT_STOPPED);
	}
	close(STDIN_FILENO);
	if (chdir("/") < 0)
		report("log could not leave the data directory: %s", strerror(errno));
	report("ended %d", wait_for_guarded(guarded, launcher, &awaited));
	leave(EXIT_STOPPED);
}
