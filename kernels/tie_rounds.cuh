/*-------------------------------------------------------------------------
 *
 * tie_rounds.cuh
 *	  Sorting rows that are tied by one working word by the next, seen from the
 *	  host.
 *
 * That strings are best sorted by a prefix of a word, and then only what is
 * tied by the next, is how multikey quicksort goes about it (Bentley and
 * Sedgewick 1997); the flags of segment heads come from segmented scans
 * (Sengupta, Harris, Zhang, Owens 2007).
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
 * Sorts tie groups by their next working words, of which "plan" has the first,
 * for as long as there are such and the order has ties.
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
