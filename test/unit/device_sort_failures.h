/*-------------------------------------------------------------------------
 *
 * device_sort_failures.h
 *	  Tests of what only the emulator can bring about: calls that fail, little
 *	  memory, no device or a lost one; and that nothing is ever left behind.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_SORT_FAILURES_H
#define GPUSORT_DEVICE_SORT_FAILURES_H

#include "cuda_on_cpu.h"
#include "test_sort.h"

inline void
check_nothing_left(const char *what)
{
	cuda_on_cpu::Usage usage = cuda_on_cpu::usage();

	CHECK(usage.bytes == 0 && usage.allocations == 0 && usage.streams == 0 &&
		  usage.events == 0,
		  "%s: left are %llu bytes in %u allocations, %u streams, %u events",
		  what, (unsigned long long) usage.bytes, usage.allocations,
		  usage.streams, usage.events);
}

inline void
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

/* Lets each call fail in turn, those that make the device ready first. */
inline void
test_failing_calls()
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
				CHECK(nth > 50, "only %llu calls", (unsigned long long) nth);
				break;
			}
		}
	CHECK(!device_is_lost(), "ordinary failures lost the device");
}

/* Too little memory, more of it each time. */
inline void
test_memory_exhaustion()
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
			(void) check_order(keys, order, "little memory");
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

/* What a job takes is never more than device_sort_memory() says. */
inline void
test_memory_bound()
{
	Random		random = {6};
	uint64_t	before = 0;

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
inline void
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
inline void
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

#endif							/* GPUSORT_DEVICE_SORT_FAILURES_H */
