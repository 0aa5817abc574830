/*-------------------------------------------------------------------------
 *
 * merge_test.c
 *	  Tests of how gpusortd merges the parts of a job.
 *
 * The parts are sorted by the host engine.  Samples are close to each other,
 * and ranges short, so that a few thousand rows have many of both.
 *
 *-------------------------------------------------------------------------
 */
#define LEAST_STEP		5
#define MOST_SAMPLES	400
#define RANGE_SAMPLES	7
#include "../../src/daemon/merge.c"

#define TEST_SUBJECT	"merge"
#include "test_report.h"
#include "daemon_test_keys.h"

/* Longest keys of varying length. */
#define LONGEST_KEY		4

/* Entries that are emitted at once, in turn. */
static const uint32_t counts[] = {1, 1000, 37, 3};

/*
 * Keys
 */

/* Maps a number to one that looks random. */
static uint64_t
scatter(uint64_t number)
{
	number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
	return number ^ (number >> 31);
}

typedef uint64_t (*Distribution) (uint64_t row, uint64_t nrows);

static uint64_t
uniform(uint64_t row, uint64_t nrows)
{
	(void) nrows;
	return scatter(row + 1);
}

static uint64_t
few(uint64_t row, uint64_t nrows)
{
	return uniform(row, nrows) % 3;
}

static uint64_t
pairs(uint64_t row, uint64_t nrows)
{
	return uniform(row, nrows) % (nrows / 2 + 1);
}

/* Mostly one value, which goes on over many ranges. */
static uint64_t
skewed(uint64_t row, uint64_t nrows)
{
	return uniform(row, nrows) % 10 == 0 ? uniform(row + 7, nrows) % 50 : 25;
}

static const struct
{
	const char *name;
	Distribution value;
}			distributions[] = {
	{"uniform", uniform},
	{"few", few},
	{"pairs", pairs},
	{"constant", constant},
	{"ascending", ascending},
	{"descending", descending},
	{"skewed", skewed}
};

#define NDISTRIBUTIONS	(sizeof(distributions) / sizeof(*distributions))

/*
 * Makes keys whose last words have this distribution, and whose other words
 * have few values.  If keys vary in length the first word of each tells its
 * length, so that keys are prefix-free.
 */
static KeySet
make_keys(uint32_t fixed_words, bool mark_ties, uint64_t nrows,
		  Distribution value)
{
	KeySet		set = {{fixed_words, mark_ties}, nrows, NULL, NULL};
	uint64_t	nwords = 0;

	set.words = malloc((nrows + 1) * KEY_MAX_WORDS * sizeof(uint64_t));
	set.ends = malloc((nrows + 1) * sizeof(uint64_t));
	for (uint64_t row = 0; row < nrows; row++)
	{
		uint32_t	length = fixed_words != 0 ? fixed_words :
			1 + (uint32_t) (value(row, nrows) % LONGEST_KEY);

		for (uint32_t i = 0; i < length; i++)
			set.words[nwords++] = fixed_words == 0 && i == 0 ? length :
				i + 1 == length ? value(row, nrows) :
				value(row, nrows) % 2;
		set.ends[row] = nwords;
	}
	return set;
}


/*
 * An engine that may fail, or lie
 */

static int	failing_call = -1;	/* the number of a pull */
static int	calls;
static EngineJob *failing_job;	/* whose it was */
static EngineJob *lying_job;	/* whose keys are not in order */
static pthread_mutex_t call_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool
count_call(EngineJob *job, DeviceError *error)
{
	bool		fails;

	pthread_mutex_lock(&call_mutex);
	fails = calls++ == failing_call;
	if (fails)
		failing_job = job;
	pthread_mutex_unlock(&call_mutex);
	snprintf(error->text, sizeof(error->text), "pull %d fails", failing_call);
	return !fails;
}

static bool
test_pull(EngineJob *job, uint64_t first, uint32_t count, uint32_t *order,
		  DeviceError *error)
{
	return count_call(job, error) &&
		host_engine.pull(job, first, count, order, error);
}

static bool
test_pull_keys(EngineJob *job, uint64_t first, uint32_t step, uint32_t count,
			   uint32_t key_words, uint64_t *words, DeviceError *error)
{
	if (!count_call(job, error) ||
		!host_engine.pull_keys(job, first, step, count, key_words, words,
							   error))
		return false;
	for (uint32_t i = 0; i < count && job == lying_job; i++)
		words[i * key_words] = scatter(first + i);
	return true;
}

static bool
never(void *argument)
{
	(void) argument;
	return false;
}

/* Sorts rows from first on as a part. */
static EngineJob *
sort_rows(const KeySet *set, uint64_t first, uint64_t nrows)
{
	DeviceError error;
	EngineJob  *job = host_engine.begin(0, &set->shape, DEVICE_SORT_AUTO,
										never, NULL, &error);
	uint64_t	begin = key_begin(set, first);
	uint64_t   *ends = malloc(nrows * sizeof(uint64_t));
	uint64_t	ticket;

	for (uint64_t row = 0; row < nrows; row++)
		ends[row] = set->ends[first + row] - begin;
	host_engine.keep_keys(job);
	if (!host_engine.push(job, set->words + begin, ends[nrows - 1],
						  set->shape.fixed_words == 0 ? ends : NULL,
						  (uint32_t) nrows, &ticket, &error) ||
		!host_engine.perform(job, UINT64_MAX, &error))
		wrong("%s", error.text);
	free(ends);
	return job;
}

/* Makes the ends of parts; some parts have a single row. */
static uint64_t
part_end(const KeySet *set, int part, int nparts, bool is_uneven)
{
	if (part + 1 == nparts)
		return set->nrows;
	return is_uneven ? (uint64_t) part + 1 :
		set->nrows / nparts * (part + 1);
}

/* Divides the keys into parts, and sorts the parts. */
static void
make_parts(const KeySet *set, int nparts, bool is_uneven, MergePart *parts)
{
	uint64_t	first = 0;

	for (int i = 0; i < nparts; i++)
	{
		uint64_t	end = part_end(set, i, nparts, is_uneven);

		parts[i].job = sort_rows(set, first, end - first);
		parts[i].nrows = end - first;
		parts[i].first_row = first;
		first = end;
	}
}

static void
end_parts(MergePart *parts, int nparts)
{
	for (int i = 0; i < nparts; i++)
		host_engine.end(parts[i].job);
}

static Engine
test_engine(void)
{
	Engine		engine = host_engine;

	engine.pull = test_pull;
	engine.pull_keys = test_pull_keys;
	calls = 0;
	return engine;
}

static uint32_t
longest_key(const KeySet *set)
{
	return set->shape.fixed_words != 0 ? set->shape.fixed_words : LONGEST_KEY;
}


/*
 * The tests
 */

/* Merges this many entries, or up to the first failure. */
static bool
merge_entries(Merge *merge, uint64_t nrows, uint32_t *order,
			  MergeFailure *failure)
{
	uint64_t	have = 0;

	for (int i = 0; have < nrows; i++)
	{
		uint32_t	count = counts[i % (sizeof(counts) / sizeof(*counts))];

		if (count > nrows - have)
			count = (uint32_t) (nrows - have);
		if (!merge_next(merge, count, order + have, failure))
			return false;
		have += count;
	}
	return true;
}

static void
merge_and_check(const KeySet *set, int nparts, bool is_uneven,
				const char *what)
{
	Engine		engine = test_engine();
	uint32_t   *order = malloc(set->nrows * sizeof(uint32_t));
	MergePart	parts[MAX_PARTS];
	MergeFailure failure;
	Merge	   *merge;

	make_parts(set, nparts, is_uneven, parts);
	merge = merge_begin(&engine, parts, nparts, longest_key(set),
						set->shape.mark_ties, &failure);
	if (merge == NULL || !merge_entries(merge, set->nrows, order, &failure))
		wrong("%s: %s", what, failure.error.text);
	else
		(void) check_order(set, order, what);
	merge_end(merge);
	end_parts(parts, nparts);
	free(order);
}

static void
test_shapes(void)
{
	static const uint32_t widths[] = {1, 2, 5, KEY_MAX_WORDS, 0};

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
	{
		for (size_t j = 0; j < 2 * NDISTRIBUTIONS; j++)
		{
			KeySet		set = make_keys(widths[i], j % 2 == 0, 3000,
										distributions[j / 2].value);

			for (int nparts = 2; nparts <= MAX_PARTS; nparts += 3)
			{
				merge_and_check(&set, nparts, false, distributions[j / 2].name);
				merge_and_check(&set, nparts, true, distributions[j / 2].name);
			}
			free_keys(&set);
		}
	}
	conclude("merges keys of all shapes and distributions");
}

/* Around the ends of samples and ranges. */
static void
test_sizes(void)
{
	for (uint64_t nrows = 3; nrows < 4 * LEAST_STEP * RANGE_SAMPLES; nrows++)
	{
		Distribution value = distributions[nrows % NDISTRIBUTIONS].value;
		KeySet		set = make_keys(nrows % 3, true, nrows, value);

		merge_and_check(&set, 2, nrows % 2 != 0, "two parts");
		merge_and_check(&set, 3, nrows % 4 < 2, "three parts");
		free_keys(&set);
	}
	conclude("merges any number of rows");
}

/* Any pull may fail, and the device of that pull is to blame. */
static void
test_failures(void)
{
	KeySet		set = make_keys(1, true, 1000, pairs);
	uint32_t	order[1000];
	bool		was_reached = true;

	for (failing_call = 0; was_reached; failing_call++)
	{
		Engine		engine = test_engine();
		MergePart	parts[3];
		MergeFailure failure = {.part = -1};
		Merge	   *merge;
		bool		merged;

		make_parts(&set, 3, false, parts);
		failing_job = NULL;
		merge = merge_begin(&engine, parts, 3, 1, true, &failure);
		merged = merge != NULL && merge_entries(merge, 1000, order, &failure);
		was_reached = failing_job != NULL;
		if (merged == was_reached)
			wrong("pull %d: it is%s merged", failing_call,
				  merged ? "" : " not");
		else if (!merged && (failure.part < 0 ||
							 parts[failure.part].job != failing_job ||
							 strncmp(failure.error.text, "pull ", 5) != 0))
			wrong("pull %d: part %d is to blame for \"%s\"", failing_call,
				  failure.part, failure.error.text);
		merge_end(merge);
		end_parts(parts, 3);
	}
	if (failing_call < 50)
		wrong("there are %d pulls only", failing_call);
	failing_call = -1;
	free_keys(&set);
	conclude("says whose failure it was");
}

/*
 * A part whose keys are not in order is found and named, unless ranges
 * contradict each other before.
 */
static void
test_lies(void)
{
	int			contradictions = 0;
	int			found = 0;

	for (uint64_t nrows = 100; nrows < 1100; nrows += 10)
	{
		KeySet		set = make_keys(nrows / 10 % 3, true, nrows, uniform);
		Engine		engine = test_engine();
		uint32_t   *order = malloc(nrows * sizeof(uint32_t));
		MergePart	parts[3];
		MergeFailure failure;
		Merge	   *merge;
		int			liar = (int) (nrows / 10 % 3);

		make_parts(&set, 3, false, parts);
		lying_job = parts[liar].job;
		merge = merge_begin(&engine, parts, 3, longest_key(&set), true,
							&failure);
		if (merge == NULL)
			wrong("it does not begin: %s", failure.error.text);
		else if (merge_entries(merge, nrows, order, &failure))
			wrong("%llu rows: it is not found", (unsigned long long) nrows);
		else if (strstr(failure.error.text, "failed its check") == NULL)
			wrong("it failed for \"%s\"", failure.error.text);
		else if (failure.part == -1)
			contradictions++;
		else if (failure.part == liar)
			found++;
		else
			wrong("part %d failed instead of %d", failure.part, liar);
		merge_end(merge);
		lying_job = NULL;
		end_parts(parts, 3);
		free(order);
		free_keys(&set);
	}
	if (contradictions == 0 || found < contradictions)
		wrong("%d were found, and %d contradictions", found, contradictions);
	conclude("finds keys that are not in order");
}

/* A merge may be ended at any time. */
static void
test_end(void)
{
	KeySet		set = make_keys(2, true, 3000, pairs);
	Engine		engine = test_engine();
	uint32_t	order[3000];
	MergePart	parts[4];

	make_parts(&set, 4, false, parts);
	for (uint64_t nrows = 0; nrows <= 3000; nrows += 150)
	{
		MergeFailure failure;
		Merge	   *merge = merge_begin(&engine, parts, 4, 2, true, &failure);

		if (merge == NULL || !merge_entries(merge, nrows, order, &failure))
			wrong("%s", failure.error.text);
		merge_end(merge);
	}
	merge_end(NULL);
	end_parts(parts, 4);
	free_keys(&set);
	conclude("ends at any time");
}

int
main(void)
{
	test_shapes();
	test_sizes();
	test_failures();
	test_lies();
	test_end();
	return failures > 0;
}
