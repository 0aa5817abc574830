/*-------------------------------------------------------------------------
 *
 * key_sort.cuh
 *	  Sorting the keys of a job by the algorithm that suits them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_SORT_CUH
#define GPUSORT_KEY_SORT_CUH

#include "sort_seats.cuh"
#include "sorted_keys.cuh"

namespace gpusort
{

/*
 * How keys were sorted, where they are now, and whether the order was checked.
 */
struct SortOutcome
{
	const char *method;
	SortedKeys	keys;
	FirstWords	first_words;
	bool		is_checked;		/* and what was found */
	OrderCheck	check;
	bool		is_done;		/* nothing is left to wait for */
	SortSeat	seat;			/* whose report tells that it is done */
};

/*
 * Whether the keys of a job are so few that sort_few_keys() takes them.  Fewer are
 * few if it seems that a radix sort would sort them.
 */
extern bool takes_joint_sort(const Queue &queue, const KeyShape &shape,
							 uint64_t nrows, uint64_t nwords,
							 DeviceAlgorithm algorithm, bool seem_narrow);

/*
 * Makes the order of few keys in one launch, with an array of pairs to work in,
 * and waits for it.  It may turn out that other ways are needed.
 */
extern bool sort_few_keys(const Queue &queue, const FewKeys &keys,
						  bool want_ties, const Pairs &pairs,
						  uint32_t *entries, bool *is_sorted,
						  SortOutcome *outcome);

/*
 * Begins to survey the keys, which needs no workspace, with counters that are
 * cleared.  A table of few slabs is stored meanwhile.  Takes a seat, to be passed
 * on to one of the next two functions.
 */
extern bool start_survey(const Queue &queue, const Keys &keys,
						 const FewSlabs &few, DeviceAlgorithm algorithm,
						 Counters *counters, SortSeat *seat);

/* Waits for a survey that is not needed any more. */
extern void abandon_survey(const Queue &queue, const SortSeat &seat);

/*
 * Makes the order of the keys that are being surveyed.  For DEVICE_SORT_BITONIC
 * the workspace of a sort in place is enough.  Refuses keys that make no sense.
 * Does not wait for all of the work.
 */
extern bool sort_keys(const Queue &queue, const Keys &keys, bool want_ties,
					  DeviceAlgorithm algorithm, const Workspace &space,
					  uint32_t *entries, const SortSeat &seat,
					  SortOutcome *outcome);

/* Waits for all of it, and takes the findings of a sort that reports them. */
extern bool finish_sort(const Queue &queue, SortOutcome *outcome);

}								/* namespace gpusort */

#endif							/* GPUSORT_KEY_SORT_CUH */
