/*-------------------------------------------------------------------------
 *
 * pivot.cuh
 *	  Where to look for a pivot: a sample of a sequence, by one warp.
 *
 * Every lane takes three elements and of these the middle one, and of the 32
 * lanes' elements the middle one is the pivot (the remedian of Rousseeuw and
 * Bassett 1990).  It depends on ranks alone and misses the median by 6% of the
 * sequence (one standard deviation).
 *
 * The sample is stratified, one element from each 96th, which is all but exact
 * for sorted input.  Where in the 96th is as good as random, so that no
 * pattern of the input meets all samples.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_PIVOT_CUH
#define GPUSORT_LINEAGE_PIVOT_CUH

#include "../../kernels/warp_sort.cuh"
#include "lineage.cuh"

namespace lineage
{

constexpr unsigned samples_per_lane = 3;
constexpr unsigned pivot_samples = samples_per_lane * gpusort::warp_threads;

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

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_PIVOT_CUH */
