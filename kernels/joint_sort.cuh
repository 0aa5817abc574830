/*-------------------------------------------------------------------------
 *
 * joint_sort.cuh
 *	  The sort in one launch, by all blocks of the device together.
 *
 * A sort of few rows takes less time than its launches: ten kernels with
 * little to do each, and a wait for the host in between.  Here one kernel does
 * all of it, and its blocks wait for each other four times.  All of them are
 * on the device at once (a cooperative launch), a block an SM.  It is one level
 * of the sort over the whole device (device_quicksort.cuh), with the same
 * buckets:
 *
 *	1.	A block takes the sample, the same in all blocks, ranks its share of the
 *		words, and surveys its share of the rows.
 *	2.	The sample is sorted, and the survey is known.  If keys are in order, the
 *		order is written, and that is all.  Otherwise a block gathers its rows by
 *		bucket in shared memory, and claims room for them among those of other
 *		blocks.
 *	3.	All lengths of buckets are known, and so where each begins: a block
 *		moves its rows there.
 *	4.	It sorts the buckets that begin in its share of the order.
 *	5.	It checks its share of the order (order_check.cuh).
 *
 * The last block to finish reports to the host (sort_seats.cuh).
 * joint_job.cuh says when the sort gives up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_JOINT_SORT_CUH
#define GPUSORT_JOINT_SORT_CUH

#include "joint_job.cuh"
#include "partition.cuh"

namespace gpusort
{

constexpr unsigned max_joint_buckets = 1u << max_log_joint_buckets;

/*
 * The mean of buckets is a seventh of a leaf or less.  With 2 samples for each
 * bucket one of 1024 is longer than a leaf once in 150 sorts of a million rows,
 * and once in 10,000 of 800,000.
 */
constexpr unsigned joint_samples = 2;
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
		struct
		{
			uint64_t	sample[max_joint_samples];
			uint32_t	places[max_joint_samples];	/* when it is sorted */
		};
		GatheredRows rows;
		SpreadShared<few_leaf_rows, joint_threads> few;
		SpreadShared<leaf_rows, joint_threads, leaf_rows> many;
	};
	uint64_t	splitters[max_joint_buckets];
	uint64_t	tree[max_joint_buckets];
	uint32_t	counts[max_joint_buckets];	/* of the block's rows */
	uint32_t	begins[max_joint_buckets + 1];	/* in the order */
	uint32_t	offsets[max_joint_buckets]; /* there from the gathered rows */
	bool		is_equality[max_joint_buckets];
	JointFlags	flags;
	ScanShared<joint_threads> scan;

	static_assert(max_joint_buckets <= joint_threads,
				  "a thread for each bucket");
	static_assert(joint_block_rows <= 1u << 16, "a number has 16 bits");
};

struct JointSort : JointJob
{
	Pairs		pairs;
	unsigned	log_buckets;

	__device__ __forceinline__ unsigned
	buckets() const
	{
		return 1u << log_buckets;
	}

	__device__ __forceinline__ unsigned
	samples() const
	{
		return joint_samples << log_buckets;
	}

	/*
	 * The sorted sample.  It lies where pairs will be, and there are more pairs
	 * than words of the sample.
	 */
	__device__ __forceinline__ uint64_t *
	sorted_sample() const
	{
		return pairs.words;
	}
};

/*
 * Puts the block's share of the sample to where it is in the sorted sample.  If
 * keys have further words, words of the sample must not be equal.
 */
static __device__ __forceinline__ void
rank_share(const JointSort &sort, bool has_rest, JointShared &shared)
{
	uint32_t	first = sort.share_begin(blockIdx.x, sort.samples());
	uint32_t	count = sort.share_begin(blockIdx.x + 1, sort.samples()) - first;

	if (count > 0 && rank_samples(shared.sample, sort.samples(), first, count,
								  shared.places) && has_rest)
		shared.flags.has_given_up = true;
	__syncthreads();
	for (unsigned number = threadIdx.x; number < count;
		 number += joint_threads)
		sort.sorted_sample()[shared.places[number]] =
			shared.sample[first + number];
}

/* Chooses the splitters from the sorted sample, and makes their tree. */
static __device__ __forceinline__ void
choose_joint_splitters(const JointSort &sort, JointShared &shared)
{
	unsigned	bucket = threadIdx.x;

	if (bucket < sort.buckets())
		shared.splitters[bucket] =
			splitter_of_bucket(sort.sorted_sample(), joint_samples, bucket);
	__syncthreads();
	load_tree(shared.tree, shared.splitters, sort.log_buckets);
	if (bucket < sort.buckets())
		shared.is_equality[bucket] =
			is_equality_bucket(shared.splitters, sort.log_buckets, bucket);
	__syncthreads();
}

/* A thread's rows of the block's share: up to "items" of them. */
template <unsigned items>
struct JointItems
{
	uint64_t	words[items];
	uint32_t	places[items];	/* bucket, and rank in the block's rows of it */
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
	}

	__device__ __forceinline__ void
	load(const JointSort &sort, unsigned leading)
	{
#pragma unroll
		for (unsigned i = 0; i < items; i++)
			words[i] = is_inside(i) ? sort.word(begin + number(i), leading) : 0;
	}

	/* Surveys the rows. */
	__device__ __forceinline__ void
	survey(const JointSort &sort, unsigned leading, JointFlags &flags) const
	{
		RowFindings findings = {false, false, false, false};

#pragma unroll
		for (unsigned i = 0; i < items; i++)
		{
			uint32_t	row = begin + number(i);

			if (is_inside(i) && row > 0)
				survey_joint_row(sort, row, leading, words[i],
								 sort.word(row - 1, leading), findings, flags);
		}
		note_findings(findings, flags);
	}

	/* Finds all buckets, level by level of the tree, and counts the rows. */
	__device__ __forceinline__ void
	find_places(const JointSort &sort, JointShared &shared)
	{
#pragma unroll
		for (unsigned i = 0; i < items; i++)
			places[i] = 1;
		for (unsigned depth = 0; depth < sort.log_buckets; depth++)
#pragma unroll
			for (unsigned i = 0; i < items; i++)
				if (is_used(i))
					places[i] = 2 * places[i] +
						(words[i] >= shared.tree[places[i]] ? 1 : 0);
#pragma unroll
		for (unsigned i = 0; i < items; i++)
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
		for (unsigned i = 0; i < items; i++)
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

/* Claims room for the block's rows of each bucket, and lays the buckets out. */
static __device__ __forceinline__ void
claim_joint_room(const JointSort &sort, JointShared &shared)
{
	unsigned	bucket = threadIdx.x;
	uint32_t	count = bucket < sort.buckets() ? shared.counts[bucket] : 0;
	uint32_t	room = count == 0 ? 0 :
		atomicAdd(&sort.counters().lengths[bucket], count);
	uint32_t	begin = block_sum_before(count, shared.scan);

	if (bucket < sort.buckets())
	{
		shared.begins[bucket] = begin;
		shared.offsets[bucket] = room - begin;
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
				shared.flags.has_ties = true;
		}
		else
		{
			sort.pairs.words[target] = shared.rows.words[place];
			sort.pairs.rows[target] = row;
		}
	}
}

/* Places the buckets.  False if one is longer than a leaf. */
static __device__ __forceinline__ bool
place_joint_buckets(const JointSort &sort, JointShared &shared)
{
	unsigned	bucket = threadIdx.x;
	uint32_t	length = bucket < sort.buckets() ?
		sort.counters().lengths[bucket] : 0;
	uint32_t	begin = block_sum_before(length, shared.scan);

	if (bucket < sort.buckets())
	{
		shared.begins[bucket] = begin;
		shared.offsets[bucket] += begin;
		if (length > leaf_rows && !shared.is_equality[bucket])
			shared.flags.has_given_up = true;
	}
	if (bucket == 0)
		shared.begins[sort.buckets()] = sort.keys.nrows;
	__syncthreads();
	return !shared.flags.has_given_up;
}

/* Sorts neighbouring buckets of a leaf's length, given their first place. */
template <typename Shared>
static __device__ __forceinline__ void
sort_joint_leaf(const JointSort &sort, uint32_t begin, uint32_t length,
				Shared &shared, JointFlags &flags)
{
	spread_sort(
		length, shared,
		[&](unsigned place, uint64_t &word, uint32_t &row) {
			word = sort.pairs.words[begin + place];
			row = sort.pairs.rows[begin + place];
		},
		[&](unsigned place, uint64_t, uint32_t row, bool is_tie) {
			sort.order.put(begin + place, row, is_tie);
			if (is_tie)
				flags.has_ties = true;
		});
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
		uint32_t	length;

		if (shared.is_equality[bucket++])
			continue;

		/* as many as a leaf can be of */
		while (bucket < sort.buckets() && shared.begins[bucket] < share_end &&
			   !shared.is_equality[bucket] &&
			   shared.begins[bucket + 1] - begin <= leaf_rows)
			bucket++;
		length = shared.begins[bucket] - begin;
		if (length > few_leaf_rows)
			sort_joint_leaf(sort, begin, length, shared.many, shared.flags);
		else if (length > 0)
			sort_joint_leaf(sort, begin, length, shared.few, shared.flags);
	}
}

/* Sorts all rows into the order, or gives up. */
template <unsigned items_a_thread>
static __device__ __forceinline__ void
sort_or_give_up(const JointSort &sort, JointShared &shared)
{
	uint32_t   *arrived = &sort.counters().arrived;
	JointItems<items_a_thread> items(sort);

	clear_findings(shared.flags);
	if (threadIdx.x < max_joint_buckets)
		shared.counts[threadIdx.x] = 0;
	for (unsigned number = threadIdx.x; number < max_joint_samples;
		 number += joint_threads)
		shared.places[number] = 0;
	items.load(sort, 0);
	__syncthreads();

	unsigned	leading = take_joint_sample(sort, sort.samples(),
											shared.sample, shared.flags);

	__syncthreads();
	if (leading > 0)
		items.load(sort, leading);
	items.survey(sort, leading, shared.flags);
	rank_share(sort, sort.has_rest(leading), shared);
	__syncthreads();
	sort.tell(surveyed_findings(shared.flags));
	grid_barrier(arrived, 1);

	if (is_settled(sort, sort.counters().findings))
		return;
	choose_joint_splitters(sort, shared);
	items.find_places(sort, shared);
	__syncthreads();
	claim_joint_room(sort, shared);
	__syncthreads();
	items.gather(shared.begins, shared.rows);
	grid_barrier(arrived, 2);

	if (!place_joint_buckets(sort, shared))
	{
		sort.tell(SORT_GIVEN_UP);
		return;
	}
	scatter_share(sort, shared);
	grid_barrier(arrived, 3);

	sort_share(sort, shared);
	grid_barrier(arrived, 4);

	if (shared.flags.has_ties && sort.has_rest(leading))
		sort.tell(SORT_GIVEN_UP);
	check_share(sort, shared.flags);
}

template <unsigned items_a_thread>
static __global__ void __launch_bounds__(joint_threads, 1)
sort_jointly(const __grid_constant__ JointSort sort)
{
	JointShared &shared = block_shared<JointShared>();

	sort_or_give_up<items_a_thread>(sort, shared);
	if (!is_last_block(&sort.counters().finished, shared.flags.is_last))
		return;
	if (threadIdx.x < sort.buckets())
		sort.counters().lengths[threadIdx.x] = 0;
	report_findings(sort);
}

/* The most rows that the device sorts in one launch. */
static inline uint64_t
most_joint_rows(const Queue &queue)
{
	return static_cast<uint64_t>(queue.multiprocessors) * joint_block_rows;
}

/* The logarithm of the number of buckets. */
static inline unsigned
choose_log_joint_buckets(uint32_t nrows)
{
	unsigned	log_buckets = min_log_buckets;

	while (nrows >> log_buckets > joint_bucket_rows &&
		   log_buckets < max_log_joint_buckets)
		log_buckets++;
	return log_buckets;
}

static inline bool
start_joint_sort(const Queue &queue, const JointJob &job, const Pairs &pairs)
{
	uint32_t	nrows = job.keys.nrows;
	uint64_t	blocks = divide_up(nrows, joint_threads);
	JointSort	sort = {job, pairs, choose_log_joint_buckets(nrows)};

	if (blocks > queue.multiprocessors)
		blocks = queue.multiprocessors;
	return queue.launch_together<JointShared>("sorting in one launch",
											  blocks * joint_threads < nrows ?
											  sort_jointly<joint_items> :
											  sort_jointly<1>,
											  static_cast<unsigned>(blocks),
											  joint_threads, sort);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_JOINT_SORT_CUH */
