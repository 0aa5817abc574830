/*-------------------------------------------------------------------------
 *
 * bitonic_network.cuh
 *	  Batcher's bitonic sorting network for any number of items.
 *
 * Batcher 1968, in the form whose comparisons all put the smaller item at the
 * lower place.  Merge number m makes runs of 2^(m+1) items from sorted halves.
 * Its steps are named by bits, m down to 0: the step of a bit compares places
 * that differ in this bit.  The first step of a merge compares places mirrored
 * about the middle of the run, which differ in all the lower bits as well; the
 * others differ in the one bit alone.
 *
 * The places from "length" on hold nothing.  Were they filled with items
 * greater than all others, no comparison would ever move these, because all
 * go the same direction; so comparisons with such a place are left out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_BITONIC_NETWORK_CUH
#define GPUSORT_LINEAGE_BITONIC_NETWORK_CUH

#include "lineage.cuh"

namespace lineage
{

/* Which step of the network is next. */
struct NetworkStep
{
	unsigned	merge;
	unsigned	bit;

	__host__ __device__ bool
	mirrored() const
	{
		return bit == merge;
	}

	__host__ __device__ void
	advance()
	{
		if (bit > 0)
			bit--;
		else
			bit = ++merge;
	}

	/* Whether n items are sorted before this step. */
	__host__ __device__ bool
	is_beyond(uint32_t n) const
	{
		return 1u << merge >= n;
	}
};

/* Items in shared memory. */
template <typename Key, bool has_values, unsigned capacity>
struct SharedItems
{
	Key			keys[capacity];
	uint32_t	values[has_values ? capacity : 1];

	__device__ Items<Key, has_values>
	items()
	{
		return {keys, values};
	}
};

/* Copies one item. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
copy_item(Items<Key, has_values> from, uint32_t source,
		  Items<Key, has_values> to, uint32_t target)
{
	to.keys[target] = from.keys[source];
	if constexpr (has_values)
		to.values[target] = from.values[source];
}

/* Comparisons of a step, those with places beyond the end at times included. */
static constexpr __host__ __device__ uint32_t
step_pairs(uint32_t length, unsigned bit)
{
	return ((length + (2u << bit) - 1) >> (bit + 1)) << bit;
}

/* Puts the smaller of the items at two places, low < high, at the lower one. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
order_pair(Items<Key, has_values> items, uint32_t low, uint32_t high)
{
	Key			low_key = items.keys[low];
	Key			high_key = items.keys[high];

	if (low_key <= high_key)
		return;
	items.keys[low] = high_key;
	items.keys[high] = low_key;
	if constexpr (has_values)
	{
		uint32_t	low_value = items.values[low];

		items.values[low] = items.values[high];
		items.values[high] = low_value;
	}
}

/* Makes one comparison of a step, and the exchange if there is need. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
compare_pair(Items<Key, has_values> items, uint32_t length, uint32_t pair,
			 unsigned bit, bool mirrored)
{
	uint32_t	below = (1u << bit) - 1;
	uint32_t	low = pair + (pair & ~below);
	uint32_t	high = low ^ (mirrored ? 2 * below + 1 : below + 1);

	if (high < length)
		order_pair(items, low, high);
}

/*
 * Makes a step on items in shared memory.  Called by all threads of a block
 * after a barrier, and ends with one.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
block_step(Items<Key, has_values> items, uint32_t length, unsigned bit,
		   bool mirrored)
{
	uint32_t	pairs = step_pairs(length, bit);

	for (uint32_t pair = threadIdx.x; pair < pairs; pair += blockDim.x)
		compare_pair(items, length, pair, bit, mirrored);
	__syncthreads();
}

/* Sorts items in shared memory.  Called as block_step() is. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
block_network(Items<Key, has_values> items, uint32_t length)
{
	for (NetworkStep step = {0, 0}; !step.is_beyond(length); step.advance())
		block_step(items, length, step.bit, step.mirrored());
}

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_BITONIC_NETWORK_CUH */
