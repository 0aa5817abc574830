/*-------------------------------------------------------------------------
 *
 * key_sort.cuh
 *	  Sorting the keys of a job by the algorithm that suits them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_SORT_CUH
#define GPUSORT_KEY_SORT_CUH

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
};

/* Whether the keys of a job are so few that sort_few_keys() takes them. */
extern bool takes_joint_sort(const Queue &queue, const KeyShape &shape,
							 uint64_t nrows, uint64_t nwords,
							 DeviceAlgorithm algorithm);

/*
 * Makes the order of few keys in one launch, with an array of pairs to work in,
 * and waits for it.  It may turn out that other ways are needed.
 */
extern bool sort_few_keys(const Queue &queue, const FewKeys &keys,
						  bool want_ties, const Pairs &pairs,
						  uint32_t *entries, bool *is_sorted,
						  SortOutcome *outcome);

/*
 * Makes the order of the keys, in a workspace with the keys' tables.  For
 * DEVICE_SORT_BITONIC the workspace of a sort in place is enough.  Does not
 * wait for all of the work.
 */
extern bool sort_keys(const Queue &queue, const Keys &keys, bool want_ties,
					  DeviceAlgorithm algorithm, const Workspace &space,
					  uint32_t *entries, SortOutcome *outcome);

}								/* namespace gpusort */

#endif							/* GPUSORT_KEY_SORT_CUH */
