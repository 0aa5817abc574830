/*-------------------------------------------------------------------------
 *
 * row_emission.c
 *	  Emitting the rows of a sort by keys, when they have been sorted.
 *
 * Rows in memory are emitted by the order of their store, in which the position
 * can be moved at will.  Rows in runs are emitted by the merge of the runs, which
 * keeps the position itself; here the rows are only counted.
 *
 * Values are emitted by their number, which is that of the entry less the NULLs
 * before them.  NULLs are nowhere: they are entries without a value.  Rows of workers
 * that are one value each become such values when they have been sorted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/gathered_rows.h"
#include "executor/row_emission.h"
#include "port/compat.h"
#include "settings.h"
#include "sort/group_limit.h"

/* Finds which entries are NULLs, of which so many have been counted. */
static void
place_nulls(RowEmission *emission, uint64 nnulls, GroupLimit *limit,
			bool nulls_first)
{
	if (limit != NULL)
		nnulls = group_limit_of_nulls(limit, nnulls);
	emission->nvalues = emission->nentries;
	emission->nentries += nnulls;
	if (nulls_first)
		emission->first_value = nnulls;
}

/* Finds where the columns are in a row, if all are by value, and few. */
static void
find_places(RowEmission *emission, TupleDesc descriptor)
{
	Size		place = 0;

	if (descriptor->natts > MOST_TAKEN_COLUMNS)
		return;
	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (!attribute->attbyval)
			return;
		place = att_align_nominal(place, attribute->attalign);
		emission->places[i] = place;
		place += attribute->attlen;
	}
	emission->ntaken_columns = descriptor->natts;
}

void
row_emission_begin(RowEmission *emission, const ExternalSort *sort,
				   bool nulls_first)
{
	bool		in_runs = sort->status == EXTERNAL_SORT_IN_RUNS;

	memset(emission, 0, sizeof(RowEmission));
	emission->order = sort->order;
	emission->progress = sort->progress;
	emission->of_values = sort->variant->of_values;
	find_places(emission, sort->descriptor);
	if (in_runs)
	{
		emission->runs = sort->runs;
		emission->nentries = sort->rows_in_runs;
	}
	else
	{
		emission->nentries = sort->order->nentries;
		emission->row_bytes = Min(row_store_row_bytes(sort->store),
								  MOST_FETCHED_BYTES);
	}
	if (emission->of_values)
		place_nulls(emission, sort->nnulls, sort->group_limit, nulls_first);
	emission->stop = in_runs && !emission->of_values ? PROGRESS_ROWS :
		Min(PROGRESS_ROWS, emission->nentries);
	emission->progress->figures.emits = true;
	sort_progress_enter(emission->progress, PROGRESS_EMITTING_ROWS);
}

void
row_emission_take_values(RowEmission *emission, bool nulls_first)
{
	uint64		nnulls = row_order_take_values(emission->order, nulls_first);

	emission->of_values = true;
	emission->nentries = emission->order->nentries;
	place_nulls(emission, nnulls, NULL, nulls_first);
}

/* Shows that so many rows have been emitted, or more at an earlier scan. */
static void
show_emitted(RowEmission *emission)
{
	if (emission->next > emission->progress->figures.rows_emitted)
		sort_progress_emitted(emission->progress, emission->next);
}

/* At a stop, or the end: shows the progress; false at the end. */
static pg_noinline bool
emit_on(RowEmission *emission)
{
	show_emitted(emission);
	emission->stop = Min(emission->next + PROGRESS_ROWS, emission->nentries);
	return emission->next < emission->stop;
}

/* At a stop, before the next row of the merge is fetched. */
static pg_noinline void
show_runs_emitted(RowEmission *emission)
{
	show_emitted(emission);
	emission->stop = emission->next + PROGRESS_ROWS;
}

/* Moves on to the next entry; false at the end. */
static inline bool
step_forward(RowEmission *emission, uint64 *entry)
{
	if (unlikely(emission->next >= emission->stop) && !emit_on(emission))
	{
		emission->at_end = true;
		return false;
	}
	*entry = emission->next++;
	return true;
}

/*
 * Moves back to the entry before the one emitted last, or to the last one
 * if the end has been reached; false at the start.
 */
static bool
step_backward(RowEmission *emission, uint64 *entry)
{
	if (emission->at_end)
		emission->at_end = false;
	else if (emission->next > 0)
		emission->next--;
	if (emission->next == 0)
		return false;
	*entry = emission->next - 1;
	return true;
}

/* Moves in this direction; false at the end, or at the start. */
static inline bool
step(RowEmission *emission, bool forward, uint64 *entry)
{
	return forward ? step_forward(emission, entry) :
		step_backward(emission, entry);
}

/*
 * Puts the few columns of a row into the slot, unless one is NULL or was added after
 * the row.  Whatever takes the row will need the columns, and would deform the row
 * by all the rules.
 */
static inline void
take_columns(const RowEmission *emission, TupleTableSlot *slot,
			 MinimalTuple row)
{
	TupleDesc	descriptor = slot->tts_tupleDescriptor;
	char	   *data = (char *) row + row->t_hoff - MINIMAL_TUPLE_OFFSET;

	if ((row->t_infomask & HEAP_HASNULL) != 0 ||
		HeapTupleHeaderGetNatts(row) < emission->ntaken_columns)
		return;
	for (int i = 0; i < emission->ntaken_columns; i++)
	{
		slot->tts_values[i] = fetchatt(TupleDescCompactAttr(descriptor, i),
									   data + emission->places[i]);
		slot->tts_isnull[i] = false;
	}
	slot->tts_nvalid = emission->ntaken_columns;
}

/* The row of the next entry, or the previous one, in memory. */
static inline void *
find_row(RowEmission *emission, bool forward, uint64 entry)
{
	RowOrder   *order = emission->order;

	/* whoever gathers rows does so in one direction, by a verified order */
	if (unlikely(emission->gathered != NULL))
		return gathered_rows_next(emission->gathered);
	if (unlikely(gpusort_verify))
		row_order_verify(order, entry);
	return likely(forward) ?
		row_order_get_forward(order, entry, emission->row_bytes) :
		row_order_get(order, entry);
}

/* As row_emission_get(), from memory. */
static inline bool
get_from_memory(RowEmission *emission, bool forward, TupleTableSlot *slot)
{
	uint64		entry;
	void	   *row;

	if (!step(emission, forward, &entry))
	{
		ExecClearTuple(slot);
		return false;
	}
	row = find_row(emission, forward, entry);
	ExecStoreMinimalTuple(row, slot, false);
	if (emission->ntaken_columns > 0)
		take_columns(emission, slot, row);
	return true;
}

/* As row_emission_get(), by the merge of the runs. */
static pg_noinline bool
get_from_runs(RowEmission *emission, bool forward, TupleTableSlot *slot)
{
	if (unlikely(emission->next >= emission->stop))
		show_runs_emitted(emission);
	/* rows that are fetched backward are not counted */
	emission->next += forward;
	return sorted_runs_get(emission->runs, forward, slot);
}

/*
 * Stores a value, by its number, from runs in the slot.  It is the next value of the
 * runs, or the one that they emitted last; or values were skipped, or NULLs lie
 * between.
 */
static void
get_value_from_runs(RowEmission *emission, uint64 number, TupleTableSlot *slot)
{
	SortedRuns *runs = emission->runs;
	bool		forward = emission->next_in_runs != number + 2;

	if (emission->next_in_runs == number + 1)
		(void) sorted_runs_get(runs, false, slot);
	else if (unlikely(emission->next_in_runs < number))
		sorted_runs_skip(runs, number - emission->next_in_runs);
	if (!sorted_runs_get(runs, forward, slot))
		elog(ERROR, "runs have fewer values than were written");
	emission->next_in_runs = number + 1;
}

/* Stores the value of an entry in memory in the slot. */
static inline void
store_value(RowOrder *order, bool forward, uint64 entry, TupleTableSlot *slot)
{
	Datum		value = likely(forward) ? row_order_value_forward(order, entry) :
		*(Datum *) row_order_get(order, entry);

	row_emission_store_value(slot, &value);
}

/* As row_emission_get(), of values. */
static pg_noinline bool
get_value(RowEmission *emission, bool forward, TupleTableSlot *slot)
{
	RowOrder   *order = emission->order;
	uint64		entry;
	uint64		number;

	if (!step(emission, forward, &entry))
	{
		ExecClearTuple(slot);
		return false;
	}
	/* of NULLs before all values it is larger than any */
	number = entry - emission->first_value;
	if (unlikely(number >= emission->nvalues))
		row_emission_store_value(slot, NULL);
	else if (emission->runs != NULL)
		get_value_from_runs(emission, number, slot);
	else
	{
		if (unlikely(gpusort_verify))
			row_order_verify(order, number);
		store_value(order, forward, number, slot);
	}
	return true;
}

bool
row_emission_get(RowEmission *emission, bool forward, TupleTableSlot *slot)
{
	if (unlikely(emission->of_values))
		return get_value(emission, forward, slot);
	if (likely(emission->runs == NULL))
		return get_from_memory(emission, forward, slot);
	return get_from_runs(emission, forward, slot);
}

void
row_emission_skip(RowEmission *emission, uint64 nrows)
{
	if (emission->runs != NULL && !emission->of_values)
	{
		sorted_runs_skip(emission->runs, nrows);
		emission->next += nrows;
	}
	else
		emission->next = Min(emission->next + nrows, emission->nentries);
}

void
row_emission_rescan(RowEmission *emission)
{
	emission->next = 0;
	emission->marked_next = 0;
	emission->at_end = false;
	emission->marked_at_end = false;
	emission->next_in_runs = 0;
	emission->marked_in_runs = 0;
	if (emission->runs != NULL)
		sorted_runs_rescan(emission->runs);
}

void
row_emission_mark(RowEmission *emission)
{
	emission->marked_next = emission->next;
	emission->marked_at_end = emission->at_end;
	emission->marked_in_runs = emission->next_in_runs;
	if (emission->runs != NULL)
		sorted_runs_mark(emission->runs);
}

void
row_emission_restore(RowEmission *emission)
{
	emission->next = emission->marked_next;
	emission->at_end = emission->marked_at_end;
	emission->next_in_runs = emission->marked_in_runs;
	if (emission->runs != NULL)
		sorted_runs_restore(emission->runs);
}
