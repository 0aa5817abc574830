/*-------------------------------------------------------------------------
 *
 * wrong_engine.c
 *	  The host engine of a gpusortd that is not to be believed.
 *
 * What it does wrong is in a file named "wrong", in the working directory, and
 * is read each time a part of an order is fetched, or a ring made:
 *
 *	repeat		one row comes twice, and another not at all
 *	swap		two neighbours have changed places
 *	impossible	one row's number is that of none
 *	first tie	the first key is said to equal the one before it
 *	ties		keys are said to be equal that are not, and the other way round
 *	change		an impossible number, but at times only, after the order has been sent
 *	short		rings have no memory
 *	unsealed	rings have memory that could be taken away
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#define host_engine right_engine
#include "../../src/daemon/engine_host.c"
#undef host_engine

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <time.h>

#define IMPOSSIBLE_ROW	UINT32_C(0x7ffffff0)

/* For how long an order that has been sent is changed. */
#define CHANGING_MILLISECONDS	50

static bool
does(const char *what)
{
	char		line[32] = "";
	FILE	   *file = fopen("wrong", "r");

	if (file != NULL)
	{
		if (fgets(line, sizeof(line), file) == NULL)
			line[0] = '\0';
		fclose(file);
	}
	line[strcspn(line, "\n")] = '\0';
	return strcmp(line, what) == 0;
}

static uint64_t
milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A thread: has an entry be right and wrong by turns. */
static void *
change(void *argument)
{
	volatile uint32_t *entry = argument;
	uint32_t	right = *entry;
	uint64_t	end = milliseconds() + CHANGING_MILLISECONDS;

	while (milliseconds() < end)
	{
		for (int i = 0; i < 1000; i++)
		{
			*entry = IMPOSSIBLE_ROW;
			*entry = right;
		}
	}
	return NULL;
}

static bool
wrong_pull(EngineJob *job, uint64_t first, uint32_t count, uint32_t *order,
		   DeviceError *error)
{
	uint32_t	middle = count / 2;
	pthread_t	thread;

	if (!right_engine.pull(job, first, count, order, error))
		return false;
	if (count < 2)
		return true;
	if (does("repeat"))
		order[middle] = (order[middle] & ORDER_TIE) | ORDER_ROW(order[0]);
	else if (does("impossible"))
		order[middle] = IMPOSSIBLE_ROW;
	else if (does("swap"))
	{
		uint32_t	row = order[middle];

		order[middle] = order[middle - 1];
		order[middle - 1] = row;
	}
	else if (does("first tie"))
		order[0] |= ORDER_TIE;
	else if (does("ties"))
	{
		for (uint32_t i = 1; i < count; i++)
			order[i] ^= ORDER_TIE;
	}
	else if (does("change") &&
			 pthread_create(&thread, NULL, change, &order[middle]) == 0)
		pthread_detach(thread);
	return true;
}

/* What makes a ring, as the linker has it. */
extern int	__real_posix_fallocate(int descriptor, off_t offset, off_t length);
extern int	__wrap_posix_fallocate(int descriptor, off_t offset, off_t length);
extern int	__real_fcntl(int descriptor, int command,...);
extern int	__wrap_fcntl(int descriptor, int command,...);

int
__wrap_posix_fallocate(int descriptor, off_t offset, off_t length)
{
	return does("short") ? 0 :
		__real_posix_fallocate(descriptor, offset, length);
}

int
__wrap_fcntl(int descriptor, int command,...)
{
	va_list		arguments;
	long		argument;

	va_start(arguments, command);
	argument = va_arg(arguments, long);
	va_end(arguments);
	return command == F_ADD_SEALS && does("unsealed") ? 0 :
		__real_fcntl(descriptor, command, argument);
}

const Engine host_engine = {
	.name = "host",
	.count = host_count,
	.describe = host_describe,
	.start = host_start,
	.job_memory = host_job_memory,
	.job_memory_in_place = host_job_memory,
	.job_memory_kept = host_job_memory_kept,
	.begin = host_begin,
	.push = host_push,
	.wait_pushed = host_wait_pushed,
	.keep_keys = host_keep_keys,
	.run = host_run,
	.method = host_method,
	.pull = wrong_pull,
	.pull_keys = host_pull_keys,
	.end = host_end,
	.is_lost = host_is_lost
};
