/*-------------------------------------------------------------------------
 *
 * connection_test.c
 *	  Tests of how a connection of gpusortd reserves memory for its job, and of
 *	  what it does when that fails.
 *
 * The engine of this test sorts nothing, but takes ten times as much memory
 * when it does not sort in place; the host engine always takes the same.  To
 * it all keys are equal, so parts are merged one after the other.  Any step of
 * a job can be told to fail on a device.  A thread of this process serves each
 * job.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/daemon/connection.h"
#include "../../src/daemon/devices.h"
#include "../../src/daemon/ring.h"
#include "../../src/daemon/watch.h"
#include "../../src/common/protocol.h"
#include "../gpusortd/hooks.h"

#define TEST_SUBJECT		"connection"
#include "test_report.h"

/* How long anything that should happen may take. */
#define PATIENCE_SECONDS	30

#define ROW_BYTES			10
#define ROW_BYTES_IN_PLACE	1
#define BUDGET_BYTES		UINT64_C(10000000)

/* Rows for which the budget suffices, in either way. */
#define MOST_ROWS			(BUDGET_BYTES / ROW_BYTES)
#define MOST_ROWS_IN_PLACE	(BUDGET_BYTES / ROW_BYTES_IN_PLACE)

/*
 * The most rows of a chunk.  A job that begins has memory for this many rows,
 * or for a few more: for what a chunk could hold.
 */
#define CHUNK_ROWS			125000

/* Rows for which a job can have memory beside other jobs. */
#define MOST_ROWS_BESIDE	(MOST_ROWS / 8 * 7)

/* In most of the tests a client is idle after this time without a message. */
#define NEVER_MS			3600000
#define SOON_MS				100
#define SOON_US				(SOON_MS * 1000)

static int	idle_milliseconds;
static int	ndevices;

int
test_idle_milliseconds(void)
{
	return idle_milliseconds;
}

/*
 * The engine
 */

/* Steps that can fail. */
typedef enum Step
{
	STEP_BEGIN,
	STEP_PUSH,
	STEP_WAIT_PUSHED,
	STEP_RUN,
	STEP_PULL_KEYS,				/* only of a job with several parts */
	STEP_PULL,
	STEP_GIVEN_UP,				/* run, when the client is gone */
	STEP_NONE
} Step;

/* The step that fails, on one device; for lack of memory or otherwise. */
static Step failing_step = STEP_NONE;
static int	failing_device;
static bool fails_for_memory;

/* What jobs could have of each device beside other processes. */
static atomic_ullong memory_left = UINT64_MAX;

static bool
test_step(Step step, int device, DeviceError *error)
{
	if (step != failing_step || device != failing_device)
		return true;
	snprintf(error->text, sizeof(error->text), "step %d fails", step);
	error->is_full = fails_for_memory;
	return false;
}

static int
test_count(DeviceError *error)
{
	(void) error;
	return ndevices;
}

static bool
test_describe(int number, DeviceInfo *info, DeviceError *error)
{
	(void) error;
	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "device %d", number);
	info->memory_bytes = BUDGET_BYTES;
	return true;
}

static bool
test_start(int number, DeviceError *error)
{
	(void) number;
	(void) error;
	return true;
}

static bool
test_memory_left(int number, uint64_t *bytes, DeviceError *error)
{
	(void) number;
	(void) error;
	*bytes = memory_left;
	return true;
}

struct EngineJob
{
	int			device;
	EngineCancelled cancelled;
	void	   *argument;
	uint64_t	nrows;
	bool		in_place;
	bool		keeps_keys;
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
test_begin(int device, const KeyShape *shape, DeviceAlgorithm algorithm,
		   EngineCancelled cancelled, void *argument, DeviceError *error)
{
	EngineJob  *job;

	(void) shape;
	if (!test_step(STEP_BEGIN, device, error))
		return NULL;
	job = calloc(1, sizeof(EngineJob));
	job->device = device;
	job->cancelled = cancelled;
	job->argument = argument;
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
	if (!test_step(STEP_PUSH, job->device, error))
		return false;
	job->nrows += nrows;
	*ticket = job->nrows;
	return true;
}

static bool
test_wait_pushed(EngineJob *job, uint64_t ticket, DeviceError *error)
{
	(void) ticket;
	return test_step(STEP_WAIT_PUSHED, job->device, error);
}

static void
test_keep_keys(EngineJob *job)
{
	job->keeps_keys = true;
}

static bool
test_perform(EngineJob *job, uint64_t memory, DeviceError *error)
{
	while (failing_step == STEP_GIVEN_UP && !job->cancelled(job->argument))
		usleep(1000);
	if (!test_step(STEP_RUN, job->device, error) ||
		!test_step(STEP_GIVEN_UP, job->device, error))
		return false;
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
	if (!test_step(STEP_PULL, job->device, error))
		return false;
	for (uint32_t i = 0; i < count; i++)
		order[i] = (uint32_t) first + i;
	return true;
}

static bool
test_pull_keys(EngineJob *job, uint64_t first, uint32_t step, uint32_t count,
			   uint32_t key_words, uint64_t *words, DeviceError *error)
{
	(void) first;
	(void) step;
	if (!job->keeps_keys)
		wrong("keys are pulled that were not kept");
	if (!test_step(STEP_PULL_KEYS, job->device, error))
		return false;
	memset(words, 0, count * key_words * sizeof(uint64_t));
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
	.count = test_count,
	.describe = test_describe,
	.start = test_start,
	.memory = test_memory_left,
	.job_memory = test_job_memory,
	.job_memory_in_place = test_job_memory_in_place,
	.job_memory_kept = test_job_memory_in_place,
	.begin = test_begin,
	.push = test_push,
	.wait_pushed = test_wait_pushed,
	.keep_keys = test_keep_keys,
	.perform = test_perform,
	.method = test_method,
	.pull = test_pull,
	.pull_keys = test_pull_keys,
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
	int			ring;			/* its descriptor */
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
	char		control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {&job->answer, sizeof(Message)};
	struct msghdr envelope = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)
	};

	if (recvmsg(job->socket, &envelope, 0) != sizeof(Message))
		return wrong("no message of kind %d came", kind);
	if (CMSG_FIRSTHDR(&envelope) != NULL)
		memcpy(&job->ring, CMSG_DATA(CMSG_FIRSTHDR(&envelope)), sizeof(int));
	if (job->answer.kind != kind)
		return wrong("expected a message of kind %d, received %u", kind,
					 job->answer.kind);
	return true;
}

/*
 * With small buffers gpusortd can send only a few messages that nobody reads.
 */
static bool has_small_buffers = false;

/* A connection that a thread serves. */
static Job
connect_job(void)
{
	struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
	int			least = 1;
	int			sockets[2];
	Job			job = {.ring = -1};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) < 0)
		exit(2);
	job.socket = sockets[0];
	if (has_small_buffers)
		setsockopt(sockets[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
	setsockopt(job.socket, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
	pthread_create(&job.server, NULL, serve, (void *) (intptr_t) sockets[1]);
	return job;
}

/* The role of the jobs that begin, and the limit of all jobs of a role. */
static uint32_t role = 1;
static uint64_t role_limit = UINT64_MAX;

/* Begins a job, and receives a first answer of this kind. */
static Job
begin(DeviceAlgorithm algorithm, uint64_t expected_rows, MessageKind kind)
{
	Message		message = {.kind = MSG_HELLO};
	Job			job = connect_job();

	message.u.hello.version = PROTOCOL_VERSION;
	message.u.hello.fixed_words = 1;
	message.u.hello.algorithm = algorithm;
	message.u.hello.role = role;
	message.u.hello.role_limit = role_limit;
	message.u.hello.expected_rows = expected_rows;
	if (send_message(&job, &message))
		(void) expect(&job, kind);
	return job;
}

/* Adds rows, and receives an answer of this kind to the last rows. */
static bool
add_rows(Job *job, uint64_t nrows, MessageKind kind)
{
	while (nrows > 0)
	{
		Message		message = {.kind = MSG_KEYS};
		uint32_t	count = nrows < CHUNK_ROWS ? (uint32_t) nrows : CHUNK_ROWS;

		message.u.keys.nrows = count;
		message.u.keys.nwords = count;
		job->nrows += count;
		nrows -= count;
		if (!send_message(job, &message) ||
			!expect(job, nrows > 0 ? MSG_KEYS_TAKEN : kind))
			return false;
	}
	return true;
}

/* Adds rows until there is no memory for more. */
static void
fill(Job *job)
{
	Message		message = {.kind = MSG_KEYS};

	message.u.keys.nrows = CHUNK_ROWS;
	message.u.keys.nwords = CHUNK_ROWS;
	for (;;)
	{
		if (!send_message(job, &message) ||
			recv(job->socket, &job->answer, sizeof(Message), 0) !=
			sizeof(Message))
		{
			wrong("no answer came");
			return;
		}
		if (job->answer.kind == MSG_KEYS_TAKEN)
			continue;
		if (job->answer.kind != MSG_FAILED ||
			job->answer.u.failed.cause != FAILURE_FULL)
			wrong("kind %u, cause %u, with all devices full",
				  job->answer.kind, job->answer.u.failed.cause);
		return;
	}
}

/* Sorts, and checks that it was done in this way. */
static void
run(Job *job, const char *method)
{
	Message		message = {.kind = MSG_SORT};

	message.u.sort.nrows = job->nrows;
	if (send_message(job, &message) && expect(job, MSG_SORTED) &&
		strcmp(job->answer.u.sorted.method, method) != 0)
		wrong("%llu rows were sorted %s", (unsigned long long) job->nrows,
			  job->answer.u.sorted.method);
}

/*
 * Receives the order, which is that of the rows' numbers, as all keys are
 * equal.  Gives all of it back.
 */
static void
receive_order(Job *job)
{
	uint32_t	row = 0;

	while (row < job->nrows && expect(job, MSG_ORDER))
	{
		uint32_t	count = job->answer.u.order.count;
		uint32_t	entries[2];
		off_t		chunk = (off_t) job->answer.u.order.chunk * CHUNK_BYTES;

		if (pread(job->ring, &entries[0], 4, chunk) != 4 ||
			pread(job->ring, &entries[1], 4, chunk + (count - 1) * 4) != 4)
			wrong("could not read the ring");
		if (entries[0] != row || entries[1] != row + count - 1)
			wrong("rows %u to %u are at entries %u to %u", entries[0],
				  entries[1], row, row + count - 1);
		row += count;
		job->answer.kind = MSG_ORDER_TAKEN;
		(void) send_message(job, &job->answer);
	}
	if (row != job->nrows)
		wrong("%u entries of %llu came", row, (unsigned long long) job->nrows);
}

static void
end(Job *job)
{
	if (job->ring >= 0)
		close(job->ring);
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

/* A job that was expected to be large, but is not. */
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
	Job			holder = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	Job			grower = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	const uint32_t left = MOST_ROWS_BESIDE - MOST_ROWS / 2;

	(void) add_rows(&holder, MOST_ROWS / 2, MSG_KEYS_TAKEN);
	if (add_rows(&grower, left, MSG_KEYS_TAKEN) &&
		add_rows(&grower, 5 * left, MSG_KEYS_TAKEN))
		run(&grower, "in place");
	end(&grower);

	grower = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	fill(&grower);
	end(&grower);
	run(&holder, "in full");
	end(&holder);
	conclude("sorts in place what grows into memory of others");
}

/* Several jobs in place at once, for which there is no memory otherwise. */
static void
test_asked_for(void)
{
	const uint64_t nrows = MOST_ROWS_IN_PLACE / 8;
	Job			jobs[5];

	for (int i = 0; i < 5; i++)
		jobs[i] = begin(DEVICE_SORT_BITONIC, nrows, MSG_WELCOME);
	for (int i = 0; i < 5; i++)
	{
		if (add_rows(&jobs[i], nrows, MSG_KEYS_TAKEN))
			run(&jobs[i], "in place");
	}
	for (int i = 0; i < 5; i++)
		end(&jobs[i]);
	conclude("has less memory for jobs that are to be sorted in place");
}

/* Asks for the devices, and checks that one is in this state. */
static void
check_state(int number, DeviceState state, uint64_t sorts)
{
	Message		message = {.kind = MSG_LIST_DEVICES};
	Job			job = connect_job();

	(void) send_message(&job, &message);
	for (int i = 0; i <= number; i++)
		(void) expect(&job, MSG_DEVICE);
	if (job.answer.u.device.number != number ||
		job.answer.u.device.state != state ||
		job.answer.u.device.sorts != sorts)
		wrong("device %d has state %u and %llu sorts", number,
			  job.answer.u.device.state,
			  (unsigned long long) job.answer.u.device.sorts);
	if (job.answer.u.device.jobs != 0 ||
		job.answer.u.device.reserved_bytes != 0)
		wrong("device %d still has %u jobs", number,
			  job.answer.u.device.jobs);
	end(&job);
}

/* Takes a job to the step that fails. */
static void
fail_job(FailureCause cause)
{
	Job			job = begin(DEVICE_SORT_AUTO, 10,
							failing_step == STEP_BEGIN ? MSG_REFUSED :
							MSG_WELCOME);
	Message		message = {.kind = MSG_SORT,.u.sort.nrows = 10};

	if (failing_step == STEP_PUSH || failing_step == STEP_WAIT_PUSHED)
		(void) add_rows(&job, 10, MSG_FAILED);
	else if (failing_step != STEP_BEGIN &&
			 add_rows(&job, 10, MSG_KEYS_TAKEN) &&
			 send_message(&job, &message))
	{
		if (failing_step == STEP_PULL)
			(void) expect(&job, MSG_SORTED);
		(void) expect(&job, MSG_FAILED);
	}
	if (strncmp(job.answer.u.failed.text, "step ", 5) != 0 ||
		job.answer.u.failed.cause != cause)
		wrong("step %d: it failed for \"%s\", cause %u", failing_step,
			  job.answer.u.failed.text, job.answer.u.failed.cause);
	end(&job);
}

/* Checks which devices have sorted. */
static void
check_device(const Job *job, const char *device)
{
	if (strcmp(job->answer.u.sorted.device, device) != 0)
		wrong("it was sorted by \"%s\" instead of \"%s\"",
			  job->answer.u.sorted.device, device);
}

/* A small job, which this device must do. */
static void
do_job(const char *device)
{
	Job			job = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);

	if (add_rows(&job, 10, MSG_KEYS_TAKEN))
		run(&job, "in full");
	check_device(&job, device);
	end(&job);
}

static void
test_failing_device(void)
{
	uint64_t	sorts = failing_step == STEP_PULL ? 1 : 0;

	fail_job(FAILURE_ELSEWHERE);
	do_job("device 1, device 1");
	check_state(0, DEVICE_FAILED, sorts);
	check_state(1, DEVICE_READY, 1);

	/* now the other device: it is the last one, and so it stays */
	failing_device = 1;
	fail_job(FAILURE_FAULT);
	check_state(1, DEVICE_READY, 1 + sorts);
	failing_device = 0;
	do_job("device 1, device 1");
	conclude("does without a device that fails");
}

static void
test_only_device_fails(void)
{
	fail_job(FAILURE_FAULT);
	check_state(0, DEVICE_READY, failing_step == STEP_PULL ? 1 : 0);
	failing_step = STEP_NONE;
	do_job("device 0");
	conclude("goes on with the only device");
}

/* Other processes have taken what the job had reserved, which is no fault. */
static void
test_full_device(void)
{
	fails_for_memory = true;
	fail_job(FAILURE_FULL);
	check_state(0, DEVICE_READY, failing_step == STEP_PULL ? 1 : 0);
	check_state(1, DEVICE_READY, 0);
	failing_step = STEP_NONE;
	do_job("device 0, device 0");
	conclude("does not blame a device whose memory others have");
}

/*
 * As long as other processes have the memory, a backend does its job itself.
 */
static void
test_neighbour(void)
{
	Job			running = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	Job			job;

	(void) add_rows(&running, CHUNK_ROWS, MSG_KEYS_TAKEN);
	memory_left = BUDGET_BYTES / 20;
	usleep(SOON_US);
	job = begin(DEVICE_SORT_AUTO, BUDGET_BYTES / 20 + 1, MSG_REFUSED);
	if (job.answer.u.failed.cause != FAILURE_FULL)
		wrong("it is refused for cause %u", job.answer.u.failed.cause);
	end(&job);

	/* the job that has begun gets no more memory, and sorts in what it has */
	(void) add_rows(&running, CHUNK_ROWS, MSG_KEYS_TAKEN);
	run(&running, "in place");
	end(&running);
	job = begin(DEVICE_SORT_AUTO, MOST_ROWS / 20, MSG_WELCOME);
	end(&job);
	memory_left = UINT64_MAX;
	usleep(SOON_US);
	test_enough("has all memory when others have gone");
	check_state(0, DEVICE_READY, 2);
	conclude("goes on with what others leave");
}

static void
check_refused(Job *job)
{
	if (job->answer.u.failed.cause != FAILURE_FULL ||
		strstr(job->answer.u.failed.text, "its role may use") == NULL)
		wrong("it is refused for \"%s\", cause %u",
			  job->answer.u.failed.text, job->answer.u.failed.cause);
	end(job);
}

/* The limit of all jobs of a role. */
static void
test_role(void)
{
	Job			first;
	Job			second;
	Job			others;

	/* at the expected size, in place if need be */
	role_limit = BUDGET_BYTES / 4;
	first = begin(DEVICE_SORT_AUTO, BUDGET_BYTES / 4 + 1, MSG_REFUSED);
	check_refused(&first);
	first = begin(DEVICE_SORT_AUTO, BUDGET_BYTES / 4, MSG_WELCOME);
	end(&first);

	/* at the beginning, and as keys come */
	first = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	(void) add_rows(&first, MOST_ROWS / 4, MSG_KEYS_TAKEN);
	second = begin(DEVICE_SORT_AUTO, MOST_ROWS / 20, MSG_REFUSED);
	check_refused(&second);
	role = 2;
	others = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	(void) add_rows(&others, MOST_ROWS / 4, MSG_KEYS_TAKEN);
	role = 1;
	usleep(2 * SOON_US);
	(void) add_rows(&first, MOST_ROWS, MSG_KEYS_TAKEN);
	fill(&first);
	check_refused(&first);

	/* no other job had to give way for that */
	run(&others, "in full");
	end(&others);
	second = begin(DEVICE_SORT_AUTO, MOST_ROWS / 20, MSG_WELCOME);
	end(&second);
	conclude("bounds the memory of a role");
}

/* The device of a job that is given up has not failed. */
static void
test_given_up(void)
{
	Job			job = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	Message		message = {.kind = MSG_SORT,.u.sort.nrows = 10};

	if (add_rows(&job, 10, MSG_KEYS_TAKEN))
		(void) send_message(&job, &message);
	end(&job);
	check_state(0, DEVICE_READY, 0);
	conclude("does not blame the device for a job that is given up");
}

#define BOTH_DEVICES	"device 0, device 0 and device 1, device 1"

/* A job that does not fit beside another one goes on on the other device. */
static void
test_growth_on_several(void)
{
	Job			grower = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	Job			second = begin(DEVICE_SORT_AUTO, 20, MSG_WELCOME);
	Job			holder = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);

	(void) add_rows(&second, MOST_ROWS, MSG_KEYS_TAKEN);
	(void) add_rows(&holder, MOST_ROWS_BESIDE - CHUNK_ROWS, MSG_KEYS_TAKEN);
	fill(&grower);
	end(&grower);

	grower = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	end(&second);
	if (add_rows(&grower, 20, MSG_KEYS_TAKEN) &&
		add_rows(&grower, MOST_ROWS_IN_PLACE, MSG_KEYS_TAKEN))
		run(&grower, "in place, 2 parts merged");
	check_device(&grower, BOTH_DEVICES);
	receive_order(&grower);
	end(&grower);
	end(&holder);
	check_state(0, DEVICE_READY, 1);
	check_state(1, DEVICE_READY, 1);
	conclude("lets a job that outgrows its device go on on another one");
}

/*
 * Does a job that has to have several parts, from its beginning to its order.
 */
static void
do_divided_job(uint64_t expected_rows, uint64_t nrows, const char *method,
			   const char *device)
{
	Job			job = begin(DEVICE_SORT_AUTO, expected_rows, MSG_WELCOME);

	if (add_rows(&job, nrows, MSG_KEYS_TAKEN))
		run(&job, method);
	check_device(&job, device);
	receive_order(&job);
	end(&job);
}

static void
test_several_parts(void)
{
	Job			job;

	/* as expected, up to what each part may waste at its end */
	do_divided_job(MOST_ROWS_IN_PLACE + 1, MOST_ROWS_IN_PLACE + 1,
				   "in place and in full, 2 parts merged", BOTH_DEVICES);
	do_divided_job(2 * MOST_ROWS_IN_PLACE - 131072,
				   2 * MOST_ROWS_IN_PLACE - 131072, "in place, 2 parts merged",
				   BOTH_DEVICES);
	job = begin(DEVICE_SORT_AUTO, 2 * MOST_ROWS_IN_PLACE - 131071, MSG_REFUSED);
	end(&job);

	/* more than expected */
	do_divided_job(10, MOST_ROWS_IN_PLACE, "in place", "device 0, device 0");
	do_divided_job(10, MOST_ROWS_IN_PLACE + 1,
				   "in place and in full, 2 parts merged", BOTH_DEVICES);
	do_divided_job(MOST_ROWS_IN_PLACE + 1, 2 * MOST_ROWS_IN_PLACE,
				   "in place, 2 parts merged", BOTH_DEVICES);
	job = begin(DEVICE_SORT_AUTO, MOST_ROWS_IN_PLACE + 1, MSG_WELCOME);
	if (add_rows(&job, 2 * MOST_ROWS_IN_PLACE, MSG_KEYS_TAKEN) &&
		add_rows(&job, 1, MSG_FAILED) &&
		job.answer.u.failed.cause != FAILURE_FULL)
		wrong("cause %u with all devices full", job.answer.u.failed.cause);
	end(&job);

	/* fewer */
	do_divided_job(MOST_ROWS_IN_PLACE + 1, MOST_ROWS / 2, "in full",
				   "device 0, device 0");
	do_divided_job(MOST_ROWS_IN_PLACE + 1, 0, "in full", "device 0, device 0");
	check_state(0, DEVICE_READY, 7);
	check_state(1, DEVICE_READY, 4);
	conclude("has parts on two devices for a job that has no room on one");
}

static void
test_three_parts(void)
{
	const char *all = BOTH_DEVICES " and device 2, device 2";

	do_divided_job(2 * MOST_ROWS_IN_PLACE + 1, 3 * MOST_ROWS_IN_PLACE,
				   "in place, 3 parts merged", all);
	do_divided_job(10, 3 * MOST_ROWS_IN_PLACE, "in place, 3 parts merged", all);
	do_divided_job(2 * MOST_ROWS_IN_PLACE + 1, 2 * MOST_ROWS_IN_PLACE,
				   "in place, 2 parts merged", BOTH_DEVICES);
	check_state(2, DEVICE_READY, 2);
	conclude("has parts on three devices");
}

/* Bytes that jobs have of a device. */
static uint64_t
reserved_bytes(int number)
{
	Message		message = {.kind = MSG_LIST_DEVICES};
	Job			job = connect_job();

	(void) send_message(&job, &message);
	for (int i = 0; i <= number; i++)
		(void) expect(&job, MSG_DEVICE);
	end(&job);
	return job.answer.u.device.reserved_bytes;
}

/*
 * However large a job is expected to be, it reserves what its first keys take.
 */
static void
test_expectations(void)
{
	Job			jobs[3];

	for (int i = 0; i < 3; i++)
		jobs[i] = begin(DEVICE_SORT_AUTO, MOST_ROWS / 10 * 9, MSG_WELCOME);
	if (reserved_bytes(0) > 3 * (CHUNK_BYTES / sizeof(uint64_t)) * ROW_BYTES)
		wrong("jobs without keys have %llu bytes",
			  (unsigned long long) reserved_bytes(0));
	if (add_rows(&jobs[1], MOST_ROWS / 2, MSG_KEYS_TAKEN))
		run(&jobs[1], "in full");
	for (int i = 0; i < 3; i++)
		end(&jobs[i]);
	conclude("reserves nothing for keys that have not come");
}

/*
 * A job with an idle client keeps what it has as long as nobody waits for it,
 * and gives way as soon as another job waits.
 */
static void
test_idle(void)
{
	Job			idle = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	Job			other;

	(void) add_rows(&idle, MOST_ROWS / 2, MSG_KEYS_TAKEN);
	usleep(3 * SOON_US);
	(void) add_rows(&idle, MOST_ROWS / 2, MSG_KEYS_TAKEN);
	other = begin(DEVICE_SORT_AUTO, MOST_ROWS / 10, MSG_QUEUED);
	if (expect(&other, MSG_WELCOME) &&
		add_rows(&other, MOST_ROWS / 10, MSG_KEYS_TAKEN))
		run(&other, "in full");
	if (expect(&idle, MSG_FAILED) &&
		idle.answer.u.failed.cause != FAILURE_FULL)
		wrong("the cause is %u", idle.answer.u.failed.cause);
	end(&idle);
	end(&other);
	check_state(0, DEVICE_READY, 1);
	conclude("lets an idle job give way to one that waits");
}

/* A job that could not grow otherwise does not fail because of an idle one. */
static void
test_idle_beside_growth(void)
{
	Job			idle = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	Job			grower;

	(void) add_rows(&idle, MOST_ROWS - CHUNK_ROWS, MSG_KEYS_TAKEN);
	usleep(2 * SOON_US);
	grower = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	if (add_rows(&grower, MOST_ROWS, MSG_KEYS_TAKEN) &&
		add_rows(&grower, MOST_ROWS, MSG_KEYS_TAKEN))
		run(&grower, "in place");
	(void) expect(&idle, MSG_FAILED);
	end(&idle);
	end(&grower);

	/* without other jobs it fails, as ever */
	grower = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	fill(&grower);
	end(&grower);
	check_state(0, DEVICE_READY, 1);
	conclude("lets an idle job give way to one that grows");
}

/*
 * Jobs give way one by one, until there is enough.  The client for which they
 * give way is not told that it is queued.
 */
static void
test_many_idle(void)
{
	Job			idle[16];
	Job			other;
	int			failed = 0;

	for (int i = 0; i < 16; i++)
		idle[i] = begin(DEVICE_SORT_AUTO, MOST_ROWS / 16, MSG_WELCOME);
	usleep(2 * SOON_US);
	other = begin(DEVICE_SORT_AUTO, MOST_ROWS / 16, MSG_WELCOME);
	for (int i = 0; i < 16; i++)
	{
		if (recv(idle[i].socket, &idle[i].answer, sizeof(Message),
				 MSG_DONTWAIT) > 0)
			failed++;
		end(&idle[i]);
	}
	end(&other);
	if (failed == 0 || failed == 16)
		wrong("%d of 16 idle jobs have given way", failed);
	conclude("lets no more idle jobs give way than it takes");
}

/* Looks for jobs that hang, more often than gpusortd does. */
static atomic_bool has_looked_enough;
static atomic_bool found_hanging;

static void *
look_for_hanging(void *argument)
{
	(void) argument;
	while (!has_looked_enough)
	{
		usleep(50000);
		if (watch_finds_hanging())
			found_hanging = true;
	}
	return NULL;
}

/*
 * Enough jobs give way for this to take far longer than a step may, and in the
 * end it is too little.
 */
static void
test_watch_beside_growth(void)
{
	Job			idle[64];
	Job			grower;
	pthread_t	watcher;

	for (int i = 0; i < 64; i++)
		idle[i] = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	usleep(2 * SOON_US);
	grower = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	pthread_create(&watcher, NULL, look_for_hanging, NULL);
	fill(&grower);
	has_looked_enough = true;
	pthread_join(watcher, NULL);
	if (found_hanging)
		wrong("it is taken for one that hangs");
	for (int i = 0; i < 64; i++)
		end(&idle[i]);
	end(&grower);
	conclude("does not take a job that waits for idle ones for one that hangs");
}

/* A client that does not fetch its order. */
static void
test_idle_with_order(void)
{
	const uint64_t nrows = 3 * (CHUNK_BYTES / sizeof(uint32_t));
	Job			idle = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	Job			other;

	/* its order needs all memory that it had for fewer rows */
	(void) add_rows(&idle, MOST_ROWS, MSG_KEYS_TAKEN);
	(void) add_rows(&idle, nrows - MOST_ROWS + MOST_ROWS_IN_PLACE / 4,
					MSG_KEYS_TAKEN);
	run(&idle, "in place");
	other = begin(DEVICE_SORT_AUTO, CHUNK_ROWS, MSG_QUEUED);
	(void) expect(&other, MSG_WELCOME);
	if (expect(&idle, MSG_ORDER) && expect(&idle, MSG_ORDER))
		(void) expect(&idle, MSG_FAILED);
	end(&other);
	end(&idle);
	conclude("lets a job give way whose order is not fetched");
}

/*
 * Waits until more than this many bytes have arrived; false if nothing does.
 */
static bool
has_more_arrived(const Job *job, int bytes)
{
	for (int i = 0; i < 1000; i++)
	{
		int			arrived = 0;

		(void) ioctl(job->socket, FIONREAD, &arrived);
		if (arrived > bytes)
			return true;
		usleep(1000);
	}
	return false;
}

/* A client that sends, but reads nothing, until gpusortd cannot send any more. */
static void
test_deaf_client(void)
{
	Message		message = {.kind = MSG_KEYS};
	Job			deaf;
	Job			other;
	int			count = 0;

	has_small_buffers = true;
	deaf = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	has_small_buffers = false;
	(void) add_rows(&deaf, MOST_ROWS - CHUNK_ROWS, MSG_KEYS_TAKEN);
	message.u.keys.nrows = 1;
	message.u.keys.nwords = 1;
	do
		message.u.keys.chunk = count % 2;
	while (send_message(&deaf, &message) &&
		   has_more_arrived(&deaf, count++ * (int) sizeof(Message)));
	other = begin(DEVICE_SORT_AUTO, 2 * CHUNK_ROWS, MSG_WELCOME);
	end(&other);
	end(&deaf);
	conclude("lets the job of a client give way that reads nothing");
}

/* Takes a job of two parts to the step that fails in the second one. */
static void
test_failing_part(void)
{
	Message		message = {.kind = MSG_SORT};
	bool		fails_early = failing_step < STEP_RUN;
	Job			job;

	failing_device = 1;
	job = begin(DEVICE_SORT_AUTO, MOST_ROWS_IN_PLACE + 1, MSG_WELCOME);
	message.u.sort.nrows = MOST_ROWS_IN_PLACE + 1;
	if (add_rows(&job, MOST_ROWS_IN_PLACE, MSG_KEYS_TAKEN) &&
		add_rows(&job, 1, fails_early ? MSG_FAILED : MSG_KEYS_TAKEN) &&
		!fails_early && send_message(&job, &message))
	{
		if (failing_step != STEP_RUN)
			(void) expect(&job, MSG_SORTED);
		while (failing_step == STEP_PULL && problem[0] == '\0' &&
			   recv(job.socket, &job.answer, sizeof(Message), 0) ==
			   sizeof(Message) && job.answer.kind == MSG_ORDER)
		{
			job.answer.kind = MSG_ORDER_TAKEN;
			(void) send_message(&job, &job.answer);
		}
		if (failing_step != STEP_PULL)
			(void) expect(&job, MSG_FAILED);
	}
	if (job.answer.kind != MSG_FAILED ||
		strncmp(job.answer.u.failed.text, "step ", 5) != 0 ||
		job.answer.u.failed.cause != FAILURE_ELSEWHERE)
		wrong("step %d: it failed for \"%s\", cause %u", failing_step,
			  job.answer.u.failed.text, job.answer.u.failed.cause);
	end(&job);
	check_state(0, DEVICE_READY, failing_step >= STEP_RUN ? 1 : 0);
	check_state(1, DEVICE_FAILED, failing_step > STEP_RUN ? 1 : 0);

	/* and what is too large for the other device is refused now */
	job = begin(DEVICE_SORT_AUTO, MOST_ROWS_IN_PLACE + 1, MSG_REFUSED);
	if (job.answer.u.failed.cause != FAILURE_FULL)
		wrong("it is refused for cause %u", job.answer.u.failed.cause);
	end(&job);
	conclude("does without a device that fails with a part of a job");
}

/* The client of a divided job hangs up, at each point. */
static void
test_divided_job_given_up(void)
{
	for (int phase = 0; phase < 6; phase++)
	{
		Job			job = begin(DEVICE_SORT_AUTO, MOST_ROWS_IN_PLACE + 500000,
								MSG_WELCOME);
		Message		message = {.kind = MSG_SORT};

		message.u.sort.nrows = MOST_ROWS_IN_PLACE + 500000;
		if (phase >= 1)
			(void) add_rows(&job, MOST_ROWS_IN_PLACE, MSG_KEYS_TAKEN);
		if (phase >= 2)
			(void) add_rows(&job, 500000, MSG_KEYS_TAKEN);
		if (phase == 3)
			(void) send_message(&job, &message);
		if (phase >= 4)
			run(&job, "in place and in full, 2 parts merged");
		if (phase == 5)
			(void) expect(&job, MSG_ORDER);
		end(&job);
	}
	check_state(0, DEVICE_READY, 3);
	check_state(1, DEVICE_READY, 3);
	conclude("bears that the client of a divided job hangs up");
}

/* The client is told that it has to wait, and when its turn comes. */
static void
test_queue(void)
{
	Job			first = begin(DEVICE_SORT_AUTO, 10, MSG_WELCOME);
	Job			second;

	(void) add_rows(&first, MOST_ROWS, MSG_KEYS_TAKEN);
	second = begin(DEVICE_SORT_AUTO, 10, MSG_QUEUED);
	end(&first);
	if (expect(&second, MSG_WELCOME) &&
		add_rows(&second, 10, MSG_KEYS_TAKEN))
		run(&second, "in full");
	end(&second);
	conclude("tells a client that its job is queued");
}

static void
test_memory(void)
{
	test_enough("has all memory for a job that needs it");
	test_expected_in_place();
	test_fewer_rows();
	test_growth();
	test_growth_beside_others();
	test_asked_for();
	test_queue();
	test_enough("has all memory again at the end");
}

/*
 * Runs a test in a process of its own, with this many devices, and with
 * clients that are idle after this time without a message.
 */
static void
with_idle_clients(int number, Step step, int milliseconds,
				  void (*test) (void))
{
	static const DeviceList all_devices = {.text = "all",.is_all = true};
	pid_t		child;
	DeviceError error;
	int			status = -1;

	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		ndevices = number;
		failing_step = step;
		idle_milliseconds = milliseconds;
		if (!devices_start(&test_engine, &all_devices, 100, &error))
			exit(2);
		ring_init(&test_engine, 2, UINT64_C(1) << 30);
		connection_init(&test_engine);
		test();
		exit(failures > 0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		failures++;
}

/* The same without idle clients. */
static void
with_devices(int number, Step step, void (*test) (void))
{
	with_idle_clients(number, step, NEVER_MS, test);
}

int
main(void)
{
	with_devices(1, STEP_NONE, test_memory);
	with_devices(1, STEP_NONE, test_expectations);
	with_idle_clients(1, STEP_NONE, SOON_MS, test_idle);
	with_idle_clients(1, STEP_NONE, SOON_MS, test_idle_beside_growth);
	with_idle_clients(1, STEP_NONE, SOON_MS, test_many_idle);
	with_idle_clients(1, STEP_NONE, SOON_MS, test_watch_beside_growth);
	with_idle_clients(1, STEP_NONE, SOON_MS, test_idle_with_order);
	with_idle_clients(1, STEP_NONE, SOON_MS, test_deaf_client);
	for (Step step = STEP_BEGIN; step < STEP_GIVEN_UP; step++)
	{
		if (step != STEP_PULL_KEYS)
		{
			with_devices(2, step, test_failing_device);
			with_devices(1, step, test_only_device_fails);
			with_devices(2, step, test_full_device);
		}
		with_devices(2, step, test_failing_part);
	}
	with_devices(2, STEP_GIVEN_UP, test_given_up);
	with_devices(1, STEP_NONE, test_neighbour);
	with_idle_clients(1, STEP_NONE, SOON_MS, test_role);
	with_devices(2, STEP_NONE, test_growth_on_several);
	with_devices(2, STEP_NONE, test_several_parts);
	with_devices(3, STEP_NONE, test_three_parts);
	with_devices(2, STEP_NONE, test_divided_job_given_up);
	return failures > 0;
}
