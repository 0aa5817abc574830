/*-------------------------------------------------------------------------
 *
 * device_sort_test.cc
 *	  Tests of the kernels through their C interface.
 *
 * Compiled by a C++ compiler it runs on the emulator (cuda_on_cpu/), where
 * small sizes pass through every path; compiled by nvcc it runs the same tests
 * on a device with larger ones, and measures:
 *
 *		device_sort_test				the tests
 *		device_sort_test tests ROWS		those with up to so many rows
 *		device_sort_test times [ROWS..]	times of sorts (device only)
 *
 * An order is right if it is a permutation of the rows, no key is smaller
 * than the one before it, and the marks of ties are exactly where a key equals
 * the one before.  All of that is checked of every order, against the keys as
 * the host has them.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../../kernels/device_sort.h"
#include "../../kernels/tuning.cuh"

#ifdef CUDA_ON_CPU
#include "cuda_on_cpu.h"
#else
#include <cub/cub.cuh>
#endif

using gpusort::leaf_rows;
using gpusort::medium_leaf_rows;
using gpusort::merge_batch_rows;
using gpusort::merge_tile_rows;
using gpusort::small_leaf_rows;
using gpusort::tile_rows;
using gpusort::tiny_leaf_rows;

static unsigned failed_tests = 0;
static bool test_failed;

static void
fail(const char *format, ...)
{
	va_list		arguments;

	printf("# ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	test_failed = true;
}

#define CHECK(condition, ...) \
	do { if (!(condition)) fail(__VA_ARGS__); } while (0)

static void
run_test(const char *name, void (*test) ())
{
	test_failed = false;
	test();
	printf("%s - %s\n", test_failed ? "not ok" : "ok", name);
	fflush(stdout);
	failed_tests += test_failed;
}

/* Numbers as good as random (splitmix64 of Steele, Lea and Flood 2014). */
struct Random
{
	uint64_t	state;

	uint64_t
	next()
	{
		uint64_t	z = state += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		return z ^ (z >> 31);
	}

	uint64_t
	below(uint64_t limit)
	{
		return next() % limit;
	}
};

/* Keys, and what to ask of their sort. */

struct TestKeys
{
	KeyShape	shape;
	std::vector<uint64_t> words;
	std::vector<uint64_t> ends;	/* empty for fixed width */
	uint64_t	nrows;

	uint64_t
	begin(uint64_t row) const
	{
		return shape.fixed_words != 0 ? row * shape.fixed_words :
			row == 0 ? 0 : ends[row - 1];
	}

	uint64_t
	end(uint64_t row) const
	{
		return shape.fixed_words != 0 ? begin(row) + shape.fixed_words :
			ends[row];
	}

	/* Less than, equal to or greater than 0, as key a is to key b. */
	int
	compare(uint64_t a, uint64_t b) const
	{
		uint64_t	a_length = end(a) - begin(a);
		uint64_t	b_length = end(b) - begin(b);

		for (uint64_t i = 0; i < a_length && i < b_length; i++)
		{
			uint64_t	a_word = words[begin(a) + i];
			uint64_t	b_word = words[begin(b) + i];

			if (a_word != b_word)
				return a_word < b_word ? -1 : 1;
		}
		return a_length == b_length ? 0 : a_length < b_length ? -1 : 1;
	}
};

/* The value of a word of one row among n, by distribution. */
typedef uint64_t (*Distribution) (Random &random, uint64_t row, uint64_t n);

static uint64_t
uniform(Random &random, uint64_t, uint64_t)
{
	return random.next();
}

static uint64_t
constant(Random &, uint64_t, uint64_t)
{
	return 42;
}

static uint64_t
all_ones(Random &, uint64_t, uint64_t)
{
	return UINT64_MAX;
}

static uint64_t
sorted(Random &, uint64_t row, uint64_t)
{
	return row * 1000;
}

static uint64_t
reversed(Random &, uint64_t row, uint64_t n)
{
	return (n - row) * 1000;
}

static uint64_t
two_valued(Random &random, uint64_t, uint64_t)
{
	return random.below(2) * UINT64_MAX;
}

static uint64_t
organ_pipe(Random &, uint64_t row, uint64_t n)
{
	return row < n / 2 ? row : n - row;
}

static uint64_t
zipf(Random &random, uint64_t, uint64_t)
{
	double		uniform = static_cast<double>(random.next() >> 11) * 0x1p-53;

	return static_cast<uint64_t>(1 / (uniform + 1e-6));
}

static uint64_t
few(Random &random, uint64_t, uint64_t)
{
	return random.below(100);
}

static uint64_t
pairs(Random &random, uint64_t, uint64_t n)
{
	return random.below(n / 2 + 1);
}

static uint64_t
nearly_sorted(Random &random, uint64_t row, uint64_t)
{
	return random.below(100) == 0 ? random.next() >> 32 : row;
}

/* Sorted runs one after another, as in a table filled in batches. */
static uint64_t
sawtooth(Random &, uint64_t row, uint64_t)
{
	return row % 1000;
}

/* The last key is the smallest, all others are as they should be. */
static uint64_t
rotated(Random &, uint64_t row, uint64_t n)
{
	return (row + 1) % n;
}

/* All the same but one smaller and one greater. */
static uint64_t
outliers(Random &, uint64_t row, uint64_t n)
{
	return row == n / 2 ? 41 : row == n / 3 ? 43 : 42;
}

static const struct
{
	const char *name;
	Distribution value;
}			distributions[] = {
	{"uniform", uniform},
	{"constant", constant},
	{"all ones", all_ones},
	{"sorted", sorted},
	{"reversed", reversed},
	{"two-valued", two_valued},
	{"organ pipe", organ_pipe},
	{"zipf", zipf},
	{"few", few},
	{"pairs", pairs},
	{"nearly sorted", nearly_sorted},
	{"sawtooth", sawtooth},
	{"rotated", rotated},
	{"outliers", outliers},
};

/* Keys of fixed width; each word has a distribution, the last one goes on. */
static TestKeys
fixed_keys(uint64_t nrows, uint32_t width,
		   std::vector<Distribution> values, bool mark_ties = true)
{
	TestKeys	keys;
	Random		random = {nrows * 31 + width};

	keys.shape = {width, mark_ties};
	keys.nrows = nrows;
	keys.words.reserve(nrows * width);
	for (uint64_t row = 0; row < nrows; row++)
		for (uint32_t i = 0; i < width; i++)
			keys.words.push_back(values[std::min<size_t>(i, values.size() - 1)]
								 (random, row, nrows));
	return keys;
}

/*
 * Keys of strings: their bytes, a zero byte, filled up to a word, and cut at
 * the longest key there may be.
 */
static TestKeys
string_keys(const std::vector<std::string> &strings, bool mark_ties = true)
{
	TestKeys	keys;

	keys.shape = {0, mark_ties};
	keys.nrows = strings.size();
	for (const std::string &string : strings)
	{
		size_t		nwords = std::min<size_t>(string.size() / 8 + 1,
											  KEY_MAX_WORDS);

		for (size_t i = 0; i < nwords * 8; i += 8)
		{
			uint64_t	word = 0;

			for (size_t j = i; j < i + 8; j++)
				word = word << 8 | (j < string.size() ?
									static_cast<unsigned char>(string[j]) : 0);
			keys.words.push_back(word);
		}
		keys.ends.push_back(keys.words.size());
	}
	return keys;
}

static std::string
random_text(Random &random, size_t length, unsigned letters)
{
	std::string text;

	for (size_t i = 0; i < length; i++)
		text += static_cast<char>('a' + random.below(letters));
	return text;
}

/* Running a sort. */

/* Pinned memory, as the interface wants to be pushed from. */
template <typename Element>
class PinnedArray
{
public:
	explicit PinnedArray(uint64_t count)
	{
		void	   *memory;

		if (cudaMallocHost(&memory, (count + 1) * sizeof(Element)) !=
			cudaSuccess)
		{
			fprintf(stderr, "no pinned memory\n");
			exit(2);
		}
		elements = static_cast<Element *>(memory);
	}

	PinnedArray(const PinnedArray &) = delete;
	PinnedArray &operator=(const PinnedArray &) = delete;

	~PinnedArray()
	{
		(void) cudaFreeHost(elements);
	}

	Element    *
	get() const
	{
		return elements;
	}

private:
	Element    *elements;
};

/* A chunk of keys being pushed, as in the ring of gpusortd. */
struct Chunk
{
	Chunk(uint64_t nwords, uint64_t nrows) : words(nwords), ends(nrows)
	{
	}

	PinnedArray<uint64_t> words;
	PinnedArray<uint64_t> ends;
	uint64_t	ticket = 0;
};

/* How the sorts of the tests are done. */
static DeviceAlgorithm algorithm = DEVICE_SORT_AUTO;

/*
 * Sorts the keys, pushed in batches of up to batch_rows rows through two
 * chunks that are used in turn, and pulls the order in parts.  True if all of
 * it went well; what it took of pinned memory is given back either way.
 */
static bool
sort_keys(const TestKeys &keys, uint64_t batch_rows,
		  std::vector<uint32_t> &order, DeviceError *error)
{
	uint64_t	batch_words = batch_rows * KEY_MAX_WORDS;
	Chunk		chunks[2] = {{batch_words, batch_rows},
							 {batch_words, batch_rows}};
	PinnedArray<uint32_t> part(batch_rows);
	Random		random = {keys.nrows};
	DeviceSort *sort = device_sort_begin(0, &keys.shape, algorithm, error);
	bool		good = sort != nullptr;

	order.clear();
	for (uint64_t first = 0, number = 0; good && first < keys.nrows; number++)
	{
		Chunk	   &chunk = chunks[number % 2];
		uint64_t	nrows = std::min(keys.nrows - first,
									 1 + random.below(batch_rows));
		uint64_t	begin = keys.begin(first);
		uint64_t	nwords = keys.end(first + nrows - 1) - begin;

		good = device_sort_wait_pushed(sort, chunk.ticket, error);
		if (!good)
			break;
		std::copy_n(&keys.words[begin], nwords, chunk.words.get());
		if (!keys.ends.empty())
			std::copy_n(&keys.ends[first], nrows, chunk.ends.get());
		good = device_sort_push(sort, chunk.words.get(), nwords,
								keys.ends.empty() ? nullptr : chunk.ends.get(),
								static_cast<uint32_t>(nrows), &chunk.ticket,
								error);
		first += nrows;
	}

	good = good && device_sort_run(sort, error);
	while (good && order.size() < keys.nrows)
	{
		uint64_t	count = std::min(keys.nrows - order.size(), batch_rows);

		good = device_sort_pull(sort, order.size(),
								static_cast<uint32_t>(count), part.get(),
								error);
		if (good)
			order.insert(order.end(), part.get(), part.get() + count);
	}
	device_sort_end(sort);
	return good;
}

/* Fails the test unless the order is right. */
static void
check_order(const TestKeys &keys, const std::vector<uint32_t> &order,
			const char *what)
{
	std::vector<bool> seen(keys.nrows, false);

	if (order.size() != keys.nrows)
	{
		fail("%s: %zu entries", what, order.size());
		return;
	}
	for (uint64_t i = 0; i < keys.nrows; i++)
	{
		uint32_t	row = ORDER_ROW(order[i]);
		bool		is_tie = (order[i] & ORDER_TIE) != 0;

		if (row >= keys.nrows || seen[row])
		{
			fail("%s, %llu rows: entry %llu is row %u, %s", what,
				 (unsigned long long) keys.nrows, (unsigned long long) i, row,
				 row >= keys.nrows ? "which is none" : "again");
			return;
		}
		seen[row] = true;

		int			comparison = i == 0 ? -1 :
			keys.compare(ORDER_ROW(order[i - 1]), row);

		if (comparison > 0)
		{
			fail("%s, %llu rows: entry %llu is out of order", what,
				 (unsigned long long) keys.nrows, (unsigned long long) i);
			return;
		}
		if (is_tie != (keys.shape.mark_ties && comparison == 0))
		{
			fail("%s, %llu rows: entry %llu is%s marked as a tie", what,
				 (unsigned long long) keys.nrows, (unsigned long long) i,
				 is_tie ? "" : " not");
			return;
		}
	}
}

static uint64_t most_rows = UINT64_MAX;	/* from the command line */

static void
sort_and_check(const TestKeys &keys, uint64_t batch_rows, const char *what)
{
	std::vector<uint32_t> order;
	DeviceError error;

	if (sort_keys(keys, batch_rows, order, &error))
		check_order(keys, order, what);
	else
		fail("%s: %s", what, error.text);
}

static void
sort_and_check(const TestKeys &keys, const char *what)
{
	sort_and_check(keys, std::max<uint64_t>(1000, keys.nrows / 3), what);
}

/* Sizes around each boundary, up to "most". */
static std::vector<uint64_t>
sizes(uint64_t most)
{
	std::vector<uint64_t> all = {0, 1, 2, 3, 32 * tile_rows + 5};
	std::vector<uint64_t> usable;

	for (uint64_t boundary : {tiny_leaf_rows, small_leaf_rows, medium_leaf_rows, leaf_rows,
							  2 * leaf_rows, tile_rows, 2 * tile_rows,
							  gpusort::simple_threads * 32,
							  gpusort::simple_threads * 64, 1u << 16})
		for (uint64_t size : {boundary - 1, boundary + 0, boundary + 1})
			all.push_back(size);
	std::sort(all.begin(), all.end());
	for (uint64_t size : all)
		if (size <= most && size <= most_rows)
			usable.push_back(size);
	return usable;
}

/* Large sizes: for a device, and for the emulator. */
static uint64_t
large(uint64_t device_rows, uint64_t emulator_rows)
{
#ifdef CUDA_ON_CPU
	uint64_t	rows = emulator_rows + 0 * device_rows;
#else
	uint64_t	rows = device_rows + 0 * emulator_rows;
#endif
	return std::min(rows, most_rows);
}

/* The tests. */

static void
test_sizes()
{
	for (uint64_t nrows : sizes(UINT64_MAX))
	{
		sort_and_check(fixed_keys(nrows, 1, {uniform}), "uniform");
		sort_and_check(fixed_keys(nrows, 1, {few}), "few");
		sort_and_check(fixed_keys(nrows, 2, {pairs, uniform}), "pairs");
	}
}

static void
test_distributions()
{
	for (const auto &distribution : distributions)
		for (uint64_t nrows : {large(1000, 1000), large(1 << 20, 20011)})
			sort_and_check(fixed_keys(nrows, 1, {distribution.value}),
						   distribution.name);
}

static void
test_large()
{
	sort_and_check(fixed_keys(large(10000000, 300000), 1, {uniform}, false),
				   "uniform");
	sort_and_check(fixed_keys(large(10000000, 200000), 1, {zipf}), "zipf");
}

static void
test_several_words()
{
	for (uint32_t width : {2, 3, 5, 16})
		for (const auto &distribution : distributions)
		{
			uint64_t	nrows = large(200000, 3000);

			sort_and_check(fixed_keys(nrows, width, {distribution.value}),
						   distribution.name);
			sort_and_check(fixed_keys(nrows, width,
									  {few, distribution.value}, false),
						   distribution.name);
		}
}

/* Only the last word tells. */
static void
test_common_prefix()
{
	for (uint32_t width : {2, 5, 16})
	{
		std::vector<Distribution> values(width, constant);

		values[width - 1] = uniform;
		sort_and_check(fixed_keys(large(500000, 5000), width, values),
					   "common prefix");
	}
}

/* Runs of all classes beside each other, and long ones. */
static void
test_runs()
{
	for (uint64_t most_run : {2u, tiny_leaf_rows, medium_leaf_rows, leaf_rows,
							  3 * tile_rows, 64 * tile_rows})
	{
		uint64_t	nrows = large(1 << 20, 30000);
		TestKeys	keys = fixed_keys(nrows, 2, {uniform});
		Random		random = {most_run};

		for (uint64_t row = 0; row < nrows;)
		{
			uint64_t	end = std::min(nrows, row + 1 + random.below(most_run));
			uint64_t	word = random.next();

			for (; row < end; row++)
				keys.words[row * 2] = word;
		}
		sort_and_check(keys, "runs");
	}
}

/*
 * A run over more tiles of start bits than a block looks at at once, that
 * ends before the last row.
 */
static void
test_longest_run()
{
	uint64_t	looked_at = gpusort::simple_threads *
		gpusort::simple_threads * 32;
	TestKeys	keys = fixed_keys(large(2 * looked_at, looked_at + 5000), 2,
								  {constant, few});

	for (uint64_t row = 0; row < keys.nrows; row += 50)
		keys.words[row * 2] = 43;
	sort_and_check(keys, "longest run");
}

static void test_strings();

/* Each algorithm by itself, where auto would take another one too. */
static void
test_algorithms()
{
	for (DeviceAlgorithm each : {DEVICE_SORT_QUICKSORT, DEVICE_SORT_QUICKSORT2,
								 DEVICE_SORT_RADIX, DEVICE_SORT_MERGE})
	{
		algorithm = each;
		for (const auto &distribution : distributions)
			for (uint64_t nrows : {large(1 << 20, 5003), large(50000, 300)})
			{
				sort_and_check(fixed_keys(nrows, 1, {distribution.value}),
							   distribution.name);
				sort_and_check(fixed_keys(nrows, 3,
										  {few, distribution.value}, false),
							   distribution.name);
			}
		test_strings();
	}
	algorithm = DEVICE_SORT_AUTO;
}

/* Random in the first batch, then constant, in order, and reversed. */
static uint64_t
changing_with_batch(Random &random, uint64_t row, uint64_t n)
{
	switch (row / merge_batch_rows % 4)
	{
		case 0:
			return random.next();
		case 1:
			return constant(random, row, n);
		case 2:
			return sorted(random, row, n);
		default:
			return reversed(random, row, n);
	}
}

/* Keys of the shapes that a merge compares differently. */
static std::vector<TestKeys>
keys_to_merge(uint64_t nrows)
{
	std::vector<TestKeys> all;

	for (bool mark_ties : {false, true})
	{
		std::vector<std::string> strings;
		Random		random = {nrows};

		all.push_back(fixed_keys(nrows, 1, {uniform}, mark_ties));
		all.push_back(fixed_keys(nrows, 1, {few}, mark_ties));
		all.push_back(fixed_keys(nrows, 2, {pairs, uniform}, mark_ties));
		all.push_back(fixed_keys(nrows, 2, {two_valued, pairs}, mark_ties));
		all.push_back(fixed_keys(nrows, 5, {two_valued}, mark_ties));
		all.push_back(fixed_keys(nrows, 1, {changing_with_batch}, mark_ties));
		all.push_back(fixed_keys(nrows, 2, {changing_with_batch}, mark_ties));
		for (uint64_t i = 0; i < nrows; i++)
			strings.push_back(random_text(random, random.below(30), 2));
		all.push_back(string_keys(strings, mark_ties));
	}
	return all;
}

/* Batches that are sorted while others come, and merged. */
static void
test_merge()
{
	std::vector<uint64_t> merged_rows = {merge_batch_rows + 1000};

#ifdef CUDA_ON_CPU
	merged_rows = {3 * merge_batch_rows, 11 * merge_batch_rows + 7};
	for (uint64_t boundary : {merge_batch_rows, 2 * merge_batch_rows,
							  4 * merge_batch_rows,
							  merge_batch_rows + merge_tile_rows,
							  3 * merge_batch_rows + 2 * merge_tile_rows})
		for (uint64_t nrows : {boundary - 1, boundary, boundary + 1})
			merged_rows.push_back(nrows);
#endif
	algorithm = DEVICE_SORT_MERGE;
	for (uint64_t nrows : merged_rows)
		if (nrows <= most_rows)
			for (const TestKeys &keys : keys_to_merge(nrows))
				sort_and_check(keys, "batches");

	/* Every batch in a push of its own, in many, and several in one. */
	for (uint64_t pushed : {100u, merge_batch_rows, 3 * merge_batch_rows})
		sort_and_check(fixed_keys(large(100000, 6 * merge_batch_rows + 100), 2,
								  {few, uniform}), pushed, "pushes");

	for (const auto &distribution : distributions)
		for (bool mark_ties : {false, true})
		{
			uint64_t	nrows = large(3 * merge_batch_rows / 2,
									  5 * merge_batch_rows / 2);

			sort_and_check(fixed_keys(nrows, 1, {distribution.value},
									  mark_ties), distribution.name);
			sort_and_check(fixed_keys(nrows, 2, {few, distribution.value},
									  mark_ties), distribution.name);
		}
	algorithm = DEVICE_SORT_AUTO;
}

static void
test_without_ties()
{
	for (uint32_t width : {1, 2, 3})
	{
		sort_and_check(fixed_keys(large(100000, 5000), width, {few}, false),
					   "few");
		sort_and_check(fixed_keys(large(100000, 5000), width, {pairs}, false),
					   "pairs");
	}
}

static void
test_strings()
{
	Random		random = {1};
	std::string prefix = "https://www.example.org/some/long/path/that/all/have/";

	for (unsigned letters : {1, 2, 26})
		for (size_t longest : {1, 8, 20, 200})
			for (bool has_prefix : {false, true})
			{
				std::vector<std::string> strings;

				for (uint64_t i = large(100000, 3000); i > 0; i--)
					strings.push_back((has_prefix ? prefix : "") +
									  random_text(random,
												  random.below(longest + 1),
												  letters));
				sort_and_check(string_keys(strings), "strings");
			}
}

/* Strings that differ only beyond the longest key. */
static void
test_cut_strings()
{
	Random		random = {2};

	for (size_t common : {100, 120, 127, 128, 140})
	{
		std::vector<std::string> strings;

		for (uint64_t i = large(50000, 3000); i > 0; i--)
			strings.push_back(std::string(common - random.below(2), 'x') +
							  random_text(random, random.below(40), 2));
		sort_and_check(string_keys(strings), "cut strings");
	}
}

static void
test_equal_strings()
{
	std::vector<std::string> strings(large(100000, 5000),
									 "the same for all of them");

	sort_and_check(string_keys(strings), "equal strings");
	sort_and_check(string_keys(strings, false), "equal strings, unmarked");
}

static void
test_batches()
{
	TestKeys	fixed = fixed_keys(large(50000, 5000), 3, {few});
	std::vector<std::string> strings;
	Random		random = {3};

	for (uint64_t i = large(50000, 5000); i > 0; i--)
		strings.push_back(random_text(random, random.below(60), 3));
	for (uint64_t batch_rows : {7, 100, 3000})
	{
		sort_and_check(fixed, batch_rows, "fixed keys in batches");
		sort_and_check(string_keys(strings), batch_rows, "strings in batches");
	}
}

static void
test_concurrent_jobs()
{
	constexpr unsigned jobs = 4;
	TestKeys	keys[jobs];
	std::vector<uint32_t> orders[jobs];
	DeviceError errors[jobs];
	bool		good[jobs];
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < jobs; i++)
	{
		keys[i] = fixed_keys(large(300000, 5000) + i, 1 + i, {few, uniform});
		threads.emplace_back([&, i] {
			good[i] = sort_keys(keys[i], 1000, orders[i], &errors[i]);
		});
	}
	for (std::thread &thread : threads)
		thread.join();
	for (unsigned i = 0; i < jobs; i++)
	{
		CHECK(good[i], "%s", errors[i].text);
		if (good[i])
			check_order(keys[i], orders[i], "a concurrent job");
	}
}

/* Random shapes, sizes and distributions. */
static void
test_mixture()
{
	Random		random = {4};

	for (unsigned i = 0; i < 60; i++)
	{
		std::vector<Distribution> values;
		uint32_t	width = static_cast<uint32_t>(1 + random.below(4));
		uint64_t	nrows = random.below(large(300000, 4000) + 1);

		for (uint32_t j = 0; j < width; j++)
			values.push_back(distributions[random.below(
				sizeof(distributions) / sizeof(distributions[0]))].value);
		sort_and_check(fixed_keys(nrows, width, values, random.below(2) != 0),
					   "mixture");
	}
}

/* Bad use, and keys whose ends are wrong. */
static void
test_refusals()
{
	TestKeys	keys = fixed_keys(100, 2, {uniform});
	PinnedArray<uint64_t> words(200);
	PinnedArray<uint64_t> ends(100);
	PinnedArray<uint32_t> order(100);
	KeyShape	variable = {0, true};
	DeviceError error;
	uint64_t	ticket;
	DeviceSort *sort;

	CHECK(device_sort_begin(77, &keys.shape, DEVICE_SORT_AUTO, &error) ==
		  nullptr && error.text[0] != '\0', "a device that is none");
	CHECK(device_sort_begin(0, &keys.shape,
							static_cast<DeviceAlgorithm>(77), &error) ==
		  nullptr, "an algorithm that is none");

	sort = device_sort_begin(0, &keys.shape, DEVICE_SORT_QUICKSORT2, &error);
	CHECK(sort != nullptr, "%s", error.text);
	std::copy(keys.words.begin(), keys.words.end(), words.get());
	CHECK(!device_sort_push(sort, words.get(), 199, nullptr, 100, &ticket,
							&error), "a wrong number of words");
	CHECK(device_sort_push(sort, words.get(), 200, nullptr, 100, &ticket,
						   &error), "%s", error.text);
	CHECK(!device_sort_wait_pushed(sort, ticket + 1, &error),
		  "waiting for a push to come");
	CHECK(!device_sort_pull(sort, 0, 1, order.get(), &error),
		  "pulling before the sort");
	CHECK(device_sort_run(sort, &error), "%s", error.text);
	CHECK(!device_sort_pull(sort, 1, 100, order.get(), &error),
		  "pulling too much");
	CHECK(device_sort_pull(sort, 100, 0, order.get(), &error), "%s",
		  error.text);
	CHECK(!device_sort_push(sort, words.get(), 200, nullptr, 100, &ticket,
							&error), "a push after the sort");
	CHECK(!device_sort_run(sort, &error), "a second sort");
	device_sort_end(sort);

	for (int way = 0; way < 4; way++)
	{
		for (unsigned i = 0; i < 100; i++)
			ends.get()[i] = 2 * i + 2;
		if (way == 0)
			ends.get()[50] = ends.get()[49];
		if (way == 1)
			ends.get()[50] = UINT64_MAX;
		if (way == 2)
			ends.get()[99] = 199;
		if (way == 3)
			ends.get()[50] = 0;
		sort = device_sort_begin(0, &variable, DEVICE_SORT_AUTO, &error);
		CHECK(device_sort_push(sort, words.get(), 200, ends.get(), 100,
							   &ticket, &error), "%s", error.text);
		CHECK(!device_sort_run(sort, &error) &&
			  strstr(error.text, "do not end") != nullptr,
			  "wrong ends were not noticed");
		CHECK(!device_sort_pull(sort, 0, 1, order.get(), &error),
			  "pulling after a failure");
		device_sort_end(sort);
	}

	/* A job that is ended with its pushes under way, and none at all. */
	sort = device_sort_begin(0, &keys.shape, DEVICE_SORT_AUTO, &error);
	CHECK(device_sort_push(sort, words.get(), 200, nullptr, 100, &ticket,
						   &error), "%s", error.text);
	device_sort_end(sort);
	device_sort_end(nullptr);
	CHECK(!device_is_lost(), "the device is called lost");
}

static void
test_device()
{
	DeviceError error = {""};
	DeviceInfo	info;
	std::vector<unsigned char> memory(10000);

	CHECK(device_count(&error) >= 1, "%s", error.text);
	CHECK(device_describe(0, &info, &error), "%s", error.text);
	CHECK(info.usable, "%s: %s", info.name, info.reason);
	CHECK(info.memory_bytes > 0 && info.capability_major > 0 &&
		  info.driver_version > 0, "device 0 is not described");
	CHECK(!device_describe(77, &info, &error), "a device that is none");
	CHECK(device_start(0, &error), "%s", error.text);
	CHECK(device_pin(memory.data(), memory.size(), &error), "%s", error.text);
	device_unpin(memory.data());
}

#ifdef CUDA_ON_CPU

/* Does a test with each way that a job goes through its memory. */
static void
with_and_without_batches(void (*test) ())
{
	test();
	algorithm = DEVICE_SORT_MERGE;
	test();
	algorithm = DEVICE_SORT_AUTO;
}

static void
check_nothing_left(const char *what)
{
	cuda_on_cpu::Usage usage = cuda_on_cpu::usage();

	CHECK(usage.bytes == 0 && usage.allocations == 0 && usage.streams == 0 &&
		  usage.events == 0,
		  "%s: left are %llu bytes in %u allocations, %u streams, %u events",
		  what, (unsigned long long) usage.bytes, usage.allocations,
		  usage.streams, usage.events);
}

static void
test_no_device()
{
	DeviceError error = {""};
	KeyShape	shape = {1, false};

	cuda_on_cpu::set_device_present(false);
	CHECK(device_count(&error) == 0 && error.text[0] != '\0',
		  "devices where there are none");
	CHECK(device_sort_begin(0, &shape, DEVICE_SORT_AUTO, &error) == nullptr &&
		  strstr(error.text, "no CUDA-capable device") != nullptr,
		  "a sort without a device: %s", error.text);
	CHECK(!device_is_lost(), "no device is called a lost one");
	cuda_on_cpu::set_device_present(true);
}

/* Lets each call of a few sorts fail in turn. */
static void
fail_calls()
{
	std::vector<TestKeys> cases;
	std::vector<std::string> strings;
	Random		random = {5};

	cases.push_back(fixed_keys(3 * tile_rows, 2, {few, uniform}));
	for (unsigned i = 0; i < 2 * tile_rows; i++)
		strings.push_back(random_text(random, random.below(30), 2));
	cases.push_back(string_keys(strings));

	for (const TestKeys &keys : cases)
		for (uint64_t nth = 1;; nth++)
		{
			/*
			 * Pinned memory is not the interface's: as much of it as
			 * sort_keys() takes is left to succeed.
			 */
			constexpr unsigned pinned_calls = 5;
			std::vector<uint32_t> order;
			DeviceError error = {""};
			bool		was_reached;

			cuda_on_cpu::fail_call(nth + pinned_calls,
								   cudaErrorMemoryAllocation);
			if (sort_keys(keys, 500, order, &error))
				check_order(keys, order, "a call failed that does not matter");
			else
				CHECK(strstr(error.text, ": out of memory") != nullptr,
					  "call %llu: %s", (unsigned long long) nth, error.text);
			was_reached = cuda_on_cpu::calls_made() >= nth + pinned_calls;
			cuda_on_cpu::fail_call(0, cudaSuccess);
			check_nothing_left("after a failed call");
			if (!was_reached)
			{
				CHECK(error.text[0] == '\0', "%s", error.text);
				CHECK(nth > 50, "only %llu calls", (unsigned long long) nth);
				break;
			}
		}
	CHECK(!device_is_lost(), "ordinary failures lost the device");
}

/* Must be the first to use the device, so that making it ready fails too. */
static void
test_failing_calls()
{
	with_and_without_batches(fail_calls);
}

/* Sorts with too little memory, more of it each time. */
static void
exhaust_memory()
{
	TestKeys	keys = fixed_keys(5000, 3, {few});
	uint64_t	bound = device_sort_memory(&keys.shape, keys.nrows,
										   keys.words.size());
	unsigned	refused = 0;

	for (uint64_t limit = 1; limit < bound; limit += bound / 40)
	{
		std::vector<uint32_t> order;
		DeviceError error;

		cuda_on_cpu::limit_memory(limit);
		if (sort_keys(keys, 1000, order, &error))
			check_order(keys, order, "little memory");
		else
		{
			CHECK(strstr(error.text, ": out of memory") != nullptr, "%s",
				  error.text);
			refused++;
		}
		check_nothing_left("after memory ran out");
	}
	CHECK(refused > 30, "memory was enough %u times", 40 - refused);

	cuda_on_cpu::limit_memory(bound);
	sort_and_check(keys, "just enough memory");
	cuda_on_cpu::limit_memory(UINT64_MAX);
}

static void
test_memory_exhaustion()
{
	with_and_without_batches(exhaust_memory);
}

/* What jobs take is never more than device_sort_memory() says. */
static void
check_memory_bound()
{
	Random		random = {6};

	for (uint64_t nrows : sizes(10000))
		for (uint32_t width : {0, 1, 3})
		{
			TestKeys	keys;

			if (width != 0)
				keys = fixed_keys(nrows, width, {few});
			else
			{
				std::vector<std::string> strings;

				for (uint64_t i = 0; i < nrows; i++)
					strings.push_back(random_text(random, random.below(40),
												  3));
				keys = string_keys(strings);
			}

			uint64_t	bound = device_sort_memory(&keys.shape, nrows,
												   keys.words.size());

			cuda_on_cpu::reset_peak();
			sort_and_check(keys, "the bound of memory");
			CHECK(cuda_on_cpu::usage().peak_bytes <= bound,
				  "%llu rows of width %u take %llu bytes, not %llu",
				  (unsigned long long) nrows, width,
				  (unsigned long long) cuda_on_cpu::usage().peak_bytes,
				  (unsigned long long) bound);
			CHECK(nrows < 1000 ||
				  cuda_on_cpu::usage().peak_bytes > bound - bound / 8,
				  "the bound is far off");
		}
}

static void
test_memory_bound()
{
	uint64_t	before = 0;

	with_and_without_batches(check_memory_bound);

	/* Monotonic in rows and in words. */
	for (uint64_t nrows = 0; nrows < 10000; nrows += 37)
	{
		KeyShape	shape = {0, true};
		uint64_t	bound = device_sort_memory(&shape, nrows, 2 * nrows);

		CHECK(bound >= before, "the bound falls at %llu rows",
			  (unsigned long long) nrows);
		CHECK(device_sort_memory(&shape, nrows, 3 * nrows) >= bound,
			  "the bound falls with more words");
		before = bound;
	}
}

/* A job that has run keeps its order and nothing else. */
static void
test_memory_after_run()
{
	TestKeys	keys = fixed_keys(5000, 3, {few});
	PinnedArray<uint64_t> words(keys.words.size());
	DeviceError error = {""};
	DeviceSort *sort = device_sort_begin(0, &keys.shape, DEVICE_SORT_AUTO,
										 &error);
	uint64_t	ticket;
	uint64_t	kept;

	std::copy(keys.words.begin(), keys.words.end(), words.get());
	CHECK(sort != nullptr &&
		  device_sort_push(sort, words.get(), keys.words.size(), nullptr,
						   static_cast<uint32_t>(keys.nrows), &ticket,
						   &error) &&
		  device_sort_run(sort, &error), "%s", error.text);
	kept = cuda_on_cpu::usage().bytes;
	CHECK(kept >= keys.nrows * sizeof(uint32_t) &&
		  kept < keys.nrows * sizeof(uint32_t) + 256,
		  "%llu bytes are kept for the order of %llu rows",
		  (unsigned long long) kept, (unsigned long long) keys.nrows);
	device_sort_end(sort);
}

/* The last test: nothing works any more after it. */
static void
test_lost_context()
{
	KeyShape	shape = {1, false};
	DeviceError error = {""};
	DeviceSort *sort = device_sort_begin(0, &shape, DEVICE_SORT_AUTO, &error);
	PinnedArray<uint64_t> words(1);
	uint64_t	ticket;

	words.get()[0] = 1;
	CHECK(device_sort_push(sort, words.get(), 1, nullptr, 1, &ticket, &error),
		  "%s", error.text);
	cuda_on_cpu::lose_context(cudaErrorIllegalAddress);
	CHECK(!device_sort_run(sort, &error) &&
		  strstr(error.text, "illegal memory access") != nullptr, "%s",
		  error.text);
	CHECK(device_is_lost(), "the device is not called lost");
	device_sort_end(sort);
	check_nothing_left("after the context was lost");
}

#else							/* on a device */

static double
milliseconds_since(std::chrono::steady_clock::time_point start)
{
	return std::chrono::duration<double, std::milli>(
		std::chrono::steady_clock::now() - start).count();
}

static double
median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

constexpr unsigned repeats = 7;

/* CUB's radix sort of the same keys, by the device's clock. */
static double
time_cub(const TestKeys &keys)
{
	uint64_t	n = keys.nrows;
	uint64_t   *in = nullptr;
	uint64_t   *out = nullptr;
	uint32_t   *rows_in = nullptr;
	uint32_t   *rows_out = nullptr;
	void	   *scratch = nullptr;
	size_t		scratch_bytes = 0;
	cudaEvent_t begin;
	cudaEvent_t end;
	std::vector<double> times;

	cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, in, out, rows_in,
									rows_out, n);
	if (cudaMalloc(&in, n * 8) != cudaSuccess ||
		cudaMalloc(&out, n * 8) != cudaSuccess ||
		cudaMalloc(&rows_in, n * 4) != cudaSuccess ||
		cudaMalloc(&rows_out, n * 4) != cudaSuccess ||
		cudaMalloc(&scratch, scratch_bytes) != cudaSuccess ||
		cudaMemcpy(in, keys.words.data(), n * 8, cudaMemcpyHostToDevice) !=
		cudaSuccess ||
		cudaMemset(rows_in, 0, n * 4) != cudaSuccess)
		return NAN;
	cudaEventCreate(&begin);
	cudaEventCreate(&end);
	for (unsigned i = 0; i < repeats; i++)
	{
		float		time = 0;

		cudaEventRecord(begin);
		cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, in, out,
										rows_in, rows_out, n);
		cudaEventRecord(end);
		cudaEventSynchronize(end);
		cudaEventElapsedTime(&time, begin, end);
		times.push_back(time);
	}
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
	for (void *memory : {static_cast<void *>(in), static_cast<void *>(out),
						 static_cast<void *>(rows_in),
						 static_cast<void *>(rows_out), scratch})
		cudaFree(memory);
	return cudaGetLastError() == cudaSuccess ? median(times) : NAN;
}

/*
 * Times run() and the whole job by the host's clock, medians, and checks the
 * last order.
 */
static void
time_sort(const char *name, const TestKeys &keys)
{
	uint64_t	n = keys.nrows;
	PinnedArray<uint64_t> words(keys.words.size());
	PinnedArray<uint64_t> ends(keys.ends.size());
	PinnedArray<uint32_t> order(n);
	std::vector<double> run_times;
	std::vector<double> job_times;
	DeviceError error = {""};
	bool		good = true;

	std::copy(keys.words.begin(), keys.words.end(), words.get());
	std::copy(keys.ends.begin(), keys.ends.end(), ends.get());
	for (unsigned i = 0; i <= repeats && good; i++)
	{
		auto		job_start = std::chrono::steady_clock::now();
		DeviceSort *sort = device_sort_begin(0, &keys.shape, DEVICE_SORT_AUTO,
											 &error);
		uint64_t	ticket;

		good = sort != nullptr &&
			device_sort_push(sort, words.get(), keys.words.size(), ends.get(),
							 static_cast<uint32_t>(n), &ticket, &error) &&
			device_sort_wait_pushed(sort, ticket, &error);

		auto		run_start = std::chrono::steady_clock::now();

		good = good && device_sort_run(sort, &error);
		double		run_time = milliseconds_since(run_start);

		good = good && device_sort_pull(sort, 0, static_cast<uint32_t>(n),
										order.get(), &error);
		device_sort_end(sort);

		/* The first is for warming up. */
		if (i > 0)
		{
			run_times.push_back(run_time);
			job_times.push_back(milliseconds_since(job_start));
		}
	}
	if (!good)
	{
		fail("%s: %s", name, error.text);
		return;
	}
	check_order(keys, std::vector<uint32_t>(order.get(), order.get() + n),
				name);

	double		run_time = median(run_times);
	double		cub_time = keys.shape.fixed_words == 1 ? time_cub(keys) : NAN;

	printf("%-24s %10llu %10.3f %10.3f %10.3f %8.2f %10.3f\n", name,
		   (unsigned long long) n, run_time,
		   *std::min_element(run_times.begin(), run_times.end()),
		   *std::max_element(run_times.begin(), run_times.end()),
		   static_cast<double>(n) / run_time / 1e6, median(job_times));
	if (!std::isnan(cub_time))
		printf("%-24s %10llu %10.3f %21s %8.2f\n", "  CUB radix sort",
			   (unsigned long long) n, cub_time, "",
			   static_cast<double>(n) / cub_time / 1e6);
	fflush(stdout);
}

static void
time_sorts(const std::vector<uint64_t> &row_counts)
{
	uint64_t	n = row_counts.back();

	printf("%-24s %10s %10s %10s %10s %8s %10s\n", "keys", "rows", "run ms",
		   "fastest", "slowest", "Grow/s", "job ms");
	for (uint64_t rows : row_counts)
		time_sort("uniform", fixed_keys(rows, 1, {uniform}, false));

	n = std::min<uint64_t>(n, 10000000);
	for (const auto &distribution : distributions)
		if (distribution.value != uniform)
			time_sort(distribution.name,
					  fixed_keys(n, 1, {distribution.value}, false));
	time_sort("uniform, ties marked", fixed_keys(n, 1, {uniform}));
	time_sort("2 words, uniform", fixed_keys(n, 2, {uniform}, false));
	time_sort("2 words, few, uniform", fixed_keys(n, 2, {few, uniform}, false));
	time_sort("2 words, pairs, uniform",
			  fixed_keys(n, 2, {pairs, uniform}, false));
	time_sort("4 words, uniform", fixed_keys(n, 4, {uniform}, false));

	std::vector<std::string> strings;
	Random		random = {7};

	for (uint64_t i = 0; i < n; i++)
		strings.push_back(random_text(random, 4 + random.below(24), 4));
	time_sort("strings", string_keys(strings));
}

#endif

int
main(int argc, char **argv)
{
#ifndef CUDA_ON_CPU
	if (argc > 1 && strcmp(argv[1], "times") == 0)
	{
		std::vector<uint64_t> row_counts;

		for (int i = 2; i < argc; i++)
			row_counts.push_back(strtoull(argv[i], nullptr, 10));
		if (row_counts.empty())
			row_counts = {100000, 1000000, 10000000, 100000000};
		time_sorts(row_counts);
		return test_failed ? 1 : 0;
	}
#endif
	if (argc > 2)
		most_rows = strtoull(argv[2], nullptr, 10);

#ifdef CUDA_ON_CPU
	run_test("no device", test_no_device);
	run_test("failing calls", test_failing_calls);
#endif
	run_test("device", test_device);
	run_test("sizes", test_sizes);
	run_test("distributions", test_distributions);
	run_test("large", test_large);
	run_test("several words", test_several_words);
	run_test("common prefix", test_common_prefix);
	run_test("runs", test_runs);
	run_test("longest run", test_longest_run);
	run_test("algorithms", test_algorithms);
	run_test("merge", test_merge);
	run_test("without ties", test_without_ties);
	run_test("strings", test_strings);
	run_test("cut strings", test_cut_strings);
	run_test("equal strings", test_equal_strings);
	run_test("batches", test_batches);
	run_test("concurrent jobs", test_concurrent_jobs);
	run_test("mixture", test_mixture);
	run_test("refusals", test_refusals);
#ifdef CUDA_ON_CPU
	run_test("memory exhaustion", test_memory_exhaustion);
	run_test("memory bound", test_memory_bound);
	run_test("memory after run", test_memory_after_run);
	check_nothing_left("at the end");
	run_test("lost context", test_lost_context);
#endif
	return failed_tests == 0 ? 0 : 1;
}
