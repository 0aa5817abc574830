/*-------------------------------------------------------------------------
 *
 * random_bits.cuh
 *	  Numbers as good as random that are functions of a place.
 *
 * So each thread makes its own, and every run sorts the same keys.  The
 * function is the output step of SplitMix (Steele, Lea and Flood 2014).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_RANDOM_BITS_CUH
#define GPUSORT_BENCH_RANDOM_BITS_CUH

#include <cuda_runtime.h>

#include <cstdint>

namespace bench
{

/* Draws that a place has. */
constexpr unsigned max_draws = 16;

static __host__ __device__ __forceinline__ uint64_t
scrambled(uint64_t number)
{
	uint64_t	z = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 64 random bits, others for each place and each draw < max_draws. */
static __host__ __device__ __forceinline__ uint64_t
random_bits(uint64_t place, unsigned draw)
{
	return scrambled(place * max_draws + draw);
}

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_RANDOM_BITS_CUH */
