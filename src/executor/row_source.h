/*-------------------------------------------------------------------------
 *
 * row_source.h
 *	  A source of sorted rows, wherever they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_SOURCE_H
#define GPUSORT_ROW_SOURCE_H

#include "executor/tuptable.h"

#include "sort/row_order.h"
#include "sort_progress.h"
#include "spill/result_tape.h"
#include "spill/row_reader.h"

typedef struct RowSource RowSource;

/*
 * What each kind of source does, as the functions of a RowSort do
 * (row_sort.h).
 */
typedef struct RowSourceMethods
{
	bool		(*get) (RowSource *source, bool forward, TupleTableSlot *slot);
	void		(*skip) (RowSource *source, uint64 nrows);
	void		(*rescan) (RowSource *source);
	void		(*mark) (RowSource *source);
	void		(*restore) (RowSource *source);
} RowSourceMethods;

/* What all kinds of sources begin with. */
struct RowSource
{
	const RowSourceMethods *methods;
};

/*
 * The functions below make a source, which begins before the first row, in the
 * current memory context, which frees it.  What the rows come from has to
 * stay.  The progress shows how many rows the source has emitted.
 *
 * row_source_of_order() emits the rows of an order, which are minimal tuples
 * in memory.
 */
extern RowSource *row_source_of_order(RowOrder *order, TupleDesc descriptor,
									  SortProgress *progress);

/*
 * Emits the rows of a reader: minimal tuples, or, with of_values, values of
 * one column.  Rows can be fetched forward only, and once.
 */
extern RowSource *row_source_of_reader(RowReader *reader, bool of_values,
									   SortProgress *progress);

/* Emits the rows on a tape. */
extern RowSource *row_source_of_tape(ResultTape *tape, SortProgress *progress);

/*
 * Emit values of one column, and as many NULLs as have been counted.  The
 * values are in an order in memory, or in another source, which has nvalues
 * rows.
 */
extern RowSource *row_source_of_values(RowOrder *order, uint64 nnulls,
									   bool nulls_first,
									   SortProgress *progress);
extern RowSource *row_source_of_values_in_runs(RowSource *values,
											   uint64 nvalues, uint64 nnulls,
											   bool nulls_first,
											   SortProgress *progress);

/* Stores a value, or NULL if there is none, in a slot of one column. */
static inline void
row_source_store_value(TupleTableSlot *slot, const Datum *value)
{
	ExecClearTuple(slot);
	slot->tts_values[0] = value != NULL ? *value : (Datum) 0;
	slot->tts_isnull[0] = value == NULL;
	ExecStoreVirtualTuple(slot);
}

#endif							/* GPUSORT_ROW_SOURCE_H */
