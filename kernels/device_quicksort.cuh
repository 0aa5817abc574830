/*-------------------------------------------------------------------------
 *
 * device_quicksort.cuh
 *	  CUDA-quicksort with many buckets, of many segments at once, over the
 *	  whole device.
 *
 * CUDA-quicksort (Manca et al.  2015, box 4.1) works level after level.  A
 * level partitions all segments from one array into the other, and leaves
 * segments that have become short enough for the final sort.  In the paper the
 * host reads the stack of segments back after every level and launches kernels
 * for each.  Here the work list is made on the device and a level is four
 * kernels for all segments:
 *
 *	choose_splitters	the splitters of each segment
 *	count_buckets		how many rows each bucket has
 *	open_buckets		where it begins; the next level's segments; leaves
 *	scatter_tiles		each block takes tile after tile of the level's list
 *
 * Three levels are enough for 2^30 rows, and two for 100 million.  The host
 * launches the expected number of levels, one more where the last might leave
 * a bucket longer than a leaf, and the sorts of leaves, without reading
 * anything back.  Only then it asks whether segments are left.  Grids are as
 * large as the device can hold at once.
 *
 * The sort always ends; splitters.cuh says why.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_QUICKSORT_CUH
#define GPUSORT_DEVICE_QUICKSORT_CUH

#include "leaf_sort.cuh"
#include "partition.cuh"

namespace gpusort
{

/* Makes the working words of all rows. */
static __global__ void __launch_bounds__(simple_threads)
gather_words(const __grid_constant__ PlanSource source, uint64_t *words)
{
	uint32_t	row = blockIdx.x * simple_threads + threadIdx.x;

	if (row < source.keys.nrows)
		words[row] = source.word(row);
}

/*
 * Makes one segment of all rows, with its tiles; none if the survey, which the
 * host may not have read yet, has found the keys in order.
 */
static __global__ void __launch_bounds__(simple_threads)
open_whole(Level level, uint32_t nrows, const KeySurvey *survey)
{
	uint32_t	number = blockIdx.x * simple_threads + threadIdx.x;
	uint32_t	tiles = static_cast<uint32_t>(divide_up(nrows, tile_rows));

	if (survey->are_ordered())
		return;
	if (number < tiles)
		level.tiles[number] = {0, number};
	if (number == 0)
	{
		unsigned	log_buckets = choose_log_buckets(nrows);

		level.segments[0] = {0, nrows, 0, static_cast<uint16_t>(log_buckets),
			no_narrow_tree};
		*level.counts = {1, 1u << log_buckets, tiles};
	}
}

/* Makes a segment of each range longer than a leaf. */
static __global__ void __launch_bounds__(simple_threads)
open_ranges(const Range *ranges, uint32_t count, Level level)
{
	uint32_t	index = blockIdx.x * simple_threads + threadIdx.x;

	if (index < count)
		list_segment(ranges[index].begin, ranges[index].length, level);
}

/*
 * The host's side.  Its functions put work on a queue; the counters of levels
 * and of leaves must be 0 at the beginning.
 */
class DeviceQuicksort
{
public:
	DeviceQuicksort(const Queue &job_queue, const Workspace &job_space)
		: queue(job_queue), space(job_space)
	{
	}

	/*
	 * Sorts rows that are few enough for a leaf, by working words that are in
	 * the first array of pairs, into the order.
	 */
	bool
	sort_few(uint32_t nrows, const Order &order)
	{
		return queue.launch("making a leaf of all keys", open_leaf,
							divide_up(nrows, simple_threads), simple_threads,
							nrows, space.pairs[0], least_class(nrows),
							space.leaves, &space.control->leaves) &&
			sort_leaf_lists(space.leaves, &space.control->leaves,
							least_class(nrows), nrows, order);
	}

	/*
	 * Sorts all rows by the words of a source into the order; the source may
	 * be the words of the first array of pairs.  Afterwards the caller reads
	 * the control block, and finish() does what is left.
	 */
	template <typename Source>
	bool
	start(const Source &source, uint32_t nrows, const Order &order)
	{
		return queue.launch("opening the first level", open_whole,
							divide_up(divide_up(nrows, tile_rows),
									  simple_threads),
							simple_threads, space.levels[0], nrows,
							&space.control->survey) &&
			sort_levels(0, source, nrows, order);
	}

	/* Whether a control block says that there is something left. */
	bool
	is_unfinished(const Control &control, uint32_t nrows) const
	{
		return control.levels[expected_levels(nrows) % 2].segments != 0;
	}

	/*
	 * Sorts the segments that are left, and reads the control block, until
	 * none is left.
	 */
	bool
	finish(uint32_t nrows, const Order &order, Control *control)
	{
		unsigned	levels = expected_levels(nrows);

		for (unsigned number = levels;
			 control->levels[number % 2].segments != 0; number += levels)
			if (!clear(&space.control->leaves, sizeof(LeafCounts)) ||
				!sort_levels(number, PairSource{space.pairs[0]}, nrows,
							 order) ||
				!read_control(queue, space, control))
				return false;
		return true;
	}

	/*
	 * Sorts tie groups by their working words, which are in the first array of
	 * pairs, into the order.
	 */
	bool
	sort_tie_groups(const TieGroupCounts &counts, uint32_t nrows, const Order &order)
	{
		TieGroupLists	lists = space.tie_group_lists(nrows);
		Control		control;

		if (!sort_leaf_lists(lists.shorts, &space.control->tie_groups.shorts,
							 TINY_LEAF, nrows, order))
			return false;
		if (counts.longs == 0)
			return true;
		return clear(space.control->levels, sizeof(space.control->levels)) &&
			clear(&space.control->leaves, sizeof(LeafCounts)) &&
			queue.launch("opening the first level", open_ranges,
						 divide_up(counts.longs, simple_threads),
						 simple_threads, lists.longs, counts.longs,
						 space.levels[0]) &&
			sort_levels(0, PairSource{space.pairs[0]}, nrows, order) &&
			read_control(queue, space, &control) &&
			finish(nrows, order, &control);
	}

private:
	bool
	clear(void *memory, size_t bytes)
	{
		return queue.did(cudaMemsetAsync(memory, 0, bytes, queue.stream),
						 "clearing counters");
	}

	/*
	 * The least class of leaves that is used.  With few rows all leaves are in
	 * the highest class, and are sorted at once.
	 */
	static LeafClass
	least_class(uint32_t nrows)
	{
		return nrows <= few_rows ? HUGE_LEAF : TINY_LEAF;
	}

	/* Levels after which a segment of this length has become leaves. */
	unsigned
	expected_levels(uint64_t length) const
	{
		unsigned	levels = 0;

		for (; length > sure_leaf_rows && levels < max_levels_per_read;
			 levels++)
			length >>= choose_log_buckets(static_cast<uint32_t>(length));
		return levels;
	}

	/*
	 * Sorts the segments of a level into the order, in as many levels as
	 * should be enough.  The source matters only for level 0.  Odd levels
	 * leave pairs in the first array, even levels in the second.
	 */
	template <typename Source>
	bool
	sort_levels(unsigned first, const Source &source, uint32_t nrows,
				const Order &order)
	{
		unsigned	end = first + expected_levels(nrows);

		for (unsigned number = first; number < end; number++)
		{
			PairSource	pairs = {space.pairs[number % 2]};

			if (!(number == 0 ? partition_level(number, source, nrows, order) :
				  partition_level(number, pairs, nrows, order)))
				return false;
		}
		return sort_leaf_lists(space.leaves, &space.control->leaves,
							   least_class(nrows), nrows, order);
	}

	template <typename Source>
	bool
	partition_level(unsigned number, const Source &source, uint32_t nrows,
			  const Order &order)
	{
		Level		level = space.levels[number % 2];
		Level		next = space.levels[(number + 1) % 2];
		uint64_t	tiles = Workspace::max_tiles(nrows) + 1;
		uint64_t	segments = Workspace::max_segments(nrows);
		unsigned	array = (number + 1) % 2;
		Destination to = {space.pairs[array], array, order};

		return queue.launch<SampleShared>("choosing splitters",
										  choose_splitters<Source>,
										  blocks_for(segments, 4),
										  splitter_threads, level, next.counts,
										  source) &&
			queue.launch<CountShared>("counting buckets",
									  count_buckets<Source>,
									  blocks_for(tiles, 2 * partition_blocks),
									  partition_threads, level, source) &&
			queue.launch<ScanShared<simple_threads>>(
				"placing buckets", open_buckets, blocks_for(segments, 8),
				simple_threads, level, next, array, least_class(nrows),
				space.leaves, &space.control->leaves) &&
			queue.launch<ScatterShared>("scattering", scatter_tiles<Source>,
										blocks_for(tiles, partition_blocks),
										partition_threads, level, source, to);
	}

	/*
	 * Sorts the leaves that the lists have then, from the class "least" on.
	 */
	bool
	sort_leaf_lists(const LeafLists &lists, const LeafCounts *counts,
					LeafClass least, uint32_t nrows, const Order &order)
	{
		bool		all_are_huge = least == HUGE_LEAF;

		return (all_are_huge ||
				sort_smaller_leaf_lists(lists, counts, nrows, order)) &&
			sort_leaf_list<huge_leaf_rows, huge_leaf_threads>(
				lists.leaves[HUGE_LEAF], &counts->count[HUGE_LEAF],
				all_are_huge ? Workspace::max_leaves(nrows) + 1 :
				nrows / large_leaf_rows, order);
	}

	/* Sorts the leaves of all classes but the highest. */
	bool
	sort_smaller_leaf_lists(const LeafLists &lists, const LeafCounts *counts,
							uint32_t nrows, const Order &order)
	{
		constexpr unsigned warps = simple_threads / warp_threads;

		return queue.launch("sorting tiny leaves", sort_tiny_leaves,
							blocks_for(divide_up(nrows, 2 * warps), 8),
							simple_threads, lists.leaves[TINY_LEAF],
							&counts->count[TINY_LEAF], space.pairs[0],
							space.pairs[1], order) &&
			sort_leaf_list<small_leaf_rows, small_leaf_threads>(
				lists.leaves[SMALL_LEAF], &counts->count[SMALL_LEAF],
				nrows / tiny_leaf_rows, order) &&
			sort_leaf_list<medium_leaf_rows, medium_leaf_threads>(
				lists.leaves[MEDIUM_LEAF], &counts->count[MEDIUM_LEAF],
				nrows / small_leaf_rows, order) &&
			sort_leaf_list<large_leaf_rows, large_leaf_threads>(
				lists.leaves[LARGE_LEAF], &counts->count[LARGE_LEAF],
				nrows / medium_leaf_rows, order);
	}

	/* Sorts the leaves of one class, of which there may be up to "most". */
	template <unsigned capacity, unsigned threads>
	bool
	sort_leaf_list(const Leaf *leaves, const uint32_t *count, uint64_t most,
				   const Order &order)
	{
		return queue.launch<SpreadShared<capacity, threads>>(
			"sorting leaves", sort_leaves<capacity, threads>,
			blocks_for(most, 2048 / threads), threads, leaves, count,
			space.pairs[0], space.pairs[1], order);
	}

	/*
	 * A grid for work of up to "most" blocks, of which an SM holds
	 * blocks_on_sm.
	 */
	uint64_t
	blocks_for(uint64_t most, unsigned blocks_on_sm) const
	{
		uint64_t	resident = static_cast<uint64_t>(queue.multiprocessors) *
			blocks_on_sm;

		return most < resident ? most : resident;
	}

	const Queue &queue;
	const Workspace &space;
};

}								/* namespace gpusort */

#endif							/* GPUSORT_DEVICE_QUICKSORT_CUH */
