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
 * A key is a hash of the row's number, so none has to be kept; the last eighth
 * of the rows has keys that others have too.  What is kept is the order, of 4
 * bytes a row, as in a backend.
 *
 * 2^31 rows with keys of a word take 26 GB of device memory in place, and 78 GB
 * otherwise.  So that two H200 of 141 GB are needed, each of which may use 21 GB:
 *
 *		make -C bench CUDA_ARCH=90 build/gpusortd build/divided_job
 *		bench/build/divided_job -p 15 bench/build/gpusortd 2^31
 *
 * and without a GPU, on two simulated devices of 60 MB, with the gpusortd that
 * tests have:
 *
 *		make -C bench/build -f ../../test/gpusortd/Makefile
 *		GPUSORTD_HOST_DEVICES=60,60 bench/build/divided_job -e host \
 *			bench/build/gpusortd 3000000
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/daemon/clock.h"
#include "../src/protocol.h"

#define MOST_CHECKERS	64

/* What the arguments say. */
static const char *engine = "cuda";
static int	percent = 90;
static const char *gpusortd;
static uint64_t nrows;
static uint32_t key_words = 1;

/* gpusortd. */
static char directory[64] = "/tmp/divided_job.XXXXXX";
static pid_t daemon_pid;
static int	life_line;
static FILE *reports;

/* The connection. */
static int	connection;
static int	ring_descriptor = -1;
static char *ring;
static uint32_t nchunks;
static uint32_t *order;

static void remove_directory(void);

static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *format,...)
{
	va_list		arguments;

	fprintf(stderr, "divided_job: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	remove_directory();
	exit(1);
}

/* Memory that is there at once. */
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

/* A number as good as random for each one. */
static inline uint64_t
scatter(uint64_t number)
{
	number += UINT64_C(0x9e3779b97f4a7c15);
	number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
	return number ^ (number >> 31);
}

/*
 * Writes a row's key.  Only the last word differs between many rows: so if there
 * are several, others are looked at as well.
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

static void
remove_directory(void)
{
	if (chdir(directory) == 0)
	{
		(void) unlink(SOCKET_PATH);
		(void) unlink(LOCK_PATH);
		(void) rmdir("pg_stat_tmp");
		(void) rmdir(directory);
	}
}

/* Starts it, and waits until it is ready. */
static void
start_daemon(void)
{
	char		options[3][64];
	char		line[1024];
	int			input[2];
	int			output[2];

	if (mkdtemp(directory) == NULL || chdir(directory) < 0 ||
		mkdir("pg_stat_tmp", 0700) < 0 || pipe2(input, O_CLOEXEC) < 0 ||
		pipe2(output, O_CLOEXEC) < 0)
		fail("could not make a directory: %s", strerror(errno));
	snprintf(options[0], sizeof(options[0]), "--engine=%s", engine);
	snprintf(options[1], sizeof(options[1]), "--device-memory=%d", percent);
	snprintf(options[2], sizeof(options[2]), "--staging-memory=%d",
			 LARGEST_RING_MB);
	daemon_pid = fork();
	if (daemon_pid == 0)
	{
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		execl(gpusortd, gpusortd, options[0], options[1], options[2],
			  (char *) NULL);
		_exit(99);
	}
	close(input[0]);
	close(output[1]);
	life_line = input[1];
	reports = fdopen(output[0], "r");
	do
	{
		if (fgets(line, sizeof(line), reports) == NULL)
			fail("gpusortd did not start");
		fputs(line, stdout);
	} while (strncmp(line, "ready ", 6) != 0);
}

static void
stop_daemon(void)
{
	char		line[1024];

	close(life_line);
	while (fgets(line, sizeof(line), reports) != NULL)
		fputs(line, stdout);
	waitpid(daemon_pid, NULL, 0);
	remove_directory();
}

static void
send_message(const Message *message)
{
	if (send(connection, message, sizeof(*message), MSG_NOSIGNAL) !=
		sizeof(*message))
		fail("could not send: %s", strerror(errno));
}

/* Receives a message, and the ring if it comes along. */
static void
receive_message(Message *message)
{
	char		control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {message, sizeof(*message)};
	struct msghdr envelope = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)
	};

	if (recvmsg(connection, &envelope, 0) != sizeof(*message))
		fail("gpusortd closed the connection");
	if (CMSG_FIRSTHDR(&envelope) != NULL)
		memcpy(&ring_descriptor, CMSG_DATA(CMSG_FIRSTHDR(&envelope)),
			   sizeof(int));
	if (message->kind == MSG_FAILED || message->kind == MSG_REFUSED)
		fail("gpusortd says: %s", message->u.failed.text);
}

static void
expect(const Message *message, MessageKind kind)
{
	if (message->kind != kind)
		fail("received a message of kind %u instead of %d", message->kind,
			 kind);
}


/*
 * The job
 */

static void
connect_to_daemon(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	strcpy(address.sun_path, SOCKET_PATH);
	if (connect(connection, (struct sockaddr *) &address,
				sizeof(address)) < 0)
		fail("could not connect: %s", strerror(errno));
}

static void
print_devices(void)
{
	Message		message = {.kind = MSG_LIST_DEVICES};

	connect_to_daemon();
	send_message(&message);
	for (;;)
	{
		receive_message(&message);
		if (message.kind != MSG_DEVICE)
			break;
		printf("device %d: %s, %.1f GB, of which jobs may use %d%%\n",
			   message.u.device.number, message.u.device.name,
			   message.u.device.memory_bytes / 1e9, percent);
	}
	expect(&message, MSG_END_OF_LIST);
	close(connection);
}

static void
begin_job(void)
{
	Message		message = {.kind = MSG_HELLO};

	connect_to_daemon();
	message.u.hello.version = PROTOCOL_VERSION;
	message.u.hello.fixed_words = key_words;
	message.u.hello.mark_ties = 1;
	message.u.hello.role_limit = UINT64_MAX;
	message.u.hello.expected_rows = nrows;
	send_message(&message);
	receive_message(&message);
	expect(&message, MSG_WELCOME);
	nchunks = message.u.welcome.chunks;
	ring = mmap(NULL, (size_t) nchunks * CHUNK_BYTES, PROT_READ | PROT_WRITE,
				MAP_SHARED, ring_descriptor, 0);
	if (ring == MAP_FAILED)
		fail("could not map the ring: %s", strerror(errno));
}

static void
push_keys(void)
{
	const uint32_t chunk_rows = CHUNK_BYTES / sizeof(uint64_t) / key_words;
	uint64_t	sent = 0;		/* chunks */
	uint64_t	taken = 0;		/* of them, those given back */

	for (uint64_t row = 0; row < nrows;)
	{
		Message		message = {.kind = MSG_KEYS};
		uint32_t	chunk = sent % nchunks;
		uint64_t   *words = (uint64_t *) (ring + (size_t) chunk * CHUNK_BYTES);
		uint64_t	left = nrows - row;

		for (; sent - taken == nchunks; taken++)
		{
			Message		answer;

			receive_message(&answer);
			expect(&answer, MSG_KEYS_TAKEN);
		}
		message.u.keys.chunk = chunk;
		message.u.keys.nrows = left < chunk_rows ? left : chunk_rows;
		message.u.keys.nwords = (uint64_t) message.u.keys.nrows * key_words;
		for (uint32_t i = 0; i < message.u.keys.nrows; i++)
			make_key(row++, words + (size_t) i * key_words);
		send_message(&message);
		sent++;
	}
	for (; taken < sent; taken++)
	{
		Message		answer;

		receive_message(&answer);
		expect(&answer, MSG_KEYS_TAKEN);
	}
}

static void
fetch_order(void)
{
	Message		message;
	uint64_t	have = 0;

	while (have < nrows)
	{
		receive_message(&message);
		expect(&message, MSG_ORDER);
		if (message.u.order.count > nrows - have)
			fail("the order has more entries than there are rows");
		memcpy(order + have,
			   ring + (size_t) message.u.order.chunk * CHUNK_BYTES,
			   message.u.order.count * sizeof(uint32_t));
		have += message.u.order.count;
		message.kind = MSG_ORDER_TAKEN;
		send_message(&message);
	}
}

static void
do_job(void)
{
	Message		message = {.kind = MSG_RUN};
	uint64_t	start;

	begin_job();
	start = microseconds_now();
	push_keys();
	print_rate("pushing", microseconds_now() - start);

	message.u.run.nrows = nrows;
	send_message(&message);
	receive_message(&message);
	expect(&message, MSG_SORTED);
	start = microseconds_now();
	print_rate("sorting", message.u.sorted.sort_microseconds);
	printf("           by %s\n           %s\n", message.u.sorted.device,
		   message.u.sorted.method);
	fetch_order();
	print_rate("fetching", microseconds_now() - start);
	close(connection);
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

/* As many rows as there are, none twice: so each is there once. */
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

static void __attribute__((noreturn))
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
	gpusortd = realpath(argv[optind], NULL);
	nrows = strncmp(argv[optind + 1], "2^", 2) == 0 ?
		UINT64_C(1) << (atoi(argv[optind + 1] + 2) % 64) :
		strtoull(argv[optind + 1], NULL, 10);
	if (argc - optind == 3)
		key_words = (uint32_t) atoi(argv[optind + 2]);
	if (gpusortd == NULL || nrows == 0 || nrows > SORT_MAX_ROWS ||
		key_words == 0 || key_words > KEY_MAX_WORDS)
		usage();
}

int
main(int argc, char **argv)
{
	bool		is_right;

	read_arguments(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	order = make_memory(nrows * sizeof(uint32_t));
	start_daemon();
	print_devices();
	printf("%llu rows with keys of %u words\n", (unsigned long long) nrows,
		   key_words);
	do_job();
	is_right = check_order();
	stop_daemon();
	if (is_right)
		printf("all is right\n");
	return is_right ? 0 : 1;
}
