/*-------------------------------------------------------------------------
 *
 * row_order.h
 *	  The order of the rows of a store, by their sort columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_ORDER_H
#define GPUSORT_ROW_ORDER_H

#include "device/sort_job.h"
#include "keys/sort_keys.h"
#include "port/cache_lines.h"
#include "sort/row_compare.h"
#include "sort/row_store.h"

/* Rows that are found and fetched into the cache together. */
#define PREFETCHED_ROWS		64

/* For what gpusortd says of a sort, and a few words more. */
#define REPORT_TEXT_SIZE	(MESSAGE_TEXT_SIZE + 64)

/* Who is given all keys, too, in the order in which rows come. */
typedef struct KeySink
{
	/* takes a key; false if it wants no more of them */
	bool		(*take) (struct KeySink *sink, const uint64_t *words,
						 int nwords);

	/* the keys that it has taken are of no use any more, and none follow */
	void		(*close) (struct KeySink *sink);
} KeySink;

typedef struct RowOrder
{
	MemoryContext context;		/* holds everything below */
	RowStore   *store;			/* the caller's */
	TupleDesc	descriptor;
	RowColumnFunction column;	/* of the store's rows */
	SortColumn *columns;
	int			ncolumns;
	double		expected_rows;

	/* while rows are added */
	SortKeys   *keys;
	SortJob    *job;
	KeySink    *sink;			/* the caller's; NULL: nobody else wants keys */
	bool		shared;			/* some keys are made by others */
	bool		started_over;	/* on another device than the first */
	bool		host_only;		/* since the device has failed */
	bool		keys_lost;		/* with it, and there is no room for others */
	bool		in_order;		/* all came in order, and have no keys yet */
	Datum		last_value;		/* then of the last row the first column */
	bool		last_isnull;
	TupleTableSlot *slot;		/* for keys made of stored rows; on first use */

	/* when the order has been made */
	uint32	   *entries;		/* the numbers of all rows */
	RowComparator *comparator;	/* made on first use */
	void	   *prefetched[PREFETCHED_ROWS];	/* rows whose places are known */
	uint64		first_prefetched;	/* entry of the first of them */
	uint64		nprefetched;

	/* how it was made, for EXPLAIN and the statistics */
	Size		memory;			/* bytes at the highest, with the store */
	bool		on_device;		/* or in this process */
	char		device[REPORT_TEXT_SIZE];
	char		method[REPORT_TEXT_SIZE];
	uint64		device_microseconds;	/* on the device alone */
} RowOrder;

/*
 * Begins with an empty store.  "column" reads its rows; the sort columns are
 * kept and must stay, and so must the descriptor.  Allocates in the current
 * memory context.
 */
extern RowOrder *row_order_begin(RowStore *store, TupleDesc descriptor,
								 RowColumnFunction column,
								 SortColumn *columns, int ncolumns,
								 double expected_rows);

/*
 * Right after that: other processes will make keys, too (sort_keys_share()).
 * False if they cannot.
 */
extern bool row_order_share(RowOrder *order);

/* Right after row_order_begin(): no device is asked. */
extern void row_order_leave_device(RowOrder *order);

/*
 * Takes the row that came to the store last, and makes its key; the slot has
 * the same row.  False if there is no room for keys, which those before it have
 * not needed: these are to be ordered without it.
 */
extern bool row_order_add(RowOrder *order, TupleTableSlot *slot);

/*
 * Instead of that: takes a key that was made elsewhere, in the present layout;
 * or makes it of the row as it is in the store.
 */
extern void row_order_add_key(RowOrder *order, const uint64_t *words,
							  int nwords);
extern void row_order_add_stored(RowOrder *order);

/* Changes to the general layout (sort_keys.h) unless that is the present one. */
extern void row_order_generalize(RowOrder *order);

/*
 * After the last row: makes the order.  False if that would take store and
 * order over the limit, in bytes (then keys_lost says whether with the device
 * it would not have), or if the keys turn out to be misleading.
 */
extern bool row_order_make(RowOrder *order, Size limit);

/*
 * Frees what keys take, unless row_order_restart() is to have it; called
 * before row_order_make() it gives the order up.
 */
extern void row_order_drop_keys(RowOrder *order);

/*
 * After row_order_make(): the keys of the stored rows, and all others from now
 * on, go to a sink, too.
 */
extern void row_order_open_sink(RowOrder *order, KeySink *sink);

/* Closes the sink, if there is one. */
extern void row_order_close_sink(RowOrder *order);

/*
 * Begins once more, with an empty store; keys go on as they are made now, and
 * are sorted in this process if the device has failed before.
 */
extern void row_order_restart(RowOrder *order, RowStore *store);

/*
 * Makes the key of any such row, as sort_keys_encode() does; compares two, as
 * row_compare() does.
 */
extern int	row_order_encode(RowOrder *order, const void *row,
							 uint64_t *words);
extern int	row_order_compare(RowOrder *order, const void *a, const void *b);

/* Raises an error if the row of this entry sorts before the previous one's. */
extern void row_order_verify(RowOrder *order, uint64 entry);

/*
 * Bytes that the rows added so far take beside the store; as much as leaves no
 * room for another one if their keys have been lost.
 */
static inline Size
row_order_memory(const RowOrder *order)
{
	if (unlikely(order->keys_lost))
		return order->store->limit;
	return order->in_order ? order->store->nrows * sizeof(uint32) :
		sort_job_memory(order->job);
}

/* The row of an entry. */
static inline void *
row_order_get(const RowOrder *order, uint64 entry)
{
	return row_store_get(order->store, order->entries[entry]);
}

/* What is fetched into the cache, at the most, of a row needed as a whole. */
#define MOST_FETCHED_BYTES	(8 * CACHE_LINE_BYTES)

/*
 * Finds the rows of this entry and the next ones, and fetches the first so
 * many bytes of each into the cache.
 */
extern void row_order_prefetch(RowOrder *order, uint64 entry, Size bytes);

/*
 * The row of an entry, when the entries after it will be wanted next, and of
 * each row its first so many bytes.
 */
static inline void *
row_order_get_forward(RowOrder *order, uint64 entry, Size bytes)
{
	if (unlikely(entry - order->first_prefetched >= order->nprefetched))
		row_order_prefetch(order, entry, bytes);
	return order->prefetched[entry - order->first_prefetched];
}

#endif							/* GPUSORT_ROW_ORDER_H */
