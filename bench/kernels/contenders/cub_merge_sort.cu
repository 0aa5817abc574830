/*-------------------------------------------------------------------------
 *
 * cub_merge_sort.cu
 *	  CUB's merge sort as a reference.
 *
 * Numbers are moved with their rows.  Texts stay where they are: there it
 * sorts row numbers, and compares the texts that these stand for.
 *
 *-------------------------------------------------------------------------
 */
#include <cub/device/device_merge_sort.cuh>

#include "../contender.h"
#include "working_items.cuh"

namespace bench
{

struct IsLess
{
	template <typename Key>
	__device__ bool
	operator()(const Key &a, const Key &b) const
	{
		return a < b;
	}
};

struct IsTextLess
{
	KeyArray	keys;

	__device__ bool
	operator()(uint32_t row, uint32_t other_row) const
	{
		return keys.compare(row, keys, other_row) < 0;
	}
};

template <typename Key, bool has_rows>
class MergeJob : public Job
{
public:
	MergeJob(const Queue &its_queue, const KeyArray &its_keys) :
		queue(its_queue), keys(its_keys), items(its_queue), scratch(its_queue)
	{
		/* Without memory it only says how much it needs. */
		(void) call(nullptr);
	}

	uint64_t
	extra_bytes() const override
	{
		return scratch_bytes;
	}

	bool
	prepare() override
	{
		return items.allocate(keys.n) && scratch.allocate(scratch_bytes);
	}

	bool
	restore() override
	{
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
		*sorted = {items.keys(), items.rows()};
		return true;
	}

private:
	cudaError_t
	call(void *memory)
	{
		using Merge = cub::DeviceMergeSort;

		if constexpr (has_rows)
			return Merge::SortPairs(memory, scratch_bytes, items.keys(),
									items.rows(), keys.n, IsLess(),
									queue.stream);
		else
			return Merge::SortKeys(memory, scratch_bytes, items.keys(), keys.n,
								   IsLess(), queue.stream);
	}

	Queue		queue;
	KeyArray	keys;
	WorkingItems<Key, has_rows> items;
	DeviceArray<unsigned char> scratch;
	size_t		scratch_bytes = 0;
};

class TextMergeJob : public Job
{
public:
	TextMergeJob(const Queue &its_queue, const KeyArray &its_keys) :
		queue(its_queue), keys(its_keys), rows(its_queue), scratch(its_queue)
	{
		(void) call(nullptr);
	}

	uint64_t
	extra_bytes() const override
	{
		return scratch_bytes;
	}

	bool
	prepare() override
	{
		return rows.allocate(keys.n) && scratch.allocate(scratch_bytes);
	}

	bool
	restore() override
	{
		return restore_rows(queue, rows.get(), keys.n);
	}

	bool
	sort() override
	{
		return queue.did(call(scratch.get()), "sorting by CUB");
	}

	bool
	find_result(Sorted *sorted) override
	{
		*sorted = {nullptr, rows.get()};
		return true;
	}

private:
	cudaError_t
	call(void *memory)
	{
		return cub::DeviceMergeSort::SortKeys(memory, scratch_bytes,
											  rows.get(), keys.n,
											  IsTextLess{keys}, queue.stream);
	}

	Queue		queue;
	KeyArray	keys;
	DeviceArray<uint32_t> rows;
	DeviceArray<unsigned char> scratch;
	size_t		scratch_bytes = 0;
};

/* For keys of all widths; keys alone of 4 and 8 bytes only. */
class CubMergeSort : public Contender
{
public:
	CubMergeSort() : Contender(Kind::REFERENCE, merge_sort_name)
	{
	}

	std::unique_ptr<Job>
	make_job(const Queue &queue, const Input &input) const override
	{
		switch (input.keys.width)
		{
			case 4:
				return make_narrow_job<uint32_t>(queue, input);
			case 8:
				return make_narrow_job<uint64_t>(queue, input);
			case 16:
				return make_wide_job<WideKey<2>>(queue, input);
			case 32:
				return make_wide_job<WideKey<4>>(queue, input);
			default:
				return input.has_rows ?
					std::make_unique<TextMergeJob>(queue, input.keys) :
					nullptr;
		}
	}

private:
	template <typename Key>
	static std::unique_ptr<Job>
	make_narrow_job(const Queue &queue, const Input &input)
	{
		if (input.has_rows)
			return std::make_unique<MergeJob<Key, true>>(queue, input.keys);
		return std::make_unique<MergeJob<Key, false>>(queue, input.keys);
	}

	template <typename Key>
	static std::unique_ptr<Job>
	make_wide_job(const Queue &queue, const Input &input)
	{
		if (!input.has_rows)
			return nullptr;
		return std::make_unique<MergeJob<Key, true>>(queue, input.keys);
	}
};

static const CubMergeSort cub_merge_sort;

}								/* namespace bench */
