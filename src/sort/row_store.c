/*-------------------------------------------------------------------------
 *
 * row_store.c
 *	  The rows of a sort, in memory, in the order in which they came.
 *
 * Rows are put one behind the other into large blocks, with no allocation and
 * no header for a single row; rows of slots become minimal tuples.  A
 * directory notes where each row begins, since the sort returns an order of
 * row numbers.
 *
 * A row that is a single value is in the directory itself: it takes no more
 * room than its address would.
 *
 * A row that is wide compared with a block, and does not fit into the rest of
 * the last block, gets memory of its own; the rest of the block stays for
 * narrower rows.  The last blocks before the limit are smaller.  So little of
 * the limit goes unused, whatever the width of the rows.
 *
 * Blocks and the pages of the directory grow with the store, up to a size that
 * huge pages cover nearly wholly.  With huge pages the store is filled faster,
 * and is read in the order of the sort without a miss of the TLB for each row.
 *
 * Memory that has been touched is worth more than new memory.  So the process
 * keeps a few blocks when a store ends, for the next store (spare_memory.c),
 * and large blocks are made of the shared memory that the server has set
 * aside, if that has huge pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "port/huge_pages.h"
#include "port/shared_memory.h"
#include "sort/row_store.h"
#include "sort/slot_row.h"
#include "sort/spare_memory.h"

#define FIRST_BLOCK_BYTES	((Size) 16 * 1024)
#define LARGEST_BLOCK_BYTES ((Size) 32 * 1024 * 1024)

/* Blocks are small parts of the limit, so that little of it goes unused. */
#define BLOCK_PART			32
#define FIRST_BLOCK_PART	16

/*
 * If there is no memory for a block, a block may still have this part of its
 * size.
 */
#define LAST_BLOCK_PART		8

/*
 * A row is wide if it has more than this part of a block, and enough bytes for
 * the overhead of its own memory to be small.
 */
#define WIDE_ROW_PART		64
#define LEAST_WIDE_BYTES	((Size) 4 * 1024)

#define FIRST_DIRECTORY_ROWS	((uint64) 128)

/*
 * From this size on blocks are made of the memory set aside, if possible.
 * Smaller blocks are not.  The process keeps that much touched memory for its
 * next sort anyway, and all processes share one lock for the memory set aside,
 * for which many processes wait long (docs/notes/2026-11-many-sessions.md).
 */
#define SHARED_BLOCK_BYTES	((Size) 1 * 1024 * 1024)

/*
 * A store of values checks after this many values whether there is room for
 * more.
 */
#define VALUES_AT_ONCE		256

/* After this many expensive huge pages the store asks for no more. */
#define MAX_SLOW_ANSWERS	2

typedef struct RowBlock
{
	struct RowBlock *next;
	dsm_segment *segment;		/* segment of the block; NULL: the block is in
								 * own memory */
	Size		bytes;			/* bytes of the block, with this header */
	uint64		first_row;		/* number of the first row in the block */
} RowBlock;

#define BLOCK_HEADER_BYTES	MAXALIGN(sizeof(RowBlock))

/* A wide row follows this, in memory of its own. */
typedef struct WideRow
{
	dlist_node	node;
	uint64		number;			/* number of the row */
	Size		bytes;			/* bytes that count for the row */
} WideRow;

#define WIDE_HEADER_BYTES	MAXALIGN(sizeof(WideRow))

/*
 * Bytes that palloc() and malloc() take beside memory that is a block of its
 * own.
 */
#define ALLOCATION_BYTES	64

/*
 * Asks for huge pages for new memory, unless huge pages have been expensive.
 */
static void
ask_for_huge_pages(RowStore *store, char *memory, Size bytes)
{
	if (store->slow_answers < MAX_SLOW_ANSWERS &&
		!huge_pages_advise(memory, bytes))
		store->slow_answers++;
}

/*
 * Makes a block of the memory set aside; NULL if there is none left.  Then the
 * store does not try again.
 */
static RowBlock *
make_shared_block(RowStore *store, Size bytes)
{
	dsm_segment *segment;
	RowBlock   *block;

	if (bytes < SHARED_BLOCK_BYTES || store->nothing_set_aside ||
		store->memory + bytes <= SPARE_MOST_BYTES)
		return NULL;
	segment = shared_memory_create_huge(bytes);
	if (segment == NULL)
	{
		store->nothing_set_aside = true;
		return NULL;
	}
	block = dsm_segment_address(segment);
	block->segment = segment;
	return block;
}

/* Makes a block of this process's own memory. */
static RowBlock *
make_own_block(RowStore *store, Size bytes)
{
	RowBlock   *block = spare_memory_create(bytes);

	ask_for_huge_pages(store, (char *) block, bytes);
	block->segment = NULL;
	return block;
}

/*
 * Returns a block of this size.  If the block is new, spare memory keeps at
 * most "others" bytes.
 */
static RowBlock *
get_block(RowStore *store, Size bytes, Size others)
{
	RowBlock   *block = spare_memory_get(bytes);

	if (block != NULL)
		block->segment = NULL;
	else
	{
		spare_memory_limit(others);
		block = make_shared_block(store, bytes);
		if (block == NULL)
			block = make_own_block(store, bytes);
	}
	block->bytes = bytes;
	return block;
}

/* Frees a block, or keeps it for another sort. */
static void
drop_block(RowBlock *block)
{
	if (block->segment != NULL)
		dsm_detach(block->segment);
	else
		spare_memory_put(block, block->bytes);
}

static void
free_first_block(RowStore *store)
{
	RowBlock   *block = store->first_block;

	store->first_block = block->next;
	store->memory -= block->bytes;
	drop_block(block);
}

/* Bytes of the pages of the directory. */
static Size
directory_bytes(const RowStore *store)
{
	uint64		nfreed = (uint64) store->first_page << DIRECTORY_PAGE_BITS;

	return (store->max_rows - nfreed) * sizeof(void *);
}

static void
free_wide_row(RowStore *store, WideRow *wide)
{
	dlist_delete(&wide->node);
	store->memory -= wide->bytes;
	spare_memory_count_freed(wide->bytes);
	pfree(wide);
}

/* Frees the wide rows before this one. */
static void
free_wide_rows_before(RowStore *store, uint64 row)
{
	while (!dlist_is_empty(&store->wide_rows))
	{
		WideRow    *wide = dlist_head_element(WideRow, node, &store->wide_rows);

		if (wide->number >= row)
			break;
		free_wide_row(store, wide);
	}
}

/* Memory context callback: frees the blocks, however the store ends. */
static void
free_blocks(void *argument)
{
	RowStore   *store = argument;

	free_wide_rows_before(store, store->nrows);
	while (store->first_block != NULL)
		free_first_block(store);
	spare_memory_count_freed(directory_bytes(store));
	spare_memory_watch();
}

RowStore *
row_store_create(TupleDesc descriptor, Size limit)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort rows",
												  ALLOCSET_SMALL_SIZES);
	RowStore   *store = MemoryContextAllocZero(context, sizeof(RowStore));

	spare_memory_begin();
	store->on_reset.func = free_blocks;
	store->on_reset.arg = store;
	MemoryContextRegisterResetCallback(context, &store->on_reset);
	store->context = context;
	store->descriptor = descriptor;
	store->limit = limit;
	dlist_init(&store->wide_rows);
	store->block_bytes = FIRST_BLOCK_BYTES;
	return store;
}

void
row_store_hold_values(RowStore *store)
{
	StaticAssertStmt(sizeof(Datum) == sizeof(void *),
					 "a value takes the place of an address");
	store->of_values = true;
}

void
row_store_free(RowStore *store)
{
	MemoryContextDelete(store->context);
}

/* The pointer to the block that follows the last one. */
static RowBlock **
next_block(RowStore *store)
{
	return store->last_block == NULL ?
		&store->first_block : &store->last_block->next;
}

/* Do this many more bytes fit the limit? The first row of all always fits. */
static inline bool
fits(const RowStore *store, Size more)
{
	return store->memory + more <= store->limit || store->nrows == 0;
}

/*
 * Frees blocks without rows until "more" bytes fit; the block that will be
 * filled next is the last to go.
 */
static void
free_empty_blocks(RowStore *store, Size more)
{
	while (*next_block(store) != NULL && store->memory + more > store->limit)
	{
		RowBlock  **place = next_block(store);
		RowBlock   *block;

		if ((*place)->next != NULL)
			place = &(*place)->next;
		block = *place;
		*place = block->next;
		store->memory -= block->bytes;
		drop_block(block);
	}
	/* spare memory counts as well */
	spare_memory_limit(store->limit -
					   Min(store->limit, store->memory + more));
}

/*
 * Frees blocks without rows, which are kept for the next run, but may have to
 * make room for other memory.
 */
bool
row_store_make_room(RowStore *store, Size more)
{
	if (unlikely(!fits(store, more)))
		free_empty_blocks(store, more);
	return fits(store, more);
}

/* The most bytes of a block, unless a row has more. */
static Size
most_block_bytes(const RowStore *store)
{
	return Max(store->limit / BLOCK_PART,
			   Min(store->limit / FIRST_BLOCK_PART, FIRST_BLOCK_BYTES));
}

/* Bytes of the limit that are left after "more" bytes. */
static Size
room_beside(const RowStore *store, Size more)
{
	return store->limit - Min(store->limit, store->memory + more);
}

/*
 * Makes a new block that follows the last one, a smaller one if there is no
 * room for a full one; false if over the limit.
 */
static bool
make_block(RowStore *store, Size row_bytes, Size other_memory)
{
	Size		least = Max(most_block_bytes(store) / LAST_BLOCK_PART,
							BLOCK_HEADER_BYTES + row_bytes);
	Size		bytes = Max(Min(store->block_bytes, most_block_bytes(store)),
							BLOCK_HEADER_BYTES + row_bytes);
	RowBlock   *block;

	while (!row_store_make_room(store, other_memory + bytes))
	{
		bytes /= 2;
		if (bytes < least)
			return false;
	}

	/* spare memory counts as well */
	block = get_block(store, bytes, room_beside(store, other_memory + bytes));
	block->next = *next_block(store);
	*next_block(store) = block;
	store->memory += bytes;

	store->block_bytes = Min(store->block_bytes * 2, LARGEST_BLOCK_BYTES);
	return true;
}

/*
 * Makes a block with room for a row of this size the last block.  False if
 * that would exceed the limit.
 */
static bool
add_block(RowStore *store, Size row_bytes, Size other_memory)
{
	RowBlock   *block;

	if (!row_store_make_room(store, other_memory))
		return false;
	block = *next_block(store);
	if (block == NULL || block->bytes < BLOCK_HEADER_BYTES + row_bytes)
	{
		if (!make_block(store, row_bytes, other_memory))
			return false;
		block = *next_block(store);
	}
	store->last_block = block;
	block->first_row = store->nrows;
	store->free_space = (char *) block + BLOCK_HEADER_BYTES;
	store->free_bytes = block->bytes - BLOCK_HEADER_BYTES;
	return true;
}

/*
 * Makes room in the directory for more rows; false if over the limit.  Its
 * first page grows, so that few rows take little.
 */
static bool
grow_directory(RowStore *store, Size other_memory)
{
	int			page = store->max_rows >> DIRECTORY_PAGE_BITS;
	bool		first_grows = page == 0 && store->max_rows > 0;
	uint64		rows = page > 0 ? DIRECTORY_PAGE_ROWS :
		Max(store->max_rows, FIRST_DIRECTORY_ROWS);
	Size		bytes = rows * sizeof(void *);
	Size		old_bytes = first_grows ? bytes : 0;

	if (!row_store_make_room(store, other_memory + bytes))
		return false;

	if (page == store->max_pages)
	{
		int			max_pages = Max(64, store->max_pages * 2);

		store->directory = store->directory == NULL ?
			MemoryContextAlloc(store->context,
							   max_pages * sizeof(void **)) :
			repalloc_huge(store->directory,
						  max_pages * sizeof(void **));
		store->max_pages = max_pages;
	}
	store->directory[page] = first_grows ?
		repalloc(store->directory[page], old_bytes + bytes) :
		MemoryContextAlloc(store->context, bytes);
	ask_for_huge_pages(store, (char *) store->directory[page] + old_bytes,
					   bytes);
	store->max_rows += rows;
	store->memory += bytes;
	return true;
}

/* Is a row of this size wide? */
static bool
is_wide(const RowStore *store, Size row_bytes)
{
	return row_bytes > Max(most_block_bytes(store) / WIDE_ROW_PART,
						   LEAST_WIDE_BYTES);
}

/* As row_space(), for a wide row. */
static void *
wide_row_space(RowStore *store, Size row_bytes, Size other_memory)
{
	Size		bytes = WIDE_HEADER_BYTES + row_bytes;
	Size		counted = bytes + ALLOCATION_BYTES;
	WideRow    *wide;
	char	   *row;

	if (!row_store_make_room(store, other_memory + counted))
		return NULL;

	/* spare memory counts as well */
	spare_memory_limit(room_beside(store, other_memory + counted));
	wide = MemoryContextAllocHuge(store->context, bytes);
	row = (char *) wide + WIDE_HEADER_BYTES;
	wide->number = store->nrows;
	wide->bytes = counted;
	if (!row_store_note(store, row, counted, other_memory))
	{
		pfree(wide);
		return NULL;
	}
	dlist_push_tail(&store->wide_rows, &wide->node);
	ask_for_huge_pages(store, row, row_bytes);
	return row;
}

/*
 * Returns room for a row of this size, and notes it in the directory as the
 * next row; NULL if over the limit.
 */
static inline void *
row_space(RowStore *store, Size row_bytes, Size other_memory)
{
	void	   *row;

	row_bytes = MAXALIGN(row_bytes);
	if (unlikely(row_bytes > store->free_bytes))
	{
		if (is_wide(store, row_bytes))
			return wide_row_space(store, row_bytes, other_memory);
		if (!add_block(store, row_bytes, other_memory))
			return NULL;
	}
	if (unlikely(store->nrows == store->max_rows) &&
		!grow_directory(store, other_memory))
		return NULL;

	row = store->free_space;
	store->free_space += row_bytes;
	store->free_bytes -= row_bytes;
	*row_store_place(store, store->nrows++) = row;
	PREFETCH_WRITE(row, row_bytes);
	return row;
}

/* The same for a value. */
static inline Datum *
value_space(RowStore *store, Size other_memory)
{
	if (unlikely(store->nrows % VALUES_AT_ONCE == 0) &&
		!row_store_make_room(store, other_memory))
		return NULL;
	if (unlikely(store->nrows == store->max_rows) &&
		!grow_directory(store, other_memory))
		return NULL;
	return (Datum *) row_store_place(store, store->nrows++);
}

void *
row_store_reserve(RowStore *store, Size row_bytes, Size other_memory)
{
	return store->of_values ? value_space(store, other_memory) :
		row_space(store, row_bytes, other_memory);
}

bool
row_store_add_value(RowStore *store, Datum value, Size other_memory)
{
	Datum	   *place = value_space(store, other_memory);

	if (unlikely(place == NULL))
		return false;
	*place = value;
	return true;
}

/* Notes rows in the directory, which has room for them. */
static void
note_places(RowStore *store, char *base, const uint32 *places, uint32 nrows)
{
	while (nrows > 0)
	{
		uint32		first = store->nrows & (DIRECTORY_PAGE_ROWS - 1);
		uint32		count = Min(nrows, DIRECTORY_PAGE_ROWS - first);
		void	  **page = row_store_place(store, store->nrows);

		for (uint32 i = 0; i < count; i++)
			page[i] = base + places[i];
		store->nrows += count;
		places += count;
		nrows -= count;
	}
}

/* Makes room in the directory for this many rows; false if over the limit. */
static bool
reserve_places(RowStore *store, uint32 nrows, Size other_memory)
{
	while (store->max_rows - store->nrows < nrows)
	{
		if (!grow_directory(store, other_memory))
			return false;
	}
	return true;
}

uint32
row_store_note_all(RowStore *store, char *base, const uint32 *places,
				   uint32 nrows, Size other_memory)
{
	Size		bytes = places[nrows] - places[0];

	/* of the first rows of all only one may exceed the limit */
	if (likely(store->nrows > 0 &&
			   row_store_make_room(store, other_memory + bytes) &&
			   reserve_places(store, nrows, other_memory + bytes)))
	{
		note_places(store, base, places, nrows);
		store->memory += bytes;
		return nrows;
	}
	for (uint32 i = 0; i < nrows; i++)
		if (!row_store_note(store, base + places[i], places[i + 1] - places[i],
							other_memory))
			return i;
	return nrows;
}

bool
row_store_note(RowStore *store, void *row, Size row_bytes, Size other_memory)
{
	if (!row_store_make_room(store, other_memory + row_bytes))
		return false;
	if (unlikely(store->nrows == store->max_rows) &&
		!grow_directory(store, other_memory + row_bytes))
		return false;
	*row_store_place(store, store->nrows++) = row;
	store->memory += row_bytes;
	return true;
}

bool
row_store_add(RowStore *store, TupleTableSlot *slot, Size other_memory)
{
	SlotRow		row = slot_row_find(slot, store->descriptor);
	MinimalTuple place = row_space(store, row.bytes, other_memory);

	if (unlikely(place == NULL))
		return false;
	slot_row_write(&row, slot, store->descriptor, place);
	return true;
}

void
row_store_take_back(RowStore *store)
{
	char	   *row = row_store_get(store, --store->nrows);

	if (store->of_values)
		return;
	if (!dlist_is_empty(&store->wide_rows))
	{
		WideRow    *wide = dlist_tail_element(WideRow, node, &store->wide_rows);

		if (wide->number == store->nrows)
		{
			free_wide_row(store, wide);
			return;
		}
	}
	store->free_bytes += store->free_space - row;
	store->free_space = row;
}

/* Frees the pages of the directory that have only values before this row. */
static void
free_pages_before(RowStore *store, uint64 row)
{
	while (store->first_page < row >> DIRECTORY_PAGE_BITS)
	{
		pfree(store->directory[store->first_page++]);
		store->memory -= DIRECTORY_PAGE_ROWS * sizeof(Datum);
	}
}

void
row_store_forget_before(RowStore *store, uint64 row)
{
	if (store->of_values)
		free_pages_before(store, row);
	free_wide_rows_before(store, row);

	/* without a last block all blocks are empty */
	while (store->last_block != NULL &&
		   store->first_block != store->last_block &&
		   store->first_block->next->first_row <= row)
		free_first_block(store);
}

void
row_store_reset(RowStore *store)
{
	free_wide_rows_before(store, store->nrows);
	store->nrows = 0;
	store->last_block = NULL;
	store->free_bytes = 0;
}
