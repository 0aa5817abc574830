/*-------------------------------------------------------------------------
 *
 * device_memory.cuh
 *	  Device memory of a job: blocks of known size, and arrays that grow.
 *
 * All memory comes from the device's memory pool in the order of the job's
 * stream: work that is put on the stream after an allocation may use it, and
 * freeing waits for nothing.
 *
 * The keys of a job arrive before their number is known.  So they are kept in
 * slabs, allocations of 2^slab_shift words each, as many as needed: no key is
 * ever moved to a larger allocation.  Kernels find word i through a table of
 * the slabs, which fits into the cache.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_MEMORY_CUH
#define GPUSORT_DEVICE_MEMORY_CUH

#include <algorithm>
#include <cstdint>
#include <vector>

#include "launch.cuh"
#include "tuning.cuh"

namespace gpusort
{

constexpr uint64_t slab_words = UINT64_C(1) << slab_shift;

/* One allocation, or none. */
class DeviceBlock
{
public:
	DeviceBlock() = default;
	DeviceBlock(const DeviceBlock &) = delete;
	DeviceBlock &operator=(const DeviceBlock &) = delete;

	bool
	allocate(const Queue &queue, uint64_t bytes, const char *what)
	{
		if (queue.did(cudaMallocAsync(&memory, bytes, queue.stream), what))
			return true;
		memory = nullptr;
		return false;
	}

	void
	release(cudaStream_t stream)
	{
		if (memory != nullptr)
			(void) cudaFreeAsync(memory, stream);
		memory = nullptr;
	}

	void *
	address() const
	{
		return memory;
	}

private:
	void	   *memory = nullptr;
};

/*
 * The table of an array of few slabs, which a kernel takes as a parameter; none
 * if they are more.
 */
struct FewSlabs
{
	uint64_t   *slabs[max_few_slabs];
	unsigned	count;
};

/* A slab array as kernels see it, by its table. */
struct SlabView
{
	uint64_t *const *slabs;

	__device__ __forceinline__ uint64_t
	operator[](uint64_t index) const
	{
		return slabs[index >> slab_shift][index & (slab_words - 1)];
	}

	__device__ __forceinline__ void
	put(uint64_t index, uint64_t word) const
	{
		slabs[index >> slab_shift][index & (slab_words - 1)] = word;
	}

	/*
	 * The address of a word.  The next words follow, up to the end of its
	 * slab.
	 */
	__device__ __forceinline__ const uint64_t *
	address(uint64_t index) const
	{
		return slabs[index >> slab_shift] + (index & (slab_words - 1));
	}
};

/* An array of words on the device that grows at its end. */
class SlabArray
{
public:
	/* Bytes that an array of "count" words takes, without its table. */
	static uint64_t
	bytes(uint64_t count)
	{
		return table_entries(count) * slab_words * sizeof(uint64_t);
	}

	static uint64_t
	table_entries(uint64_t count)
	{
		return divide_up(count, slab_words);
	}

	uint64_t
	size() const
	{
		return nwords;
	}

	/* Copies words from pinned memory; may throw std::bad_alloc. */
	bool
	append(const Queue &queue, const uint64_t *from, uint64_t count)
	{
		while (count > 0)
		{
			uint64_t	used = nwords & (slab_words - 1);
			uint64_t	part = slab_words - used;

			if (part > count)
				part = count;
			if (used == 0 && !add_slab(queue))
				return false;
			if (!queue.did(cudaMemcpyAsync(slabs.back() + used, from,
										   part * sizeof(uint64_t),
										   cudaMemcpyHostToDevice,
										   queue.stream),
						   "copying keys to the device"))
				return false;
			nwords += part;
			from += part;
			count -= part;
		}
		return true;
	}

	/* The table, unless there are more than max_few_slabs. */
	FewSlabs
	few_slabs() const
	{
		FewSlabs	table = {};

		if (slabs.size() > max_few_slabs)
			return table;
		std::copy(slabs.begin(), slabs.end(), table.slabs);
		table.count = static_cast<unsigned>(slabs.size());
		return table;
	}

	/* Returns where the last slab has room for "count" words, or null. */
	uint64_t *
	find_room(uint64_t count) const
	{
		uint64_t	used = nwords & (slab_words - 1);

		return used != 0 && count <= slab_words - used ?
			slabs.back() + used : nullptr;
	}

	/* Copies the table of slabs to the device. */
	bool
	store_table(const Queue &queue, uint64_t **table) const
	{
		return slabs.empty() ||
			queue.did(cudaMemcpyAsync(table, slabs.data(),
									  slabs.size() * sizeof(uint64_t *),
									  cudaMemcpyHostToDevice, queue.stream),
					  "copying the table of keys to the device");
	}

	void
	release(cudaStream_t stream)
	{
		for (uint64_t *slab : slabs)
			(void) cudaFreeAsync(slab, stream);
		slabs.clear();
		nwords = 0;
	}

private:
	bool
	add_slab(const Queue &queue)
	{
		void	   *slab;

		/* Room in the table first: afterwards nothing can be thrown. */
		slabs.push_back(nullptr);
		if (!queue.did(cudaMallocAsync(&slab, slab_words * sizeof(uint64_t),
									   queue.stream),
					   "allocating device memory for keys"))
		{
			slabs.pop_back();
			return false;
		}
		slabs.back() = static_cast<uint64_t *>(slab);
		return true;
	}

	std::vector<uint64_t *> slabs;
	uint64_t	nwords = 0;
};

}								/* namespace gpusort */

#endif							/* GPUSORT_DEVICE_MEMORY_CUH */
