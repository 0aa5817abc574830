/*-------------------------------------------------------------------------
 *
 * warp_sort.cuh
 *	  Sorting up to 32 pairs with one warp, one pair a lane, in registers.
 *
 * Bitonic merge sort (Batcher 1968) in the form whose exchanges all put the
 * smaller pair at the lower place: runs of "size" are made from sorted halves
 * by first comparing places mirrored about the middle, then places size / 4,
 * size / 8, ...  1 apart.  In this form a pair that is larger than all others
 * never moves down, so the places from "length" on, which hold nothing, are
 * left out of every exchange.
 *
 * All lanes of the warp take part, with the same length.  Equal words come in
 * any order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WARP_SORT_CUH
#define GPUSORT_WARP_SORT_CUH

#include "launch.cuh"
#include "tuning.cuh"

namespace gpusort
{

static __device__ __forceinline__ unsigned
warp_lane()
{
	return threadIdx.x % warp_threads;
}

/* Lanes before the calling one. */
static __device__ __forceinline__ unsigned
lanes_before()
{
	return (1u << warp_lane()) - 1;
}

/* Keeps the smaller of this lane's pair and the partner's, or the larger. */
static __device__ __forceinline__ void
warp_exchange(uint64_t &word, uint32_t &row, unsigned partner, unsigned length)
{
	unsigned	lane = warp_lane();
	uint64_t	other_word = __shfl_sync(whole_warp, word, partner);
	uint32_t	other_row = __shfl_sync(whole_warp, row, partner);
	bool		take = lane < partner ? other_word < word : word < other_word;

	if (take && lane < length && partner < length)
	{
		word = other_word;
		row = other_row;
	}
}

static __device__ __forceinline__ void
warp_sort(uint64_t &word, uint32_t &row, unsigned length)
{
	unsigned	lane = warp_lane();

	for (unsigned size = 2; size / 2 < length; size *= 2)
	{
		warp_exchange(word, row, lane ^ (size - 1), length);
		for (unsigned stride = size / 4; stride > 0; stride /= 2)
			warp_exchange(word, row, lane ^ stride, length);
	}
}

}								/* namespace gpusort */

#endif							/* GPUSORT_WARP_SORT_CUH */
