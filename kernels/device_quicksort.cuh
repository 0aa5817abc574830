/*-------------------------------------------------------------------------
 *
 * device_quicksort.cuh
 *	  Two-way CUDA-quicksort of many segments at once, over the whole device.
 *
 * CUDA-quicksort (Manca et al. 2015, box 4.1): level after level, all segments
 * are partitioned by their pivots from one array into the other, and what has
 * become short enough is left for the final sort.  The paper's host reads the
 * stack of segments back after every level and launches kernels for each.
 * Here the work list is made on the device and a level is two kernels for all
 * segments, or three:
 *
 *	partition_tiles		each block takes tile after tile of the level's list
 *	close_level			equal pairs to their places; segments and tiles of
 *						the next level, with pivots; leaves
 *	publish_equal		after levels that partition into the spare array:
 *						equal pairs into the sorted one
 *
 * The host launches a few levels ahead of what it knows, then looks how many
 * segments are left.  Grids are as large as the device can hold at once and
 * not larger than the work can be.
 *
 * Pairs equal to a pivot leave the recursion, so it ends whatever the input:
 * every level takes at least the pivot out of each segment.  Leaves are left
 * lying where they are, in either array, until the host looks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_QUICKSORT_CUH
#define GPUSORT_DEVICE_QUICKSORT_CUH

#include "block_partition.cuh"
#include "block_sort.cuh"
#include "pivot.cuh"
#include "workspace.cuh"

namespace gpusort
{

constexpr unsigned simple_warps = simple_threads / warp_threads;

/* The calling warp's number among all warps of the grid, and how many. */
static __device__ __forceinline__ unsigned
grid_warp()
{
	return blockIdx.x * (blockDim.x / warp_threads) +
		threadIdx.x / warp_threads;
}

static __device__ __forceinline__ unsigned
grid_warps()
{
	return gridDim.x * (blockDim.x / warp_threads);
}

/*
 * Adds a segment longer than a leaf to a level: pivot and tiles.  Called by
 * all lanes of a warp.
 */
static __device__ __forceinline__ void
add_segment(Level level, const uint64_t *words, uint32_t begin,
			uint32_t length)
{
	uint64_t	pivot = choose_pivot(words, begin, length);
	uint32_t	tiles = static_cast<uint32_t>(divide_up(length, tile_rows));
	uint32_t	index = 0;
	uint32_t	first_tile = 0;

	if (warp_lane() == 0)
	{
		index = atomicAdd(&level.counts->segments, 1u);
		first_tile = atomicAdd(&level.counts->tiles, tiles);
		level.segments[index] = {pivot, begin, length, 0, 0, 0};
	}
	index = __shfl_sync(whole_warp, index, 0);
	first_tile = __shfl_sync(whole_warp, first_tile, 0);
	for (uint32_t number = warp_lane(); number < tiles; number += warp_threads)
		level.tiles[first_tile + number] = {index, number, 0, 0};
}

/* Makes level 0 of ranges longer than a leaf in the sorted array. */
static __global__ void __launch_bounds__(simple_threads)
open_ranges(const Range *ranges, uint32_t count, Level level, Pairs sorted)
{
	uint32_t	index = grid_warp();

	if (index < count)
		add_segment(level, sorted.words, ranges[index].begin,
					ranges[index].length);
}

/*
 * Partitions all tiles of a level.  Also clears the counters of the next one:
 * the kernel before this was the last to need what they said of the previous.
 */
static __global__ void __launch_bounds__(partition_threads, partition_blocks)
partition_tiles(Level level, LevelCounts *next, Pairs from, Pairs to)
{
	PartitionShared &shared = block_shared<PartitionShared>();
	uint32_t	tiles = level.counts->tiles;

	if (blockIdx.x == 0 && threadIdx.x == 0)
		*next = {0, 0};

	/*
	 * No barrier between two tiles: what a tile writes to shared memory
	 * before its first barrier, nobody reads after the second of the tile
	 * before.
	 */
	for (uint32_t index = blockIdx.x; index < tiles; index += gridDim.x)
	{
		Tile	   &tile = level.tiles[index];

		partition_tile(level.segments[tile.segment], tile, from, to, shared);
	}
}

/* Less or greater of a partitioned segment: a segment or a leaf, or nothing. */
static __device__ __forceinline__ void
add_side(const Segment &parent, bool is_greater, Level next, LeafLists leaves,
		 LeafCounts *leaf_counts, Pairs pairs, bool is_spare)
{
	uint32_t	length = is_greater ? parent.greater : parent.less;
	uint32_t	begin = parent.begin +
		(is_greater ? parent.length - length : 0);

	if (length > leaf_rows)
		add_segment(next, pairs.words, begin, length);
	else if (warp_lane() == 0 && length > 0 && (length > 1 || is_spare))
	{
		LeafClass	its_class = leaf_class(length);
		uint32_t	index = atomicAdd(&leaf_counts->count[its_class], 1u);

		leaves.of(its_class)[index] =
			{begin, static_cast<uint16_t>(length), is_spare};
	}
}

static __global__ void __launch_bounds__(simple_threads)
close_level(Level level, Level next, LeafLists leaves, LeafCounts *leaf_counts,
			Pairs from, Pairs to, bool to_spare)
{
	uint32_t	tiles = level.counts->tiles;
	uint32_t	segments = level.counts->segments;

	for (uint32_t side = grid_warp(); side < 2 * segments; side += grid_warps())
		add_side(level.segments[side / 2], side % 2 != 0, next, leaves,
				 leaf_counts, to, to_spare);

	for (uint32_t index = grid_warp(); index < tiles; index += grid_warps())
		settle_tile(level.segments[level.tiles[index].segment],
					level.tiles[index], from, to);
}

static __global__ void __launch_bounds__(simple_threads)
publish_equal(Level level, Pairs spare, Pairs sorted)
{
	uint32_t	tiles = level.counts->tiles;

	for (uint32_t index = grid_warp(); index < tiles; index += grid_warps())
		publish_tile(level.segments[level.tiles[index].segment],
					 level.tiles[index], spare, sorted);
}

/* A warp a leaf. */
static __global__ void __launch_bounds__(simple_threads)
sort_tiny_leaves(const Leaf *leaves, uint32_t count, Pairs sorted, Pairs spare)
{
	uint32_t	index = grid_warp();

	if (index >= count)
		return;

	Leaf		leaf = leaves[index];
	Pairs		from = leaf.is_spare ? spare : sorted;
	uint32_t	place = leaf.begin + warp_lane();
	bool		is_inside = warp_lane() < leaf.length;
	uint64_t	word = is_inside ? from.words[place] : 0;
	uint32_t	row = is_inside ? from.rows[place] : 0;

	warp_sort(word, row, leaf.length);
	if (is_inside)
	{
		sorted.words[place] = word;
		sorted.rows[place] = row;
	}
}

/* A block a leaf. */
template <unsigned capacity, unsigned threads>
static __global__ void __launch_bounds__(threads)
sort_leaves(const Leaf *leaves, Pairs sorted, Pairs spare)
{
	Leaf		leaf = leaves[blockIdx.x];

	sort_leaf<capacity, threads>(leaf, leaf.is_spare ? spare : sorted, sorted,
								 block_shared<BlockSortShared<capacity>>());
}

/* The host's side.  One object a job; its functions only put work on a queue. */
class DeviceQuicksort
{
public:
	DeviceQuicksort(const Queue &job_queue, const Workspace &job_space,
					uint64_t job_rows)
		: queue(job_queue), space(job_space), nrows(job_rows)
	{
	}

	/*
	 * Sorts runs by their working words, which are in the sorted array.  The
	 * control block's counters, but for those of the runs, must be zero.
	 */
	bool
	sort_runs(const RunCounts &counts)
	{
		RunLists	lists = space.run_lists(nrows);

		return sort_leaf_lists(lists.shorts, counts.shorts) &&
			(counts.longs == 0 || sort_ranges(lists.longs, counts.longs));
	}

	/* Reads the control block; the queue is empty afterwards. */
	bool
	look(Control *control)
	{
		return queue.did(cudaMemcpyAsync(control, space.control,
										 sizeof(*control),
										 cudaMemcpyDeviceToHost,
										 queue.stream),
						 "reading a sort's counters") &&
			queue.did(cudaStreamSynchronize(queue.stream), "sorting");
	}

private:
	bool
	sort_ranges(const Range *ranges, uint32_t count)
	{
		if (!queue.launch("opening the first level", open_ranges,
						  divide_up(count, simple_warps), simple_threads,
						  ranges, count, space.level(0), space.sorted))
			return false;

		for (unsigned number = 0;; number += levels_per_look)
		{
			Control		control;

			for (unsigned i = 0; i < levels_per_look; i++)
				if (!run_level(number + i))
					return false;
			if (!look(&control))
				return false;

			if (!sort_leaf_lists(space.leaves, control.leaves) ||
				!queue.did(cudaMemsetAsync(&space.control->leaves, 0,
										   sizeof(LeafCounts), queue.stream),
						   "clearing the lists of leaves"))
				return false;
			if (control.levels[number % 2].segments == 0)
				return true;
		}
	}

	bool
	run_level(unsigned number)
	{
		bool		to_spare = number % 2 == 0;
		Level		level = space.level(number);
		Level		next = space.level(number + 1);
		Pairs		from = to_spare ? space.sorted : space.spare;
		Pairs		to = to_spare ? space.spare : space.sorted;
		uint64_t	tiles = Workspace::max_tiles(nrows);

		return queue.launch<PartitionShared>("partitioning", partition_tiles,
											 blocks_for(tiles,
														partition_blocks),
											 partition_threads, level,
											 next.counts, from, to) &&
			queue.launch("closing a level", close_level,
						 blocks_for(divide_up(tiles, simple_warps),
									simple_blocks),
						 simple_threads, level, next, space.leaves,
						 &space.control->leaves, from, to, to_spare) &&
			(!to_spare ||
			 queue.launch("publishing equal rows", publish_equal,
						  blocks_for(divide_up(tiles, simple_warps),
									 simple_blocks),
						  simple_threads, level, to, from));
	}

	bool
	sort_leaf_lists(const LeafLists &lists, const LeafCounts &counts)
	{
		return queue.launch("sorting tiny leaves", sort_tiny_leaves,
							divide_up(counts.count[TINY_LEAF], simple_warps),
							simple_threads, lists.leaves[TINY_LEAF],
							counts.count[TINY_LEAF], space.sorted,
							space.spare) &&
			sort_leaf_list<medium_leaf_rows, medium_leaf_threads>(
				lists.leaves[MEDIUM_LEAF], counts.count[MEDIUM_LEAF]) &&
			sort_leaf_list<large_leaf_rows, large_leaf_threads>(
				lists.leaves[LARGE_LEAF], counts.count[LARGE_LEAF]);
	}

	template <unsigned capacity, unsigned threads>
	bool
	sort_leaf_list(const Leaf *leaves, uint32_t count)
	{
		return queue.launch<BlockSortShared<capacity>>(
			"sorting leaves", sort_leaves<capacity, threads>, count, threads,
			leaves, space.sorted, space.spare);
	}

	/* A grid for work of up to "most" blocks, so many of them on an SM. */
	uint64_t
	blocks_for(uint64_t most, unsigned blocks_on_sm) const
	{
		uint64_t	resident = static_cast<uint64_t>(queue.multiprocessors) *
			blocks_on_sm;

		return most < resident ? most : resident;
	}

	/* Simple kernels fill an SM's 2048 threads with this many blocks. */
	static constexpr unsigned simple_blocks = 2048 / simple_threads;

	const Queue &queue;
	const Workspace &space;
	uint64_t	nrows;
};

}								/* namespace gpusort */

#endif							/* GPUSORT_DEVICE_QUICKSORT_CUH */
