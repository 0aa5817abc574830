/*-------------------------------------------------------------------------
 *
 * engine_host.c
 *	  The engine that sorts on the CPU, with the code that backends use.
 *
 * It is one device, with the memory of the machine.
 *
 *-------------------------------------------------------------------------
 */
#include "engine.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/host_sort.h"

struct EngineJob
{
	int			device;
	KeyShape	shape;
	uint64_t   *words;
	uint64_t	nwords;			/* words in use */
	uint64_t	max_words;		/* room for words */
	uint64_t   *ends;			/* ends of keys of varying width */
	uint64_t	nrows;			/* rows, and ends in use */
	uint64_t	max_rows;		/* room for ends */
	HostSortEntry *entries;
	uint32_t   *order;			/* the order, in the memory of the entries */
	bool		keeps_keys;
	EngineCancelled cancelled;
	void	   *argument;
	jmp_buf		give_up;
};

static bool
out_of_memory(DeviceError *error)
{
	snprintf(error->text, sizeof(error->text), "gpusortd is out of memory");
	return false;
}

static int
host_count(DeviceError *error)
{
	(void) error;
	return 1;
}

static bool
host_describe(int number, DeviceInfo *info, DeviceError *error)
{
	(void) number;
	(void) error;
	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "gpusortd (host)");
	info->memory_bytes = (uint64_t) sysconf(_SC_PHYS_PAGES) *
		sysconf(_SC_PAGESIZE);
	return true;
}

static bool
host_start(int number, DeviceError *error)
{
	(void) number;
	(void) error;
	return true;
}

/* Memory grows by an eighth, so an eighth of it may be unused. */
static uint64_t
bytes_of_keys(const KeyShape *shape, uint64_t nrows, uint64_t nwords)
{
	uint64_t	bytes = nwords * sizeof(uint64_t);

	if (shape->fixed_words == 0)
		bytes += nrows * sizeof(uint64_t);
	return bytes + bytes / 8;
}

static uint64_t
host_job_memory(const KeyShape *shape, uint64_t nrows, uint64_t nwords)
{
	return bytes_of_keys(shape, nrows, nwords) + nrows * sizeof(HostSortEntry);
}

static uint64_t
host_job_memory_kept(const KeyShape *shape, uint64_t nrows, uint64_t nwords)
{
	return bytes_of_keys(shape, nrows, nwords) + nrows * sizeof(uint32_t);
}

static void
host_end(EngineJob *job)
{
	if (job == NULL)
		return;
	free(job->words);
	free(job->ends);
	free(job->entries);
	free(job);
}

static EngineJob *
host_begin(int device, const KeyShape *shape, DeviceAlgorithm algorithm,
		   EngineCancelled cancelled, void *argument, DeviceError *error)
{
	EngineJob  *job = calloc(1, sizeof(EngineJob));

	(void) algorithm;			/* there is one only */
	if (job == NULL)
	{
		out_of_memory(error);
		return NULL;
	}
	job->device = device;
	job->shape = *shape;
	job->cancelled = cancelled;
	job->argument = argument;
	return job;
}

/* Makes room for "more" elements behind "used" ones. */
static bool
make_room(uint64_t **array, uint64_t used, uint64_t more, uint64_t *room,
		  DeviceError *error)
{
	uint64_t	wanted = used + more;
	uint64_t   *larger;

	if (wanted <= *room)
		return true;
	wanted += used / 8;
	larger = realloc(*array, wanted * sizeof(uint64_t));
	if (larger == NULL)
		return out_of_memory(error);
	*array = larger;
	*room = wanted;
	return true;
}

static bool
host_push(EngineJob *job, const uint64_t *words, uint64_t nwords,
		  const uint64_t *ends, uint32_t nrows, uint64_t *ticket,
		  DeviceError *error)
{
	if (!make_room(&job->words, job->nwords, nwords, &job->max_words, error) ||
		(ends != NULL &&
		 !make_room(&job->ends, job->nrows, nrows, &job->max_rows, error)))
		return false;
	memcpy(job->words + job->nwords, words, nwords * sizeof(uint64_t));
	if (ends != NULL)
		memcpy(job->ends + job->nrows, ends, nrows * sizeof(uint64_t));
	job->nwords += nwords;
	job->nrows += nrows;
	*ticket = job->nrows;
	return true;
}

static bool
host_wait_pushed(EngineJob *job, uint64_t ticket, DeviceError *error)
{
	(void) job;
	(void) ticket;
	(void) error;
	return true;
}

/* Poll function of host_sort(). */
static void
give_up_if_cancelled(void *argument)
{
	EngineJob  *job = argument;

	if (job->cancelled(job->argument))
		longjmp(job->give_up, 1);
}

static void
host_keep_keys(EngineJob *job)
{
	job->keeps_keys = true;
}

/* Frees all memory of a job, except its order and the keys that it keeps. */
static void
keep_order(EngineJob *job)
{
	void	   *order;

	if (!job->keeps_keys)
	{
		free(job->words);
		job->words = NULL;
		free(job->ends);
		job->ends = NULL;
	}

	/*
	 * the order is at the start of the entries; a byte more, as 0 would free
	 * it
	 */
	order = realloc(job->entries, job->nrows * sizeof(uint32_t) + 1);
	if (order != NULL)
		job->entries = order;
	job->order = (uint32_t *) job->entries;
}

static HostKeys
keys_of(const EngineJob *job)
{
	HostKeys	keys = {
		.shape = job->shape,
		.words = job->words,
		.ends = job->ends,
		.nrows = job->nrows
	};

	return keys;
}

static bool
host_perform(EngineJob *job, uint64_t memory, DeviceError *error)
{
	HostKeys	keys = keys_of(job);

	(void) memory;				/* a sort takes the same memory in either way */
	job->entries = malloc((job->nrows + 1) * sizeof(HostSortEntry));
	if (job->entries == NULL)
		return out_of_memory(error);
	if (setjmp(job->give_up) != 0)
	{
		snprintf(error->text, sizeof(error->text), "the job was cancelled");
		return false;
	}
	(void) host_sort(&keys, job->entries, give_up_if_cancelled, job);
	keep_order(job);
	return true;
}

static const char *
host_method(const EngineJob *job)
{
	(void) job;
	return "radix sort";
}

static bool
host_pull(EngineJob *job, uint64_t first, uint32_t count, uint32_t *order,
		  DeviceError *error)
{
	(void) error;
	memcpy(order, job->order + first, count * sizeof(uint32_t));
	return true;
}

static bool
host_pull_keys(EngineJob *job, uint64_t first, uint32_t step, uint32_t count,
			   uint32_t key_words, uint64_t *words, DeviceError *error)
{
	HostKeys	keys = keys_of(job);

	(void) error;
	for (uint32_t i = 0; i < count; i++)
	{
		uint64_t	length;
		const uint64_t *key =
			host_key(&keys, ORDER_ROW(job->order[first + (uint64_t) i * step]),
					 &length);

		for (uint32_t word = 0; word < key_words; word++)
			*words++ = word < length ? key[word] : 0;
	}
	return true;
}

static bool
host_is_lost(void)
{
	return false;
}

const Engine host_engine = {
	.name = "host",
	.count = host_count,
	.describe = host_describe,
	.start = host_start,
	.job_memory = host_job_memory,
	.job_memory_in_place = host_job_memory,
	.job_memory_kept = host_job_memory_kept,
	.begin = host_begin,
	.push = host_push,
	.wait_pushed = host_wait_pushed,
	.keep_keys = host_keep_keys,
	.perform = host_perform,
	.method = host_method,
	.pull = host_pull,
	.pull_keys = host_pull_keys,
	.end = host_end,
	.is_lost = host_is_lost
};
