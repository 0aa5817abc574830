/*-------------------------------------------------------------------------
 *
 * joint_sort.cuh
 *	  The sort in one launch, by all blocks of the device together.
 *
 * A sort of few rows takes less time than its launches: ten kernels with
 * little to do each, and a wait for the host in between.  Here one kernel does
 * all of it, and its blocks wait for each other three times.  All of them are
 * on the device at once (a cooperative launch), a block an SM.  It is one level
 * of the sort over the whole device (device_quicksort.cuh), with the same
 * buckets:
 *
 *	1.	A block surveys its share of the rows, for their order only.  It sorts
 *		the sample, the same in all blocks, since that takes less time than to
 *		wait until another block has done it.  It gathers its rows by bucket in
 *		shared memory, and claims room for them among those of other blocks.
 *	2.	All lengths of buckets are known, and so where each begins: a block
 *		moves its rows there.  If keys are in order, the order is written
 *		instead, and that is all.
 *	3.	A block sorts the buckets that begin in its share of the order.
 *	4.	It checks its share of the order (order_check.cuh).
 *
 * It compares the first words of keys.  It gives up if keys have more words and
 * two first words are equal, or if a bucket is longer than a leaf, which hardly
 * ever happens.  Then nothing is lost but the time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_JOINT_SORT_CUH
#define GPUSORT_JOINT_SORT_CUH

#include "bitonic_network.cuh"
#include "key_survey.cuh"
#include "order_check.cuh"
#include "splitters.cuh"

namespace gpusort
{

constexpr unsigned max_joint_buckets = 1u << max_log_joint_buckets;

/*
 * The mean of buckets is a seventh of a leaf or less.  With 3 samples for each
 * bucket one of 1024 is longer than a leaf once in 13,000 sorts.
 */
constexpr unsigned joint_samples = 3;
constexpr unsigned max_joint_samples = max_joint_buckets * joint_samples;

/* The most rows of a block. */
constexpr unsigned joint_block_rows = joint_threads * joint_items;

/* The block's rows, gathered by bucket. */
struct GatheredRows
{
	uint64_t	words[joint_block_rows];
	uint16_t	numbers[joint_block_rows];	/* in the block's share */
	uint16_t	buckets[joint_block_rows];
};

struct JointShared
{
	union
	{
		uint64_t	sample[max_joint_samples];
		GatheredRows rows;
		SpreadShared<leaf_rows, joint_threads> sort;
	};
	uint64_t	splitters[max_joint_buckets];
	uint64_t	tree[max_joint_buckets];
	uint32_t	counts[max_joint_buckets];	/* of the block's rows */
	uint32_t	begins[max_joint_buckets + 1];	/* in the order */
	uint32_t	offsets[max_joint_buckets]; /* there from the gathered rows */
	bool		is_equality[max_joint_buckets];
	bool		falls;			/* as of all keys, see KeySurvey */
	bool		rises;
	bool		repeats;
	bool		has_ties;
	bool		has_given_up;
	OrderCheck	check;
	ScanShared<joint_threads> scan;

	static_assert(max_joint_buckets <= joint_threads,
				  "a thread for each bucket");
	static_assert(joint_block_rows <= 1u << 16, "a number has 16 bits");
};

/* The ordering of words alone, and words in shared memory, for the network. */
struct WordOrdering
{
	using Item = uint64_t;

	__device__ __forceinline__ uint64_t
	greatest() const
	{
		return UINT64_MAX;
	}

	__device__ __forceinline__ void
	exchange(uint64_t &lower, uint64_t &higher) const
	{
		const uint64_t was_lower = lower;
		const bool	exchange = higher < lower;

		lower = exchange ? higher : lower;
		higher = exchange ? was_lower : higher;
	}

	__device__ __forceinline__ uint64_t
	keep(uint64_t own, uint64_t other, bool is_lower) const
	{
		return (other < own) == is_lower ? other : own;
	}

	__device__ __forceinline__ uint64_t
	from_lane(uint64_t own, unsigned distance) const
	{
		return __shfl_xor_sync(whole_warp, own, distance);
	}
};

struct SharedWords
{
	uint64_t   *words;

	__device__ __forceinline__ uint64_t
	get(uint32_t place) const
	{
		return words[place];
	}

	__device__ __forceinline__ void
	put(uint32_t place, uint64_t word) const
	{
		words[place] = word;
	}
};

/* What all functions here need to know. */
struct JointSort
{
	Keys		keys;
	Pairs		pairs;
	Order		order;
	Control    *control;
	JointCounters *counters;
	unsigned	log_buckets;

	/* A block's share of the rows, and of the places in the order. */
	__device__ __forceinline__ uint32_t
	share_begin(unsigned block) const
	{
		return static_cast<uint32_t>(static_cast<uint64_t>(keys.nrows) *
									 block / gridDim.x);
	}

	__device__ __forceinline__ uint64_t
	first_word(uint32_t row) const
	{
		return keys.words[static_cast<uint64_t>(row) * keys.fixed_words];
	}

	__device__ __forceinline__ unsigned
	buckets() const
	{
		return 1u << log_buckets;
	}
};

/*
 * Sorts the sample.  It is sorted by a network, which takes the same time for
 * all distributions.  Says whether words of it are equal.
 */
static __device__ __forceinline__ bool
sort_joint_sample(const JointSort &sort, unsigned samples, JointShared &shared)
{
	Segment		whole = {0, sort.keys.nrows, 0, sort.log_buckets};

	for (unsigned sample = threadIdx.x; sample < samples;
		 sample += joint_threads)
		shared.sample[sample] =
			sort.first_word(sample_place(whole, sample, samples));
	__syncthreads();
	block_network(WordOrdering(), SharedWords{shared.sample}, samples);
	for (unsigned rank = threadIdx.x + 1; rank < samples;
		 rank += joint_threads)
		if (shared.sample[rank] == shared.sample[rank - 1])
			shared.has_ties = true;
	__syncthreads();
	return shared.has_ties;
}

/*
 * Chooses the splitters, and makes their tree.  Says whether to give up, since
 * keys have further words and first words of the sample are equal.
 */
static __device__ __forceinline__ bool
choose_joint_splitters(const JointSort &sort, JointShared &shared)
{
	bool		has_ties = sort_joint_sample(sort,
											 sort.buckets() * joint_samples,
											 shared);
	unsigned	bucket = threadIdx.x;

	if (has_ties && sort.keys.fixed_words > 1)
		return false;
	if (bucket < sort.buckets())
		shared.splitters[bucket] =
			splitter_of_bucket(shared.sample, joint_samples, bucket);
	__syncthreads();
	load_tree(shared.tree, shared.splitters, sort.log_buckets);
	if (bucket < sort.buckets())
		shared.is_equality[bucket] =
			is_equality_bucket(shared.splitters, sort.log_buckets, bucket);
	__syncthreads();
	return true;
}

/* A thread's rows of the block's share. */
struct JointItems
{
	uint64_t	words[joint_items];
	uint32_t	places[joint_items];	/* bucket, and rank in the block's rows of it */
	uint32_t	begin;			/* of the share */
	uint32_t	length;

	/* A row's number in the share. */
	__device__ __forceinline__ uint32_t
	number(unsigned i) const
	{
		return i * joint_threads + threadIdx.x;
	}

	__device__ __forceinline__ bool
	is_inside(unsigned i) const
	{
		return number(i) < length;
	}

	/* Whether any thread has this item. */
	__device__ __forceinline__ bool
	is_used(unsigned i) const
	{
		return i * joint_threads < length;
	}

	__device__ __forceinline__ explicit
	JointItems(const JointSort &sort)
		: begin(sort.share_begin(blockIdx.x)),
		  length(sort.share_begin(blockIdx.x + 1) - begin)
	{
#pragma unroll
		for (unsigned i = 0; i < joint_items; i++)
			words[i] = is_inside(i) ? sort.first_word(begin + number(i)) : 0;
	}

	/* Surveys the order of the rows. */
	__device__ __forceinline__ void
	survey(const JointSort &sort, JointShared &shared) const
	{
		RowFindings findings = {false, false, false, false};

#pragma unroll
		for (unsigned i = 0; i < joint_items; i++)
		{
			uint32_t	row = begin + number(i);

			if (is_inside(i) && row > 0)
				compare_to_previous(sort.keys, row, words[i],
									sort.first_word(row - 1), findings);
		}
		if (findings.falls)
			shared.falls = true;
		if (findings.rises)
			shared.rises = true;
		if (findings.repeats)
			shared.repeats = true;
	}

	/* Finds all buckets, level by level of the tree, and counts the rows. */
	__device__ __forceinline__ void
	find_places(const JointSort &sort, JointShared &shared)
	{
#pragma unroll
		for (unsigned i = 0; i < joint_items; i++)
			places[i] = 1;
		for (unsigned depth = 0; depth < sort.log_buckets; depth++)
#pragma unroll
			for (unsigned i = 0; i < joint_items; i++)
				if (is_used(i))
					places[i] = 2 * places[i] +
						(words[i] >= shared.tree[places[i]] ? 1 : 0);
#pragma unroll
		for (unsigned i = 0; i < joint_items; i++)
		{
			uint32_t	bucket = places[i] - sort.buckets();

			if (!is_used(i))
				continue;
			if (__all_sync(whole_warp, is_inside(i)))
				places[i] = bucket | count_clustered(shared.counts, bucket) << 16;
			else if (is_inside(i))
				places[i] = bucket | atomicAdd(&shared.counts[bucket], 1u) << 16;
		}
	}

	/* Gathers the rows by bucket, given where each bucket begins. */
	__device__ __forceinline__ void
	gather(const uint32_t *begins, GatheredRows &rows) const
	{
#pragma unroll
		for (unsigned i = 0; i < joint_items; i++)
			if (is_inside(i))
			{
				uint32_t	bucket = places[i] & 0xffff;
				uint32_t	place = begins[bucket] + (places[i] >> 16);

				rows.words[place] = words[i];
				rows.numbers[place] = static_cast<uint16_t>(number(i));
				rows.buckets[place] = static_cast<uint16_t>(bucket);
			}
	}
};

/*
 * Claims room for the block's rows of each bucket, lays the buckets out, and
 * adds what the block has surveyed to what others have.
 */
static __device__ __forceinline__ void
claim_joint_room(const JointSort &sort, JointShared &shared)
{
	unsigned	bucket = threadIdx.x;
	uint32_t	count = bucket < sort.buckets() ? shared.counts[bucket] : 0;
	uint32_t	room = count == 0 ? 0 :
		atomicAdd(&sort.counters->lengths[bucket], count);
	uint32_t	begin = block_sum_before(count, shared.scan);

	if (bucket < sort.buckets())
	{
		shared.begins[bucket] = begin;
		shared.offsets[bucket] = room - begin;
	}
	if (threadIdx.x == 0)
	{
		if (shared.falls)
			sort.control->survey.falls = 1;
		if (shared.rises)
			sort.control->survey.rises = 1;
		if (shared.repeats)
			sort.control->survey.repeats = 1;
	}
}

/* Moves the gathered rows to their buckets. */
static __device__ __forceinline__ void
scatter_share(const JointSort &sort, JointShared &shared)
{
	uint32_t	first = sort.share_begin(blockIdx.x);
	uint32_t	length = sort.share_begin(blockIdx.x + 1) - first;

	for (uint32_t place = threadIdx.x; place < length; place += joint_threads)
	{
		uint32_t	bucket = shared.rows.buckets[place];
		uint32_t	target = shared.offsets[bucket] + place;
		uint32_t	row = first + shared.rows.numbers[place];

		if (shared.is_equality[bucket])
		{
			bool		is_tie = target != shared.begins[bucket];

			sort.order.put(target, row, is_tie);
			if (is_tie)
				shared.has_ties = true;
		}
		else
		{
			sort.pairs.words[target] = shared.rows.words[place];
			sort.pairs.rows[target] = row;
		}
	}
}

/*
 * Places the buckets.  Says whether to give up, since one is longer than a
 * leaf.
 */
static __device__ __forceinline__ bool
place_joint_buckets(const JointSort &sort, JointShared &shared)
{
	unsigned	bucket = threadIdx.x;
	uint32_t	length = bucket < sort.buckets() ?
		sort.counters->lengths[bucket] : 0;
	uint32_t	begin = block_sum_before(length, shared.scan);

	if (bucket < sort.buckets())
	{
		shared.begins[bucket] = begin;
		shared.offsets[bucket] += begin;
		if (length > leaf_rows && !shared.is_equality[bucket])
			shared.has_given_up = true;
	}
	if (bucket == 0)
		shared.begins[sort.buckets()] = sort.keys.nrows;
	__syncthreads();
	return !shared.has_given_up;
}

/* Sorts the buckets that begin in the block's share of the order. */
static __device__ __forceinline__ void
sort_share(const JointSort &sort, JointShared &shared)
{
	uint32_t	share_begin = sort.share_begin(blockIdx.x);
	uint32_t	share_end = sort.share_begin(blockIdx.x + 1);
	unsigned	bucket = 0;

	for (unsigned step = sort.buckets(); step > 0; step /= 2)
		if (bucket + step <= sort.buckets() &&
			shared.begins[bucket + step - 1] < share_begin)
			bucket += step;
	while (bucket < sort.buckets() && shared.begins[bucket] < share_end)
	{
		uint32_t	begin = shared.begins[bucket];

		if (shared.is_equality[bucket++])
			continue;

		/* as many as a leaf can be of */
		while (bucket < sort.buckets() && shared.begins[bucket] < share_end &&
			   !shared.is_equality[bucket] &&
			   shared.begins[bucket + 1] - begin <= leaf_rows)
			bucket++;
		if (shared.begins[bucket] == begin)
			continue;
		spread_sort(
			shared.begins[bucket] - begin, shared.sort,
			[&](unsigned place, uint64_t &word, uint32_t &row) {
				word = sort.pairs.words[begin + place];
				row = sort.pairs.rows[begin + place];
			},
			[&](unsigned place, uint64_t, uint32_t row, bool is_tie) {
				sort.order.put(begin + place, row, is_tie);
				if (is_tie)
					shared.has_ties = true;
			});
	}
}

/* Makes the block's share of the order of keys that are in order already. */
static __device__ __forceinline__ void
put_ordered_share(const JointSort &sort, const KeySurvey &survey)
{
	uint32_t	end = sort.share_begin(blockIdx.x + 1);

	for (uint32_t row = sort.share_begin(blockIdx.x) + threadIdx.x; row < end;
		 row += joint_threads)
		put_ordered_row(sort.keys, row, survey.falls != 0,
						sort.order.tie != 0 && survey.repeats != 0, sort.order);
}

/* Checks the block's share of the order. */
static __device__ __forceinline__ void
check_share(const JointSort &sort, JointShared &shared)
{
	const uint32_t *entries = sort.order.entries;
	bool		want_ties = sort.order.tie != 0;
	uint64_t	excess =
		excess_of_entries<joint_threads>(entries, want_ties ? ~ORDER_TIE : ~0u,
										 sort.share_begin(blockIdx.x),
										 sort.share_begin(blockIdx.x + 1));

	add_findings(excess,
				 has_misplaced({sort.keys, false, 0, false}, entries, want_ties,
							   blockIdx.x * joint_threads + threadIdx.x,
							   gridDim.x * joint_threads),
				 shared.check, &sort.control->check);
}

/* Makes shared memory ready; a barrier has to follow. */
static __device__ __forceinline__ void
clear_joint_shared(JointShared &shared)
{
	if (threadIdx.x < max_joint_buckets)
		shared.counts[threadIdx.x] = 0;
	if (threadIdx.x > 0)
		return;
	shared.falls = false;
	shared.rises = false;
	shared.repeats = false;
	shared.has_ties = false;
	shared.has_given_up = false;
	shared.check = {0, 0};
}

/* Sorts all rows into the order, or gives up. */
static __global__ void __launch_bounds__(joint_threads, 1)
sort_jointly(const __grid_constant__ JointSort sort)
{
	JointShared &shared = block_shared<JointShared>();
	uint32_t   *arrived = &sort.counters->arrived;

	clear_joint_shared(shared);

	JointItems	items(sort);

	__syncthreads();
	items.survey(sort, shared);
	if (!choose_joint_splitters(sort, shared))
	{
		sort.control->has_given_up = 1;
		return;
	}
	items.find_places(sort, shared);
	__syncthreads();
	claim_joint_room(sort, shared);
	__syncthreads();
	items.gather(shared.begins, shared.rows);
	grid_barrier(arrived, 1);

	if (sort.control->survey.are_ordered())
	{
		put_ordered_share(sort, sort.control->survey);
		return;
	}
	if (!place_joint_buckets(sort, shared))
	{
		sort.control->has_given_up = 1;
		return;
	}
	scatter_share(sort, shared);
	grid_barrier(arrived, 2);

	sort_share(sort, shared);
	grid_barrier(arrived, 3);

	if (threadIdx.x == 0 && shared.has_ties && sort.keys.fixed_words > 1)
		sort.control->has_given_up = 1;
	check_share(sort, shared);
}

/* The most rows that the device sorts in one launch. */
static inline uint64_t
most_joint_rows(const Queue &queue)
{
	return static_cast<uint64_t>(queue.multiprocessors) * joint_block_rows;
}

/*
 * Puts the sort of keys of fixed width in one launch on the queue, with its
 * survey and its check.  The control block says afterwards whether it has
 * given up.
 */
static inline bool
start_joint_sort(const Queue &queue, const Keys &keys, const Workspace &space,
				 const Order &order)
{
	uint64_t	blocks = divide_up(keys.nrows, joint_threads);
	unsigned	log_buckets = min_log_buckets;
	size_t		counters = reinterpret_cast<unsigned char *>(space.joint + 1) -
		reinterpret_cast<unsigned char *>(space.control);

	while (keys.nrows >> log_buckets > joint_bucket_rows &&
		   log_buckets < max_log_joint_buckets)
		log_buckets++;
	if (blocks > queue.multiprocessors)
		blocks = queue.multiprocessors;
	return queue.did(cudaMemsetAsync(space.control, 0, counters, queue.stream),
					 "clearing counters") &&
		queue.launch_together<JointShared>("sorting in one launch",
										   sort_jointly,
										   static_cast<unsigned>(blocks),
										   joint_threads,
										   JointSort{keys, space.pairs[0],
													 order, space.control,
													 space.joint, log_buckets});
}

}								/* namespace gpusort */

#endif							/* GPUSORT_JOINT_SORT_CUH */
