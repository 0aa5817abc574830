/*-------------------------------------------------------------------------
 *
 * cuda_r_quicksort.cuh
 *	  CUDA-R-quicksort, the recursive version of CUDA-quicksort: Manca et al.,
 *	  "CUDA-quicksort: an improved GPU-based implementation of quicksort"
 *	  (2015), section 5.
 *
 * The authors made it to tell apart what their partitioning and what dynamic
 * parallelism gains or costs.  A grid partitions as in CUDA-quicksort (box
 * 4.3): each block takes a tile, counts its items of either side, moves them
 * to their sides in shared memory, takes room for both by an atomic operation
 * each, and writes them there with coalesced stores.  The host, which in
 * CUDA-quicksort launches level after level, has nothing to do: the recursion
 * is that of recursive_quicksort.cuh, as in CDP-quicksort.
 *
 * Different from the paper: threads keep their items in registers between
 * counting and moving, and do not read them again.
 *
 * Must be compiled as device_launch.cuh says: -rdc=true, -lcudadevrt, CUDA 12.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_CUDA_R_QUICKSORT_CUH
#define GPUSORT_LINEAGE_CUDA_R_QUICKSORT_CUH

#include "recursive_quicksort.cuh"
#include "scan.cuh"

#if LINEAGE_DEVICE_LAUNCH

namespace lineage
{

namespace cuda_r_quicksort
{

using recursive_quicksort::EQUAL;
using recursive_quicksort::GREATER;
using recursive_quicksort::LESS;
using recursive_quicksort::PartitionJob;
using recursive_quicksort::SIDES;

#ifdef CUDA_ON_CPU

constexpr unsigned block_threads = 64;
constexpr unsigned thread_items = 3;
constexpr unsigned resident_blocks = 2;

#else

/*
 * A tile of the largest items takes 45 KiB of shared memory, so that four
 * blocks live on an SM.  Where all items of a tile are of one side, threads
 * write to shared memory thread_items places apart; an odd number of them
 * spreads these over all banks.
 */
constexpr unsigned block_threads = 256;
constexpr unsigned thread_items = 15;
constexpr unsigned resident_blocks = 4;

#endif

constexpr uint32_t tile_items = block_threads * thread_items;

static_assert(tile_items < 65536, "two counts of a tile share a word");

/* How many items of a tile, or of some threads, are of which side. */
struct Counts
{
	uint32_t	of[SIDES];

	/* From less | greater << 16, and the number of all. */
	static __device__ Counts
	unpack(uint32_t packed, uint32_t all)
	{
		uint32_t	less = packed & 0xffff;
		uint32_t	greater = packed >> 16;

		return {{less, greater, all - less - greater}};
	}
};

template <typename Key, bool has_values>
struct Partition
{
	static constexpr unsigned threads = block_threads;
	static constexpr unsigned blocks = resident_blocks;
	static constexpr uint32_t block_items = tile_items;

	struct Shared
	{
		scan::SumShared<block_threads> sums;
		uint32_t	room[SIDES];	/* where the items of each side go */
		SharedItems<Key, has_values, tile_items> tile;	/* in order of sides */
	};

	static __device__ __forceinline__ void
	run(const PartitionJob<Key, has_values> &job, Shared &shared)
	{
		const uint32_t begin = job.begin + blockIdx.x * tile_items;
		const uint32_t left = job.end - begin;
		const uint32_t length = left < tile_items ? left : tile_items;
		const Items<Key, has_values> tile = shared.tile.items();
		Key			keys[thread_items];
		uint32_t	values[thread_items];
		uint32_t	packed = 0;
		uint32_t	packed_all;

#pragma unroll
		for (unsigned item = 0; item < thread_items; item++)
		{
			uint32_t	place = item * block_threads + threadIdx.x;
			bool		is_inside = place < length;

			keys[item] = is_inside ? job.from.keys[begin + place] : job.pivot;
			values[item] = 0;
			if constexpr (has_values)
				if (is_inside)
					values[item] = job.from.values[begin + place];
		}
#pragma unroll
		for (unsigned item = 0; item < thread_items; item++)
			packed += keys[item] < job.pivot ? 1u :
				keys[item] > job.pivot ? 1u << 16 : 0;
		packed = scan::block_sum_before(packed, &packed_all, shared.sums);

		const Counts all = Counts::unpack(packed_all, length);
		const Counts before = Counts::unpack(packed, items_before(length));

		if (threadIdx.x == 0)
			for (unsigned side = 0; side < SIDES; side++)
				shared.room[side] = job.take_room(side, all.of[side]);

		uint32_t	next[SIDES] = {before.of[LESS],
			all.of[LESS] + before.of[GREATER],
			all.of[LESS] + all.of[GREATER] + before.of[EQUAL]};

#pragma unroll
		for (unsigned item = 0; item < thread_items; item++)
		{
			bool		is_less = keys[item] < job.pivot;
			bool		is_greater = keys[item] > job.pivot;
			uint32_t	target = is_less ? next[LESS] :
				is_greater ? next[GREATER] : next[EQUAL];

			next[LESS] += is_less;
			next[GREATER] += is_greater;
			next[EQUAL] += !is_less && !is_greater;
			if (item * block_threads + threadIdx.x < length)
			{
				tile.keys[target] = keys[item];
				if constexpr (has_values)
					tile.values[target] = values[item];
			}
		}
		__syncthreads();

		for (uint32_t place = threadIdx.x; place < length;
			 place += block_threads)
			put(job, shared, all, tile, place);
	}

private:
	/* Items of the tile that the threads before the calling one have. */
	static __device__ __forceinline__ uint32_t
	items_before(uint32_t length)
	{
		uint32_t	rest = length % block_threads;

		return threadIdx.x * (length / block_threads) +
			(threadIdx.x < rest ? threadIdx.x : rest);
	}

	/* Writes an item of the tile to its place in the other array. */
	static __device__ __forceinline__ void
	put(const PartitionJob<Key, has_values> &job, const Shared &shared,
		const Counts &all, const Items<Key, has_values> &tile, uint32_t place)
	{
		uint32_t	greater_begin = all.of[LESS];
		uint32_t	equal_begin = greater_begin + all.of[GREATER];
		unsigned	side = place < greater_begin ? LESS :
			place < equal_begin ? GREATER : EQUAL;
		uint32_t	side_begin = side == LESS ? 0 :
			side == GREATER ? greater_begin : equal_begin;
		uint32_t	value = 0;

		if constexpr (has_values)
			value = tile.values[place];
		job.put(side, shared.room[side] + (place - side_begin),
				tile.keys[place], value);
	}
};

}								/* namespace cuda_r_quicksort */

template <typename Key, bool has_values>
struct CudaRQuicksort
	: recursive_quicksort::Algorithm<Key, has_values,
									 cuda_r_quicksort::Partition>
{
	static constexpr const char *name = "CUDA-R-quicksort";
};

}								/* namespace lineage */

#endif							/* LINEAGE_DEVICE_LAUNCH */

#endif							/* GPUSORT_LINEAGE_CUDA_R_QUICKSORT_CUH */
