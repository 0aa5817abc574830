/*-------------------------------------------------------------------------
 *
 * gpu_quicksort_kernels.cuh
 *	  The device's side of GPU-Quicksort; gpu_quicksort.cuh says how it works.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_GPU_QUICKSORT_KERNELS_CUH
#define GPUSORT_LINEAGE_GPU_QUICKSORT_KERNELS_CUH

#include "quicksort.cuh"
#include "scan.cuh"

namespace lineage
{
namespace gpu_quicksort
{

using scan::SumShared;
using scan::block_sum_before;
using scan::warp_lane;
using scan::warp_threads;
using scan::whole_warp;

#ifdef CUDA_ON_CPU

constexpr unsigned threads = 64;
constexpr unsigned batch = 2;
constexpr uint32_t short_items = 64;
constexpr uint32_t gap_piece_items = 96;

#else

constexpr unsigned threads = 256;

/* Items that a thread loads before it looks at the first of them. */
constexpr unsigned batch = 4;

/* Sequences of up to this many items are sorted in shared memory. */
constexpr uint32_t short_items = 2048;

/* What a block fills of a gap. */
constexpr uint32_t gap_piece_items = 4096;

#endif

/* Each entry of the stack is at most half as long as the one below. */
constexpr unsigned stack_entries = 32;

constexpr unsigned warps = threads / warp_threads;

/* The smallest of some keys and the largest of some, maybe of others. */
template <typename Key>
struct Extremes
{
	Key			smallest;
	Key			largest;

	/* Of no keys. */
	static __host__ __device__ Extremes
	none()
	{
		return {static_cast<Key>(-1), 0};
	}

	__host__ __device__ void
	merge(const Extremes &other)
	{
		smallest = other.smallest < smallest ? other.smallest : smallest;
		largest = other.largest > largest ? other.largest : largest;
	}

	/* The first phase's pivot. */
	Key
	mean() const
	{
		return smallest + (largest - smallest) / 2;
	}
};

/* The part of a sequence that a block works on. */
template <typename Key>
struct Section
{
	Key			pivot;
	uint32_t	begin;
	uint32_t	end;
	uint32_t	sequence;
};

/* The places that the next item of each kind goes to. */
struct Targets
{
	uint32_t	less;
	uint32_t	greater;
	uint32_t	equal;
};

/* Part of a gap, and where the values for it are. */
template <typename Key>
struct GapPiece
{
	Key			pivot;
	uint32_t	begin;
	uint32_t	end;
	uint32_t	values_begin;
};

/* A sequence in the second phase. */
struct OwnSequence
{
	uint32_t	begin;
	uint32_t	end;
	bool		in_spare;

	__device__ uint32_t
	length() const
	{
		return end - begin;
	}
};

/*
 * Calls visit(key, value) for each item of a section that is the calling
 * thread's.  The threads read neighbouring items.
 */
template <typename Key, bool has_values, typename Visit>
static __device__ __forceinline__ void
visit_items(Items<Key, has_values> items, uint32_t begin, uint32_t end,
			Visit visit)
{
	for (uint32_t start = begin + threadIdx.x; start < end;
		 start += batch * threads)
	{
		Key			keys[batch] = {};
		uint32_t	values[batch] = {};

#pragma unroll
		for (unsigned item = 0; item < batch; item++)
		{
			uint32_t	place = start + item * threads;

			if (place < end)
			{
				keys[item] = items.keys[place];
				if constexpr (has_values)
					values[item] = items.values[place];
			}
		}
#pragma unroll
		for (unsigned item = 0; item < batch; item++)
			if (start + item * threads < end)
				visit(keys[item], values[item]);
	}
}

/* Items that visit_items() gives to the threads before the calling one. */
static __device__ __forceinline__ uint32_t
items_before(uint32_t length)
{
	uint32_t	rest = length % threads;

	return length / threads * threadIdx.x +
		(threadIdx.x < rest ? threadIdx.x : rest);
}

/* How many items are less and how many greater, as one number to sum up. */
struct Sides
{
	uint64_t	both;

	static __device__ Sides
	of(uint32_t less, uint32_t greater)
	{
		return {static_cast<uint64_t>(greater) << 32 | less};
	}

	__device__ uint32_t
	less() const
	{
		return static_cast<uint32_t>(both);
	}

	__device__ uint32_t
	greater() const
	{
		return static_cast<uint32_t>(both >> 32);
	}
};

/*
 * Counts the calling thread's items; *inner becomes the smallest of the
 * greater ones and the largest of the less.
 */
template <typename Key>
static __device__ __forceinline__ Sides
count_sides(const Key *keys, uint32_t begin, uint32_t end, Key pivot,
			Extremes<Key> *inner)
{
	Items<Key, false> items = {const_cast<Key *>(keys), nullptr};
	uint32_t	less = 0;
	uint32_t	greater = 0;

	*inner = Extremes<Key>::none();
	visit_items(items, begin, end, [&](Key key, uint32_t) {
		if (key < pivot)
		{
			less++;
			inner->largest = key > inner->largest ? key : inner->largest;
		}
		if (key > pivot)
		{
			greater++;
			inner->smallest = key < inner->smallest ? key : inner->smallest;
		}
	});
	return Sides::of(less, greater);
}

/*
 * Moves the calling thread's items to their sides.  Of equal ones only the
 * values are kept, in equal_values.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
move_items(Items<Key, has_values> from, uint32_t begin, uint32_t end,
		   Key pivot, Items<Key, has_values> to, uint32_t *equal_values,
		   Targets next)
{
	visit_items(from, begin, end, [&](Key key, uint32_t value) {
		if (key != pivot)
		{
			uint32_t	target = key < pivot ? next.less++ : next.greater++;

			to.keys[target] = key;
			if constexpr (has_values)
				to.values[target] = value;
		}
		else if constexpr (has_values)
			equal_values[next.equal++] = value;
	});
}

/*
 * The targets of the calling thread, from those of its block and from the
 * sides of the threads before it.
 */
static __device__ __forceinline__ Targets
thread_targets(Targets block, Sides before, uint32_t section_length)
{
	uint32_t	equal = items_before(section_length) - before.less() -
		before.greater();

	return {block.less + before.less(), block.greater + before.greater(),
		block.equal + equal};
}

template <typename Key>
struct ExtremesShared
{
	Extremes<Key> of_warps[warps];
};

/* The extremes of all threads, for each of them.  Ends with a barrier. */
template <typename Key>
static __device__ __forceinline__ Extremes<Key>
block_extremes(Extremes<Key> own, ExtremesShared<Key> &shared)
{
	Extremes<Key> all = Extremes<Key>::none();

	for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
		own.merge({__shfl_xor_sync(whole_warp, own.smallest, distance),
				   __shfl_xor_sync(whole_warp, own.largest, distance)});
	if (warp_lane() == 0)
		shared.of_warps[threadIdx.x / warp_threads] = own;
	__syncthreads();
	for (const Extremes<Key> &of_warp : shared.of_warps)
		all.merge(of_warp);
	__syncthreads();
	return all;
}

/* The extremes of each section. */
template <typename Key>
static __global__ void __launch_bounds__(threads)
find_extremes(const Key *keys, const Section<Key> *sections,
			  Extremes<Key> *extremes)
{
	auto	   &shared = block_shared<ExtremesShared<Key>>();
	Section<Key> section = sections[blockIdx.x];
	Items<Key, false> items = {const_cast<Key *>(keys), nullptr};
	Extremes<Key> own = Extremes<Key>::none();

	visit_items(items, section.begin, section.end, [&](Key key, uint32_t) {
		own.merge({key, key});
	});
	own = block_extremes(own, shared);
	if (threadIdx.x == 0)
		extremes[blockIdx.x] = own;
}

/* Fills gaps, a piece a block. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(threads)
fill_gaps(const GapPiece<Key> *pieces, const uint32_t *equal_values,
		  Items<Key, has_values> sorted)
{
	GapPiece<Key> piece = pieces[blockIdx.x];

	for (uint32_t place = piece.begin + threadIdx.x; place < piece.end;
		 place += threads)
	{
		sorted.keys[place] = piece.pivot;
		if constexpr (has_values)
			sorted.values[place] =
				equal_values[piece.values_begin + (place - piece.begin)];
	}
}

/* What a block has counted. */
template <typename Key>
struct SectionCounts
{
	uint32_t	less;
	uint32_t	greater;
	Extremes<Key> inner;
};

template <typename Key>
struct CountShared
{
	SumShared<threads, uint64_t> sums;
	ExtremesShared<Key> extremes;
};

/* The first half of partitioning without atomic operations. */
template <typename Key>
static __global__ void __launch_bounds__(threads)
count_sections(const Key *keys, const Section<Key> *sections,
			   SectionCounts<Key> *counts, Sides *thread_sides)
{
	auto	   &shared = block_shared<CountShared<Key>>();
	Section<Key> section = sections[blockIdx.x];
	Extremes<Key> inner;
	Sides		sides = count_sides(keys, section.begin, section.end,
									section.pivot, &inner);
	Sides		total;
	Sides		before = {block_sum_before(sides.both, &total.both,
										   shared.sums)};

	inner = block_extremes(inner, shared.extremes);
	thread_sides[blockIdx.x * threads + threadIdx.x] = before;
	if (threadIdx.x == 0)
		counts[blockIdx.x] = {total.less(), total.greater(), inner};
}

/* The second half. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(threads)
move_sections(Items<Key, has_values> from, const Section<Key> *sections,
			  const Targets *targets, const Sides *thread_sides,
			  Items<Key, has_values> to)
{
	Section<Key> section = sections[blockIdx.x];
	Sides		before = thread_sides[blockIdx.x * threads + threadIdx.x];

	move_items(from, section.begin, section.end, section.pivot, to, to.values,
			   thread_targets(targets[blockIdx.x], before,
							  section.end - section.begin));
}

/* What the blocks of a sequence share; keys are as wide as atomics need. */
struct SharedSequence
{
	uint32_t	begin;
	uint32_t	end;
	uint32_t	less;
	uint32_t	greater;
	uint32_t	equal;
	unsigned long long smallest_greater;
	unsigned long long largest_less;
};

template <typename Key>
struct AtomicShared
{
	CountShared<Key> count;
	Targets		targets;
};

/* Partitioning with atomic operations. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(threads)
partition_sections(Items<Key, has_values> from, const Section<Key> *sections,
				   SharedSequence *sequences, Items<Key, has_values> to,
				   uint32_t *equal_values)
{
	auto	   &shared = block_shared<AtomicShared<Key>>();
	Section<Key> section = sections[blockIdx.x];
	SharedSequence &sequence = sequences[section.sequence];
	Extremes<Key> inner;
	Sides		sides = count_sides(from.keys, section.begin, section.end,
									section.pivot, &inner);
	Sides		total;
	Sides		before = {block_sum_before(sides.both, &total.both,
										   shared.count.sums)};

	inner = block_extremes(inner, shared.count.extremes);
	if (threadIdx.x == 0)
	{
		uint32_t	less = total.less();
		uint32_t	greater = total.greater();
		uint32_t	equal = section.end - section.begin - less - greater;

		shared.targets = {
			sequence.begin + atomicAdd(&sequence.less, less),
			sequence.end - greater - atomicAdd(&sequence.greater, greater),
			sequence.begin + atomicAdd(&sequence.equal, equal)};
		(void) atomicMin(&sequence.smallest_greater, inner.smallest);
		(void) atomicMax(&sequence.largest_less, inner.largest);
	}
	__syncthreads();

	move_items(from, section.begin, section.end, section.pivot, to,
			   equal_values, thread_targets(shared.targets, before,
											section.end - section.begin));
}

template <typename Key, bool has_values>
struct OwnShared
{
	SharedItems<Key, has_values, short_items> items;
	SumShared<threads, uint64_t> sums;
	OwnSequence stack[stack_entries];
};

/*
 * Partitions a sequence by one block.  Puts both sides on the stack, the
 * shorter one on top; returns how many are not empty.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ unsigned
partition_own(OwnSequence sequence, Items<Key, has_values> from,
			  Items<Key, has_values> to, Items<Key, has_values> sorted,
			  OwnSequence *stack, SumShared<threads, uint64_t> &sums)
{
	uint32_t	begin = sequence.begin;
	uint32_t	end = sequence.end;
	Key			pivot = median_of_three(from.keys, begin, sequence.length());
	Extremes<Key> unused;
	Sides		sides = count_sides(from.keys, begin, end, pivot, &unused);
	Sides		total;
	Sides		before = {block_sum_before(sides.both, &total.both, sums)};
	OwnSequence less = {begin, begin + total.less(), !sequence.in_spare};
	OwnSequence greater = {end - total.greater(), end, !sequence.in_spare};
	bool		is_less_longer = less.length() > greater.length();
	OwnSequence longer = is_less_longer ? less : greater;
	OwnSequence shorter = is_less_longer ? greater : less;
	unsigned	pushed = 0;

	move_items(from, begin, end, pivot, to, to.values,
			   thread_targets({less.begin, greater.begin, less.end}, before,
							  sequence.length()));
	if (longer.length() > 0)
	{
		if (threadIdx.x == 0)
			stack[pushed] = longer;
		pushed++;
	}
	if (shorter.length() > 0)
	{
		if (threadIdx.x == 0)
			stack[pushed] = shorter;
		pushed++;
	}
	__syncthreads();

	for (uint32_t place = less.end + threadIdx.x; place < greater.begin;
		 place += threads)
	{
		sorted.keys[place] = pivot;
		if constexpr (has_values)
			sorted.values[place] = to.values[place];
	}
	return pushed;
}

/* The second phase: a block a sequence. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(threads)
sort_sequences(const OwnSequence *sequences, Items<Key, has_values> sorted,
			   Items<Key, has_values> spare)
{
	auto	   &shared = block_shared<OwnShared<Key, has_values>>();
	unsigned	entries = 1;

	if (threadIdx.x == 0)
		shared.stack[0] = sequences[blockIdx.x];
	__syncthreads();

	while (entries > 0)
	{
		OwnSequence sequence = shared.stack[--entries];
		Items<Key, has_values> from = sequence.in_spare ? spare : sorted;
		Items<Key, has_values> to = sequence.in_spare ? sorted : spare;

		if (sequence.length() <= short_items)
			sort_short(from, sorted, sequence.begin, sequence.length(),
					   shared.items.items());
		else
			entries += partition_own(sequence, from, to, sorted,
									 shared.stack + entries, shared.sums);
	}
}

}								/* namespace gpu_quicksort */
}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_GPU_QUICKSORT_KERNELS_CUH */
