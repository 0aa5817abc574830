/*-------------------------------------------------------------------------
 *
 * job_memory.cuh
 *	  The device memory of a job, and how long each part of it lives.
 *
 * The keys live from their push until the sort, the workspace only during the
 * sort, and the order from the sort until the job ends.  A client may take any
 * time to fetch the order.  Meanwhile a job has 4 bytes a row, and its keys
 * with their tables if it keeps them (kept_keys.cuh).  If memory is short, the
 * sort works on the keys and the order themselves, and the workspace is next
 * to nothing (in_place_sort.cuh).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_JOB_MEMORY_CUH
#define GPUSORT_JOB_MEMORY_CUH

#include "key_words.cuh"

namespace gpusort
{

class JobMemory
{
public:
	explicit JobMemory(const KeyShape &job_shape) : shape(job_shape)
	{
	}

	/* The most bytes of keys, from their push until the sort. */
	static uint64_t
	bytes(const KeyShape &shape, uint64_t nrows, uint64_t nwords,
		  bool in_place)
	{
		uint64_t	nends = count_ends(shape, nrows);
		Workspace	space;

		return SlabArray::bytes(nwords) + SlabArray::bytes(nends) +
			order_bytes(nrows) +
			lay_out(space, nullptr, nrows, nwords, nends, in_place);
	}

	uint64_t
	rows() const
	{
		return nrows;
	}

	uint64_t
	key_words() const
	{
		return words.size();
	}

	/* Copies keys from pinned memory; may throw std::bad_alloc. */
	bool
	append(const Queue &queue, const uint64_t *from, uint64_t nwords,
		   const uint64_t *from_ends, uint32_t count)
	{
		if (!words.append(queue, from, nwords) ||
			!ends.append(queue, from_ends, count_ends(shape, count)))
			return false;
		nrows += count;
		return true;
	}

	bool
	allocate_order(const Queue &queue)
	{
		return order.allocate(queue, order_bytes(nrows),
							  "allocating device memory for the order");
	}

	uint32_t *
	entries() const
	{
		return static_cast<uint32_t *>(order.address());
	}

	/* Makes the workspace, with the tables of the keys. */
	bool
	allocate_workspace(const Queue &queue, bool in_place, Workspace *space)
	{
		uint64_t	nends = ends.size();

		if (!workspace.allocate(queue, lay_out(*space, nullptr, nrows,
											   words.size(), nends, in_place),
								"allocating device memory to sort in"))
			return false;
		(void) lay_out(*space, workspace.address(), nrows, words.size(), nends,
					   in_place);
		return words.store_table(queue, space->word_slabs) &&
			ends.store_table(queue, space->end_slabs);
	}

	/*
	 * Makes room for one array of pairs: behind the keys in their last slab, or
	 * else in a workspace.
	 */
	bool
	allocate_pairs(const Queue &queue, Pairs *pairs)
	{
		uint64_t	count = nrows + divide_up(nrows, 2);
		uint64_t   *room = words.find_room(count);

		if (room == nullptr)
		{
			if (!workspace.allocate(queue, count * sizeof(uint64_t),
									"allocating device memory to sort in"))
				return false;
			room = static_cast<uint64_t *>(workspace.address());
		}
		*pairs = {room, reinterpret_cast<uint32_t *>(room + nrows)};
		return true;
	}

	/* The keys, if they have fixed width and few slabs. */
	FewKeys
	few_keys() const
	{
		return {words.few_slabs(), words.size(), static_cast<uint32_t>(nrows),
			shape.fixed_words};
	}

	/* The keys, by the tables of a workspace. */
	Keys
	keys(const Workspace &space) const
	{
		return {{space.word_slabs}, {space.end_slabs}, words.size(),
			static_cast<uint32_t>(nrows), shape.fixed_words};
	}

	void
	release_keys(cudaStream_t stream)
	{
		words.release(stream);
		ends.release(stream);
	}

	void
	release_workspace(cudaStream_t stream)
	{
		workspace.release(stream);
	}

	void
	release(cudaStream_t stream)
	{
		release_keys(stream);
		release_workspace(stream);
		order.release(stream);
	}

private:
	/* Ends that are pushed along with this many keys. */
	static uint64_t
	count_ends(const KeyShape &shape, uint64_t nrows)
	{
		return shape.fixed_words == 0 ? nrows : 0;
	}

	static uint64_t
	order_bytes(uint64_t nrows)
	{
		return divide_up(nrows * sizeof(uint32_t), 256) * 256;
	}

	static uint64_t
	lay_out(Workspace &space, void *base, uint64_t nrows, uint64_t nwords,
			uint64_t nends, bool in_place)
	{
		return in_place ? space.lay_out_in_place(base, nwords, nends) :
			space.lay_out(base, nrows, nwords, nends);
	}

	const KeyShape shape;
	uint64_t	nrows = 0;
	SlabArray	words;
	SlabArray	ends;
	DeviceBlock workspace;		/* afterwards the tables of kept keys */
	DeviceBlock order;
};

}								/* namespace gpusort */

#endif							/* GPUSORT_JOB_MEMORY_CUH */
