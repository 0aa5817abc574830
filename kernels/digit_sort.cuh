/*-------------------------------------------------------------------------
 *
 * digit_sort.cuh
 *	  The radix sort of keys whose digits the survey has counted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DIGIT_SORT_CUH
#define GPUSORT_DIGIT_SORT_CUH

#include "key_words.cuh"
#include "sort_seats.cuh"

namespace gpusort
{

/*
 * Whether the digits of a window that the survey has counted have all bits that
 * vary, and the sort does not take more passes than by these bits alone; and
 * whether the number of rows suits it.
 */
extern bool knows_digits(const BitWindow &window, const WordPlan &plan,
						 uint64_t nrows);

/* Sorts all rows into the order; rows with equal words come in any order. */
extern bool digit_sort(const Queue &queue, const Keys &keys,
					   const BitWindow &window, const WordPlan &plan,
					   const Workspace &space, const Order &order,
					   SortReport *report);

}								/* namespace gpusort */

#endif							/* GPUSORT_DIGIT_SORT_CUH */
