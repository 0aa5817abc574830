/*-------------------------------------------------------------------------
 *
 * scan.cuh
 *	  Prefix sums, in a block and over an array.
 *
 * The papers take theirs ready made (Sengupta et al. 2007; Harris et al.
 * 2007).  This one reads an array twice: once to sum up each of its parts, and
 * once to replace every number by the sum of all before it, for which a part
 * starts at the sum of the parts before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_SCAN_CUH
#define GPUSORT_LINEAGE_SCAN_CUH

#include "../../kernels/warp_sort.cuh"
#include "lineage.cuh"

namespace lineage
{
namespace scan
{

using gpusort::warp_lane;
using gpusort::warp_threads;
using gpusort::whole_warp;

#ifdef CUDA_ON_CPU

constexpr unsigned threads = 64;
constexpr uint32_t max_parts = 5;
constexpr uint32_t min_part_length = 96;

#else

constexpr unsigned threads = 256;
constexpr uint32_t max_parts = 1024;
constexpr uint32_t min_part_length = 2048;

#endif

template <unsigned block_threads, typename Number = uint32_t>
struct SumShared
{
	Number		warp_sums[block_threads / warp_threads];
};

/*
 * The sum of the values of the threads before this one; *total is that of all.
 * Called by all threads of the block; they are done with "shared" at return.
 */
template <unsigned block_threads, typename Number>
static __device__ __forceinline__ Number
block_sum_before(Number value, Number *total,
				 SumShared<block_threads, Number> &shared)
{
	const unsigned warp = threadIdx.x / warp_threads;
	Number		sum = value;
	Number		before = 0;
	Number		all = 0;

	for (unsigned distance = 1; distance < warp_threads; distance *= 2)
	{
		Number		other = __shfl_up_sync(whole_warp, sum, distance);

		if (warp_lane() >= distance)
			sum += other;
	}
	if (warp_lane() == warp_threads - 1)
		shared.warp_sums[warp] = sum;
	__syncthreads();

	for (unsigned other = 0; other < block_threads / warp_threads; other++)
	{
		if (other == warp)
			before = all;
		all += shared.warp_sums[other];
	}
	__syncthreads();

	*total = all;
	return before + sum - value;
}

/* The sum of an array, computed by a block; every thread gets it. */
static __device__ __forceinline__ uint32_t
block_sum(const uint32_t *numbers, uint32_t count, SumShared<threads> &shared)
{
	uint32_t	sum = 0;
	uint32_t	total;

	for (uint32_t place = threadIdx.x; place < count; place += threads)
		sum += numbers[place];
	(void) block_sum_before<threads>(sum, &total, shared);
	return total;
}

/* Numbers of the calling block's part. */
static __device__ __forceinline__ uint32_t
own_part_length(uint32_t count, uint32_t part_length)
{
	uint32_t	left = count - blockIdx.x * part_length;

	return left < part_length ? left : part_length;
}

static __global__ void __launch_bounds__(threads)
sum_parts(const uint32_t *numbers, uint32_t count, uint32_t part_length,
		  uint32_t *part_sums)
{
	uint32_t	sum = block_sum(numbers + blockIdx.x * part_length,
								own_part_length(count, part_length),
								block_shared<SumShared<threads>>());

	if (threadIdx.x == 0)
		part_sums[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(threads)
scan_parts(uint32_t *numbers, uint32_t count, uint32_t part_length,
		   const uint32_t *part_sums)
{
	SumShared<threads> &shared = block_shared<SumShared<threads>>();
	uint32_t   *part = numbers + blockIdx.x * part_length;
	uint32_t	length = own_part_length(count, part_length);
	uint32_t	sum = block_sum(part_sums, blockIdx.x, shared);

	for (uint32_t start = 0; start < length; start += threads)
	{
		uint32_t	place = start + threadIdx.x;
		uint32_t	total;
		uint32_t	before = block_sum_before<threads>(
			place < length ? part[place] : 0, &total, shared);

		if (place < length)
			part[place] = sum + before;
		sum += total;
	}
}

/*
 * Replaces each number by the sum of those before it.  "part_sums" has room
 * for max_parts; the sum of all must fit into 32 bits.
 */
static inline bool
sums_before(const Queue &queue, uint32_t *numbers, uint32_t count,
			uint32_t *part_sums)
{
	uint32_t	even = static_cast<uint32_t>(divide_up(count, max_parts));
	uint32_t	part_length = even < min_part_length ? min_part_length : even;
	uint64_t	parts = divide_up(count, part_length);

	return queue.launch<SumShared<threads>>("summing up parts", sum_parts,
											parts, threads, numbers, count,
											part_length, part_sums) &&
		queue.launch<SumShared<threads>>("computing prefix sums", scan_parts,
										 parts, threads, numbers, count,
										 part_length, part_sums);
}

}								/* namespace scan */
}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_SCAN_CUH */
