/*-------------------------------------------------------------------------
 *
 * window_rows.h
 *	  The sorted rows that windows look at, by their positions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WINDOW_ROWS_H
#define GPUSORT_WINDOW_ROWS_H

#include "executor/tuptable.h"
#include "fmgr.h"
#include "utils/tuplestore.h"

#include "settings.h"
#include "sort/group_starts.h"
#include "window/paged_array.h"

/* Returns the next row, in a slot, valid until the next call; NULL at the end. */
typedef TupleTableSlot *(*NextRowFunction) (void *source);

/* The most rows that a cursor reads from a file together. */
#define MOST_READ_ROWS	256

/* The sort columns in which a row is compared with the row before it. */
typedef struct WindowKeys
{
	const SortColumn *columns;
	int			ncolumns;		/* at most MOST_START_COLUMNS */
	FmgrInfo   *equal;			/* equality of each */
} WindowKeys;

/*
 * Reads rows at positions of its own.  The slot, for minimal tuples, has the
 * row at the position, and the row is valid until the cursor moves.
 */
typedef struct WindowCursor
{
	TupleTableSlot *slot;
	int64		position;		/* -1: on no row */
	bool		passes;			/* nobody looks at the row once another row is
								 * reached or released */
	PrefetchedRows *prefetched; /* rows ahead of it, in an order in memory;
								 * NULL: it follows other cursors */
	int			pointer;		/* read pointer of the tuplestore */
	int64		next;			/* position of the read pointer */

	/* rows that were read from a file together */
	MemoryContext memory;		/* owns them; NULL before the first of them */
	MinimalTuple read[MOST_READ_ROWS];
	int64		first_read;		/* position of the first of them */
	int			nread;
} WindowCursor;

/* A value of the row that was read last. */
typedef struct LastValue
{
	Datum		value;
	bool		isnull;
	Size		size;			/* bytes for which "value" has room */
} LastValue;

typedef struct WindowRows
{
	WindowKeys	keys;
	TupleDesc	descriptor;
	List	   *cursors;		/* all cursors */
	int64		nread;			/* rows that have been read, all of them if
								 * they are in an order */

	/* rows in an order in memory */
	RowOrder   *order;			/* NULL: rows come one after the other */
	GroupStarts *starts;
	Size		row_bytes;		/* bytes of a row to be prefetched */

	/* rows that come one after the other */
	NextRowFunction next;
	void	   *source;
	bool		at_end;			/* no further row comes */
	bool		passing;		/* only the last row can be looked at */
	bool		stay;			/* rows stay where they are */
	TupleTableSlot *last;		/* row that was read last, if rows pass */
	Tuplestorestate *store;		/* rows that may be looked at again, or NULL */
	PagedArray	places;			/* where they lie, if rows stay */
	int64		first;			/* first row that is kept */
	WindowCursor keeper;		/* stays on that row, so that the tuplestore
								 * keeps it; has no slot */
	PagedArray	differences;	/* of all rows, if they do not pass, each in a
								 * byte */
	int8		last_difference;	/* of the last row */
	LastValue  *last_values;	/* of the columns of the keys */
	MemoryContext context;		/* owns what is kept */
	MemoryContext value_context;	/* memory for one comparison at a time */
} WindowRows;

/*
 * Prepares for rows of this descriptor.  The keys have to stay.  With
 * "passing", nobody looks at a row before or behind the row that was read
 * last.  Allocates in a child of the current memory context.
 */
extern void window_rows_init(WindowRows *rows, TupleDesc descriptor,
							 const WindowKeys *keys, bool passing);

/*
 * Adds a cursor, before the first row, with a slot that the caller owns.  With
 * "passes" its row is valid only until a row is reached or released.  With
 * "prefetches" the cursor comes to most rows, in their order, and prefetches
 * those ahead of it.
 */
extern WindowCursor *window_rows_add_cursor(WindowRows *rows,
											TupleTableSlot *slot,
											bool passes, bool prefetches);

/*
 * Begin before the first row: of an order in memory, or of rows that come one
 * after the other, as fast as they are asked for.  Then rows that have to be
 * looked at again go to a tuplestore, unless they stay where they are, as
 * minimal tuples.
 */
extern void window_rows_begin_order(WindowRows *rows, RowOrder *order);
extern void window_rows_begin_reading(WindowRows *rows, NextRowFunction next,
									  void *source, bool stay);

/* Goes back to the first row of an order in memory. */
extern void window_rows_begin_again(WindowRows *rows);

/* Forgets all rows. */
extern void window_rows_end(WindowRows *rows);

/* The same as below, where rows are not in an order. */
extern bool window_rows_read_to(WindowRows *rows, int64 position);
extern TupleTableSlot *window_rows_fetch_kept(WindowRows *rows,
											  WindowCursor *cursor,
											  int64 position);

/* Is there a row at this position?  Reads rows up to it if need be. */
static inline bool
window_rows_reach(WindowRows *rows, int64 position)
{
	return likely(position < rows->nread) ||
		(rows->order == NULL && window_rows_read_to(rows, position));
}

/*
 * The first column of the keys in which the row at this position, which has
 * been reached and not released, differs from the row before it; the number of
 * columns if none does; NO_ROW_BEFORE for the first row.
 */
static inline int
window_rows_difference(WindowRows *rows, int64 position)
{
	if (likely(rows->order != NULL))
		return group_starts_difference(rows->starts, position);
	return rows->passing ? rows->last_difference :
		*(int8 *) paged_array_get(&rows->differences, position);
}

/*
 * Moves a cursor to a row that has been reached and not released; returns the
 * slot that has the row.
 */
static inline TupleTableSlot *
window_rows_fetch(WindowRows *rows, WindowCursor *cursor, int64 position)
{
	if (unlikely(rows->order == NULL))
		return window_rows_fetch_kept(rows, cursor, position);
	if (cursor->position != position)
	{
		void	   *row = cursor->prefetched == NULL ?
			row_order_get(rows->order, position) :
			row_order_get_next(rows->order, cursor->prefetched, position,
							   rows->row_bytes);

		ExecStoreMinimalTuple(row, cursor->slot, false);
		cursor->position = position;
	}
	return cursor->slot;
}

/*
 * Tells that nobody will look at rows before this position, if rows are kept.
 */
extern void window_rows_release(WindowRows *rows, int64 position);

static inline bool
window_rows_are_kept(const WindowRows *rows)
{
	return rows->order == NULL && !rows->passing;
}

#endif							/* GPUSORT_WINDOW_ROWS_H */
