/*-------------------------------------------------------------------------
 *
 * device_radix_sort.cuh
 *	  Stands in for CUB's header of this name: does what the kernels use of it
 *	  by the standard library.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CUDA_ON_CPU_DEVICE_RADIX_SORT_CUH
#define CUDA_ON_CPU_DEVICE_RADIX_SORT_CUH

#include <algorithm>
#include <numeric>
#include <vector>

#include <cuda_runtime.h>

namespace cub
{

template <typename Element>
struct DoubleBuffer
{
	Element    *d_buffers[2] = {nullptr, nullptr};
	int			selector = 0;

	DoubleBuffer() = default;
	DoubleBuffer(Element *current, Element *alternate)
		: d_buffers{current, alternate}
	{
	}

	Element *
	Current() const
	{
		return d_buffers[selector];
	}
};

struct DeviceRadixSort
{
	/* The result is in the other buffers if that takes an odd number of passes. */
	template <typename Key, typename Value>
	static cudaError_t
	SortPairs(void *scratch, size_t &scratch_bytes, DoubleBuffer<Key> &keys,
			  DoubleBuffer<Value> &values, int count, int begin_bit,
			  int end_bit, cudaStream_t stream = nullptr)
	{
		if (scratch == nullptr)
		{
			scratch_bytes = 64;
			return cudaSuccess;
		}

		int			passes = (end_bit - begin_bit + 7) / 8;
		Key		   *in = keys.Current();
		Value	   *values_in = values.Current();

		keys.selector ^= passes & 1;
		values.selector ^= passes & 1;
		cuda_on_cpu::launch_body(
			[=, out = keys.Current(), values_out = values.Current()] {
				if (threadIdx.x == 0)
					sort(in, values_in, out, values_out, count, begin_bit,
						 end_bit);
			}, 1, 32, 0, false, stream);
		return cudaGetLastError();
	}

private:
	template <typename Key, typename Value>
	static void
	sort(const Key *in, const Value *values_in, Key *out, Value *values_out,
		 int count, int begin_bit, int end_bit)
	{
		std::vector<Key> keys(in, in + count);
		std::vector<Value> values(values_in, values_in + count);
		std::vector<int> order(static_cast<size_t>(count));
		auto		digits = [=, &keys](int i) {
			return static_cast<Key>(keys[i] << (sizeof(Key) * 8 - end_bit)) >>
				(sizeof(Key) * 8 - end_bit + begin_bit);
		};

		std::iota(order.begin(), order.end(), 0);
		std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
			return digits(a) < digits(b);
		});
		for (int i = 0; i < count; i++)
		{
			out[i] = keys[order[i]];
			values_out[i] = values[order[i]];
		}
	}
};

}								/* namespace cub */

#endif							/* CUDA_ON_CPU_DEVICE_RADIX_SORT_CUH */
