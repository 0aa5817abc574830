/*-------------------------------------------------------------------------
 *
 * sample_sort.cuh
 *	  Sample sort: Leischner, Osipov and Sanders, "GPU sample sort" (2010).
 *
 * A segment is distributed to k buckets at once, by k - 1 splitters taken from
 * a sorted random sample of it, "oversampling" times as large.  That takes the
 * paper's four phases:
 *
 *	choose_splitters	samples a segment and sorts the sample, a block each
 *	count_buckets		each block counts, for each bucket, the items of one
 *						tile of a segment
 *	scan::sums_before	makes places of these counts, which are in order of
 *						bucket first, tile second
 *	scatter_tiles		finds the bucket of each item once more, rather than
 *						remember it, and puts the item to its place
 *
 * The bucket is found in a search tree in shared memory, complete, so that the
 * children of node j are 2j and 2j + 1, and a comparison's result is added
 * rather than branched on.  Where splitters repeat, the bucket between two
 * equal ones would stay empty; it takes all items equal to these and is
 * finished.
 *
 * Buckets too long to be sorted by one block are the segments of the next
 * level.  The others are sorted: by quicksort until parts are short enough for
 * shared memory, and there by Batcher's odd-even merge sort.
 *
 * Different from the paper:
 *
 * - All segments of a level go through each phase together, in one launch.
 *	 The paper's k, number of items per thread and so on were measured on a
 *	 Tesla C1060; all but k are chosen anew.
 * - The items of a tile are gathered by bucket in shared memory first, from
 *	 where neighbours are written to neighbouring places.  The paper writes
 *	 each to its place at once.
 * - Quicksort's pivot is the median of a sample.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_SAMPLE_SORT_CUH
#define GPUSORT_LINEAGE_SAMPLE_SORT_CUH

#include <random>
#include <utility>

#include "../../kernels/workspace.cuh"
#include "odd_even_network.cuh"
#include "scan.cuh"
#include "tiles.cuh"

namespace lineage
{

namespace sample
{

using gpusort::Carver;
using gpusort::Range;
using gpusort::warp_lane;
using gpusort::warp_sort;
using gpusort::warp_threads;
using scan::SumShared;
using scan::block_sum_before;

#ifdef CUDA_ON_CPU

constexpr unsigned bucket_bits = 5;
constexpr unsigned oversampling = 2;
constexpr unsigned sample_threads = 32;
constexpr unsigned tile_threads = 64;
constexpr unsigned tile_thread_items = 3;
constexpr unsigned tile_blocks = 2;
constexpr uint32_t tiny_items = 16;
constexpr unsigned tiny_threads = 32;
constexpr uint32_t short_items = 48;
constexpr unsigned short_threads = 32;
constexpr uint32_t long_items = 160;
constexpr unsigned long_threads = 64;
constexpr unsigned long_thread_items = 2;
constexpr unsigned copy_threads = 64;

#else

/* The paper's k is 128. */
constexpr unsigned bucket_bits = 7;

/* A bucket's length is off by 1 / sqrt(oversampling), a quarter. */
constexpr unsigned oversampling = 16;
constexpr unsigned sample_threads = 1024;

/* A tile's items for one bucket, 64 on average, are written side by side. */
constexpr unsigned tile_threads = 512;
constexpr unsigned tile_thread_items = 16;
constexpr unsigned tile_blocks = 2; /* resident on an SM */

/* Buckets that go into shared memory whole. */
constexpr uint32_t tiny_items = 256;
constexpr unsigned tiny_threads = 128;
constexpr uint32_t short_items = 2048;
constexpr unsigned short_threads = 512;

/*
 * Buckets that a block sorts with the help of quicksort, the paper's M.  One
 * more level would need a sample of an eighth of the smallest segment.
 */
constexpr uint32_t long_items = 16384;
constexpr unsigned long_threads = 512;
constexpr unsigned long_thread_items = 4;

constexpr unsigned copy_threads = 512;

#endif

constexpr unsigned buckets = 1u << bucket_bits;
constexpr unsigned sample_items = oversampling * buckets;
constexpr unsigned tile_items = tile_threads * tile_thread_items;

static_assert(buckets <= 256, "a bucket's number has 8 bits");
static_assert(buckets <= tile_threads && buckets % warp_threads == 0,
			  "there are blocks with a thread for each bucket");
static_assert(tile_items <= 65536, "a place in a tile has 16 bits");
static_assert(long_items < 65536, "two counts of a bucket share a word");

/* What the buckets of a level are sorted into: lists, by what is to be done. */
enum List
{
	TINY,
	SHORT,
	LONG,
	EQUAL,						/* to be copied, in parts of long_items */
	SORTED_LISTS,
	SEGMENTS = SORTED_LISTS,
	TILES,						/* of the segments, which list them later */
	LISTS
};

struct Counts
{
	uint32_t	of[LISTS];
};

static constexpr __host__ __device__ List
list_for(uint32_t length)
{
	return length <= tiny_items ? TINY : length <= short_items ? SHORT :
		length <= long_items ? LONG : SEGMENTS;
}

static constexpr __host__ __device__ uint32_t
tiles_of(uint32_t length)
{
	return static_cast<uint32_t>(divide_up(length, tile_items));
}

/* Where everything but the items themselves is. */
template <typename Key, bool has_values>
struct Space
{
	Items<Key, has_values> spare;
	Segment    *segments;
	Segment    *next_segments;
	Tile	   *tiles;
	Key		   *splitters;		/* sorted, for each segment */
	uint32_t   *table;			/* counts, then places */
	uint32_t   *part_sums;
	Range	   *lists[SORTED_LISTS];
	Counts	   *counts;

	/* Lays it out for n items; with a null base it only counts the bytes. */
	size_t
	lay_out(void *base, uint32_t n)
	{
		Carver		carver(base);
		uint64_t	max_segments = n / (long_items + 1);
		uint64_t	max_tiles = n / tile_items + max_segments;
		uint64_t	max_listed = buckets * max_segments + n / long_items + 1;

		spare.keys = carver.take<Key>(n);
		spare.values = has_values ? carver.take<uint32_t>(n) : nullptr;
		segments = carver.take<Segment>(max_segments);
		next_segments = carver.take<Segment>(max_segments);
		tiles = carver.take<Tile>(max_tiles);
		splitters = carver.take<Key>(buckets * max_segments);
		table = carver.take<uint32_t>(buckets * max_tiles);
		part_sums = carver.take<uint32_t>(scan::max_parts);
		for (Range *&list : lists)
			list = carver.take<Range>(max_listed);
		counts = carver.take<Counts>(1);
		return carver.bytes();
	}
};

/* A linear congruential generator, with Knuth's multiplier of 64 bits. */
class Random
{
public:
	/* The streams of a seed, a thread's each, go through different numbers. */
	__device__
	Random(uint64_t seed, uint32_t stream) : state(seed + stream)
	{
		advance();
	}

	/* A number less than "bound". */
	__device__ uint32_t
	below(uint32_t bound)
	{
		advance();
		return static_cast<uint32_t>((state >> 32) * bound >> 32);
	}

private:
	__device__ void
	advance()
	{
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	}

	uint64_t	state;
};

/*
 * Phase 1, a block a segment.  The last bucket has no splitter above it; in
 * the place of one is the largest key there is, so that every bucket has an
 * upper bound.  Also lists the segment's tiles.
 */
template <typename Key>
static __global__ void __launch_bounds__(sample_threads)
choose_splitters(const Key *keys, const Segment *segments, uint64_t seed,
				 Key *splitters, Tile *tiles)
{
	auto	   &shared = block_shared<SharedItems<Key, false, sample_items>>();
	Segment		segment = segments[blockIdx.x];
	Random		random(seed, blockIdx.x * sample_threads + threadIdx.x);

	for (unsigned place = threadIdx.x; place < sample_items;
		 place += sample_threads)
		shared.keys[place] = keys[segment.begin + random.below(segment.length)];
	list_tiles(segment, blockIdx.x, tiles);
	__syncthreads();

	odd_even_network(shared.items(), sample_items);

	for (unsigned bucket = threadIdx.x; bucket < buckets;
		 bucket += sample_threads)
		splitters[blockIdx.x * buckets + bucket] = bucket == buckets - 1 ?
			static_cast<Key>(-1) : shared.keys[(bucket + 1) * oversampling];
}

/*
 * A bucket that lies between equal bounds: by order alone it would be empty,
 * so it is the one for the items equal to them.
 */
template <typename Key>
static __device__ __forceinline__ bool
is_of_equal_keys(const Key *splitters, unsigned bucket)
{
	return bucket > 0 && splitters[bucket] == splitters[bucket - 1];
}

/* A segment's splitters in shared memory. */
template <typename Key>
struct SearchTree
{
	Key			nodes[buckets];	/* the root is 1 */
	Key			bounds[buckets + 1];	/* the buckets' upper ones, and zero */

	/* Called by all threads of a block, and followed by a barrier. */
	__device__ void
	load(const Key *splitters)
	{
		unsigned	bucket = threadIdx.x;

		if (bucket >= buckets)
			return;
		bounds[bucket] = splitters[bucket];
		if (bucket == 0)
			bounds[buckets] = 0;
		else
		{
			/* Node number 2^level + i halves the i-th of 2^level parts. */
			unsigned	node = bucket;
			unsigned	level = 31 - __clz(node);
			unsigned	part = buckets >> level;
			unsigned	i = node - (1u << level);

			nodes[node] = splitters[i * part + part / 2 - 1];
		}
	}

	/* The bucket for a key. */
	__device__ __forceinline__ unsigned
	bucket_of(Key key) const
	{
		unsigned	node = 1;

#pragma unroll
		for (unsigned level = 0; level < bucket_bits; level++)
			node = 2 * node + (key > nodes[node]);

		unsigned	bucket = node - buckets;

		return bucket + (key == bounds[bucket] && key == bounds[bucket + 1]);
	}
};

/* What a block knows of the tile it works on. */
struct TileView
{
	Segment		segment;
	uint32_t	splitters;		/* where those of the segment are */
	uint32_t	number;
	uint32_t	begin;
	uint32_t	count;

	__device__
	TileView(const Segment *segments, Tile tile)
		: segment(segments[tile.segment]), splitters(tile.segment * buckets),
		  number(tile.number), begin(segment.begin + number * tile_items),
		  count(tile_length(segment, number, tile_items))
	{
	}
};

/* The table's entry for a tile's items of a bucket. */
static __device__ __forceinline__ uint32_t
table_entry(const Segment &segment, unsigned bucket, uint32_t number)
{
	return segment.first_tile * buckets + bucket * segment.tiles + number;
}

/* What phase 3 made of an entry: the place for the first of these items. */
static __device__ __forceinline__ uint32_t
table_place(const uint32_t *table, const Segment &segment, unsigned bucket,
			uint32_t number)
{
	return segment.begin + table[table_entry(segment, bucket, number)] -
		table[table_entry(segment, 0, 0)];
}

template <typename Key>
struct CountShared
{
	SearchTree<Key> tree;
	uint32_t	counts[buckets];
};

/* Phase 2, a block a tile. */
template <typename Key>
static __global__ void __launch_bounds__(tile_threads, tile_blocks)
count_buckets(const Key *keys, const Segment *segments, const Tile *tiles,
			  const Key *splitters, uint32_t *table)
{
	auto	   &shared = block_shared<CountShared<Key>>();
	TileView	tile(segments, tiles[blockIdx.x]);
	Key			own[tile_thread_items];

#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		uint32_t	place = item * tile_threads + threadIdx.x;

		own[item] = place < tile.count ? keys[tile.begin + place] : 0;
	}
	shared.tree.load(splitters + tile.splitters);
	if (threadIdx.x < buckets)
		shared.counts[threadIdx.x] = 0;
	__syncthreads();

#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		unsigned	bucket = shared.tree.bucket_of(own[item]);

		if (item * tile_threads + threadIdx.x < tile.count)
			atomicAdd(&shared.counts[bucket], 1u);
	}
	__syncthreads();

	if (threadIdx.x < buckets)
		table[table_entry(tile.segment, threadIdx.x, tile.number)] =
			shared.counts[threadIdx.x];
}

template <typename Key, bool has_values>
struct ScatterShared
{
	SharedItems<Key, has_values, tile_items> gathered;
	unsigned char bucket_of[tile_items];
	SearchTree<Key> tree;
	uint32_t	counts[buckets];
	uint32_t	starts[buckets];	/* of the buckets in "gathered" */
	uint32_t	shifts[buckets];	/* from there to the place in the array */
	SumShared<tile_threads> sums;
};

/* Phase 4, a block a tile. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(tile_threads, tile_blocks)
scatter_tiles(Items<Key, has_values> from, Items<Key, has_values> to,
			  const Segment *segments, const Tile *tiles,
			  const Key *splitters, const uint32_t *table)
{
	auto	   &shared = block_shared<ScatterShared<Key, has_values>>();
	TileView	tile(segments, tiles[blockIdx.x]);
	Key			own[tile_thread_items];
	uint32_t	found[tile_thread_items];	/* bucket << 16 | rank in it */

#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		uint32_t	place = item * tile_threads + threadIdx.x;

		own[item] = place < tile.count ? from.keys[tile.begin + place] : 0;
	}
	shared.tree.load(splitters + tile.splitters);
	if (threadIdx.x < buckets)
		shared.counts[threadIdx.x] = 0;
	__syncthreads();

#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		unsigned	bucket = shared.tree.bucket_of(own[item]);

		if (item * tile_threads + threadIdx.x < tile.count)
			found[item] = bucket << 16 | atomicAdd(&shared.counts[bucket], 1u);
	}
	__syncthreads();

	bool		has_bucket = threadIdx.x < buckets;
	uint32_t	total;
	uint32_t	start = block_sum_before<tile_threads>(
		has_bucket ? shared.counts[threadIdx.x] : 0, &total, shared.sums);

	if (has_bucket)
	{
		shared.starts[threadIdx.x] = start;
		shared.shifts[threadIdx.x] = table_place(table, tile.segment,
												 threadIdx.x, tile.number) -
			start;
	}
	__syncthreads();

#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		uint32_t	place = item * tile_threads + threadIdx.x;

		if (place < tile.count)
		{
			unsigned	bucket = found[item] >> 16;
			uint32_t	target = shared.starts[bucket] + (found[item] & 0xffff);

			shared.bucket_of[target] = static_cast<unsigned char>(bucket);
			shared.gathered.keys[target] = own[item];
			if constexpr (has_values)
				shared.gathered.values[target] = from.values[tile.begin + place];
		}
	}
	__syncthreads();

	for (uint32_t place = threadIdx.x; place < tile.count;
		 place += tile_threads)
		copy_item(shared.gathered.items(), place, to,
				  place + shared.shifts[shared.bucket_of[place]]);
}

struct ListShared
{
	Counts		counts;			/* of the segment's buckets */
	Counts		starts;			/* where these begin in the lists */
};

/*
 * Lists the buckets of the distributed segments, a block a segment and a
 * thread a bucket.  Buckets of equal keys are to be copied, unless they are
 * where everything ends.
 */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(buckets)
list_buckets(Space<Key, has_values> space, bool copies_equal)
{
	ListShared &shared = block_shared<ListShared>();
	Segment		segment = space.segments[blockIdx.x];
	unsigned	bucket = threadIdx.x;
	uint32_t	begin = table_place(space.table, segment, bucket, 0);
	uint32_t	end = bucket == buckets - 1 ? segment.begin + segment.length :
		table_place(space.table, segment, bucket + 1, 0);
	uint32_t	length = end - begin;
	bool		is_equal = is_of_equal_keys(space.splitters +
											blockIdx.x * buckets, bucket);
	List		list = is_equal ? EQUAL : list_for(length);
	uint32_t	entries = is_equal ? static_cast<uint32_t>(
		divide_up(length, long_items)) : 1;
	uint32_t	entry = 0;
	uint32_t	first_tile = 0;

	if (length == 0 || (is_equal && !copies_equal))
		entries = 0;

	for (unsigned counter = threadIdx.x; counter < LISTS; counter += buckets)
		shared.counts.of[counter] = 0;
	__syncthreads();

	if (entries > 0)
	{
		entry = atomicAdd(&shared.counts.of[list], entries);
		if (list == SEGMENTS)
			first_tile = atomicAdd(&shared.counts.of[TILES], tiles_of(length));
	}
	__syncthreads();

	for (unsigned counter = threadIdx.x; counter < LISTS; counter += buckets)
		shared.starts.of[counter] = atomicAdd(&space.counts->of[counter],
											  shared.counts.of[counter]);
	__syncthreads();

	entry += shared.starts.of[list];
	first_tile += shared.starts.of[TILES];
	if (entries == 0)
		return;
	if (list == SEGMENTS)
		space.next_segments[entry] = {begin, length, first_tile,
			tiles_of(length)};
	else if (list == EQUAL)
		for (uint32_t part = 0; part < entries; part++)
		{
			uint32_t	offset = part * long_items;
			uint32_t	left = length - offset;

			space.lists[EQUAL][entry + part] =
				{begin + offset, left < long_items ? left : long_items};
		}
	else
		space.lists[list][entry] = {begin, length};
}

/* Copies parts of buckets, a block a part. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(copy_threads)
copy_parts(const Range *parts, Items<Key, has_values> from,
		   Items<Key, has_values> to)
{
	Range		part = parts[blockIdx.x];

	for (uint32_t place = threadIdx.x; place < part.length;
		 place += copy_threads)
		copy_item(from, part.begin + place, to, part.begin + place);
}

/*
 * Sorts a range from one array into the other, or the same, in shared memory.
 * Called by all threads of a block; they are done with "shared" at return.
 */
template <typename Key, bool has_values, unsigned capacity>
static __device__ __forceinline__ void
sort_in_shared(Range range, Items<Key, has_values> from,
			   Items<Key, has_values> to,
			   SharedItems<Key, has_values, capacity> &shared)
{
	Items<Key, has_values> local = shared.items();

	for (uint32_t place = threadIdx.x; place < range.length;
		 place += blockDim.x)
		copy_item(from, range.begin + place, local, place);
	__syncthreads();

	odd_even_network(local, range.length);

	for (uint32_t place = threadIdx.x; place < range.length;
		 place += blockDim.x)
		copy_item(local, place, to, range.begin + place);
	__syncthreads();
}

/* Sorts buckets that fit into shared memory, a block a bucket. */
template <typename Key, bool has_values, unsigned capacity, unsigned threads>
static __global__ void __launch_bounds__(threads)
sort_short_buckets(const Range *list, Items<Key, has_values> from,
				   Items<Key, has_values> to)
{
	sort_in_shared(list[blockIdx.x], from, to,
				   block_shared<SharedItems<Key, has_values, capacity>>());
}

/* A part of a bucket in quicksort. */
struct Part
{
	Range		range;
	bool		is_spare;		/* it is in spare, not in sorted */
};

/* The shorter one of two parts is sorted first: 32 can wait at most. */
constexpr unsigned quicksort_depth = 32;

template <typename Key, bool has_values>
struct QuicksortShared
{
	SharedItems<Key, has_values, short_items> items;
	SumShared<long_threads> sums;
	Part		waiting[quicksort_depth];
	Key			pivot;
	uint32_t	equal;			/* items equal to the pivot put away yet */
};

/* The median of a sample of one item a lane; every lane gets it. */
template <typename Key>
static __device__ __forceinline__ Key
sample_median(const Key *keys, Range range)
{
	Random		random(range.begin, warp_lane());
	uint64_t	key = keys[range.begin + random.below(range.length)];
	uint32_t	unused = 0;

	warp_sort(key, unused, warp_threads);
	return static_cast<Key>(__shfl_sync(scan::whole_warp, key,
										warp_threads / 2));
}

/* Counts one item: 1 if it is less than the pivot, 1 << 16 if greater. */
template <typename Key>
static __device__ __forceinline__ uint32_t
count_side(Key key, Key pivot)
{
	return key < pivot ? 1u : key > pivot ? 1u << 16 : 0;
}

/*
 * Partitions a range from one array into the other: less, equal, greater.
 * Returns how many are less and how many greater, the latter << 16.  Called
 * by all threads of a block after a barrier, and ends with one.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ uint32_t
partition(Range range, Items<Key, has_values> from, Items<Key, has_values> to,
		  QuicksortShared<Key, has_values> &shared)
{
	constexpr uint32_t step_items = long_threads * long_thread_items;

	uint32_t	counts = 0;
	uint32_t	totals;

	if (threadIdx.x < warp_threads)
	{
		Key			median = sample_median(from.keys, range);

		if (threadIdx.x == 0)
		{
			shared.pivot = median;
			shared.equal = 0;
		}
	}
	__syncthreads();

	const Key	pivot = shared.pivot;

	for (uint32_t place = threadIdx.x; place < range.length;
		 place += long_threads)
		counts += count_side(from.keys[range.begin + place], pivot);
	(void) block_sum_before<long_threads>(counts, &totals, shared.sums);

	uint32_t	less_at = range.begin;
	uint32_t	equal_at = less_at + (totals & 0xffff);
	uint32_t	greater_at = range.begin + range.length - (totals >> 16);

	for (uint32_t start = 0; start < range.length; start += step_items)
	{
		Key			own[long_thread_items];
		uint32_t	step_counts = 0;
		uint32_t	step_totals;

#pragma unroll
		for (unsigned item = 0; item < long_thread_items; item++)
		{
			uint32_t	place = start + item * long_threads + threadIdx.x;

			own[item] = place < range.length ? from.keys[range.begin + place] :
				pivot;
			step_counts += count_side(own[item], pivot);
		}

		uint32_t	before = block_sum_before<long_threads>(
			step_counts, &step_totals, shared.sums);
		uint32_t	less_target = less_at + (before & 0xffff);
		uint32_t	greater_target = greater_at + (before >> 16);

#pragma unroll
		for (unsigned item = 0; item < long_thread_items; item++)
		{
			uint32_t	place = start + item * long_threads + threadIdx.x;

			if (place < range.length)
			{
				uint32_t	target = own[item] < pivot ? less_target++ :
					own[item] > pivot ? greater_target++ :
					equal_at + atomicAdd(&shared.equal, 1u);

				to.keys[target] = own[item];
				if constexpr (has_values)
					to.values[target] = from.values[range.begin + place];
			}
		}
		less_at += step_totals & 0xffff;
		greater_at += step_totals >> 16;
	}
	__syncthreads();
	return totals;
}

/* Sorts buckets up to long_items with quicksort, a block a bucket. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(long_threads)
sort_long_buckets(const Range *list, bool is_spare,
				  Items<Key, has_values> sorted, Items<Key, has_values> spare)
{
	auto	   &shared = block_shared<QuicksortShared<Key, has_values>>();
	Part		part = {list[blockIdx.x], is_spare};
	unsigned	waiting = 0;

	for (;;)
	{
		Items<Key, has_values> from = part.is_spare ? spare : sorted;
		Items<Key, has_values> to = part.is_spare ? sorted : spare;
		Range		range = part.range;

		if (range.length <= short_items)
		{
			sort_in_shared(range, from, sorted, shared.items);
			if (waiting == 0)
				break;
			part = shared.waiting[--waiting];
			continue;
		}

		uint32_t	counts = partition(range, from, to, shared);
		uint32_t	less = counts & 0xffff;
		uint32_t	greater = counts >> 16;
		uint32_t	middle = range.begin + less;
		uint32_t	end = range.begin + range.length;
		Part		lower = {{range.begin, less}, !part.is_spare};
		Part		upper = {{end - greater, greater}, !part.is_spare};

		if (!part.is_spare)
			for (uint32_t place = middle + threadIdx.x; place < end - greater;
				 place += long_threads)
				copy_item(spare, place, sorted, place);
		if (threadIdx.x == 0)
			shared.waiting[waiting] = less < greater ? upper : lower;
		waiting++;
		part = less < greater ? lower : upper;
	}
}

/* The host's side: one object a sort. */
template <typename Key, bool has_values>
class Sorter
{
public:
	Sorter(const Queue &its_queue, Items<Key, has_values> items, uint32_t n,
		   void *extra)
		: queue(its_queue), sorted(items)
	{
		(void) space.lay_out(extra, n);
	}

	bool
	sort(uint32_t n)
	{
		Counts		counts = {};

		if (!list_input(n, &counts))
			return false;
		for (bool is_spare = false;; is_spare = !is_spare)
		{
			if (!sort_lists(counts, is_spare))
				return false;
			if (counts.of[SEGMENTS] == 0)
				return true;
			if (!distribute(&counts, is_spare))
				return false;
		}
	}

private:
	/* Lists the whole input as the only bucket. */
	bool
	list_input(uint32_t n, Counts *counts)
	{
		List		list = list_for(n);
		Range		range = {0, n};
		Segment		segment = {0, n, 0, tiles_of(n)};

		counts->of[list] = n > 0;
		if (list != SEGMENTS)
			return upload(space.lists[list], range);
		counts->of[TILES] = segment.tiles;
		return upload(space.segments, segment);
	}

	template <typename Entry>
	bool
	upload(Entry *to, const Entry &entry)
	{
		return queue.did(cudaMemcpyAsync(to, &entry, sizeof(entry),
										 cudaMemcpyHostToDevice,
										 queue.stream),
						 "listing the input");
	}

	/* Sorts the listed buckets, the longest ones first. */
	bool
	sort_lists(const Counts &counts, bool is_spare)
	{
		using Quicksort = QuicksortShared<Key, has_values>;

		Items<Key, has_values> from = is_spare ? space.spare : sorted;

		return queue.launch<Quicksort>("sorting long buckets",
									   sort_long_buckets<Key, has_values>,
									   counts.of[LONG], long_threads,
									   space.lists[LONG], is_spare, sorted,
									   space.spare) &&
			sort_short_list<short_items, short_threads>(
				space.lists[SHORT], counts.of[SHORT], from) &&
			sort_short_list<tiny_items, tiny_threads>(
				space.lists[TINY], counts.of[TINY], from) &&
			queue.launch("copying equal items", copy_parts<Key, has_values>,
						 counts.of[EQUAL], copy_threads, space.lists[EQUAL],
						 from, sorted);
	}

	template <unsigned capacity, unsigned threads>
	bool
	sort_short_list(const Range *list, uint32_t count,
					Items<Key, has_values> from)
	{
		return queue.launch<SharedItems<Key, has_values, capacity>>(
			"sorting short buckets",
			sort_short_buckets<Key, has_values, capacity, threads>, count,
			threads, list, from, sorted);
	}

	/* Distributes the segments, and learns how many buckets of which kind. */
	bool
	distribute(Counts *counts, bool is_spare)
	{
		using Sample = SharedItems<Key, false, sample_items>;
		using Scatter = ScatterShared<Key, has_values>;

		Items<Key, has_values> from = is_spare ? space.spare : sorted;
		Items<Key, has_values> to = is_spare ? sorted : space.spare;
		uint32_t	segments = counts->of[SEGMENTS];
		uint32_t	tiles = counts->of[TILES];

		if (!queue.launch<Sample>("choosing splitters", choose_splitters<Key>,
								  segments, sample_threads, from.keys,
								  space.segments, seeds(), space.splitters,
								  space.tiles) ||
			!queue.launch<CountShared<Key>>("counting buckets",
											count_buckets<Key>, tiles,
											tile_threads, from.keys,
											space.segments, space.tiles,
											space.splitters, space.table) ||
			!scan::sums_before(queue, space.table, buckets * tiles,
							   space.part_sums) ||
			!queue.launch<Scatter>("distributing to buckets",
								   scatter_tiles<Key, has_values>, tiles,
								   tile_threads, from, to, space.segments,
								   space.tiles, space.splitters,
								   space.table) ||
			!queue.did(cudaMemsetAsync(space.counts, 0, sizeof(Counts),
									   queue.stream), "clearing counters") ||
			!queue.launch<ListShared>("listing buckets",
									  list_buckets<Key, has_values>, segments,
									  buckets, space, !is_spare) ||
			!queue.did(cudaMemcpyAsync(counts, space.counts, sizeof(Counts),
									   cudaMemcpyDeviceToHost, queue.stream),
					   "reading counters") ||
			!queue.did(cudaStreamSynchronize(queue.stream), "sorting"))
			return false;
		std::swap(space.segments, space.next_segments);
		return true;
	}

	const Queue &queue;
	Items<Key, has_values> sorted;
	Space<Key, has_values> space;
	std::mt19937_64 seeds;		/* as the paper: from a Mersenne Twister */
};

}								/* namespace sample */

template <typename Key, bool has_values>
struct SampleSort
{
	static constexpr const char *name = "sample sort";

	static size_t
	extra_bytes(uint32_t n)
	{
		return sample::Space<Key, has_values>().lay_out(nullptr, n);
	}

	static bool
	sort(const Queue &queue, Items<Key, has_values> items, uint32_t n,
		 void *extra)
	{
		return sample::Sorter<Key, has_values>(queue, items, n, extra).sort(n);
	}
};

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_SAMPLE_SORT_CUH */
