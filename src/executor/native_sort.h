/*-------------------------------------------------------------------------
 *
 * native_sort.h
 *	  Core's own sort, as nodeSort.c uses it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NATIVE_SORT_H
#define GPUSORT_NATIVE_SORT_H

#include "nodes/execnodes.h"
#include "utils/tuplesort.h"

#include "executor/row_source.h"
#include "keys/sort_keys.h"

typedef struct NativeSort
{
	RowSource	source;			/* must be first; of use after the sort */
	Tuplesortstate *state;
	bool		of_values;		/* sorts values of the only column, not rows */
} NativeSort;

/*
 * Begins a sort of which only the first "bound" rows are wanted, or all if that
 * is NO_BOUND.  The limit is in bytes.  Only with random_access may rows be
 * fetched backward or again.  Allocates in the current memory context.
 */
extern NativeSort *native_sort_begin(TupleDesc descriptor,
									 const SortColumn *columns, int ncolumns,
									 Size limit, double bound,
									 bool random_access);

/*
 * Drops all rows of a sort that was begun with this bound, so that others can be put.
 * That takes less time than another sort, since core keeps what it has prepared.
 */
extern void native_sort_empty(NativeSort *sort, double bound);

static inline void
native_sort_put(NativeSort *sort, TupleTableSlot *slot)
{
	if (sort->of_values)
	{
		slot_getsomeattrs(slot, 1);
		tuplesort_putdatum(sort->state, slot->tts_values[0],
						   slot->tts_isnull[0]);
	}
	else
		tuplesort_puttupleslot(sort->state, slot);
}

/* Puts "most" rows of the source, or fewer at its end; returns how many. */
extern uint64 native_sort_take(NativeSort *sort, PlanState *source,
							   uint64 most);

#endif							/* GPUSORT_NATIVE_SORT_H */
