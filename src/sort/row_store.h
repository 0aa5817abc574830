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

/*
 * Rows whose places are noted in one page of the directory: 16 MB, most of
 * which huge pages can cover.
 */
#define DIRECTORY_PAGE_BITS		21
#define DIRECTORY_PAGE_ROWS		(1 << DIRECTORY_PAGE_BITS)

typedef struct RowStore
{
	MemoryContext context;		/* holds everything below but the blocks */
	MemoryContextCallback on_reset; /* frees those */
	TupleDesc	descriptor;
	Size		limit;			/* bytes that may be used */
	Size		memory;			/* bytes in use */
	uint64		nrows;

	void	 ***directory;		/* pages of the places of the rows */
	int			max_pages;
	uint64		max_rows;		/* that the pages made so far can note */

	struct RowBlock *first_block;	/* oldest; the blocks are a list */
	struct RowBlock *last_block;	/* that has rows; empty ones may follow */
	char	   *free_space;		/* in the last block */
	Size		free_bytes;
	Size		block_bytes;	/* size of the next block */
	int			slow_answers;	/* of huge_pages_advise() */
	bool		nothing_set_aside;	/* of shared memory, or no more */
} RowStore;

/*
 * Makes an empty store in a memory context of its own, a child of the current
 * one.  The limit is in bytes.  Rows of slots are stored as minimal tuples of
 * this descriptor.
 */
extern RowStore *row_store_create(TupleDesc descriptor, Size limit);

/*
 * Copies the slot's row into the store, as number store->nrows, and returns
 * true; or returns false, and the store is as before, if that would take the
 * store and "other_memory" (what the caller has beside it) over the limit.  A
 * first row is taken whatever its size.
 */
extern bool row_store_add(RowStore *store, TupleTableSlot *slot,
						  Size other_memory);

/*
 * The same for a row of any other form: room for so many bytes, aligned as
 * widely as any value, or NULL.
 */
extern void *row_store_reserve(RowStore *store, Size row_bytes,
							   Size other_memory);

/*
 * Notes a row that the caller has elsewhere as the next one; false if that,
 * with its bytes, is over the limit.
 */
extern bool row_store_note(RowStore *store, void *row, Size row_bytes,
						   Size other_memory);

/*
 * Is so much more within the limit?  Memory that the store keeps for more rows
 * is given up for that.
 */
extern bool row_store_make_room(RowStore *store, Size more);

/* Takes the last row out again, which the store has copied or reserved. */
extern void row_store_take_back(RowStore *store);

/* Are the rows in memory of the store, or only noted? */
static inline bool
row_store_has_rows(const RowStore *store)
{
	return store->first_block != NULL;
}

/* Empties the store.  It keeps memory for as many rows as it had. */
extern void row_store_reset(RowStore *store);

/* Frees what only rows before this one need; those cannot be had again. */
extern void row_store_forget_before(RowStore *store, uint64 row);

extern void row_store_free(RowStore *store);

/* Where the row's place is noted. */
static inline void **
row_store_place(const RowStore *store, uint32 row)
{
	return &store->directory[row >> DIRECTORY_PAGE_BITS]
		[row & (DIRECTORY_PAGE_ROWS - 1)];
}

static inline void *
row_store_get(const RowStore *store, uint32 row)
{
	return *row_store_place(store, row);
}

/* Bytes of a row, on average and more or less. */
static inline Size
row_store_row_bytes(const RowStore *store)
{
	return store->nrows == 0 ? 0 : store->memory / store->nrows;
}

#endif							/* GPUSORT_ROW_STORE_H */
