/*-------------------------------------------------------------------------
 *
 * lineage_test.cc
 *	  Tests of the algorithms of bench/lineage/ on the emulator.
 *
 * test_algorithm<Algorithm>() sorts keys of 32 and 64 bits, alone and with
 * values, of sizes around each of the given boundaries and of all
 * distributions, and compares with std::sort.  Memory before and behind the
 * items, and behind the extra memory, must stay untouched; the sanitizers
 * check that.
 *
 * test_failures<Algorithm>() lets each call of CUDA's functions fail in turn,
 * launches by kernels included, and checks that sort() says so.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "../../bench/lineage/bitonic_sort.cuh"
#include "../../bench/lineage/bucket_sort.cuh"
#include "../../bench/lineage/cdp_quicksort.cuh"
#include "../../bench/lineage/cuda_quicksort.cuh"
#include "../../bench/lineage/cuda_r_quicksort.cuh"
#include "../../bench/lineage/gpu_quicksort.cuh"
#include "../../bench/lineage/merge_path_sort.cuh"
#include "../../bench/lineage/sample_sort.cuh"
#include "cuda_on_cpu.h"
#include "test_keys.h"

#define TEST_SUBJECT	"lineage"
#include "test_report.h"

/*
 * Device memory with these elements, of which there may be none, and one byte.
 */
template <typename Element>
static Element *
device_copy(const std::vector<Element> &elements, cudaStream_t stream)
{
	size_t		bytes = elements.size() * sizeof(Element);
	void	   *copy = nullptr;

	(void) cudaMallocAsync(&copy, bytes + 1, stream);
	(void) cudaMemcpyAsync(copy, elements.data(), bytes,
						   cudaMemcpyHostToDevice, stream);
	return static_cast<Element *>(copy);
}

/* Sorts this many items of a distribution, and compares with std::sort. */
template <template <typename, bool> class Algorithm, typename Key,
		  bool has_values>
static void
sort_and_compare(const char *name, Distribution value, uint32_t n)
{
	using Sort = Algorithm<Key, has_values>;

	DeviceError error = {};
	cudaStream_t stream;
	Key		   *device_keys = nullptr;
	uint32_t   *device_values = nullptr;
	void	   *extra = nullptr;
	std::vector<Key> keys(n);
	std::vector<Key> result(n);
	std::vector<uint32_t> values(n);

	Random		random = {n};

	for (uint32_t place = 0; place < n; place++)
		keys[place] = static_cast<Key>(value(random, place, n));
	std::iota(values.begin(), values.end(), 0);

	(void) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	device_keys = device_copy(keys, stream);
	if (has_values)
		device_values = device_copy(values, stream);
	(void) cudaMallocAsync(&extra, Sort::extra_bytes(n) + 1, stream);

	bool		good = Sort::sort(gpusort::Queue{stream, 2, &error},
								  {device_keys, device_values}, n, extra) &&
		cudaStreamSynchronize(stream) == cudaSuccess;

	CHECK(good, "%s, %u rows: %s", name, n, error.text);
	(void) cudaMemcpyAsync(result.data(), device_keys, n * sizeof(Key),
						   cudaMemcpyDeviceToHost, stream);
	if (has_values)
		(void) cudaMemcpyAsync(values.data(), device_values,
							   n * sizeof(uint32_t), cudaMemcpyDeviceToHost,
							   stream);
	(void) cudaFreeAsync(device_keys, stream);
	if (has_values)
		(void) cudaFreeAsync(device_values, stream);
	(void) cudaFreeAsync(extra, stream);
	(void) cudaStreamSynchronize(stream);
	(void) cudaStreamDestroy(stream);

	if (good && has_values)
	{
		std::vector<bool> seen(n);

		for (uint32_t place = 0; good && place < n; place++)
		{
			uint32_t	from = values[place];

			good = from < n && !seen[from] && keys[from] == result[place];
			if (good)
				seen[from] = true;
			CHECK(good, "%s, %u rows: wrong value at %u", name, n, place);
		}
	}
	std::sort(keys.begin(), keys.end());
	CHECK(!good || keys == result, "%s, %u rows: wrong order", name, n);
}

template <template <typename, bool> class Algorithm, typename Key,
		  bool has_values>
static void
test_items(const std::set<uint32_t> &sizes)
{
	std::string name = std::string(Algorithm<Key, has_values>::name) +
		", keys of " + std::to_string(sizeof(Key)) + " bytes" +
		(has_values ? " with values" : "");

	for (uint32_t n : sizes)
		for (const auto &distribution : distributions)
			sort_and_compare<Algorithm, Key, has_values>(distribution.name,
														 distribution.value, n);
	conclude(name.c_str());
}

/*
 * "boundaries" are the sizes at which the algorithm changes its ways (of a
 * tile, a leaf, a level).
 */
template <template <typename, bool> class Algorithm>
static void
test_algorithm(std::initializer_list<uint32_t> boundaries)
{
	std::set<uint32_t> sizes = {0, 1, 2, 3};

	for (uint32_t boundary : boundaries)
		sizes.insert({boundary - 1, boundary, boundary + 1});
	test_items<Algorithm, uint32_t, false>(sizes);
	test_items<Algorithm, uint32_t, true>(sizes);
	test_items<Algorithm, uint64_t, false>(sizes);
	test_items<Algorithm, uint64_t, true>(sizes);
}

/* Lets one call after the other fail, until there are no more calls. */
template <template <typename, bool> class Algorithm>
static void
test_failures(uint32_t n)
{
	using Sort = Algorithm<uint64_t, true>;

	std::vector<uint64_t> keys(n);
	std::vector<uint32_t> values(n);
	cudaStream_t stream;
	bool		has_failed = true;
	Random		random = {n};

	for (uint64_t &key : keys)
		key = random.next();
	(void) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

	for (uint64_t nth = 1; has_failed; nth++)
	{
		DeviceError error = {};
		uint64_t   *device_keys = device_copy(keys, stream);
		uint32_t   *device_values = device_copy(values, stream);
		void	   *extra = nullptr;

		(void) cudaMallocAsync(&extra, Sort::extra_bytes(n) + 1, stream);
		cuda_on_cpu::fail_call(nth, cudaErrorLaunchOutOfResources);

		bool		sorted = Sort::sort(gpusort::Queue{stream, 2, &error},
										{device_keys, device_values}, n, extra);

		has_failed = cuda_on_cpu::calls_made() >= nth;
		cuda_on_cpu::fail_call(0, cudaSuccess);
		CHECK(sorted != has_failed && (error.text[0] != 0) == has_failed,
			  "call %u: %s", static_cast<unsigned>(nth), error.text);
		(void) cudaFreeAsync(device_keys, stream);
		(void) cudaFreeAsync(device_values, stream);
		(void) cudaFreeAsync(extra, stream);
		(void) cudaStreamSynchronize(stream);
	}
	(void) cudaStreamDestroy(stream);
	conclude((std::string(Sort::name) + ", calls that fail").c_str());
}

int
main()
{
	test_algorithm<lineage::BitonicSort>({128, 1000});
	test_algorithm<lineage::KModelBitonicSort>(
		{32, 128, 256, 512, 1024, 3000});
	test_algorithm<lineage::CudaQuicksort>(
		{128, 192, 384, 3000});
	test_algorithm<lineage::CudaQuicksortAtomicsOnly>(
		{128, 192, 1500});
	test_algorithm<lineage::CudaQuicksortCoalescedOnly>(
		{128, 192, 1500});
	test_algorithm<lineage::BucketSort>(
		{64, 192, 384, 1000, 6000});
	test_algorithm<lineage::CdpQuicksort>(
		{64, 128, 1500});
	test_algorithm<lineage::CudaRQuicksort>(
		{64, 192, 1500});
	test_algorithm<lineage::GpuQuicksort>(
		{64, 128, 3000});
	test_algorithm<lineage::GpuQuicksortAtomic>(
		{64, 128, 3000});
	test_algorithm<lineage::MergePathSort>({192, 384, 768, 1500, 3000});
	test_algorithm<lineage::SampleSort>(
		{16, 48, 160, 192, 384, 1000, 6000});

	test_failures<lineage::BitonicSort>(100);
	test_failures<lineage::KModelBitonicSort>(500);
	test_failures<lineage::BucketSort>(1000);
	test_failures<lineage::CdpQuicksort>(500);
	test_failures<lineage::CudaRQuicksort>(500);
	test_failures<lineage::GpuQuicksort>(500);
	test_failures<lineage::GpuQuicksortAtomic>(500);
	test_failures<lineage::MergePathSort>(1000);
	test_failures<lineage::SampleSort>(1000);

	return failures > 0;
}
