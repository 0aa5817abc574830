/*-------------------------------------------------------------------------
 *
 * gpusortd_memory_test.c
 *	  Jobs of gpusortd that wait for memory of a device, or get none.
 *
 *		gpusortd_memory_test PATH_OF_GPUSORTD
 *
 * gpusortd is best built with sanitizers, whose reports end it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#define TEST_SUBJECT		"gpusortd"
#include "daemon_test.h"
#include "daemon_test_devices.h"

/* Says hello, and is told to wait. */
static bool
is_queued(Client *client, uint32_t fixed_words, uint64_t expected_rows)
{
	Message		message;

	return say_hello(client, fixed_words, expected_rows) &&
		receive_kind(client, &message, MSG_QUEUED) && is_quiet(client);
}

static void
test_queue(void)
{
	Daemon		daemon = start_small_devices(1);
	KeySet		set;
	uint64_t	begin_time;
	Client		first;
	Client		second;
	Client		third;

	if (begin_to_hold(&daemon, &first, &set) &&
		connect_client(&daemon, &second) &&
		is_queued(&second, 1, set.nrows) &&
		connect_client(&daemon, &third))
	{
		if (!is_queued(&third, 1, 10))
			wrong("a small job has overtaken one that waits");
		hang_up(&second);
		begin_time = milliseconds();
		(void) receive_welcome(&third);
		if (milliseconds() - begin_time > 2000)
			wrong("a job that waits was not noticed to be gone");
		hang_up(&third);

		if (connect_client(&daemon, &second))
		{
			if (!is_queued(&second, 1, set.nrows))
				wrong("two jobs have got more than there is");
			hang_up(&first);
			(void) receive_welcome(&second);
		}
		hang_up(&second);
	}
	else
		wrong("jobs do not wait for memory");
	free_keys(&set);
	stop(&daemon);
	conclude("lets jobs wait for memory in order");
}

/* While its order is fetched, a job holds only the memory of the order. */
static void
test_release_after_run(void)
{
	Daemon		daemon = start_small_devices(1);
	KeySet		set;
	Message		message;
	Client		fetching;
	Client		next;

	if (begin_to_hold(&daemon, &fetching, &set) &&
		send_run(&fetching, set.nrows) && receive_sorted(&fetching))
	{
		if (connect_client(&daemon, &next) && say_hello(&next, 1, set.nrows) &&
			!receive_kind(&next, &message, MSG_WELCOME))
			wrong("a job that has sorted keeps the memory for sorting");
		hang_up(&next);
	}
	hang_up(&fetching);
	free_keys(&set);
	stop(&daemon);
	conclude("has the memory of a job again when it has sorted");
}

/* Does gpusortd refuse a job that lasts and expects this many rows? */
static void
check_long_lived_refusal(const Daemon *daemon, uint64_t expected_rows,
						 const char *what)
{
	Message		message = hello_message(1, expected_rows);
	char		reason[MESSAGE_TEXT_SIZE] = "";
	Client		client;

	message.u.hello.long_lived = true;
	if (connect_client(daemon, &client) && send_message(&client, &message) &&
		expect_failure(&client, what, reason) &&
		strstr(reason, "a job that lasts") == NULL)
		wrong("%s: it is refused for \"%s\"", what, reason);
	hang_up(&client);
}

/* Does a job that lasts, expected to be small, end well? */
static void
check_long_lived_job(const Daemon *daemon, uint64_t nrows, bool taken,
					 const char *what)
{
	KeySet		set = make_keys(1, nrows, 1);
	Message		message = hello_message(1, 10);
	Client		client;

	message.u.hello.long_lived = true;
	if (connect_client(daemon, &client) && send_message(&client, &message) &&
		receive_welcome(&client))
	{
		bool		sorted = finish_job(&client, &set);

		/* it tells what has failed */
		if (!sorted && !taken)
			problem[0] = '\0';
		else if (sorted != taken)
			wrong("%s: it is sorted", what);
	}
	hang_up(&client);
	free_keys(&set);
}

static void
test_long_lived_jobs(void)
{
	Daemon		daemon = start_small_devices(2);
	uint64_t	eighth = rows_for_devices(&daemon, 1, 0.125);
	KeySet		set;
	Client		client;

	check_long_lived_job(&daemon, eighth / 2, true, "a small one");
	check_long_lived_job(&daemon, 4 * eighth, false, "a large one");
	check_long_lived_refusal(&daemon, 2 * eighth, "more than a part");
	check_small_devices(&daemon, 2, 0);
	stop(&daemon);

	/* nor does it wait */
	daemon = start_small_devices(1);
	if (begin_to_hold(&daemon, &client, &set))
		check_long_lived_refusal(&daemon, 9 * eighth / 10,
								 "while there is another");
	hang_up(&client);
	free_keys(&set);
	stop(&daemon);
	conclude("gives a part of a device to jobs that last, if it is to be had");
}

static void
test_growth(void)
{
	Daemon		daemon = start(LITTLE_MEMORY);
	uint64_t	bytes = budget_bytes(&daemon);
	KeySet		set = make_keys(1, CHUNK_BYTES / sizeof(uint64_t), 1);
	Message		message = {.kind = MSG_KEYS};
	char		reason[MESSAGE_TEXT_SIZE] = "";
	Client		holder;
	Client		grower;

	message.u.keys.nrows = (uint32_t) set.nrows;
	message.u.keys.nwords = set.nrows;
	if (begin(&daemon, &holder, 1, 10) && begin(&daemon, &grower, 1, 0))
	{
		for (uint64_t sent = 0; sent < bytes; sent += CHUNK_BYTES)
		{
			Message		answer;

			if (!send_message(&grower, &message) ||
				!try_receive(&grower, &answer))
				break;
			if (answer.kind != MSG_KEYS_TAKEN)
			{
				strcpy(reason, answer.u.failed.text);
				break;
			}
		}
		if (strstr(reason, "memory") == NULL)
			wrong("a job that outgrew the memory was told \"%s\"", reason);
		hang_up(&grower);
	}
	hang_up(&holder);
	(void) do_job(&daemon, 1, 1000, 1);
	free_keys(&set);
	stop(&daemon);
	conclude("fails a job that outgrows the memory");
}

/* The client of a long sort hangs up; its memory must soon be free again. */
static void
test_abandoned_sort(void)
{
	Daemon		daemon = start(LITTLE_MEMORY);
	uint64_t	nrows = budget_bytes(&daemon) / 10 * 6 / 27;
	KeySet		set = make_keys(1, nrows, 1);
	uint64_t	begin_time;
	Client		client;
	Client		next;

	if (begin(&daemon, &client, 1, nrows) && push_keys(&client, &set) &&
		send_run(&client, nrows))
	{
		usleep(20000);
		hang_up(&client);
		begin_time = milliseconds();
		(void) begin(&daemon, &next, 1, nrows);
		if (milliseconds() - begin_time > 2000)
			wrong("it took %llu ms",
				  (unsigned long long) (milliseconds() - begin_time));
		hang_up(&next);
	}
	free_keys(&set);
	stop(&daemon);
	conclude("gives up a sort that nobody waits for");
}

int
main(int argc, char **argv)
{
	if (!begin_tests(argc, argv))
		return 2;

	test_queue();
	test_release_after_run();
	test_long_lived_jobs();
	test_growth();
	test_abandoned_sort();
	return failures > 0;
}
