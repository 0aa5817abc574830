/*-------------------------------------------------------------------------
 *
 * spread_sort.cuh
 *	  One block sorts pairs in shared memory.
 *
 * However keys are distributed, a few neighbours in sorted order mostly lie
 * evenly between the smallest and the largest of them.  So pairs are spread
 * over as many buckets as there may be pairs, by their place in that range
 * (bucket sort; with random words a bucket has one pair on average).  Within a
 * bucket each pair finds its place by counting the pairs that come before it.
 * This takes a fixed number of steps, where a bitonic network of 2048 takes
 * 66.
 *
 * A bucket of many pairs is crowded.  If its words are equal, there is nothing
 * to do.  Otherwise a bitonic network (block_sort.cuh) sorts the bucket.  So
 * no input costs much more than a bitonic sort, with which CUDA-quicksort
 * finishes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SPREAD_SORT_CUH
#define GPUSORT_SPREAD_SORT_CUH

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

template <unsigned capacity, unsigned threads,
		  unsigned most_buckets = most_spread_buckets>
struct SpreadShared
{
	static constexpr unsigned buckets = capacity < most_buckets ?
		capacity : most_buckets;
	static constexpr unsigned warps = threads / warp_threads;
	static constexpr unsigned items = capacity / threads;

	uint64_t	words[capacity];
	uint32_t	rows[capacity];
	uint32_t	begins[buckets + 1];	/* at first, how many they have */
	uint32_t	mixed[buckets / 32];	/* a bit for those to be sorted */
	bool		has_crowded;
	bool		has_mixed;
	Spread		spread;
	uint64_t	least[warps];
	uint64_t	greatest[warps];
	ScanShared<threads> scan;

	static_assert(capacity % threads == 0 && buckets % threads == 0 &&
				  buckets % 32 == 0, "all threads have the same to do");
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
template <unsigned capacity, unsigned threads, unsigned most_buckets>
static __device__ __forceinline__ void
find_spread(uint64_t least, uint64_t greatest,
			SpreadShared<capacity, threads, most_buckets> &shared)
{
	using Shared = SpreadShared<capacity, threads, most_buckets>;

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

/* Turns the lengths of buckets into their beginnings; between two barriers. */
template <unsigned capacity, unsigned threads, unsigned most_buckets>
static __device__ __forceinline__ void
place_buckets(SpreadShared<capacity, threads, most_buckets> &shared)
{
	constexpr unsigned buckets =
		SpreadShared<capacity, threads, most_buckets>::buckets;
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

/*
 * Sorts the crowded buckets that have different words: first each of the
 * smaller ones by a warp, then each of the others by the block.
 */
template <unsigned capacity, unsigned threads, unsigned most_buckets>
static __device__ __forceinline__ void
sort_mixed_buckets(SpreadShared<capacity, threads, most_buckets> &shared)
{
	using Shared = SpreadShared<capacity, threads, most_buckets>;
	unsigned	number = 0;

	for (unsigned group = 0; group < 2 * Shared::buckets / 32; group++)
	{
		bool		is_second_pass = group >= Shared::buckets / 32;
		unsigned	first = group % (Shared::buckets / 32) * 32;

		if (group == Shared::buckets / 32)
			__syncthreads();
		for (uint32_t left = shared.mixed[first / 32]; left != 0;
			 left &= left - 1)
		{
			unsigned	bucket = first + __ffs(left) - 1;
			uint32_t	begin = shared.begins[bucket];
			uint32_t	length = shared.begins[bucket + 1] - begin;
			Pairs		pairs = {shared.words + begin, shared.rows + begin};

			if (is_second_pass != (length > most_rows_for_warp))
				continue;
			if (is_second_pass)
			{
				block_sort<threads>(pairs, length, threadIdx.x);
				__syncthreads();
			}
			else if (number++ % Shared::warps == threadIdx.x / warp_threads)
				block_sort<warp_threads>(pairs, length, warp_lane());
		}
	}
	__syncthreads();
}

/*
 * Sorts and puts the pairs of crowded buckets; the pairs of other buckets are
 * put already.  Called by all threads of the block after a barrier.
 */
template <unsigned capacity, unsigned threads, unsigned most_buckets,
		  typename Put>
static __device__ __forceinline__ void
put_crowded(unsigned length,
			SpreadShared<capacity, threads, most_buckets> &shared,
			const Put &put)
{
	Spread		spread = shared.spread;

	if (shared.has_mixed)
		sort_mixed_buckets(shared);
	for (unsigned place = threadIdx.x; place < length; place += threads)
	{
		uint64_t	word = shared.words[place];
		uint32_t	bucket = spread.bucket(word);
		uint32_t	begin = shared.begins[bucket];

		if (shared.begins[bucket + 1] - begin > crowded_rows)
			put(place, word, shared.rows[place],
				place > begin && word == shared.words[place - 1]);
	}
}

/*
 * Sorts "length" pairs, at most the capacity.  Called by all threads of the
 * block; may be called again with the same "shared" at once.
 *
 *		load(place, word, row)			gives a pair of the input
 *		put(place, word, row, is_tie)	takes it where it belongs in the output;
 *										a tie's word equals the one before
 */
template <unsigned capacity, unsigned threads, unsigned most_buckets,
		  typename Load, typename Put>
static __device__ __forceinline__ void
spread_sort(unsigned length,
			SpreadShared<capacity, threads, most_buckets> &shared,
			const Load &load, const Put &put)
{
	using Shared = SpreadShared<capacity, threads, most_buckets>;
	constexpr unsigned items = Shared::items;
	uint64_t	words[items];
	uint32_t	rows[items];
	uint32_t	ranks[items];	/* the bucket, and below 16 bits for how many of
								 * it came before */
	uint64_t	least = UINT64_MAX;
	uint64_t	greatest = 0;

	/* Shared memory may still be read for the call before. */
	__syncthreads();
#pragma unroll
	for (unsigned i = 0; i < items; i++)
	{
		unsigned	place = i * threads + threadIdx.x;

		if (place < length)
			load(place, words[i], rows[i]);
	}
	for (unsigned bucket = threadIdx.x; bucket < Shared::buckets;
		 bucket += threads)
		shared.begins[bucket] = 0;
	for (unsigned group = threadIdx.x; group < Shared::buckets / 32;
		 group += threads)
		shared.mixed[group] = 0;
#pragma unroll
	for (unsigned i = 0; i < items; i++)
		if (i * threads + threadIdx.x < length)
		{
			least = words[i] < least ? words[i] : least;
			greatest = words[i] > greatest ? words[i] : greatest;
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
		if (i * threads + threadIdx.x < length)
		{
			uint32_t	bucket = spread.bucket(words[i]);

			ranks[i] = atomicAdd(&shared.begins[bucket], 1u) | bucket << 16;
		}
	__syncthreads();
	place_buckets(shared);
	__syncthreads();

#pragma unroll
	for (unsigned i = 0; i < items; i++)
		if (i * threads + threadIdx.x < length)
		{
			uint32_t	place = shared.begins[ranks[i] >> 16] +
				(ranks[i] & 0xffff);

			shared.words[place] = words[i];
			shared.rows[place] = rows[i];
		}
	__syncthreads();

	for (unsigned place = threadIdx.x; place < length; place += threads)
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
		put(target, word, shared.rows[place], is_tie);
	}
	__syncthreads();

	if (shared.has_crowded)
		put_crowded(length, shared, put);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_SPREAD_SORT_CUH */
