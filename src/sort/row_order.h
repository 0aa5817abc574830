/*-------------------------------------------------------------------------
 *
 * row_order.h
 *	  The order of the rows of a store, by their sort columns.
 *
 * The user puts each row to the store first, and then to the order.  After the
 * last row the order is made: a permutation of row numbers.  If a device is
 * lost, the order makes the keys of the stored rows again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_ORDER_H
#define GPUSORT_ROW_ORDER_H

#include "device/sort_job.h"
#include "keys/sort_keys.h"
#include "port/cache_lines.h"
#include "sort/group_keys.h"
#include "sort/rank_selection.h"
#include "sort/row_compare.h"
#include "sort/row_store.h"

/* Rows that are prefetched together. */
#define PREFETCHED_ROWS		64

/* Rows of successive entries, which have been prefetched. */
typedef struct PrefetchedRows
{
	union
	{
		void	   *rows[PREFETCHED_ROWS];	/* their addresses */
		Datum		values[PREFETCHED_ROWS];	/* or themselves, of a store
												 * of values */
	};
	uint64		first;			/* entry of the first of them */
	uint64		count;
} PrefetchedRows;

/* Size of a text of gpusortd, with a few words added. */
#define REPORT_TEXT_SIZE	(MESSAGE_TEXT_SIZE + 64)

/* The method of rows that came in order. */
#define METHOD_IN_ORDER		"none, rows in order"

/* The method of rows at single places. */
#define METHOD_SELECTION	"selection"

/* A second receiver of all keys, in the order of the rows. */
typedef struct KeySink
{
	/* takes a key, of nwords words; false if it takes no more */
	bool		(*take) (struct KeySink *sink, const uint64_t *words,
						 int nwords);

	/* drops the keys taken so far, which are void; no more keys come */
	void		(*close) (struct KeySink *sink);
} KeySink;

/* The order of a store, and how it is made. */
typedef struct RowOrder
{
	MemoryContext context;		/* owns everything below */
	RowStore   *store;			/* store of the rows, owned by the caller */
	TupleDesc	descriptor;
	RowColumnFunction column;	/* reads a column of a row in the store */
	const SortColumn *columns;	/* sort columns, owned by the caller */
	int			ncolumns;
	double		expected_rows;	/* estimate */

	/* while rows are added */
	SortKeys   *keys;			/* layout of the keys */
	SortJob    *job;			/* job that has the keys, or NULL */
	KeySink    *sink;			/* second receiver of keys, or NULL */
	bool		shared;			/* other processes make keys, too */
	SharedLayout *layout;		/* layout of shared keys, or NULL */
	bool		started_over;	/* a second device has been tried */
	bool		host_only;		/* jobs stay in this process */
	GroupKeys  *group_keys;		/* what tells groups apart, or NULL */
	bool		limited;		/* a limit of groups may leave entries for
								 * some of the rows only */
	bool		selects;		/* only rows at single places are wanted */
	bool		keys_lost;		/* keys were lost, with no room for new ones */
	bool		in_order;		/* all rows came in order, and have no keys */
	Datum		last_value;		/* first column of the last row, if in_order */
	bool		last_isnull;
	TupleTableSlot *slot;		/* slot for keys of stored rows, or NULL */

	/* when the order has been made */
	OrderRoom  *room;			/* where the caller wants the entries, or NULL */
	uint32	   *entries;		/* numbers of the rows, in order, with marks
								 * (ORDER_ROW()); NULL before */
	uint64		nentries;		/* all rows, or those that are to be emitted */
	bool		has_ties;		/* ORDER_TIE marks an entry whose row is equal
								 * to the one before it, and no other */
	bool		limited_exactly;	/* a limit of groups has left only wanted
									 * entries */
	RankSelection *selection;	/* finds rows in place of entries, or NULL */
	RowComparator *comparator;	/* comparators, NULL before the first use */
	PrefetchedRows prefetched;	/* of whoever reads the whole order */

	/* how the order was made, for EXPLAIN and the statistics */
	Size		memory;			/* largest number of bytes, with the store */
	bool		on_device;		/* sorted by gpusortd, or in this process */
	char		device[REPORT_TEXT_SIZE];	/* name of the device, or "host" */
	char		method[REPORT_TEXT_SIZE];	/* method, in a few words */
	uint64		device_microseconds;	/* time of the sort on the device */
} RowOrder;

/*
 * Makes an order for an empty store, whose rows "column" reads.  The
 * descriptor and the sort columns must stay.  NULL if the first column cannot
 * be encoded (sort_keys_create()).  Allocates in the current memory context.
 */
extern RowOrder *row_order_begin(RowStore *store, TupleDesc descriptor,
								 RowColumnFunction column,
								 const SortColumn *columns, int ncolumns,
								 double expected_rows);

/*
 * Prepares an order, right after row_order_begin(), for keys that other
 * processes make, too; false if these cannot make them (sort_keys_share()).
 */
extern bool row_order_share(RowOrder *order);

/*
 * Sets the layout that the keys share with those of other processes, before
 * the first row; NULL after the last key of other processes.
 */
extern void row_order_set_layout(RowOrder *order, SharedLayout *layout);

/*
 * Keeps all jobs in this process.  To be called right after
 * row_order_begin().
 */
extern void row_order_leave_device(RowOrder *order);

/*
 * Keeps the beginnings of keys that tell groups and peers apart; right after
 * row_order_begin().
 */
extern void row_order_keep_groups(RowOrder *order, int ngroup_columns,
								  int npeer_columns);

/*
 * Keeps the beginnings of keys that tell in which of the first columns
 * neighbours differ, for group_starts.h; before the first row.  0: no longer.
 */
extern void row_order_keep_starts(RowOrder *order, int ncolumns);

/*
 * Lets the entries of rows be marked that are equal to the row before them, if
 * keys tell (has_ties); before the first row.
 */
extern void row_order_mark_ties(RowOrder *order);

/*
 * Says that only the rows of single entries will be wanted, in the order of a
 * store that holds all rows; right after row_order_begin().  All jobs stay in
 * this process, until another order is begun.
 */
extern void row_order_want_places(RowOrder *order);

/*
 * Prepares to find rows of single entries, after the last row, instead of
 * row_order_make().  False if keys do not allow that, or nobody wants it.
 */
extern bool row_order_select(RowOrder *order);

/*
 * Returns the row of an entry, after row_order_select().  Makes the order if
 * many entries are asked for.
 */
extern void *row_order_find(RowOrder *order, uint64 entry);

/* If there are marks: is the row of an entry equal to the one before it? */
static inline bool
row_order_is_tie(const RowOrder *order, uint64 entry)
{
	return (order->entries[entry] & ORDER_TIE) != 0;
}

/*
 * Adds the row that came to the store last; the slot has the same row.
 * Returns false if all rows before came in order, and so have no keys, but
 * this row is out of order, and there is no room for keys.  Then the row is to
 * be taken back.  It may be added again when there is room.
 */
extern bool row_order_add(RowOrder *order, TupleTableSlot *slot);

/*
 * Add the rows that came to the store last in another way.  The first function
 * takes their keys, one behind the other, which were made elsewhere in the
 * present layout; key i has key_words[i] words.  The second makes the keys from
 * the stored rows.
 */
extern void row_order_add_keys(RowOrder *order, const uint64_t *words,
							   const uint8 *key_words, uint32 nkeys);
extern void row_order_add_stored(RowOrder *order, uint32 nrows);

/*
 * Changes the layout of the keys, after sort_keys_encode() has returned 0 for
 * a row, in agreement with the processes that share the layout.  Then all keys
 * have to be made again.
 */
extern void row_order_change_layout(RowOrder *order);

/* Adopts the shared layout, if there is one, and makes all keys again if it has changed. */
extern void row_order_adopt_layout(RowOrder *order);

/*
 * Says where the entries are to be, before row_order_make(); the room must
 * stay.
 */
extern void row_order_set_room(RowOrder *order, OrderRoom *room);

/*
 * Makes the order, after the last row.  False if the store and the order would
 * exceed the limit, in bytes; keys_lost tells that the loss of the device is
 * the reason.  Also false if the keys contradict the comparators.
 */
extern bool row_order_make(RowOrder *order, Size limit);

/*
 * After row_order_make(), with rows that are minimal tuples of one by-value
 * column: makes the store hold the values of the rows in place of their
 * addresses.  Takes NULLs out of the order, and returns their number.
 */
extern uint64 row_order_take_values(RowOrder *order, bool nulls_first);

/*
 * Ends the job and frees the keys.  Called before row_order_make(), it gives
 * up the order; called after, row_order_restart() begins another order.
 */
extern void row_order_drop_keys(RowOrder *order);

/*
 * After row_order_make(): sends the keys of the stored rows, and all later
 * keys, to a sink as well.  The sink must stay until it is closed: by itself,
 * by row_order_close_sink(), or because keys have to be made again.
 */
extern void row_order_open_sink(RowOrder *order, KeySink *sink);

/* Closes the sink, if there is one. */
extern void row_order_close_sink(RowOrder *order);

/*
 * Begins another order, of an empty store.  The keys keep their layout, and
 * the job stays in this process if the device has failed.
 */
extern void row_order_restart(RowOrder *order, RowStore *store);

/*
 * The first function makes the key of a row, which need not be stored, as
 * sort_keys_encode() does; the second compares two rows, as row_compare()
 * does.
 */
extern int	row_order_encode(RowOrder *order, const void *row,
							 uint64_t *words);
extern int	row_order_compare(RowOrder *order, const void *a, const void *b);

/*
 * Raise an error if this entry and the one before it, or any two neighbours, are
 * out of order, or wrongly marked as equal.
 */
extern void row_order_verify(RowOrder *order, uint64 entry);
extern void row_order_verify_all(RowOrder *order);

/*
 * Bytes that the rows added so far take beside the store.  If their keys were
 * lost, returns the limit of the store, which then has no room for another
 * row.
 */
static inline Size
row_order_memory(const RowOrder *order)
{
	if (unlikely(order->keys_lost))
		return order->store->limit;
	return order->in_order ? order->store->nrows * sizeof(uint32) :
		sort_job_memory(order->job) +
		(order->group_keys != NULL ? group_keys_memory(order->group_keys) : 0);
}

/* The row of an entry. */
static inline void *
row_order_get(const RowOrder *order, uint64 entry)
{
	return row_store_get(order->store, ORDER_ROW(order->entries[entry]));
}

/* The most bytes that are prefetched of a row. */
#define MOST_FETCHED_BYTES	(8 * CACHE_LINE_BYTES)

/*
 * Finds the rows of this entry and the next ones, and prefetches the first
 * "bytes" bytes of each.
 */
extern void row_order_prefetch(const RowOrder *order, PrefetchedRows *prefetched,
							   uint64 entry, Size bytes);

/*
 * The row of an entry, when entries are read one after the other, and the
 * first "bytes" bytes of each row.  Each reader has prefetched rows of its
 * own, with a count of 0 at first.
 */
static inline void *
row_order_get_next(const RowOrder *order, PrefetchedRows *prefetched,
				   uint64 entry, Size bytes)
{
	if (unlikely(entry - prefetched->first >= prefetched->count))
		row_order_prefetch(order, prefetched, entry, bytes);
	return prefetched->rows[entry - prefetched->first];
}

/* The same for the reader of the whole order. */
static inline void *
row_order_get_forward(RowOrder *order, uint64 entry, Size bytes)
{
	return row_order_get_next(order, &order->prefetched, entry, bytes);
}

/*
 * The same for a store of values: fetches the values of this entry and the
 * next ones.
 */
extern void row_order_fetch_values(RowOrder *order, uint64 entry);

/* The value of an entry, when entries are read one after the other. */
static inline Datum
row_order_value_forward(RowOrder *order, uint64 entry)
{
	const PrefetchedRows *prefetched = &order->prefetched;

	if (unlikely(entry - prefetched->first >= prefetched->count))
		row_order_fetch_values(order, entry);
	return prefetched->values[entry - prefetched->first];
}

#endif							/* GPUSORT_ROW_ORDER_H */
