/*-------------------------------------------------------------------------
 *
 * row_source.h
 *	  Sorted rows, wherever they are.
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

/* What each kind of source does; these are as those of a RowSort (row_sort.h). */
typedef struct RowSourceMethods
{
	bool		(*get) (RowSource *source, bool forward, TupleTableSlot *slot);
	void		(*skip) (RowSource *source, uint64 nrows);
	void		(*rescan) (RowSource *source);
	void		(*mark) (RowSource *source);
	void		(*restore) (RowSource *source);
} RowSourceMethods;

/* What all kinds have; first in each of them. */
struct RowSource
{
	const RowSourceMethods *methods;
};

/*
 * Makes a source of rows, before the first of them.  What it is made of has to stay, and
 * the progress shows how many rows it has emitted.  Each allocates in the current memory
 * context, which frees it.
 *
 * The rows of an order, which are minimal tuples in memory.
 */
extern RowSource *row_source_of_order(RowOrder *order, TupleDesc descriptor,
									  SortProgress *progress);

/*
 * The rows of a reader, minimal tuples or, with of_values, values of one column.  They
 * can be had forward only, and once.
 */
extern RowSource *row_source_of_reader(RowReader *reader, bool of_values,
									   SortProgress *progress);

/* The rows on a tape. */
extern RowSource *row_source_of_tape(ResultTape *tape, SortProgress *progress);

/*
 * Values of one column, and as many NULLs as have been counted.  The values are those of
 * an order in memory, or of another source, which has nvalues rows.
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
