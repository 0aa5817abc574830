/*-------------------------------------------------------------------------
 *
 * tie_rounds.cuh
 *	  The host's side of sorting tied rows by their next working words.
 *
 * The idea of multikey quicksort (Bentley and Sedgewick 1997) is to sort
 * strings by a prefix of a word, and then only tied strings by the next word.
 * The flags of segment heads come from segmented scans (Sengupta, Harris,
 * Zhang, Owens 2007).
 *
 * A round lists the tie groups, loads the next working words of their rows
 * (tie_groups.cuh) and sorts each group by them (device_quicksort.cuh), all
 * groups at once.  The host reads the control block twice a round: how many
 * groups there are, and whether any ties are left.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TIE_ROUNDS_CUH
#define GPUSORT_TIE_ROUNDS_CUH

#include "device_quicksort.cuh"
#include "key_survey.cuh"
#include "tie_groups.cuh"

namespace gpusort
{

/*
 * Sorts tie groups by their next working words, as long as there are any and
 * the order has ties.  "plan" makes the first of these words.
 */
static inline bool
refine_ties(const Queue &queue, const Keys &keys, WordPlanner &planner,
			WordPlan plan, const Workspace &space, const Order &order)
{
	DeviceQuicksort quicksort(queue, space);
	TieGroupLists groups = space.tie_group_lists(keys.nrows);
	uint64_t	start_tiles = divide_up(keys.nrows, starts_tile_rows);
	uint64_t	row_blocks = divide_up(keys.nrows, simple_threads);
	Control		control;
	bool		is_first = true;

	do
	{
		if (!queue.launch<StartsShared>("finding tie groups", mark_group_starts,
										start_tiles, simple_threads,
										order.entries, keys.nrows, is_first,
										space.starts, space.first_starts) ||
			!queue.did(cudaMemsetAsync(&space.control->tie_groups, 0,
									   sizeof(TieGroupCounts), queue.stream),
					   "clearing counters") ||
			!queue.did(cudaMemsetAsync(order.has_ties, 0, sizeof(uint32_t),
									   queue.stream), "clearing counters") ||
			!queue.launch<StartsShared>("listing tie groups",
										collect_tie_groups, start_tiles,
										simple_threads, keys,
										plan.first_word(), order.entries,
										space.starts, space.first_starts,
										groups, &space.control->tie_groups) ||
			!read_control(queue, space, &control))
			return false;
		if (control.tie_groups.none())
			return true;
		if (!queue.launch("loading the next words", load_next_words,
						  row_blocks, simple_threads, keys, plan,
						  order.entries, space.starts, space.pairs[0]) ||
			!quicksort.sort_tie_groups(control.tie_groups, keys.nrows, order) ||
			!read_control(queue, space, &control))
			return false;
		is_first = false;
	} while (control.has_ties != 0 && planner.next(&plan));
	return true;
}

}								/* namespace gpusort */

#endif							/* GPUSORT_TIE_ROUNDS_CUH */
