/*-------------------------------------------------------------------------
 *
 * row_emission.h
 *	  Emitting the rows of a sort by keys, when they have been sorted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_EMISSION_H
#define GPUSORT_ROW_EMISSION_H

#include "executor/tuptable.h"

#include "spill/external_sort.h"

/*
 * Rows of so many columns, all of them by value, have these put into the slot when
 * they are emitted.
 */
#define MOST_TAKEN_COLUMNS	4

/* The sorted rows, and the position among them: a part of its user's sort. */
typedef struct RowEmission
{
	RowOrder   *order;			/* order of the rows in memory */
	SortedRuns *runs;			/* rows in runs; NULL: rows are in memory */
	struct GatheredRows *gathered;	/* rows in memory that workers gather, or
									 * NULL */
	bool		of_values;		/* rows are values, and NULLs that were
								 * counted */
	int			ntaken_columns; /* columns that are put into the slot; or 0 */
	Size		places[MOST_TAKEN_COLUMNS]; /* places of these columns, behind
											 * the header of a row without
											 * NULLs */
	SortProgress *progress;		/* the user's */

	uint64		next;			/* entry to be emitted next */
	uint64		marked_next;
	uint64		stop;			/* entry where the progress is shown next, or
								 * the end */

	/* of rows in memory, or of values */
	uint64		nentries;		/* rows to be emitted, with NULLs */
	Size		row_bytes;		/* bytes of a row to be prefetched */
	bool		at_end;			/* a fetch has gone past the last row */
	bool		marked_at_end;

	/* of values */
	uint64		first_value;	/* entry of the first value, behind NULLs */
	uint64		nvalues;		/* values to be emitted */
	uint64		next_in_runs;	/* value that the runs emit next */
	uint64		marked_in_runs;
} RowEmission;

/*
 * Begins before the first row of a sort after external_sort_perform(), which has to
 * stay, and shows that rows are emitted.
 */
extern void row_emission_begin(RowEmission *emission,
							   const ExternalSort *sort, bool nulls_first);

/*
 * Right after row_emission_begin(): has rows of one by-value column, all of them minimal
 * tuples in memory, emitted as values.
 */
extern void row_emission_take_values(RowEmission *emission,
									 bool nulls_first);

/* These are as those of a RowSort (row_sort.h). */
extern bool row_emission_get(RowEmission *emission, bool forward,
							 TupleTableSlot *slot);
extern void row_emission_skip(RowEmission *emission, uint64 nrows);
extern void row_emission_rescan(RowEmission *emission);
extern void row_emission_mark(RowEmission *emission);
extern void row_emission_restore(RowEmission *emission);

/* Stores a value, or NULL if there is none, in a slot of one column. */
static inline void
row_emission_store_value(TupleTableSlot *slot, const Datum *value)
{
	ExecClearTuple(slot);
	slot->tts_values[0] = value != NULL ? *value : (Datum) 0;
	slot->tts_isnull[0] = value == NULL;
	ExecStoreVirtualTuple(slot);
}

#endif							/* GPUSORT_ROW_EMISSION_H */
