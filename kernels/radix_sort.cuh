/*-------------------------------------------------------------------------
 *
 * radix_sort.cuh
 *	  Radix sorts, where few bits vary.
 *
 * A radix sort moves all pairs once for every eight bits, whatever their
 * values.  WordPlan leaves only bits that vary, so integers of a small range
 * take few moves, however wide their type.  And a word of up to 32 bits takes
 * half the memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RADIX_SORT_CUH
#define GPUSORT_RADIX_SORT_CUH

#include "key_words.cuh"
#include "sort_seats.cuh"

namespace gpusort
{

/* Whether auto takes this sort for a whole key of which "bits" bits vary. */
extern bool radix_sort_gains(uint64_t nrows, unsigned bits);

/* Whether it can sort this many rows in the workspace that there is. */
extern bool radix_sort_fits(uint64_t nrows, unsigned bits);

/* Whether its end is reported, which takes a report. */
extern bool radix_sort_reports(const KeySurvey &survey, const WordPlan &plan,
							   uint64_t nrows, const Order &order);

/*
 * Sorts all rows by one working word into the order.  If the survey has counted
 * the digits, rows with equal words may come in any order, else they stay in the
 * order of their numbers.
 */
extern bool radix_sort(const Queue &queue, const Keys &keys,
					   const KeySurvey &survey, const WordPlan &plan,
					   const Workspace &space, const Order &order,
					   SortReport *report);

}								/* namespace gpusort */

#endif							/* GPUSORT_RADIX_SORT_CUH */
