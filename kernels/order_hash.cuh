/*-------------------------------------------------------------------------
 *
 * order_hash.cuh
 *	  Sums of hashes, by which an order is known to have every row once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ORDER_HASH_CUH
#define GPUSORT_ORDER_HASH_CUH

#include "warp_sort.cuh"

namespace gpusort
{

/*
 * Maps numbers one to one, and neighbours far apart (multiplicative hashing,
 * Knuth 1973, section 6.4).
 */
static __device__ __forceinline__ uint32_t
scatter_number(uint32_t number)
{
	return number * UINT32_C(0x9e3779b9);
}

/* Adds a number's hash to a sum. */
static __device__ __forceinline__ void
add_hash(uint64_t &sum, uint32_t number)
{
	uint64_t	scattered = scatter_number(number);

	sum += scattered * scattered;
}

/* The sum of the values of all lanes. */
static __device__ __forceinline__ uint64_t
warp_sum(uint64_t value)
{
	for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
		value += __shfl_xor_sync(whole_warp, value, distance);
	return value;
}

}								/* namespace gpusort */

#endif							/* GPUSORT_ORDER_HASH_CUH */
