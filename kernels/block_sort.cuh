/*-------------------------------------------------------------------------
 *
 * block_sort.cuh
 *	  A block, or a warp, sorts pairs in shared memory by a bitonic network.
 *
 * CUDA-quicksort finishes short segments by a bitonic sort (Manca et al. 2015,
 * box 4.1).  This is the sort of warp_sort.cuh, with the pairs in shared
 * memory and any number of them a thread.  As there, places beyond the length
 * are left out, so its cost depends on the length alone.
 *
 * A step compares places within windows of pairs that no exchange leaves.  The
 * 32 comparisons of a warp always fall into the same windows of 64 places.  So
 * between two steps with windows of at most 64 places a warp waits only for
 * its own lanes.  A single warp, for few pairs, never waits for others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BLOCK_SORT_CUH
#define GPUSORT_BLOCK_SORT_CUH

#include "warp_sort.cuh"
#include "workspace.cuh"

namespace gpusort
{

/* Places that the 32 comparisons of a warp cover. */
constexpr unsigned warp_window = 2 * warp_threads;

/*
 * Exchanges the pairs at the places low and high if they are the wrong way
 * round, unless high is beyond the end.
 */
static __device__ __forceinline__ void
block_exchange(Pairs pairs, unsigned low, unsigned high, unsigned length)
{
	if (high >= length)
		return;

	uint64_t	low_word = pairs.words[low];
	uint64_t	high_word = pairs.words[high];

	if (high_word < low_word)
	{
		uint32_t	low_row = pairs.rows[low];

		pairs.words[low] = high_word;
		pairs.words[high] = low_word;
		pairs.rows[low] = pairs.rows[high];
		pairs.rows[high] = low_row;
	}
}

/* Waits between two steps until all that the next one reads is written. */
template <unsigned threads>
static __device__ __forceinline__ void
block_step_barrier(unsigned window_before, unsigned window_after)
{
	if (threads > warp_threads &&
		(window_before > warp_window || window_after > warp_window))
		__syncthreads();
	else
		__syncwarp();
}

/*
 * Sorts pairs in shared memory.  Called by "threads" threads, all of the block
 * or those of a warp, with their numbers.  Needs a barrier before and after
 * it.
 */
template <unsigned threads>
static __device__ __forceinline__ void
block_sort(Pairs pairs, unsigned length, unsigned thread)
{
	unsigned	window = 2;
	unsigned	comparisons = 1;	/* of a step */

	while (2 * comparisons < length)
		comparisons *= 2;

	for (unsigned size = 2; size / 2 < length; size *= 2)
	{
		unsigned	half = size / 2;

		block_step_barrier<threads>(window, size);
		window = size;
		for (unsigned pair = thread; pair < comparisons; pair += threads)
		{
			unsigned	place = pair & (half - 1);
			unsigned	start = (pair - place) * 2;

			block_exchange(pairs, start + place, start + size - 1 - place,
						   length);
		}
		for (unsigned stride = half / 2; stride > 0; stride /= 2)
		{
			block_step_barrier<threads>(window, 2 * stride);
			window = 2 * stride;
			for (unsigned pair = thread; pair < comparisons;
				 pair += threads)
			{
				unsigned	place = pair & (stride - 1);
				unsigned	low = (pair - place) * 2 + place;

				block_exchange(pairs, low, low + stride, length);
			}
		}
	}
}

}								/* namespace gpusort */

#endif							/* GPUSORT_BLOCK_SORT_CUH */
