/*-------------------------------------------------------------------------
 *
 * row_store.h
 *	  The rows of a sort, in memory, in the order in which they came.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_STORE_H
#define GPUSORT_ROW_STORE_H

#include "executor/tuptable.h"
#include "lib/ilist.h"

/*
 * Rows of a page of the directory, as a power of two: the page has 16 MB, most
 * of which huge pages can cover.
 */
#define DIRECTORY_PAGE_BITS		21
#define DIRECTORY_PAGE_ROWS		(1 << DIRECTORY_PAGE_BITS)

typedef struct RowStore
{
	MemoryContext context;		/* owns everything below but the blocks */
	MemoryContextCallback on_reset; /* frees the blocks */
	TupleDesc	descriptor;
	Size		limit;			/* bytes that the store may take */
	Size		memory;			/* bytes that the store takes */
	uint64		nrows;

	void	 ***directory;		/* pages of the rows' addresses, or values */
	bool		of_values;		/* rows are values, and in the directory */
	int			first_page;		/* first page that has not been freed */
	int			max_pages;		/* room for pages */
	uint64		max_rows;		/* rows that the pages so far have room for */

	struct RowBlock *first_block;	/* oldest block; the blocks are a list */
	struct RowBlock *last_block;	/* last block with rows; empty ones may
									 * follow */
	char	   *free_space;		/* first free byte of the last block */
	Size		free_bytes;		/* free bytes of the last block */
	Size		block_bytes;	/* size of the next block */
	dlist_head	wide_rows;		/* rows in memory of their own, by number */
	int			slow_answers;	/* times that huge_pages_advise() was false */
	bool		nothing_set_aside;	/* the server's memory set aside is used
									 * up */
} RowStore;

/*
 * Makes an empty store in a memory context of its own, a child of the current
 * one.  The limit is in bytes.  Rows of slots are stored as minimal tuples of
 * this descriptor.
 */
extern RowStore *row_store_create(TupleDesc descriptor, Size limit);

/*
 * Prepares an empty store for rows that are one value each, a Datum, added by
 * row_store_add_value() or row_store_reserve().  The address of a row is then
 * valid until the next row is added.
 */
extern void row_store_hold_values(RowStore *store);

/*
 * Copies the slot's row into the store, as number store->nrows, and returns
 * true.  Returns false, with the store unchanged, if the store and the
 * caller's other_memory bytes would exceed the limit.  Takes a first row of
 * any size.
 */
extern bool row_store_add(RowStore *store, TupleTableSlot *slot,
						  Size other_memory);

/* The same for a value. */
extern bool row_store_add_value(RowStore *store, Datum value,
								Size other_memory);

/*
 * The same for a row of any other form.  Returns MAXALIGNed room for its
 * bytes, or NULL.
 */
extern void *row_store_reserve(RowStore *store, Size row_bytes,
							   Size other_memory);

/*
 * Adds the address of a row in other memory, where the row must stay.  Its
 * bytes count as the store's.  Returns false if that would exceed the limit.
 */
extern bool row_store_note(RowStore *store, void *row, Size row_bytes,
						   Size other_memory);

/*
 * The same for nrows rows that lie one behind the other, row i from base +
 * places[i] to base + places[i + 1].  Returns the number of rows that were
 * added: fewer if all would exceed the limit.
 */
extern uint32 row_store_note_all(RowStore *store, char *base,
								 const uint32 *places, uint32 nrows,
								 Size other_memory);

/*
 * Are "more" bytes beside the store within the limit?  Frees memory that the
 * store keeps for more rows, if need be.
 */
extern bool row_store_make_room(RowStore *store, Size more);

/* Removes the last row, which the store has copied or reserved. */
extern void row_store_take_back(RowStore *store);

/* Are the rows in the store's memory, and not in other memory? */
static inline bool
row_store_has_rows(RowStore *store)
{
	return store->first_block != NULL || store->of_values ||
		!dlist_is_empty(&store->wide_rows);
}

/* Empties the store, and keeps its blocks for as many rows. */
extern void row_store_reset(RowStore *store);

/* Frees the memory of rows before this one, which cannot be read again. */
extern void row_store_forget_before(RowStore *store, uint64 row);

extern void row_store_free(RowStore *store);

/* The entry of a row in the directory. */
static inline void **
row_store_place(const RowStore *store, uint32 row)
{
	return &store->directory[row >> DIRECTORY_PAGE_BITS]
		[row & (DIRECTORY_PAGE_ROWS - 1)];
}

static inline void *
row_store_get(const RowStore *store, uint32 row)
{
	void	  **place = row_store_place(store, row);

	return unlikely(store->of_values) ? (void *) place : *place;
}

/* Bytes of a row, on average, with its share of the directory. */
static inline Size
row_store_row_bytes(const RowStore *store)
{
	return store->nrows == 0 ? 0 : store->memory / store->nrows;
}

#endif							/* GPUSORT_ROW_STORE_H */
