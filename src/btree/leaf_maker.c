/*-------------------------------------------------------------------------
 *
 * leaf_maker.c
 *	  Making the leaf pages of a B-tree from rows that are in its order.
 *
 * The pages are those that core writes for the same rows, to the byte.  So
 * this file follows the rules of PostgreSQL's README for nbtree, and of its
 * code that builds indexes:
 *
 * Equal rows become a posting list, one tuple with the places of all of them,
 * or several lists if there are many.  Any other row is a tuple itself.
 *
 * A page is full when a tuple comes that has no room on it, or when less is
 * free than the fill factor leaves.  Then the last tuple on the page moves to
 * the next page, and a part of it becomes the high key: as many columns as
 * tell it from the tuple before.
 *
 * So the beginnings of pages depend only on the sizes of rows, and on which
 * rows equal the row before them.  Both together are the measure of a row, two
 * bytes.  Rows are taken by chunks, and each chunk has three steps: measure
 * its rows, lay out the pages by the measures, and fill the pages.  Only the
 * second step has to wait for the chunk before.  It is by far the shortest, as
 * it reads no row.  Thus several processes can make pages of one index.
 *
 * Even in one process this is faster than core, since tuples are taken from
 * where they were collected, and are known to be in order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"

#include "btree/leaf_maker.h"
#include "btree/tree_page.h"
#include "btree/unique_check.h"
#include "port/cache_lines.h"
#include "port/compat.h"

/*
 * The most bytes of a posting list: a tenth of a page less one line pointer.
 */
#define POSTING_MAX_BYTES \
	((Size) MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData))

/* A measure: the size of a row, and whether it equals the row before it. */
#define MEASURE_BYTES		INDEX_SIZE_MASK
#define MEASURE_EQUAL		0x8000

/*
 * Rows of a chunk.  The second-level cache holds this many rows of a few cache
 * lines each, between the two steps that read them.
 */
#define CHUNK_MAX_ROWS		8192
#define CHUNK_MIN_ROWS		512

/* Chunks for each member, so that all end at about the same time. */
#define CHUNKS_EACH			8

/*
 * Rows that are measured and then checked at a time: the first-level cache
 * holds them.
 */
#define MEASURED_ROWS		128

/* Rows by which rows are prefetched. */
#define PREFETCH_ROWS		16

struct LeafMaker
{
	Relation	heap;
	Relation	index;
	const TupleSource *rows;
	UniqueCheck *check;
	BTScanInsert insertion_key; /* key by which _bt_truncate() compares */
	bool		deduplicate;
	int			nkeys;			/* key columns */
	Size		full_below;		/* bytes free, as the fill factor says */

	/* the chunk at hand */
	uint64		position;
	uint32		nrows;
	bool		is_last;
	const IndexRow *duplicate;	/* row that must not be in the index, or NULL */

	/*
	 * The chunk's rows begin at LEAF_MAX_PENDING; the pending rows are before
	 * them.
	 */
	const IndexRow **found;
	uint16	   *measures;

	uint32	   *page_starts;	/* indexes of the first rows, and the end */
	uint32		npages;
};

/* A tuple of a leaf: a row, or a posting list. */
typedef struct LeafTuple
{
	uint32		nrows;
	Size		bytes;
	Size		posting_bytes;	/* bytes that a posting list adds to a row */
} LeafTuple;

uint32
leaf_maker_chunk_rows(uint64 nrows, int nmembers)
{
	uint64		even = nrows / (CHUNKS_EACH * nmembers);

	return Min(Max(even, CHUNK_MIN_ROWS), CHUNK_MAX_ROWS);
}

LeafMaker *
leaf_maker_begin(const LeafDefinition *definition, const IndexRows *index_rows,
				 const TupleSource *rows, uint32 chunk_rows)
{
	LeafMaker  *maker = palloc0(sizeof(LeafMaker));
	Relation	index = definition->index;
	uint32		most_rows = LEAF_MAX_PENDING + chunk_rows;

	maker->heap = definition->heap;
	maker->index = index;
	maker->rows = rows;
	maker->check = unique_check_begin(definition->heap, index, index_rows,
									  definition->unique,
									  definition->nulls_not_distinct,
									  definition->check_order);
	maker->insertion_key = _bt_mkscankey(index, NULL);
	/* _bt_mkscankey() knows this only of an index that has pages */
	maker->insertion_key->allequalimage = _bt_allequalimage(index, false);
	maker->deduplicate = !definition->unique &&
		maker->insertion_key->allequalimage && BTGetDeduplicateItems(index);
	maker->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	maker->full_below = BTGetTargetPageFreeSpace(index);
	maker->found = palloc(most_rows * sizeof(IndexRow *));
	maker->measures = palloc(most_rows * sizeof(uint16));
	maker->page_starts = palloc((most_rows + 1) * sizeof(uint32));
	return maker;
}

/*
 * Are all columns of the rows equal, so that one row can stand for the other?
 * Columns with equal bytes always are.  If values are of varying length, other
 * bytes may be the same value, once compressed and once not.
 */
static inline bool
rows_equal(const LeafMaker *maker, const IndexRow *a, const IndexRow *b)
{
	if (index_rows_same_bytes(a, b))
		return true;
	return index_row_varies(a) && index_row_varies(b) &&
		_bt_keep_natts_fast(maker->index, index_row_tuple(a),
							index_row_tuple(b)) > maker->nkeys;
}

/* Measures rows of the chunk; "previous" is the row before them, or NULL. */
static inline void
measure_rows(LeafMaker *maker, const IndexRow *previous, uint32 start,
			 uint32 end)
{
	const IndexRow *const *found = maker->found + LEAF_MAX_PENDING;
	uint16	   *measures = maker->measures + LEAF_MAX_PENDING;

	for (uint32 i = start; i < end; i++)
	{
		const IndexRow *row = found[i];

		if (likely(i + PREFETCH_ROWS < maker->nrows))
		{
			const char *later = (const char *) found[i + PREFETCH_ROWS];

			__builtin_prefetch(later);
			__builtin_prefetch(later + CACHE_LINE_BYTES);
		}
		measures[i] = index_row_bytes(row);
		if (maker->deduplicate)
		{
			if (previous != NULL && rows_equal(maker, previous, row))
				measures[i] |= MEASURE_EQUAL;
			previous = row;
		}
	}
}

bool
leaf_maker_take(LeafMaker *maker, uint64 position, uint32 nrows)
{
	const IndexRow **found = maker->found + LEAF_MAX_PENDING;
	const IndexRow *previous = NULL;

	maker->position = position;
	maker->nrows = nrows;
	maker->is_last = position + nrows == maker->rows->nrows;
	maker->rows->find(maker->rows, position, nrows, found);
	if (position > 0)
		previous = tuple_source_row(maker->rows, position - 1);

	for (uint32 start = 0; start < nrows; start += MEASURED_ROWS)
	{
		uint32		end = Min(start + MEASURED_ROWS, nrows);

		measure_rows(maker, previous, start, end);
		if (!unique_check_rows(maker->check, previous, position + start,
							   found + start, end - start))
			return false;
		previous = found[end - 1];
	}
	maker->duplicate = unique_check_duplicate(maker->check, maker->rows,
											  position, found, nrows);
	return true;
}

/* The end of the rows at hand: of the chunk, with the pending ones. */
static inline uint32
end_row(const LeafMaker *maker)
{
	return LEAF_MAX_PENDING + maker->nrows;
}

/*
 * Finds the tuple that begins with this row.  Returns false if its end is
 * unknown, since it may go on in the next chunk.
 */
static inline bool
find_tuple(const LeafMaker *maker, uint32 row, LeafTuple *tuple)
{
	const uint16 *measures = maker->measures;
	uint32		end = end_row(maker);
	Size		row_bytes = measures[row] & MEASURE_BYTES;
	Size		bytes = row_bytes;
	uint32		next = row + 1;

	for (;;)
	{
		Size		longer = MAXALIGN(row_bytes + (next + 1 - row) *
									  sizeof(ItemPointerData));

		if (!maker->deduplicate || longer > POSTING_MAX_BYTES)
			break;
		if (unlikely(next == end))
		{
			if (maker->is_last)
				break;
			return false;
		}
		if ((measures[next] & MEASURE_EQUAL) == 0)
			break;
		bytes = longer;
		next++;
	}
	tuple->nrows = next - row;
	tuple->bytes = bytes;
	tuple->posting_bytes = bytes - row_bytes;
	return true;
}

/* Raises core's error for a row that is too large. */
static void
report_large_row(const LeafMaker *maker, uint32 row)
{
	IndexTuple	tuple = palloc(index_row_bytes(maker->found[row]));
	PGAlignedBlock buffer;
	Page		page = (Page) buffer.data;

	index_row_copy(maker->found[row], tuple);
	tree_page_begin(page, 0);
	_bt_check_third_page(maker->index, maker->heap, true, page, tuple);
}

/* Takes over pending rows, and returns the index of the first one. */
static uint32
take_pending(LeafMaker *maker, const PendingRows *pending)
{
	uint32		first = LEAF_MAX_PENDING - pending->nrows;

	maker->rows->find(maker->rows, maker->position - pending->nrows,
					  pending->nrows, maker->found + first);
	memcpy(maker->measures + first, pending->measures,
		   pending->nrows * sizeof(uint16));
	return first;
}

static void
leave_pending(const LeafMaker *maker, uint32 first, PendingRows *pending)
{
	pending->nrows = end_row(maker) - first;
	if (pending->nrows > LEAF_MAX_PENDING)
		elog(ERROR, "gpusort: a page has too many rows");
	memcpy(pending->measures, maker->measures + first,
		   pending->nrows * sizeof(uint16));
}

uint32
leaf_maker_lay_out(LeafMaker *maker, PendingRows *pending)
{
	/* the high key of a page may have to hold a place, beside its columns */
	const Size	place_bytes = MAXALIGN(sizeof(ItemPointerData));
	PGAlignedBlock buffer;
	Page		empty = (Page) buffer.data;
	uint32		row = take_pending(maker, pending);
	uint32		last_row = row;
	LeafTuple	last = {0};
	LeafTuple	tuple;
	uint32		ntuples = 0;	/* on the page */
	int64		free;			/* bytes, with a pointer taken off */

	if (maker->duplicate != NULL)
		unique_check_report_duplicate(maker->check, maker->duplicate);
	tree_page_begin(empty, 0);
	free = PageGetFreeSpace(empty);
	maker->npages = 0;
	maker->page_starts[0] = row;
	while (row < end_row(maker) && find_tuple(maker, row, &tuple))
	{
		if (unlikely(tuple.bytes > BTREE_MAX_ITEM_BYTES(empty)))
			report_large_row(maker, row);

		/* a page has at least two tuples, even large ones */
		if (free < (int64) (tuple.bytes + place_bytes) ||
			(free + (int64) last.posting_bytes < (int64) maker->full_below &&
			 ntuples > 1))
		{
			maker->page_starts[++maker->npages] = last_row;
			free = PageGetFreeSpace(empty) - last.bytes - sizeof(ItemIdData);
			ntuples = 1;
		}
		free -= tuple.bytes + sizeof(ItemIdData);
		ntuples++;
		last = tuple;
		last_row = row;
		row += tuple.nrows;
	}

	if (maker->is_last && ntuples > 0)
		maker->page_starts[++maker->npages] = end_row(maker);
	leave_pending(maker, maker->page_starts[maker->npages], pending);
	return maker->npages;
}

/* Puts the tuple that begins with this row on the page; returns its rows. */
static inline uint32
put_tuple(const LeafMaker *maker, uint32 row, Page page, OffsetNumber offset)
{
	const IndexRow *first = maker->found[row];
	Size		row_bytes = maker->measures[row] & MEASURE_BYTES;
	LeafTuple	tuple = {.nrows = 1,.bytes = row_bytes};
	IndexTuple	put;

	if (maker->deduplicate)
		(void) find_tuple(maker, row, &tuple);
	put = (IndexTuple) tree_page_extend(page, offset, tuple.bytes);
	index_row_copy(first, put);

	if (tuple.nrows > 1)
	{
		ItemPointer places;

		put->t_info = (put->t_info & ~INDEX_SIZE_MASK) | tuple.bytes;
		BTreeTupleSetPosting(put, tuple.nrows, row_bytes);
		places = BTreeTupleGetPosting(put);
		for (uint32 i = 0; i < tuple.nrows; i++)
			places[i] = maker->found[row + i]->place;
	}
	return tuple.nrows;
}

/*
 * Makes the last tuple on the page its high key.  The high key is a part of
 * the tuple, and takes its place, the lowest on the page.
 */
static void
make_high_key(const LeafMaker *maker, Page page, OffsetNumber last)
{
	PageHeader	header = (PageHeader) page;
	ItemId		item = PageGetItemId(page, P_HIKEY);
	IndexTuple	truncated;
	Size		bytes;

	tree_page_last_to_high_key(page, last);
	truncated = _bt_truncate(maker->index,
							 tree_page_tuple(page, OffsetNumberPrev(last)),
							 (IndexTuple) PageGetItem(page, item),
							 maker->insertion_key);
	bytes = MAXALIGN(IndexTupleSize(truncated));
	header->pd_upper += ItemIdGetLength(item);
	header->pd_upper -= bytes;
	memcpy((char *) page + header->pd_upper, truncated, bytes);
	ItemIdSetNormal(item, header->pd_upper, IndexTupleSize(truncated));
	pfree(truncated);
}

uint32
leaf_maker_fill(LeafMaker *maker, uint32 number, Page page)
{
	uint32		row = maker->page_starts[number];
	uint32		end = maker->page_starts[number + 1];
	OffsetNumber offset = P_FIRSTKEY;

	CHECK_FOR_INTERRUPTS();
	tree_page_begin(page, 0);
	while (row < end)
	{
		/* rows may have left the cache since they were measured */
		if (likely(row + PREFETCH_ROWS < end_row(maker)))
			__builtin_prefetch(maker->found[row + PREFETCH_ROWS]);
		row += put_tuple(maker, row, page, offset++);
	}
	if (end < end_row(maker) || !maker->is_last)
	{
		(void) put_tuple(maker, end, page, offset);
		make_high_key(maker, page, offset);
	}
	return end - maker->page_starts[number];
}
