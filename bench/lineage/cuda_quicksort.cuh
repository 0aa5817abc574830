/*-------------------------------------------------------------------------
 *
 * cuda_quicksort.cuh
 *	  CUDA-quicksort: Manca, Manconi, Orro, Armano and Milanesi,
 *	  "CUDA-quicksort: an improved GPU-based implementation of quicksort"
 *	  (2015), section 4; and the two halves of its gain alone, section 5.
 *
 * Level after level, all sequences longer than a leaf are partitioned by a
 * pivot each, from one array into the other.  Keys less than the pivot go to
 * the front of the sequence's place there, greater ones to its back, and
 * become sequences themselves; those equal to the pivot, which fill the gap,
 * are done.  At last a bitonic sort in shared memory finishes the leaves (the
 * paper takes the one of NVIDIA's samples).  The host reads the lengths of the
 * new sequences back after every level (box 4.1).
 *
 * A block partitions one tile of a sequence (box 4.3).  Each thread counts its
 * items of either side, and prefix sums over the block tell it where in the
 * tile, sorted by sides, they belong.  Two things set the algorithm apart from
 * GPU-Quicksort (Cederman and Tsigas 2009), from which it was made:
 *
 * - Atomic primitives (section 4.2): a block claims a slice for each of its
 *	 sides by an atomicAdd to the side's length, so that all of a level is done
 *	 without the host.  In GPU-Quicksort the blocks only count; the host waits
 *	 for all of them, computes cumulative sums of their counts, and has
 *	 another kernel read and move the items.
 *
 * - Coalesced writes (section 4.3): items go to their place in the tile in
 *	 shared memory first, from where neighbouring threads write to
 *	 neighbouring addresses.  In GPU-Quicksort each thread writes its own items
 *	 where they belong, far from those of its neighbours.
 *
 * CudaQuicksort has both; CudaQuicksortAtomicsOnly and
 * CudaQuicksortCoalescedOnly are the paper's CUDA-quicksort-AP and
 * CUDA-quicksort-MAO, with which it finds that the writes gain the most.  All
 * three have the same tiles, so that one thing differs at a time.
 *
 * The boxes speak of a median and leave open how it is found.  Here a pivot is
 * the middle between the smallest and the largest key of its sequence, as in
 * the first phase of GPU-Quicksort.  It halves the range of the keys, so there
 * are never more levels than a key has bits, but many if the keys are very
 * unevenly spread.  One end of a side's range is that of its parent's; the
 * other one is found while the parent is partitioned.
 *
 * Different from the paper:
 *
 * - One kernel partitions all sequences of a level.  The paper launches one
 *	 for each, on streams of their own; with tens of thousands of sequences
 *	 the launches would take longer than the work.
 * - Threads keep their items in registers between counting and placing.  The
 *	 paper has them read again.
 * - Equal keys are written anew as in the paper, but they may have values.
 *	 These wait in an array of their own, for which blocks claim room as for
 *	 the sides, until all of the sequence has been partitioned.
 * - Leaves wait until there are many, to be sorted by one kernel.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_CUDA_QUICKSORT_CUH
#define GPUSORT_LINEAGE_CUDA_QUICKSORT_CUH

#include <type_traits>
#include <utility>
#include <vector>

#include "bitonic_network.cuh"
#include "scan.cuh"

namespace lineage
{
namespace cuda_quicksort
{

using gpusort::warp_lane;
using gpusort::warp_threads;
using gpusort::whole_warp;

#ifdef CUDA_ON_CPU

constexpr unsigned threads = 64;
constexpr unsigned thread_items = 3;
constexpr unsigned resident_blocks = 2;
constexpr unsigned range_blocks = 2;
constexpr uint32_t leaf_items = 128;
constexpr unsigned leaf_threads = 32;
constexpr unsigned resident_leaves = 2;

#else

/*
 * A tile of the largest items takes 45 KiB of shared memory, so that four
 * blocks live on an SM and some wait for memory while others compute.  A
 * thread has an odd number of items: where a whole tile is of one side, which
 * is the rule in sorted input, neighbouring threads write to places that are
 * this number apart, and to different banks if it is odd.
 */
constexpr unsigned threads = 256;
constexpr unsigned thread_items = 15;
constexpr unsigned resident_blocks = 4;

/* Blocks on each SM that look for the first sequence's range. */
constexpr unsigned range_blocks = 8;

/*
 * The paper's LENGTH.  Doubling it takes one level away, which is the one
 * with the most sequences for the host to care for, and adds 12 steps to the
 * bitonic sort of each leaf.  Leaves take up to 48 KiB of shared memory.
 */
constexpr uint32_t leaf_items = 4096;
constexpr unsigned leaf_threads = 512;
constexpr unsigned resident_leaves = 2;

#endif

constexpr unsigned warps = threads / warp_threads;
constexpr uint32_t tile_items = threads * thread_items;

static_assert(tile_items < 65536, "two counts of a tile share a word");

/* How the blocks of a sequence learn where to write. */
enum class Synchronisation
{
	ATOMIC_PRIMITIVES,
	CUMULATIVE_SUMS
};

/* How they write. */
enum class Writing
{
	COALESCED,
	DIRECT
};

/* Keys as the type that atomicMax() takes. */
template <typename Key>
using AtomicKey = std::conditional_t<sizeof(Key) == sizeof(unsigned),
									 unsigned, unsigned long long>;

/* Neighbouring items to be partitioned by one pivot. */
template <typename Key>
struct Sequence
{
	Key			pivot;
	uint32_t	begin;
	uint32_t	length;
	uint32_t	first_block;	/* which takes its first tile */
};

/*
 * What a sequence, or a tile of one, is found to consist of.  The smallest of
 * the greater keys is kept inverted, so that all fields start as zero.
 */
template <typename Key>
struct Sides
{
	uint32_t	less;
	uint32_t	greater;
	uint32_t	equal;
	AtomicKey<Key> less_largest;
	AtomicKey<Key> greater_smallest_inverted;
};

/* Smallest and largest key. */
template <typename Key>
struct KeyRange
{
	AtomicKey<Key> largest;
	AtomicKey<Key> smallest_inverted;
};

/* Where a block writes its items, its equal ones in an array of their own. */
struct Slices
{
	uint32_t	less;
	uint32_t	greater;
	uint32_t	equal;
};

/* Items short enough for the bitonic sort. */
struct Leaf
{
	uint32_t	begin;
	uint32_t	length;
	bool		in_spare;		/* else among those to be sorted */
};

/* A level's work, in device memory. */
template <typename Key>
struct Level
{
	Sequence<Key> *sequences;
	Sides<Key> *sides;			/* of each sequence */
	uint32_t   *owners;			/* of each block, the number of its sequence */

	/* For synchronisation by cumulative sums, of each block: */
	Sides<Key> *block_sides;
	Slices	   *block_slices;
};

/* The calling block's tile. */
template <typename Key>
struct Tile
{
	Sequence<Key> sequence;
	uint32_t	owner;
	uint32_t	offset;			/* in the sequence */
	uint32_t	count;

	__device__ explicit
	Tile(const Level<Key> &level)
	{
		owner = level.owners[blockIdx.x];
		sequence = level.sequences[owner];
		offset = (blockIdx.x - sequence.first_block) * tile_items;

		uint32_t	left = sequence.length - offset;

		count = left < tile_items ? left : tile_items;
	}

	/* The place in the tile of an item of the calling thread. */
	static __device__ uint32_t
	place(unsigned item)
	{
		return item * threads + threadIdx.x;
	}

	/* Items of the threads before the calling one. */
	__device__ uint32_t
	items_before() const
	{
		uint32_t	rest = count % threads;

		return threadIdx.x * (count / threads) +
			(threadIdx.x < rest ? threadIdx.x : rest);
	}
};

/* Reads the keys of the thread; what is beyond the tile equals the pivot. */
template <typename Key>
static __device__ __forceinline__ void
load_keys(const Tile<Key> &tile, const Key *from, Key (&keys)[thread_items])
{
	const Key  *tile_keys = from + tile.sequence.begin + tile.offset;

#pragma unroll
	for (unsigned item = 0; item < thread_items; item++)
		keys[item] = tile.place(item) < tile.count ?
			tile_keys[tile.place(item)] : tile.sequence.pivot;
}

/* The largest value in the warp; every lane gets it. */
template <typename Value>
static __device__ __forceinline__ Value
warp_max(Value value)
{
	for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
	{
		Value		other = __shfl_xor_sync(whole_warp, value, distance);

		if (value < other)
			value = other;
	}
	return value;
}

template <typename Key>
struct CountShared
{
	scan::SumShared<threads> sums;
	AtomicKey<Key> less_largest[warps];
	AtomicKey<Key> greater_smallest_inverted[warps];
};

/*
 * Counts the items less than the pivot, and in the upper half of the word the
 * greater ones: those of all threads in *total, those of the threads before
 * this one as its result.  Called by all threads of the block.
 */
template <typename Key>
static __device__ __forceinline__ uint32_t
count_sides(const Key (&keys)[thread_items], Key pivot, uint32_t *total,
			CountShared<Key> &shared)
{
	uint32_t	counts = 0;

#pragma unroll
	for (unsigned item = 0; item < thread_items; item++)
		counts += keys[item] < pivot ? 1u : keys[item] > pivot ? 1u << 16 : 0;
	return scan::block_sum_before<threads>(counts, total, shared.sums);
}

/* Notes for tile_sides() where the warp's keys of either side end. */
template <typename Key>
static __device__ __forceinline__ void
note_ranges(const Key (&keys)[thread_items], Key pivot,
			CountShared<Key> &shared)
{
	AtomicKey<Key> largest = 0;
	AtomicKey<Key> inverted = 0;

#pragma unroll
	for (unsigned item = 0; item < thread_items; item++)
	{
		AtomicKey<Key> key = keys[item];

		if (keys[item] < pivot && largest < key)
			largest = key;
		if (keys[item] > pivot && inverted < ~key)
			inverted = ~key;
	}
	largest = warp_max(largest);
	inverted = warp_max(inverted);
	if (warp_lane() == 0)
	{
		shared.less_largest[threadIdx.x / warp_threads] = largest;
		shared.greater_smallest_inverted[threadIdx.x / warp_threads] = inverted;
	}
}

/* The sides of the tile, from what was noted and count_sides()'s total. */
template <typename Key>
static __device__ __forceinline__ Sides<Key>
tile_sides(const Tile<Key> &tile, uint32_t total,
		   const CountShared<Key> &shared)
{
	uint32_t	less = total & 0xffff;
	uint32_t	greater = total >> 16;
	Sides<Key>	sides = {less, greater, tile.count - less - greater, 0, 0};

	for (unsigned warp = 0; warp < warps; warp++)
	{
		if (sides.less_largest < shared.less_largest[warp])
			sides.less_largest = shared.less_largest[warp];
		if (sides.greater_smallest_inverted <
			shared.greater_smallest_inverted[warp])
			sides.greater_smallest_inverted =
				shared.greater_smallest_inverted[warp];
	}
	return sides;
}

/* Adds a tile's sides to its sequence's, and so claims a slice for each. */
template <typename Key, bool has_values>
static __device__ __forceinline__ Slices
claim_slices(const Tile<Key> &tile, const Sides<Key> &sides, Sides<Key> &all)
{
	const uint32_t begin = tile.sequence.begin;
	const uint32_t end = begin + tile.sequence.length;
	Slices		slices;

	slices.less = begin + atomicAdd(&all.less, sides.less);
	slices.greater = end - (atomicAdd(&all.greater, sides.greater) +
							sides.greater);
	slices.equal = has_values ? begin + atomicAdd(&all.equal, sides.equal) : 0;
	atomicMax(&all.less_largest, sides.less_largest);
	atomicMax(&all.greater_smallest_inverted,
			  sides.greater_smallest_inverted);
	return slices;
}

/* Where the items of a tile sorted by sides (less, greater, equal) go. */
template <typename Key, bool has_values>
struct Output
{
	Items<Key, has_values> to;
	uint32_t   *equal_values;
	Slices		slices;
	uint32_t	less;			/* items of this side */
	uint32_t	greater;

	__device__ __forceinline__ void
	put(uint32_t place, Key key, uint32_t value) const
	{
		uint32_t	target = place < less ? slices.less + place :
			slices.greater + (place - less);

		if (place < less + greater)
		{
			to.keys[target] = key;
			if constexpr (has_values)
				to.values[target] = value;
		}
		else if constexpr (has_values)
			equal_values[slices.equal + (place - less - greater)] = value;
	}
};

template <typename Key, bool has_values, Writing writing>
struct PartitionShared
{
	CountShared<Key> count;
	Slices		slices;
	SharedItems<Key, has_values,
				writing == Writing::COALESCED ? tile_items : 1> tile;
};

/* Only counts each tile's sides, for the host to sum up. */
template <typename Key>
static __global__ void __launch_bounds__(threads)
count_tiles(Level<Key> level, const Key *from)
{
	auto	   &shared = block_shared<CountShared<Key>>();
	const Tile<Key> tile(level);
	Key			keys[thread_items];
	uint32_t	total;

	load_keys(tile, from, keys);
	note_ranges(keys, tile.sequence.pivot, shared);
	(void) count_sides(keys, tile.sequence.pivot, &total, shared);
	if (threadIdx.x == 0)
		level.block_sides[blockIdx.x] = tile_sides(tile, total, shared);
}

/* Moves the items of a level, but for its equal keys, to the other array. */
template <typename Key, bool has_values, Synchronisation synchronisation,
		  Writing writing>
static __global__ void __launch_bounds__(threads, resident_blocks)
partition_tiles(Level<Key> level, Items<Key, has_values> from,
				Items<Key, has_values> to, uint32_t *equal_values)
{
	auto	   &shared =
		block_shared<PartitionShared<Key, has_values, writing>>();
	const Tile<Key> tile(level);
	const Key	pivot = tile.sequence.pivot;
	Key			keys[thread_items];
	uint32_t	values[thread_items] = {};
	uint32_t	total;

	load_keys(tile, from.keys, keys);
	if constexpr (has_values)
	{
		const uint32_t *tile_values = from.values + tile.sequence.begin +
			tile.offset;

#pragma unroll
		for (unsigned item = 0; item < thread_items; item++)
			if (tile.place(item) < tile.count)
				values[item] = tile_values[tile.place(item)];
	}

	if constexpr (synchronisation == Synchronisation::ATOMIC_PRIMITIVES)
		note_ranges(keys, pivot, shared.count);

	const uint32_t before = count_sides(keys, pivot, &total, shared.count);
	const uint32_t less = total & 0xffff;
	const uint32_t greater = total >> 16;

	if (threadIdx.x == 0)
	{
		if constexpr (synchronisation == Synchronisation::ATOMIC_PRIMITIVES)
			shared.slices =
				claim_slices<Key, has_values>(tile, tile_sides(tile, total,
															   shared.count),
											  level.sides[tile.owner]);
		else
			shared.slices = level.block_slices[blockIdx.x];
	}

	/* Calls put(place in the tile by sides, item) for the thread's items. */
	auto		place_items = [&](auto put)
	{
		uint32_t	less_place = before & 0xffff;
		uint32_t	greater_place = less + (before >> 16);
		uint32_t	equal_place = less + greater + tile.items_before() -
			(before & 0xffff) - (before >> 16);

#pragma unroll
		for (unsigned item = 0; item < thread_items; item++)
		{
			if (keys[item] < pivot)
				put(less_place++, item);
			else if (keys[item] > pivot)
				put(greater_place++, item);
			else if (has_values && tile.place(item) < tile.count)
				put(equal_place++, item);
		}
	};

	if constexpr (writing == Writing::COALESCED)
	{
		Items<Key, has_values> sorted = shared.tile.items();

		place_items([&](uint32_t place, unsigned item)
		{
			sorted.keys[place] = keys[item];
			if constexpr (has_values)
				sorted.values[place] = values[item];
		});
		__syncthreads();

		const Output<Key, has_values> output = {to, equal_values,
			shared.slices, less, greater};
		const uint32_t end = has_values ? tile.count : less + greater;

		for (uint32_t place = threadIdx.x; place < end; place += threads)
			output.put(place, sorted.keys[place],
					   has_values ? sorted.values[place] : 0);
	}
	else
	{
		__syncthreads();

		const Output<Key, has_values> output = {to, equal_values,
			shared.slices, less, greater};

		place_items([&](uint32_t place, unsigned item)
		{
			output.put(place, keys[item], values[item]);
		});
	}
}

/*
 * Writes the equal keys of partitioned sequences into the gap between the
 * sides, where they belong at last, each block a tile's length of them.
 */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(threads)
write_pivots(Level<Key> level, Items<Key, has_values> items,
			 const uint32_t *equal_values)
{
	const Tile<Key> tile(level);
	const uint32_t less = level.sides[tile.owner].less;
	const uint32_t greater = level.sides[tile.owner].greater;
	const uint32_t equal = tile.sequence.length - less - greater;
	const uint32_t begin = tile.sequence.begin;

#pragma unroll
	for (unsigned item = 0; item < thread_items; item++)
	{
		uint32_t	number = tile.offset + tile.place(item);

		if (number >= equal)
			break;
		items.keys[begin + less + number] = tile.sequence.pivot;
		if constexpr (has_values)
			items.values[begin + less + number] = equal_values[begin + number];
	}
}

/* Widens a range, which starts as zero, to that of all keys. */
template <typename Key>
static __global__ void __launch_bounds__(threads)
find_range(const Key *keys, uint32_t n, KeyRange<Key> *range)
{
	AtomicKey<Key> largest = 0;
	AtomicKey<Key> inverted = 0;

#pragma unroll 4
	for (uint32_t place = blockIdx.x * threads + threadIdx.x; place < n;
		 place += gridDim.x * threads)
	{
		AtomicKey<Key> key = keys[place];

		if (largest < key)
			largest = key;
		if (inverted < ~key)
			inverted = ~key;
	}
	largest = warp_max(largest);
	inverted = warp_max(inverted);
	if (warp_lane() == 0)
	{
		atomicMax(&range->largest, largest);
		atomicMax(&range->smallest_inverted, inverted);
	}
}

/* Sorts a leaf, wherever it lies, to where it belongs. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(leaf_threads, resident_leaves)
sort_leaves(const Leaf *leaves, Items<Key, has_values> items,
			Items<Key, has_values> spare)
{
	using Shared = SharedItems<Key, has_values, leaf_items>;

	const Items<Key, has_values> local = block_shared<Shared>().items();
	const Leaf	leaf = leaves[blockIdx.x];
	const Items<Key, has_values> from = leaf.in_spare ? spare : items;

	for (uint32_t item = threadIdx.x; item < leaf.length; item += leaf_threads)
		copy_item(from, leaf.begin + item, local, item);
	__syncthreads();
	block_network(local, leaf.length);
	for (uint32_t item = threadIdx.x; item < leaf.length; item += leaf_threads)
		copy_item(local, item, items, leaf.begin + item);
}

/* What is in the extra memory. */
template <typename Key, bool has_values, Synchronisation synchronisation>
struct Space
{
	Items<Key, has_values> spare;
	uint32_t   *equal_values;
	Level<Key>	level;
	Leaf	   *leaves;
	KeyRange<Key> *range;

	/* Most sequences of a level: all are longer than a leaf. */
	static uint32_t
	max_sequences(uint32_t n)
	{
		return n / (leaf_items + 1);
	}

	/* Most tiles of a level, the last of each sequence partly filled. */
	static uint32_t
	max_blocks(uint32_t n)
	{
		return n / tile_items + max_sequences(n);
	}

	/* Leaves that there is room for; a level yields up to this many. */
	static uint32_t
	max_leaves(uint32_t n)
	{
		return n <= leaf_items ? 1 : 2 * max_sequences(n);
	}

	/* Lays it out from "start" on, or only counts the bytes it takes. */
	size_t
	lay_out(void *start, uint32_t n)
	{
		constexpr bool with_sums =
			synchronisation == Synchronisation::CUMULATIVE_SUMS;
		size_t		used = 0;

		auto		take = [&](auto *&part, size_t count)
		{
			using Part = std::remove_reference_t<decltype(part)>;

			part = start == nullptr ? nullptr : reinterpret_cast<Part>(
				static_cast<unsigned char *>(start) + used);
			used += divide_up(count * sizeof(*part), 256) * 256;
		};

		take(spare.keys, n);
		take(spare.values, has_values ? n : 0);
		take(equal_values, has_values ? n : 0);
		take(level.sequences, max_sequences(n));
		take(level.sides, max_sequences(n));
		take(level.owners, max_blocks(n));
		take(level.block_sides, with_sums ? max_blocks(n) : 0);
		take(level.block_slices, with_sums ? max_blocks(n) : 0);
		take(leaves, max_leaves(n));
		take(range, 1);
		return used;
	}
};

/* The host's side of one sort. */
template <typename Key, bool has_values, Synchronisation synchronisation,
		  Writing writing>
class Sorter
{
public:
	Sorter(const Queue &queue_to_use, Items<Key, has_values> items_to_sort,
		   uint32_t number_of_items, void *extra)
		: queue(queue_to_use), items(items_to_sort), n(number_of_items)
	{
		(void) space.lay_out(extra, n);
	}

	bool
	sort()
	{
		Key			smallest = 0;
		Key			largest = 0;

		if (n > leaf_items && !measure_range(&smallest, &largest))
			return false;
		add_sequence(0, n, smallest, largest, false);

		for (bool in_spare = false; !next_level.empty(); in_spare = !in_spare)
			if (!partition_level(in_spare))
				return false;
		return finish_leaves();
	}

private:
	/* A sequence of the level to come; its keys reach from low to high. */
	struct Open
	{
		uint32_t	begin;
		uint32_t	length;
		Key			low;
		Key			high;
	};

	bool
	measure_range(Key *smallest, Key *largest)
	{
		uint64_t	most = divide_up(n, tile_items);
		uint64_t	resident = static_cast<uint64_t>(queue.multiprocessors) *
			range_blocks;
		KeyRange<Key> range;

		if (!clear(space.range, 1) ||
			!queue.launch("finding the range of keys", find_range<Key>,
						  most < resident ? most : resident, threads,
						  items.keys, n, space.range) ||
			!download(&range, space.range, 1))
			return false;
		*smallest = static_cast<Key>(~range.smallest_inverted);
		*largest = static_cast<Key>(range.largest);
		return true;
	}

	/* Notes what is to be done about new items, which may be none. */
	void
	add_sequence(uint32_t begin, uint32_t length, Key low, Key high,
				 bool in_spare)
	{
		if (length > leaf_items)
			next_level.push_back({begin, length, low, high});
		else if (length > 1 || (length == 1 && in_spare))
			leaves.push_back({begin, length, in_spare});
	}

	bool
	partition_level(bool in_spare)
	{
		using Shared = PartitionShared<Key, has_values, writing>;

		const Items<Key, has_values> from = in_spare ? space.spare : items;
		const Items<Key, has_values> to = in_spare ? items : space.spare;

		open.clear();
		std::swap(open, next_level);
		assign_blocks();
		sides.assign(open.size(), Sides<Key>());

		if (!upload(space.level.sequences, sequences) ||
			!upload(space.level.owners, owners) ||
			(synchronisation == Synchronisation::CUMULATIVE_SUMS ?
			 !sum_up_blocks(from) :
			 !clear(space.level.sides, sides.size())) ||
			!queue.launch<Shared>("partitioning",
								  partition_tiles<Key, has_values,
												  synchronisation, writing>,
								  owners.size(), threads, space.level, from,
								  to, space.equal_values) ||
			!queue.launch("writing pivots", write_pivots<Key, has_values>,
						  owners.size(), threads, space.level, items,
						  space.equal_values) ||
			(synchronisation == Synchronisation::ATOMIC_PRIMITIVES &&
			 !download(sides.data(), space.level.sides, sides.size())))
			return false;

		return add_sides(!in_spare);
	}

	/* Makes the level's list of sequences, and of the blocks for each. */
	void
	assign_blocks()
	{
		sequences.clear();
		owners.clear();
		for (const Open &sequence : open)
		{
			uint32_t	number = static_cast<uint32_t>(sequences.size());
			uint32_t	first = static_cast<uint32_t>(owners.size());
			Key			pivot = sequence.low +
				(sequence.high - sequence.low) / 2;

			sequences.push_back({pivot, sequence.begin, sequence.length,
								 first});
			owners.resize(first + divide_up(sequence.length, tile_items),
						  number);
		}
	}

	/*
	 * Lets the blocks count, and computes from cumulative sums of their
	 * counts where each of them is to write.
	 */
	bool
	sum_up_blocks(Items<Key, has_values> from)
	{
		block_sides.resize(owners.size());
		block_slices.resize(owners.size());
		if (!queue.launch<CountShared<Key>>("counting sides", count_tiles<Key>,
											owners.size(), threads,
											space.level, from.keys) ||
			!download(block_sides.data(), space.level.block_sides,
					  block_sides.size()))
			return false;

		for (size_t block = 0; block < owners.size(); block++)
		{
			const Sides<Key> &own = block_sides[block];
			const Open &sequence = open[owners[block]];
			Sides<Key> &all = sides[owners[block]];

			all.greater += own.greater;
			block_slices[block] = {sequence.begin + all.less,
				sequence.begin + sequence.length - all.greater,
				sequence.begin + all.equal};
			all.less += own.less;
			all.equal += own.equal;
			if (all.less_largest < own.less_largest)
				all.less_largest = own.less_largest;
			if (all.greater_smallest_inverted < own.greater_smallest_inverted)
				all.greater_smallest_inverted = own.greater_smallest_inverted;
		}
		return upload(space.level.block_slices, block_slices) &&
			upload(space.level.sides, sides);
	}

	/* Makes sequences of the level's sides. */
	bool
	add_sides(bool in_spare)
	{
		if (leaves.size() + 2 * open.size() > space.max_leaves(n) &&
			!finish_leaves())
			return false;

		for (size_t number = 0; number < open.size(); number++)
		{
			const Open &parent = open[number];
			const Sides<Key> &found = sides[number];
			Key			greater_smallest =
				static_cast<Key>(~found.greater_smallest_inverted);

			add_sequence(parent.begin, found.less, parent.low,
						 static_cast<Key>(found.less_largest), in_spare);
			add_sequence(parent.begin + parent.length - found.greater,
						 found.greater, greater_smallest, parent.high,
						 in_spare);
		}
		return true;
	}

	bool
	finish_leaves()
	{
		if (!upload(space.leaves, leaves) ||
			!queue.launch<SharedItems<Key, has_values, leaf_items>>(
				"sorting leaves", sort_leaves<Key, has_values>, leaves.size(),
				leaf_threads, space.leaves, items, space.spare))
			return false;
		leaves.clear();
		return true;
	}

	template <typename Element>
	bool
	clear(Element *elements, size_t count)
	{
		return queue.did(cudaMemsetAsync(elements, 0, count * sizeof(Element),
										 queue.stream), "clearing counters");
	}

	template <typename Element>
	bool
	upload(Element *to, const std::vector<Element> &from)
	{
		return from.empty() ||
			queue.did(cudaMemcpyAsync(to, from.data(),
									  from.size() * sizeof(Element),
									  cudaMemcpyHostToDevice, queue.stream),
					  "copying a list to the device");
	}

	/* Waits for the device, too. */
	template <typename Element>
	bool
	download(Element *to, const Element *from, size_t count)
	{
		return queue.did(cudaMemcpyAsync(to, from, count * sizeof(Element),
										 cudaMemcpyDeviceToHost,
										 queue.stream),
						 "copying counters from the device") &&
			queue.did(cudaStreamSynchronize(queue.stream), "partitioning");
	}

	const Queue &queue;
	const Items<Key, has_values> items;
	const uint32_t n;
	Space<Key, has_values, synchronisation> space;

	std::vector<Open> next_level;
	std::vector<Leaf> leaves;	/* not yet finished */

	/* Of the level at work: */
	std::vector<Open> open;
	std::vector<Sequence<Key>> sequences;
	std::vector<Sides<Key>> sides;
	std::vector<uint32_t> owners;
	std::vector<Sides<Key>> block_sides;
	std::vector<Slices> block_slices;
};

template <typename Key, bool has_values, Synchronisation synchronisation,
		  Writing writing>
struct Algorithm
{
	static size_t
	extra_bytes(uint32_t n)
	{
		Space<Key, has_values, synchronisation> space;

		return space.lay_out(nullptr, n);
	}

	static bool
	sort(const Queue &queue, Items<Key, has_values> items, uint32_t n,
		 void *extra)
	{
		return Sorter<Key, has_values, synchronisation, writing>(
			queue, items, n, extra).sort();
	}
};

}								/* namespace cuda_quicksort */

template <typename Key, bool has_values>
struct CudaQuicksort
	: cuda_quicksort::Algorithm<
		  Key, has_values,
		  cuda_quicksort::Synchronisation::ATOMIC_PRIMITIVES,
		  cuda_quicksort::Writing::COALESCED>
{
	static constexpr const char *name = "CUDA-quicksort";
};

/* CUDA-quicksort-AP: atomic primitives, without optimised memory access. */
template <typename Key, bool has_values>
struct CudaQuicksortAtomicsOnly
	: cuda_quicksort::Algorithm<
		  Key, has_values,
		  cuda_quicksort::Synchronisation::ATOMIC_PRIMITIVES,
		  cuda_quicksort::Writing::DIRECT>
{
	static constexpr const char *name = "CUDA-quicksort-AP (atomics only)";
};

/* CUDA-quicksort-MAO: memory access optimised, without atomic primitives. */
template <typename Key, bool has_values>
struct CudaQuicksortCoalescedOnly
	: cuda_quicksort::Algorithm<
		  Key, has_values,
		  cuda_quicksort::Synchronisation::CUMULATIVE_SUMS,
		  cuda_quicksort::Writing::COALESCED>
{
	static constexpr const char *name =
		"CUDA-quicksort-MAO (coalesced writes only)";
};

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_CUDA_QUICKSORT_CUH */
