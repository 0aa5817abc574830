/*-------------------------------------------------------------------------
 *
 * other_aggregates.h
 *	  Core's aggregates beside those of sorted values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_OTHER_AGGREGATES_H
#define GPUSORT_OTHER_AGGREGATES_H

#include "utils/dsa.h"

#include "executor/core_aggregates.h"
#include "executor/group_totals.h"

/* The states of all processes, in shared memory. */
typedef struct SharedStates SharedStates;

typedef struct OtherAggregates
{
	AggState   *rows;			/* reads rows, and emits results or states */
	GroupTotals *totals;		/* reads rows in its place, or NULL */
	AggState   *states;			/* reads states, and emits results; NULL: the
								 * first one emits results */
	TupleTableSlot *state_row;	/* states of a process, as a minimal tuple */
	SharedStates *shared;		/* NULL in a single process */
} OtherAggregates;

/*
 * Begins the aggregates of this Agg, which is not changed.  Rows have these
 * columns, and come in slots of this kind.  If "in_processes" is set, all rows
 * are one group, of which each of several processes reads a part.
 */
extern OtherAggregates *other_aggregates_begin(Agg *agg,
											   const List *columns,
											   const TupleTableSlotOps *kind,
											   bool in_processes,
											   EState *estate, int eflags);

extern void other_aggregates_end(OtherAggregates *others);

/* Begins a group without rows. */
extern void other_aggregates_begin_group(OtherAggregates *others);

/* Adds a row to the present group. */
static inline void
other_aggregates_add(OtherAggregates *others, TupleTableSlot *row)
{
	if (others->totals != NULL)
		group_totals_add(others->totals, row);
	else
		core_aggregates_add(others->rows, row);
}

/*
 * Lets other processes see the states of this process, which has added its last
 * row.
 */
extern void other_aggregates_share(OtherAggregates *others);

/*
 * Returns the results of the present group, of which "first" is a row, or NULL.
 * All processes have shared their states.  The results are valid until the next
 * call.
 */
extern const TupleTableSlot *other_aggregates_results(OtherAggregates *others,
													  TupleTableSlot *first);

/*
 * The size of the shared states, and their begin: before processes are
 * launched for the first time, and again.
 */
extern Size shared_states_size(int nprocesses);
extern void shared_states_init(SharedStates *shared);
extern void shared_states_reset(SharedStates *shared, dsa_area *area);

#endif							/* GPUSORT_OTHER_AGGREGATES_H */
