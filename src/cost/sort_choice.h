/*-------------------------------------------------------------------------
 *
 * sort_choice.h
 *	  Which sort is done: by core, alone, together in memory or in runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_CHOICE_H
#define GPUSORT_SORT_CHOICE_H

#include "cost/sort_cost.h"

typedef enum SortChoice
{
	SORT_NATIVELY,				/* by core, of a few first rows */
	SORT_ALONE,					/* each process for itself */
	SORT_TOGETHER_IN_MEMORY,
	SORT_TOGETHER_IN_RUNS
} SortChoice;

/*
 * The sort to do if "members" processes could sort together, each of which has a
 * share of this size, and the first "bound" rows are wanted, or with NO_BOUND all.
 * The number of processes is 1 for a sort in one process.
 */
extern SortChoice sort_choose(const SortSize *share, double members,
							  double bound);

/*
 * May processes sort the first "bound" rows together?  Not if files are
 * limited, since the processes may write runs where core's heap needs no file.
 */
extern bool first_rows_may_be_together(double bound);

static inline bool
sort_is_together(SortChoice choice)
{
	return choice == SORT_TOGETHER_IN_MEMORY || choice == SORT_TOGETHER_IN_RUNS;
}

/*
 * Does a plan with workers, of cost "together", gain too little over one
 * without, of cost "alone"?
 */
extern bool workers_hardly_gain(Cost together, Cost alone);

/*
 * Does core's sort of rows with a single column of this type, which has these
 * values, take less time than ours?
 */
extern bool values_are_few(Oid type, ColumnValues values);

/*
 * The same if core keeps the values in memory, and our sort would write them.
 */
extern bool values_are_kept(const SortSize *size, Oid type);

#endif							/* GPUSORT_SORT_CHOICE_H */
