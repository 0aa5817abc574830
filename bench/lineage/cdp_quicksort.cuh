/*-------------------------------------------------------------------------
 *
 * cdp_quicksort.cuh
 *	  CDP-quicksort, NVIDIA's quicksort by dynamic parallelism, as described by
 *	  Manca et al., "CUDA-quicksort: an improved GPU-based implementation of
 *	  quicksort" (2015), sections 3 and 4.
 *
 * Every warp partitions items of its own.  Votes tell each lane how many of
 * the items before its own go to the same side, one atomic operation a side
 * takes room for the warp's, and the lanes write them there: neighbouring
 * lanes to two places that may be far apart.  Nothing goes through shared
 * memory.  The recursion is that of recursive_quicksort.cuh.
 *
 * A block has 512 threads, as in the paper (figure 9).  A lane has several
 * items, which the paper leaves open; that makes the atomic operations fewer,
 * all of which meet at the same two counters.  The paper finds that
 * CDP-quicksort also suffers from its pivots, without saying what they are,
 * and from a slow bitonic sort for short sequences; here it has those of
 * CUDA-R-quicksort.
 *
 * Must be compiled as device_launch.cuh says: -rdc=true, -lcudadevrt, CUDA 12.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_CDP_QUICKSORT_CUH
#define GPUSORT_LINEAGE_CDP_QUICKSORT_CUH

#include "recursive_quicksort.cuh"
#include "scan.cuh"

#if LINEAGE_DEVICE_LAUNCH

namespace lineage
{

namespace cdp_quicksort
{

using gpusort::lanes_before;
using gpusort::warp_lane;
using gpusort::warp_threads;
using gpusort::whole_warp;
using recursive_quicksort::EQUAL;
using recursive_quicksort::GREATER;
using recursive_quicksort::LESS;
using recursive_quicksort::PartitionJob;
using recursive_quicksort::SIDES;

#ifdef CUDA_ON_CPU

constexpr unsigned block_threads = 64;
constexpr unsigned resident_blocks = 2;
constexpr unsigned lane_items = 2;

#else

/* Two blocks live on an SM of any chip; some have no room for three. */
constexpr unsigned block_threads = 512;
constexpr unsigned resident_blocks = 2;
constexpr unsigned lane_items = 4;

#endif

constexpr uint32_t warp_items = warp_threads * lane_items;

template <typename Key, bool has_values>
struct Partition
{
	static constexpr unsigned threads = block_threads;
	static constexpr unsigned blocks = resident_blocks;
	static constexpr uint32_t block_items = block_threads * lane_items;

	struct Shared
	{
	};

	static __device__ __forceinline__ void
	run(const PartitionJob<Key, has_values> &job, Shared &)
	{
		const unsigned lane = warp_lane();
		const uint32_t first = job.begin + blockIdx.x * block_items +
			threadIdx.x / warp_threads * warp_items + lane;
		Key			keys[lane_items];
		uint32_t	values[lane_items];
		unsigned	sides[lane_items];
		uint32_t	counts[SIDES] = {};
		uint32_t	room = 0;

#pragma unroll
		for (unsigned item = 0; item < lane_items; item++)
		{
			uint32_t	place = first + item * warp_threads;
			bool		is_inside = place < job.end;

			keys[item] = is_inside ? job.from.keys[place] : job.pivot;
			values[item] = 0;
			if constexpr (has_values)
				values[item] = is_inside ? job.from.values[place] : 0;
			sides[item] = SIDES;
			if (is_inside)
				sides[item] = job.side_of(keys[item]);
		}

#pragma unroll
		for (unsigned item = 0; item < lane_items; item++)
#pragma unroll
			for (unsigned side = 0; side < SIDES; side++)
				counts[side] += __popc(__ballot_sync(whole_warp,
													 sides[item] == side));

		/* A lane a side. */
		uint32_t	count = lane == LESS ? counts[LESS] :
			lane == GREATER ? counts[GREATER] : counts[EQUAL];

		if (lane < SIDES && count > 0)
			room = job.take_room(lane, count);

#pragma unroll
		for (unsigned side = 0; side < SIDES; side++)
		{
			uint32_t	next = __shfl_sync(whole_warp, room, side);

#pragma unroll
			for (unsigned item = 0; item < lane_items; item++)
			{
				unsigned	lanes = __ballot_sync(whole_warp,
												  sides[item] == side);

				if (sides[item] == side)
					job.put(side, next + __popc(lanes & lanes_before()),
							keys[item], values[item]);
				next += __popc(lanes);
			}
		}
	}
};

}								/* namespace cdp_quicksort */

template <typename Key, bool has_values>
struct CdpQuicksort
	: recursive_quicksort::Algorithm<Key, has_values, cdp_quicksort::Partition>
{
	static constexpr const char *name = "CDP-quicksort";
};

}								/* namespace lineage */

#endif							/* LINEAGE_DEVICE_LAUNCH */

#endif							/* GPUSORT_LINEAGE_CDP_QUICKSORT_CUH */
