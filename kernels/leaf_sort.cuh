/*-------------------------------------------------------------------------
 *
 * leaf_sort.cuh
 *	  Sorting leaves in shared memory.
 *
 * spread_sort.cuh sorts what a block can hold; the kernels here sort the
 * leaves of a list by it.  A warp each sorts the tiniest leaves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LEAF_SORT_CUH
#define GPUSORT_LEAF_SORT_CUH

#include "partition.cuh"
#include "spread_sort.cuh"

namespace gpusort
{

/* Blocks with this many threads that sort leaves on an SM. */
static constexpr unsigned
leaf_blocks(unsigned threads)
{
	return threads == huge_leaf_threads ? huge_leaf_blocks :
		leaf_sm_threads / threads;
}

/* Sorts all leaves of a list, a block a leaf, into the order. */
template <unsigned capacity, unsigned threads>
static __global__ void __launch_bounds__(threads, leaf_blocks(threads))
sort_leaves(const Leaf *leaves, const uint32_t *count, Pairs first,
			Pairs second, Order order)
{
	auto	   &shared = block_shared<SpreadShared<capacity, threads>>();
	bool		has_ties = false;

	for (uint32_t index = blockIdx.x; index < *count; index += gridDim.x)
	{
		Leaf		leaf = leaves[index];
		Pairs		from = leaf.array == 0 ? first : second;

		spread_sort(
			leaf.length, shared,
			[&](unsigned place, uint64_t &word, uint32_t &row) {
				word = from.words[leaf.begin + place];
				row = from.rows[leaf.begin + place];
			},
			[&](unsigned place, uint64_t, uint32_t row, bool is_tie) {
				order.put(leaf.begin + place, row, is_tie);
				has_ties |= is_tie;
			});
	}
	order.note_ties(has_ties);
}

/* Sorts all leaves of a list, a warp a leaf, into the order. */
static __global__ void __launch_bounds__(simple_threads)
sort_tiny_leaves(const Leaf *leaves, const uint32_t *count, Pairs first,
				 Pairs second, Order order)
{
	constexpr unsigned warps = simple_threads / warp_threads;
	bool		has_ties = false;

	for (uint32_t index = blockIdx.x * warps + threadIdx.x / warp_threads;
		 index < *count; index += gridDim.x * warps)
	{
		Leaf		leaf = leaves[index];
		Pairs		from = leaf.array == 0 ? first : second;
		uint32_t	place = leaf.begin + warp_lane();
		bool		is_inside = warp_lane() < leaf.length;
		uint64_t	word = is_inside ? from.words[place] : 0;
		uint32_t	row = is_inside ? from.rows[place] : 0;

		warp_sort(word, row, leaf.length);

		uint64_t	previous = __shfl_up_sync(whole_warp, word, 1);
		bool		is_tie = is_inside && warp_lane() > 0 && word == previous;

		if (is_inside)
			order.put(place, row, is_tie);
		has_ties |= is_tie;
	}
	order.note_ties(has_ties);
}

/* Makes one leaf of all working words, if these are few enough. */
static __global__ void __launch_bounds__(simple_threads)
open_leaf(uint32_t nrows, Pairs pairs, LeafClass least, LeafLists leaves,
		  LeafCounts *counts)
{
	uint32_t	row = blockIdx.x * simple_threads + threadIdx.x;

	if (row == 0)
		list_leaf(0, nrows, 0, least, leaves, counts);
	if (row < nrows)
		pairs.rows[row] = row;
}

}								/* namespace gpusort */

#endif							/* GPUSORT_LEAF_SORT_CUH */
