/*-------------------------------------------------------------------------
 *
 * joint_job.cuh
 *	  What the sorts in one launch have in common: ranged_sort.cuh and
 *	  joint_sort.cuh.
 *
 * They compare one word of each key, the leading one: the first word that is not
 * the same in all keys of a sample.  All blocks take the same sample.  While a
 * block reads rows, it surveys them, for their order only.  A block checks its
 * share of the order, and the last block to finish reports to the host.
 *
 * A sort gives up if words before the leading one are not the same in all keys,
 * if keys have further words and two leading words are equal, or if rows are
 * too many for a leaf, which hardly ever happens.  Then nothing is lost but the
 * time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_JOINT_JOB_CUH
#define GPUSORT_JOINT_JOB_CUH

#include "key_survey.cuh"
#include "order_check.cuh"
#include "sort_seats.cuh"
#include "splitters.cuh"

namespace gpusort
{

struct JointCounters
{
	uint32_t	arrived;		/* blocks at barriers of the grid */
	uint32_t	finished;		/* blocks */
	uint32_t	findings;
	OrderCheck	check;
	uint32_t	lengths[1u << max_log_joint_buckets];	/* of buckets */
};

/*
 * Of each seat; a device has its own.  They are zero whenever nobody has the seat:
 * the last block of a sort clears them, before it reports.
 */
static __device__ JointCounters joint_counters[sort_seats];

/* What a block knows; nothing of it before clear_findings(). */
struct JointFlags
{
	bool		falls;			/* as of all keys, see SortFinding */
	bool		rises;
	bool		repeats;
	bool		has_ties;		/* of leading words */
	bool		has_given_up;
	bool		is_last;		/* of all blocks */
	OrderCheck	check;
};

/* What all functions here need to know. */
struct JointJob
{
	FewKeys		keys;
	Order		order;
	SortReport *report;
	unsigned	seat;

	__device__ __forceinline__ JointCounters &
	counters() const
	{
		return joint_counters[seat];
	}

	/* Called by all threads of a block. */
	__device__ __forceinline__ void
	tell(uint32_t findings) const
	{
		if (threadIdx.x == 0 && findings != 0)
			atomicOr(&counters().findings, findings);
	}

	/* A block's share of a number of things that all blocks share. */
	__device__ __forceinline__ uint32_t
	share_begin(unsigned block, uint32_t count) const
	{
		return static_cast<uint32_t>(static_cast<uint64_t>(count) * block /
									 gridDim.x);
	}

	/* Of the rows, and of the places in the order. */
	__device__ __forceinline__ uint32_t
	share_begin(unsigned block) const
	{
		return share_begin(block, keys.nrows);
	}

	__device__ __forceinline__ uint64_t
	word(uint32_t row, unsigned number) const
	{
		return keys.view().words[static_cast<uint64_t>(row) * keys.fixed_words +
								 number];
	}

	/* Whether keys have words behind the leading one. */
	__device__ __forceinline__ bool
	has_rest(unsigned leading) const
	{
		return leading + 1 < keys.fixed_words;
	}
};

/* A barrier has to follow. */
static __device__ __forceinline__ void
clear_findings(JointFlags &flags)
{
	if (threadIdx.x == 0)
		flags = {false, false, false, false, false, false, {0, 0}};
}

/*
 * Takes the sample, in the order of its rows, and finds out whether it falls or
 * rises.  Returns the number of the leading word.  A barrier has to follow
 * before flags change.
 */
static __device__ __forceinline__ unsigned
take_joint_sample(const JointJob &job, unsigned samples, uint64_t *sample,
				  JointFlags &flags)
{
	Segment		whole = {0, job.keys.nrows, 0, 0, 0};

	for (unsigned leading = 0;; leading++)
	{
		for (unsigned number = threadIdx.x; number < samples;
			 number += joint_threads)
			sample[number] = job.word(sample_place(whole, number, samples),
									  leading);
		__syncthreads();
		for (unsigned number = threadIdx.x + 1; number < samples;
			 number += joint_threads)
		{
			if (sample[number] < sample[number - 1])
				flags.falls = true;
			if (sample[number] > sample[number - 1])
				flags.rises = true;
		}
		__syncthreads();
		if (flags.falls || flags.rises || !job.has_rest(leading))
			return leading;
	}
}

/*
 * Finds where "count" words of the sample from number "first" on are when it is
 * sorted, and whether any of them is there twice.  Each is compared with all
 * others, by several threads.  "places" are 0 before, with a barrier in between.
 */
static __device__ __forceinline__ bool
rank_samples(const uint64_t *sample, unsigned samples, unsigned first,
			 unsigned count, uint32_t *places)
{
	unsigned	parts = count < joint_threads ? joint_threads / count : 1;
	unsigned	part_samples = (samples + parts - 1) / parts;
	bool		has_ties = false;

	for (unsigned task = threadIdx.x; task < count * parts;
		 task += joint_threads)
	{
		unsigned	number = first + task % count;
		unsigned	begin = task / count * part_samples;
		unsigned	end = begin + part_samples < samples ?
			begin + part_samples : samples;
		uint64_t	word = sample[number];
		uint32_t	place = 0;

		for (unsigned other = begin; other < end; other++)
		{
			uint64_t	other_word = sample[other];
			bool		is_equal = other_word == word;

			place += other_word < word || (is_equal && other < number) ? 1 : 0;
			has_ties |= is_equal && other != number;
		}
		atomicAdd(&places[number - first], place);
	}
	return has_ties;
}

/*
 * Surveys the order of a row and the one before, given the leading words of
 * both, and whether they agree before that word.
 */
static __device__ __forceinline__ void
survey_joint_row(const JointJob &job, uint32_t row, unsigned leading,
				 uint64_t word, uint64_t previous, RowFindings &findings,
				 JointFlags &flags)
{
	for (unsigned number = 0; number < leading; number++)
		if (job.word(row, number) != job.word(row - 1, number))
			flags.has_given_up = true;
	compare_to_previous(job.keys.view(), row, word, previous, leading + 1,
						findings);
}

/* Notes what a thread has surveyed. */
static __device__ __forceinline__ void
note_findings(const RowFindings &findings, JointFlags &flags)
{
	if (findings.falls)
		flags.falls = true;
	if (findings.rises)
		flags.rises = true;
	if (findings.repeats)
		flags.repeats = true;
}

/* What the block has surveyed; behind a barrier. */
static __device__ __forceinline__ uint32_t
surveyed_findings(const JointFlags &flags)
{
	return finding_if(flags.falls, SORT_FALLS) |
		finding_if(flags.rises, SORT_RISES) |
		finding_if(flags.repeats, SORT_REPEATS) |
		finding_if(flags.has_given_up, SORT_GIVEN_UP);
}

/*
 * Whether nothing is left to do once the survey of all keys is known.  If keys
 * are in order already, makes the block's share of the order.
 */
static __device__ __forceinline__ bool
is_settled(const JointJob &job, uint32_t findings)
{
	bool		has_repeats = job.order.tie != 0 &&
		(findings & SORT_REPEATS) != 0;
	uint32_t	end = job.share_begin(blockIdx.x + 1);

	if ((findings & SORT_GIVEN_UP) != 0)
		return true;
	if (!are_ordered(findings))
		return false;
	for (uint32_t row = job.share_begin(blockIdx.x) + threadIdx.x; row < end;
		 row += joint_threads)
		put_ordered_row(job.keys.view(), row, (findings & SORT_FALLS) != 0,
						has_repeats, job.order);
	return true;
}

/* Checks the block's share of the order. */
static __device__ __forceinline__ void
check_share(const JointJob &job, JointFlags &flags)
{
	const uint32_t *entries = job.order.entries;
	bool		want_ties = job.order.tie != 0;
	uint64_t	excess =
		excess_of_entries<joint_threads>(entries, want_ties ? ~ORDER_TIE : ~0u,
										 job.share_begin(blockIdx.x),
										 job.share_begin(blockIdx.x + 1));

	add_findings(excess,
				 has_misplaced({job.keys.view(), false, 0, false}, entries,
							   want_ties,
							   blockIdx.x * joint_threads + threadIdx.x,
							   gridDim.x * joint_threads),
				 flags.check, &job.counters().check);
}

/* Clears the counters but the lengths of buckets, and then writes the report. */
static __device__ __forceinline__ void
report_findings(const JointJob &job)
{
	JointCounters &counters = job.counters();

	__syncthreads();
	if (threadIdx.x == 0)
	{
		uint32_t	findings = counters.findings | SORT_DONE |
			finding_if(counters.check.excess != 0, SORT_EXCESS) |
			finding_if(counters.check.disorder != 0, SORT_DISORDER);

		counters.arrived = 0;
		counters.finished = 0;
		counters.findings = 0;
		counters.check = {0, 0};
		__threadfence_system();
		job.report->findings = findings;
	}
}

}								/* namespace gpusort */

#endif							/* GPUSORT_JOINT_JOB_CUH */
