/*-------------------------------------------------------------------------
 *
 * block_partition.cuh
 *	  One block partitions one tile of a segment by the segment's pivot.
 *
 * CUDA-quicksort's kernel (Manca et al. 2015, section 4 and box 4.3): the
 * pairs less than the pivot and those greater are gathered in shared memory,
 * one atomicAdd a side claims room for them in the segment's place in the
 * other array, and they are written there by neighbouring threads to
 * neighbouring addresses.  Less grows from the front, greater from the back.
 *
 * Different from the paper:
 *
 * - A tile is read once, into registers, rather than counted and read again.
 * - Ranks come from warp ballots.  A thread's pairs lie a block's width apart,
 *	 so that reading is coalesced, and they keep no order among themselves.
 * - The paper's equal keys are one number, written again wherever there is
 *	 room; ours have rows.  Where the equal ones go is known only when the whole
 *	 segment has been partitioned.  Until then a tile's equal rows wait in the
 *	 rows of the tile itself, which nobody else reads, and the tile says how
 *	 many there are; settle_tile() takes them from there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BLOCK_PARTITION_CUH
#define GPUSORT_BLOCK_PARTITION_CUH

#include "warp_sort.cuh"
#include "workspace.cuh"

namespace gpusort
{

constexpr unsigned partition_warps = partition_threads / warp_threads;

struct PartitionShared
{
	uint64_t	words[tile_rows];	/* less, then greater */
	uint32_t	rows[tile_rows];
	uint32_t	warp_counts[partition_warps];	/* less | greater << 16 */
	uint32_t	less_at;		/* where this tile's go in the other array */
	uint32_t	greater_at;
	uint32_t	equal;			/* equal rows put aside yet */
};

/* Sum over the warp; every lane gets it. */
static __device__ __forceinline__ uint32_t
warp_sum(uint32_t value)
{
	for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
		value += __shfl_xor_sync(whole_warp, value, distance);
	return value;
}

/* Called by all threads of a block of partition_threads. */
static __device__ __forceinline__ void
partition_tile(Segment &segment, Tile &tile, Pairs from, Pairs to,
			   PartitionShared &shared)
{
	const unsigned warp = threadIdx.x / warp_threads;
	const uint64_t pivot = segment.pivot;
	const uint32_t offset = tile.number * tile_rows;
	const uint32_t begin = segment.begin + offset;
	const uint32_t left = segment.length - offset;
	const uint32_t count = left < tile_rows ? left : tile_rows;
	uint64_t	words[partition_items];
	uint32_t	rows[partition_items];

#pragma unroll
	for (unsigned item = 0; item < partition_items; item++)
	{
		uint32_t	place = item * partition_threads + threadIdx.x;

		words[item] = place < count ? from.words[begin + place] : pivot;
	}
#pragma unroll
	for (unsigned item = 0; item < partition_items; item++)
	{
		uint32_t	place = item * partition_threads + threadIdx.x;

		rows[item] = place < count ? from.rows[begin + place] : 0;
	}

	/* Count both sides: of the thread, of the warp, of all warps. */
	uint32_t	counts = 0;

#pragma unroll
	for (unsigned item = 0; item < partition_items; item++)
		counts += words[item] < pivot ? 1u : words[item] > pivot ? 1u << 16 : 0;
	counts = warp_sum(counts);
	if (warp_lane() == 0)
		shared.warp_counts[warp] = counts;
	if (threadIdx.x == 0)
		shared.equal = 0;
	__syncthreads();

	uint32_t	before = 0;
	uint32_t	total = 0;

#pragma unroll
	for (unsigned other = 0; other < partition_warps; other++)
	{
		if (other == warp)
			before = total;
		total += shared.warp_counts[other];
	}

	const uint32_t less = total & 0xffff;
	const uint32_t greater = total >> 16;
	const uint32_t equal = count - less - greater;

	/* Claim room; three warps wait for their answers side by side. */
	if (threadIdx.x == 0 && less > 0)
		shared.less_at = segment.begin + atomicAdd(&segment.less, less);
	if (threadIdx.x == warp_threads && greater > 0)
		shared.greater_at = segment.begin + segment.length - greater -
			atomicAdd(&segment.greater, greater);
	if (threadIdx.x == 2 * warp_threads && equal > 0)
	{
		tile.equal = equal;
		tile.equal_before = atomicAdd(&segment.equal, equal);
	}

	/* Gather both sides in shared memory. */
	uint32_t	less_place = before & 0xffff;
	uint32_t	greater_place = less + (before >> 16);

#pragma unroll
	for (unsigned item = 0; item < partition_items; item++)
	{
		bool		is_less = words[item] < pivot;
		bool		is_greater = words[item] > pivot;
		unsigned	less_lanes = __ballot_sync(whole_warp, is_less);
		unsigned	greater_lanes = __ballot_sync(whole_warp, is_greater);

		if (is_less || is_greater)
		{
			uint32_t	place = is_less ?
				less_place + __popc(less_lanes & lanes_before()) :
				greater_place + __popc(greater_lanes & lanes_before());

			shared.words[place] = words[item];
			shared.rows[place] = rows[item];
		}
		less_place += __popc(less_lanes);
		greater_place += __popc(greater_lanes);
	}

	/*
	 * Put the equal rows aside.  Since the barrier above every pair of the
	 * tile is in a register, so its rows may be overwritten.
	 */
	if (equal > 0)
	{
#pragma unroll
		for (unsigned item = 0; item < partition_items; item++)
		{
			uint32_t	place = item * partition_threads + threadIdx.x;
			bool		is_equal = place < count && words[item] == pivot;
			unsigned	equal_lanes = __ballot_sync(whole_warp, is_equal);
			uint32_t	aside = 0;

			if (equal_lanes == 0)
				continue;
			if (warp_lane() == 0)
				aside = atomicAdd(&shared.equal,
								  static_cast<uint32_t>(__popc(equal_lanes)));
			aside = __shfl_sync(whole_warp, aside, 0);
			if (is_equal)
				from.rows[begin + aside +
						  __popc(equal_lanes & lanes_before())] = rows[item];
		}
	}
	__syncthreads();

	for (uint32_t place = threadIdx.x; place < less + greater;
		 place += partition_threads)
	{
		uint32_t	target = place < less ? shared.less_at + place :
			shared.greater_at + (place - less);

		to.words[target] = shared.words[place];
		to.rows[target] = shared.rows[place];
	}
}

/*
 * Moves the equal rows of a partitioned tile from where they waited to their
 * place between the segment's less and greater, in the other array.  Called
 * by all lanes of a warp.
 */
static __device__ __forceinline__ void
settle_tile(const Segment &segment, const Tile &tile, Pairs from, Pairs to)
{
	uint32_t	begin = segment.begin + tile.number * tile_rows;
	uint32_t	target = segment.begin + segment.less + tile.equal_before;

	for (uint32_t place = warp_lane(); place < tile.equal;
		 place += warp_threads)
	{
		to.words[target + place] = segment.pivot;
		to.rows[target + place] = from.rows[begin + place];
	}
}

/*
 * Copies what settle_tile() moved to the same place of the sorted array,
 * where it came to lie in the spare one.  Called by all lanes of a warp.
 */
static __device__ __forceinline__ void
publish_tile(const Segment &segment, const Tile &tile, Pairs spare,
			 Pairs sorted)
{
	uint32_t	begin = segment.begin + segment.less + tile.equal_before;

	for (uint32_t place = warp_lane(); place < tile.equal;
		 place += warp_threads)
	{
		sorted.words[begin + place] = segment.pivot;
		sorted.rows[begin + place] = spare.rows[begin + place];
	}
}

}								/* namespace gpusort */

#endif							/* GPUSORT_BLOCK_PARTITION_CUH */
