/*-------------------------------------------------------------------------
 *
 * ranged_sort.cuh
 *	  The sort of the fewest rows in one launch: every block reads all rows, and
 *	  sorts those of its range of words.
 *
 * To read ten thousand words from the cache takes a block less time than a
 * barrier of the grid.  So blocks do not divide the rows before they sort them.
 * A block
 *
 *	1.	takes the sample, and ranks its words.  Its range of words is between two
 *		splitters, as a bucket's in splitters.cuh,
 *	2.	reads all rows, gathers those in its range, and counts those before it,
 *		so that it knows where its range begins in the order,
 *	3.	sorts its rows into the order,
 *	4.	waits for the other blocks, and checks a share of the order.
 *
 * If the sample is in order, the keys probably are, too.  Then blocks survey
 * their shares of the rows first, and wait for each other.  If keys are in
 * order, they make the order, and that is all.
 *
 * joint_job.cuh says when it gives up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RANGED_SORT_CUH
#define GPUSORT_RANGED_SORT_CUH

#include "joint_job.cuh"

namespace gpusort
{

/*
 * The mean of ranges is a sixth of the most rows that a block can sort.  With 4
 * samples for each range one of 64 has more once in 160,000 sorts.
 */
constexpr unsigned ranged_samples = 4;
constexpr unsigned max_ranged_samples = max_ranged_blocks * ranged_samples;

struct RangedShared
{
	JointFlags	flags;
	uint32_t	before;			/* rows whose words are before the range */
	uint32_t	inside;			/* rows in the range */
	uint64_t	sample[max_ranged_samples];
	uint32_t	places[max_ranged_samples];	/* when it is sorted */
	uint64_t	splitters[max_ranged_blocks];
	uint64_t	words[few_leaf_rows];	/* of the rows in the range */
	uint32_t	rows[few_leaf_rows];
	SpreadShared<few_leaf_rows, joint_threads> sort;

	static_assert(max_ranged_samples <= joint_threads, "a thread for each");
};

static_assert(max_ranged_blocks * ranged_rows * KEY_MAX_WORDS <= slab_words,
			  "all keys lie in one slab");

/* The words from "first" on that are less than "end", if there is an end. */
struct WordRange
{
	uint64_t	first;
	uint64_t	end;
	bool		has_end;

	__device__ __forceinline__ bool
	contains(uint64_t word) const
	{
		return word >= first && (!has_end || word < end);
	}

	__device__ __forceinline__ bool
	has_one_word() const
	{
		return first == (has_end ? end - 1 : UINT64_MAX);
	}
};

/* Finds the block's range by the sample. */
static __device__ __forceinline__ WordRange
find_range(unsigned samples, RangedShared &shared)
{
	bool		has_end = blockIdx.x + 1 < gridDim.x;

	(void) rank_samples(shared.sample, samples, 0, samples, shared.places);
	__syncthreads();
	if (threadIdx.x < samples &&
		shared.places[threadIdx.x] % ranged_samples == 0)
		shared.splitters[shared.places[threadIdx.x] / ranged_samples] =
			shared.sample[threadIdx.x];
	__syncthreads();
	return {splitter_of_bucket(shared.splitters, 1, blockIdx.x),
		has_end ? splitter_of_bucket(shared.splitters, 1, blockIdx.x + 1) : 0,
		has_end};
}

/*
 * Numbers the things that threads have found, in any order.  Called by a whole
 * warp.
 */
static __device__ __forceinline__ uint32_t
claim_number(bool is_found, uint32_t &count)
{
	unsigned	found = __ballot_sync(whole_warp, is_found);
	uint32_t	first = 0;

	if (found == 0)
		return 0;
	if (warp_lane() == 0)
		first = atomicAdd(&count, static_cast<uint32_t>(__popc(found)));
	return __shfl_sync(whole_warp, first, 0) +
		__popc(found & ((1u << warp_lane()) - 1));
}

/*
 * Has all rows taken by whole warps: take(row, word), with a row that is not
 * there behind the last.  A thread reads some words before the first is taken.
 */
template <typename Take>
static __device__ __forceinline__ void
take_rows(const JointJob &job, unsigned leading, const Take &take)
{
	const uint64_t *keys = job.keys.words.slabs[0] + leading;
	uint32_t	nrows = job.keys.nrows;

	for (uint32_t first = threadIdx.x / warp_threads * warp_threads;
		 first < nrows; first += ranged_items * joint_threads)
	{
		uint64_t	words[ranged_items];

#pragma unroll
		for (unsigned i = 0; i < ranged_items; i++)
		{
			uint32_t	row = first + i * joint_threads + warp_lane();

			words[i] = row < nrows ? keys[row * job.keys.fixed_words] : 0;
		}
#pragma unroll
		for (unsigned i = 0; i < ranged_items; i++)
			take(first + i * joint_threads + warp_lane(), words[i]);
	}
}

/* Gathers the rows of the range, and counts those before it. */
static __device__ __forceinline__ void
gather_range(const JointJob &job, unsigned leading, const WordRange &range,
			 RangedShared &shared)
{
	uint32_t	nrows = job.keys.nrows;
	uint32_t	before = 0;

	take_rows(job, leading, [&](uint32_t row, uint64_t word) {
		bool		is_inside = row < nrows && range.contains(word);
		uint32_t	number = claim_number(is_inside, shared.inside);

		before += row < nrows && word < range.first ? 1 : 0;
		if (is_inside && number < few_leaf_rows)
		{
			shared.words[number] = word;
			shared.rows[number] = row;
		}
	});
	for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
		before += __shfl_xor_sync(whole_warp, before, distance);
	if (warp_lane() == 0)
		atomicAdd(&shared.before, before);
}

/* Surveys the block's share of the rows. */
static __device__ __forceinline__ void
survey_share(const JointJob &job, unsigned leading, JointFlags &flags)
{
	uint32_t	end = job.share_begin(blockIdx.x + 1);
	RowFindings findings = {false, false, false, false};

	for (uint32_t row = job.share_begin(blockIdx.x) + threadIdx.x; row < end;
		 row += joint_threads)
		if (row > 0)
			survey_joint_row(job, row, leading, job.word(row, leading),
							 job.word(row - 1, leading), findings, flags);
	note_findings(findings, flags);
}

/* Puts the gathered rows of a range of one word. */
static __device__ __forceinline__ void
put_gathered_rows(const JointJob &job, RangedShared &shared)
{
	if (shared.inside > 1)
		shared.flags.has_ties = true;
	for (uint32_t number = threadIdx.x; number < shared.inside;
		 number += joint_threads)
		job.order.put(shared.before + number, shared.rows[number], number > 0);
}

/* Puts the rows of a range of one word that are too many to be gathered. */
static __device__ __forceinline__ void
put_equal_rows(const JointJob &job, unsigned leading, const WordRange &range,
			   RangedShared &shared)
{
	uint32_t	nrows = job.keys.nrows;

	shared.flags.has_ties = true;
	__syncthreads();
	if (threadIdx.x == 0)
		shared.inside = 0;
	__syncthreads();
	take_rows(job, leading, [&](uint32_t row, uint64_t word) {
		bool		is_inside = row < nrows && range.contains(word);
		uint32_t	number = claim_number(is_inside, shared.inside);

		if (is_inside)
			job.order.put(shared.before + number, row, number > 0);
	});
}

/* Sorts the gathered rows. */
static __device__ __forceinline__ void
sort_range(const JointJob &job, RangedShared &shared)
{
	uint32_t	begin = shared.before;

	spread_sort(
		shared.inside, shared.sort,
		[&](unsigned number, uint64_t &word, uint32_t &row) {
			word = shared.words[number];
			row = shared.rows[number];
		},
		[&](unsigned place, uint64_t, uint32_t row, bool is_tie) {
			job.order.put(begin + place, row, is_tie);
			if (is_tie)
				shared.flags.has_ties = true;
		});
}

/* Puts the rows of the range where they belong, or gives up. */
static __device__ __forceinline__ void
put_range(const JointJob &job, unsigned leading, const WordRange &range,
		  RangedShared &shared)
{
	bool		is_gathered = shared.inside <= few_leaf_rows;

	if (range.has_one_word() && is_gathered)
		put_gathered_rows(job, shared);
	else if (range.has_one_word())
		put_equal_rows(job, leading, range, shared);
	else if (!is_gathered)
		job.tell(SORT_GIVEN_UP);
	else if (shared.inside > 0)
		sort_range(job, shared);
}

/* Makes the order, or gives up. */
static __device__ __forceinline__ void
sort_or_give_up(const JointJob &job, RangedShared &shared)
{
	unsigned	samples = gridDim.x * ranged_samples;
	uint32_t   *arrived = &job.counters().arrived;
	unsigned	barrier = 0;

	if (threadIdx.x == 0)
	{
		shared.before = 0;
		shared.inside = 0;
	}
	if (threadIdx.x < max_ranged_samples)
		shared.places[threadIdx.x] = 0;
	clear_findings(shared.flags);
	__syncthreads();

	unsigned	leading = take_joint_sample(job, samples, shared.sample,
											shared.flags);
	uint32_t	findings = surveyed_findings(shared.flags);

	__syncthreads();
	if (are_ordered(findings) || leading > 0)
	{
		survey_share(job, leading, shared.flags);
		__syncthreads();
		job.tell(surveyed_findings(shared.flags));
		grid_barrier(arrived, ++barrier);
		if (is_settled(job, job.counters().findings))
			return;
	}
	else
		job.tell(findings);

	WordRange	range = find_range(samples, shared);

	gather_range(job, leading, range, shared);
	__syncthreads();
	put_range(job, leading, range, shared);
	grid_barrier(arrived, ++barrier);

	if (shared.flags.has_ties && job.has_rest(leading))
		job.tell(SORT_GIVEN_UP);
	check_share(job, shared.flags);
}

static __global__ void __launch_bounds__(joint_threads, 1)
sort_by_ranges(const __grid_constant__ JointJob job)
{
	RangedShared &shared = block_shared<RangedShared>();

	sort_or_give_up(job, shared);
	if (is_last_block(&job.counters().finished, shared.flags.is_last))
		report_findings(job);
}

static inline unsigned
count_ranged_blocks(const Queue &queue)
{
	return queue.multiprocessors < max_ranged_blocks ?
		queue.multiprocessors : max_ranged_blocks;
}

/* Whether rows are few enough for this sort. */
static inline bool
takes_ranged_sort(const Queue &queue, uint32_t nrows)
{
	return nrows <= count_ranged_blocks(queue) * ranged_rows;
}

static inline bool
start_ranged_sort(const Queue &queue, const JointJob &job)
{
	return queue.launch_together<RangedShared>("sorting by ranges",
											   sort_by_ranges,
											   static_cast<unsigned>(divide_up(job.keys.nrows,
																			   ranged_rows)),
											   joint_threads, job);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_RANGED_SORT_CUH */
