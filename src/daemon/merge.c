/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  One order of a job whose parts were sorted by different devices.
 *
 * The parts stay where they are, with their keys, and are fetched piece by
 * piece while the order is made, so that no memory here grows with the job.
 * Samples are fetched beforehand: keys at regular distances in each part.  The
 * samples of all parts, merged, tell where to divide all rows into ranges,
 * each of which can be merged by itself (regular sampling, Shi and Schaeffer
 * 1992).  A range begins with a sample, its splitter.  In another part the
 * split is known except for the rows between two samples of that part.  The
 * ranges on both sides of the split fetch and search these rows.  So a range
 * fetches the rows for which its samples stand, and in each part as many more
 * as lie between two samples.
 *
 * Ranges are merged by a few threads, in turn, and emitted in order.  Rows
 * whose keys are equal come in the order of their parts, which makes splits exact
 * whatever the keys are.
 *
 * Every key is compared with the one before, which finds the ties, and checks
 * that keys are in order.  Each row is there once because the order of each
 * part is checked, and because in each part a range begins where the one
 * before ends.  If the keys of a part are not in order, the splits may
 * contradict each other, or ranges may have too few or too many rows.  The
 * former is noticed at once, the latter at the end.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "merge.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "thread.h"

/* Threads that merge, and ranges that are merged or wait to be emitted. */
#define MERGE_THREADS	4

/*
 * Rows from sample to sample, or more if there would be too many samples; and
 * samples of all parts in a range.  The test has less of each.
 */
#ifndef LEAST_STEP
#define LEAST_STEP		4096
#define MOST_SAMPLES	(1 << 18)
#define RANGE_SAMPLES	32
#endif

/* A part, as the merge sees it. */
typedef struct Part
{
	EngineJob  *job;
	pthread_mutex_t mutex;		/* held while the job is used */
	uint64_t	nrows;
	uint32_t	first_row;
	uint32_t	nsamples;
	uint64_t   *samples;		/* keys of rows 0, step, 2 * step ... */
} Part;

/* The state of a thread. */
typedef struct Worker
{
	struct Merge *merge;
	pthread_t	thread;
	bool		is_running;
	uint64_t	first_range;	/* first of its ranges, every nworkers-th */
	uint64_t   *keys;			/* keys fetched for a range */
	uint32_t   *entries;		/* entries fetched for a range */
	uint32_t   *merged;			/* entries of the range in order */
	uint64_t	count;			/* entries merged */
	bool		is_full;		/* merged entries are to be emitted */
} Worker;

/* Rows of a part, in sorted order, that are to be merged. */
typedef struct Run
{
	const uint64_t *keys;
	const uint32_t *entries;
	uint64_t	count;
	int			part;
	uint32_t	first_row;		/* number of the part's row 0 in the job */
} Run;

struct Merge
{
	const Engine *engine;
	Part		parts[MAX_PARTS];
	int			nparts;
	uint32_t	key_words;
	bool		mark_ties;
	uint64_t	nrows;

	uint64_t	step;			/* rows from sample to sample of a part */
	uint64_t	nranges;
	uint32_t   *before;			/* samples before each range, by part */
	uint8_t    *splitter_parts; /* part that has the first sample of each
								 * range */

	void	   *memory;			/* memory of samples and workers, pinned */
	size_t		memory_bytes;
	bool		is_pinned;
	Worker		workers[MERGE_THREADS];
	int			nworkers;

	uint64_t	range;			/* the range that is emitted */
	uint64_t	taken;			/* entries of the range emitted */
	uint64_t	emitted;		/* entries of all ranges emitted */

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool		is_ended;
	bool		has_failed;
	MergeFailure failure;
};

static bool
out_of_memory(MergeFailure *failure)
{
	failure->part = -1;
	snprintf(failure->error.text, sizeof(failure->error.text),
			 "gpusortd is out of memory");
	return false;
}

static bool
fail_check(MergeFailure *failure, int part, const char *reason)
{
	failure->part = part;
	snprintf(failure->error.text, sizeof(failure->error.text),
			 "the merged order failed its check: %s", reason);
	return false;
}

static bool
fail_missing(MergeFailure *failure)
{
	return fail_check(failure, -1, "not every row is there once");
}

/* Compares keys as memcmp() does; all keys are filled up to one length. */
static inline int
compare_keys(const Merge *merge, const uint64_t *left, const uint64_t *right)
{
	for (uint32_t i = 0; i < merge->key_words; i++)
	{
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	}
	return 0;
}


/*
 * Ranges
 */

/* Samples of a part that come before a range. */
static inline uint32_t
samples_before(const Merge *merge, uint64_t range, int part)
{
	return merge->before[range * merge->nparts + part];
}

static inline const uint64_t *
sample_key(const Merge *merge, int part, uint32_t sample)
{
	return merge->parts[part].samples + (uint64_t) sample * merge->key_words;
}

/* The part whose next sample comes first; -1 if none has one. */
static int
part_with_first_sample(const Merge *merge, const uint32_t *next)
{
	int			first = -1;

	for (int i = 0; i < merge->nparts; i++)
	{
		if (next[i] < merge->parts[i].nsamples &&
			(first < 0 ||
			 compare_keys(merge, sample_key(merge, i, next[i]),
						  sample_key(merge, first, next[first])) < 0))
			first = i;
	}
	return first;
}

/* Merges the samples, and notes where each range begins. */
static void
divide_into_ranges(Merge *merge)
{
	uint32_t	next[MAX_PARTS] = {0};
	uint64_t	number = 0;
	int			part;

	while ((part = part_with_first_sample(merge, next)) >= 0)
	{
		if (number % RANGE_SAMPLES == 0)
		{
			uint64_t	range = number / RANGE_SAMPLES;

			memcpy(merge->before + range * merge->nparts, next,
				   merge->nparts * sizeof(*next));
			merge->splitter_parts[range] = (uint8_t) part;
		}
		next[part]++;
		number++;
	}
	memcpy(merge->before + merge->nranges * merge->nparts, next,
		   merge->nparts * sizeof(*next));
}

/*
 * The least and the greatest place at which the beginning of a range may split
 * a part.  Both are the same for the part of the splitter, at the beginning of
 * all ranges, and at the end of all.
 */
static uint64_t
least_split(const Merge *merge, uint64_t range, int part)
{
	uint32_t	samples = samples_before(merge, range, part);

	if (range == merge->nranges)
		return merge->parts[part].nrows;
	if (part == merge->splitter_parts[range])
		return samples * merge->step;
	return samples == 0 ? 0 : (samples - 1) * merge->step + 1;
}

static uint64_t
most_split(const Merge *merge, uint64_t range, int part)
{
	uint64_t	most = samples_before(merge, range, part) * merge->step;

	return most < merge->parts[part].nrows ? most : merge->parts[part].nrows;
}

/*
 * Finds the split of a part at the beginning of a range: the first row that does
 * not come before the splitter.  "keys" has those from row "first" on.
 */
static uint64_t
find_split(const Merge *merge, uint64_t range, int part, const uint64_t *keys,
		   uint64_t first)
{
	uint64_t	least = least_split(merge, range, part);
	uint64_t	most = most_split(merge, range, part);

	while (least < most)
	{
		int			splitter_part = merge->splitter_parts[range];
		uint64_t	middle = least + (most - least) / 2;
		int			comparison =
			compare_keys(merge, keys + (middle - first) * merge->key_words,
						 sample_key(merge, splitter_part,
									samples_before(merge, range,
												   splitter_part)));

		if (comparison < 0 || (comparison == 0 && part < splitter_part))
			least = middle + 1;
		else
			most = middle;
	}
	return least;
}

/*
 * The first row of a part that is fetched for a range: the one before its
 * split.
 */
static uint64_t
first_fetched(const Merge *merge, uint64_t range, int part)
{
	uint64_t	least = least_split(merge, range, part);

	return least > 0 ? least - 1 : 0;
}

/* Rows that a range may have to fetch of all parts. */
static uint64_t
most_fetched(const Merge *merge)
{
	uint64_t	most = (RANGE_SAMPLES + (uint64_t) merge->nparts) * merge->step;

	return most < merge->nrows ? most : merge->nrows;
}


/*
 * Merging
 */

/* Fetches rows of a part. */
static bool
fetch(Merge *merge, int number, uint64_t first, uint32_t count,
	  uint64_t *keys, uint32_t *entries, MergeFailure *failure)
{
	Part	   *part = &merge->parts[number];
	bool		fetched;

	failure->part = number;
	pthread_mutex_lock(&part->mutex);
	fetched = merge->engine->pull_keys(part->job, first, 1, count,
									   merge->key_words, keys,
									   &failure->error) &&
		merge->engine->pull(part->job, first, count, entries,
							&failure->error);
	pthread_mutex_unlock(&part->mutex);
	return fetched;
}

/*
 * Fetches the rows that may belong to a range, and finds those that do.  Sets
 * *before to the key of the last row of the range before, or NULL if there is
 * none.
 */
static bool
fetch_range(Worker *worker, uint64_t range, Run *runs,
			const uint64_t **before, MergeFailure *failure)
{
	Merge	   *merge = worker->merge;
	uint64_t   *keys = worker->keys;
	uint32_t   *entries = worker->entries;

	*before = NULL;
	for (int i = 0; i < merge->nparts; i++)
	{
		uint64_t	first = first_fetched(merge, range, i);
		uint64_t	count = most_split(merge, range + 1, i) - first;
		uint64_t	split;
		uint64_t	next_split;

		if (!fetch(merge, i, first, (uint32_t) count, keys, entries, failure))
			return false;
		split = find_split(merge, range, i, keys, first);
		next_split = find_split(merge, range + 1, i, keys, first);
		if (next_split < split)
			return fail_missing(failure);
		runs[i].keys = keys + (split - first) * merge->key_words;
		runs[i].entries = entries + (split - first);
		runs[i].count = next_split - split;
		runs[i].part = i;
		runs[i].first_row = merge->parts[i].first_row;
		if (split > 0 &&
			(*before == NULL ||
			 compare_keys(merge, runs[i].keys - merge->key_words,
						  *before) > 0))
			*before = runs[i].keys - merge->key_words;
		keys += count * merge->key_words;
		entries += count;
	}
	return true;
}

/* Leaves out runs that have no rows; returns how many are left. */
static int
drop_empty(Run *runs, int nruns)
{
	int			kept = 0;

	for (int i = 0; i < nruns; i++)
	{
		if (runs[i].count > 0)
			runs[kept++] = runs[i];
	}
	return kept;
}

/*
 * True if the first row of a run comes before the first row of another run.
 * Mostly the first words of their keys tell, and then without a branch.
 */
static inline bool
comes_before(const Merge *merge, const Run *run, const Run *other)
{
	uint64_t	word = run->keys[0];
	uint64_t	other_word = other->keys[0];

	if (word == other_word)
		return compare_keys(merge, run->keys, other->keys) < 0;
	return word < other_word;
}

/* The run whose first row comes first; if rows are equal, the first run. */
static inline Run *
find_first(const Merge *merge, Run *runs, int nruns)
{
	Run		   *first = runs;

	for (int i = 1; i < nruns; i++)
		first = comes_before(merge, &runs[i], first) ? &runs[i] : first;
	return first;
}

/* Merges a range. */
static bool
merge_range(Worker *worker, uint64_t range, MergeFailure *failure)
{
	Merge	   *merge = worker->merge;
	uint32_t   *merged = worker->merged;
	Run			runs[MAX_PARTS];
	const uint64_t *before;
	int			nruns;

	if (!fetch_range(worker, range, runs, &before, failure))
		return false;
	nruns = drop_empty(runs, merge->nparts);
	while (nruns > 0)
	{
		Run		   *run = find_first(merge, runs, nruns);
		uint32_t	entry = ORDER_ROW(*run->entries) + run->first_row;
		int			comparison = before == NULL ? -1 :
			compare_keys(merge, before, run->keys);

		/* keys descend only if a part is out of order */
		if (comparison > 0)
			return fail_check(failure, merged > worker->merged ? run->part : -1,
							  "keys are out of order");
		if (comparison == 0 && merge->mark_ties)
			entry |= ORDER_TIE;
		*merged++ = entry;
		before = run->keys;
		run->keys += merge->key_words;
		run->entries++;
		if (--run->count == 0)
			nruns = drop_empty(runs, nruns);
	}
	worker->count = merged - worker->merged;
	return true;
}

/*
 * Waits until the entries that a worker has merged are emitted; false at the
 * end.
 */
static bool
wait_for_room(Worker *worker)
{
	Merge	   *merge = worker->merge;
	bool		goes_on;

	pthread_mutex_lock(&merge->mutex);
	while (worker->is_full && !merge->is_ended)
		pthread_cond_wait(&merge->changed, &merge->mutex);
	goes_on = !merge->is_ended;
	pthread_mutex_unlock(&merge->mutex);
	return goes_on;
}

/* Sets whether entries that a worker has merged are to be emitted. */
static void
set_full(Worker *worker, bool is_full)
{
	Merge	   *merge = worker->merge;

	pthread_mutex_lock(&merge->mutex);
	worker->is_full = is_full;
	pthread_cond_broadcast(&merge->changed);
	pthread_mutex_unlock(&merge->mutex);
}

/* Notes that something has failed, if nothing has before. */
static void
note_failure(Merge *merge, const MergeFailure *failure)
{
	pthread_mutex_lock(&merge->mutex);
	if (!merge->has_failed)
		merge->failure = *failure;
	merge->has_failed = true;
	pthread_cond_broadcast(&merge->changed);
	pthread_mutex_unlock(&merge->mutex);
}

static void *
merge_ranges(void *argument)
{
	Worker	   *worker = argument;
	Merge	   *merge = worker->merge;
	MergeFailure failure = {.part = -1};

	for (uint64_t range = worker->first_range; range < merge->nranges;
		 range += merge->nworkers)
	{
		if (!wait_for_room(worker))
			break;
		if (!merge_range(worker, range, &failure))
		{
			note_failure(merge, &failure);
			break;
		}
		set_full(worker, true);
	}
	return NULL;
}


/*
 * The whole
 */

static uint64_t
divide_up(uint64_t count, uint64_t size)
{
	return (count + size - 1) / size;
}

/* Decides how many samples and ranges there are. */
static void
plan(Merge *merge)
{
	uint64_t	nsamples = 0;

	merge->step = divide_up(merge->nrows, MOST_SAMPLES);
	if (merge->step < LEAST_STEP)
		merge->step = LEAST_STEP;
	for (int i = 0; i < merge->nparts; i++)
	{
		Part	   *part = &merge->parts[i];

		part->nsamples = (uint32_t) divide_up(part->nrows, merge->step);
		nsamples += part->nsamples;
	}
	merge->nranges = divide_up(nsamples, RANGE_SAMPLES);
	merge->nworkers = merge->nranges < MERGE_THREADS ?
		(int) merge->nranges : MERGE_THREADS;
}

/*
 * Takes some of the pinned memory, or only counts it before the memory is
 * made.
 */
static void *
take_memory(Merge *merge, uint64_t count, size_t size)
{
	char	   *taken = merge->memory == NULL ? NULL :
		(char *) merge->memory + merge->memory_bytes;

	/* aligns the next one */
	merge->memory_bytes += divide_up(count * size, sizeof(uint64_t)) *
		sizeof(uint64_t);
	return taken;
}

static void
lay_out_memory(Merge *merge)
{
	uint64_t	most = most_fetched(merge);

	merge->memory_bytes = 0;
	for (int i = 0; i < merge->nparts; i++)
	{
		Part	   *part = &merge->parts[i];

		part->samples = take_memory(merge,
									(uint64_t) part->nsamples * merge->key_words,
									sizeof(uint64_t));
	}
	for (int i = 0; i < merge->nworkers; i++)
	{
		Worker	   *worker = &merge->workers[i];

		worker->keys = take_memory(merge, most * merge->key_words,
								   sizeof(uint64_t));
		worker->entries = take_memory(merge, most, sizeof(uint32_t));
		worker->merged = take_memory(merge, most, sizeof(uint32_t));
	}
}

/* Makes all memory that the merge needs. */
static bool
make_memory(Merge *merge, MergeFailure *failure)
{
	lay_out_memory(merge);
	merge->memory = mmap(NULL, merge->memory_bytes, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (merge->memory == MAP_FAILED)
	{
		merge->memory = NULL;
		return out_of_memory(failure);
	}
	lay_out_memory(merge);
	merge->before = malloc((merge->nranges + 1) * merge->nparts *
						   sizeof(*merge->before));
	merge->splitter_parts = malloc(merge->nranges *
								   sizeof(*merge->splitter_parts));
	if (merge->before == NULL || merge->splitter_parts == NULL)
		return out_of_memory(failure);
	failure->part = -1;
	merge->is_pinned = merge->engine->pin != NULL &&
		merge->engine->pin(merge->memory, merge->memory_bytes,
						   &failure->error);
	return merge->is_pinned || merge->engine->pin == NULL;
}

static bool
fetch_samples(Merge *merge, MergeFailure *failure)
{
	for (int i = 0; i < merge->nparts; i++)
	{
		const Part *part = &merge->parts[i];

		failure->part = i;
		if (!merge->engine->pull_keys(part->job, 0, (uint32_t) merge->step,
									  part->nsamples, merge->key_words,
									  part->samples, &failure->error))
			return false;
	}
	return true;
}

static bool
start_workers(Merge *merge, MergeFailure *failure)
{
	for (int i = 0; i < merge->nworkers; i++)
	{
		Worker	   *worker = &merge->workers[i];

		worker->merge = merge;
		worker->first_range = i;
		if (!start_thread(&worker->thread, merge_ranges, worker))
			return out_of_memory(failure);
		worker->is_running = true;
	}
	return true;
}

Merge *
merge_begin(const Engine *engine, const MergePart *parts, int nparts,
			uint32_t key_words, bool mark_ties, MergeFailure *failure)
{
	Merge	   *merge = calloc(1, sizeof(Merge));

	if (merge == NULL)
	{
		out_of_memory(failure);
		return NULL;
	}
	merge->engine = engine;
	merge->nparts = nparts;
	merge->key_words = key_words;
	merge->mark_ties = mark_ties;
	pthread_mutex_init(&merge->mutex, NULL);
	pthread_cond_init(&merge->changed, NULL);
	for (int i = 0; i < nparts; i++)
	{
		Part	   *part = &merge->parts[i];

		part->job = parts[i].job;
		part->nrows = parts[i].nrows;
		part->first_row = (uint32_t) parts[i].first_row;
		pthread_mutex_init(&part->mutex, NULL);
		merge->nrows += part->nrows;
	}
	plan(merge);
	if (!make_memory(merge, failure) || !fetch_samples(merge, failure))
	{
		merge_end(merge);
		return NULL;
	}
	divide_into_ranges(merge);
	if (!start_workers(merge, failure))
	{
		merge_end(merge);
		return NULL;
	}
	return merge;
}

/* Waits until the next range has been merged. */
static bool
wait_for_range(Merge *merge, const Worker *worker, MergeFailure *failure)
{
	bool		is_merged;

	pthread_mutex_lock(&merge->mutex);
	while (!worker->is_full && !merge->has_failed)
		pthread_cond_wait(&merge->changed, &merge->mutex);
	is_merged = worker->is_full;
	if (!is_merged)
		*failure = merge->failure;
	pthread_mutex_unlock(&merge->mutex);
	return is_merged;
}

bool
merge_next(Merge *merge, uint32_t count, uint32_t *order,
		   MergeFailure *failure)
{
	while (count > 0 && merge->range < merge->nranges)
	{
		Worker	   *worker = &merge->workers[merge->range % merge->nworkers];
		uint64_t	copied;

		if (!wait_for_range(merge, worker, failure))
			return false;
		copied = worker->count - merge->taken;
		if (copied > count)
			copied = count;
		memcpy(order, worker->merged + merge->taken,
			   copied * sizeof(uint32_t));
		order += copied;
		count -= copied;
		merge->taken += copied;
		merge->emitted += copied;
		if (merge->taken == worker->count)
		{
			set_full(worker, false);
			merge->taken = 0;
			merge->range++;
		}
	}
	if (count > 0 ||
		(merge->emitted == merge->nrows && merge->range < merge->nranges))
		return fail_missing(failure);
	return true;
}

void
merge_end(Merge *merge)
{
	if (merge == NULL)
		return;
	pthread_mutex_lock(&merge->mutex);
	merge->is_ended = true;
	pthread_cond_broadcast(&merge->changed);
	pthread_mutex_unlock(&merge->mutex);
	for (int i = 0; i < merge->nworkers; i++)
	{
		if (merge->workers[i].is_running)
			pthread_join(merge->workers[i].thread, NULL);
	}
	if (merge->is_pinned)
		merge->engine->unpin(merge->memory);
	if (merge->memory != NULL)
		munmap(merge->memory, merge->memory_bytes);
	for (int i = 0; i < merge->nparts; i++)
		pthread_mutex_destroy(&merge->parts[i].mutex);
	pthread_cond_destroy(&merge->changed);
	pthread_mutex_destroy(&merge->mutex);
	free(merge->before);
	free(merge->splitter_parts);
	free(merge);
}
