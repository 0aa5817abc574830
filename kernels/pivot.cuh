/*-------------------------------------------------------------------------
 *
 * pivot.cuh
 *	  Choosing the pivot of a segment, by one warp.
 *
 * CUDA-quicksort (Manca et al. 2015, section 4) takes the middle between a
 * segment's smallest and largest element.  That needs both of them from the
 * level before, and a few outliers make it useless.  Here the pivot is a
 * median of a sample: every lane takes three elements and of these the middle
 * one, and of the 32 lanes' elements the middle one is the pivot (the
 * remedian of Rousseeuw and Bassett 1990).  It depends on ranks alone, and as
 * it is an element of the segment, at least that one leaves the segment.
 *
 * The sample is stratified, one element from each 96th of the segment, which
 * is all but exact for sorted input.  Where in the 96th is as good as random,
 * so that no pattern of the input meets all samples.
 *
 * It misses the median by 6% of the segment (one standard deviation), which
 * costs less than 2% more levels than the true median would.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PIVOT_CUH
#define GPUSORT_PIVOT_CUH

#include "warp_sort.cuh"

namespace gpusort
{

constexpr unsigned samples_per_lane = 3;
constexpr unsigned pivot_samples = samples_per_lane * warp_threads;

/*
 * The position in the segment of one sample.  Positions are computed as 32-bit
 * fractions of the length; the jitter is a multiplicative hash (Knuth, volume
 * 3, 6.4) of the segment and the sample.
 */
static __device__ __forceinline__ uint32_t
sample_position(uint32_t begin, uint32_t length, unsigned sample)
{
	constexpr uint32_t stratum = UINT32_MAX / pivot_samples;
	uint64_t	seed = (static_cast<uint64_t>(begin) << 32 | length) +
		sample * UINT64_C(0xd1342543de82ef95);
	uint32_t	random = static_cast<uint32_t>(seed * UINT64_C(0x9e3779b97f4a7c15)
											   >> 32);
	uint32_t	fraction = sample * stratum +
		static_cast<uint32_t>(static_cast<uint64_t>(random) * stratum >> 32);

	return static_cast<uint32_t>(static_cast<uint64_t>(length) * fraction
								 >> 32);
}

/* The pivot for the segment at "begin"; every lane gets it. */
static __device__ __forceinline__ uint64_t
choose_pivot(const uint64_t *words, uint32_t begin, uint32_t length)
{
	unsigned	lane = warp_lane();
	uint64_t	a = words[begin + sample_position(begin, length, 3 * lane)];
	uint64_t	b = words[begin + sample_position(begin, length, 3 * lane + 1)];
	uint64_t	c = words[begin + sample_position(begin, length, 3 * lane + 2)];
	uint64_t	low = a < b ? a : b;
	uint64_t	high = a < b ? b : a;
	uint64_t	middle = c < low ? low : c < high ? c : high;
	uint32_t	unused = 0;

	static_assert(samples_per_lane == 3, "the middle one of three");

	warp_sort(middle, unused, warp_threads);
	return __shfl_sync(whole_warp, middle, warp_threads / 2);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_PIVOT_CUH */
