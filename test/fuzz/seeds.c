/*-------------------------------------------------------------------------
 *
 * seeds.c
 *	  Writes inputs for the fuzzers to begin with.
 *
 *		seeds FUZZER DIRECTORY
 *
 * The inputs are conversations as they should be, and conversations with each
 * of the other actions once, so that a fuzzer need not find out how a job
 * goes.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

typedef struct Seed
{
	const char *name;
	size_t		length;
	const uint8_t *bytes;
} Seed;

#define SEED(name, ...) \
	{name, sizeof((const uint8_t[]) {__VA_ARGS__}), (const uint8_t[]) {__VA_ARGS__}}

/*
 * Shape, flag of a job that lasts, algorithm, which from 0xC0 on is also the
 * limit of its role, expected rows.
 */
#define FIXED(words)		(uint8_t) ((words) << 2 | 1)
#define VARIABLE			1
#define HELLO(shape)		CLIENT_HELLO, shape, 0, 0, 1, 0
#define LIMITED_HELLO(shape)	CLIENT_HELLO, shape, 0xC6, 0, 1, 0
#define LARGE_HELLO(shape)	CLIENT_HELLO, shape, 0, 0xFF, 0xFF, 3

/* Other jobs have all memory of the largest device. */
#define LARGEST_IS_FULL		OTHERS_MEMORY, 0xFC, OTHERS_MEMORY, 0xFD

#define KEYS(scale, kind)	CLIENT_KEYS, scale, kind, CLIENT_YIELD
#define END_OF_JOB			CLIENT_RUN, CLIENT_YIELD, CLIENT_TAKE_ORDER

static const Seed client_seeds[] = {
	SEED("fixed", HELLO(FIXED(1)), KEYS(30, KEYS_RANDOM), END_OF_JOB),
	SEED("fixed_wide", HELLO(FIXED(16)), KEYS(20, KEYS_FEW), KEYS(9, KEYS_EQUAL), END_OF_JOB),
	SEED("variable", HELLO(VARIABLE), KEYS(40, KEYS_RANDOM), KEYS(20, KEYS_ASCENDING), END_OF_JOB),
	SEED("variable_equal", HELLO(VARIABLE), KEYS(40, KEYS_EQUAL), END_OF_JOB),
	SEED("no_rows", HELLO(VARIABLE), CLIENT_RUN, CLIENT_YIELD),
	SEED("two_jobs", HELLO(FIXED(2)), KEYS(30, KEYS_FEW), END_OF_JOB, CLIENT_YIELD,
		 HELLO(VARIABLE), KEYS(30, KEYS_FEW), END_OF_JOB),
	SEED("list", CLIENT_LIST_DEVICES, CLIENT_YIELD),
	/* more rows than a chunk of the order has, and than a device takes */
	SEED("chunks", HELLO(FIXED(1)), KEYS(255, KEYS_RANDOM), KEYS(255, KEYS_RANDOM), KEYS(255, KEYS_FEW),
		 KEYS(255, KEYS_RANDOM), KEYS(255, KEYS_RANDOM), END_OF_JOB, CLIENT_TAKE_ORDER, CLIENT_TAKE_ORDER),
	SEED("parts", LARGEST_IS_FULL, HELLO(FIXED(16)), KEYS(231, KEYS_RANDOM), KEYS(231, KEYS_FEW), KEYS(231, KEYS_RANDOM),
		 KEYS(40, KEYS_EQUAL), END_OF_JOB),
	SEED("parts_variable", LARGEST_IS_FULL, HELLO(VARIABLE), KEYS(255, KEYS_RANDOM), KEYS(255, KEYS_FEW),
		 KEYS(255, KEYS_RANDOM), KEYS(255, KEYS_EQUAL), END_OF_JOB),
	SEED("full", LARGEST_IS_FULL, HELLO(FIXED(16)), KEYS(231, KEYS_RANDOM), KEYS(231, KEYS_FEW), KEYS(231, KEYS_RANDOM),
		 KEYS(231, KEYS_FEW), KEYS(231, KEYS_RANDOM), END_OF_JOB),
	SEED("divided", CLIENT_HELLO, FIXED(16), 0, 0, 2, 1, KEYS(224, KEYS_RANDOM), KEYS(224, KEYS_FEW), END_OF_JOB),
	SEED("lasting", CLIENT_HELLO, FIXED(1) | 2, 0, 0, 9, 0, 0, KEYS(20, KEYS_RANDOM), END_OF_JOB),
	SEED("limited", LIMITED_HELLO(FIXED(1)), KEYS(100, KEYS_RANDOM), KEYS(255, KEYS_RANDOM), END_OF_JOB),
	/* device memory that others have */
	SEED("queued", LARGEST_IS_FULL, LARGE_HELLO(FIXED(1)), CLIENT_YIELD, CLIENT_YIELD, OTHERS_MEMORY, 0, OTHERS_MEMORY, 1,
		 KEYS(30, KEYS_RANDOM), END_OF_JOB),
	SEED("engine_fails", HELLO(FIXED(1)), KEYS(30, KEYS_RANDOM), ENGINE_FAILURE, 0, END_OF_JOB),
	SEED("time_passes", HELLO(FIXED(1)), TIME_PASSES, 0xFF, 0xFF, 0xFF, KEYS(30, KEYS_RANDOM), END_OF_JOB),
	/* what no client should do */
	SEED("twice_hello", HELLO(FIXED(1)), CLIENT_YIELD, HELLO(FIXED(1))),
	SEED("changed", HELLO(VARIABLE), KEYS(30, KEYS_RANDOM), CLIENT_CHANGED_MESSAGE, 0x21, 200, 2, END_OF_JOB),
	SEED("any", HELLO(VARIABLE), CLIENT_ANY_MESSAGE, 1, 0, 1, 2, 5, 6),
	SEED("any_long", CLIENT_ANY_MESSAGE, 0xFF, 3, 3, 1, 5),
	SEED("written", HELLO(VARIABLE), KEYS(30, KEYS_RANDOM), CLIENT_WRITE, 0, 0, 5, 200, END_OF_JOB),
	SEED("raced", HELLO(VARIABLE), CLIENT_YIELD, CLIENT_RACE, 20, 0, 0, 5, 70, 0xFF, 0xFF, KEYS(30, KEYS_RANDOM),
		 END_OF_JOB),
	SEED("leaves", HELLO(FIXED(1)), KEYS(30, KEYS_RANDOM), CLIENT_LEAVE, 1, CLIENT_RUN),
	SEED("keeps_ring", HELLO(FIXED(1)), KEYS(30, KEYS_RANDOM), CLIENT_RUN, CLIENT_YIELD, CLIENT_LEAVE, 2),
	SEED("leaves_later", HELLO(FIXED(1)), KEYS(200, KEYS_RANDOM), CLIENT_LEAVE_LATER, 3, CLIENT_RUN),
	SEED("file", HELLO(FIXED(1)), KEYS(30, KEYS_RANDOM), CLIENT_FILE, 0, CLIENT_FILE, 1, CLIENT_FILE, 2,
		 CLIENT_FILE, 3, 0, END_OF_JOB)
};

static void
write_seed(const Seed *seed, const char *directory)
{
	char		path[1024];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", directory, seed->name);
	file = fopen(path, "w");
	if (file == NULL || fwrite(seed->bytes, 1, seed->length, file) != seed->length ||
		fclose(file) != 0)
	{
		perror(path);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	if (argc != 3)
	{
		fprintf(stderr, "usage: %s FUZZER DIRECTORY\n", argv[0]);
		return 1;
	}
	if (strcmp(argv[1], "fuzz_connection") == 0)
	{
		for (size_t i = 0; i < sizeof(client_seeds) / sizeof(*client_seeds); i++)
			write_seed(&client_seeds[i], argv[2]);
	}
	return 0;
}
