/*-------------------------------------------------------------------------
 *
 * gpusortd_refusals_test.c
 *	  Clients of gpusortd, with the host engine, that do not keep to the
 *	  protocol.
 *
 *		gpusortd_refusals_test PATH_OF_GPUSORTD
 *
 * gpusortd is best built with sanitizers, whose reports end it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "../../src/common/device.h"

#define TEST_SUBJECT		"gpusortd"
#include "daemon_test.h"

/* A first message that must be answered with a failure for this reason. */
static void
try_first_message(const Daemon *daemon, const char *what,
				  const Message *message, size_t length,
				  const char *expected_reason)
{
	char		reason[MESSAGE_TEXT_SIZE] = "";
	Client		client;

	if (connect_client(daemon, &client))
	{
		if (send(client.socket, message, length, MSG_NOSIGNAL) !=
			(ssize_t) length)
			wrong("%s: could not be sent", what);
		if (expect_failure(&client, what, reason) &&
			strstr(reason, expected_reason) == NULL)
			wrong("%s: the reason is \"%s\"", what, reason);
	}
	hang_up(&client);
}

static Message
empty_message(MessageKind kind)
{
	Message		message = {.kind = kind};

	return message;
}

static void
test_bad_beginnings(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
	struct
	{
		Message		message;
		char		more[100];
	}			large = {.message = hello_message(1, 10)};
	Message		message = hello_message(1, 10);

	message.u.hello.version++;
	try_first_message(&daemon, "another version", &message, sizeof(message),
					  VERSIONS_DIFFER);
	message = hello_message(KEY_MAX_WORDS + 1, 10);
	try_first_message(&daemon, "too long keys", &message, sizeof(message),
					  "unexpected");
	message = hello_message(1, 10);
	message.u.hello.algorithm = DEVICE_SORT_BITONIC + 1;
	try_first_message(&daemon, "unknown algorithm", &message,
					  sizeof(message), "unexpected");
	message = hello_message(1, UINT64_MAX);
	try_first_message(&daemon, "too many rows", &message, sizeof(message),
					  "device memory");
	message = hello_message(0, SORT_MAX_ROWS);
	try_first_message(&daemon, "too much memory", &message, sizeof(message),
					  "device memory");
	for (uint32_t kind = 0; kind < 20; kind++)
	{
		message = empty_message(kind);
		if (kind != MSG_HELLO && kind != MSG_LIST_DEVICES)
			try_first_message(&daemon, "wrong first message", &message,
							  sizeof(message), VERSIONS_DIFFER);
	}
	message = hello_message(1, 10);
	try_first_message(&daemon, "one byte", &message, 1, VERSIONS_DIFFER);
	try_first_message(&daemon, "a short message", &message,
					  sizeof(message) - 1, VERSIONS_DIFFER);
	try_first_message(&daemon, "a long message", &large.message,
					  sizeof(large), VERSIONS_DIFFER);

	(void) do_job(&daemon, 1, 1000, 1);
	stop(&daemon);
	conclude("refuses what is no proper beginning");
}

/* A chunk of keys that must be answered with a failure. */
static void
try_keys(const Daemon *daemon, const char *what, uint32_t fixed_words,
		 uint32_t chunk, uint32_t nrows, uint64_t nwords,
		 const uint64_t *ends, size_t nends)
{
	Message		message = {.kind = MSG_KEYS};
	Client		client;

	message.u.keys.chunk = chunk;
	message.u.keys.nrows = nrows;
	message.u.keys.nwords = nwords;
	if (begin(daemon, &client, fixed_words, 10))
	{
		if (nends > 0)
			memcpy(client.ring, ends, nends * sizeof(uint64_t));
		if (send_message(&client, &message))
			(void) expect_failure(&client, what, NULL);
	}
	hang_up(&client);
}

static void
test_bad_keys(void)
{
	static const uint64_t repeated[] = {1, 1, 3};
	static const uint64_t descending[] = {5, 4, 3};
	static const uint64_t from_zero[] = {0, 1, 3};
	static const uint64_t too_long[] = {1, 2, KEY_MAX_WORDS + 3};
	static const uint64_t huge[] = {1, UINT64_MAX, 3};
	static const uint64_t short_of_it[] = {1, 2, 3};
	const uint32_t chunk_words = CHUNK_BYTES / sizeof(uint64_t);
	Daemon		daemon = start(HALF_OF_MEMORY);

	try_keys(&daemon, "no such chunk", 1, STAGING_CHUNKS, 1, 1, NULL, 0);
	try_keys(&daemon, "no such chunk at all", 1, UINT32_MAX, 1, 1, NULL, 0);
	try_keys(&daemon, "no rows", 1, 0, 0, 0, NULL, 0);
	try_keys(&daemon, "wrong number of words", 2, 0, 10, 10, NULL, 0);
	try_keys(&daemon, "more than a chunk", 1, 0, chunk_words + 1,
			 chunk_words + 1, NULL, 0);
	try_keys(&daemon, "far more than a chunk", 16, 0, UINT32_MAX,
			 UINT64_C(16) * UINT32_MAX, NULL, 0);
	try_keys(&daemon, "words that wrap around", 1, 0, 1,
			 UINT64_C(1) << 61 | 1, NULL, 0);
	try_keys(&daemon, "too many varying keys", 0, 0, CHUNK_VARIABLE_ROWS + 1,
			 CHUNK_VARIABLE_ROWS + 1, NULL, 0);
	try_keys(&daemon, "too many varying words", 0, 0, 10, chunk_words, NULL,
			 0);
	try_keys(&daemon, "an empty key", 0, 0, 3, 3, repeated, 3);
	try_keys(&daemon, "descending ends", 0, 0, 3, 3, descending, 3);
	try_keys(&daemon, "an empty first key", 0, 0, 3, 3, from_zero, 3);
	try_keys(&daemon, "too long a key", 0, 0, 3, KEY_MAX_WORDS + 3, too_long,
			 3);
	try_keys(&daemon, "a huge end", 0, 0, 3, 3, huge, 3);
	try_keys(&daemon, "fewer words than ends", 0, 0, 3, 4, short_of_it, 3);

	(void) do_job(&daemon, 0, 1000, 1);
	stop(&daemon);
	conclude("refuses impossible keys");
}

static void
test_bad_turns(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);
	KeySet		set = make_keys(1, 1000, 3);
	Message		message;
	Client		client;

	if (begin(&daemon, &client, 1, 10) && say_hello(&client, 1, 10))
		(void) expect_failure(&client, "a second hello", NULL);
	hang_up(&client);

	if (begin(&daemon, &client, 1, 10))
	{
		message = empty_message(MSG_ORDER_TAKEN);
		if (send_message(&client, &message))
			(void) expect_failure(&client, "order taken too early", NULL);
	}
	hang_up(&client);

	if (begin(&daemon, &client, 1, 10) && push_keys(&client, &set) &&
		send_run(&client, 999))
		(void) expect_failure(&client, "run with a wrong number", NULL);
	hang_up(&client);
	free_keys(&set);

	/*
	 * the order does not fit into the ring, so gpusortd waits for the client
	 */
	set = make_keys(1, 2500000, 3);
	if (begin(&daemon, &client, 1, 10) && push_keys(&client, &set) &&
		send_run(&client, set.nrows) && receive_sorted(&client))
	{
		message = empty_message(MSG_KEYS);
		message.u.keys.nrows = 1;
		message.u.keys.nwords = 1;
		if (send_message(&client, &message))
			(void) expect_failure(&client, "keys after run", NULL);
	}
	hang_up(&client);
	free_keys(&set);

	(void) do_job(&daemon, 1, 1000, 1);
	stop(&daemon);
	conclude("refuses messages out of turn");
}

/*
 * Gives back some chunks of an order of this many rows as they came, and then
 * a wrong one, which must be answered with a failure.
 */
static void
try_order_taken(const Daemon *daemon, const char *what, uint64_t nrows,
				uint64_t good_answers, uint32_t wrong_chunk)
{
	KeySet		set = make_keys(1, nrows, 3);
	Message		message;
	Client		client;
	bool		good = begin(daemon, &client, 1, nrows) &&
		push_keys(&client, &set) && send_run(&client, nrows) &&
		receive_sorted(&client);

	for (uint64_t i = 0; i < good_answers && good; i++)
	{
		good = receive_kind(&client, &message, MSG_ORDER);
		message.kind = MSG_ORDER_TAKEN;
		good = good && send_message(&client, &message);
	}
	message = empty_message(MSG_ORDER_TAKEN);
	message.u.order.chunk = wrong_chunk;
	if (good && send_message(&client, &message))
		(void) expect_failure(&client, what, NULL);
	hang_up(&client);
	free_keys(&set);
}

static void
test_bad_order_taken(void)
{
	Daemon		daemon = start(HALF_OF_MEMORY);

	/* an order of one chunk, and one of three, of which two are in the ring */
	try_order_taken(&daemon, "no such chunk", 2500000, 0, UINT32_MAX);
	try_order_taken(&daemon, "not the oldest chunk", 2500000, 0, 1);
	try_order_taken(&daemon, "the same chunk again", 2500000, 1, 0);
	try_order_taken(&daemon, "no such chunk at the end", 1000, 0, 1);
	try_order_taken(&daemon, "more chunks than there were", 1000, 1, 1);
	stop(&daemon);
	conclude("takes back only the chunks it has handed out");
}

int
main(int argc, char **argv)
{
	if (!begin_tests(argc, argv))
		return 2;

	test_bad_beginnings();
	test_bad_keys();
	test_bad_turns();
	test_bad_order_taken();
	return failures > 0;
}
