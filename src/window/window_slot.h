/*-------------------------------------------------------------------------
 *
 * window_slot.h
 *	  A slot of the columns of a row and the results of window functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WINDOW_SLOT_H
#define GPUSORT_WINDOW_SLOT_H

#include "nodes/execnodes.h"

/*
 * A virtual slot that takes columns out of a row when they are asked for.  Each
 * column is a column of the row, or a result.
 */
typedef struct WindowSlot
{
	VirtualTupleTableSlot base; /* must be first */
	const int  *sources;		/* of each column: the number of the row's
								 * column, from 1, or the place of a result as
								 * RESULT_SOURCE() */
	const AttrNumber *needed;	/* the row's columns that the columns up to
								 * this one need */
	const Datum *values;		/* all results */
	const bool *isnull;
	TupleTableSlot *row;		/* present row */
} WindowSlot;

#define RESULT_SOURCE(place)	(-(place))

/* The kind of these slots. */
extern const TupleTableSlotOps *window_slot_ops(void);

/*
 * Makes an empty slot with as many columns as the descriptor has.  The sources
 * and the results have to stay.
 */
extern WindowSlot *window_slot_create(EState *estate, TupleDesc descriptor,
									  const int *sources, const Datum *values,
									  const bool *isnull);

/* Shows a row, and the present results. */
static inline TupleTableSlot *
window_slot_show(WindowSlot *slot, TupleTableSlot *row)
{
	TupleTableSlot *base = &slot->base.base;

	if (unlikely(TTS_SHOULDFREE(base)))
		ExecClearTuple(base);
	base->tts_flags &= ~TTS_FLAG_EMPTY;
	base->tts_nvalid = 0;
	slot->row = row;
	return base;
}

#endif							/* GPUSORT_WINDOW_SLOT_H */
