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
 *	1.	A block takes the sample, the same in all blocks, and surveys its share
 *		of the rows, for their order only.  It sorts the sample, since that
 *		takes less time than to wait until another block has done it.  It gathers its rows by bucket in
 *		shared memory, and claims room for them among those of other blocks.
 *	2.	All lengths of buckets are known, and so where each begins: a block
 *		moves its rows there.  If keys are in order, the order is written
 *		instead, and that is all.
 *	3.	A block sorts the buckets that begin in its share of the order.
 *	4.	It checks its share of the order (order_check.cuh).
 *
 * The last block to finish reports to the host (joint_seats.cuh).
 *
 * It compares one word of each key, the leading one: the first word that is not
 * the same in all keys of the sample.  It gives up if words before are not the
 * same in all keys, if keys have further words and two leading words are equal,
 * or if a bucket is longer than a leaf, which hardly ever happens.  Then nothing
 * is lost but the time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_JOINT_SORT_CUH
#define GPUSORT_JOINT_SORT_CUH

#include "joint_seats.cuh"
#include "key_survey.cuh"
#include "order_check.cuh"
#include "splitters.cuh"

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

/* Words of the sample that a thread has in registers while it is sorted. */
constexpr unsigned joint_sample_items = max_joint_samples > joint_threads ?
	max_joint_samples / joint_threads : 1;

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
		uint64_t	sample[2][joint_sample_items * joint_threads];
		GatheredRows rows;
		SpreadShared<leaf_rows, joint_threads> sort;
	};
	uint64_t	splitters[max_joint_buckets];
	uint64_t	tree[max_joint_buckets];
	uint32_t	counts[max_joint_buckets];	/* of the block's rows */
	uint32_t	begins[max_joint_buckets + 1];	/* in the order */
	uint32_t	offsets[max_joint_buckets]; /* there from the gathered rows */
	bool		is_equality[max_joint_buckets];
	bool		sample_falls;	/* as of all keys, see KeySurvey */
	bool		sample_rises;
	bool		falls;
	bool		rises;
	bool		repeats;
	bool		has_ties;
	bool		has_given_up;
	bool		is_last;		/* of all blocks */
	OrderCheck	check;
	ScanShared<joint_threads> scan;

	static_assert(max_joint_buckets <= joint_threads,
				  "a thread for each bucket");
	static_assert(joint_sample_items <= 2, "see step_joint_sample()");
	static_assert(joint_block_rows <= 1u << 16, "a number has 16 bits");
};

/* What all functions here need to know. */
struct JointSort
{
	FewKeys		keys;
	Pairs		pairs;
	Order		order;
	JointReport *report;
	unsigned	seat;
	unsigned	log_buckets;

	__device__ __forceinline__ JointCounters &
	counters() const
	{
		return joint_counters[seat];
	}

	__device__ __forceinline__ void
	tell(uint32_t findings) const
	{
		if (findings != 0)
			atomicOr(&counters().findings, findings);
	}

	__device__ __forceinline__ unsigned
	samples() const
	{
		return joint_samples << log_buckets;
	}

	/* A block's share of the rows, and of the places in the order. */
	__device__ __forceinline__ uint32_t
	share_begin(unsigned block) const
	{
		return static_cast<uint32_t>(static_cast<uint64_t>(keys.nrows) *
									 block / gridDim.x);
	}

	__device__ __forceinline__ uint64_t
	word(uint32_t row, unsigned number) const
	{
		return keys.view().words[static_cast<uint64_t>(row) * keys.fixed_words +
								 number];
	}

	__device__ __forceinline__ unsigned
	buckets() const
	{
		return 1u << log_buckets;
	}
};

/*
 * Takes the sample, and finds out whether it is in order.  Returns the number
 * of the leading word.
 */
static __device__ __forceinline__ unsigned
take_joint_sample(const JointSort &sort, JointShared &shared)
{
	Segment		whole = {0, sort.keys.nrows, 0, sort.log_buckets};

	for (unsigned leading = 0;; leading++)
	{
		for (unsigned sample = threadIdx.x; sample < sort.samples();
			 sample += joint_threads)
			shared.sample[0][sample] =
				sort.word(sample_place(whole, sample, sort.samples()), leading);
		__syncthreads();
		for (unsigned sample = threadIdx.x + 1; sample < sort.samples();
			 sample += joint_threads)
		{
			uint64_t	word = shared.sample[0][sample];
			uint64_t	previous = shared.sample[0][sample - 1];

			if (word < previous)
				shared.sample_falls = true;
			if (word > previous)
				shared.sample_rises = true;
		}
		__syncthreads();
		if (shared.sample_falls || shared.sample_rises ||
			leading + 1 == sort.keys.fixed_words)
			return leading;
	}
}

/* Whether a step of the network compares words of different warps. */
static __device__ __forceinline__ bool
is_between_warps(unsigned stride)
{
	return stride >= warp_threads && stride < joint_threads;
}

/*
 * Makes a step of the bitonic network on the sample, whose words are in
 * registers: compares places that differ in the bit "stride".  Runs of "size"
 * words become sorted in turns upwards and downwards.  Lanes of a warp exchange
 * words by shuffles, and warps by an array in shared memory, of which there are
 * two so that one barrier is enough.
 */
static __device__ __forceinline__ void
step_joint_sample(uint64_t (&own)[joint_sample_items], unsigned size,
				  unsigned stride, uint64_t *exchanged)
{
	uint64_t	others[joint_sample_items];

	if (is_between_warps(stride))
	{
#pragma unroll
		for (unsigned i = 0; i < joint_sample_items; i++)
			exchanged[i * joint_threads + threadIdx.x] = own[i];
		__syncthreads();
	}
#pragma unroll
	for (unsigned i = 0; i < joint_sample_items; i++)
	{
		unsigned	place = i * joint_threads + threadIdx.x;

		others[i] = stride < warp_threads ?
			__shfl_xor_sync(whole_warp, own[i], stride) :
			is_between_warps(stride) ? exchanged[place ^ stride] :
			own[joint_sample_items - 1 - i];
	}
#pragma unroll
	for (unsigned i = 0; i < joint_sample_items; i++)
	{
		unsigned	place = i * joint_threads + threadIdx.x;
		bool		wants_less = ((place & stride) == 0) == ((place & size) == 0);

		if ((others[i] < own[i]) == wants_less)
			own[i] = others[i];
	}
}

/*
 * Sorts the sample.  A network takes the same time for all distributions, and
 * the sample has 2^n words.
 */
static __device__ __forceinline__ void
sort_joint_sample(const JointSort &sort, JointShared &shared)
{
	uint64_t	own[joint_sample_items];
	unsigned	exchanges = 0;

#pragma unroll
	for (unsigned i = 0; i < joint_sample_items; i++)
	{
		unsigned	place = i * joint_threads + threadIdx.x;

		own[i] = place < sort.samples() ? shared.sample[0][place] : 0;
	}
	for (unsigned size = 2; size <= sort.samples(); size *= 2)
		for (unsigned stride = size / 2; stride > 0; stride /= 2)
		{
			exchanges += is_between_warps(stride) ? 1 : 0;
			step_joint_sample(own, size, stride, shared.sample[exchanges % 2]);
		}
	__syncthreads();
#pragma unroll
	for (unsigned i = 0; i < joint_sample_items; i++)
		shared.sample[0][i * joint_threads + threadIdx.x] = own[i];
	__syncthreads();
}

/*
 * Chooses the splitters from the sample, and makes their tree.  Says whether to
 * give up, since keys have further words and words of the sample are equal.
 */
static __device__ __forceinline__ bool
choose_joint_splitters(const JointSort &sort, bool has_rest,
					   JointShared &shared)
{
	const uint64_t *sample = shared.sample[0];
	unsigned	bucket = threadIdx.x;

	sort_joint_sample(sort, shared);
	for (unsigned rank = threadIdx.x + 1; rank < sort.samples();
		 rank += joint_threads)
		if (has_rest && sample[rank] == sample[rank - 1])
			shared.has_ties = true;
	if (bucket < sort.buckets())
		shared.splitters[bucket] =
			splitter_of_bucket(sample, joint_samples, bucket);
	__syncthreads();
	if (shared.has_ties)
		return false;
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
	}

	__device__ __forceinline__ void
	load(const JointSort &sort, unsigned leading)
	{
#pragma unroll
		for (unsigned i = 0; i < joint_items; i++)
			words[i] = is_inside(i) ? sort.word(begin + number(i), leading) : 0;
	}

	/* Surveys the order of the rows, and whether they agree before that word. */
	__device__ __forceinline__ void
	survey(const JointSort &sort, unsigned leading, JointShared &shared) const
	{
		RowFindings findings = {false, false, false, false};

#pragma unroll
		for (unsigned i = 0; i < joint_items; i++)
		{
			uint32_t	row = begin + number(i);

			if (!is_inside(i) || row == 0)
				continue;
			for (unsigned number = 0; number < leading; number++)
				if (sort.word(row, number) != sort.word(row - 1, number))
					shared.has_given_up = true;
			compare_to_previous(sort.keys.view(), row, words[i],
								sort.word(row - 1, leading), leading + 1,
								findings);
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

/* Tells the other blocks what the block has surveyed; behind a barrier. */
static __device__ __forceinline__ void
tell_survey(const JointSort &sort, const JointShared &shared)
{
	if (threadIdx.x == 0)
		sort.tell(finding_if(shared.falls, JOINT_FALLS) |
				  finding_if(shared.rises, JOINT_RISES) |
				  finding_if(shared.repeats, JOINT_REPEATS) |
				  finding_if(shared.has_given_up, JOINT_GIVEN_UP));
}

static __device__ __forceinline__ void
tell_given_up(const JointSort &sort)
{
	if (threadIdx.x == 0)
		sort.tell(JOINT_GIVEN_UP);
}

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
		sort.counters().lengths[bucket] : 0;
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

/*
 * Whether nothing is left to do once the survey of all blocks is known.  If keys
 * are in order already, makes the block's share of the order.
 */
static __device__ __forceinline__ bool
is_settled(const JointSort &sort)
{
	uint32_t	findings = sort.counters().findings;
	bool		has_repeats = sort.order.tie != 0 &&
		(findings & JOINT_REPEATS) != 0;
	uint32_t	end = sort.share_begin(blockIdx.x + 1);

	if ((findings & JOINT_GIVEN_UP) != 0)
		return true;
	if (!are_ordered(findings))
		return false;
	for (uint32_t row = sort.share_begin(blockIdx.x) + threadIdx.x; row < end;
		 row += joint_threads)
		put_ordered_row(sort.keys.view(), row, (findings & JOINT_FALLS) != 0,
						has_repeats, sort.order);
	return true;
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
				 has_misplaced({sort.keys.view(), false, 0, false}, entries,
							   want_ties,
							   blockIdx.x * joint_threads + threadIdx.x,
							   gridDim.x * joint_threads),
				 shared.check, &sort.counters().check);
}

/* Makes shared memory ready; a barrier has to follow. */
static __device__ __forceinline__ void
clear_joint_shared(JointShared &shared)
{
	if (threadIdx.x < max_joint_buckets)
		shared.counts[threadIdx.x] = 0;
	if (threadIdx.x > 0)
		return;
	shared.sample_falls = false;
	shared.sample_rises = false;
	shared.falls = false;
	shared.rises = false;
	shared.repeats = false;
	shared.has_ties = false;
	shared.has_given_up = false;
	shared.check = {0, 0};
}

/* Sorts all rows into the order, or gives up. */
static __device__ __forceinline__ void
sort_or_give_up(const JointSort &sort, JointShared &shared)
{
	uint32_t   *arrived = &sort.counters().arrived;
	JointItems	items(sort);
	unsigned	barrier = 0;

	clear_joint_shared(shared);
	items.load(sort, 0);
	__syncthreads();

	unsigned	leading = take_joint_sample(sort, shared);
	bool		has_rest = leading + 1 < sort.keys.fixed_words;

	if (leading > 0)
		items.load(sort, leading);
	items.survey(sort, leading, shared);
	__syncthreads();
	tell_survey(sort, shared);

	/* If the sample is in order, the keys probably are, too. */
	if (!shared.sample_falls || !shared.sample_rises)
	{
		grid_barrier(arrived, ++barrier);
		if (is_settled(sort))
			return;
	}
	if (!choose_joint_splitters(sort, has_rest, shared))
	{
		tell_given_up(sort);
		return;
	}
	items.find_places(sort, shared);
	__syncthreads();
	claim_joint_room(sort, shared);
	__syncthreads();
	items.gather(shared.begins, shared.rows);
	grid_barrier(arrived, ++barrier);

	if (is_settled(sort))
		return;
	if (!place_joint_buckets(sort, shared))
	{
		tell_given_up(sort);
		return;
	}
	scatter_share(sort, shared);
	grid_barrier(arrived, ++barrier);

	sort_share(sort, shared);
	grid_barrier(arrived, ++barrier);

	if (shared.has_ties && has_rest)
		tell_given_up(sort);
	check_share(sort, shared);
}

/* Whether the calling block is the last of all that is here. */
static __device__ __forceinline__ bool
is_last_block(const JointSort &sort, JointShared &shared)
{
	__syncthreads();
	if (threadIdx.x == 0)
	{
		__threadfence();
		shared.is_last = atomicAdd(&sort.counters().finished, 1u) ==
			gridDim.x - 1;
		__threadfence();
	}
	__syncthreads();
	return shared.is_last;
}

/* Clears the counters, and then writes the report. */
static __device__ __forceinline__ void
report_findings(const JointSort &sort)
{
	JointCounters &counters = sort.counters();

	if (threadIdx.x < sort.buckets())
		counters.lengths[threadIdx.x] = 0;
	__syncthreads();
	if (threadIdx.x == 0)
	{
		uint32_t	findings = counters.findings | JOINT_DONE |
			finding_if(counters.check.excess != 0, JOINT_EXCESS) |
			finding_if(counters.check.disorder != 0, JOINT_DISORDER);

		counters.arrived = 0;
		counters.finished = 0;
		counters.findings = 0;
		counters.check = {0, 0};
		__threadfence_system();
		sort.report->findings = findings;
	}
}

static __global__ void __launch_bounds__(joint_threads, 1)
sort_jointly(const __grid_constant__ JointSort sort)
{
	JointShared &shared = block_shared<JointShared>();

	sort_or_give_up(sort, shared);
	if (is_last_block(sort, shared))
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

/*
 * Sorts keys in one launch, with their survey and the check of the order, and
 * waits for it.  Returns what was found.
 */
static inline bool
sort_in_one_launch(const Queue &queue, JointSeats &seats, unsigned seat,
				   const FewKeys &keys, const Pairs &pairs, const Order &order,
				   uint32_t *findings)
{
	uint64_t	blocks = divide_up(keys.nrows, joint_threads);
	JointReport *report = seats.report(seat);

	if (blocks > queue.multiprocessors)
		blocks = queue.multiprocessors;
	if (!queue.launch_together<JointShared>("sorting in one launch",
											sort_jointly,
											static_cast<unsigned>(blocks),
											joint_threads,
											JointSort{keys, pairs, order,
													  report, seat,
													  choose_log_joint_buckets(keys.nrows)}))
	{
		seats.give_back(seat);
		return false;
	}

	bool		has_waited = queue.did(cudaStreamSynchronize(queue.stream),
									   "sorting in one launch");

	*findings = report->findings;
	if ((*findings & JOINT_DONE) == 0)
		return has_waited && refuse(queue.error, "a sort has not reported");
	seats.give_back(seat);
	return has_waited;
}

}								/* namespace gpusort */

#endif							/* GPUSORT_JOINT_SORT_CUH */
