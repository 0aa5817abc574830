/*-------------------------------------------------------------------------
 *
 * test_engine.c
 *	  The host engine with several devices, some of which fail, and with orders
 *	  that are not to be believed.
 *
 * In the environment of gpusortd, or of the server that it belongs to:
 *
 *		GPUSORTD_HOST_DEVICES=100,50	the memory of each, in MB; they have UUIDs
 *		GPUSORTD_HOST_FAULT=0			the number of one whose jobs fail
 *		GPUSORTD_HOST_HANG=0			and of one whose jobs hang
 *		GPUSORTD_IDLE_MILLISECONDS=100	when a client that says nothing is idle
 *		GPUSORTD_RELEASE_MILLISECONDS=1000	when memory goes back that none needs
 *
 * The file "wrong" in the working directory says what the engine does wrong.
 * The file is read each time a part of an order is fetched, or, for lies.c, a
 * ring is made:
 *
 *	repeat		one row comes twice, and another not at all
 *	cancelled	rows come twice, and others not at all, so that the sums of row
 *				numbers, of squares and of cubes are right
 *	swap		two neighbours have changed places
 *	impossible	one row's number is that of none
 *	first tie	the first key is said to equal the one before it
 *	ties		keys are said to be equal that are not, and the other way round
 *	change		an impossible number, but at times only, after the order has been sent
 *	short		rings have no memory
 *	unsealed	rings have memory that could be taken away
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#define host_engine right_engine
#include "../../src/daemon/engine_host.c"
#undef host_engine

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/daemon/clock.h"
#include "hooks.h"
#include "wrong.h"

/* More than a test needs. */
#define MOST_DEVICES	8

#define IMPOSSIBLE_ROW	UINT32_C(0x7ffffff0)

/* For how long an order that has been sent is changed. */
#define CHANGING_MILLISECONDS	50

/* A number in the environment, or another one if it is not there. */
static int
environment_number(const char *name, int otherwise)
{
	const char *number = getenv(name);

	return number != NULL ? atoi(number) : otherwise;
}

int
test_idle_milliseconds(void)
{
	return environment_number("GPUSORTD_IDLE_MILLISECONDS", 1000);
}

int
test_release_milliseconds(void)
{
	return environment_number("GPUSORTD_RELEASE_MILLISECONDS", 5000);
}


/*
 * Devices
 */

/* The memory of each device; returns how many there are, 0 for the product's. */
static int
read_devices(uint64_t *memory_bytes)
{
	const char *list = getenv("GPUSORTD_HOST_DEVICES");
	int			count = 0;

	while (list != NULL && *list != '\0' && count < MOST_DEVICES)
	{
		char	   *end;

		memory_bytes[count++] = strtoull(list, &end, 10) << 20;
		list = *end == ',' ? end + 1 : "";
	}
	return count;
}

static int
test_count(DeviceError *error)
{
	uint64_t	memory_bytes[MOST_DEVICES];
	int			count = read_devices(memory_bytes);

	return count > 0 ? count : host_count(error);
}

static bool
test_describe(int number, DeviceInfo *info, DeviceError *error)
{
	uint64_t	memory_bytes[MOST_DEVICES];

	(void) host_describe(number, info, error);
	if (read_devices(memory_bytes) > 0)
	{
		info->memory_bytes = memory_bytes[number];
		snprintf(info->uuid, sizeof(info->uuid),
				 "GPU-00000000-0000-0000-0000-%012d", number);
	}
	return true;
}

/* Is this the device that the environment's variable of this name has? */
static bool
is_named(int device, const char *name)
{
	return environment_number(name, -1) == device;
}

static bool
test_perform(EngineJob *job, uint64_t memory, DeviceError *error)
{
	while (is_named(job->device, "GPUSORTD_HOST_HANG"))
		pause();
	if (is_named(job->device, "GPUSORTD_HOST_FAULT"))
	{
		snprintf(error->text, sizeof(error->text),
				 "GPUSORTD_HOST_FAULT has it so");
		return false;
	}
	return host_perform(job, memory, error);
}


/*
 * Orders
 */

bool
does_wrong(const char *what)
{
	char		line[32] = "";
	FILE	   *file = fopen("wrong", "r");

	if (file != NULL)
	{
		if (fgets(line, sizeof(line), file) == NULL)
			line[0] = '\0';
		fclose(file);
	}
	line[strcspn(line, "\n")] = '\0';
	return strcmp(line, what) == 0;
}

/*
 * Maps the page of an entry once more.  gpusortd may unmap its own mapping
 * while the entry is still changed.  NULL if the memory is not shared.
 */
static uint32_t *
map_again(uint32_t *entry)
{
	size_t		page_bytes = sysconf(_SC_PAGESIZE);
	size_t		offset = (uintptr_t) entry % page_bytes;
	char	   *page = mremap((char *) entry - offset, 0, page_bytes,
							  MREMAP_MAYMOVE);

	return page != MAP_FAILED ? (uint32_t *) (page + offset) : NULL;
}

/* A thread: makes an entry of map_again() right and wrong by turns. */
static void *
change(void *argument)
{
	volatile uint32_t *entry = argument;
	size_t		page_bytes = sysconf(_SC_PAGESIZE);
	uint32_t	right = *entry;
	uint64_t	end = microseconds_now() + CHANGING_MILLISECONDS * 1000;

	while (microseconds_now() < end)
	{
		for (int i = 0; i < 1000; i++)
		{
			*entry = IMPOSSIBLE_ROW;
			*entry = right;
		}
	}
	munmap((char *) argument - (uintptr_t) argument % page_bytes, page_bytes);
	return NULL;
}

/* Starts to change an entry. */
static void
begin_change(uint32_t *entry)
{
	pthread_t	thread;

	entry = map_again(entry);
	if (entry != NULL && pthread_create(&thread, NULL, change, entry) == 0)
		pthread_detach(thread);
}

/*
 * Rows 1, 2, 9 and 10 come twice in succession, and 0, 4, 7 and 11 not at all:
 * both have the sums 22, 186 and 1738.  Only if all of these are in this part of
 * the order.
 */
static void
repeat_unnoticed(uint32_t *order, uint32_t count)
{
	static const uint32_t twice = 1 << 1 | 1 << 2 | 1 << 9 | 1 << 10;
	static const uint32_t never = 1 << 0 | 1 << 4 | 1 << 7 | 1 << 11;
	uint32_t   *wrong = malloc((count + 4) * sizeof(uint32_t));
	uint32_t	nwrong = 0;
	uint32_t	found = 0;

	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t	row = ORDER_ROW(order[i]);
		uint32_t	bit = row < 12 ? UINT32_C(1) << row : 0;

		found |= bit;
		if ((bit & never) == 0)
			wrong[nwrong++] = order[i];
		if ((bit & twice) != 0)
			wrong[nwrong++] = order[i];
	}
	if ((found & (twice | never)) == (twice | never))
	{
		memcpy(order, wrong, count * sizeof(uint32_t));
		order[0] = ORDER_ROW(order[0]);
	}
	free(wrong);
}

static bool
test_pull(EngineJob *job, uint64_t first, uint32_t count, uint32_t *order,
		  DeviceError *error)
{
	uint32_t	middle = count / 2;

	if (!right_engine.pull(job, first, count, order, error))
		return false;
	if (count < 2)
		return true;
	if (does_wrong("repeat"))
		order[middle] = (order[middle] & ORDER_TIE) | ORDER_ROW(order[0]);
	else if (does_wrong("impossible"))
		order[middle] = IMPOSSIBLE_ROW;
	else if (does_wrong("cancelled"))
		repeat_unnoticed(order, count);
	else if (does_wrong("swap"))
	{
		uint32_t	row = order[middle];

		order[middle] = order[middle - 1];
		order[middle - 1] = row;
	}
	else if (does_wrong("first tie"))
		order[0] |= ORDER_TIE;
	else if (does_wrong("ties"))
	{
		for (uint32_t i = 1; i < count; i++)
			order[i] ^= ORDER_TIE;
	}
	else if (does_wrong("change"))
		begin_change(&order[middle]);
	return true;
}

/*
 * For all other files engine.h has this as a constant.  Here it is a variable:
 * before main() begins, it becomes a copy of the right engine, with some
 * functions replaced.
 */
extern Engine host_engine;
Engine		host_engine;

__attribute__((constructor)) static void
make_engine(void)
{
	host_engine = right_engine;
	host_engine.count = test_count;
	host_engine.describe = test_describe;
	host_engine.perform = test_perform;
	host_engine.pull = test_pull;
}
