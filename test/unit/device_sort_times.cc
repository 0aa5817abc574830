/*-------------------------------------------------------------------------
 *
 * device_sort_times.cc
 *	  How long sorts take on a device, beside CUB's radix sort.
 *
 *-------------------------------------------------------------------------
 */
#include <chrono>
#include <cmath>

#include <cub/cub.cuh>

#include "device_sort_tests.h"
#include "order_checker.h"
#include "test_sort.h"

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

/* Sorts of which the median is taken: few rows are sorted soon, and unevenly. */
static unsigned
count_repeats(uint64_t nrows)
{
	return nrows <= 1000000 ? 101 : 7;
}

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
	for (unsigned i = 0; i < count_repeats(n); i++)
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
	DeviceError error = {};
	bool		good = true;

	std::copy(keys.words.begin(), keys.words.end(), words.get());
	std::copy(keys.ends.begin(), keys.ends.end(), ends.get());
	for (unsigned i = 0; i <= count_repeats(n) && good; i++)
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

		good = good && device_sort_perform(sort, UINT64_MAX, &error);
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
		(void) wrong("%s: %s", name, error.text);
		return;
	}
	(void) check_order(keys, std::vector<uint32_t>(order.get(), order.get() + n),
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

/* Times the check of an order alone, by the device's clock. */
static void
time_check(uint64_t n)
{
	TestKeys	keys = fixed_keys(n, 1, {constant}, false);
	std::vector<uint32_t> order(n);
	std::vector<double> times;
	Random		random = {n};
	cudaEvent_t begin;
	cudaEvent_t end;

	/* Any order, and keys of which it is the right one. */
	std::iota(order.begin(), order.end(), 0);
	for (uint64_t place = n; place > 1; place--)
		std::swap(order[place - 1], order[random.below(place)]);
	for (uint64_t place = 0; place < n; place++)
		keys.words[order[place]] = place;

	OrderChecker checker(keys);

	checker.put(order);
	cudaEventCreate(&begin);
	cudaEventCreate(&end);
	for (unsigned i = 0; i < count_repeats(n); i++)
	{
		float		time = 0;

		cudaEventRecord(begin, checker.stream);
		checker.check();
		cudaEventRecord(end, checker.stream);
		cudaEventSynchronize(end);
		cudaEventElapsedTime(&time, begin, end);
		times.push_back(time);
	}
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
	CHECK(checker.found().excess == 0 && checker.found().disorder == 0,
		  "a right order fails its check");
	printf("%-24s %10llu %10.3f\n", "check of the order",
		   (unsigned long long) n, median(times));
	fflush(stdout);
}

static void
print_heading()
{
	printf("%-24s %10s %10s %10s %10s %8s %10s\n", "keys", "rows", "run ms",
		   "fastest", "slowest", "Grow/s", "job ms");
}

void
time_uniform(const std::vector<uint64_t> &row_counts)
{
	print_heading();
	for (uint64_t rows : row_counts)
	{
		time_sort("uniform", fixed_keys(rows, 1, {uniform}, false));
		time_sort("uniform, 4 bytes",
				  fixed_keys(rows, 1, {uniform_4_bytes}, false));
	}
}

void
time_sorts()
{
	constexpr uint64_t n = 10000000;

	print_heading();
	for (uint64_t rows : {UINT64_C(100000), UINT64_C(1000000), n, 10 * n})
	{
		time_sort("uniform", fixed_keys(rows, 1, {uniform}, false));
		time_check(rows);
	}

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
