/*-------------------------------------------------------------------------
 *
 * job_memory.cuh
 *	  The device memory of a job, and how long each part of it lives.
 *
 * The keys live from their push until the sort, the workspace only during the
 * sort, and the order from the sort until the job ends.  A client may take any
 * time to fetch the order.  Meanwhile a job has 4 bytes a row, and its keys
 * with their tables if it keeps them (kept_keys.cuh).  If memory is short, the
 * sort works on the keys and the order themselves, and the workspace is nothing
 * but counters (in_place_sort.cuh).
 *
 * Counters are made with the first keys that will need them, and cleared then,
 * while keys are still on their way.  So the survey can begin at once, and all
 * other memory of the sort is allocated while it is at work.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_JOB_MEMORY_CUH
#define GPUSORT_JOB_MEMORY_CUH

#include "key_words.cuh"

namespace gpusort
{

/*
 * A few keys of one word, from each push, by which the host guesses how they will
 * be sorted, before any kernel has seen them.
 */
class KeySample
{
public:
	void
	add(const uint64_t *words, uint64_t count)
	{
		for (unsigned i = 0; count > 0 && i < pushed_samples; i++)
		{
			uint64_t	word = words[count * i / pushed_samples];
			uint64_t	before = words[count * (i > 0 ? i - 1 : 0) /
									   pushed_samples];

			falls |= word < before;
			rises |= word > before;
			any |= word;
			all_but |= ~word;
		}
	}

	/* Whether a radix sort would: keys are not in order, and few bits vary. */
	bool
	is_narrow() const
	{
		uint64_t	varying = any & all_but;

		return falls && rises &&
			63 - __builtin_clzll(varying) - __builtin_ctzll(varying) <
			static_cast<int>(radix_sort_bits);
	}

private:
	uint64_t	any = 0;
	uint64_t	all_but = 0;
	bool		falls = false;
	bool		rises = false;
};

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

		return SlabArray::bytes(nwords) + SlabArray::bytes(nends) +
			table_bytes(shape, nwords, nends) + counters_bytes() +
			order_bytes(nrows) +
			(in_place ? 0 : Workspace().lay_out(nullptr, nrows));
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
		if (shape.fixed_words == 1)
			sample.add(from, nwords);
		return true;
	}

	/* Whether keys seem to be of one word of which few bits vary. */
	bool
	seems_narrow() const
	{
		return sample.is_narrow();
	}

	/* Makes the counters and clears them, unless that has been done. */
	bool
	allocate_counters(const Queue &queue)
	{
		return counters.address() != nullptr ||
			(counters.allocate(queue, counters_bytes(),
							   "allocating device memory for counters") &&
			 queue.did(cudaMemsetAsync(counters.address(), 0, counters_bytes(),
									   queue.stream), "clearing counters"));
	}

	Counters *
	all_counters() const
	{
		return static_cast<Counters *>(counters.address());
	}

	/* Makes the tables of the keys, but for one of few slabs. */
	bool
	make_tables(const Queue &queue)
	{
		uint64_t	bytes = table_bytes(shape, words.size(), ends.size());

		return bytes == 0 ||
			(tables.allocate(queue, bytes,
							 "allocating device memory for tables of keys") &&
			 words.store_table(queue, word_table()) &&
			 ends.store_table(queue, end_table()));
	}

	/* Makes all tables, also where no survey has stored any. */
	bool
	keep_tables(const Queue &queue)
	{
		return allocate_counters(queue) &&
			(tables.address() != nullptr || make_tables(queue)) &&
			(few_slabs().count == 0 ||
			 words.store_table(queue, all_counters()->few_slabs));
	}

	/* Makes room for the order, unless that has been done. */
	bool
	allocate_order(const Queue &queue)
	{
		return order.address() != nullptr ||
			order.allocate(queue, order_bytes(nrows),
						   "allocating device memory for the order");
	}

	uint32_t *
	entries() const
	{
		return static_cast<uint32_t *>(order.address());
	}

	/* Makes the workspace; that of a sort in place has only counters. */
	bool
	allocate_workspace(const Queue &queue, bool in_place, Workspace *space)
	{
		space->use_counters(all_counters());
		if (in_place)
			return true;
		if (!workspace.allocate(queue, space->lay_out(nullptr, nrows),
								"allocating device memory to sort in"))
			return false;
		(void) space->lay_out(workspace.address(), nrows);
		return true;
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

	/* The only table of keys of fixed width, if they have few slabs. */
	FewSlabs
	few_slabs() const
	{
		return shape.fixed_words != 0 ? words.few_slabs() : FewSlabs{};
	}

	/* The keys, by their tables, which make_tables() or the survey stores. */
	Keys
	keys() const
	{
		bool		is_few = table_bytes(shape, words.size(), ends.size()) == 0;

		return {{is_few ? all_counters()->few_slabs : word_table()},
			{end_table()}, words.size(), static_cast<uint32_t>(nrows),
			shape.fixed_words};
	}

	void
	release_keys(cudaStream_t stream)
	{
		words.release(stream);
		ends.release(stream);
		tables.release(stream);
	}

	/* A table of few slabs is among them. */
	void
	release_counters(cudaStream_t stream)
	{
		counters.release(stream);
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
		release_counters(stream);
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
	counters_bytes()
	{
		return divide_up(sizeof(Counters), 256) * 256;
	}

	static uint64_t
	table_bytes(uint64_t count)
	{
		return divide_up(SlabArray::table_entries(count) *
						 sizeof(uint64_t *), 256) * 256;
	}

	/* The bytes of both tables, none if there is only one of few slabs. */
	static uint64_t
	table_bytes(const KeyShape &shape, uint64_t nwords, uint64_t nends)
	{
		return shape.fixed_words != 0 &&
			SlabArray::table_entries(nwords) <= max_few_slabs ? 0 :
			table_bytes(nwords) + table_bytes(nends);
	}

	uint64_t  **
	word_table() const
	{
		return static_cast<uint64_t **>(tables.address());
	}

	uint64_t  **
	end_table() const
	{
		return word_table() == nullptr ? nullptr :
			word_table() + table_bytes(words.size()) / sizeof(uint64_t *);
	}

	const KeyShape shape;
	uint64_t	nrows = 0;
	KeySample	sample;
	SlabArray	words;
	SlabArray	ends;
	DeviceBlock tables;
	DeviceBlock counters;
	DeviceBlock workspace;
	DeviceBlock order;
};

}								/* namespace gpusort */

#endif							/* GPUSORT_JOB_MEMORY_CUH */
