/*-------------------------------------------------------------------------
 *
 * gpusortd_jobs_test.c
 *	  Jobs of gpusortd, with the host engine: whole ones, and jobs whose client
 *	  hangs up.
 *
 *		gpusortd_jobs_test PATH_OF_GPUSORTD
 *
 * gpusortd is best built with sanitizers, whose reports end it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "../../src/common/device.h"

#define TEST_SUBJECT		"gpusortd"
#include "daemon_test.h"
#include "daemon_test_released.h"

#define NLEAK_ROUNDS	1000

static void
test_jobs(void)
{
	static const uint32_t widths[] = {1, 2, 5, KEY_MAX_WORDS, 0};
	static const uint64_t sizes[] = {0, 1, 2, 1000, 300000};
	Daemon		daemon = start(HALF_OF_MEMORY);

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
	{
		for (size_t j = 0; j < sizeof(sizes) / sizeof(*sizes); j++)
			(void) do_job(&daemon, widths[i], sizes[j], 1 + i * 10 + j);
	}
	conclude("sorts keys of fixed and varying width");

	/* the order alone is three chunks, of a ring of two */
	(void) do_job(&daemon, 1, 2500000, 7);
	(void) do_job(&daemon, 0, 2200000, 8);
	stop(&daemon);
	conclude("uses the chunks of a ring over and over");
}

static void
test_concurrency(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);

	run_workers(&daemon, NCLIENTS, run_worker);
	stop(&daemon);
	conclude("serves 20 clients at once");
}

static void
test_hang_up(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
	IdleState	before;

	(void) do_job(&daemon, 1, 1000, 1);
	before = idle_state(&daemon);
	for (int stage = 0; stage < STAGE_COUNT; stage++)
	{
		for (int i = 0; i < 5; i++)
			leave_job(&daemon, stage, i % 2 == 0 ? 100 : 300000);
	}

	check_released(&daemon, &before);
	(void) do_job(&daemon, 1, 1000, 1);
	stop(&daemon);
	conclude("bears clients that hang up at any stage");
}

static void
test_leaks(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
	IdleState	before = {0};
	long		memory = 0;

	for (int i = 0; i < NLEAK_ROUNDS && problem[0] == '\0'; i++)
	{
		if (i == NLEAK_ROUNDS / 5)
		{
			before = idle_state(&daemon);
			/* its own memory: how many rings there were at once is chance */
			memory = status_number(&daemon, "RssAnon:");
		}
		if (i % 2 == 0)
			leave_job(&daemon, i / 2 % STAGE_COUNT, 100);
		else
			(void) do_job(&daemon, i % 3, 50, (uint64_t) i);
	}
	check_released(&daemon, &before);
	if (status_number(&daemon, "RssAnon:") > memory + 16 * 1024)
		wrong("gpusortd has grown from %ld kB to %ld kB", memory,
			  status_number(&daemon, "RssAnon:"));
	stop(&daemon);
	conclude("leaks nothing in 1000 connections");
}

/* The engine is told the algorithm, whether or not it has several. */
static void
test_algorithms(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);

	for (uint32_t each = DEVICE_SORT_AUTO; each <= DEVICE_SORT_BITONIC; each++)
	{
		Message		message = hello_message(1, 10);
		Client		client;

		message.u.hello.algorithm = each;
		if (connect_client(&daemon, &client) &&
			send_message(&client, &message) && receive_welcome(&client) &&
			send_run(&client, 0))
			(void) receive_sorted(&client);
		hang_up(&client);
	}
	stop(&daemon);
	conclude("takes all algorithms");
}

/* Begins a job where another one has ended; the ring stays. */
static bool
begin_again(Client *client, uint32_t fixed_words, uint64_t expected_rows)
{
	int			descriptor = client->ring_descriptor;
	Message		message;

	if (!say_hello(client, fixed_words, expected_rows) ||
		!receive_kind(client, &message, MSG_WELCOME))
		return false;
	if (client->ring_descriptor != descriptor)
		return wrong("another ring came");
	memset(client->chunk_is_ours, true, client->nchunks);
	return true;
}

static void
test_jobs_of_one_connection(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
	Client		client;
	bool		good = begin(&daemon, &client, 0, 10);

	for (uint32_t i = 0; i < 12 && good; i++)
	{
		KeySet		set = make_keys(i % 4, i % 3 == 0 ? 700000 : i * 100, i);

		good = (i == 0 || begin_again(&client, i % 4, i * 1000)) &&
			finish_job(&client, &set);
		free_keys(&set);
	}
	hang_up(&client);
	stop(&daemon);
	conclude("does one job after another for a client");
}

/*
 * A client may have sent more when its job fails; it is to get the reason all
 * the same, and not a reset connection.
 */
static void
test_reason_arrives(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
	Message		message = {.kind = MSG_KEYS};
	Client		client;

	if (begin(&daemon, &client, 1, 10))
	{
		for (int i = 0; i < 10; i++)
			(void) send(client.socket, &message, sizeof(message),
						MSG_NOSIGNAL);
		usleep(QUIET_MS * 1000);
		(void) expect_failure(&client, "several bad messages", NULL);
	}
	hang_up(&client);
	stop(&daemon);
	conclude("tells the reason to a client that has sent more");
}

/*
 * A client whose job has failed still has its ring, and may be writing keys
 * into it: the next job must not have the same.
 */
static void
test_ring_of_failed_job(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
	Message		message = {.kind = MSG_KEYS};
	Client		failed;
	Client		next;

	if (begin(&daemon, &failed, 1, 10) && send_message(&failed, &message) &&
		expect_failure(&failed, "no rows", NULL))
	{
		usleep(QUIET_MS * 1000);
		if (begin(&daemon, &next, 1, 10))
		{
			memset(next.ring, 1, CHUNK_BYTES);
			memset(failed.ring, 2, CHUNK_BYTES);
			if (next.ring[0] != 1)
				wrong("another job got the ring of a client that still has it");
		}
		hang_up(&next);
	}
	hang_up(&failed);
	stop(&daemon);
	conclude("does not hand on the ring of a client that still has it");
}

int
main(int argc, char **argv)
{
	if (!begin_tests(argc, argv))
		return 2;

	test_jobs();
	test_concurrency();
	test_hang_up();
	test_leaks();
	test_algorithms();
	test_jobs_of_one_connection();
	test_reason_arrives();
	test_ring_of_failed_job();
	return failures > 0;
}
