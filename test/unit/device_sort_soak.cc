/*-------------------------------------------------------------------------
 *
 * device_sort_soak.cc
 *	  Sorting random keys in random ways, for as long as one likes.
 *
 * A job's seed determines the job, and job number i of a soak with seed s has
 * seed s + i.  So a soak of one job with the seed of a failed job does that
 * job again (if it does not fail then, it needs the company of other jobs).
 * Several threads take job after job, each with pinned memory of its own, like
 * the clients of gpusortd.
 *
 * The order of each job is checked as in other tests (test_sort.h), and its
 * keys are compared, place by place, with those that std::sort brings there.
 * A soak ends at the first failure.
 *
 *-------------------------------------------------------------------------
 */
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>

#include "device_sort_tests.h"
#include "test_sort.h"

#ifdef CUDA_ON_CPU

constexpr unsigned soak_threads = 3;
constexpr uint64_t soak_rows = 2000;
constexpr uint64_t soak_most_rows = 20000;
constexpr uint64_t soak_batch_rows = 1000;

#else

constexpr unsigned soak_threads = 8;
constexpr uint64_t soak_rows = 300000;	/* of most jobs, at most */
constexpr uint64_t soak_most_rows = 5000000;	/* of some */
constexpr uint64_t soak_batch_rows = 1 << 16;

#endif

/* One job in this many has more than soak_rows rows. */
constexpr uint64_t soak_large_share = 100;

/* The most words of all keys of a large job. */
constexpr uint64_t soak_words = 8 * soak_most_rows;

struct SoakJob
{
	std::string name;
	TestKeys	keys;
	SortWay		way;
};

/*
 * A random number from "least" to "most": 10 to 100 is as likely as 100 to
 * 1000.
 */
static uint64_t
log_uniform(Random &random, uint64_t least, uint64_t most)
{
	double		share = static_cast<double>(random.next() >> 11) * 0x1p-53;
	double		ratio = static_cast<double>(most + 1) /
		static_cast<double>(least + 1);

	return static_cast<uint64_t>(static_cast<double>(least + 1) *
								 std::pow(ratio, share)) - 1;
}

template <typename Element, size_t count>
static const Element &
any_of(Random &random, const Element (&elements)[count])
{
	return elements[random.below(count)];
}

/*
 * Keys of fixed width, each word of any distribution.  In half of the cases
 * the first words tie rows.
 */
static TestKeys
soak_fixed_keys(Random &random, uint64_t nrows, bool mark_ties,
				std::string &name)
{
	static const Distribution tying[] = {constant, two_valued, few, pairs};
	uint64_t	most_width = std::min<uint64_t>(KEY_MAX_WORDS,
												soak_words / (nrows + 1));
	uint32_t	width = static_cast<uint32_t>(1 + random.below(most_width));
	uint64_t	tying_words = random.below(width + 1);
	std::vector<Distribution> values;

	if (random.below(2) == 0)
		tying_words = 0;
	name += std::to_string(width) + " words of";
	for (uint64_t word = 0; word < width; word++)
	{
		Distribution value = word < tying_words ? any_of(random, tying) :
			any_of(random, distributions).value;

		for (const auto &distribution : distributions)
			if (distribution.value == value)
				name += std::string(word == 0 ? " " : ", ") +
					distribution.name;
		values.push_back(value);
	}
	return fixed_keys(random, nrows, width, values, mark_ties);
}

/*
 * Strings of some letters, behind a common prefix; some come more than once.
 */
static TestKeys
soak_string_keys(Random &random, uint64_t nrows, bool mark_ties,
				 std::string &name)
{
	static const unsigned letter_counts[] = {1, 2, 4, 26};
	static const uint64_t lengths[] = {0, 1, 8, 20, 60, 200};
	static const uint64_t prefix_lengths[] = {0, 0, 5, 53, 125};
	unsigned	letters = any_of(random, letter_counts);
	uint64_t	longest = any_of(random, lengths);
	std::string prefix = random_text(random, any_of(random, prefix_lengths),
									 26);
	std::vector<std::string> different(log_uniform(random, 1, nrows + 1));
	std::vector<std::string> strings;

	if (nrows > soak_rows)
		longest = std::min<uint64_t>(longest, 20);
	name += std::to_string(different.size()) + " strings of up to " +
		std::to_string(longest) + " of " + std::to_string(letters) +
		" letters behind " + std::to_string(prefix.size());
	for (std::string &string : different)
		string = prefix + random_text(random, random.below(longest + 1),
									  letters);
	for (uint64_t row = 0; row < nrows; row++)
		strings.push_back(different[random.below(different.size())]);
	return string_keys(strings, mark_ties);
}

/* The least memory that a sort needs, or more. */
static uint64_t
soak_memory(Random &random, const TestKeys &keys)
{
	uint64_t	least = device_sort_memory_in_place(&keys.shape, keys.nrows,
													keys.words.size());
	uint64_t	enough = device_sort_memory(&keys.shape, keys.nrows,
											keys.words.size());

	return least + random.below(enough - least + 1);
}

static SoakJob
make_soak_job(uint64_t seed)
{
	Random		random = {seed};
	SoakJob		job;
	bool		is_large = random.below(soak_large_share) == 0;
	uint64_t	nrows = is_large ?
		log_uniform(random, soak_rows, soak_most_rows) :
		log_uniform(random, 0, soak_rows);
	bool		has_strings = random.below(3) == 0;
	bool		mark_ties = random.below(2) == 0;
	const auto &how = any_of(random, algorithms);

	nrows = std::min(nrows, most_rows);
	job.name = "job of seed " + std::to_string(seed) + ": " +
		std::to_string(nrows) + " rows, ";
	job.keys = has_strings ?
		soak_string_keys(random, nrows, mark_ties, job.name) :
		soak_fixed_keys(random, nrows, mark_ties, job.name);
	job.way = {how.number, UINT64_MAX,
		log_uniform(random, nrows / 1000 + 1, soak_batch_rows)};
	if (random.below(5) == 0)
		job.way.memory = soak_memory(random, job.keys);
	job.name += std::string(mark_ties ? ", ties marked, by " : ", by ") +
		how.name + ", in batches of up to " +
		std::to_string(job.way.batch_rows) + " and " +
		std::to_string(job.way.memory) + " bytes";
	return job;
}

/* Fails the test unless std::sort brings the same keys to the same places. */
static bool
compare_with_std_sort(const TestKeys &keys,
					  const std::vector<uint32_t> &order, const char *what)
{
	std::vector<uint32_t> rows(keys.nrows);

	std::iota(rows.begin(), rows.end(), 0);
	std::sort(rows.begin(), rows.end(), [&keys](uint32_t a, uint32_t b) {
		return keys.compare(a, b) < 0;
	});
	for (uint64_t place = 0; place < keys.nrows; place++)
		if (keys.compare(rows[place], ORDER_ROW(order[place])) != 0)
			return wrong("%s: std::sort has another key at place %llu", what,
						(unsigned long long) place);
	return true;
}

/* Does a job; true if its order is right. */
static bool
do_soak_job(const SoakJob &job, Staging &staging)
{
	std::vector<uint32_t> order;
	DeviceError error = {};

	if (!sort_keys(job.keys, job.way, staging, order, &error))
		return wrong("%s: %s", job.name.c_str(), error.text);
	return check_order(job.keys, order, job.name.c_str()) &&
		compare_with_std_sort(job.keys, order, job.name.c_str());
}

/* What the threads of a soak share. */
struct Soak
{
	uint64_t	seed;
	uint64_t	jobs;
	std::chrono::steady_clock::time_point start;
	std::mutex	mutex;			/* for what follows */
	uint64_t	begun = 0;
	uint64_t	done = 0;
	uint64_t	rows = 0;
	bool		has_failed = false;
};

/* Reports now and then how far the soak has come. */
static void
note_soak_job(Soak &soak, uint64_t nrows, bool good)
{
	std::lock_guard<std::mutex> lock(soak.mutex);
	std::chrono::duration<double> elapsed =
		std::chrono::steady_clock::now() - soak.start;

	soak.done++;
	soak.rows += nrows;
	soak.has_failed |= !good;
	if (soak.done % 1000 != 0)
		return;
	printf("# %llu jobs, %.1f million rows, %.0f s\n",
		   (unsigned long long) soak.done,
		   static_cast<double>(soak.rows) / 1e6, elapsed.count());
	fflush(stdout);
}

/* Sets the number of the next job; false if there is none. */
static bool
take_soak_job(Soak &soak, uint64_t *number)
{
	std::lock_guard<std::mutex> lock(soak.mutex);

	if (soak.has_failed || soak.begun == soak.jobs)
		return false;
	*number = soak.begun++;
	return true;
}

/* Does this many jobs; fails the test at the first one that goes wrong. */
void
run_soak(uint64_t jobs, uint64_t seed)
{
	Soak		soak;
	std::vector<std::thread> threads;

	printf("# %llu jobs from seed %llu on\n", (unsigned long long) jobs,
		   (unsigned long long) seed);
	soak.seed = seed;
	soak.jobs = jobs;
	soak.start = std::chrono::steady_clock::now();
	for (unsigned i = 0; i < soak_threads && i < jobs; i++)
		threads.emplace_back([&soak] {
			Staging		staging(soak_batch_rows);
			uint64_t	number;

			while (take_soak_job(soak, &number))
			{
				SoakJob		job = make_soak_job(soak.seed + number);

				note_soak_job(soak, job.keys.nrows,
							  do_soak_job(job, staging));
			}
		});
	for (std::thread &thread : threads)
		thread.join();
}
