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
 *		device_sort_test tests ROWS		those with up to ROWS rows
 *		device_sort_test soak JOBS [SEED]	this number of random jobs
 *		device_sort_test times [ROWS..]	times of sorts (device only), with ROWS
 *										only of uniform keys
 *
 *-------------------------------------------------------------------------
 */
#include <cstring>
#include <ctime>
#include <thread>

#define TEST_SUBJECT	"kernels"
#include "../../kernels/splitters.cuh"
#include "device_sort_tests.h"
#include "test_sort.h"

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
		for (uint64_t nrows : {large(20000, 60), large(100000, 400),
							   large(1000, 1000), large(200000, 2003),
							   large(gpusort::few_rows + 1, 20011)})
			sort_and_check(fixed_keys(nrows, 1, {distribution.value}),
						   distribution.name);
}

static void
test_large()
{
	sort_and_check(fixed_keys(large(10000000, 300000), 1, {uniform}, false),
				   "uniform");
	sort_and_check(fixed_keys(large(10000000, 200000), 1, {zipf}), "zipf");
	sort_and_check(fixed_keys(large(10000000, 200000), 1, {uniform_4_bytes}),
				   "uniform, 4 bytes");
}

/* Keys of which all but the sampled ones lie between two splitters. */
static TestKeys
misleading_keys(uint64_t nrows, unsigned samples, bool mark_ties)
{
	TestKeys	keys = fixed_keys(nrows, 1, {pairs}, mark_ties);
	gpusort::Segment whole = {0, static_cast<uint32_t>(nrows), 0, 0, 0};
	Random		random = {nrows};

	for (uint64_t &word : keys.words)
		word += UINT64_C(1) << 63;
	for (unsigned sample = 0; sample < samples; sample++)
		keys.words[gpusort::sample_place(whole, sample, samples)] =
			random.next();
	return keys;
}

/*
 * The sort needs more levels than it expects, or gives up if it is in one
 * launch: by ranges on a device, and by the device together on the emulator.
 */
static void
test_misleading_samples()
{
	for (bool mark_ties : {false, true})
	{
		for (uint64_t nrows : {large(100000, 1000), large(1000000, 2500),
							   large(3000000, 20000)})
		{
			unsigned	samples = gpusort::samples_per_bucket <<
				gpusort::choose_log_buckets(static_cast<uint32_t>(nrows));

			sort_and_check(misleading_keys(nrows, samples, mark_ties),
						   "misleading samples");
		}
		sort_and_check(misleading_keys(large(20000, 500), large(160, 128),
									   mark_ties),
					   "misleading samples of few rows");
	}
}

/*
 * One word in a quarter or more of few rows: the last in the order, which may
 * have a range of its own where there are only two.  On a device there may be
 * more of it than a block can gather.
 */
static void
test_frequent_word()
{
	for (uint64_t nrows : {large(30000, 64), large(20000, 50)})
		for (unsigned rare : {2, 4, 8, 12})
			for (bool mark_ties : {false, true})
			{
				TestKeys	keys = fixed_keys(nrows, 1, {uniform}, mark_ties);
				Random		random = {nrows + rare};

				for (uint64_t &word : keys.words)
					if (random.below(16) >= rare)
						word = UINT64_MAX;
				sort_and_check(keys, "frequent word");
				CHECK(strcmp(method, "quicksort") == 0, "%s", method);
			}
}

/*
 * The survey may guess the varying bits of these keys from a sample: some bits
 * anywhere in the word, with and without gaps.  More bits, above or below,
 * vary in all rows but those of the sample.
 */
static void
test_windows()
{
	for (unsigned shift : {0, 1, 13, 31, 32, 33, 48})
		for (uint64_t bits : {UINT64_C(0xff), UINT64_C(0x1ff), UINT64_C(0xfff0),
							  UINT64_C(0x3ffff), UINT64_C(0xffffff),
							  UINT64_C(0x7ffffff), UINT64_C(0xffffffff),
							  UINT64_C(0xf00f00ff), UINT64_C(0x1ffffffff)})
			for (uint64_t surprise : {UINT64_C(0), UINT64_C(1), UINT64_C(2),
									  UINT64_C(0xfff) << 45})
			{
				uint64_t	nrows = large(50000, 3001 + shift % 2 * 1071);
				Random		random = {shift + bits + surprise};
				TestKeys	keys = fixed_keys(nrows, 1, {constant},
											  surprise == 0);

				for (uint64_t &word : keys.words)
					word = UINT64_C(0x123456789abcdef0) ^
						(random.next() & bits) << shift ^
						(random.next() & surprise);
				for (uint64_t i = 0; i < gpusort::simple_threads; i++)
					keys.words[nrows * i / gpusort::simple_threads] &=
						~surprise;
				algorithm = DEVICE_SORT_RADIX;
				sort_and_check(keys, "window");
			}
	algorithm = DEVICE_SORT_AUTO;
}

/*
 * Keys that one launch could sort go to the radix sort if few bits seem to vary in
 * them and nobody asks for ties.  The seeming is of 64 keys, the others may differ.
 */
static void
test_narrow_keys()
{
	const struct
	{
		uint64_t	bits;		/* that vary */
		uint64_t	surprise;	/* those that vary elsewhere */
		bool		mark_ties;
		const char *method;
	}			cases[] = {
		{UINT64_C(0xffffffff), 0, false, "radix sort"},
		{UINT64_C(0x7ffffff) << 32, 0, false, "radix sort"},
		{UINT64_C(0x7ffffff) << 32, 0, true, "quicksort"},
		{UINT64_C(0x1ffffffff), 0, false, "quicksort"},
		{UINT64_C(0xffff), UINT64_C(0xffff) << 40, false, "quicksort"},
		{0, 0, false, "none, keys in order"},
	};

	for (const auto &each : cases)
	{
		uint64_t	nrows = gpusort::most_narrow_joint_rows + 100;
		Random		random = {each.bits + each.surprise};
		TestKeys	keys = fixed_keys(nrows, 1, {constant}, each.mark_ties);
		std::vector<uint32_t> order;
		DeviceError error = {};

		for (uint64_t &word : keys.words)
			word = random.next() & (each.bits | each.surprise);
		for (uint64_t i = 0; i < gpusort::pushed_samples; i++)
			keys.words[nrows * i / gpusort::pushed_samples] &= ~each.surprise;
		CHECK(sort_keys(keys, nrows, order, &error), "%s", error.text);
		(void) check_order(keys, order, "narrow keys");
		CHECK(strcmp(method, each.method) == 0, "%s, not %s", method,
			  each.method);
	}
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

/*
 * Keys in order, or in the opposite order, except for two neighbours: the
 * survey sees them anywhere.  Also checks that one of two equal neighbours is
 * a tie.
 */
static void
test_one_exception()
{
	constexpr uint64_t tile = gpusort::survey_tile_rows;
	constexpr uint64_t warp = gpusort::survey_words * gpusort::warp_threads;

	for (uint64_t row : {UINT64_C(1), UINT64_C(2), UINT64_C(3), UINT64_C(63),
						 UINT64_C(64), UINT64_C(65), warp - 1, warp, warp + 1,
						 tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 5})
		for (bool is_reversed : {false, true})
		{
			TestKeys	keys = fixed_keys(2 * tile + 6, 1, {sorted});

			if (is_reversed)
				std::reverse(keys.words.begin(), keys.words.end());
			std::swap(keys.words[row - 1], keys.words[row]);
			sort_and_check(keys, "one exception");
			CHECK(strcmp(method, "none, keys in order") != 0,
				  "an exception at %llu is not seen", (unsigned long long) row);

			std::swap(keys.words[row - 1], keys.words[row]);
			keys.words[row] = keys.words[row - 1];
			sort_and_check(keys, "one repetition");
			CHECK(strcmp(method, "none, keys in order") == 0,
				  "a repetition at %llu is taken for an exception",
				  (unsigned long long) row);
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

/* Tie groups of all classes beside each other, and long ones. */
static void
test_tie_groups()
{
	for (uint64_t longest : {2u, tiny_leaf_rows, medium_leaf_rows, leaf_rows,
							  3 * tile_rows, 64 * tile_rows})
	{
		uint64_t	nrows = large(1 << 20, 30000);
		TestKeys	keys = fixed_keys(nrows, 2, {uniform});
		Random		random = {longest};

		for (uint64_t row = 0; row < nrows;)
		{
			uint64_t	end = std::min(nrows, row + 1 + random.below(longest));
			uint64_t	word = random.next();

			for (; row < end; row++)
				keys.words[row * 2] = word;
		}
		sort_and_check(keys, "tie groups");
	}
}

/*
 * A tie group over more tiles of start bits than a block reads at once, that
 * ends before the last row.
 */
static void
test_longest_tie_group()
{
	uint64_t	read = gpusort::simple_threads *
		gpusort::simple_threads * 32;
	TestKeys	keys = fixed_keys(large(2 * read, read + 5000), 2,
								  {constant, few});

	for (uint64_t row = 0; row < keys.nrows; row += 50)
		keys.words[row * 2] = 43;
	sort_and_check(keys, "longest tie group");
}

static void test_strings();

/* Each algorithm by itself, also where auto would take another one. */
static void
test_algorithms()
{
	for (const auto &each : algorithms)
	{
		if (each.number == DEVICE_SORT_AUTO)
			continue;
		algorithm = each.number;
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

/* Sorts in place around the sizes of its parts, and of all shapes. */
static void
test_in_place()
{
	std::vector<uint64_t> all = {0, 1, 2, 3, large(1 << 20, 5000)};
	Random		random = {8};

	for (uint64_t parts : {1, 2, 4, 32})
		for (uint64_t size : {(parts << gpusort::part_bits) - 1,
							  (parts << gpusort::part_bits) + 0,
							  (parts << gpusort::part_bits) + 1})
			all.push_back(std::min(size, most_rows));

	algorithm = DEVICE_SORT_BITONIC;
	for (uint64_t nrows : all)
	{
		std::vector<std::string> strings;

		for (uint64_t i = 0; i < nrows; i++)
			strings.push_back(random_text(random, random.below(30), 3));
		sort_and_check(string_keys(strings, nrows % 2 != 0), "strings");
		sort_and_check(fixed_keys(nrows, 1, {uniform}, false), "uniform");
		sort_and_check(fixed_keys(nrows, 1, {few}), "few");
		sort_and_check(fixed_keys(nrows, 2, {pairs, uniform}), "pairs");
		sort_and_check(fixed_keys(nrows, 5, {few, few, uniform}, false),
					   "several words");
	}
	algorithm = DEVICE_SORT_AUTO;
}

/*
 * Rows with equal keys stay in order where a sort in place is made, whether
 * their working words say so or the words beyond.
 */
static void
test_order_of_equal_keys()
{
	algorithm = DEVICE_SORT_BITONIC;
	for (uint32_t width : {1, 2, 5})
		for (Distribution value : {few, two_valued, zipf})
		{
			TestKeys	keys = fixed_keys(large(100000, 3000), width, {value});
			std::vector<uint32_t> order;
			DeviceError error;

			CHECK(sort_keys(keys, keys.nrows, order, &error), "%s",
				  error.text);
			for (size_t i = 1; i < order.size(); i++)
				CHECK((order[i] & ORDER_TIE) == 0 ||
					  ORDER_ROW(order[i - 1]) < ORDER_ROW(order[i]),
					  "entry %zu is before an equal one", i);
		}
	algorithm = DEVICE_SORT_AUTO;
}

/*
 * Keys that are kept, of all shapes: those of a working word that has bits of
 * the first word only, of others only, or of both, and no varying bits at all.
 */
static void
test_kept_keys()
{
	keeps_keys = true;
	for (const auto &each : algorithms)
	{
		algorithm = each.number;
		for (uint64_t nrows : {UINT64_C(0), UINT64_C(1), UINT64_C(2),
							   large(100000, 3000)})
		{
			std::vector<std::string> strings;
			Random		random = {nrows};

			for (uint64_t i = 0; i < nrows; i++)
				strings.push_back(random_text(random, random.below(60), 3));
			sort_and_check(string_keys(strings), "strings");
			for (const auto &distribution : distributions)
				sort_and_check(fixed_keys(nrows, 1, {distribution.value}),
							   distribution.name);
			for (uint32_t width : {2, 5, 16})
			{
				sort_and_check(fixed_keys(nrows, width, {few, uniform}),
							   "few, uniform");
				sort_and_check(fixed_keys(nrows, width, {uniform, few}),
							   "uniform, few");
				sort_and_check(fixed_keys(nrows, width, {constant, pairs}),
							   "constant, pairs");
				sort_and_check(fixed_keys(nrows, width, {few}), "few");
			}
		}
	}
	algorithm = DEVICE_SORT_AUTO;
	keeps_keys = false;
}

/* Sorts that may use less memory than they would like. */
static void
test_short_memory()
{
	TestKeys	keys = fixed_keys(large(100000, 5000), 2, {few, uniform});
	uint64_t	full = device_sort_memory(&keys.shape, keys.nrows,
										  keys.words.size());
	uint64_t	in_place = device_sort_memory_in_place(&keys.shape, keys.nrows,
													   keys.words.size());
	std::vector<uint32_t> order;
	DeviceError error;

	for (uint64_t allowed : {in_place, full - 1, full})
	{
		memory = allowed;
		sort_and_check(keys, "short memory");
		CHECK((strcmp(method, "bitonic sort, in place") == 0) ==
			  (allowed < full), "with %llu bytes it is %s",
			  (unsigned long long) allowed, method);
	}
	memory = in_place - 1;
	CHECK(!sort_keys(keys, 1000, order, &error) &&
		  strstr(error.text, "more memory than it may use") != nullptr,
		  "a sort in less memory than it needs");
	memory = UINT64_MAX;
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
test_truncated_strings()
{
	Random		random = {2};

	for (size_t common : {100, 120, 127, 128, 140})
	{
		std::vector<std::string> strings;

		for (uint64_t i = large(50000, 3000); i > 0; i--)
			strings.push_back(std::string(common - random.below(2), 'x') +
							  random_text(random, random.below(40), 2));
		sort_and_check(string_keys(strings), "truncated strings");
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
			(void) check_order(keys[i], orders[i], "a concurrent job");
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

	sort = device_sort_begin(0, &keys.shape, DEVICE_SORT_QUICKSORT, &error);
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
	CHECK(device_sort_perform(sort, UINT64_MAX, &error), "%s", error.text);
	CHECK(!device_sort_pull(sort, 1, 100, order.get(), &error),
		  "pulling too much");
	CHECK(device_sort_pull(sort, 100, 0, order.get(), &error), "%s",
		  error.text);
	CHECK(!device_sort_pull_keys(sort, 0, 1, 1, 2, words.get(), &error),
		  "pulling keys that are not kept");
	CHECK(!device_sort_push(sort, words.get(), 200, nullptr, 100, &ticket,
							&error), "a push after the sort");
	CHECK(!device_sort_perform(sort, UINT64_MAX, &error), "a second sort");
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
		CHECK(!device_sort_perform(sort, UINT64_MAX, &error) &&
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

/* Asks a job that has kept its keys for keys that it does not have. */
static void
test_refused_keys()
{
	TestKeys	keys = fixed_keys(100, 2, {uniform});
	PinnedArray<uint64_t> words(2000);
	DeviceSort *sort;
	DeviceError error;
	uint64_t	ticket;

	sort = device_sort_begin(0, &keys.shape, DEVICE_SORT_AUTO, &error);
	device_sort_keep_keys(sort);
	std::copy(keys.words.begin(), keys.words.end(), words.get());
	CHECK(device_sort_push(sort, words.get(), 200, nullptr, 100, &ticket,
						   &error), "%s", error.text);
	CHECK(!device_sort_pull_keys(sort, 0, 1, 1, 2, words.get(), &error),
		  "before the sort");
	CHECK(device_sort_perform(sort, UINT64_MAX, &error), "%s", error.text);
	CHECK(!device_sort_pull_keys(sort, 0, 1, 101, 2, words.get(), &error),
		  "too many");
	CHECK(!device_sort_pull_keys(sort, 100, 1, 1, 2, words.get(), &error),
		  "beyond the end");
	CHECK(!device_sort_pull_keys(sort, 1, 33, 4, 2, words.get(), &error),
		  "too far apart");
	CHECK(!device_sort_pull_keys(sort, UINT64_MAX, 1, 2, 2, words.get(),
								 &error), "from nowhere");
	CHECK(!device_sort_pull_keys(sort, 0, 1, 1, 0, words.get(), &error),
		  "of no words");
	CHECK(!device_sort_pull_keys(sort, 0, 1, 1, KEY_MAX_WORDS + 1,
								 words.get(), &error), "of too many words");
	CHECK(device_sort_pull_keys(sort, 0, 33, 4, 2, words.get(), &error), "%s",
		  error.text);
	CHECK(device_sort_pull_keys(sort, 100, 1, 0, 2, words.get(), &error),
		  "%s", error.text);
	device_sort_end(sort);
}

static void
test_device()
{
	DeviceError error = {};
	DeviceInfo	info;
	std::vector<unsigned char> memory(10000);

	CHECK(device_count(&error) >= 1, "%s", error.text);
	CHECK(device_describe(0, &info, &error), "%s", error.text);
	CHECK(info.memory_bytes > 0 && info.capability_major > 0 &&
		  info.driver_version > 0, "device 0 is not described");
	CHECK(!device_describe(77, &info, &error), "a device that is none");
	CHECK(device_start(0, &error), "%s", error.text);
	CHECK(device_pin(memory.data(), memory.size(), &error), "%s", error.text);
	device_unpin(memory.data());
}

static void
test_soak()
{
	run_soak(150, 1);
}

int
main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "soak") == 0)
	{
		run_soak(strtoull(argv[2], nullptr, 10),
				 argc > 3 ? strtoull(argv[3], nullptr, 10) :
				 static_cast<uint64_t>(time(nullptr)));
#ifdef CUDA_ON_CPU
		check_nothing_left("after a soak");
#endif
		conclude("soak");
		return failures > 0;
	}
#ifndef CUDA_ON_CPU
	if (argc > 1 && strcmp(argv[1], "times") == 0)
	{
		std::vector<uint64_t> row_counts;

		for (int i = 2; i < argc; i++)
			row_counts.push_back(strtoull(argv[i], nullptr, 10));
		if (row_counts.empty())
			time_sorts();
		else
			time_uniform(row_counts);
		conclude("times");
		return failures > 0;
	}
#endif
	if (argc > 2)
		most_rows = strtoull(argv[2], nullptr, 10);

#ifdef CUDA_ON_CPU
	RUN_TEST("no device", test_no_device);
	RUN_TEST("failing calls", test_failing_calls);
	RUN_TEST("failing calls with kept keys",
			 test_failing_calls_with_kept_keys);
#endif
	RUN_TEST("device", test_device);
	RUN_TEST("sizes", test_sizes);
	RUN_TEST("distributions", test_distributions);
	RUN_TEST("large", test_large);
	RUN_TEST("misleading samples", test_misleading_samples);
	RUN_TEST("frequent word", test_frequent_word);
	RUN_TEST("windows", test_windows);
	RUN_TEST("narrow keys", test_narrow_keys);
	RUN_TEST("several words", test_several_words);
	RUN_TEST("one exception", test_one_exception);
	RUN_TEST("common prefix", test_common_prefix);
	RUN_TEST("tie groups", test_tie_groups);
	RUN_TEST("longest tie group", test_longest_tie_group);
	RUN_TEST("algorithms", test_algorithms);
	RUN_TEST("in place", test_in_place);
	RUN_TEST("order of equal keys", test_order_of_equal_keys);
	RUN_TEST("kept keys", test_kept_keys);
	RUN_TEST("refused keys", test_refused_keys);
	RUN_TEST("short memory", test_short_memory);
	RUN_TEST("without ties", test_without_ties);
	RUN_TEST("strings", test_strings);
	RUN_TEST("truncated strings", test_truncated_strings);
	RUN_TEST("equal strings", test_equal_strings);
	RUN_TEST("batches", test_batches);
	RUN_TEST("concurrent jobs", test_concurrent_jobs);
	RUN_TEST("mixture", test_mixture);
	RUN_TEST("refusals", test_refusals);
	RUN_TEST("right orders", test_right_orders);
	RUN_TEST("missing rows", test_missing_rows);
	RUN_TEST("disorder of few rows", test_disorder_of_few);
	RUN_TEST("disorder of many rows", test_disorder_of_many);
	RUN_TEST("a failed check", test_failed_check);
	RUN_TEST("soak", test_soak);
#ifdef CUDA_ON_CPU
	RUN_TEST("memory exhaustion", test_memory_exhaustion);
	RUN_TEST("memory bound", test_memory_bound);
	RUN_TEST("monotonic bounds", test_monotonic_bounds);
	RUN_TEST("bound in place", test_bound_in_place);
	RUN_TEST("memory after run", test_memory_after_run);
	RUN_TEST("memory of kept keys", test_memory_of_kept_keys);
	check_nothing_left("at the end");
	RUN_TEST("lost context", test_lost_context);
#endif
	return failures > 0;
}
