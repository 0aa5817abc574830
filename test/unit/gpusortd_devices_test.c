/*-------------------------------------------------------------------------
 *
 * gpusortd_devices_test.c
 *	  Several devices of gpusortd: one that fails, and jobs that have parts on
 *	  more than one.
 *
 *		gpusortd_devices_test PATH_OF_GPUSORTD
 *
 * gpusortd is best built with sanitizers, whose reports end it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#define TEST_SUBJECT		"gpusortd"
#include "daemon_test.h"
#include "daemon_test_devices.h"
#include "daemon_test_released.h"

static void
test_several_devices(void)
{
	Message		first;
	Message		second;
	Daemon		daemon;

	host_devices = "1000,500,500";
	wanted_devices = "--devices=0,2";
	daemon = start(HALF_OF_MEMORY);
	run_workers(&daemon, NCLIENTS, run_worker);
	first = describe_device(&daemon, 0, DEVICE_READY);
	(void) describe_device(&daemon, 1, DEVICE_UNUSED);
	second = describe_device(&daemon, 2, DEVICE_READY);
	if (first.u.device.memory_bytes != UINT64_C(1000) << 20 ||
		second.u.device.memory_bytes != UINT64_C(500) << 20)
		wrong("the devices have other memory");
	if (first.u.device.sorts + second.u.device.sorts != 5 * NCLIENTS ||
		first.u.device.sorts == 0 || second.u.device.sorts == 0)
		wrong("%llu and %llu sorts were done",
			  (unsigned long long) first.u.device.sorts,
			  (unsigned long long) second.u.device.sorts);
	stop(&daemon);
	host_devices = NULL;
	wanted_devices = "--devices=all";
	conclude("uses the devices that it is given");
}

/* The client begins anew, as backends do. */
static void
test_failing_device(void)
{
	KeySet		set = make_keys(1, 1000, 1);
	char		line[LINE_SIZE] = "";
	Message		message;
	Client		client;
	Daemon		daemon;

	host_devices = "500,500";
	host_fault = "0";
	daemon = start(HALF_OF_MEMORY);
	if (begin(&daemon, &client, 1, set.nrows) && push_keys(&client, &set) &&
		send_run(&client, set.nrows))
	{
		do
		{
			if (!try_receive(&client, &message))
				wrong("there is no answer");
		} while (message.kind == MSG_KEYS_TAKEN);
		if (message.kind != MSG_FAILED ||
			message.u.failed.cause != FAILURE_ELSEWHERE)
			wrong("it was answered with kind %u", message.kind);
	}
	hang_up(&client);
	(void) read_report(&daemon, line);
	if (strstr(line, "log device 0, gpusortd (host), has failed") != line)
		wrong("it reported \"%s\"", line);
	(void) describe_device(&daemon, 0, DEVICE_FAILED);
	for (uint64_t i = 0; i < 3; i++)
		(void) do_job(&daemon, 1, 1000, i);
	stop(&daemon);
	free_keys(&set);
	host_devices = NULL;
	host_fault = NULL;
	conclude("goes on without a device that has failed");
}

/* Gives all keys another last word, made of the number of their row. */
static void
change_keys(KeySet *set, uint64_t (*word) (uint64_t row, uint64_t nrows))
{
	for (uint64_t row = 0; row < set->nrows; row++)
	{
		for (uint64_t i = key_begin(set, row) + (set->shape.fixed_words == 0);
			 i < set->ends[row]; i++)
			set->words[i] = i + 1 == set->ends[row] ?
				word(row, set->nrows) : 1;
	}
}

static uint64_t
few(uint64_t row, uint64_t nrows)
{
	(void) nrows;
	return row * 7919 % 13 % 4;
}

/* Does a job when all memory of these devices is free. */
static void
do_job_alone(const Daemon *daemon, int count, KeySet *set,
			 uint64_t expected_rows)
{
	check_small_devices(daemon, count, 0);
	(void) do_job_with_keys(daemon, set, expected_rows);
}

/* Jobs for which no device has room, with the expected size right or wrong. */
static void
test_divided_jobs(void)
{
	static const uint32_t widths[] = {1, 2, KEY_MAX_WORDS, 0};

	for (int parts = 2; parts <= 3; parts++)
	{
		Daemon		daemon = start_small_devices(parts);

		for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
		{
			uint64_t	nrows = rows_for_devices(&daemon, widths[i],
												 parts - 0.8);
			KeySet		set = make_keys(widths[i], nrows, i);

			/* without the right size it expects keys that are longer */
			do_job_alone(&daemon, parts, &set,
						 widths[i] == 0 ? nrows / 2 : nrows);
			change_keys(&set, few);
			do_job_alone(&daemon, parts, &set, 10);
			change_keys(&set, constant);
			do_job_alone(&daemon, parts, &set, nrows / 2);
			change_keys(&set, ascending);
			do_job_alone(&daemon, parts, &set, nrows / 2);
			change_keys(&set, descending);
			do_job_alone(&daemon, parts, &set, 10);
			free_keys(&set);
		}
		check_small_devices(&daemon, parts, 20);
		stop(&daemon);
	}
	conclude("divides jobs among devices that are too small for them");
}

/* More than all devices have: refused, or failed. */
static void
test_more_than_all_devices(void)
{
	Daemon		daemon = start_small_devices(2);
	KeySet		set = make_keys(1, rows_for_devices(&daemon, 1, 2.2), 1);
	char		reason[MESSAGE_TEXT_SIZE] = "";
	Client		client;

	if (connect_client(&daemon, &client) && say_hello(&client, 1, set.nrows) &&
		expect_failure(&client, "too large a job", reason) &&
		strstr(reason, "more than there is") == NULL)
		wrong("it is refused for \"%s\"", reason);
	hang_up(&client);
	if (begin(&daemon, &client, 1, 10))
	{
		Message		message = {.kind = MSG_KEYS};

		message.u.keys.nrows = CHUNK_BYTES / sizeof(uint64_t);
		message.u.keys.nwords = message.u.keys.nrows;
		while (send(client.socket, &message, sizeof(message),
					MSG_NOSIGNAL) == sizeof(message) &&
			   try_receive(&client, &message) &&
			   message.kind == MSG_KEYS_TAKEN)
		{
			message.kind = MSG_KEYS;
			message.u.keys.nrows = CHUNK_BYTES / sizeof(uint64_t);
			message.u.keys.nwords = message.u.keys.nrows;
		}
		if (message.kind != MSG_FAILED ||
			message.u.failed.cause != FAILURE_FULL)
			wrong("it ended with a message of kind %u", message.kind);
	}
	hang_up(&client);
	check_small_devices(&daemon, 2, 0);
	free_keys(&set);
	stop(&daemon);
	conclude("refuses what is more than all devices have");
}

/*
 * Does a job; false if it fails for lack of memory that others have, which is
 * not noted.
 */
static bool
try_job(const Daemon *daemon, const KeySet *set)
{
	uint32_t   *order = malloc((set->nrows + 1) * sizeof(uint32_t));
	Client		client;
	bool		sorted = false;

	if (connect_client(daemon, &client))
	{
		client.may_fail = true;
		sorted = say_hello(&client, 1, set->nrows) &&
			receive_welcome(&client) && push_keys(&client, set) &&
			send_run(&client, set->nrows) && receive_sorted(&client) &&
			receive_order(&client, order, set->nrows) &&
			check_order(set, order, "a job");
	}
	hang_up(&client);
	free(order);
	return sorted;
}

/*
 * Whole divided jobs beside each other, and small ones.  There is no room for
 * all of them, so some fail, and are tried again.
 */
static void *
run_divided_worker(void *argument)
{
	Worker	   *worker = argument;
	uint64_t	nrows = rows_for_devices(worker->daemon, 1, 1.2);

	for (uint64_t i = 0; i < 3; i++)
	{
		KeySet		set = make_keys(1, worker->number % 2 == 0 ? nrows : 1000,
									worker->number * 10 + i);
		uint64_t	deadline = milliseconds() + patience_ms;

		while (!try_job(worker->daemon, &set) && milliseconds() < deadline)
			usleep(1000 * (worker->number + 1));
		if (milliseconds() >= deadline)
			wrong("a job does not get memory");
		free_keys(&set);
	}
	return NULL;
}

static void
test_divided_jobs_at_once(void)
{
	Daemon		daemon = start_small_devices(2);

	run_workers(&daemon, 6, run_divided_worker);
	check_small_devices(&daemon, 2, 9);
	stop(&daemon);
	conclude("does divided jobs beside each other, and others beside");
}

/* The client of a divided job hangs up at any stage. */
static void
test_hang_up_of_divided_job(void)
{
	Daemon		daemon = start_small_devices(3);
	uint64_t	nrows = rows_for_devices(&daemon, 2, 2.2);
	IdleState	before;

	(void) do_job(&daemon, 1, 1000, 1);
	before = idle_state(&daemon);
	for (int stage = STAGE_WELCOME; stage < STAGE_COUNT; stage++)
	{
		check_small_devices(&daemon, 3, 0);
		leave_job(&daemon, stage, nrows);
	}
	check_released(&daemon, &before);
	check_small_devices(&daemon, 3, 0);
	(void) do_job(&daemon, 2, nrows, 1);
	stop(&daemon);
	conclude("bears that the client of a divided job hangs up at any stage");
}

/* A device fails with its part: the others are too small without it. */
static void
test_failing_part(void)
{
	KeySet		set;
	char		line[LINE_SIZE] = "";
	char		reason[MESSAGE_TEXT_SIZE];
	Client		client;
	Daemon		daemon;
	IdleState	before;

	host_fault = "1";
	daemon = start_small_devices(2);
	before = idle_state(&daemon);
	set = make_keys(1, rows_for_devices(&daemon, 1, 1.2), 1);
	if (begin(&daemon, &client, 1, set.nrows) && push_keys(&client, &set) &&
		send_run(&client, set.nrows) &&
		expect_failure(&client, "a failing part", reason) &&
		strcmp(reason, "GPUSORTD_HOST_FAULT has it so") != 0)
		wrong("the reason is \"%s\"", reason);
	hang_up(&client);
	(void) read_report(&daemon, line);
	if (strstr(line, "log device 1, gpusortd (host), has failed") != line)
		wrong("it reported \"%s\"", line);
	if (connect_client(&daemon, &client) && say_hello(&client, 1, set.nrows))
		(void) expect_failure(&client, "too large a job", NULL);
	hang_up(&client);
	/* the failed job gives its memory back after it has said why it failed */
	check_released(&daemon, &before);
	(void) do_job(&daemon, 1, 1000, 1);
	free_keys(&set);
	stop(&daemon);
	host_fault = NULL;
	conclude("fails a job of which one part fails");
}

int
main(int argc, char **argv)
{
	if (!begin_tests(argc, argv))
		return 2;

	test_several_devices();
	test_failing_device();
	test_divided_jobs();
	test_more_than_all_devices();
	test_divided_jobs_at_once();
	test_hang_up_of_divided_job();
	test_failing_part();
	return failures > 0;
}
