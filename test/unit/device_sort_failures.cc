/*-------------------------------------------------------------------------
 *
 * device_sort_failures.cc
 *	  Tests of what only the emulator can bring about: calls that fail, little
 *	  memory, no device or a lost one; and that nothing is ever left behind.
 *
 *-------------------------------------------------------------------------
 */
#include <cstring>

#include "cuda_on_cpu.h"
#include "device_sort_tests.h"
#include "test_sort.h"

void
check_nothing_left(const char *what)
{
	cuda_on_cpu::Usage usage = cuda_on_cpu::usage();

	CHECK(usage.bytes == 0 && usage.allocations == 0 && usage.streams == 0 &&
		  usage.events == 0,
		  "%s: left are %llu bytes in %u allocations, %u streams, %u events",
		  what, (unsigned long long) usage.bytes, usage.allocations,
		  usage.streams, usage.events);
}

void
test_no_device()
{
	DeviceError error = {};
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

/* Lets each call of a sort of these keys fail in turn. */
static void
fail_each_call(const TestKeys &keys)
{
	for (uint64_t nth = 1;; nth++)
	{
		/*
		 * The interface does not allocate pinned memory: the calls by which
		 * sort_keys() does must succeed.
		 */
		constexpr unsigned pinned_calls = 5;
		std::vector<uint32_t> order;
		DeviceError error = {};
		bool		was_reached;

		cuda_on_cpu::fail_call(nth + pinned_calls, cudaErrorMemoryAllocation);
		if (sort_keys(keys, 500, order, &error))
			(void) check_order(keys, order,
							   "a call failed that does not matter");
		else
			CHECK(strstr(error.text, ": out of memory") != nullptr,
				  "call %llu: %s", (unsigned long long) nth, error.text);
		was_reached = cuda_on_cpu::calls_made() >= nth + pinned_calls;
		cuda_on_cpu::fail_call(0, cudaSuccess);
		check_nothing_left("after a failed call");
		if (!was_reached)
		{
			CHECK(error.text[0] == '\0', "%s", error.text);
			CHECK(nth > 30, "only %llu calls", (unsigned long long) nth);
			break;
		}
	}
}

/* The calls that keeping keys makes, and pulling them. */
void
test_failing_calls_with_kept_keys()
{
	TestKeys	keys = fixed_keys(tile_rows, 2, {few, uniform});
	PinnedArray<uint64_t> words(keys.words.size());
	PinnedArray<uint64_t> pulled(keys.words.size());
	bool		was_reached = true;

	std::copy(keys.words.begin(), keys.words.end(), words.get());
	for (uint64_t nth = 1; was_reached; nth++)
	{
		DeviceError error = {};
		DeviceSort *sort;
		uint64_t	ticket;
		bool		good;

		/* a failure for lack of memory could be made good */
		cuda_on_cpu::fail_call(nth, cudaErrorUnknown);
		sort = device_sort_begin(0, &keys.shape, DEVICE_SORT_AUTO, &error);
		if (sort != nullptr)
			device_sort_keep_keys(sort);
		good = sort != nullptr &&
			device_sort_push(sort, words.get(), keys.words.size(), nullptr,
							 static_cast<uint32_t>(keys.nrows), &ticket,
							 &error) &&
			device_sort_perform(sort, UINT64_MAX, &error) &&
			device_sort_pull_keys(sort, 0, 1,
								  static_cast<uint32_t>(keys.nrows), 2,
								  pulled.get(), &error);
		was_reached = cuda_on_cpu::calls_made() >= nth;
		CHECK(good == !was_reached, "call %llu: %s", (unsigned long long) nth,
			  error.text);
		CHECK(good || strstr(error.text, ": unknown error") != nullptr,
			  "call %llu: %s", (unsigned long long) nth, error.text);
		device_sort_end(sort);
		cuda_on_cpu::fail_call(0, cudaSuccess);
		CHECK(cuda_on_cpu::usage().streams == 0 &&
			  cuda_on_cpu::usage().events == 0, "something is left");
	}
	CHECK(!device_is_lost(), "ordinary failures lost the device");
}

/* The first of these sorts also makes the calls that make the device ready. */
void
test_failing_calls()
{
	std::vector<std::string> strings;
	Random		random = {5};

	for (unsigned i = 0; i < 2 * tile_rows; i++)
		strings.push_back(random_text(random, random.below(30), 2));
	for (DeviceAlgorithm each : {DEVICE_SORT_AUTO, DEVICE_SORT_BITONIC})
	{
		algorithm = each;
		fail_each_call(fixed_keys(3 * tile_rows, 2, {few, uniform}));
		fail_each_call(fixed_keys(3 * tile_rows, 1, {uniform}));
		fail_each_call(string_keys(strings));
	}
	algorithm = DEVICE_SORT_AUTO;
	CHECK(!device_is_lost(), "ordinary failures lost the device");
}

/*
 * The functions that tell how much memory a sort takes, and whether it is in
 * place.
 */
static const struct
{
	uint64_t	(*bytes) (const KeyShape *shape, uint64_t nrows,
						  uint64_t nwords);
	DeviceAlgorithm algorithm;
}			memory_bounds[] = {
	{device_sort_memory, DEVICE_SORT_AUTO},
	{device_sort_memory_in_place, DEVICE_SORT_BITONIC},
};

/* Too little memory, more of it each time. */
void
test_memory_exhaustion()
{
	TestKeys	keys = fixed_keys(5000, 3, {few});

	for (const auto &bounds : memory_bounds)
	{
		uint64_t	bound = bounds.bytes(&keys.shape, keys.nrows,
										 keys.words.size());
		unsigned	refused = 0;

		algorithm = bounds.algorithm;
		for (uint64_t limit = 1; limit < bound; limit += bound / 40)
		{
			std::vector<uint32_t> order;
			DeviceError error;

			cuda_on_cpu::limit_memory(limit);
			if (sort_keys(keys, 1000, order, &error))
				(void) check_order(keys, order, "little memory");
			else
			{
				CHECK(strstr(error.text, ": out of memory") != nullptr &&
					  error.is_full, "%s", error.text);
				refused++;
			}
			check_nothing_left("after memory ran out");
		}
		/* memory that is too little for other sorts may be enough in place */
		CHECK(refused > 10, "memory was enough %u times", 40 - refused);

		cuda_on_cpu::limit_memory(bound);
		sort_and_check(keys, "just enough memory");
		cuda_on_cpu::limit_memory(UINT64_MAX);
	}
	algorithm = DEVICE_SORT_AUTO;
}

/*
 * A job never takes more than device_sort_memory() says, or
 * device_sort_memory_in_place() if there is no more memory.
 */
void
test_memory_bound()
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

			for (const auto &bounds : memory_bounds)
			{
				uint64_t	bound = bounds.bytes(&keys.shape, nrows,
												 keys.words.size());

				memory = bound;
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
			memory = UINT64_MAX;
		}
}

/* The bounds are monotonic in rows and in words. */
void
test_monotonic_bounds()
{
	for (const auto &bounds : memory_bounds)
	{
		uint64_t	before = 0;

		for (uint64_t nrows = 0; nrows < 10000; nrows += 37)
		{
			KeyShape	shape = {0, true};
			uint64_t	bound = bounds.bytes(&shape, nrows, 2 * nrows);

			CHECK(bound >= before, "the bound falls at %llu rows",
				  (unsigned long long) nrows);
			CHECK(bounds.bytes(&shape, nrows, 3 * nrows) >= bound,
				  "the bound falls with more words");
			before = bound;
		}
	}
}

/*
 * A sort in place takes 1.05 times the bytes of the keys and row numbers, for
 * any keys.
 */
void
test_bound_in_place()
{
	for (uint32_t width : {0, 1, 2, 5, 16})
	{
		KeyShape	shape = {width, true};
		uint64_t	nrows = 100 << gpusort::slab_shift;
		uint64_t	nwords = nrows * (width == 0 ? 3 : width);
		uint64_t	input = nwords * sizeof(uint64_t) +
			nrows * sizeof(uint32_t) +
			(width == 0 ? nrows * sizeof(uint64_t) : 0);
		uint64_t	bound = device_sort_memory_in_place(&shape, nrows, nwords);

		CHECK(bound <= input / 100 * 105, "width %u: %.3f times the input",
			  width, static_cast<double>(bound) / static_cast<double>(input));
	}
}

/* A job that has run keeps its order and nothing else. */
void
test_memory_after_run()
{
	TestKeys	keys = fixed_keys(5000, 3, {few});
	PinnedArray<uint64_t> words(keys.words.size());
	DeviceError error = {};
	DeviceSort *sort = device_sort_begin(0, &keys.shape, DEVICE_SORT_AUTO,
										 &error);
	uint64_t	ticket;
	uint64_t	kept;

	std::copy(keys.words.begin(), keys.words.end(), words.get());
	CHECK(sort != nullptr &&
		  device_sort_push(sort, words.get(), keys.words.size(), nullptr,
						   static_cast<uint32_t>(keys.nrows), &ticket,
						   &error) &&
		  device_sort_perform(sort, UINT64_MAX, &error), "%s", error.text);
	kept = cuda_on_cpu::usage().bytes;
	CHECK(kept >= keys.nrows * sizeof(uint32_t) &&
		  kept < keys.nrows * sizeof(uint32_t) + 256,
		  "%llu bytes are kept for the order of %llu rows",
		  (unsigned long long) kept, (unsigned long long) keys.nrows);
	device_sort_end(sort);
}

/*
 * A job that keeps its keys takes no more than device_sort_memory_kept() says
 * from the end of run on, and before that no more than any other job.
 */
void
test_memory_of_kept_keys()
{
	keeps_keys = true;
	for (const auto &bounds : memory_bounds)
		for (uint32_t width : {1, 3})
		{
			TestKeys	keys = fixed_keys(9000, width, {few, uniform});
			uint64_t	bound = bounds.bytes(&keys.shape, keys.nrows,
											 keys.words.size());
			uint64_t	kept = device_sort_memory_kept(&keys.shape, keys.nrows,
													   keys.words.size());
			std::vector<uint32_t> order;
			DeviceError error;

			algorithm = bounds.algorithm;
			memory = bound;
			cuda_on_cpu::reset_peak();
			CHECK(sort_keys(keys, 1000, order, &error), "%s", error.text);
			CHECK(cuda_on_cpu::usage().peak_bytes <= std::max(bound, kept),
				  "width %u takes %llu bytes", width,
				  (unsigned long long) cuda_on_cpu::usage().peak_bytes);
			CHECK(kept < bound || algorithm == DEVICE_SORT_BITONIC,
				  "to keep keys takes more than to sort them");
		}
	algorithm = DEVICE_SORT_AUTO;
	memory = UINT64_MAX;
	keeps_keys = false;
}

/* The last test: nothing works any more after it. */
void
test_lost_context()
{
	KeyShape	shape = {1, false};
	DeviceError error = {};
	DeviceSort *sort = device_sort_begin(0, &shape, DEVICE_SORT_AUTO, &error);
	PinnedArray<uint64_t> words(1);
	uint64_t	ticket;

	words.get()[0] = 1;
	CHECK(device_sort_push(sort, words.get(), 1, nullptr, 1, &ticket, &error),
		  "%s", error.text);
	cuda_on_cpu::lose_context(cudaErrorIllegalAddress);
	CHECK(!device_sort_perform(sort, UINT64_MAX, &error) &&
		  strstr(error.text, "illegal memory access") != nullptr, "%s",
		  error.text);
	CHECK(device_is_lost(), "the device is not called lost");
	device_sort_end(sort);
	check_nothing_left("after the context was lost");
}
