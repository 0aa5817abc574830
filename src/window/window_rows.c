/*-------------------------------------------------------------------------
 *
 * window_rows.c
 *	  The sorted rows that windows look at, by their positions.
 *
 * If the rows are in an order in memory, they stay where they are.  Any row can
 * be looked at, and nothing is copied.  Where groups begin is known from the
 * keys (group_starts.c).
 *
 * Otherwise rows come one after the other: from the merge of runs, from parts
 * of an order, or from core's sort.  Each row is compared with the row before
 * it as it comes.  If a window looks at other rows than the present one, the
 * rows go to a tuplestore, which has a read pointer for each cursor, drops the
 * rows that nobody needs any more, and writes the others to a file when they
 * exceed the memory.  To write and read a file in turn, or at several places,
 * takes a seek each time.  So rows are written some hundred at a time, and each
 * cursor reads some rows at once.  Slices of rows in shared memory stay where
 * they are.  Then the place of each row is kept in the stead of the row.  Where
 * groups begin takes a byte for each row that is kept.  These bytes and places
 * go to a file as well when they exceed a part of the memory (paged_array.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "window/window_rows.h"

/* Parts of the memory for the differences of rows, and for their places. */
#define DIFFERENCES_PART	32
#define PLACES_PART			16

/* Rows that are written to a file at a time. */
#define WRITTEN_ROWS	256

/* The bytes with which rows suffice that a cursor reads from a file together. */
#define MOST_READ_BYTES		BLCKSZ

/* A row that stays, this far behind the one that is fetched, is prefetched. */
#define PREFETCHED_DISTANCE		8

void
window_rows_init(WindowRows *rows, TupleDesc descriptor,
				 const WindowKeys *keys, bool passing)
{
	memset(rows, 0, sizeof(*rows));
	rows->keys = *keys;
	rows->descriptor = descriptor;
	rows->passing = passing;
	rows->context = AllocSetContextCreate(CurrentMemoryContext,
										  "gpusort windows",
										  ALLOCSET_DEFAULT_SIZES);
	rows->value_context = AllocSetContextCreate(CurrentMemoryContext,
												"gpusort window values",
												ALLOCSET_SMALL_SIZES);
}

WindowCursor *
window_rows_add_cursor(WindowRows *rows, TupleTableSlot *slot,
					   bool passes, bool prefetches)
{
	WindowCursor *cursor = palloc0(sizeof(WindowCursor));

	cursor->slot = slot;
	cursor->position = -1;
	cursor->passes = passes;
	if (prefetches)
		cursor->prefetched = palloc0(sizeof(PrefetchedRows));
	rows->cursors = lappend(rows->cursors, cursor);
	return cursor;
}

void
window_rows_begin_again(WindowRows *rows)
{
	ListCell   *cell;

	foreach(cell, rows->cursors)
	{
		WindowCursor *cursor = lfirst(cell);

		ExecClearTuple(cursor->slot);
		cursor->position = -1;
		cursor->next = 0;
		cursor->memory = NULL;
		cursor->first_read = 0;
		cursor->nread = 0;
		if (cursor->prefetched != NULL)
			cursor->prefetched->count = 0;
	}
}

void
window_rows_end(WindowRows *rows)
{
	window_rows_begin_again(rows);
	if (rows->store != NULL)
		tuplestore_end(rows->store);
	rows->store = NULL;
	rows->order = NULL;
	rows->starts = NULL;
	rows->nread = 0;
	rows->first = 0;
	rows->last = NULL;
	paged_array_end(&rows->differences);
	paged_array_end(&rows->places);
	MemoryContextReset(rows->context);
}

void
window_rows_begin_order(WindowRows *rows, RowOrder *order)
{
	MemoryContext caller_context = MemoryContextSwitchTo(rows->context);

	rows->order = order;
	rows->nread = order->nentries;
	rows->row_bytes = Min(row_store_row_bytes(order->store),
						  MOST_FETCHED_BYTES);
	if (order->nentries > 0)
		rows->starts = group_starts_find(order, rows->keys.ncolumns,
										 rows->keys.equal);
	MemoryContextSwitchTo(caller_context);
}

/* Begins the tuplestore, with a read pointer for each cursor. */
static void
begin_store(WindowRows *rows)
{
	ListCell   *cell;

	Size		limit = gpusort_memory_limit();

	rows->store = tuplestore_begin_heap(false, false,
										(limit - limit / DIFFERENCES_PART) / 1024);
	/* rows are dropped only if no pointer may go back to the first one */
	tuplestore_set_eflags(rows->store, EXEC_FLAG_BACKWARD);
	rows->keeper.pointer = 0;
	rows->keeper.next = 0;
	foreach(cell, rows->cursors)
		((WindowCursor *) lfirst(cell))->pointer =
		tuplestore_alloc_read_pointer(rows->store, EXEC_FLAG_BACKWARD);
}

void
window_rows_begin_reading(WindowRows *rows, NextRowFunction next, void *source,
						  bool stay)
{
	MemoryContext caller_context = MemoryContextSwitchTo(rows->context);

	rows->next = next;
	rows->source = source;
	rows->at_end = false;
	rows->stay = stay && !rows->passing;
	rows->last_values = palloc0((rows->keys.ncolumns + 1) * sizeof(LastValue));
	if (!rows->passing)
		paged_array_init(&rows->differences, sizeof(int8),
						 gpusort_memory_limit() / DIFFERENCES_PART);
	if (rows->stay)
		paged_array_init(&rows->places, sizeof(MinimalTuple),
						 gpusort_memory_limit() / PLACES_PART);
	else if (!rows->passing)
		begin_store(rows);
	MemoryContextSwitchTo(caller_context);
}

/* Copies a value into the place of the value of the row before. */
static void
keep_value(WindowRows *rows, LastValue *last, Datum value, bool isnull,
		   const FormData_pg_attribute *column)
{
	Size		size;

	last->isnull = isnull;
	if (isnull)
		return;
	if (column->attbyval)
	{
		last->value = value;
		return;
	}
	size = datumGetSize(value, false, column->attlen);
	if (size > last->size)
	{
		if (last->size > 0)
			pfree(DatumGetPointer(last->value));
		last->size = 0;
		last->value = PointerGetDatum(MemoryContextAllocHuge(rows->context,
															 size * 2));
		last->size = size * 2;
	}
	memcpy(DatumGetPointer(last->value), DatumGetPointer(value), size);
}

/* Does the row that has come have the value of the row before? */
static bool
is_last_value(WindowRows *rows, int column, const LastValue *last, Datum value,
			  bool isnull)
{
	const SortColumn *sorted = &rows->keys.columns[column];
	MemoryContext caller_context;
	bool		is_equal;

	if (isnull || last->isnull)
		return isnull && last->isnull;
	caller_context = MemoryContextSwitchTo(rows->value_context);
	is_equal = group_values_equal(&rows->keys.equal[column], sorted->collation,
								  TupleDescAttr(rows->descriptor,
												sorted->attno - 1),
								  last->value, value);
	MemoryContextReset(rows->value_context);
	MemoryContextSwitchTo(caller_context);
	return is_equal;
}

/* Compares a row that has come with the row before; returns the difference. */
static int
compare_row(WindowRows *rows, TupleTableSlot *slot)
{
	int			ncolumns = rows->keys.ncolumns;
	int			difference = rows->nread == 0 ? NO_ROW_BEFORE : ncolumns;

	for (int i = 0; i < ncolumns; i++)
	{
		AttrNumber	attno = rows->keys.columns[i].attno;
		LastValue  *last = &rows->last_values[i];
		bool		isnull;
		Datum		value = slot_getattr(slot, attno, &isnull);

		if (difference == ncolumns)
		{
			if (is_last_value(rows, i, last, value, isnull))
				continue;
			difference = i;
		}
		keep_value(rows, last, value, isnull,
				   TupleDescAttr(rows->descriptor, attno - 1));
	}
	return difference;
}

/* Reads one more row; false if there is none. */
static bool
read_row(WindowRows *rows)
{
	TupleTableSlot *slot = rows->at_end ? NULL : rows->next(rows->source);

	if (slot == NULL)
	{
		rows->at_end = true;
		return false;
	}
	if (rows->passing)
		rows->last = slot;
	rows->last_difference = compare_row(rows, slot);
	if (!rows->passing)
		*(int8 *) paged_array_add(&rows->differences) = rows->last_difference;
	if (rows->stay)
		*(MinimalTuple *) paged_array_add(&rows->places) =
			((MinimalTupleTableSlot *) slot)->mintuple;
	else if (!rows->passing)
		tuplestore_puttupleslot(rows->store, slot);
	rows->nread++;
	return true;
}

/* Reads rows until there are this many; false if there are fewer. */
static bool
read_rows(WindowRows *rows, int64 nrows)
{
	while (rows->nread < nrows)
	{
		CHECK_FOR_INTERRUPTS();
		if (!read_row(rows))
			return false;
	}
	return true;
}

bool
window_rows_read_to(WindowRows *rows, int64 position)
{
	if (!read_rows(rows, position + 1))
		return false;
	if (rows->store != NULL && !tuplestore_in_memory(rows->store))
		(void) read_rows(rows, position + WRITTEN_ROWS);
	return true;
}

/* Moves the read pointer of a cursor. */
static void
move_pointer(WindowRows *rows, WindowCursor *cursor, int64 position)
{
	tuplestore_select_read_pointer(rows->store, cursor->pointer);
	if (position > cursor->next)
		(void) tuplestore_skiptuples(rows->store, position - cursor->next,
									 true);
	else if (position < cursor->next)
		(void) tuplestore_skiptuples(rows->store, cursor->next - position,
									 false);
	cursor->next = position;
}

/* Stores the next row of the tuplestore in the slot of a cursor. */
static void
get_next(WindowRows *rows, WindowCursor *cursor, bool copy)
{
	if (!tuplestore_gettupleslot(rows->store, true, copy, cursor->slot))
		elog(ERROR, "a row of a window is not kept");
	cursor->next++;
}

/*
 * Reads the row at a position, and some behind it, about as many as a block of
 * the file has.
 */
static void
read_together(WindowRows *rows, WindowCursor *cursor, int64 position)
{
	MemoryContext caller_context;
	Size		bytes = 0;

	ExecClearTuple(cursor->slot);
	if (cursor->memory == NULL)
		cursor->memory = AllocSetContextCreate(rows->context,
											   "gpusort window rows",
											   ALLOCSET_SMALL_SIZES);
	MemoryContextReset(cursor->memory);
	cursor->first_read = position;
	cursor->nread = 0;
	move_pointer(rows, cursor, position);
	caller_context = MemoryContextSwitchTo(cursor->memory);
	while (cursor->next < rows->nread && cursor->nread < MOST_READ_ROWS &&
		   bytes < MOST_READ_BYTES)
	{
		MinimalTuple row;

		get_next(rows, cursor, true);
		row = ((MinimalTupleTableSlot *) cursor->slot)->mintuple;
		cursor->read[cursor->nread++] = row;
		bytes += row->t_len;
		/* the row stays when the slot is cleared */
		cursor->slot->tts_flags &= ~TTS_FLAG_SHOULDFREE;
	}
	MemoryContextSwitchTo(caller_context);
}

/* Moves a cursor to a row of the tuplestore that is in a file. */
static void
fetch_from_file(WindowRows *rows, WindowCursor *cursor, int64 position)
{
	if (position < cursor->first_read ||
		position >= cursor->first_read + cursor->nread)
		read_together(rows, cursor, position);
	ExecStoreMinimalTuple(cursor->read[position - cursor->first_read],
						  cursor->slot, false);
	cursor->position = position;
}

/* Moves a cursor to a row of the tuplestore that is in memory. */
static void
fetch_from_store(WindowRows *rows, WindowCursor *cursor, int64 position)
{
	move_pointer(rows, cursor, position);
	/* a copy stays when the tuplestore writes its rows to a file */
	get_next(rows, cursor, !cursor->passes);
	cursor->position = cursor->passes ? -1 : position;
}

/* Returns where a row lies. */
static inline MinimalTuple
find_place(WindowRows *rows, int64 position)
{
	return *(MinimalTuple *) paged_array_get(&rows->places, position);
}

/* Moves a cursor to a row that stays where it is. */
static void
fetch_from_place(WindowRows *rows, WindowCursor *cursor, int64 position)
{
	int64		later = position + PREFETCHED_DISTANCE;

	/* it may have been read long ago */
	if (later < rows->nread)
		__builtin_prefetch(find_place(rows, later));
	ExecStoreMinimalTuple(find_place(rows, position), cursor->slot, false);
	cursor->position = position;
}

TupleTableSlot *
window_rows_fetch_kept(WindowRows *rows, WindowCursor *cursor, int64 position)
{
	if (rows->passing)
	{
		Assert(position == rows->nread - 1);
		return rows->last;
	}
	if (cursor->position == position)
		return cursor->slot;
	Assert(position >= rows->first && position < rows->nread);
	if (rows->stay)
		fetch_from_place(rows, cursor, position);
	else if (!tuplestore_in_memory(rows->store))
		fetch_from_file(rows, cursor, position);
	else
		fetch_from_store(rows, cursor, position);
	return cursor->slot;
}

/*
 * Rows in a file are not dropped.  In memory a cursor that has stayed behind
 * moves on, so that it does not keep rows.  Others may go back as far as the
 * first row that is kept.
 */
void
window_rows_release(WindowRows *rows, int64 position)
{
	ListCell   *cell;

	position = Min(position, rows->nread);
	if (position <= rows->first)
		return;
	rows->first = position;
	paged_array_release(&rows->differences, position);
	paged_array_release(&rows->places, position);
	if (rows->stay || !tuplestore_in_memory(rows->store))
		return;
	move_pointer(rows, &rows->keeper, position);
	foreach(cell, rows->cursors)
	{
		WindowCursor *cursor = lfirst(cell);

		if (cursor->next < position)
			move_pointer(rows, cursor, position);
	}
	tuplestore_trim(rows->store);
}
