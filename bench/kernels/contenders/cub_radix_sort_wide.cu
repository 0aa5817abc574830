/*-------------------------------------------------------------------------
 *
 * cub_radix_sort_wide.cu
 *	  CUB's radix sort as a reference, for keys of 16 and 32 bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "cub_radix_sort.cuh"

#if CUB_VERSION >= 200200

#include <cuda/std/tuple>

namespace bench
{

template <>
struct Decomposer<WideKey<2>>
{
	__host__ __device__ auto
	operator()(WideKey<2> &key) const
	{
		return cuda::std::tie(key.words[0], key.words[1]);
	}
};

template <>
struct Decomposer<WideKey<4>>
{
	__host__ __device__ auto
	operator()(WideKey<4> &key) const
	{
		return cuda::std::tie(key.words[0], key.words[1], key.words[2],
							  key.words[3]);
	}
};

std::unique_ptr<Job>
make_wide_radix_job(const Queue &queue, const KeyArray &keys)
{
	if (keys.width == 16)
		return std::make_unique<RadixJob<WideKey<2>, true>>(queue, keys);
	return std::make_unique<RadixJob<WideKey<4>, true>>(queue, keys);
}

}								/* namespace bench */

#else

std::unique_ptr<bench::Job>
bench::make_wide_radix_job(const Queue &, const KeyArray &)
{
	return nullptr;
}

#endif
