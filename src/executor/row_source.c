/*-------------------------------------------------------------------------
 *
 * row_source.c
 *	  A source of sorted rows, wherever they are.
 *
 * A sort ends with its rows in one of several places.  Its user fetches rows
 * without knowing in which.  Each place is a source of its own kind:
 *
 *	order		the rows of a store in memory, by their order
 *	values		values of one column, in memory or in another source, and NULLs
 *	reader		rows that come one after the other: from the merge of runs,
 *				from parts of such a merge, or from slices that workers send
 *	tape		the result of such a merge, which can be read in any direction
 *
 * PostgreSQL's own sort is one more kind (native_sort.c).
 *
 * Rows in memory are emitted by the entries of their order, and the position
 * moves freely among the entries.  A reader and a tape keep the position
 * themselves.  Here their rows are only counted, for the progress.
 *
 * NULLs of a single by-value column are stored nowhere: they are entries
 * without a value.  The number of a value is the number of its entry less the
 * NULLs ahead of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "miscadmin.h"

#include "executor/row_source.h"
#include "port/compat.h"
#include "settings.h"

/*
 * If rows have at most this many columns, all of them by value, the columns
 * are put into the slot when a row is emitted.
 */
#define MOST_TAKEN_COLUMNS	4

/*
 * The number of rows that have been emitted, which the progress shows now and
 * then.
 */
typedef struct EmittedRows
{
	SortProgress *progress;
	uint64		next;			/* number of the row to be emitted next */
	uint64		stop;			/* row at which the progress is shown next, or
								 * the end */
} EmittedRows;

/*
 * Shows the number of emitted rows, unless an earlier scan has emitted more.
 */
static void
show_emitted(const EmittedRows *emitted)
{
	if (emitted->next > emitted->progress->figures.rows_emitted)
		sort_progress_emitted(emitted->progress, emitted->next);
}

/*
 * ---- entries, among which the position moves freely
 */

typedef struct EntryPosition
{
	EmittedRows emitted;
	uint64		nentries;
	bool		at_end;			/* a fetch has gone past the last entry */
	uint64		marked_next;
	bool		marked_at_end;
} EntryPosition;

static void
begin_entries(EntryPosition *position, uint64 nentries, SortProgress *progress)
{
	position->emitted.progress = progress;
	position->emitted.stop = Min(PROGRESS_ROWS, nentries);
	position->nentries = nentries;
}

/* Shows the progress, at a stop or at the end.  Returns false at the end. */
static pg_noinline bool
pass_stop(EntryPosition *position)
{
	EmittedRows *emitted = &position->emitted;

	show_emitted(emitted);
	emitted->stop = Min(emitted->next + PROGRESS_ROWS, position->nentries);
	return emitted->next < emitted->stop;
}

/* Moves to the next entry; false at the end. */
static inline bool
step_forward(EntryPosition *position, uint64 *entry)
{
	EmittedRows *emitted = &position->emitted;

	if (unlikely(emitted->next >= emitted->stop) && !pass_stop(position))
	{
		position->at_end = true;
		return false;
	}
	*entry = emitted->next++;
	return true;
}

/*
 * Moves to the entry before the one emitted last, or to the last entry if the
 * end was reached.  Returns false at the start.
 */
static bool
step_backward(EntryPosition *position, uint64 *entry)
{
	EmittedRows *emitted = &position->emitted;

	if (position->at_end)
		position->at_end = false;
	else if (emitted->next > 0)
		emitted->next--;
	if (emitted->next == 0)
		return false;
	*entry = emitted->next - 1;
	return true;
}

/* Moves in this direction; false at the end, or at the start. */
static inline bool
step(EntryPosition *position, bool forward, uint64 *entry)
{
	return forward ? step_forward(position, entry) :
		step_backward(position, entry);
}

static void
skip_entries(EntryPosition *position, uint64 nrows)
{
	EmittedRows *emitted = &position->emitted;

	emitted->next = Min(emitted->next + nrows, position->nentries);
}

static void
rescan_entries(EntryPosition *position)
{
	position->emitted.next = 0;
	position->at_end = false;
	position->marked_next = 0;
	position->marked_at_end = false;
}

static void
mark_entry(EntryPosition *position)
{
	position->marked_next = position->emitted.next;
	position->marked_at_end = position->at_end;
}

static void
restore_entry(EntryPosition *position)
{
	position->emitted.next = position->marked_next;
	position->at_end = position->marked_at_end;
}

/*
 * ---- the rows of an order
 */

typedef struct OrderSource
{
	RowSource	source;
	EntryPosition position;
	RowOrder   *order;
	Size		row_bytes;		/* bytes of a row to be prefetched */
	int			ntaken_columns; /* number of columns that are put into the
								 * slot; 0: none are */
	Size		places[MOST_TAKEN_COLUMNS]; /* places of these columns, behind
											 * the header of a row without
											 * NULLs */
} OrderSource;

/* Finds where the columns are in a row, if they are all by value, and few. */
static void
find_places(OrderSource *rows, TupleDesc descriptor)
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
		rows->places[i] = place;
		place += attribute->attlen;
	}
	rows->ntaken_columns = descriptor->natts;
}

/*
 * Puts the few columns of a row into the slot, unless a column is NULL or was
 * added after the row.  Whatever takes the row will need the columns, and
 * would otherwise deform the row by all the rules.
 */
static inline void
take_columns(const OrderSource *rows, TupleTableSlot *slot, MinimalTuple row)
{
	TupleDesc	descriptor = slot->tts_tupleDescriptor;
	char	   *data = (char *) row + row->t_hoff - MINIMAL_TUPLE_OFFSET;

	if ((row->t_infomask & HEAP_HASNULL) != 0 ||
		HeapTupleHeaderGetNatts(row) < rows->ntaken_columns)
		return;
	for (int i = 0; i < rows->ntaken_columns; i++)
	{
		slot->tts_values[i] = fetchatt(TupleDescCompactAttr(descriptor, i),
									   data + rows->places[i]);
		slot->tts_isnull[i] = false;
	}
	slot->tts_nvalid = rows->ntaken_columns;
}

static bool
order_get(RowSource *source, bool forward, TupleTableSlot *slot)
{
	OrderSource *rows = (OrderSource *) source;
	RowOrder   *order = rows->order;
	uint64		entry;
	void	   *row;

	if (!step(&rows->position, forward, &entry))
	{
		ExecClearTuple(slot);
		return false;
	}
	if (unlikely(gpusort_verify))
		row_order_verify(order, entry);
	row = likely(forward) ?
		row_order_get_forward(order, entry, rows->row_bytes) :
		row_order_get(order, entry);
	ExecStoreMinimalTuple(row, slot, false);
	if (rows->ntaken_columns > 0)
		take_columns(rows, slot, row);
	return true;
}

static void
order_skip(RowSource *source, uint64 nrows)
{
	skip_entries(&((OrderSource *) source)->position, nrows);
}

static void
order_rescan(RowSource *source)
{
	rescan_entries(&((OrderSource *) source)->position);
}

static void
order_mark(RowSource *source)
{
	mark_entry(&((OrderSource *) source)->position);
}

static void
order_restore(RowSource *source)
{
	restore_entry(&((OrderSource *) source)->position);
}

RowSource *
row_source_of_order(RowOrder *order, TupleDesc descriptor,
					SortProgress *progress)
{
	static const RowSourceMethods methods = {
		order_get, order_skip, order_rescan, order_mark, order_restore
	};
	OrderSource *rows = palloc0(sizeof(OrderSource));

	rows->source.methods = &methods;
	begin_entries(&rows->position, order->nentries, progress);
	rows->order = order;
	rows->row_bytes = Min(row_store_row_bytes(order->store),
						  MOST_FETCHED_BYTES);
	find_places(rows, descriptor);
	return &rows->source;
}

/*
 * ---- values
 */

typedef struct ValueSource
{
	RowSource	source;
	EntryPosition position;		/* among values and NULLs */
	uint64		first_value;	/* entry of the first value, behind NULLs */
	uint64		nvalues;
	RowOrder   *order;			/* order of the values in memory, or NULL */

	/* if values are in another source */
	RowSource  *values;
	uint64		next_value;		/* value that the source emits next */
	uint64		marked_value;
} ValueSource;

/*
 * Stores a value of the other source, by its number.  Mostly it is the next
 * value there, or the value that was emitted last.  Otherwise values were
 * skipped, or NULLs lie between.
 */
static void
fetch_value(ValueSource *source, uint64 number, TupleTableSlot *slot)
{
	RowSource  *values = source->values;
	bool		forward = source->next_value != number + 2;

	if (source->next_value == number + 1)
		(void) values->methods->get(values, false, slot);
	else if (unlikely(source->next_value < number))
		values->methods->skip(values, number - source->next_value);
	if (!values->methods->get(values, forward, slot))
		elog(ERROR, "runs have fewer values than were written");
	source->next_value = number + 1;
}

/* Stores a value of the order in memory, by its number. */
static inline void
store_value(RowOrder *order, bool forward, uint64 number, TupleTableSlot *slot)
{
	Datum		value;

	if (unlikely(order->selection != NULL))
		value = *(Datum *) row_order_find(order, number);
	else
	{
		if (unlikely(gpusort_verify))
			row_order_verify(order, number);
		value = likely(forward) ? row_order_value_forward(order, number) :
			*(Datum *) row_order_get(order, number);
	}
	row_source_store_value(slot, &value);
}

static bool
value_get(RowSource *source, bool forward, TupleTableSlot *slot)
{
	ValueSource *values = (ValueSource *) source;
	uint64		entry;
	uint64		number;

	if (!step(&values->position, forward, &entry))
	{
		ExecClearTuple(slot);
		return false;
	}
	/* for NULLs ahead of all values the number is larger than any */
	number = entry - values->first_value;
	if (unlikely(number >= values->nvalues))
		row_source_store_value(slot, NULL);
	else if (likely(values->order != NULL))
		store_value(values->order, forward, number, slot);
	else
		fetch_value(values, number, slot);
	return true;
}

static void
value_skip(RowSource *source, uint64 nrows)
{
	skip_entries(&((ValueSource *) source)->position, nrows);
}

static void
value_rescan(RowSource *source)
{
	ValueSource *values = (ValueSource *) source;

	rescan_entries(&values->position);
	values->next_value = 0;
	values->marked_value = 0;
	if (values->values != NULL)
		values->values->methods->rescan(values->values);
}

static void
value_mark(RowSource *source)
{
	ValueSource *values = (ValueSource *) source;

	mark_entry(&values->position);
	values->marked_value = values->next_value;
	if (values->values != NULL)
		values->values->methods->mark(values->values);
}

static void
value_restore(RowSource *source)
{
	ValueSource *values = (ValueSource *) source;

	restore_entry(&values->position);
	values->next_value = values->marked_value;
	if (values->values != NULL)
		values->values->methods->restore(values->values);
}

/* Makes a source that still lacks its values. */
static ValueSource *
begin_values(uint64 nvalues, uint64 nnulls, bool nulls_first,
			 SortProgress *progress)
{
	static const RowSourceMethods methods = {
		value_get, value_skip, value_rescan, value_mark, value_restore
	};
	ValueSource *values = palloc0(sizeof(ValueSource));

	values->source.methods = &methods;
	begin_entries(&values->position, nvalues + nnulls, progress);
	values->first_value = nulls_first ? nnulls : 0;
	values->nvalues = nvalues;
	return values;
}

RowSource *
row_source_of_values(RowOrder *order, uint64 nnulls, bool nulls_first,
					 SortProgress *progress)
{
	ValueSource *values = begin_values(order->nentries, nnulls, nulls_first,
									   progress);

	values->order = order;
	return &values->source;
}

RowSource *
row_source_of_values_in_runs(RowSource *source, uint64 nvalues, uint64 nnulls,
							 bool nulls_first, SortProgress *progress)
{
	ValueSource *values = begin_values(nvalues, nnulls, nulls_first, progress);

	values->values = source;
	return &values->source;
}

/*
 * ---- rows that come one after the other
 */

/*
 * Counts a row before it is fetched.  Rows that are fetched backward are not
 * counted.
 */
static inline void
count_row(EmittedRows *emitted, bool forward)
{
	if (unlikely(emitted->next >= emitted->stop))
	{
		show_emitted(emitted);
		emitted->stop = emitted->next + PROGRESS_ROWS;
	}
	emitted->next += forward;
}

typedef struct ReaderSource
{
	RowSource	source;
	EmittedRows emitted;
	RowReader  *reader;
	bool		of_values;
} ReaderSource;

static bool
reader_get(RowSource *source, bool forward, TupleTableSlot *slot)
{
	ReaderSource *rows = (ReaderSource *) source;
	void	   *row;

	Assert(forward);
	count_row(&rows->emitted, true);
	row = rows->reader->next(rows->reader);
	if (row == NULL)
	{
		ExecClearTuple(slot);
		return false;
	}
	if (rows->of_values)
		row_source_store_value(slot, row);
	else
		ExecStoreMinimalTuple(row, slot, false);
	return true;
}

static void
reader_skip(RowSource *source, uint64 nrows)
{
	ReaderSource *rows = (ReaderSource *) source;

	rows->emitted.next += nrows;
	while (nrows-- > 0 && rows->reader->next(rows->reader) != NULL)
		CHECK_FOR_INTERRUPTS();
}

static void
refuse_to_move(RowSource *source)
{
	elog(ERROR, "rows that are read once have no position to go back to");
}

RowSource *
row_source_of_reader(RowReader *reader, bool of_values, SortProgress *progress)
{
	static const RowSourceMethods methods = {
		reader_get, reader_skip, refuse_to_move, refuse_to_move, refuse_to_move
	};
	ReaderSource *rows = palloc0(sizeof(ReaderSource));

	rows->source.methods = &methods;
	rows->emitted.progress = progress;
	rows->emitted.stop = PROGRESS_ROWS;
	rows->reader = reader;
	rows->of_values = of_values;
	return &rows->source;
}

/*
 * ---- the rows on a tape
 */

typedef struct TapeSource
{
	RowSource	source;
	EmittedRows emitted;
	uint64		marked_next;
	ResultTape *tape;
} TapeSource;

static bool
tape_get(RowSource *source, bool forward, TupleTableSlot *slot)
{
	TapeSource *rows = (TapeSource *) source;
	MinimalTuple row;

	count_row(&rows->emitted, forward);
	row = result_tape_read(rows->tape, forward);
	if (row == NULL)
	{
		ExecClearTuple(slot);
		return false;
	}
	ExecStoreMinimalTuple(row, slot, false);
	return true;
}

static void
tape_skip(RowSource *source, uint64 nrows)
{
	TapeSource *rows = (TapeSource *) source;

	rows->emitted.next += nrows;
	while (nrows-- > 0 && result_tape_read(rows->tape, true) != NULL)
		CHECK_FOR_INTERRUPTS();
}

static void
tape_rescan(RowSource *source)
{
	TapeSource *rows = (TapeSource *) source;

	rows->emitted.next = 0;
	rows->marked_next = 0;
	result_tape_rescan(rows->tape);
}

static void
tape_mark(RowSource *source)
{
	TapeSource *rows = (TapeSource *) source;

	rows->marked_next = rows->emitted.next;
	result_tape_mark(rows->tape);
}

static void
tape_restore(RowSource *source)
{
	TapeSource *rows = (TapeSource *) source;

	rows->emitted.next = rows->marked_next;
	result_tape_restore(rows->tape);
}

RowSource *
row_source_of_tape(ResultTape *tape, SortProgress *progress)
{
	static const RowSourceMethods methods = {
		tape_get, tape_skip, tape_rescan, tape_mark, tape_restore
	};
	TapeSource *rows = palloc0(sizeof(TapeSource));

	rows->source.methods = &methods;
	rows->emitted.progress = progress;
	rows->emitted.stop = PROGRESS_ROWS;
	rows->tape = tape;
	return &rows->source;
}
