/*-------------------------------------------------------------------------
 *
 * merge_path_sort.cuh
 *	  Merge sort by GPU Merge Path: Green, McColl and Bader, "GPU Merge Path"
 *	  (2012); Odeh, Green, Mwassi, Shmueli and Birk, "Merge Path" (2012).
 *
 * Tiles are sorted, and then every two neighbouring runs are merged from one
 * array into the other, round after round: for n runs there are log2(n) rounds,
 * rounded up.  A last run without a partner is copied.
 *
 * The order in which a merge takes from its two runs is a path through a grid,
 * a step right for an item of the left run and a step down for one of the right
 * run.  After d steps it is on diagonal d, and where it crosses that can be
 * found by a binary search without the steps before.  So the output is divided
 * into tiles of the same length whatever the keys are:
 *
 *	find_splits		where the path crosses the diagonal on which each tile
 *					begins, a thread a tile
 *	merge_tiles		a block a tile: loads its part of both runs into shared
 *					memory; each thread finds where the path crosses its own
 *					diagonal and goes on from there, a few steps; all write
 *
 * Different from the paper:
 *
 * - Its blocks move a window along their diagonal and are as many as the device
 *	 runs at once.  Here a block has one tile, which needs no window.
 *
 * - What threads note first is where each item of the output lies in shared
 *	 memory, 2 bytes an item, so that the items themselves go from there to
 *	 neighbouring places by neighbouring threads and never through registers.
 *
 * - The papers merge; what sorts the first runs they leave open.  It is a
 *	 bitonic network.
 *
 * A round reads and writes every item once.  Of equal keys that of the left run
 * comes first, but the network keeps no such order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_MERGE_PATH_SORT_CUH
#define GPUSORT_LINEAGE_MERGE_PATH_SORT_CUH

#include "quicksort.cuh"

namespace lineage
{

namespace merge_path
{

#ifdef CUDA_ON_CPU

constexpr unsigned split_threads = 64;
constexpr unsigned merge_threads = 64;
constexpr unsigned merge_items = 3;
constexpr unsigned resident_tiles = 2;

#else

constexpr unsigned split_threads = 256;

/*
 * A tile of 256 * 15 items takes up to 54 KB of shared memory, so that four
 * blocks live on an SM of 227 KiB.  With an odd number a thread, neighbours
 * begin in different banks.
 */
constexpr unsigned merge_threads = 256;
constexpr unsigned merge_items = 15;
constexpr unsigned resident_tiles = 4;

#endif

constexpr uint32_t tile_items = merge_threads * merge_items;

static_assert(tile_items < 65536, "a place in a tile has 16 bits");

/*
 * Two neighbouring runs, from "begin" and from "middle" on.  All runs have the
 * same number of tiles but for the last, which may be shorter; a last one that
 * is alone is a left run without a right one.
 */
struct RunPair
{
	uint32_t	begin;
	uint32_t	middle;
	uint32_t	end;

	/* The one that a tile belongs to. */
	static __device__ __forceinline__ RunPair
	of_tile(uint32_t tile, uint32_t run_tiles, uint32_t n)
	{
		uint64_t	first = tile - tile % (2 * run_tiles);
		uint64_t	middle = (first + run_tiles) * tile_items;
		uint64_t	end = (first + 2 * run_tiles) * tile_items;

		return {static_cast<uint32_t>(first * tile_items),
			static_cast<uint32_t>(middle < n ? middle : n),
			static_cast<uint32_t>(end < n ? end : n)};
	}
};

/* How many of the first "diagonal" items of a merge are of the left run. */
template <typename Key>
static __device__ __forceinline__ uint32_t
find_split(const Key *left, uint32_t left_length, const Key *right,
		   uint32_t right_length, uint32_t diagonal)
{
	uint32_t	low = diagonal > right_length ? diagonal - right_length : 0;
	uint32_t	high = diagonal < left_length ? diagonal : left_length;

	while (low < high)
	{
		uint32_t	middle = (low + high) / 2;

		if (left[middle] <= right[diagonal - 1 - middle])
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Finds how much of its left run comes before each tile. */
template <typename Key>
static __global__ void __launch_bounds__(split_threads)
find_splits(const Key *keys, uint32_t n, uint32_t run_tiles, uint32_t *splits)
{
	uint32_t	tile = blockIdx.x * split_threads + threadIdx.x;

	if (tile >= divide_up(n, tile_items))
		return;

	RunPair		runs = RunPair::of_tile(tile, run_tiles, n);

	splits[tile] = find_split(keys + runs.begin, runs.middle - runs.begin,
							  keys + runs.middle, runs.end - runs.middle,
							  tile * tile_items - runs.begin);
}

/* What a tile is made of: parts of a left and a right run. */
struct MergeTile
{
	uint32_t	begin;			/* its first place in the output */
	uint32_t	length;
	uint32_t	left;			/* the first place of its part of the left run */
	uint32_t	left_length;
	uint32_t	right;

	static __device__ __forceinline__ MergeTile
	of(uint32_t number, uint32_t n, uint32_t run_tiles, const uint32_t *splits)
	{
		RunPair		runs = RunPair::of_tile(number, run_tiles, n);
		uint32_t	begin = number * tile_items;
		bool		is_last = runs.end - begin <= tile_items;
		uint32_t	length = is_last ? runs.end - begin : tile_items;
		uint32_t	split = splits[number];
		uint32_t	next_split = is_last ? runs.middle - runs.begin :
			splits[number + 1];

		return {begin, length, runs.begin + split, next_split - split,
			runs.middle + (begin - runs.begin) - split};
	}

	/* Where an item is that gets to a place in shared memory. */
	__device__ __forceinline__ uint32_t
	origin(uint32_t place) const
	{
		return place < left_length ? left + place :
			right + (place - left_length);
	}
};

template <typename Key, bool has_values>
struct MergeShared
{
	/* The left part, the right part, and a place that is read for nothing. */
	SharedItems<Key, has_values, tile_items + 1> local;

	/* By place in the output: where the item is. */
	uint16_t	sources[tile_items];
};

/*
 * Finds where each item of this thread's share of a tile comes from.  Called
 * between two barriers.
 */
template <typename Key>
static __device__ __forceinline__ void
merge_share(const MergeTile &tile, const Key *keys, uint16_t *sources)
{
	uint32_t	diagonal = threadIdx.x * merge_items;
	uint32_t	end = diagonal + merge_items < tile.length ?
		diagonal + merge_items : tile.length;

	if (diagonal >= end)
		return;

	/* The next items of both parts. */
	uint32_t	left = find_split(keys, tile.left_length,
								  keys + tile.left_length,
								  tile.length - tile.left_length, diagonal);
	uint32_t	right = tile.left_length + diagonal - left;
	Key			left_key = keys[left];
	Key			right_key = keys[right];

	for (uint32_t place = diagonal; place < end; place++)
	{
		bool		is_left = right == tile.length ||
			(left < tile.left_length && left_key <= right_key);
		uint32_t	source = is_left ? left++ : right++;
		Key			next_key = keys[source + 1];

		left_key = is_left ? next_key : left_key;
		right_key = is_left ? right_key : next_key;
		sources[place] = static_cast<uint16_t>(source);
	}
}

/* Merges every two neighbouring runs, a block a tile. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(merge_threads, resident_tiles)
merge_tiles(Items<Key, has_values> from, Items<Key, has_values> to, uint32_t n,
			uint32_t run_tiles, const uint32_t *splits)
{
	auto	   &shared = block_shared<MergeShared<Key, has_values>>();
	const MergeTile tile = MergeTile::of(blockIdx.x, n, run_tiles, splits);
	Items<Key, has_values> local = shared.local.items();

#pragma unroll
	for (unsigned i = 0; i < merge_items; i++)
	{
		uint32_t	place = i * merge_threads + threadIdx.x;

		if (place < tile.length)
			copy_item(from, tile.origin(place), local, place);
	}
	__syncthreads();
	merge_share(tile, local.keys, shared.sources);
	__syncthreads();
#pragma unroll
	for (unsigned i = 0; i < merge_items; i++)
	{
		uint32_t	place = i * merge_threads + threadIdx.x;

		if (place < tile.length)
			copy_item(local, shared.sources[place], to, tile.begin + place);
	}
}

template <typename Key, bool has_values>
using TileShared = SharedItems<Key, has_values, tile_items>;

/* Sorts all tiles, a block a tile. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(merge_threads, resident_tiles)
sort_tiles(Items<Key, has_values> from, Items<Key, has_values> to, uint32_t n)
{
	auto	   &shared = block_shared<TileShared<Key, has_values>>();
	uint32_t	begin = blockIdx.x * tile_items;

	sort_short(from, to, begin, n - begin < tile_items ? n - begin : tile_items,
			   shared.items());
}

/* What beside the items is in device memory. */
template <typename Key, bool has_values>
struct Extra
{
	Items<Key, has_values> items;
	uint32_t   *splits;

	/* Lays it out; returns the bytes it takes. */
	size_t
	lay_out(void *base, uint32_t n)
	{
		unsigned char *at = static_cast<unsigned char *>(base);
		size_t		key_bytes = whole(n * sizeof(Key));
		size_t		value_bytes = has_values ? whole(n * sizeof(uint32_t)) : 0;

		if (at != nullptr)
		{
			items.keys = reinterpret_cast<Key *>(at);
			items.values = has_values ?
				reinterpret_cast<uint32_t *>(at + key_bytes) : nullptr;
			splits = reinterpret_cast<uint32_t *>(at + key_bytes + value_bytes);
		}
		return key_bytes + value_bytes +
			divide_up(n, tile_items) * sizeof(uint32_t);
	}

private:
	static size_t
	whole(size_t bytes)
	{
		return divide_up(bytes, 256) * 256;
	}
};

/* Rounds that merge this many tiles. */
static inline unsigned
count_rounds(uint64_t tiles)
{
	unsigned	rounds = 0;

	while (UINT64_C(1) << rounds < tiles)
		rounds++;
	return rounds;
}

}								/* namespace merge_path */

template <typename Key, bool has_values>
struct MergePathSort
{
	static constexpr const char *name = "merge path sort";

	static size_t
	extra_bytes(uint32_t n)
	{
		merge_path::Extra<Key, has_values> extra = {};

		return extra.lay_out(nullptr, n);
	}

	static bool
	sort(const Queue &queue, Items<Key, has_values> items, uint32_t n,
		 void *memory)
	{
		using namespace merge_path;
		using SortShared = TileShared<Key, has_values>;
		using Shared = MergeShared<Key, has_values>;

		const uint64_t tiles = divide_up(n, tile_items);
		const unsigned rounds = count_rounds(tiles);
		Extra<Key, has_values> extra = {};
		Items<Key, has_values> from;
		Items<Key, has_values> to;

		/* So that the last round ends where the items are to be. */
		(void) extra.lay_out(memory, n);
		from = rounds % 2 == 0 ? items : extra.items;
		to = rounds % 2 == 0 ? extra.items : items;
		if (!queue.launch<SortShared>("sorting tiles",
									  sort_tiles<Key, has_values>, tiles,
									  merge_threads, items, from, n))
			return false;
		for (unsigned round = 0; round < rounds; round++)
		{
			uint32_t	run_tiles = 1u << round;
			Items<Key, has_values> merged = to;

			if (!queue.launch("splitting runs", find_splits<Key>,
							  divide_up(tiles, split_threads), split_threads,
							  from.keys, n, run_tiles, extra.splits) ||
				!queue.launch<Shared>("merging runs",
									  merge_tiles<Key, has_values>, tiles,
									  merge_threads, from, to, n, run_tiles,
									  extra.splits))
				return false;
			to = from;
			from = merged;
		}
		return true;
	}
};

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_MERGE_PATH_SORT_CUH */
