/*-------------------------------------------------------------------------
 *
 * check.cu
 *	  Checking results.
 *
 *-------------------------------------------------------------------------
 */
#include "check.h"

#include <algorithm>
#include <numeric>

#include "random_bits.cuh"

namespace bench
{

#ifdef CUDA_ON_CPU

constexpr unsigned threads = 64;
constexpr uint64_t hashing_blocks = 2;

#else

constexpr unsigned threads = 256;
constexpr uint64_t hashing_blocks = 1024;

#endif

constexpr const char *checking = "checking a result";

/* CUDA has atomics for this type, and uint64_t is another. */
using Sum = unsigned long long;

/* How often each fault was found, and the hashes of both sides. */
struct Findings
{
	uint32_t	no_row;			/* beyond the last row */
	uint32_t	repeated;		/* a row that has been there already */
	uint32_t	other_key;		/* not the key of its row */
	uint32_t	disorder;		/* smaller than the one before */
	Sum			input_hash;
	Sum			sorted_hash;
};

static std::string
describe(const Findings &findings)
{
	if (findings.no_row != 0)
		return "rows that do not exist";
	if (findings.repeated != 0)
		return "repeated rows";
	if (findings.other_key != 0)
		return "keys of other rows";
	if (findings.disorder != 0)
		return "out of order";
	if (findings.input_hash != findings.sorted_hash)
		return "other keys than before";
	return "";
}

/* The keys of a result; those of varying length never leave the input. */
static KeyArray
sorted_keys(const Input &input, const Sorted &sorted)
{
	KeyArray	keys = input.keys;

	keys.keys = sorted.keys;
	return keys;
}

/* "seen" has a bit for each row. */
static __global__ void __launch_bounds__(threads)
check_rows(KeyArray keys, const uint32_t *rows, uint32_t *seen,
		   Findings *findings)
{
	uint32_t	place = blockIdx.x * threads + threadIdx.x;

	if (place >= keys.n)
		return;

	uint32_t	row = rows[place];
	uint32_t	row_before = place > 0 ? rows[place - 1] : row;
	uint32_t	bit = 1u << row % 32;

	if (row >= keys.n)
		atomicAdd(&findings->no_row, 1u);
	else if ((atomicOr(&seen[row / 32], bit) & bit) != 0)
		atomicAdd(&findings->repeated, 1u);
	else if (row_before < keys.n && keys.compare(row_before, keys, row) > 0)
		atomicAdd(&findings->disorder, 1u);
}

/* Rows out of range have been counted elsewhere. */
static __global__ void __launch_bounds__(threads)
check_keys_of_rows(KeyArray keys, KeyArray sorted, const uint32_t *rows,
				   Findings *findings)
{
	uint32_t	place = blockIdx.x * threads + threadIdx.x;

	if (place < keys.n && rows[place] < keys.n &&
		keys.compare(rows[place], sorted, place) != 0)
		atomicAdd(&findings->other_key, 1u);
}

static __global__ void __launch_bounds__(threads)
check_order(KeyArray sorted, Findings *findings)
{
	uint32_t	place = blockIdx.x * threads + threadIdx.x;

	if (place > 0 && place < sorted.n &&
		sorted.compare(place - 1, sorted, place) > 0)
		atomicAdd(&findings->disorder, 1u);
}

/* Adds up a hash of all keys. */
static __global__ void __launch_bounds__(threads)
hash_keys(KeyArray keys, Sum *sum)
{
	Sum			own_sum = 0;

	for (uint64_t row = blockIdx.x * threads + threadIdx.x; row < keys.n;
		 row += gridDim.x * threads)
	{
		uint32_t	number = static_cast<uint32_t>(row);
		uint64_t	hash = 0;

		for (uint64_t i = keys.begin(number); i < keys.end(number); i++)
			hash = scrambled(hash ^ keys.word(i));
		own_sum += hash;
	}
	atomicAdd(sum, own_sum);
}

static bool
check_pairs(const Queue &queue, const Input &input, const Sorted &sorted,
			Findings *findings)
{
	const KeyArray &keys = input.keys;
	uint64_t	grid = divide_up(keys.n, threads);
	uint64_t	seen_words = divide_up(keys.n, 32);
	DeviceArray<uint32_t> seen(queue);

	return seen.allocate(seen_words) &&
		queue.did(cudaMemsetAsync(seen.get(), 0,
								  seen_words * sizeof(uint32_t),
								  queue.stream), checking) &&
		queue.launch(checking, check_rows, grid, threads, keys, sorted.rows,
					 seen.get(), findings) &&
		(sorted.keys == nullptr ||
		 queue.launch(checking, check_keys_of_rows, grid, threads, keys,
					  sorted_keys(input, sorted), sorted.rows, findings));
}

static bool
check_keys_alone(const Queue &queue, const Input &input, const Sorted &sorted,
				 Findings *findings)
{
	KeyArray	keys = sorted_keys(input, sorted);
	uint64_t	grid = divide_up(keys.n, threads);
	uint64_t	hashing_grid = std::min(grid, hashing_blocks);

	return queue.launch(checking, check_order, grid, threads, keys,
						findings) &&
		queue.launch(checking, hash_keys, hashing_grid, threads, keys,
					 &findings->sorted_hash) &&
		queue.launch(checking, hash_keys, hashing_grid, threads, input.keys,
					 &findings->input_hash);
}

bool
check_on_device(const Queue &queue, const Input &input, const Sorted &sorted,
				std::string *fault)
{
	DeviceArray<Findings> found(queue);
	Findings	findings;

	if (!found.allocate(1) ||
		!queue.did(cudaMemsetAsync(found.get(), 0, sizeof(Findings),
								   queue.stream), checking) ||
		!(input.has_rows ? check_pairs : check_keys_alone)
		(queue, input, sorted, found.get()) ||
		!queue.did(cudaMemcpyAsync(&findings, found.get(), sizeof(Findings),
								   cudaMemcpyDeviceToHost, queue.stream),
				   checking) ||
		!queue.did(cudaStreamSynchronize(queue.stream), checking))
		return false;
	*fault = describe(findings);
	return true;
}

/* Copies elements from the device; waits for them. */
template <typename Element>
static bool
fetch(const Queue &queue, const void *from, uint64_t count,
	  std::vector<Element> &elements)
{
	elements.resize(count);
	return queue.did(cudaMemcpyAsync(elements.data(), from,
									 count * sizeof(Element),
									 cudaMemcpyDeviceToHost, queue.stream),
					 checking) &&
		queue.did(cudaStreamSynchronize(queue.stream), checking);
}

bool
HostCheck::prepare(const Queue &queue, const Input &device_input)
{
	input = device_input;

	KeyArray   &array = input.keys;

	if (!fetch(queue, array.keys, array.bytes, keys) ||
		(array.ends != nullptr && !fetch(queue, array.ends, array.n, ends)))
		return false;
	array.keys = keys.data();
	array.ends = ends.data();

	order.resize(array.n);
	std::iota(order.begin(), order.end(), 0);
	std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
		return array.compare(a, array, b) < 0;
	});
	return true;
}

bool
HostCheck::check(const Queue &queue, const Sorted &sorted,
				 std::string *fault) const
{
	const KeyArray &array = input.keys;
	std::vector<unsigned char> result_keys;
	std::vector<uint32_t> result_rows;
	Sorted		result = {};
	bool		good = true;

	if (sorted.keys != nullptr)
	{
		if (!fetch(queue, sorted.keys, array.bytes, result_keys))
			return false;
		result.keys = result_keys.data();
	}
	if (sorted.rows != nullptr)
	{
		std::vector<bool> seen(array.n);

		if (!fetch(queue, sorted.rows, array.n, result_rows))
			return false;
		for (uint32_t row : result_rows)
		{
			good = good && row < array.n && !seen[row];
			if (good)
				seen[row] = true;
		}
	}

	KeyArray	keys_alone = sorted_keys(input, result);

	for (uint32_t place = 0; good && place < array.n; place++)
	{
		uint32_t	expected = order[place];

		good = (sorted.rows == nullptr ||
				array.compare(expected, array, result_rows[place]) == 0) &&
			(sorted.keys == nullptr ||
			 array.compare(expected, keys_alone, place) == 0);
	}
	*fault = good ? "" : "not as std::sort() has it";
	return true;
}

}								/* namespace bench */
