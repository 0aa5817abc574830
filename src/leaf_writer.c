/*-------------------------------------------------------------------------
 *
 * leaf_writer.c
 *	  Writing the pages of a B-tree from tuples that come in its order.
 *
 * The pages are those that core writes for the same tuples, to the byte, so
 * they follow the rules of PostgreSQL's README for nbtree, and of the code
 * that builds indexes there:
 *
 * Each level of the tree has one page that is being filled.  A page that is
 * full is given its upper bound, the high key, and a link to a new page on
 * its right, and is written.  Its number goes to the level above with the
 * page's lower bound, which is the high key of the page on its left, or minus
 * infinity on the first page of a level.  The last pages of all levels are
 * written at the end.
 *
 * That a page is full is found when a tuple comes that has no room on it, or
 * when less is free than the fill factor leaves.  Then the last tuple on the
 * page moves to the new one, and what remains of it becomes the high key: on
 * a leaf, as many columns as tell it from the tuple ahead of it, on pages
 * above, all that is there.
 *
 * A run of equal tuples becomes a posting list, one tuple with the places of
 * all of them, or several when it is long.
 *
 * What makes this faster than core's is that the tuples are taken from where
 * they were collected, and are known to be in order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "compat.h"
#include "leaf_writer.h"

/* What a posting list may take, a tenth of a page less one line pointer. */
#define POSTING_MAX_BYTES \
	((Size) MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData))

/* A level of the tree, and its page that is being filled. */
typedef struct TreeLevel
{
	struct TreeLevel *parent;	/* NULL at the top */
	uint32		height;			/* 0 for leaves */
	Size		full_below;		/* bytes free, as the fill factor says */

	BulkWriteBuffer buffer;		/* the page */
	BlockNumber block;
	OffsetNumber last;			/* offset of the last tuple on it */
	Size		last_posting_bytes; /* of that tuple's posting list */
	IndexTuple	low_key;		/* lower bound of the page; see above */
} TreeLevel;

struct LeafWriter
{
	Relation	heap;
	Relation	index;
	BTScanInsert insertion_key; /* what _bt_truncate() compares by */
	BulkWriteState *bulk_write;
	BlockNumber nblocks;		/* numbers given to pages so far */
	TreeLevel  *leaves;			/* NULL before the first tuple */

	/* the run of equal tuples at hand */
	bool		deduplicate;
	int			nkeys;			/* key columns */
	IndexTuple	first_of_run;	/* NULL if there is none */
	ItemPointerData *places;	/* of all tuples of the run */
	int			nplaces;
};

LeafWriter *
leaf_writer_begin(Relation heap, Relation index, bool deduplicate)
{
	LeafWriter *writer = palloc0(sizeof(LeafWriter));

	writer->heap = heap;
	writer->index = index;
	writer->insertion_key = _bt_mkscankey(index, NULL);
	/* only known to _bt_mkscankey() when there is an index already */
	writer->insertion_key->allequalimage = _bt_allequalimage(index, true);
	writer->bulk_write = smgr_bulk_start_rel(index, MAIN_FORKNUM);
	writer->nblocks = BTREE_METAPAGE + 1;
	writer->deduplicate = deduplicate && writer->insertion_key->allequalimage &&
		BTGetDeduplicateItems(index);
	writer->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	if (writer->deduplicate)
		writer->places = palloc(POSTING_MAX_BYTES);
	return writer;
}

static inline Page
level_page(const TreeLevel *level)
{
	return (Page) level->buffer;
}

static inline IndexTuple
tuple_on_page(Page page, OffsetNumber offset)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/* Gives the level a new page, with room for the pointer to a high key. */
static void
begin_page(LeafWriter *writer, TreeLevel *level)
{
	Page		page;
	BTPageOpaque opaque;

	level->buffer = smgr_bulk_get_buf(writer->bulk_write);
	level->block = writer->nblocks++;
	level->last = P_HIKEY;

	page = level_page(level);
	_bt_pageinit(page, BLCKSZ);
	((PageHeader) page)->pd_lower += sizeof(ItemIdData);
	opaque = BTPageGetOpaque(page);
	opaque->btpo_prev = P_NONE;
	opaque->btpo_next = P_NONE;
	opaque->btpo_level = level->height;
	opaque->btpo_flags = level->height == 0 ? BTP_LEAF : 0;
}

static TreeLevel *
begin_level(LeafWriter *writer, uint32 height)
{
	TreeLevel  *level = palloc0(sizeof(TreeLevel));

	level->height = height;
	level->full_below = height == 0 ?
		BTGetTargetPageFreeSpace(writer->index) :
		BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	begin_page(writer, level);

	/* minus infinity */
	level->low_key = palloc0(sizeof(IndexTupleData));
	level->low_key->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(level->low_key, 0, false);
	return level;
}

/* Puts a tuple behind the last one on the page, where it has room. */
static inline void
append_tuple(TreeLevel *level, IndexTuple tuple, Size bytes)
{
	PageHeader	header = (PageHeader) level_page(level);

	header->pd_upper -= bytes;
	memcpy((char *) header + header->pd_upper, tuple, bytes);
	level->last++;
	ItemIdSetNormal(PageGetItemId((Page) header, level->last),
					header->pd_upper, bytes);
	header->pd_lower += sizeof(ItemIdData);
}

/* The first tuple of an inner page has a link only, its key is not needed. */
static void
append_link(TreeLevel *level, IndexTuple tuple)
{
	IndexTupleData link = *tuple;

	link.t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(&link, 0, false);
	append_tuple(level, &link, sizeof(IndexTupleData));
}

/*
 * Puts what the page's high key needs of it in the place of the tuple, which
 * lies lowest on the page, as its tuple that came last.
 */
static void
truncate_high_key(LeafWriter *writer, Page page, OffsetNumber lastleft)
{
	PageHeader	header = (PageHeader) page;
	ItemId		item = PageGetItemId(page, P_HIKEY);
	IndexTuple	truncated = _bt_truncate(writer->index,
										 tuple_on_page(page, lastleft),
										 (IndexTuple) PageGetItem(page, item),
										 writer->insertion_key);
	Size		bytes = MAXALIGN(IndexTupleSize(truncated));

	header->pd_upper += ItemIdGetLength(item);
	header->pd_upper -= bytes;
	memcpy((char *) page + header->pd_upper, truncated, bytes);
	ItemIdSetNormal(item, header->pd_upper, IndexTupleSize(truncated));
	pfree(truncated);
}

static void add_to_level(LeafWriter *writer, TreeLevel *level,
						 IndexTuple tuple, Size posting_bytes);

/* Tells the level above about a page of this one. */
static void
add_to_parent(LeafWriter *writer, TreeLevel *level, BlockNumber block)
{
	if (level->parent == NULL)
		level->parent = begin_level(writer, level->height + 1);
	BTreeTupleSetDownLink(level->low_key, block);
	add_to_level(writer, level->parent, level->low_key, 0);
	pfree(level->low_key);
	level->low_key = NULL;
}

/*
 * Completes the level's page and writes it.  Its last tuple moves on to a new
 * page.
 */
static void
turn_page(LeafWriter *writer, TreeLevel *level)
{
	BulkWriteBuffer full_buffer = level->buffer;
	Page		full = level_page(level);
	BlockNumber full_block = level->block;
	OffsetNumber last = level->last;
	ItemId		moved = PageGetItemId(full, last);
	IndexTuple	tuple = (IndexTuple) PageGetItem(full, moved);

	begin_page(writer, level);
	if (level->height == 0)
		append_tuple(level, tuple, ItemIdGetLength(moved));
	else
		append_link(level, tuple);

	/* on the full page it becomes the high key */
	*PageGetItemId(full, P_HIKEY) = *moved;
	ItemIdSetUnused(moved);
	((PageHeader) full)->pd_lower -= sizeof(ItemIdData);
	if (level->height == 0)
		truncate_high_key(writer, full, OffsetNumberPrev(last));

	add_to_parent(writer, level, full_block);
	level->low_key = CopyIndexTuple(tuple_on_page(full, P_HIKEY));
	BTPageGetOpaque(full)->btpo_next = level->block;
	BTPageGetOpaque(level_page(level))->btpo_prev = full_block;
	smgr_bulk_write(writer->bulk_write, full_block, full_buffer, true);
}

/*
 * Adds a tuple to a level.  "posting_bytes" are those that its posting list
 * takes: should it become the high key it will be without.
 */
static inline void
add_tuple(LeafWriter *writer, TreeLevel *level, IndexTuple tuple,
		  Size posting_bytes)
{
	Size		bytes = MAXALIGN(IndexTupleSize(tuple));
	Size		free = PageGetFreeSpace(level_page(level));
	/* the high key of a leaf may have to hold a place, beside its columns */
	Size		place_bytes = level->height == 0 ?
		MAXALIGN(sizeof(ItemPointerData)) : 0;

	if (unlikely(bytes > BTREE_MAX_ITEM_BYTES(level_page(level))))
		_bt_check_third_page(writer->index, writer->heap, level->height == 0,
							 level_page(level), tuple);

	/* a page has at least two tuples, however large they are */
	if (unlikely(free < bytes + place_bytes ||
				 (free + level->last_posting_bytes < level->full_below &&
				  level->last > P_FIRSTKEY)))
		turn_page(writer, level);
	level->last_posting_bytes = posting_bytes;

	if (unlikely(level->height > 0 && level->last == P_HIKEY))
		append_link(level, tuple);
	else
		append_tuple(level, tuple, bytes);
}

static void
add_to_level(LeafWriter *writer, TreeLevel *level, IndexTuple tuple,
			 Size posting_bytes)
{
	add_tuple(writer, level, tuple, posting_bytes);
}

/* Adds the run of equal tuples at hand, and ends it. */
static void
end_run(LeafWriter *writer)
{
	if (writer->nplaces == 1)
		add_tuple(writer, writer->leaves, writer->first_of_run, 0);
	else
	{
		IndexTuple	posting = _bt_form_posting(writer->first_of_run,
											   writer->places,
											   writer->nplaces);

		add_tuple(writer, writer->leaves, posting,
				  IndexTupleSize(posting) -
				  BTreeTupleGetPostingOffset(posting));
		pfree(posting);
	}
	writer->nplaces = 0;
}

/*
 * Are all columns of the tuples equal, in such a way that one can stand for
 * the other?  Bytes that are equal are that always.  Other bytes may be the
 * same value in another form, if they have a length of their own: compressed
 * or not.
 */
static inline bool
tuples_equal(const LeafWriter *writer, IndexTuple a, IndexTuple b)
{
	if (a->t_info == b->t_info &&
		memcmp(a + 1, b + 1, IndexTupleSize(a) - sizeof(IndexTupleData)) == 0)
		return true;
	return (a->t_info & b->t_info & INDEX_VAR_MASK) != 0 &&
		_bt_keep_natts_fast(writer->index, a, b) > writer->nkeys;
}

/* Does another place fit the posting list of the run at hand? */
static inline bool
run_has_room(const LeafWriter *writer)
{
	return MAXALIGN(IndexTupleSize(writer->first_of_run) +
					(writer->nplaces + 1) * sizeof(ItemPointerData)) <=
		POSTING_MAX_BYTES;
}

void
leaf_writer_add(LeafWriter *writer, IndexTuple tuple)
{
	if (unlikely(writer->leaves == NULL))
		writer->leaves = begin_level(writer, 0);
	if (!writer->deduplicate)
	{
		add_tuple(writer, writer->leaves, tuple, 0);
		return;
	}

	if (writer->first_of_run == NULL ||
		!tuples_equal(writer, writer->first_of_run, tuple) ||
		!run_has_room(writer))
	{
		if (writer->first_of_run != NULL)
			end_run(writer);
		writer->first_of_run = tuple;
	}
	writer->places[writer->nplaces++] = tuple->t_tid;
}

/* Removes the pointer to the high key, which the last page has not. */
static void
remove_high_key(TreeLevel *level)
{
	Page		page = level_page(level);

	memmove(PageGetItemId(page, P_HIKEY), PageGetItemId(page, P_FIRSTKEY),
			(level->last - P_HIKEY) * sizeof(ItemIdData));
	((PageHeader) page)->pd_lower -= sizeof(ItemIdData);
}

void
leaf_writer_finish(LeafWriter *writer)
{
	BlockNumber root = P_NONE;
	uint32		root_height = 0;
	BulkWriteBuffer metapage;

	if (writer->first_of_run != NULL)
		end_run(writer);
	for (TreeLevel *level = writer->leaves; level != NULL;
		 level = level->parent)
	{
		if (level->parent != NULL)
			add_to_parent(writer, level, level->block);
		else
		{
			BTPageGetOpaque(level_page(level))->btpo_flags |= BTP_ROOT;
			root = level->block;
			root_height = level->height;
		}
		remove_high_key(level);
		smgr_bulk_write(writer->bulk_write, level->block, level->buffer, true);
	}

	/* with this the index is valid */
	metapage = smgr_bulk_get_buf(writer->bulk_write);
	_bt_initmetapage((Page) metapage, root, root_height,
					 writer->insertion_key->allequalimage);
	smgr_bulk_write(writer->bulk_write, BTREE_METAPAGE, metapage, true);
	smgr_bulk_finish(writer->bulk_write);
}
