/*-------------------------------------------------------------------------
 *
 * core_aggregates.h
 *	  Core's aggregates, over the rows of a group that the caller reads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_CORE_AGGREGATES_H
#define GPUSORT_CORE_AGGREGATES_H

#include "executor/executor.h"
#include "executor/nodeAgg.h"

#include "port/compat.h"

/*
 * Begins core's AggState for this Agg of sorted groups, or without groups, whose
 * rows have the columns of "columns" and come in slots of this kind: for
 * minimal tuples, or virtual ones.  The Agg has no child yet.  Raises the errors
 * that core raises as it begins.  The caller ends the state by ExecEndAgg(), and
 * rescans it by core_aggregates_rescan().
 */
extern AggState *core_aggregates_begin(Agg *agg, const List *columns,
									   const TupleTableSlotOps *kind,
									   EState *estate, int eflags);

/* Forgets the present group. */
extern void core_aggregates_rescan(AggState *aggregates);

/* The number of sets of columns by which rows are grouped. */
static inline int
core_aggregates_sets(const AggState *aggregates)
{
	return Max(aggregates->phase->numsets, 1);
}

/*
 * Begins a group of a set, without rows, and forgets the one before.  Sets are
 * numbered from 0; those with more columns come first.
 */
extern void core_aggregates_begin_group(AggState *aggregates, int set);

/* Adds a row to the states of the present group of each set. */
static inline void
core_aggregates_add(AggState *aggregates, TupleTableSlot *row)
{
	ExprContext *context = aggregates->tmpcontext;

	context->ecxt_outertuple = row;
	ExecEvalExprNoReturnSwitchContext(aggregates->phase->evaltrans, context);
	ResetExprContext(context);
}

/*
 * Adds a value to the state of a transition in the present group of a set, by
 * the transition function, whose state is passed by value.  The function is
 * called in the memory of a row, which the caller resets (tmpcontext).
 */
extern void core_aggregates_add_value(AggState *aggregates, int set,
									  int transno, Datum value);

/*
 * Makes the results of the present group of a set, and returns the row that it
 * emits; NULL if the HAVING clause leaves it out.  "first" is a row of the
 * group, or empty if this has none.  The columns that are not of the set become
 * NULL in it, so the caller begins with the first set.  What is returned is
 * valid until the next call.
 */
extern TupleTableSlot *core_aggregates_emit(AggState *aggregates, int set,
											TupleTableSlot *first);

/*
 * The same in steps, for callers that have results of their own.  The first
 * function begins a row of results, and switches to the memory context in which
 * they are made; it returns the caller's.  The second makes the result of an
 * aggregate.  The third emits the row, when all of ecxt_aggvalues and
 * ecxt_aggnulls are set and the caller has switched back.
 */
extern MemoryContext core_aggregates_begin_results(AggState *aggregates,
												   int set,
												   TupleTableSlot *first);
extern Datum core_aggregates_result(AggState *aggregates, int aggno,
									bool *isnull);
extern TupleTableSlot *core_aggregates_end_results(AggState *aggregates,
												   TupleTableSlot *first);

#endif							/* GPUSORT_CORE_AGGREGATES_H */
