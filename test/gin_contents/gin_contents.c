/*-------------------------------------------------------------------------
 *
 * gin_contents.c
 *	  What a GIN index contains, read from its pages.
 *
 * gin_contents() returns the entries of an index in order, each with all TIDs.
 * gin_shape() returns what kinds of pages there are.  Both read the whole
 * index, level by level and from left to right, and check it on the way.  A
 * page or an entry that is not as it has to be is an error with the number of
 * the page.
 *
 * These are the rules:
 *
 * - Entries ascend strictly by the comparison of their operator classes, TIDs
 *	 within an entry too.
 * - The pages of a level are one chain of right links, and are those that the
 *	 level above leads to, in the same order.
 * - The key of a downlink is the highest key of its child.  In a posting tree
 *	 it is the child's right bound, and the child has no TID above.  No such key
 *	 counts at the right end of a level.
 * - Each page is in one place only.  A page that is nowhere is deleted or new.
 * - The metapage has the right numbers of pages and entries, unless the caller
 *	 says that the index has changed since.
 *
 * An index with a pending list is refused, as its list is not read.  Nobody
 * else may change the index meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "access/genam.h"
#include "access/relation.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "port/compat.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(gin_contents);
PG_FUNCTION_INFO_V1(gin_shape);

#define CONTENTS_COLUMNS	6
#define SHAPE_COLUMNS		9

/* What is wrong with a page of the index that is read. */
#define violation(reader, block, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_INDEX_CORRUPTED), \
			 errmsg("page %u of index \"%s\": %s", (block), \
					RelationGetRelationName((reader)->index), \
					psprintf(__VA_ARGS__))))

typedef struct Shape
{
	int64		entry_levels;
	int64		entry_inner;	/* pages */
	int64		entry_leaves;
	int64		posting_trees;
	int64		posting_levels; /* of the highest one */
	int64		posting_inner;
	int64		posting_leaves;
	int64		deleted;
	int64		new;
} Shape;

typedef struct Reader
{
	Relation	index;
	GinState	state;
	BlockNumber nblocks;
	bool	   *seen;			/* for each block */
	GinMetaPageData meta;
	int64		nentries;
	Shape		shape;

	/* where entries go, if they are wanted */
	ReturnSetInfo *result;
	MemoryContext entry_context;
	FmgrInfo	output[INDEX_MAX_KEYS];
	Oid			tid_array;
} Reader;

/* A key in the order of entries. */
typedef struct Key
{
	OffsetNumber column;
	GinNullCategory category;
	Datum		value;
} Key;

/* A page of a level, as the level above leads to it. */
typedef struct EntryPage
{
	BlockNumber block;
	IndexTuple	downlink;		/* NULL for the root */
} EntryPage;

typedef struct PostingPage
{
	BlockNumber block;
	ItemPointerData bound;		/* key of its downlink */
} PostingPage;

/* A list that grows. */
typedef struct EntryLevel
{
	int			npages;
	int			nallocated;
	EntryPage  *pages;
} EntryLevel;

typedef struct PostingLevel
{
	int			npages;
	int			nallocated;
	PostingPage *pages;
} PostingLevel;

typedef struct Tids
{
	int			ntids;
	int			nallocated;
	ItemPointerData *tids;
} Tids;

/* ---- pages */

static Page
copy_block(Reader *reader, BlockNumber block)
{
	Page		copy = palloc(BLCKSZ);
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	buffer = ReadBuffer(reader->index, block);
	LockBuffer(buffer, GIN_SHARE);
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return copy;
}

static void
check_header(Reader *reader, BlockNumber block, Page page)
{
	PageHeader	header = (PageHeader) page;

	if (PageIsNew(page))
		violation(reader, block, "it is empty");
	if (PageGetPageSize(page) != BLCKSZ ||
		PageGetPageLayoutVersion(page) != PG_PAGE_LAYOUT_VERSION ||
		(header->pd_flags & ~PD_VALID_FLAG_BITS) != 0 ||
		header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special || header->pd_special > BLCKSZ)
		violation(reader, block, "its header is wrong");
	if (PageGetSpecialSize(page) != MAXALIGN(sizeof(GinPageOpaqueData)))
		violation(reader, block, "%d bytes are special",
				  (int) PageGetSpecialSize(page));
}

/* A copy of a page that is in use, in this one place only. */
static Page
read_page(Reader *reader, BlockNumber block, BlockNumber from)
{
	Page		page;

	if (block >= reader->nblocks)
		violation(reader, from, "it leads to page %u of %u", block,
				  reader->nblocks);
	if (reader->seen[block])
		violation(reader, from, "it leads to page %u, as another one does",
				  block);
	reader->seen[block] = true;
	page = copy_block(reader, block);
	check_header(reader, block, page);
	return page;
}

static void
check_flags(Reader *reader, BlockNumber block, Page page, uint16 expected)
{
	uint16		flags = GinPageGetOpaque(page)->flags;

	if (flags != expected)
		violation(reader, block, "its flags are %x, not %x", flags, expected);
}

/* A page of a level has to lead to the next one. */
static void
check_right_link(Reader *reader, BlockNumber block, Page page,
				 BlockNumber expected)
{
	BlockNumber right = GinPageGetOpaque(page)->rightlink;

	if (right != expected)
		violation(reader, block, "the page to the right is %u, not %u", right,
				  expected);
}

static void
read_metapage(Reader *reader)
{
	Page		page = read_page(reader, GIN_METAPAGE_BLKNO, GIN_METAPAGE_BLKNO);

	check_flags(reader, GIN_METAPAGE_BLKNO, page, GIN_META);
	reader->meta = *GinPageGetMeta(page);
	if (reader->meta.ginVersion != GIN_CURRENT_VERSION)
		violation(reader, GIN_METAPAGE_BLKNO, "its version is %d",
				  reader->meta.ginVersion);
	if (reader->meta.head != InvalidBlockNumber ||
		reader->meta.tail != InvalidBlockNumber ||
		reader->meta.nPendingPages != 0 || reader->meta.nPendingHeapTuples != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" has a pending list",
						RelationGetRelationName(reader->index)),
				 errhint("Call gin_clean_pending_list() first.")));
	pfree(page);
}

/* Pages that no tree leads to are free. */
static void
check_other_pages(Reader *reader)
{
	for (BlockNumber block = 0; block < reader->nblocks; block++)
	{
		Page		page;

		if (reader->seen[block])
			continue;
		page = copy_block(reader, block);
		if (PageIsNew(page))
			reader->shape.new++;
		else
		{
			check_header(reader, block, page);
			if (!GinPageIsDeleted(page))
				violation(reader, block, "it is nowhere in the index, with the flags %x",
						  GinPageGetOpaque(page)->flags);
			reader->shape.deleted++;
		}
		pfree(page);
	}
}

static void
check_number(Reader *reader, const char *what, int64 noted, int64 counted)
{
	if (noted != counted)
		violation(reader, GIN_METAPAGE_BLKNO,
				  "it says that there are " INT64_FORMAT " %s, not " INT64_FORMAT,
				  noted, what, counted);
}

static void
check_numbers(Reader *reader)
{
	const GinMetaPageData *meta = &reader->meta;
	const Shape *shape = &reader->shape;

	check_number(reader, "pages", meta->nTotalPages, reader->nblocks);
	check_number(reader, "pages of entries", meta->nEntryPages,
				 shape->entry_inner + shape->entry_leaves);
	check_number(reader, "pages of TIDs", meta->nDataPages,
				 shape->posting_inner + shape->posting_leaves);
	check_number(reader, "entries", meta->nEntries, reader->nentries);
}

/* ---- TIDs */

static void
add_tids(Reader *reader, BlockNumber block, Tids *all, ItemPointer tids, int ntids)
{
	if (all->ntids + ntids > all->nallocated)
	{
		all->nallocated = Max(2 * all->nallocated, all->ntids + ntids);
		all->tids = repalloc_huge(all->tids,
								  all->nallocated * sizeof(ItemPointerData));
	}
	for (int i = 0; i < ntids; i++)
	{
		ItemPointer tid = &tids[i];

		if (!OffsetNumberIsValid(ItemPointerGetOffsetNumberNoCheck(tid)) ||
			!BlockNumberIsValid(ItemPointerGetBlockNumberNoCheck(tid)))
			violation(reader, block, "no row can have the TID (%u,%u)",
					  ItemPointerGetBlockNumberNoCheck(tid),
					  ItemPointerGetOffsetNumberNoCheck(tid));
		if (all->ntids > 0 &&
			ItemPointerCompare(&all->tids[all->ntids - 1], tid) >= 0)
			violation(reader, block, "the TID (%u,%u) comes after (%u,%u)",
					  ItemPointerGetBlockNumber(tid),
					  ItemPointerGetOffsetNumber(tid),
					  ItemPointerGetBlockNumber(&all->tids[all->ntids - 1]),
					  ItemPointerGetOffsetNumber(&all->tids[all->ntids - 1]));
		all->tids[all->ntids++] = *tid;
	}
}

/* Does a list begin with a TID, and end within this many bytes? */
static bool
list_is_whole(const GinPostingList *list, Size nbytes)
{
	return nbytes >= offsetof(GinPostingList, bytes) &&
		SizeOfGinPostingList(list) <= nbytes &&
		OffsetNumberIsValid(ItemPointerGetOffsetNumberNoCheck(&list->first));
}

/* TIDs that are in the entry itself. */
static void
read_posting_list(Reader *reader, BlockNumber block, OffsetNumber column,
				  IndexTuple tuple, Tids *all)
{
	Size		size = IndexTupleSize(tuple);
	Size		offset = GinGetPostingOffset(tuple);
	ItemPointer tids;
	int			ntids;

	if (!GinItupIsCompressed(tuple))
		violation(reader, block, "an entry's list of TIDs is not compressed");
	if (GinGetNPosting(tuple) > 0 &&
		(offset > size ||
		 !list_is_whole((GinPostingList *) GinGetPosting(tuple), size - offset)))
		violation(reader, block, "the list of TIDs at %zu of %zu bytes is not whole",
				  offset, size);
	tids = ginReadTuple(&reader->state, column, tuple, &ntids);
	if (ntids != GinGetNPosting(tuple))
		violation(reader, block, "an entry has %d TIDs, not %d", ntids,
				  GinGetNPosting(tuple));
	add_tids(reader, block, all, tids, ntids);
}

static void
add_posting_page(PostingLevel *level, BlockNumber block, const ItemPointerData *bound)
{
	if (level->npages == level->nallocated)
	{
		level->nallocated = Max(64, 2 * level->nallocated);
		level->pages = level->pages == NULL ?
			palloc(level->nallocated * sizeof(PostingPage)) :
			repalloc_huge(level->pages, level->nallocated * sizeof(PostingPage));
	}
	level->pages[level->npages].block = block;
	level->pages[level->npages].bound = *bound;
	level->npages++;
}

static void
read_posting_leaf(Reader *reader, BlockNumber block, Page page, Tids *all)
{
	Size		lower = ((PageHeader) page)->pd_lower;
	Size		nbytes;
	char	   *list = (char *) GinDataLeafPageGetPostingList(page);
	ItemPointer tids;
	int			ntids;

	check_flags(reader, block, page, GIN_DATA | GIN_LEAF | GIN_COMPRESSED);
	if (lower < list - page || lower > ((PageHeader) page)->pd_special)
		violation(reader, block, "its lists end at byte %zu", lower);
	nbytes = GinDataLeafPageGetPostingListSize(page);
	for (char *end = list + nbytes; list < end;)
	{
		GinPostingList *segment = (GinPostingList *) list;

		if (!list_is_whole(segment, end - list))
			violation(reader, block, "the list at byte %d is not whole",
					  (int) (list - page));
		list += SizeOfGinPostingList(segment);
	}
	if (nbytes > 0)
	{
		tids = ginPostingListDecodeAllSegments(GinDataLeafPageGetPostingList(page),
											   nbytes, &ntids);
		add_tids(reader, block, all, tids, ntids);
		pfree(tids);
	}
	reader->shape.posting_leaves++;
}

static void
read_posting_inner(Reader *reader, BlockNumber block, Page page,
				   bool rightmost, PostingLevel *below)
{
	int			nitems = GinPageGetOpaque(page)->maxoff;
	Size		lower = (char *) GinDataPageGetPostingItem(page, nitems + 1) - page;

	check_flags(reader, block, page, GIN_DATA);
	if (nitems == 0 || lower != ((PageHeader) page)->pd_lower ||
		lower > ((PageHeader) page)->pd_special)
		violation(reader, block, "%d downlinks end at byte %d", nitems,
				  ((PageHeader) page)->pd_lower);
	for (int i = 1; i <= nitems; i++)
	{
		PostingItem *item = GinDataPageGetPostingItem(page, i);

		if (below->npages > 0 && !(rightmost && i == nitems) &&
			ItemPointerCompare(&below->pages[below->npages - 1].bound,
							   &item->key) >= 0)
			violation(reader, block, "the key of downlink %d is not above the one before",
					  i);
		add_posting_page(below, PostingItemGetBlockNumber(item), &item->key);
	}
	reader->shape.posting_inner++;
}

/* No TID, and no key of a downlink, may be above the page's right bound. */
static void
check_bound(Reader *reader, BlockNumber block, const ItemPointerData *bound,
			const ItemPointerData *highest)
{
	if (ItemPointerCompare((ItemPointer) highest, (ItemPointer) bound) > 0)
		violation(reader, block, "(%u,%u) is above its right bound (%u,%u)",
				  ItemPointerGetBlockNumberNoCheck(highest),
				  ItemPointerGetOffsetNumberNoCheck(highest),
				  ItemPointerGetBlockNumberNoCheck(bound),
				  ItemPointerGetOffsetNumberNoCheck(bound));
}

/* Reads a level of a posting tree; returns the level below, without pages if this one has leaves. */
static PostingLevel
read_posting_level(Reader *reader, const PostingLevel *level, BlockNumber from,
				   Tids *all)
{
	PostingLevel below = {0};
	bool		leaves = false;

	for (int i = 0; i < level->npages; i++)
	{
		BlockNumber block = level->pages[i].block;
		bool		rightmost = i == level->npages - 1;
		Page		page = read_page(reader, block, from);
		ItemPointer bound = GinDataPageGetRightBound(page);

		check_right_link(reader, block, page, rightmost ? InvalidBlockNumber :
						 level->pages[i + 1].block);
		if (i == 0)
			leaves = GinPageIsLeaf(page);
		if (leaves != GinPageIsLeaf(page))
			violation(reader, block, "leaves are on the level of other pages");
		if (!rightmost && !ItemPointerEquals(bound, &level->pages[i].bound))
			violation(reader, block, "its right bound is not the key of its downlink");
		/* what the page to the left must not have either */
		if (i > 0 && leaves && all->ntids > 0)
			check_bound(reader, level->pages[i - 1].block,
						&level->pages[i - 1].bound, &all->tids[all->ntids - 1]);
		if (leaves)
		{
			int			before = all->ntids;

			read_posting_leaf(reader, block, page, all);
			if (i > 0 && all->ntids > before &&
				ItemPointerCompare(&all->tids[before],
								   &level->pages[i - 1].bound) <= 0)
				violation(reader, block, "a TID belongs to the page to the left");
		}
		else
		{
			read_posting_inner(reader, block, page, rightmost, &below);
			if (!rightmost)
				check_bound(reader, block, bound,
							&below.pages[below.npages - 1].bound);
		}
		pfree(page);
	}
	return below;
}

static void
read_posting_tree(Reader *reader, BlockNumber root, BlockNumber from, Tids *all)
{
	PostingLevel level = {0};
	ItemPointerData no_bound;
	int			nlevels = 0;

	ItemPointerSetMax(&no_bound);
	add_posting_page(&level, root, &no_bound);
	while (level.npages > 0)
	{
		PostingLevel below = read_posting_level(reader, &level, from, all);

		pfree(level.pages);
		level = below;
		nlevels++;
	}
	reader->shape.posting_trees++;
	reader->shape.posting_levels = Max(reader->shape.posting_levels, nlevels);
}

/* ---- entries */

static Key
key_of(Reader *reader, IndexTuple tuple)
{
	Key			key;

	key.column = gintuple_get_attrnum(&reader->state, tuple);
	key.value = gintuple_get_key(&reader->state, tuple, &key.category);
	return key;
}

static int
compare(Reader *reader, IndexTuple a, IndexTuple b)
{
	Key			left = key_of(reader, a);
	Key			right = key_of(reader, b);

	return ginCompareAttEntries(&reader->state, left.column, left.value,
								left.category, right.column, right.value,
								right.category);
}

static Form_pg_attribute
type_of(Reader *reader, OffsetNumber column)
{
	return TupleDescAttr(reader->state.origTupdesc, column - 1);
}

/* The bytes of a key, as they are without a header and without compression. */
static Datum
bytes_of(Form_pg_attribute type, Datum value)
{
	Datum		by_value;
	const void *bytes;
	Size		nbytes;
	bytea	   *result;

	if (type->attbyval)
	{
		store_att_byval(&by_value, value, type->attlen);
		bytes = &by_value;
		nbytes = type->attlen;
	}
	else if (type->attlen == -1)
	{
		struct varlena *whole = PG_DETOAST_DATUM_PACKED(value);

		bytes = VARDATA_ANY(whole);
		nbytes = VARSIZE_ANY_EXHDR(whole);
	}
	else
	{
		bytes = DatumGetPointer(value);
		nbytes = type->attlen == -2 ? strlen(bytes) : type->attlen;
	}
	result = palloc(VARHDRSZ + nbytes);
	SET_VARSIZE(result, VARHDRSZ + nbytes);
	memcpy(VARDATA(result), bytes, nbytes);
	return PointerGetDatum(result);
}

/* A key of a pseudo-type has no text, and shows its bytes. */
static Datum
text_of(Reader *reader, OffsetNumber column, Datum value, Datum bytes)
{
	if (OidIsValid(reader->output[column - 1].fn_oid))
		return CStringGetTextDatum(OutputFunctionCall(&reader->output[column - 1],
													  value));
	return DirectFunctionCall2(binary_encode, bytes,
							   CStringGetTextDatum("hex"));
}

static void
put_entry(Reader *reader, const Key *key, const Tids *tids, bool in_tree)
{
	Datum		values[CONTENTS_COLUMNS];
	bool		nulls[CONTENTS_COLUMNS] = {0};
	Datum	   *elements = palloc(Max(tids->ntids, 1) * sizeof(Datum));

	for (int i = 0; i < tids->ntids; i++)
		elements[i] = PointerGetDatum(&tids->tids[i]);
	values[0] = Int16GetDatum(key->column);
	values[1] = Int32GetDatum(key->category);
	nulls[2] = nulls[3] = key->category != GIN_CAT_NORM_KEY;
	if (!nulls[3])
	{
		Datum		bytes = bytes_of(type_of(reader, key->column), key->value);

		values[2] = text_of(reader, key->column, key->value, bytes);
		values[3] = bytes;
	}
	values[4] = PointerGetDatum(construct_array(elements, tids->ntids, TIDOID,
												sizeof(ItemPointerData), false,
												TYPALIGN_SHORT));
	values[5] = BoolGetDatum(in_tree);
	tuplestore_putvalues(reader->result->setResult, reader->result->setDesc,
						 values, nulls);
}

static void
read_entry(Reader *reader, BlockNumber block, IndexTuple tuple)
{
	MemoryContext outer = MemoryContextSwitchTo(reader->entry_context);
	Key			key = key_of(reader, tuple);
	Tids		tids = {0, 64, palloc(64 * sizeof(ItemPointerData))};
	bool		in_tree = GinIsPostingTree(tuple);

	if (key.category < GIN_CAT_NORM_KEY || key.category > GIN_CAT_NULL_ITEM)
		violation(reader, block, "an entry has the category %d", key.category);
	if (in_tree)
		read_posting_tree(reader, GinGetPostingTree(tuple), block, &tids);
	else
		read_posting_list(reader, block, key.column, tuple, &tids);
	if (reader->result != NULL)
		put_entry(reader, &key, &tids, in_tree);
	reader->nentries++;
	MemoryContextSwitchTo(outer);
	MemoryContextReset(reader->entry_context);
}

/* Does an entry say which column it is of, and end behind its key? */
static void
check_key(Reader *reader, BlockNumber block, IndexTuple tuple)
{
	GinState   *state = &reader->state;
	int			column = 1;
	bool		null;
	GinNullCategory category;
	char	   *key;
	Size		room;

	if (!state->oneCol)
		column = DatumGetUInt16(index_getattr(tuple, 1, state->tupdesc[0], &null));
	if (column < 1 || column > state->origTupdesc->natts)
		violation(reader, block, "an entry is of column %d", column);
	if (IndexTupleHasNulls(tuple) || type_of(reader, column)->attlen != -1)
		return;
	key = DatumGetPointer(gintuple_get_key(state, tuple, &category));
	room = (char *) tuple + IndexTupleSize(tuple) - key;
	if (room < 1 || VARATT_IS_EXTERNAL(key) || VARSIZE_ANY(key) > room)
		violation(reader, block, "a key exceeds its entry of %zu bytes",
				  IndexTupleSize(tuple));
}

static IndexTuple
tuple_at(Reader *reader, BlockNumber block, Page page, OffsetNumber offset)
{
	ItemId		item = PageGetItemId(page, offset);
	IndexTuple	tuple;

	if (!ItemIdIsNormal(item) ||
		ItemIdGetOffset(item) < ((PageHeader) page)->pd_upper ||
		ItemIdGetOffset(item) + ItemIdGetLength(item) > ((PageHeader) page)->pd_special)
		violation(reader, block, "item %u is out of place", offset);
	tuple = (IndexTuple) PageGetItem(page, item);
	if (IndexTupleSize(tuple) != ItemIdGetLength(item) ||
		IndexTupleSize(tuple) > GinMaxItemSize)
		violation(reader, block, "the entry at item %u has %zu bytes in %u",
				  offset, IndexTupleSize(tuple), ItemIdGetLength(item));
	check_key(reader, block, tuple);
	return tuple;
}

static void
add_entry_page(EntryLevel *level, BlockNumber block, IndexTuple downlink)
{
	if (level->npages == level->nallocated)
	{
		level->nallocated = Max(64, 2 * level->nallocated);
		level->pages = level->pages == NULL ?
			palloc(level->nallocated * sizeof(EntryPage)) :
			repalloc_huge(level->pages, level->nallocated * sizeof(EntryPage));
	}
	level->pages[level->npages].block = block;
	level->pages[level->npages].downlink = downlink;
	level->npages++;
}

static IndexTuple
copy_tuple(IndexTuple tuple)
{
	return memcpy(palloc(IndexTupleSize(tuple)), tuple, IndexTupleSize(tuple));
}

/*
 * Reads a page of a level; "previous" is the entry to the left of it, and
 * becomes the last one of the page.
 */
static void
read_entry_page(Reader *reader, const EntryPage *entry_page, Page page,
				bool leaf, bool rightmost, IndexTuple *previous, EntryLevel *below)
{
	BlockNumber block = entry_page->block;
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	check_flags(reader, block, page, leaf ? GIN_LEAF : 0);
	/* only the page of an empty index is empty */
	if (last < FirstOffsetNumber && (!leaf || block != GIN_ROOT_BLKNO))
		violation(reader, block, "it has no entry");
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		IndexTuple	tuple = tuple_at(reader, block, page, offset);
		bool		counts = leaf || !rightmost || offset < last;

		if (*previous != NULL && counts && compare(reader, *previous, tuple) >= 0)
			violation(reader, block, "the entry at item %u is not above the one before",
					  offset);
		if (*previous != NULL)
			pfree(*previous);
		*previous = copy_tuple(tuple);
		if (leaf)
			read_entry(reader, block, tuple);
		else
			add_entry_page(below, GinGetDownlink(tuple), copy_tuple(tuple));
	}
	if (entry_page->downlink != NULL && !rightmost &&
		compare(reader, entry_page->downlink, *previous) != 0)
		violation(reader, block, "its highest key is not the key of its downlink");
}

static EntryLevel
read_entry_level(Reader *reader, const EntryLevel *level, BlockNumber from)
{
	EntryLevel	below = {0};
	IndexTuple	previous = NULL;
	bool		leaves = false;

	for (int i = 0; i < level->npages; i++)
	{
		BlockNumber block = level->pages[i].block;
		bool		rightmost = i == level->npages - 1;
		Page		page = read_page(reader, block, from);

		check_right_link(reader, block, page, rightmost ? InvalidBlockNumber :
						 level->pages[i + 1].block);
		if (i == 0)
			leaves = GinPageIsLeaf(page);
		read_entry_page(reader, &level->pages[i], page, leaves, rightmost,
						&previous, &below);
		pfree(page);
	}
	*(leaves ? &reader->shape.entry_leaves : &reader->shape.entry_inner) += level->npages;
	reader->shape.entry_levels++;
	return below;
}

static void
read_entry_tree(Reader *reader)
{
	EntryLevel	level = {0};
	BlockNumber from = GIN_METAPAGE_BLKNO;

	add_entry_page(&level, GIN_ROOT_BLKNO, NULL);
	while (level.npages > 0)
	{
		BlockNumber first = level.pages[0].block;

		level = read_entry_level(reader, &level, from);
		from = first;
	}
}

/* ---- functions */

static void
find_output_functions(Reader *reader)
{
	for (int i = 0; i < reader->state.origTupdesc->natts; i++)
	{
		Oid			type = TupleDescAttr(reader->state.origTupdesc, i)->atttypid;
		Oid			function;
		bool		is_varlena;

		if (get_typtype(type) == TYPTYPE_PSEUDO)
			continue;
		getTypeOutputInfo(type, &function, &is_varlena);
		fmgr_info(function, &reader->output[i]);
	}
}

/* Reads an index, of which the result gets the entries unless it is NULL. */
static Shape
read_index(Oid oid, bool numbers, ReturnSetInfo *result)
{
	Reader	   *reader = palloc0(sizeof(Reader));

	reader->index = relation_open(oid, AccessShareLock);
	if (reader->index->rd_rel->relkind != RELKIND_INDEX ||
		reader->index->rd_rel->relam != GIN_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a GIN index",
						RelationGetRelationName(reader->index))));
	initGinState(&reader->state, reader->index);
	reader->nblocks = RelationGetNumberOfBlocks(reader->index);
	reader->seen = palloc0(Max(reader->nblocks, 1) * sizeof(bool));
	reader->result = result;
	reader->entry_context = AllocSetContextCreate(CurrentMemoryContext,
												  "entry of a GIN index",
												  ALLOCSET_DEFAULT_SIZES);
	find_output_functions(reader);
	read_metapage(reader);
	read_entry_tree(reader);
	check_other_pages(reader);
	if (numbers)
		check_numbers(reader);
	relation_close(reader->index, AccessShareLock);
	return reader->shape;
}

/*
 * gin_contents(index regclass, numbers bool) returns the entries.  "numbers"
 * says whether those of the metapage have to be right.
 */
Datum
gin_contents(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	(void) read_index(PG_GETARG_OID(0), PG_GETARG_BOOL(1),
					  (ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}

/* gin_shape(index regclass, numbers bool) returns numbers of pages. */
Datum
gin_shape(PG_FUNCTION_ARGS)
{
	Shape		shape = read_index(PG_GETARG_OID(0), PG_GETARG_BOOL(1), NULL);
	int64		numbers[SHAPE_COLUMNS] = {
		shape.entry_levels, shape.entry_inner, shape.entry_leaves,
		shape.posting_trees, shape.posting_levels, shape.posting_inner,
		shape.posting_leaves, shape.deleted, shape.new
	};
	TupleDesc	descriptor;
	Datum		values[SHAPE_COLUMNS];
	bool		nulls[SHAPE_COLUMNS] = {0};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE ||
		descriptor->natts != SHAPE_COLUMNS)
		elog(ERROR, "gin_shape() returns a row of %d columns", SHAPE_COLUMNS);
	for (int i = 0; i < SHAPE_COLUMNS; i++)
		values[i] = Int64GetDatum(numbers[i]);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor),
													  values, nulls)));
}
