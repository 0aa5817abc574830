/*-------------------------------------------------------------------------
 *
 * cub_radix_sort.cuh
 *	  A sort by CUB's radix sort.
 *
 * CUB gets two buffers each for keys and row numbers and may leave the result
 * in either, which needs the least memory.  Keys of more than 8 bytes are
 * taken apart by a decomposer, which CUB has since 2.2.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_CUB_RADIX_SORT_CUH
#define GPUSORT_BENCH_CUB_RADIX_SORT_CUH

#include <cub/device/device_radix_sort.cuh>

#include "../contender.h"
#include "working_items.cuh"

namespace bench
{

/* A job for keys of 16 or 32 bytes with row numbers; null if CUB has none. */
extern std::unique_ptr<Job> make_wide_radix_job(const Queue &queue,
												const KeyArray &keys);

/* Names the words of a wide key to CUB; of other keys there is nothing to. */
template <typename Key>
struct Decomposer
{
};

template <typename Key, bool has_rows>
class RadixJob : public Job
{
public:
	RadixJob(const Queue &its_queue, const KeyArray &its_keys) :
		queue(its_queue), keys(its_keys), items(its_queue),
		other_items(its_queue), scratch(its_queue)
	{
		/* Without memory it only says how much it needs. */
		(void) call(nullptr);
	}

	uint64_t
	extra_bytes() const override
	{
		return keys.bytes + (has_rows ? keys.n * sizeof(uint32_t) : 0) +
			scratch_bytes;
	}

	bool
	prepare() override
	{
		return items.allocate(keys.n) && other_items.allocate(keys.n) &&
			scratch.allocate(scratch_bytes);
	}

	bool
	restore() override
	{
		key_buffers = {items.keys(), other_items.keys()};
		row_buffers = {items.rows(), other_items.rows()};
		return items.restore(queue, keys);
	}

	bool
	sort() override
	{
		return queue.did(call(scratch.get()), "sorting by CUB");
	}

	bool
	find_result(Sorted *sorted) override
	{
		*sorted = {key_buffers.Current(), row_buffers.Current()};
		return true;
	}

private:
	static constexpr bool is_wide = sizeof(Key) > sizeof(uint64_t);

	cudaError_t
	call(void *memory)
	{
		using Radix = cub::DeviceRadixSort;

		if constexpr (is_wide)
			return Radix::SortPairs(memory, scratch_bytes, key_buffers,
									row_buffers, keys.n, Decomposer<Key>(),
									queue.stream);
		else if constexpr (has_rows)
			return Radix::SortPairs(memory, scratch_bytes, key_buffers,
									row_buffers, keys.n, 0, 8 * sizeof(Key),
									queue.stream);
		else
			return Radix::SortKeys(memory, scratch_bytes, key_buffers, keys.n,
								   0, 8 * sizeof(Key), queue.stream);
	}

	Queue		queue;
	KeyArray	keys;
	WorkingItems<Key, has_rows> items;
	WorkingItems<Key, has_rows> other_items;
	DeviceArray<unsigned char> scratch;
	size_t		scratch_bytes = 0;
	cub::DoubleBuffer<Key> key_buffers;
	cub::DoubleBuffer<uint32_t> row_buffers;
};

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_CUB_RADIX_SORT_CUH */
