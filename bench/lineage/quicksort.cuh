/*-------------------------------------------------------------------------
 *
 * quicksort.cuh
 *	  What quicksorts of the lineage have in common: the median of three, and
 *	  the end of the recursion.
 *
 * There are two arrays, between which partitioning moves items to and fro;
 * what is sorted goes to the first, called sorted, from either.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_QUICKSORT_CUH
#define GPUSORT_LINEAGE_QUICKSORT_CUH

#include "bitonic_network.cuh"

namespace lineage
{

template <typename Key>
static __device__ __forceinline__ Key
median(Key a, Key b, Key c)
{
	Key			low = a < b ? a : b;
	Key			high = a < b ? b : a;

	return c < low ? low : c < high ? c : high;
}

/* The median of a sequence's first, middle and last key (Singleton 1969). */
template <typename Key>
static __device__ __forceinline__ Key
median_of_three(const Key *keys, uint32_t begin, uint32_t length)
{
	return median(keys[begin], keys[begin + length / 2],
				  keys[begin + length - 1]);
}

/*
 * Sorts a sequence in shared memory, and puts it into the sorted array.
 * Called by all threads of a block; they are done with "local" at return.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
sort_short(Items<Key, has_values> from, Items<Key, has_values> sorted,
		   uint32_t begin, uint32_t length, Items<Key, has_values> local)
{
	for (uint32_t item = threadIdx.x; item < length; item += blockDim.x)
		copy_item(from, begin + item, local, item);
	__syncthreads();
	block_network(local, length);
	for (uint32_t item = threadIdx.x; item < length; item += blockDim.x)
		copy_item(local, item, sorted, begin + item);
	__syncthreads();
}

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_QUICKSORT_CUH */
