/*-------------------------------------------------------------------------
 *
 * connection_test.c
 *	  Tests of how a connection of gpusortd reserves memory for its job.
 *
 * With an engine that sorts nothing, but takes ten times as much memory when
 * it does not sort in place; the host engine has no such choice.  Each job is
 * served by a thread of this process.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../src/daemon/connection.h"
#include "../../src/daemon/memory_budget.h"
#include "../../src/daemon/ring.h"
#include "../../src/protocol.h"

/* How long anything that should happen may take. */
#define PATIENCE_SECONDS	30

#define ROW_BYTES			100
#define ROW_BYTES_IN_PLACE	10
#define BUDGET_BYTES		UINT64_C(1000000)

/* Rows for which the budget suffices, in either way. */
#define MOST_ROWS			(BUDGET_BYTES / ROW_BYTES)
#define MOST_ROWS_IN_PLACE	(BUDGET_BYTES / ROW_BYTES_IN_PLACE)

static int	failures = 0;

/* What went wrong in the test that is running; empty as long as nothing. */
static char problem[512];

/* Notes the first problem; returns false for the caller to. */
static bool __attribute__((format(printf, 1, 2)))
wrong(const char *format,...)
{
	va_list		arguments;

	if (problem[0] == '\0')
	{
		va_start(arguments, format);
		vsnprintf(problem, sizeof(problem), format, arguments);
		va_end(arguments);
	}
	return false;
}

static void
conclude(const char *name)
{
	bool		good = problem[0] == '\0';

	printf("%s - connection: %s\n", good ? "ok" : "not ok", name);
	if (!good)
	{
		printf("# %s\n", problem);
		failures++;
	}
	problem[0] = '\0';
	fflush(stdout);
}


/*
 * The engine
 */

struct EngineJob
{
	uint64_t	nrows;
	bool		in_place;
};

static uint64_t
test_job_memory(const KeyShape *shape, uint64_t nrows, uint64_t nwords)
{
	(void) shape;
	(void) nwords;
	return nrows * ROW_BYTES;
}

static uint64_t
test_job_memory_in_place(const KeyShape *shape, uint64_t nrows,
						 uint64_t nwords)
{
	(void) shape;
	(void) nwords;
	return nrows * ROW_BYTES_IN_PLACE;
}

static EngineJob *
test_begin(const KeyShape *shape, DeviceAlgorithm algorithm,
		   EngineCancelled cancelled, void *argument, DeviceError *error)
{
	EngineJob  *job = calloc(1, sizeof(EngineJob));

	(void) shape;
	(void) cancelled;
	(void) argument;
	(void) error;
	job->in_place = algorithm == DEVICE_SORT_BITONIC;
	return job;
}

static bool
test_push(EngineJob *job, const uint64_t *words, uint64_t nwords,
		  const uint64_t *ends, uint32_t nrows, uint64_t *ticket,
		  DeviceError *error)
{
	(void) words;
	(void) nwords;
	(void) ends;
	(void) error;
	job->nrows += nrows;
	*ticket = job->nrows;
	return true;
}

static bool
test_wait_pushed(EngineJob *job, uint64_t ticket, DeviceError *error)
{
	(void) job;
	(void) ticket;
	(void) error;
	return true;
}

static bool
test_run(EngineJob *job, uint64_t memory, DeviceError *error)
{
	if (memory < job->nrows * ROW_BYTES_IN_PLACE)
	{
		snprintf(error->text, sizeof(error->text), "only %llu bytes",
				 (unsigned long long) memory);
		return false;
	}
	if (memory < job->nrows * ROW_BYTES)
		job->in_place = true;
	return true;
}

static const char *
test_method(const EngineJob *job)
{
	return job->in_place ? "in place" : "in full";
}

static bool
test_pull(EngineJob *job, uint64_t first, uint32_t count, uint32_t *order,
		  DeviceError *error)
{
	(void) job;
	(void) first;
	(void) error;
	memset(order, 0, count * sizeof(uint32_t));
	return true;
}

static void
test_end(EngineJob *job)
{
	free(job);
}

static bool
test_is_lost(void)
{
	return false;
}

static const Engine test_engine = {
	.name = "test",
	.job_memory = test_job_memory,
	.job_memory_in_place = test_job_memory_in_place,
	.begin = test_begin,
	.push = test_push,
	.wait_pushed = test_wait_pushed,
	.run = test_run,
	.method = test_method,
	.pull = test_pull,
	.end = test_end,
	.is_lost = test_is_lost
};


/*
 * Jobs
 */

typedef struct Job
{
	int			socket;
	pthread_t	server;
	uint64_t	nrows;
	Message		answer;			/* the last */
} Job;

static void *
serve(void *argument)
{
	connection_serve((int) (intptr_t) argument);
	return NULL;
}

static bool
send_message(Job *job, const Message *message)
{
	return send(job->socket, message, sizeof(Message), MSG_NOSIGNAL) ==
		sizeof(Message) || wrong("could not send");
}

/* Receives a message of this kind; none of the tests expects another. */
static bool
expect(Job *job, MessageKind kind)
{
	if (recv(job->socket, &job->answer, sizeof(Message), 0) !=
		sizeof(Message))
		return wrong("no message of kind %d came", kind);
	if (job->answer.kind != kind)
		return wrong("expected a message of kind %d, received %u", kind,
					 job->answer.kind);
	return true;
}

/* Begins a job, and receives a first answer of this kind. */
static Job
begin(DeviceAlgorithm algorithm, uint64_t expected_rows, MessageKind kind)
{
	struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
	Message		message = {.kind = MSG_HELLO};
	int			sockets[2];
	Job			job = {0};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) < 0)
		exit(2);
	job.socket = sockets[0];
	setsockopt(job.socket, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
	pthread_create(&job.server, NULL, serve, (void *) (intptr_t) sockets[1]);

	message.u.hello.version = PROTOCOL_VERSION;
	message.u.hello.fixed_words = 1;
	message.u.hello.algorithm = algorithm;
	message.u.hello.expected_rows = expected_rows;
	if (send_message(&job, &message))
		(void) expect(&job, kind);
	return job;
}

/* Adds rows, and receives an answer of this kind. */
static bool
add_rows(Job *job, uint32_t nrows, MessageKind kind)
{
	Message		message = {.kind = MSG_KEYS};

	message.u.keys.nrows = nrows;
	message.u.keys.nwords = nrows;
	job->nrows += nrows;
	return send_message(job, &message) && expect(job, kind);
}

/* Sorts, and looks whether it was done in this way. */
static void
run(Job *job, const char *method)
{
	Message		message = {.kind = MSG_RUN};

	message.u.run.nrows = job->nrows;
	if (send_message(job, &message) && expect(job, MSG_SORTED) &&
		strcmp(job->answer.u.sorted.method, method) != 0)
		wrong("%llu rows were sorted %s", (unsigned long long) job->nrows,
			  job->answer.u.sorted.method);
}

static void
end(Job *job)
{
	close(job->socket);
	pthread_join(job->server, NULL);
}


/*
 * The tests
 */

static void
test_enough(const char *name)
{
	Job			job = begin(DEVICE_SORT_AUTO, MOST_ROWS, MSG_WELCOME);

	if (add_rows(&job, MOST_ROWS, MSG_KEYS_TAKEN))
		run(&job, "in full");
	end(&job);
	conclude(name);
}

static void
test_expected_in_place(void)
{
	Job			job = begin(DEVICE_SORT_AUTO, MOST_ROWS + 1, MSG_WELCOME);

	if (add_rows(&job, MOST_ROWS + 1, MSG_KEYS_TAKEN))
		run(&job, "in place");
	end(&job);

	job = begin(DEVICE_SORT_AUTO, MOST_ROWS_IN_PLACE, MSG_WELCOME);
	if (add_rows(&job, MOST_ROWS_IN_PLACE, MSG_KEYS_TAKEN))
		run(&job, "in place");
	end(&job);

	job = begin(DEVICE_SORT_AUTO, MOST_ROWS_IN_PLACE + 1, MSG_REFUSED);
	end(&job);
	conclude("sorts in place what is more than memory");
}

/* It was expected to be large, but is not. */
static void
test_fewer_rows(void)
{
	Job			job = begin(DEVICE_SORT_AUTO, MOST_ROWS_IN_PLACE / 2,
							MSG_WELCOME);

	if (add_rows(&job, MOST_ROWS / 3, MSG_KEYS_TAKEN))
		run(&job, "in full");
	end(&job);
	conclude("does not sort in place what turns out to be small");
}

static void
test_growth(void)
{
	Job			job = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);

	if (add_rows(&job, MOST_ROWS, MSG_KEYS_TAKEN) &&
		add_rows(&job, 1, MSG_KEYS_TAKEN) &&
		add_rows(&job, MOST_ROWS_IN_PLACE - MOST_ROWS - 1, MSG_KEYS_TAKEN))
		run(&job, "in place");
	end(&job);

	job = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	if (add_rows(&job, MOST_ROWS_IN_PLACE, MSG_KEYS_TAKEN))
		(void) add_rows(&job, 1, MSG_FAILED);
	end(&job);
	conclude("sorts in place what grows beyond memory");
}

static void
test_growth_beside_others(void)
{
	Job			holder = begin(DEVICE_SORT_AUTO, MOST_ROWS / 10 * 9,
							   MSG_WELCOME);
	Job			grower = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	const uint32_t left = MOST_ROWS / 10;

	if (add_rows(&grower, left, MSG_KEYS_TAKEN) &&
		add_rows(&grower, 5 * left, MSG_KEYS_TAKEN))
		run(&grower, "in place");
	end(&grower);

	grower = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	(void) add_rows(&grower, 10 * left + 1, MSG_FAILED);
	end(&grower);

	if (add_rows(&holder, MOST_ROWS / 10 * 9, MSG_KEYS_TAKEN))
		run(&holder, "in full");
	end(&holder);
	conclude("sorts in place what grows into memory of others");
}

/* Jobs in place at once, for which there would not be memory otherwise. */
static void
test_asked_for(void)
{
	Job			jobs[5];

	for (int i = 0; i < 5; i++)
		jobs[i] = begin(DEVICE_SORT_BITONIC, MOST_ROWS_IN_PLACE / 5,
						MSG_WELCOME);
	for (int i = 0; i < 5; i++)
	{
		if (add_rows(&jobs[i], MOST_ROWS_IN_PLACE / 5, MSG_KEYS_TAKEN))
			run(&jobs[i], "in place");
	}
	for (int i = 0; i < 5; i++)
		end(&jobs[i]);
	conclude("has less memory for jobs that are to be sorted in place");
}

int
main(void)
{
	memory_budget_init(BUDGET_BYTES);
	ring_init(&test_engine, 2);
	connection_init(&test_engine, "a device");

	test_enough("has all memory for a job that needs it");
	test_expected_in_place();
	test_fewer_rows();
	test_growth();
	test_growth_beside_others();
	test_asked_for();
	test_enough("has all memory again at the end");
	return failures > 0;
}
