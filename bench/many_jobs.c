/*-------------------------------------------------------------------------
 *
 * many_jobs.c
 *	  Jobs of gpusortd that many clients have at once, without PostgreSQL.
 *
 *		many_jobs [-e ENGINE] [-s SECONDS] GPUSORTD ROWS CLIENTS...
 *
 *		-e ENGINE	cuda or host (default: cuda)
 *		-s SECONDS	for each number of clients (default: 2)
 *		GPUSORTD	the program
 *		ROWS		of each job, with keys of 8 bytes
 *		CLIENTS		at the same time, each a thread with one job after another
 *
 * Starts gpusortd in a directory of its own, and prints for each number of
 * clients: jobs a second, the median and the 99th percentile of their times, and
 * how long the sort in gpusortd takes on average.  A job begins with a
 * connection, as a backend's does, and ends when its order was fetched.  Exit
 * status 0 if all orders were right: every row once, and keys in order.
 *
 *		make -C bench CUDA_ARCH=90 build/gpusortd build/many_jobs
 *		bench/build/many_jobs bench/build/gpusortd 100000 1 8 32
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/daemon/clock.h"
#include "../test/unit/daemon_client.h"

#define MOST_CLIENTS	1024

/* Jobs of a client beyond these are done, but not counted. */
#define MOST_JOBS		100000

#define WARM_UP_SECONDS	0.3

/* What the arguments say. */
static const char *engine = "cuda";
static double seconds = 2;
static const char *program;
static uint64_t nrows;

static Daemon gpusortd;
static uint64_t *keys;
static uint64_t end_time;

/* A client, and what its jobs took, in microseconds. */
typedef struct Worker
{
	pthread_t	thread;
	uint64_t	njobs;
	uint64_t	sort_time;		/* of all jobs */
	uint32_t   *times;			/* of each */
} Worker;

static void
__attribute__((noreturn))
fail(const char *reason)
{
	fprintf(stderr, "many_jobs: %s\n", reason);
	if (gpusortd.directory[0] != '\0')
		remove_directory(&gpusortd);
	exit(1);
}

bool
daemon_client_wrong(const char *problem)
{
	fail(problem);
}

static void *
allocate(size_t bytes)
{
	void	   *memory = malloc(bytes);

	if (memory == NULL)
		fail("out of memory");
	return memory;
}

/* Each key is a hash of the row's number, and there is no other like it. */
static void
make_keys(void)
{
	keys = allocate(nrows * sizeof(uint64_t));
	for (uint64_t row = 0; row < nrows; row++)
	{
		uint64_t	number = (row + 1) * UINT64_C(0x9e3779b97f4a7c15);

		number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		keys[row] = number ^ (number >> 31);
	}
}

/* Copies the keys of the rows from this one on. */
static void
copy_keys(uint64_t row, uint32_t count, uint64_t *words)
{
	memcpy(words, keys + row, count * sizeof(uint64_t));
}

/* Does a job; returns the time of its sort. */
static uint64_t
do_job(uint32_t *order)
{
	Message		message;
	Client		client;

	(void) begin(&gpusortd, &client, 1, nrows);
	push_rows(&client, nrows, 1, copy_keys);
	(void) send_run(&client, nrows);
	(void) receive_kind(&client, &message, MSG_SORTED);
	(void) receive_order(&client, order, nrows);
	hang_up(&client);
	return message.u.sorted.sort_microseconds;
}

/* As no two keys are equal, keys that ascend are those of all rows. */
static void
check_order(const uint32_t *order)
{
	for (uint64_t i = 0; i < nrows; i++)
	{
		uint64_t	row = ORDER_ROW(order[i]);

		if (row >= nrows)
			fail("a row that does not exist");
		if (i > 0 && keys[ORDER_ROW(order[i - 1])] >= keys[row])
			fail("a key is out of order");
	}
}

static void *
work(void *argument)
{
	Worker	   *worker = argument;
	uint32_t   *order = allocate(nrows * sizeof(uint32_t));

	while (microseconds_now() < end_time)
	{
		uint64_t	start = microseconds_now();
		uint64_t	sort_time = do_job(order);
		uint64_t	time = microseconds_now() - start;

		if (worker->njobs == 0)
			check_order(order);
		if (worker->njobs == MOST_JOBS)
			continue;
		worker->times[worker->njobs++] = (uint32_t) time;
		worker->sort_time += sort_time;
	}
	free(order);
	return NULL;
}

static int
compare_times(const void *left, const void *right)
{
	uint32_t	l = *(const uint32_t *) left;
	uint32_t	r = *(const uint32_t *) right;

	return l < r ? -1 : l > r;
}

static void
print_jobs(Worker *workers, int count, uint64_t time)
{
	uint64_t	njobs = 0;
	uint64_t	sort_time = 0;
	uint32_t   *times;

	for (int i = 0; i < count; i++)
		njobs += workers[i].njobs;
	if (njobs == 0)
		fail("no job was done");
	times = allocate(njobs * sizeof(uint32_t));
	njobs = 0;
	for (int i = 0; i < count; i++)
	{
		memcpy(times + njobs, workers[i].times,
			   workers[i].njobs * sizeof(uint32_t));
		njobs += workers[i].njobs;
		sort_time += workers[i].sort_time;
	}
	qsort(times, njobs, sizeof(uint32_t), compare_times);
	printf("%d clients: %.0f jobs/s, median %u us, 99th percentile %u us, "
		   "sort %.0f us\n", count, njobs * 1e6 / time, times[njobs / 2],
		   times[njobs * 99 / 100], (double) sort_time / njobs);
	fflush(stdout);
	free(times);
}

/*
 * Runs clients at the same time, each for its_seconds, and prints what they did,
 * unless they only warm up.
 */
static void
run_clients(int count, double its_seconds, bool is_warm_up)
{
	Worker	   *workers = allocate(count * sizeof(Worker));
	uint64_t	start = microseconds_now();

	end_time = start + (uint64_t) (its_seconds * 1e6);
	for (int i = 0; i < count; i++)
	{
		workers[i].njobs = 0;
		workers[i].sort_time = 0;
		workers[i].times = allocate(MOST_JOBS * sizeof(uint32_t));
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			fail("could not start a thread");
	}
	for (int i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	if (!is_warm_up)
		print_jobs(workers, count, microseconds_now() - start);
	for (int i = 0; i < count; i++)
		free(workers[i].times);
	free(workers);
}

static void
start_daemon(void)
{
	char		option[64];
	char	   *const arguments[] = {(char *) program, option, NULL};

	snprintf(option, sizeof(option), "--engine=%s", engine);
	start_gpusortd(&gpusortd, arguments, NULL);
}

static void
__attribute__((noreturn))
usage(void)
{
	fprintf(stderr, "usage: many_jobs [-e ENGINE] [-s SECONDS] GPUSORTD ROWS "
			"CLIENTS...\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	int			option;

	while ((option = getopt(argc, argv, "e:s:")) != -1)
	{
		if (option == 'e')
			engine = optarg;
		else if (option == 's')
			seconds = atof(optarg);
		else
			usage();
	}
	if (argc - optind < 3)
		usage();
	program = realpath(argv[optind], NULL);
	nrows = strtoull(argv[optind + 1], NULL, 10);
	if (program == NULL || nrows == 0 || nrows > SORT_MAX_ROWS || seconds <= 0)
		usage();
	for (int i = optind + 2; i < argc; i++)
		if (atoi(argv[i]) < 1 || atoi(argv[i]) > MOST_CLIENTS)
			usage();

	signal(SIGPIPE, SIG_IGN);
	patience_ms = -1;
	make_keys();
	start_daemon();
	for (int i = optind + 2; i < argc; i++)
	{
		run_clients(atoi(argv[i]), WARM_UP_SECONDS, true);
		run_clients(atoi(argv[i]), seconds, false);
	}
	end_gpusortd(&gpusortd);
	return 0;
}
