/*-------------------------------------------------------------------------
 *
 * daemon_test_released.h
 *	  What gpusortd has, and whether clients that hung up have left anything.
 *
 * To be included after daemon_test.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DAEMON_TEST_RELEASED_H
#define GPUSORT_DAEMON_TEST_RELEASED_H

#include <dirent.h>

/* gpusortd may keep some rings, each with a descriptor, for jobs to come. */
#define MAX_IDLE_RINGS	32

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

/*
 * Waits first, as gpusortd may take a moment to notice that clients are gone.
 */
static IdleState
idle_state(const Daemon *daemon)
{
	IdleState	state;

	usleep(200000);
	state.descriptors = count_descriptors(daemon);
	state.threads = status_number(daemon, "Threads:");
	return state;
}

/*
 * Waits until gpusortd has as few descriptors and threads as it had, or fewer,
 * but for idle rings.
 */
static void
check_released(const Daemon *daemon, const IdleState *before)
{
	uint64_t	deadline = milliseconds() + patience_ms;

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

/* Goes through a job of this many rows up to a stage, and hangs up. */
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

#endif							/* GPUSORT_DAEMON_TEST_RELEASED_H */
