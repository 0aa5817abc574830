/*-------------------------------------------------------------------------
 *
 * divided_job.c
 *	  One job of gpusortd as large as it may be, without PostgreSQL: on one
 *	  device, or on several if one does not do.
 *
 *		divided_job [-e ENGINE] [-p PERCENT] GPUSORTD ROWS [WORDS]
 *
 *		-e ENGINE	cuda or host (default: cuda)
 *		-p PERCENT	of each device's memory (default: 90)
 *		GPUSORTD	the program
 *		ROWS		as a number, or as 2^31
 *		WORDS		of 8 bytes of each key (default: 1)
 *
 * Starts gpusortd in a directory of its own, sorts, and prints how long it took
 * to push the keys, to sort them, and to fetch their order; on which devices, and
 * how.  Then it checks that each row came once, that keys are in order, and that
 * equal ones are marked.  Exit status 0 if all of it is right.
 *
 * A key is a hash of the row's number, so no key has to be kept.  The last
 * eighth of the rows has keys that other rows have too.  The order is kept, of
 * 4 bytes a row, as in a backend.
 *
 * 2^31 rows with keys of a word take 26 GB of device memory in place, and 78
 * GB otherwise.  With 21 GB of each of two H200 of 141 GB, both are needed:
 *
 *		make -C bench CUDA_ARCH=90 build/gpusortd build/divided_job
 *		bench/build/divided_job -p 15 bench/build/gpusortd 2^31
 *
 * and without a GPU, on two simulated devices of 60 MB, with the gpusortd that
 * tests have:
 *
 *		make -C test/unit build/gpusortd
 *		GPUSORTD_HOST_DEVICES=60,60 bench/build/divided_job -e host \
 *			test/unit/build/gpusortd 3000000
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/daemon/clock.h"
#include "../test/unit/daemon_client.h"

#define MOST_CHECKERS	64

/* What the arguments say. */
static const char *engine = "cuda";
static int	percent = 90;
static const char *program;
static uint64_t nrows;
static uint32_t key_words = 1;

static Daemon gpusortd;
static uint32_t *order;

static void
__attribute__((noreturn, format(printf, 1, 2)))
fail(const char *format,...)
{
	va_list		arguments;

	fprintf(stderr, "divided_job: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	if (gpusortd.directory[0] != '\0')
		remove_directory(&gpusortd);
	exit(1);
}

bool
daemon_client_wrong(const char *problem)
{
	fail("%s", problem);
}

/* Makes memory all of whose pages are there. */
static void *
make_memory(uint64_t bytes)
{
	void	   *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
							  0);

	if (memory == MAP_FAILED)
		fail("no memory of %llu bytes", (unsigned long long) bytes);
	return memory;
}

static void
print_rate(const char *what, uint64_t microseconds)
{
	printf("%-10s %10.3f s %12.1f million rows/s\n", what,
		   microseconds / 1e6, nrows / (double) microseconds);
	fflush(stdout);
}


/*
 * Keys
 */

/* Returns a number that is as good as random. */
static inline uint64_t
scatter(uint64_t number)
{
	number += UINT64_C(0x9e3779b97f4a7c15);
	number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
	return number ^ (number >> 31);
}

/*
 * Writes the key of a row.  The words ahead of the last one have 1000 values
 * each, so that a sort has to look at more than one of several words.
 */
static inline void
make_key(uint64_t row, uint64_t *words)
{
	uint64_t	distinct = nrows - nrows / 8;
	uint64_t	number = row < distinct ? row : row - distinct;

	for (uint32_t i = 0; i + 1 < key_words; i++)
		words[i] = scatter(number * KEY_MAX_WORDS + i + 1) % 1000;
	words[key_words - 1] = scatter(number * KEY_MAX_WORDS);
}

static inline int
compare_keys(const uint64_t *left, const uint64_t *right)
{
	for (uint32_t i = 0; i < key_words; i++)
	{
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	}
	return 0;
}


/*
 * gpusortd
 */

/* Starts gpusortd, and prints its reports until it is ready. */
static void
start_daemon(void)
{
	char		options[2][64];
	char	   *const arguments[] = {
		(char *) program, options[0], options[1], NULL
	};

	snprintf(options[0], sizeof(options[0]), "--engine=%s", engine);
	snprintf(options[1], sizeof(options[1]), "--device-memory=%d", percent);
	start_gpusortd(&gpusortd, arguments, stdout);
}


/*
 * The job
 */

static void
print_devices(void)
{
	Message		message = {.kind = MSG_LIST_DEVICES};
	Client		client;

	(void) connect_client(&gpusortd, &client);
	(void) send_message(&client, &message);
	while (receive_message(&client, &message) && message.kind == MSG_DEVICE)
		printf("device %d: %s, %.1f GB, of which jobs may use %d%%\n",
			   message.u.device.number, message.u.device.name,
			   message.u.device.memory_bytes / 1e9, percent);
	hang_up(&client);
}

/* Makes the keys of the rows from this one on. */
static void
make_keys(uint64_t row, uint32_t count, uint64_t *words)
{
	for (uint32_t i = 0; i < count; i++)
		make_key(row + i, words + (size_t) i * key_words);
}

static void
do_job(void)
{
	Message		message;
	uint64_t	start;
	Client		client;

	(void) begin(&gpusortd, &client, key_words, nrows);
	start = microseconds_now();
	push_rows(&client, nrows, key_words, make_keys);
	print_rate("pushing", microseconds_now() - start);

	(void) send_run(&client, nrows);
	(void) receive_kind(&client, &message, MSG_SORTED);
	start = microseconds_now();
	print_rate("sorting", message.u.sorted.sort_microseconds);
	printf("           by %s\n           %s\n", message.u.sorted.device,
		   message.u.sorted.method);
	(void) receive_order(&client, order, nrows);
	print_rate("fetching", microseconds_now() - start);
	hang_up(&client);
}


/*
 * The check
 */

/* A bit for each row that has come. */
static _Atomic uint64_t *rows_seen;

/* Entries from "first" on that a thread checks. */
typedef struct Checker
{
	pthread_t	thread;
	uint64_t	first;
	uint64_t	end;
	uint64_t	ties;
	const char *problem;
} Checker;

static void *
check_entries(void *argument)
{
	Checker    *checker = argument;
	uint64_t	before[KEY_MAX_WORDS];
	uint64_t	key[KEY_MAX_WORDS];

	for (uint64_t i = checker->first; i < checker->end; i++)
	{
		uint64_t	row = ORDER_ROW(order[i]);
		uint64_t	bit = UINT64_C(1) << row % 64;
		int			comparison = -1;

		if (row >= nrows)
			checker->problem = "a row that does not exist";
		else if (atomic_fetch_or_explicit(&rows_seen[row / 64], bit,
										  memory_order_relaxed) & bit)
			checker->problem = "a row comes twice";
		if (checker->problem != NULL)
			break;

		if (i > 0 && i == checker->first)
			make_key(ORDER_ROW(order[i - 1]), before);
		make_key(row, key);
		if (i > 0)
			comparison = compare_keys(before, key);
		if (comparison > 0)
			checker->problem = "a key is out of order";
		if ((comparison == 0) != ((order[i] & ORDER_TIE) != 0))
			checker->problem = "a mark of equal keys is wrong";
		checker->ties += comparison == 0;
		memcpy(before, key, key_words * sizeof(uint64_t));
	}
	return NULL;
}

/*
 * Checks the whole order.  The order has as many entries as there are rows, so
 * if no row comes twice, each row comes once.
 */
static bool
check_order(void)
{
	long		threads = sysconf(_SC_NPROCESSORS_ONLN);
	Checker		checkers[MOST_CHECKERS] = {{0}};
	uint64_t	start = microseconds_now();
	uint64_t	ties = 0;
	bool		is_right = true;

	if (threads > MOST_CHECKERS)
		threads = MOST_CHECKERS;
	rows_seen = make_memory(nrows / 8 + sizeof(uint64_t));
	for (long i = 0; i < threads; i++)
	{
		checkers[i].first = nrows / threads * i;
		checkers[i].end = i + 1 == threads ? nrows : nrows / threads * (i + 1);
		if (pthread_create(&checkers[i].thread, NULL, check_entries,
						   &checkers[i]) != 0)
			fail("could not start a thread");
	}
	for (long i = 0; i < threads; i++)
	{
		pthread_join(checkers[i].thread, NULL);
		ties += checkers[i].ties;
		if (checkers[i].problem != NULL)
		{
			printf("wrong: %s\n", checkers[i].problem);
			is_right = false;
		}
	}
	print_rate("checking", microseconds_now() - start);
	if (is_right && ties != nrows / 8)
	{
		printf("wrong: %llu keys are equal to the one before\n",
			   (unsigned long long) ties);
		is_right = false;
	}
	return is_right;
}

static void
__attribute__((noreturn))
usage(void)
{
	fprintf(stderr, "usage: divided_job [-e ENGINE] [-p PERCENT] GPUSORTD "
			"ROWS [WORDS]\n");
	exit(2);
}

static void
read_arguments(int argc, char **argv)
{
	int			option;

	while ((option = getopt(argc, argv, "e:p:")) != -1)
	{
		if (option == 'e')
			engine = optarg;
		else if (option == 'p')
			percent = atoi(optarg);
		else
			usage();
	}
	if (argc - optind < 2 || argc - optind > 3)
		usage();
	program = realpath(argv[optind], NULL);
	nrows = strncmp(argv[optind + 1], "2^", 2) == 0 ?
		UINT64_C(1) << (atoi(argv[optind + 1] + 2) % 64) :
		strtoull(argv[optind + 1], NULL, 10);
	if (argc - optind == 3)
		key_words = (uint32_t) atoi(argv[optind + 2]);
	if (program == NULL || nrows == 0 || nrows > SORT_MAX_ROWS ||
		key_words == 0 || key_words > KEY_MAX_WORDS)
		usage();
}

int
main(int argc, char **argv)
{
	bool		is_right;

	read_arguments(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	patience_ms = -1;
	order = make_memory(nrows * sizeof(uint32_t));
	start_daemon();
	print_devices();
	printf("%llu rows with keys of %u words\n", (unsigned long long) nrows,
		   key_words);
	do_job();
	is_right = check_order();
	end_gpusortd(&gpusortd);
	if (is_right)
		printf("all is right\n");
	return is_right ? 0 : 1;
}
