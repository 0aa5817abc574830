/*-------------------------------------------------------------------------
 *
 * block_scan.cuh
 *	  Sums over the threads of a block.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BLOCK_SCAN_CUH
#define GPUSORT_BLOCK_SCAN_CUH

#include "warp_sort.cuh"

namespace gpusort
{

template <unsigned threads>
struct ScanShared
{
	uint32_t	warp_sums[threads / warp_threads];
};

/*
 * The sum of the values of the threads before this one.  Called by all threads
 * of the block.  There is one barrier inside.  The caller needs another
 * barrier before it uses "shared" again.
 */
template <unsigned threads>
static __device__ __forceinline__ uint32_t
block_sum_before(uint32_t value, ScanShared<threads> &shared)
{
	const unsigned warp = threadIdx.x / warp_threads;
	uint32_t	sum = value;
	uint32_t	before = 0;

	for (unsigned distance = 1; distance < warp_threads; distance *= 2)
	{
		uint32_t	other = __shfl_up_sync(whole_warp, sum, distance);

		if (warp_lane() >= distance)
			sum += other;
	}
	if (warp_lane() == warp_threads - 1)
		shared.warp_sums[warp] = sum;
	__syncthreads();

#pragma unroll
	for (unsigned other = 0; other < threads / warp_threads; other++)
		before += other < warp ? shared.warp_sums[other] : 0;
	return before + sum - value;
}

}								/* namespace gpusort */

#endif							/* GPUSORT_BLOCK_SCAN_CUH */
