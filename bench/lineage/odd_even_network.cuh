/*-------------------------------------------------------------------------
 *
 * odd_even_network.cuh
 *	  Batcher's odd-even merge sorting network for any number of items.
 *
 * Batcher 1968, in the form of Knuth, volume 3, 5.2.2, algorithm M.  It has as
 * many steps as the bitonic network, but fewer comparisons in most of them.
 * All put the smaller item at the lower place, so that as in
 * bitonic_network.cuh those with a place beyond the end are left out.
 *
 * Knuth's p, q, r and d are here "stride", "reach", "chosen" and "distance".
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_ODD_EVEN_NETWORK_CUH
#define GPUSORT_LINEAGE_ODD_EVEN_NETWORK_CUH

#include "bitonic_network.cuh"

namespace lineage
{

/*
 * Compares the places "distance" apart whose lower one, taken bitwise, has
 * the bit "stride" as "chosen" (0 or stride) has it.  Called by all threads of
 * a block after a barrier, and ends with one.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
odd_even_step(Items<Key, has_values> items, uint32_t length, uint32_t stride,
			  uint32_t chosen, uint32_t distance)
{
	for (uint32_t pair = threadIdx.x;; pair += blockDim.x)
	{
		uint32_t	low = pair + (pair & ~(stride - 1)) + chosen;

		if (low + distance >= length)
			break;
		order_pair(items, low, low + distance);
	}
	__syncthreads();
}

/* Sorts items in shared memory.  Called as odd_even_step() is. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
odd_even_network(Items<Key, has_values> items, uint32_t length)
{
	uint32_t	widest = 1;

	while (2 * widest < length)
		widest *= 2;

	for (uint32_t stride = widest; stride > 0; stride /= 2)
	{
		odd_even_step(items, length, stride, 0, stride);
		for (uint32_t reach = widest; reach > stride; reach /= 2)
			odd_even_step(items, length, stride, stride, reach - stride);
	}
}

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_ODD_EVEN_NETWORK_CUH */
