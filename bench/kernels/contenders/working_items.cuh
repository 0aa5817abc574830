/*-------------------------------------------------------------------------
 *
 * working_items.cuh
 *	  A copy of the input that a sort may overwrite.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_WORKING_ITEMS_CUH
#define GPUSORT_BENCH_WORKING_ITEMS_CUH

#include "../device_array.cuh"
#include "../key_array.cuh"

namespace bench
{

constexpr unsigned numbering_threads = 256;

static __global__ void __launch_bounds__(numbering_threads)
number_rows(uint32_t *rows, uint32_t n)
{
	uint32_t	place = blockIdx.x * numbering_threads + threadIdx.x;

	if (place < n)
		rows[place] = place;
}

/* Fills an array with the row numbers. */
static inline bool
restore_rows(const Queue &queue, uint32_t *rows, uint32_t n)
{
	return queue.launch("numbering rows", number_rows,
						divide_up(n, numbering_threads), numbering_threads,
						rows, n);
}

template <typename Key, bool has_rows>
class WorkingItems
{
public:
	explicit WorkingItems(const Queue &queue) :
		key_array(queue), row_array(queue)
	{
	}

	bool
	allocate(uint32_t n)
	{
		return key_array.allocate(n) && row_array.allocate(has_rows ? n : 0);
	}

	bool
	restore(const Queue &queue, const KeyArray &input)
	{
		return queue.did(cudaMemcpyAsync(keys(), input.keys, input.bytes,
										 cudaMemcpyDeviceToDevice,
										 queue.stream), "copying keys") &&
			(!has_rows || restore_rows(queue, rows(), input.n));
	}

	Key		   *
	keys() const
	{
		return key_array.get();
	}

	/* Null if there are none. */
	uint32_t   *
	rows() const
	{
		return row_array.get();
	}

private:
	DeviceArray<Key> key_array;
	DeviceArray<uint32_t> row_array;
};

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_WORKING_ITEMS_CUH */
