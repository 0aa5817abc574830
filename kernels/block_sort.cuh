/*-------------------------------------------------------------------------
 *
 * block_sort.cuh
 *	  One block sorts a leaf in shared memory.
 *
 * CUDA-quicksort finishes short segments by a bitonic sort (Manca et al. 2015,
 * box 4.1).  This is the one of warp_sort.cuh, with the pairs in shared memory
 * and any number of them a thread; as there, places beyond the leaf's length
 * are left out, so that a leaf costs what its own length asks for.
 *
 * A step compares places within windows of pairs that no exchange leaves.  A
 * warp's 32 comparisons always fall into the same windows of 64 places, so
 * between two steps with windows no larger than that it waits for none but
 * its own lanes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BLOCK_SORT_CUH
#define GPUSORT_BLOCK_SORT_CUH

#include "warp_sort.cuh"
#include "workspace.cuh"

namespace gpusort
{

template <unsigned capacity>
struct BlockSortShared
{
	uint64_t	words[capacity];
	uint32_t	rows[capacity];
};

/* Places that the 32 comparisons of a warp cover. */
constexpr unsigned warp_window = 2 * warp_threads;

/*
 * Exchanges the pairs at the places low and high if they are the wrong way
 * round, unless high is beyond the end.
 */
template <unsigned capacity>
static __device__ __forceinline__ void
block_exchange(BlockSortShared<capacity> &shared, unsigned low, unsigned high,
			   unsigned length)
{
	if (high >= length)
		return;

	uint64_t	low_word = shared.words[low];
	uint64_t	high_word = shared.words[high];

	if (high_word < low_word)
	{
		uint32_t	low_row = shared.rows[low];

		shared.words[low] = high_word;
		shared.words[high] = low_word;
		shared.rows[low] = shared.rows[high];
		shared.rows[high] = low_row;
	}
}

/* Waits between two steps until what the next one reads has been written. */
static __device__ __forceinline__ void
block_step_barrier(unsigned window_before, unsigned window_after)
{
	if (window_before > warp_window || window_after > warp_window)
		__syncthreads();
	else
		__syncwarp();
}

/*
 * Sorts the first "length" pairs of shared memory.  Called by all threads of
 * the block after a barrier, and followed by one.
 */
template <unsigned capacity, unsigned threads>
static __device__ __forceinline__ void
block_sort(BlockSortShared<capacity> &shared, unsigned length)
{
	unsigned	window = 2;
	unsigned	pairs = 1;		/* comparisons of a step */

	while (2 * pairs < length)
		pairs *= 2;

	for (unsigned size = 2; size / 2 < length; size *= 2)
	{
		unsigned	half = size / 2;

		block_step_barrier(window, size);
		window = size;
		for (unsigned pair = threadIdx.x; pair < pairs; pair += threads)
		{
			unsigned	place = pair & (half - 1);
			unsigned	start = (pair - place) * 2;

			block_exchange(shared, start + place, start + size - 1 - place,
						   length);
		}
		for (unsigned stride = half / 2; stride > 0; stride /= 2)
		{
			block_step_barrier(window, 2 * stride);
			window = 2 * stride;
			for (unsigned pair = threadIdx.x; pair < pairs; pair += threads)
			{
				unsigned	place = pair & (stride - 1);
				unsigned	low = (pair - place) * 2 + place;

				block_exchange(shared, low, low + stride, length);
			}
		}
	}
}

/* Sorts a leaf into the sorted array.  Called by all threads of a block. */
template <unsigned capacity, unsigned threads>
static __device__ __forceinline__ void
sort_leaf(Leaf leaf, Pairs from, Pairs sorted,
		  BlockSortShared<capacity> &shared)
{
	for (unsigned place = threadIdx.x; place < leaf.length; place += threads)
	{
		shared.words[place] = from.words[leaf.begin + place];
		shared.rows[place] = from.rows[leaf.begin + place];
	}
	__syncthreads();

	block_sort<capacity, threads>(shared, leaf.length);
	__syncthreads();

	for (unsigned place = threadIdx.x; place < leaf.length; place += threads)
	{
		sorted.words[leaf.begin + place] = shared.words[place];
		sorted.rows[leaf.begin + place] = shared.rows[place];
	}
}

}								/* namespace gpusort */

#endif							/* GPUSORT_BLOCK_SORT_CUH */
