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

#include "executor/input_rows.h"
#include "executor/row_source.h"
#include "keys/sort_keys.h"

typedef struct NativeSort
{
	RowSource	source;			/* must be first; has rows after the sort */
	Tuplesortstate *state;
	bool		of_values;		/* the sort has values of the only column, not
								 * rows */
} NativeSort;

/*
 * Begins a sort of which only the first "bound" rows are wanted; NO_BOUND: all
 * rows.  "limit" is in bytes.  Rows may be fetched backward or again only with
 * random_access.  Allocates in the current memory context.
 */
extern NativeSort *native_sort_begin(TupleDesc descriptor,
									 const SortColumn *columns, int ncolumns,
									 Size limit, double bound,
									 bool random_access);

/*
 * Drops all rows of a sort that was begun with this bound, so that others can
 * be put.  That takes less time than beginning a sort, since core keeps what
 * it has prepared.
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

/*
 * Puts "most" rows of the input, or fewer at its end.  Returns the number of
 * rows that it has put.
 */
extern uint64 native_sort_take(NativeSort *sort, const InputRows *input,
							   uint64 most);

#endif							/* GPUSORT_NATIVE_SORT_H */
