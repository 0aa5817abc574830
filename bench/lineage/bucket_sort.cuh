/*-------------------------------------------------------------------------
 *
 * bucket_sort.cuh
 *	  Bucket sort: Chen, Qin, Xie, Zhao and Heng, "An efficient sorting
 *	  algorithm with CUDA" (2009), sections II to IV.
 *
 * The range of a segment's keys is cut into slices of equal width, so many that
 * about E items would be in each if keys were uniform.  Neighbouring slices
 * are then merged to buckets of at most M items, and each bucket is sorted by
 * the bitonic network in shared memory.  A slice that has more than M items is
 * a bucket of its own, and a segment of the next level.
 *
 *	measure_tiles		smallest and largest key and disorder, of each tile
 *	plan_divisions		... of each segment, and how to divide it, therefore
 *	count_slices		adds every item to its slice, with one atomicAdd,
 *						which also gives the item's offset in the slice
 *	scan::sums_before	makes places of the slices' sizes
 *	merge_slices		makes buckets and next segments of the slices
 *	move_items			finds the slice of each item once more, and puts the
 *						item to its place
 *	sort_buckets		the bitonic network, a block a bucket
 *
 * Two kinds of segments are treated apart.  A flat one, with only one key, is
 * finished.  In a nearly sorted one neighbours fall into the same slice, where
 * the additions of a warp would have to wait for each other; so there
 * neighbouring items are counted by different blocks, though reading them so
 * is slow.  Nearly sorted is a segment whose disorder, the sum of all
 * differences between neighbouring keys, is less than 10 times the difference
 * between largest and smallest.
 *
 * The slices' width is a real number, as in the paper.  Rounding does no harm:
 * a greater key never comes into a lower slice, and the smallest and the
 * largest key come into different ones, so every level gets further.  A slice
 * is at least M / E times narrower than its segment, hence levels are few even
 * for the worst of distributions.
 *
 * Different from the paper:
 *
 * - M, which is to be the number of threads a block can have, is 1024 now.  E
 *	 is the paper's 80.
 * - All segments of a level go through each step together.
 * - Slices are merged in groups, by a thread each; the last bucket of a group
 *	 may be short.
 * - The paper lists four arrays, of which one, the slice of each element, is
 *	 not used by its algorithms 1 to 3 and left out here.
 * - Buckets need not be filled up to a power of two.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_BUCKET_SORT_CUH
#define GPUSORT_LINEAGE_BUCKET_SORT_CUH

#include <utility>

#include "../../kernels/workspace.cuh"
#include "bitonic_network.cuh"
#include "scan.cuh"
#include "tiles.cuh"

namespace lineage
{

namespace slices
{

using gpusort::Carver;
using gpusort::Range;
using gpusort::warp_lane;
using gpusort::warp_threads;
using gpusort::whole_warp;

#ifdef CUDA_ON_CPU

constexpr uint32_t bucket_items = 64;
constexpr unsigned bucket_threads = 32;
constexpr uint32_t slice_items = 10;
constexpr unsigned tile_threads = 64;
constexpr unsigned tile_thread_items = 3;
constexpr unsigned tile_blocks = 2;
constexpr unsigned merged_tiles = 2;
constexpr unsigned plan_threads = 64;
constexpr unsigned merge_threads = 32;

#else

/* The paper's M, with a thread for each comparison. */
constexpr uint32_t bucket_items = 1024;
constexpr unsigned bucket_threads = 512;

/* The paper's E. */
constexpr uint32_t slice_items = 80;

constexpr unsigned tile_threads = 512;
constexpr unsigned tile_thread_items = 8;
constexpr unsigned tile_blocks = 2; /* resident on an SM */

/* The slices of this many tiles make 16 buckets, and a short one. */
constexpr unsigned merged_tiles = 4;

constexpr unsigned plan_threads = 256;
constexpr unsigned merge_threads = 64;

#endif

/* The paper's C. */
constexpr float disorder_limit = 10;

constexpr unsigned tile_items = tile_threads * tile_thread_items;

/* Each tile of a segment has room for this many of the segment's slices. */
constexpr uint32_t tile_slices =
	static_cast<uint32_t>(divide_up(tile_items, slice_items));

static_assert(bucket_items > slice_items, "a segment has two slices or more");

/* What a level leaves to be done. */
struct Counts
{
	uint32_t	buckets;
	uint32_t	segments;
	uint32_t	tiles;			/* of these segments */
};

static constexpr __host__ __device__ uint32_t
tiles_of(uint32_t length)
{
	return static_cast<uint32_t>(divide_up(length, tile_items));
}

/* What is to be known of some keys in order to divide them. */
template <typename Key>
struct Measure
{
	Key			smallest;
	Key			largest;
	float		disorder;

	static __device__ Measure
	of_nothing()
	{
		return {static_cast<Key>(-1), 0, 0};
	}

	__device__ void
	add(Measure other)
	{
		smallest = other.smallest < smallest ? other.smallest : smallest;
		largest = other.largest > largest ? other.largest : largest;
		disorder += other.disorder;
	}
};

/* How a segment is divided into slices. */
template <typename Key>
struct Division
{
	Key			smallest;
	float		slices_per_key;	/* the width's reciprocal */
	uint32_t	slices;			/* none if the segment is flat */
	bool		is_nearly_sorted;

	__device__ bool
	is_flat() const
	{
		return slices == 0;
	}

	__device__ __forceinline__ uint32_t
	slice_of(Key key) const
	{
		uint32_t	slice = static_cast<uint32_t>(
			static_cast<float>(key - smallest) * slices_per_key);

		return slice < slices ? slice : slices - 1;
	}
};

/* Where everything but the items themselves is. */
template <typename Key, bool has_values>
struct Space
{
	Items<Key, has_values> spare;
	uint32_t   *offsets;		/* of each item in its slice */
	Segment    *segments;
	Segment    *next_segments;
	Division<Key> *divisions;
	Tile	   *tiles;
	Measure<Key> *measures;		/* of the tiles */
	uint32_t   *slices;			/* sizes, then places */
	uint32_t   *part_sums;
	Range	   *buckets;
	Counts	   *counts;

	/*
	 * Lays it out for n items; with a null base it only counts the bytes.  Of
	 * the buckets made from a group of slices any two neighbours have more
	 * than bucket_items together.
	 */
	size_t
	lay_out(void *base, uint32_t n)
	{
		Carver		carver(base);
		uint64_t	max_segments = n / (bucket_items + 1);
		uint64_t	max_tiles = n / tile_items + max_segments;

		spare.keys = carver.take<Key>(n);
		spare.values = has_values ? carver.take<uint32_t>(n) : nullptr;
		offsets = carver.take<uint32_t>(n);
		segments = carver.take<Segment>(max_segments);
		next_segments = carver.take<Segment>(max_segments);
		divisions = carver.take<Division<Key>>(max_segments);
		tiles = carver.take<Tile>(max_tiles);
		measures = carver.take<Measure<Key>>(max_tiles);
		slices = carver.take<uint32_t>(max_tiles * tile_slices + 1);
		part_sums = carver.take<uint32_t>(scan::max_parts);
		buckets = carver.take<Range>(2 * (n / bucket_items) + max_tiles + 1);
		counts = carver.take<Counts>(1);
		return carver.bytes();
	}
};

template <typename Key, unsigned threads>
struct MeasureShared
{
	Measure<Key> of_warp[threads / warp_threads];
};

/* Adds up the threads' measures; thread 0 gets the sum.  Called by all. */
template <typename Key, unsigned threads>
static __device__ __forceinline__ Measure<Key>
block_measure(Measure<Key> measure, MeasureShared<Key, threads> &shared)
{
	for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
		measure.add({__shfl_down_sync(whole_warp, measure.smallest, distance),
					 __shfl_down_sync(whole_warp, measure.largest, distance),
					 __shfl_down_sync(whole_warp, measure.disorder, distance)});
	if (warp_lane() == 0)
		shared.of_warp[threadIdx.x / warp_threads] = measure;
	__syncthreads();

	if (threadIdx.x == 0)
		for (unsigned warp = 1; warp < threads / warp_threads; warp++)
			measure.add(shared.of_warp[warp]);
	return measure;
}

/* Lists the tiles of all segments, a block a segment. */
static __global__ void __launch_bounds__(plan_threads)
list_segments(const Segment *segments, Tile *tiles)
{
	list_tiles(segments[blockIdx.x], blockIdx.x, tiles);
}

/* Measures the segments' tiles, a block a tile. */
template <typename Key>
static __global__ void __launch_bounds__(tile_threads, tile_blocks)
measure_tiles(const Key *keys, const Segment *segments, const Tile *tiles,
			  Measure<Key> *measures)
{
	Tile		tile = tiles[blockIdx.x];
	Segment		segment = segments[tile.segment];
	uint32_t	first = tile.number * tile_items;
	Measure<Key> measure = Measure<Key>::of_nothing();

	keys += segment.begin;
#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		uint32_t	place = first + item * tile_threads + threadIdx.x;

		if (place < segment.length)
		{
			Key			key = keys[place];
			Key			before = keys[place == 0 ? 0 : place - 1];
			Key			difference = key < before ? before - key : key - before;

			measure.add({key, key, static_cast<float>(difference)});
		}
	}

	measure = block_measure(measure,
							block_shared<MeasureShared<Key, tile_threads>>());
	if (threadIdx.x == 0)
		measures[blockIdx.x] = measure;
}

/* Decides how to divide segments whose tiles are measured, a block a segment. */
template <typename Key>
static __global__ void __launch_bounds__(plan_threads)
plan_divisions(const Segment *segments, const Measure<Key> *measures,
			   Division<Key> *divisions)
{
	Segment		segment = segments[blockIdx.x];
	Measure<Key> measure = Measure<Key>::of_nothing();

	for (uint32_t number = threadIdx.x; number < segment.tiles;
		 number += plan_threads)
		measure.add(measures[segment.first_tile + number]);
	measure = block_measure(measure,
							block_shared<MeasureShared<Key, plan_threads>>());

	if (threadIdx.x == 0)
	{
		float		width = static_cast<float>(measure.largest -
											   measure.smallest);
		uint32_t	count = static_cast<uint32_t>(divide_up(segment.length,
															slice_items));
		bool		is_flat = measure.largest == measure.smallest;

		divisions[blockIdx.x] = {measure.smallest,
			is_flat ? 0 : static_cast<float>(count) / width,
			is_flat ? 0 : count,
			measure.disorder < disorder_limit * width};
	}
}

/*
 * Adds the items to their slices, a block a tile.  Of a nearly sorted segment
 * it is not the tile's items that a block takes, but as many all over the
 * segment, each as far from the next as the segment has tiles.
 */
template <typename Key>
static __global__ void __launch_bounds__(tile_threads, tile_blocks)
count_slices(const Key *keys, const Segment *segments,
			 const Division<Key> *divisions, const Tile *tiles,
			 uint32_t *slice_sizes, uint32_t *offsets)
{
	Tile		tile = tiles[blockIdx.x];
	Segment		segment = segments[tile.segment];
	Division<Key> division = divisions[tile.segment];
	uint32_t	first = division.is_nearly_sorted ? tile.number :
		tile.number * tile_items;
	uint32_t	distance = division.is_nearly_sorted ? segment.tiles : 1;
	Key			own[tile_thread_items];

	if (division.is_flat())
		return;
	keys += segment.begin;
	offsets += segment.begin;
	slice_sizes += segment.first_tile * tile_slices;

#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		uint32_t	place = first +
			(item * tile_threads + threadIdx.x) * distance;

		own[item] = place < segment.length ? keys[place] : 0;
	}
#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		uint32_t	place = first +
			(item * tile_threads + threadIdx.x) * distance;

		if (place < segment.length)
			offsets[place] =
				atomicAdd(&slice_sizes[division.slice_of(own[item])], 1u);
	}
}

/*
 * Where the slices of a segment begin, when their sizes have been summed up,
 * and where the last one ends.
 */
class SlicePlaces
{
public:
	__device__ __forceinline__
	SlicePlaces(const uint32_t *sums, const Segment &segment)
		: own(sums + segment.first_tile * tile_slices),
		  base(segment.begin - own[0])
	{
	}

	__device__ __forceinline__ uint32_t
	operator[](uint32_t slice) const
	{
		return base + own[slice];
	}

private:
	const uint32_t *own;
	uint32_t	base;			/* wraps around, and so do the sums */
};

/*
 * Moves the items to their slices, a block a tile.  Flat segments are copied
 * if the other array is the one where everything ends.
 */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(tile_threads, tile_blocks)
move_items(Items<Key, has_values> from, Items<Key, has_values> to,
		   Space<Key, has_values> space, bool copies_flat)
{
	Tile		tile = space.tiles[blockIdx.x];
	Segment		segment = space.segments[tile.segment];
	Division<Key> division = space.divisions[tile.segment];
	uint32_t	begin = segment.begin + tile.number * tile_items;
	uint32_t	count = tile_length(segment, tile.number, tile_items);
	Key			own[tile_thread_items];
	uint32_t	targets[tile_thread_items];

	if (division.is_flat())
	{
		if (copies_flat)
			for (uint32_t place = threadIdx.x; place < count;
				 place += tile_threads)
				copy_item(from, begin + place, to, begin + place);
		return;
	}

#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		uint32_t	place = item * tile_threads + threadIdx.x;

		own[item] = place < count ? from.keys[begin + place] : 0;
		targets[item] = place < count ? space.offsets[begin + place] : 0;
	}

	SlicePlaces	places(space.slices, segment);

#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
		if (item * tile_threads + threadIdx.x < count)
			targets[item] += places[division.slice_of(own[item])];
#pragma unroll
	for (unsigned item = 0; item < tile_thread_items; item++)
	{
		uint32_t	place = item * tile_threads + threadIdx.x;

		if (place < count)
		{
			to.keys[targets[item]] = own[item];
			if constexpr (has_values)
				to.values[targets[item]] = from.values[begin + place];
		}
	}
}

/* Lists a bucket, unless it is empty: to be sorted, or to be divided. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
add_bucket(uint32_t begin, uint32_t end, const Space<Key, has_values> &space)
{
	uint32_t	length = end - begin;

	if (length == 0)
		return;
	if (length <= bucket_items)
		space.buckets[atomicAdd(&space.counts->buckets, 1u)] = {begin, length};
	else
	{
		uint32_t	tiles = tiles_of(length);
		uint32_t	first_tile = atomicAdd(&space.counts->tiles, tiles);

		space.next_segments[atomicAdd(&space.counts->segments, 1u)] =
			{begin, length, first_tile, tiles};
	}
}

/*
 * Makes buckets of the slices, as many of them in each as bucket_items allows.
 * A thread does so for the group of slices that merged_tiles have room for.
 */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(merge_threads)
merge_slices(Space<Key, has_values> space, uint32_t tiles)
{
	uint32_t	index = blockIdx.x * merge_threads + threadIdx.x;

	if (index >= tiles)
		return;

	Tile		tile = space.tiles[index];
	Segment		segment = space.segments[tile.segment];
	uint32_t	slices = space.divisions[tile.segment].slices;
	uint32_t	slice = tile.number * tile_slices;
	uint32_t	stop = slice + merged_tiles * tile_slices;

	if (tile.number % merged_tiles != 0 || slice >= slices)
		return;
	if (stop > slices)
		stop = slices;

	SlicePlaces	places(space.slices, segment);
	uint32_t	begin = places[slice];
	uint32_t	end = begin;

	for (; slice < stop; slice++)
	{
		uint32_t	next_end = places[slice + 1];

		if (next_end - begin > bucket_items)
		{
			add_bucket(begin, end, space);
			begin = end;
		}
		end = next_end;
	}
	add_bucket(begin, end, space);
}

/* Sorts buckets from one array into the other, or the same, a block each. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(bucket_threads)
sort_buckets(const Range *buckets, Items<Key, has_values> from,
			 Items<Key, has_values> to)
{
	auto	   &shared = block_shared<SharedItems<Key, has_values, bucket_items>>();
	Items<Key, has_values> local = shared.items();
	Range		bucket = buckets[blockIdx.x];

	for (uint32_t place = threadIdx.x; place < bucket.length;
		 place += bucket_threads)
		copy_item(from, bucket.begin + place, local, place);
	__syncthreads();

	block_network(local, bucket.length);

	for (uint32_t place = threadIdx.x; place < bucket.length;
		 place += bucket_threads)
		copy_item(local, place, to, bucket.begin + place);
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
		bool		is_spare = false;

		if (!list_input(n, &counts))
			return false;
		while (counts.segments > 0)
		{
			if (!divide(&counts, is_spare))
				return false;
			is_spare = !is_spare;
			if (!sort_listed(counts, is_spare))
				return false;
		}
		return true;
	}

private:
	/* Lists the whole input as the only bucket, which is sorted if it can be. */
	bool
	list_input(uint32_t n, Counts *counts)
	{
		Segment		segment = {0, n, 0, tiles_of(n)};
		Range		bucket = {0, n};

		if (n > bucket_items)
		{
			*counts = {0, 1, segment.tiles};
			return upload(space.segments, segment);
		}
		*counts = {n > 0, 0, 0};
		return upload(space.buckets, bucket) && sort_listed(*counts, false);
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

	bool
	sort_listed(const Counts &counts, bool is_spare)
	{
		using Shared = SharedItems<Key, has_values, bucket_items>;

		return queue.launch<Shared>("sorting buckets",
									sort_buckets<Key, has_values>,
									counts.buckets, bucket_threads,
									space.buckets,
									is_spare ? space.spare : sorted, sorted);
	}

	/* Divides the segments, and learns how many buckets and segments result. */
	bool
	divide(Counts *counts, bool is_spare)
	{
		Items<Key, has_values> from = is_spare ? space.spare : sorted;
		Items<Key, has_values> to = is_spare ? sorted : space.spare;
		uint32_t	segments = counts->segments;
		uint32_t	tiles = counts->tiles;

		if (!plan(from.keys, segments, tiles) ||
			!sum_up_slices(from.keys, tiles) ||
			!queue.did(cudaMemsetAsync(space.counts, 0, sizeof(Counts),
									   queue.stream), "clearing counters") ||
			!queue.launch("merging slices", merge_slices<Key, has_values>,
						  divide_up(tiles, merge_threads), merge_threads,
						  space, tiles) ||
			!queue.launch("moving items", move_items<Key, has_values>, tiles,
						  tile_threads, from, to, space, is_spare) ||
			!queue.did(cudaMemcpyAsync(counts, space.counts, sizeof(Counts),
									   cudaMemcpyDeviceToHost, queue.stream),
					   "reading counters") ||
			!queue.did(cudaStreamSynchronize(queue.stream), "sorting"))
			return false;
		std::swap(space.segments, space.next_segments);
		return true;
	}

	/* Finds out how to divide the segments. */
	bool
	plan(const Key *keys, uint32_t segments, uint32_t tiles)
	{
		using TileMeasures = MeasureShared<Key, tile_threads>;
		using SegmentMeasures = MeasureShared<Key, plan_threads>;

		return queue.launch("listing tiles", list_segments, segments,
							plan_threads, space.segments, space.tiles) &&
			queue.launch<TileMeasures>("measuring tiles", measure_tiles<Key>,
									   tiles, tile_threads, keys,
									   space.segments, space.tiles,
									   space.measures) &&
			queue.launch<SegmentMeasures>("planning divisions",
										  plan_divisions<Key>, segments,
										  plan_threads, space.segments,
										  space.measures, space.divisions);
	}

	/* Finds the place of each slice, and of each item in its slice. */
	bool
	sum_up_slices(const Key *keys, uint32_t tiles)
	{
		uint32_t	slices = tiles * tile_slices;

		/* One more, for the end of the last slice. */
		return queue.did(cudaMemsetAsync(space.slices, 0,
										 (slices + 1) * sizeof(uint32_t),
										 queue.stream), "clearing slices") &&
			queue.launch("counting slices", count_slices<Key>, tiles,
						 tile_threads, keys, space.segments, space.divisions,
						 space.tiles, space.slices, space.offsets) &&
			scan::sums_before(queue, space.slices, slices + 1,
							  space.part_sums);
	}

	const Queue &queue;
	Items<Key, has_values> sorted;
	Space<Key, has_values> space;
};

}								/* namespace slices */

template <typename Key, bool has_values>
struct BucketSort
{
	static constexpr const char *name = "bucket sort";

	static size_t
	extra_bytes(uint32_t n)
	{
		return slices::Space<Key, has_values>().lay_out(nullptr, n);
	}

	static bool
	sort(const Queue &queue, Items<Key, has_values> items, uint32_t n,
		 void *extra)
	{
		return slices::Sorter<Key, has_values>(queue, items, n, extra).sort(n);
	}
};

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_BUCKET_SORT_CUH */
