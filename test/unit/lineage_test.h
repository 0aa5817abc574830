/*-------------------------------------------------------------------------
 *
 * lineage_test.h
 *	  One test for any algorithm of bench/lineage/.
 *
 * test_algorithm<Algorithm>() sorts keys of 32 and 64 bits, alone and with
 * values, of sizes around each of the given boundaries and of all
 * distributions, and compares with std::sort.  It prints a line "ok" or "not
 * ok" for each combination of width and values.  Memory before and behind the
 * items, and behind the extra memory, must stay untouched; the sanitizers see
 * to that.
 *
 * test_failures<Algorithm>() lets one call of CUDA's functions fail, each in
 * its turn, launches by kernels included, and looks whether sort() says so.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_TEST_H
#define GPUSORT_LINEAGE_TEST_H

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <vector>

#include "../../bench/lineage/lineage.cuh"

#ifdef CUDA_ON_CPU
#include "cuda_on_cpu.h"
#endif

namespace lineage_test
{

/* The key at a place of n, as 64 bits of which narrower keys take the upper. */
struct Distribution
{
	const char *name;
	uint64_t	(*key) (uint64_t place, uint64_t n);
};

/* A number as good as random (Steele, Lea and Flood 2014). */
inline uint64_t
scrambled(uint64_t place)
{
	uint64_t	z = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

inline const Distribution distributions[] = {
	{"uniform", [](uint64_t place, uint64_t) { return scrambled(place); }},
	{"constant", [](uint64_t, uint64_t) { return UINT64_C(7) << 40; }},
	{"largest", [](uint64_t, uint64_t) { return UINT64_MAX; }},
	{"smallest", [](uint64_t, uint64_t) { return UINT64_C(0); }},
	{"two values", [](uint64_t place, uint64_t) {
		return scrambled(place) % 2 << 63; }},
	{"few values", [](uint64_t place, uint64_t) {
		return scrambled(place) % 17 << 59; }},
	{"sorted", [](uint64_t place, uint64_t) { return place << 34; }},
	{"reversed", [](uint64_t place, uint64_t n) { return (n - place) << 34; }},
	{"organ pipe", [](uint64_t place, uint64_t n) {
		return std::min(place, n - place) << 34; }},
	{"nearly sorted", [](uint64_t place, uint64_t n) {
		return (place % 97 == 0 ? scrambled(place) % n : place) << 34; }},
	{"outliers", [](uint64_t place, uint64_t) {
		return place % 101 == 0 ? scrambled(place) : place % 64 << 33; }},
};

/* Device memory with these elements and one byte, for there may be none. */
template <typename Element>
Element *
device_copy(const std::vector<Element> &elements, cudaStream_t stream)
{
	size_t		bytes = elements.size() * sizeof(Element);
	void	   *copy = nullptr;

	(void) cudaMallocAsync(&copy, bytes + 1, stream);
	(void) cudaMemcpyAsync(copy, elements.data(), bytes,
						   cudaMemcpyHostToDevice, stream);
	return static_cast<Element *>(copy);
}

template <template <typename, bool> class Algorithm, typename Key,
		  bool has_values>
bool
sorts(const Distribution &distribution, uint32_t n)
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

	for (uint32_t place = 0; place < n; place++)
		keys[place] = static_cast<Key>(distribution.key(place, n) >>
									   (64 - 8 * sizeof(Key)));
	std::iota(values.begin(), values.end(), 0);

	(void) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	device_keys = device_copy(keys, stream);
	if (has_values)
		device_values = device_copy(values, stream);
	(void) cudaMallocAsync(&extra, Sort::extra_bytes(n) + 1, stream);

	bool		good = Sort::sort(gpusort::Queue{stream, 2, &error},
								  {device_keys, device_values}, n, extra) &&
		cudaStreamSynchronize(stream) == cudaSuccess;

	if (!good)
		printf("# %s, %u rows: %s\n", distribution.name, n, error.text);
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
			uint32_t	value = values[place];

			good = value < n && !seen[value] && keys[value] == result[place];
			if (good)
				seen[value] = true;
			else
				printf("# %s, %u rows: wrong value at %u\n",
					   distribution.name, n, place);
		}
	}
	std::sort(keys.begin(), keys.end());
	if (good && keys != result)
	{
		printf("# %s, %u rows: wrong order\n", distribution.name, n);
		good = false;
	}
	return good;
}

template <template <typename, bool> class Algorithm, typename Key,
		  bool has_values>
bool
test_items(const std::set<uint32_t> &sizes)
{
	bool		good = true;

	for (uint32_t n : sizes)
		for (const Distribution &distribution : distributions)
			good &= sorts<Algorithm, Key, has_values>(distribution, n);
	printf("%s - %s, keys of %zu bytes%s\n", good ? "ok" : "not ok",
		   Algorithm<Key, has_values>::name, sizeof(Key),
		   has_values ? " with values" : "");
	return good;
}

/*
 * Returns whether all is right.  "boundaries" are the sizes at which the
 * algorithm changes its ways (of a tile, a leaf, a level).
 */
template <template <typename, bool> class Algorithm>
bool
test_algorithm(std::initializer_list<uint32_t> boundaries)
{
	std::set<uint32_t> sizes = {0, 1, 2, 3};

	for (uint32_t boundary : boundaries)
		sizes.insert({boundary - 1, boundary, boundary + 1});

	bool		good = test_items<Algorithm, uint32_t, false>(sizes);

	good &= test_items<Algorithm, uint32_t, true>(sizes);
	good &= test_items<Algorithm, uint64_t, false>(sizes);
	good &= test_items<Algorithm, uint64_t, true>(sizes);
	return good;
}

#ifdef CUDA_ON_CPU

template <template <typename, bool> class Algorithm>
bool
test_failures(uint32_t n)
{
	using Sort = Algorithm<uint64_t, true>;

	std::vector<uint64_t> keys(n);
	std::vector<uint32_t> values(n);
	cudaStream_t stream;
	bool		good = true;
	bool		has_failed = true;

	for (uint32_t place = 0; place < n; place++)
		keys[place] = scrambled(place);
	(void) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

	/* Until there are fewer calls than the one that should fail. */
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
		if (sorted == has_failed || (error.text[0] != 0) != has_failed)
		{
			printf("# call %u: %s\n", static_cast<unsigned>(nth), error.text);
			good = false;
		}
		(void) cudaFreeAsync(device_keys, stream);
		(void) cudaFreeAsync(device_values, stream);
		(void) cudaFreeAsync(extra, stream);
		(void) cudaStreamSynchronize(stream);
	}
	(void) cudaStreamDestroy(stream);
	printf("%s - %s, calls that fail\n", good ? "ok" : "not ok", Sort::name);
	return good;
}

#endif							/* CUDA_ON_CPU */

}								/* namespace lineage_test */

#endif							/* GPUSORT_LINEAGE_TEST_H */
