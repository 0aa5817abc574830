/*-------------------------------------------------------------------------
 *
 * device_array.cuh
 *	  Device memory that is freed with the object that holds it.
 *
 * It comes from the device's memory pool in the order of a stream, as that of
 * the product does, so that what one contender frees the next one gets.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_DEVICE_ARRAY_CUH
#define GPUSORT_BENCH_DEVICE_ARRAY_CUH

#include "../../kernels/launch.cuh"

namespace bench
{

using gpusort::Queue;
using gpusort::divide_up;

template <typename Element>
class DeviceArray
{
public:
	explicit DeviceArray(const Queue &its_queue) : queue(its_queue)
	{
	}

	DeviceArray(const DeviceArray &) = delete;
	DeviceArray &operator=(const DeviceArray &) = delete;

	~DeviceArray()
	{
		release();
	}

	/* Takes room for this many elements, of which there may be none. */
	bool
	allocate(uint64_t count)
	{
		void	   *memory;

		release();
		if (count == 0)
			return true;
		if (!queue.did(cudaMallocAsync(&memory, count * sizeof(Element),
									   queue.stream),
					   "allocating device memory"))
			return false;
		elements = static_cast<Element *>(memory);
		return true;
	}

	void
	release()
	{
		if (elements != nullptr)
			(void) cudaFreeAsync(elements, queue.stream);
		elements = nullptr;
	}

	Element    *
	get() const
	{
		return elements;
	}

private:
	Queue		queue;
	Element    *elements = nullptr;
};

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_DEVICE_ARRAY_CUH */
