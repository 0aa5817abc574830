/*-------------------------------------------------------------------------
 *
 * leaf_sort.cuh
 *	  One block sorts a leaf in shared memory.
 *
 * However the keys are distributed, the few of one leaf mostly lie evenly
 * between the smallest and the largest of them.  So they are spread over as
 * many buckets as there may be rows, by where they lie in that range (bucket
 * sort; with random words a bucket has one row on average), and within a
 * bucket each row finds its place by counting those that come before it.
 * That takes a fixed number of steps, where a bitonic network of 2048 takes
 * 66.
 *
 * A bucket of many rows is crowded.  If its words are equal there is nothing
 * to do; otherwise a bitonic network (block_sort.cuh) sorts this bucket, so no
 * input costs much more than bitonic sort, CUDA-quicksort's own finish.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LEAF_SORT_CUH
#define GPUSORT_LEAF_SORT_CUH

#include "block_scan.cuh"
#include "block_sort.cuh"

namespace gpusort
{

/* How words of a range are spread over buckets, never falling. */
struct Spread
{
	uint64_t	least;
	uint64_t	factor;			/* of 32-bit distances, in 2^-32 buckets */
	unsigned	shift;			/* from a distance to 32 bits */

	static __device__ __forceinline__ Spread
	over(uint64_t least, uint64_t greatest, unsigned buckets)
	{
		uint64_t	range = greatest - least;
		unsigned	shift = range >> 32 == 0 ? 0 :
			32 - static_cast<unsigned>(__clzll(static_cast<long long>(range)));

		return {least, (static_cast<uint64_t>(buckets) << 32) /
			((range >> shift) + 1), shift};
	}

	__device__ __forceinline__ uint32_t
	bucket(uint64_t word) const
	{
		return static_cast<uint32_t>(((word - least) >> shift) * factor >> 32);
	}
};

template <unsigned capacity, unsigned threads>
struct LeafShared
{
	static constexpr unsigned buckets = capacity < most_leaf_buckets ?
		capacity : most_leaf_buckets;
	static constexpr unsigned warps = threads / warp_threads;

	uint64_t	words[capacity];
	uint32_t	rows[capacity];
	uint32_t	begins[buckets + 1];	/* at first, how many rows they have */
	uint32_t	mixed[buckets / 32];	/* a bit for crowded ones to be sorted */
	bool		has_crowded;
	bool		has_mixed;
	Spread		spread;
	uint64_t	least[warps];
	uint64_t	greatest[warps];
	ScanShared<threads> scan;
};

/* The rows of a leaf that one thread has. */
template <unsigned items>
struct LeafItems
{
	uint64_t	words[items];
	uint32_t	rows[items];
	uint32_t	buckets[items];
	uint32_t	ranks[items];	/* how many of the bucket came before */
};

static __device__ __forceinline__ void
widen_over_warp(uint64_t &least, uint64_t &greatest)
{
	for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
	{
		uint64_t	other_least = __shfl_xor_sync(whole_warp, least, distance);
		uint64_t	other_greatest = __shfl_xor_sync(whole_warp, greatest,
													 distance);

		least = other_least < least ? other_least : least;
		greatest = other_greatest > greatest ? other_greatest : greatest;
	}
}

/*
 * Finds how to spread the words, given each thread's extremes.  Called by all
 * threads of the block; the result is in shared memory after the next barrier.
 */
template <unsigned capacity, unsigned threads>
static __device__ __forceinline__ void
find_spread(uint64_t least, uint64_t greatest,
			LeafShared<capacity, threads> &shared)
{
	using Shared = LeafShared<capacity, threads>;

	widen_over_warp(least, greatest);
	if (warp_lane() == 0)
	{
		shared.least[threadIdx.x / warp_threads] = least;
		shared.greatest[threadIdx.x / warp_threads] = greatest;
	}
	__syncthreads();
	if (threadIdx.x >= warp_threads)
		return;
	if (warp_lane() < Shared::warps)
	{
		least = shared.least[warp_lane()];
		greatest = shared.greatest[warp_lane()];
	}
	widen_over_warp(least, greatest);
	if (threadIdx.x == 0)
		shared.spread = Spread::over(least, greatest, Shared::buckets);
}

/* Turns the lengths of buckets into their begins; between two barriers. */
template <unsigned capacity, unsigned threads>
static __device__ __forceinline__ void
place_buckets(LeafShared<capacity, threads> &shared)
{
	constexpr unsigned buckets = LeafShared<capacity, threads>::buckets;
	constexpr unsigned own = buckets / threads;
	uint32_t   *begins = &shared.begins[threadIdx.x * own];
	uint32_t	lengths[own];
	uint32_t	sum = 0;

#pragma unroll
	for (unsigned i = 0; i < own; i++)
	{
		lengths[i] = begins[i];
		sum += lengths[i];
	}

	uint32_t	begin = block_sum_before(sum, shared.scan);

#pragma unroll
	for (unsigned i = 0; i < own; i++)
	{
		begins[i] = begin;
		begin += lengths[i];
	}
	if (threadIdx.x == threads - 1)
		shared.begins[buckets] = begin;
}

/* Sorts the crowded buckets that have different words. */
template <unsigned capacity, unsigned threads>
static __device__ __forceinline__ void
sort_mixed_buckets(LeafShared<capacity, threads> &shared)
{
	for (unsigned group = 0;
		 group < LeafShared<capacity, threads>::buckets / 32; group++)
		for (uint32_t left = shared.mixed[group]; left != 0; left &= left - 1)
		{
			unsigned	bucket = group * 32 + __ffs(left) - 1;
			uint32_t	begin = shared.begins[bucket];

			block_sort<threads>({shared.words + begin, shared.rows + begin},
								shared.begins[bucket + 1] - begin);
			__syncthreads();
		}
}

/* Sorts a leaf into the order.  Called by all threads of a block. */
template <unsigned capacity, unsigned threads>
static __device__ __forceinline__ void
sort_leaf(Leaf leaf, Pairs from, Order order,
		  LeafShared<capacity, threads> &shared)
{
	using Shared = LeafShared<capacity, threads>;
	constexpr unsigned items = capacity / threads;
	LeafItems<items> own;
	uint64_t	least = UINT64_MAX;
	uint64_t	greatest = 0;
	bool		has_ties = false;

	/* Shared memory may still be read for the leaf before. */
	__syncthreads();
#pragma unroll
	for (unsigned i = 0; i < items; i++)
	{
		unsigned	place = i * threads + threadIdx.x;

		if (place < leaf.length)
		{
			own.words[i] = from.words[leaf.begin + place];
			own.rows[i] = from.rows[leaf.begin + place];
			least = own.words[i] < least ? own.words[i] : least;
			greatest = own.words[i] > greatest ? own.words[i] : greatest;
		}
		if (place < Shared::buckets)
			shared.begins[place] = 0;
		if (place < Shared::buckets / 32)
			shared.mixed[place] = 0;
	}
	if (threadIdx.x == 0)
	{
		shared.has_crowded = false;
		shared.has_mixed = false;
	}
	find_spread(least, greatest, shared);
	__syncthreads();

	Spread		spread = shared.spread;

#pragma unroll
	for (unsigned i = 0; i < items; i++)
		if (i * threads + threadIdx.x < leaf.length)
		{
			own.buckets[i] = spread.bucket(own.words[i]);
			own.ranks[i] = atomicAdd(&shared.begins[own.buckets[i]], 1u);
		}
	__syncthreads();
	place_buckets(shared);
	__syncthreads();

#pragma unroll
	for (unsigned i = 0; i < items; i++)
		if (i * threads + threadIdx.x < leaf.length)
		{
			uint32_t	place = shared.begins[own.buckets[i]] + own.ranks[i];

			shared.words[place] = own.words[i];
			shared.rows[place] = own.rows[i];
		}
	__syncthreads();

	for (unsigned place = threadIdx.x; place < leaf.length; place += threads)
	{
		uint64_t	word = shared.words[place];
		uint32_t	bucket = spread.bucket(word);
		uint32_t	begin = shared.begins[bucket];
		uint32_t	end = shared.begins[bucket + 1];
		uint32_t	target = begin;
		bool		is_tie = false;

		if (end - begin > crowded_rows)
		{
			shared.has_crowded = true;
			if (word != shared.words[begin])
			{
				atomicOr(&shared.mixed[bucket / 32], 1u << bucket % 32);
				shared.has_mixed = true;
			}
			continue;
		}
		for (uint32_t other = begin; other < end; other++)
		{
			uint64_t	other_word = shared.words[other];
			bool		is_equal_before = other_word == word && other < place;

			is_tie |= is_equal_before;
			target += other_word < word || is_equal_before ? 1 : 0;
		}
		has_ties |= is_tie;
		order.put(leaf.begin + target, shared.rows[place], is_tie);
	}
	__syncthreads();

	if (shared.has_mixed)
		sort_mixed_buckets(shared);
	for (unsigned place = threadIdx.x;
		 shared.has_crowded && place < leaf.length; place += threads)
	{
		uint32_t	bucket = spread.bucket(shared.words[place]);
		uint32_t	begin = shared.begins[bucket];

		if (shared.begins[bucket + 1] - begin > crowded_rows)
		{
			bool		is_tie = place > begin &&
				shared.words[place] == shared.words[place - 1];

			has_ties |= is_tie;
			order.put(leaf.begin + place, shared.rows[place], is_tie);
		}
	}
	if (has_ties)
		*order.has_ties = 1;
}

/* All leaves of a list, a block a leaf. */
template <unsigned capacity, unsigned threads>
static __global__ void __launch_bounds__(threads)
sort_leaves(const Leaf *leaves, const uint32_t *count, Pairs first,
			Pairs second, Order order)
{
	auto	   &shared = block_shared<LeafShared<capacity, threads>>();

	for (uint32_t index = blockIdx.x; index < *count; index += gridDim.x)
	{
		Leaf		leaf = leaves[index];

		sort_leaf<capacity, threads>(leaf, leaf.array == 0 ? first : second,
									 order, shared);
	}
}

/* All leaves of a list, a warp a leaf. */
static __global__ void __launch_bounds__(simple_threads)
sort_tiny_leaves(const Leaf *leaves, const uint32_t *count, Pairs first,
				 Pairs second, Order order)
{
	constexpr unsigned warps = simple_threads / warp_threads;

	for (uint32_t index = blockIdx.x * warps + threadIdx.x / warp_threads;
		 index < *count; index += gridDim.x * warps)
	{
		Leaf		leaf = leaves[index];
		Pairs		from = leaf.array == 0 ? first : second;
		uint32_t	place = leaf.begin + warp_lane();
		bool		is_inside = warp_lane() < leaf.length;
		uint64_t	word = is_inside ? from.words[place] : 0;
		uint32_t	row = is_inside ? from.rows[place] : 0;

		warp_sort(word, row, leaf.length);

		uint64_t	previous = __shfl_up_sync(whole_warp, word, 1);
		bool		is_tie = is_inside && warp_lane() > 0 && word == previous;

		if (is_inside)
			order.put(place, row, is_tie);
		if (is_tie)
			*order.has_ties = 1;
	}
}

}								/* namespace gpusort */

#endif							/* GPUSORT_LEAF_SORT_CUH */
