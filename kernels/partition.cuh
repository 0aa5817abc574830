/*-------------------------------------------------------------------------
 *
 * partition.cuh
 *	  One level: all its segments are split into buckets.
 *
 * This is CUDA-quicksort's way of partitioning (Manca et al.  2015, box 4.2),
 * with many buckets instead of two sides: a block gathers a tile by bucket in
 * shared memory, claims room for each bucket with one atomicAdd, and writes
 * each bucket's rows to neighbouring places.
 *
 * Two sides can grow towards each other from the ends of the segment; many
 * buckets need to know where they begin.  So a level reads its words twice:
 *
 *	count_buckets	how many rows each bucket has
 *	open_buckets	where each begins, and what becomes of it: a leaf, a
 *					segment of the next level, or nothing more
 *	scatter_tiles	the rows to their buckets
 *
 * The bucket of a word is searched for again the second time, which is cheaper
 * than to remember it (Leischner et al.  2010, section 4).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PARTITION_CUH
#define GPUSORT_PARTITION_CUH

#include "block_scan.cuh"
#include "splitters.cuh"

namespace gpusort
{

/*
 * A thread's words of a tile: every partition_threads-th word.  Words beyond
 * the end of a tile that is not whole count for a bucket that does not exist.
 */
struct TileItems
{
	uint64_t	words[partition_items];
	uint32_t	buckets[partition_items];
	uint32_t	begin;			/* the tile's first place */
	uint32_t	length;

	template <typename Source>
	__device__ __forceinline__ void
	load(const Source &source, const Segment &segment, const Tile &tile)
	{
		uint32_t	first = tile.number * tile_rows;

		begin = segment.begin + first;
		length = segment.length - first < tile_rows ?
			segment.length - first : tile_rows;
		if (length == tile_rows)
			load_words_apart<partition_items, partition_threads>(source,
				begin + threadIdx.x, words);
		else
		{
#pragma unroll
			for (unsigned i = 0; i < partition_items; i++)
				words[i] = is_inside(i) ? source.word(begin + place(i)) : 0;
		}
	}

	/* Finds the buckets of all words. */
	__device__ __forceinline__ void
	find_buckets(const SplitterTree &tree, const Segment &segment)
	{
		if (segment.shift == no_narrow_tree)
			descend(tree.nodes, segment.log_buckets, [](uint64_t word) {
				return word;
			});
		else
			descend(tree.narrow_nodes, segment.log_buckets, tree.narrow);
#pragma unroll
		for (unsigned i = 0; i < partition_items; i++)
			buckets[i] = is_inside(i) ?
				buckets[i] - (1u << segment.log_buckets) : max_buckets;
	}

	/*
	 * Finds the leaves of a tree that stand for the buckets of all words, level
	 * by level, given what the tree compares of a word.
	 */
	template <typename Node, typename Compared>
	__device__ __forceinline__ void
	descend(const Node *nodes, unsigned log_buckets, const Compared compared)
	{
		Node		own[partition_items];

#pragma unroll
		for (unsigned i = 0; i < partition_items; i++)
		{
			own[i] = compared(words[i]);
			buckets[i] = 1;
		}
		for (unsigned depth = 0; depth < log_buckets; depth++)
#pragma unroll
			for (unsigned i = 0; i < partition_items; i++)
				buckets[i] = 2 * buckets[i] +
					(own[i] >= nodes[buckets[i]] ? 1 : 0);
	}

	/*
	 * Whether the lanes of a warp mostly have words of the same bucket, as if
	 * input is in order.
	 */
	__device__ __forceinline__ bool
	is_clustered() const
	{
		unsigned	agreeing = 0;

#pragma unroll
		for (unsigned i = 0; i < partition_items;
			 i += (partition_items + 2) / 3)
			if (__all_sync(whole_warp, buckets[i] ==
						   __shfl_sync(whole_warp, buckets[i], 0)))
				agreeing++;
		return agreeing >= 2;
	}

	/* The place in the tile of this thread's item i. */
	__device__ __forceinline__ uint32_t
	place(unsigned i) const
	{
		return i * partition_threads + threadIdx.x;
	}

	__device__ __forceinline__ bool
	is_inside(unsigned i) const
	{
		return place(i) < length;
	}
};

/*
 * Adds 1 to the lane's counter in shared memory and returns what it was.
 * If all lanes have the same counter, one lane adds for all, as 32 lanes would
 * take 32 turns.
 */
static __device__ __forceinline__ uint32_t
count_clustered(uint32_t *counters, uint32_t which)
{
	uint32_t	first = __shfl_sync(whole_warp, which, 0);

	if (__all_sync(whole_warp, which == first))
	{
		uint32_t	before = 0;

		if (warp_lane() == 0)
			before = atomicAdd(&counters[which], warp_threads);
		return __shfl_sync(whole_warp, before, 0) + warp_lane();
	}
	return atomicAdd(&counters[which], 1u);
}

/* The tiles of a level that the calling block takes: neighbouring ones. */
static __device__ __forceinline__ uint32_t
first_tile_of(unsigned block, uint32_t tiles)
{
	return static_cast<uint32_t>(static_cast<uint64_t>(tiles) * block /
								 gridDim.x);
}

struct CountShared
{
	SplitterTree tree;
	uint32_t	counts[max_buckets + 1];
};

/*
 * Counts the rows of all buckets of a level.  A block adds its counts up for
 * as long as its tiles are of the same segment.
 */
template <typename Source>
static __global__ void __launch_bounds__(partition_threads)
count_buckets(Level level, Source source)
{
	CountShared &shared = block_shared<CountShared>();
	uint32_t	tiles = level.counts->tiles;
	uint32_t	last = first_tile_of(blockIdx.x + 1, tiles);
	Segment		segment = {0, 0, 0, 0, 0};
	uint32_t	current = UINT32_MAX;

	for (uint32_t number = first_tile_of(blockIdx.x, tiles); number < last;
		 number++)
	{
		Tile		tile = level.tiles[number];
		TileItems	items;

		if (tile.segment != current)
		{
			__syncthreads();
			for (unsigned bucket = threadIdx.x;
				 current != UINT32_MAX && bucket < 1u << segment.log_buckets;
				 bucket += partition_threads)
				if (shared.counts[bucket] != 0)
					atomicAdd(&level.lengths[segment.first_bucket + bucket],
							  shared.counts[bucket]);
			current = tile.segment;
			segment = level.segments[current];
			__syncthreads();
			shared.tree.load(&level.splitters[segment.first_bucket], segment);
			if (threadIdx.x < max_buckets)
				shared.counts[threadIdx.x] = 0;
			__syncthreads();
		}

		items.load(source, segment, tile);
		items.find_buckets(shared.tree, segment);
#pragma unroll
		for (unsigned i = 0; i < partition_items; i++)
			atomicAdd(&shared.counts[items.buckets[i]], 1u);
	}
	__syncthreads();
	if (current != UINT32_MAX && threadIdx.x < 1u << segment.log_buckets &&
		shared.counts[threadIdx.x] != 0)
		atomicAdd(&level.lengths[segment.first_bucket + threadIdx.x],
				  shared.counts[threadIdx.x]);
}

/* Where the rows of a level go. */
struct Destination
{
	Pairs		pairs;
	uint32_t	array;			/* which of the two that is */
	Order		order;
};

/* Adds a segment to a level. */
static __device__ __forceinline__ void
list_segment(uint32_t begin, uint32_t length, Level level)
{
	unsigned	log_buckets = choose_log_buckets(length);
	uint32_t	tiles = static_cast<uint32_t>(divide_up(length, tile_rows));
	uint32_t	index = atomicAdd(&level.counts->segments, 1u);
	uint32_t	first_bucket = atomicAdd(&level.counts->buckets,
										 1u << log_buckets);
	uint32_t	first_tile = atomicAdd(&level.counts->tiles, tiles);

	level.segments[index] = {begin, length, first_bucket,
		static_cast<uint16_t>(log_buckets), no_narrow_tree};
	for (uint32_t number = 0; number < tiles; number++)
		level.tiles[first_tile + number] = {index, number};
}

/* Adds a leaf to the list of its class, or of the least class that is used. */
static __device__ __forceinline__ void
list_leaf(uint32_t begin, uint32_t length, uint32_t array, LeafClass least,
		  LeafLists leaves, LeafCounts *counts)
{
	LeafClass	own_class = leaf_class(length);
	LeafClass	its_class = own_class < least ? least : own_class;
	uint32_t	index = atomicAdd(&counts->count[its_class], 1u);

	/* indexing by a variable would put the lists into local memory */
#pragma unroll
	for (int number = 0; number < LEAF_CLASSES; number++)
		if (its_class == number)
			leaves.leaves[number][index] = {begin,
				static_cast<uint16_t>(length), static_cast<uint16_t>(array)};
}

/*
 * Places the buckets of a level, a block a segment, and lists them as leaves
 * or segments.
 */
static __global__ void __launch_bounds__(simple_threads)
open_buckets(Level level, Level next, uint32_t array, LeafClass least,
			 LeafLists leaves, LeafCounts *leaf_counts)
{
	ScanShared<simple_threads> &shared =
		block_shared<ScanShared<simple_threads>>();

	for (uint32_t index = blockIdx.x; index < level.counts->segments;
		 index += gridDim.x)
	{
		Segment		segment = level.segments[index];
		unsigned	bucket = threadIdx.x;
		bool		is_bucket = bucket < 1u << segment.log_buckets;
		uint32_t	length = is_bucket ?
			level.lengths[segment.first_bucket + bucket] : 0;

		__syncthreads();

		uint32_t	begin = segment.begin + block_sum_before(length, shared);

		if (!is_bucket)
			continue;
		level.begins[segment.first_bucket + bucket] = begin;
		if (length == 0 ||
			is_equality_bucket(&level.splitters[segment.first_bucket],
							   segment.log_buckets, bucket))
			continue;
		if (length > leaf_rows)
			list_segment(begin, length, next);
		else
			list_leaf(begin, length, array, least, leaves, leaf_counts);
	}
}

struct ScatterShared
{
	uint64_t	words[tile_rows];
	uint32_t	rows[tile_rows];
	uint8_t		buckets[tile_rows];
	SplitterTree tree;
	uint32_t	counts[max_buckets + 1];
	uint32_t	begins[max_buckets];	/* in the gathered tile */
	uint32_t	offsets[max_buckets];	/* from there to the destination */
	bool		is_equality[max_buckets];
	ScanShared<partition_threads> scan;
};

/*
 * Claims room for the tile's rows of each bucket, and lays the buckets out in
 * the tile.  Called by all threads of the block, between two barriers.
 */
static __device__ __forceinline__ void
claim_room(const Level &level, const Segment &segment, const Order &order,
		   ScatterShared &shared)
{
	unsigned	bucket = threadIdx.x;
	bool		is_bucket = bucket < 1u << segment.log_buckets;
	uint32_t	count = is_bucket ? shared.counts[bucket] : 0;
	uint32_t	begin = block_sum_before(count, shared.scan);
	uint32_t	number = segment.first_bucket + bucket;

	if (!is_bucket)
		return;
	shared.begins[bucket] = begin;
	if (count == 0)
		return;
	shared.is_equality[bucket] =
		is_equality_bucket(&level.splitters[segment.first_bucket],
						   segment.log_buckets, bucket);
	shared.offsets[bucket] = level.begins[number] +
		atomicAdd(&level.filled[number], count) - begin;
	if (shared.is_equality[bucket] && level.lengths[number] > 1)
		*order.has_ties = 1;
}

/* The rows that belong to a tile's words. */
template <typename Source>
static __device__ __forceinline__ void
load_rows(const Source &source, const TileItems &items,
		  uint32_t (&rows)[partition_items])
{
	if (items.length == tile_rows)
		load_rows_apart<partition_items, partition_threads>(source,
			items.begin + threadIdx.x, rows);
	else
	{
#pragma unroll
		for (unsigned i = 0; i < partition_items; i++)
			rows[i] = items.is_inside(i) ?
				source.row(items.begin + items.place(i)) : 0;
	}
}

/* Has the words of a tile read into the cache; called by a warp. */
template <typename Source>
static __device__ __forceinline__ void
prefetch_tile(const Level &level, const Source &source, uint32_t number)
{
	Tile		tile = level.tiles[number];
	Segment		segment = level.segments[tile.segment];
	uint32_t	first = tile.number * tile_rows;
	uint32_t	length = segment.length - first < tile_rows ?
		segment.length - first : tile_rows;

	source.prefetch(segment.begin + first, length);
}

/* Moves the pairs of all tiles of a level to their buckets. */
template <typename Source>
static __global__ void __launch_bounds__(partition_threads, partition_blocks)
scatter_tiles(Level level, Source source, Destination to)
{
	ScatterShared &shared = block_shared<ScatterShared>();
	uint32_t	tiles = level.counts->tiles;

	/*
	 * All blocks take tiles near each other, so that their writes to a bucket
	 * meet in the cache.
	 */
	for (uint32_t number = blockIdx.x; number < tiles; number += gridDim.x)
	{
		Tile		tile = level.tiles[number];
		Segment		segment = level.segments[tile.segment];
		TileItems	items;
		uint32_t	rows[partition_items];

		__syncthreads();
		shared.tree.load(&level.splitters[segment.first_bucket], segment);
		if (threadIdx.x < max_buckets)
			shared.counts[threadIdx.x] = 0;
		items.load(source, segment, tile);
		__syncthreads();
		if (number + gridDim.x < tiles && threadIdx.x < warp_threads)
			prefetch_tile(level, source, number + gridDim.x);

		/*
		 * The bucket of an item, and in the bits above it how many items of
		 * the bucket came before.
		 */
		items.find_buckets(shared.tree, segment);
		if (items.is_clustered())
		{
#pragma unroll
			for (unsigned i = 0; i < partition_items; i++)
				items.buckets[i] |= count_clustered(shared.counts,
													items.buckets[i]) << 16;
		}
		else
		{
#pragma unroll
			for (unsigned i = 0; i < partition_items; i++)
				items.buckets[i] |= atomicAdd(&shared.counts[items.buckets[i]],
											  1u) << 16;
		}
		__syncthreads();
		claim_room(level, segment, to.order, shared);
		__syncthreads();

#pragma unroll
		for (unsigned i = 0; i < partition_items; i++)
			if (items.is_inside(i))
			{
				uint32_t	bucket = items.buckets[i] & 0xffff;
				uint32_t	place = shared.begins[bucket] +
					(items.buckets[i] >> 16);

				shared.words[place] = items.words[i];
				shared.buckets[place] = static_cast<uint8_t>(bucket);
				items.buckets[i] = place;
			}
		load_rows(source, items, rows);
#pragma unroll
		for (unsigned i = 0; i < partition_items; i++)
			if (items.is_inside(i))
				shared.rows[items.buckets[i]] = rows[i];
		__syncthreads();

		for (uint32_t place = threadIdx.x; place < items.length;
			 place += partition_threads)
		{
			uint32_t	bucket = shared.buckets[place];
			uint32_t	target = shared.offsets[bucket] + place;

			if (shared.is_equality[bucket])
				to.order.put(target, shared.rows[place],
							 target != level.begins[segment.first_bucket +
													bucket]);
			else
			{
				to.pairs.words[target] = shared.words[place];
				to.pairs.rows[target] = shared.rows[place];
			}
		}
	}
}

}								/* namespace gpusort */

#endif							/* GPUSORT_PARTITION_CUH */
