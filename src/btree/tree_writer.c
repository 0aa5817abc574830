/*-------------------------------------------------------------------------
 *
 * tree_writer.c
 *	  Writing a B-tree from its leaf pages.
 *
 * The leaves come from left to right, filled (leaf_maker.c).  This file ties
 * them together as core does, to the byte:
 *
 * Each level of the tree has one page that is being filled.  A full page has
 * its upper bound, the high key.  It gets a link to a new page on its right,
 * and is written.  Its number goes to the level above with the page's lower
 * bound, which is the high key of the page on its left, or minus infinity on
 * the first page of a level.  The last pages of all levels are written at the
 * end.
 *
 * Pages of all levels have numbers in the order in which they are begun.
 *
 * Above the leaves, a page is full when a tuple comes that has no room on it,
 * or when less is free than the fill factor leaves.  Then the last tuple on
 * the page moves to the new page, and its key becomes the high key.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "btree/tree_page.h"
#include "btree/tree_writer.h"
#include "port/compat.h"

/* A level of the tree, and its page that is being filled. */
typedef struct TreeLevel
{
	struct TreeLevel *parent;	/* NULL at the top */
	uint32		height;			/* 0 for leaves */

	BulkWriteBuffer buffer;		/* the page */
	BlockNumber block;
	BlockNumber previous;		/* the page on its left, or P_NONE */
	OffsetNumber last;			/* offset of the last tuple; not of leaves */
	IndexTuple	low_key;		/* lower bound of the page; see above */
} TreeLevel;

struct TreeWriter
{
	Relation	heap;
	Relation	index;
	bool		equal_images;	/* allequalimage of the metapage */
	BulkWriteState *bulk_write;
	BlockNumber nblocks;		/* numbers given to pages so far */
	TreeLevel  *leaves;			/* level of the leaves; NULL before the first
								 * leaf */
};

TreeWriter *
tree_writer_begin(Relation heap, Relation index)
{
	TreeWriter *writer = palloc0(sizeof(TreeWriter));

	writer->heap = heap;
	writer->index = index;
	writer->equal_images = _bt_allequalimage(index, true);
	writer->bulk_write = smgr_bulk_start_rel(index, MAIN_FORKNUM);
	writer->nblocks = BTREE_METAPAGE + 1;
	return writer;
}

static inline Page
level_page(const TreeLevel *level)
{
	return (Page) level->buffer;
}

/* Begins a level with its first page, which is in the buffer. */
static TreeLevel *
begin_level(TreeWriter *writer, uint32 height, BulkWriteBuffer buffer)
{
	TreeLevel  *level = palloc0(sizeof(TreeLevel));

	level->height = height;
	level->buffer = buffer;
	level->block = writer->nblocks++;
	level->previous = P_NONE;
	level->last = P_HIKEY;

	/* minus infinity */
	level->low_key = palloc0(sizeof(IndexTupleData));
	level->low_key->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(level->low_key, 0, false);
	return level;
}

static BulkWriteBuffer
begin_page(TreeWriter *writer, uint32 height)
{
	BulkWriteBuffer buffer = smgr_bulk_get_buf(writer->bulk_write);

	tree_page_begin((Page) buffer, height);
	return buffer;
}

/*
 * Puts the first tuple of an inner page: only its link, as its key is not
 * needed.
 */
static void
put_link(Page page, IndexTuple tuple)
{
	IndexTuple	link = (IndexTuple) tree_page_extend(page, P_FIRSTKEY,
													 sizeof(IndexTupleData));

	*link = *tuple;
	link->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(link, 0, false);
}

static void add_tuple(TreeWriter *writer, TreeLevel *level, IndexTuple tuple);

/* Tells the level above about a page of this one. */
static void
add_to_parent(TreeWriter *writer, TreeLevel *level, BlockNumber block)
{
	if (level->parent == NULL)
		level->parent = begin_level(writer, level->height + 1,
									begin_page(writer, level->height + 1));
	BTreeTupleSetDownLink(level->low_key, block);
	add_tuple(writer, level->parent, level->low_key);
	pfree(level->low_key);
	level->low_key = NULL;
}

/*
 * Writes the level's page, which is full and has its high key.  "next" becomes
 * the level's page, and may have no contents yet.
 */
static void
write_full_page(TreeWriter *writer, TreeLevel *level, BulkWriteBuffer next)
{
	BulkWriteBuffer full = level->buffer;
	BlockNumber full_block = level->block;
	BTPageOpaque opaque = BTPageGetOpaque((Page) full);

	level->buffer = next;
	level->block = writer->nblocks++;
	add_to_parent(writer, level, full_block);
	level->low_key = CopyIndexTuple(tree_page_tuple((Page) full, P_HIKEY));
	opaque->btpo_prev = level->previous;
	opaque->btpo_next = level->block;
	level->previous = full_block;
	smgr_bulk_write(writer->bulk_write, full_block, full, true);
}

/* Goes on to a new page, to which the last tuple of the present one moves. */
static void
turn_page(TreeWriter *writer, TreeLevel *level)
{
	BulkWriteBuffer next = begin_page(writer, level->height);
	Page		full = level_page(level);

	put_link((Page) next, tree_page_tuple(full, level->last));
	tree_page_last_to_high_key(full, level->last);
	write_full_page(writer, level, next);
	level->last = P_FIRSTKEY;
}

/* Adds a tuple to a level above the leaves. */
static void
add_tuple(TreeWriter *writer, TreeLevel *level, IndexTuple tuple)
{
	const Size	full_below = BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	Size		bytes = MAXALIGN(IndexTupleSize(tuple));
	Size		free = PageGetFreeSpace(level_page(level));

	if (unlikely(bytes > BTREE_MAX_ITEM_BYTES(level_page(level))))
		_bt_check_third_page(writer->index, writer->heap, false,
							 level_page(level), tuple);

	/* a page has at least two tuples, even large ones */
	if (free < bytes || (free < full_below && level->last > P_FIRSTKEY))
		turn_page(writer, level);

	level->last++;
	if (level->last == P_FIRSTKEY)
		put_link(level_page(level), tuple);
	else
		memcpy(tree_page_extend(level_page(level), level->last, bytes),
			   tuple, bytes);
}

Page
tree_writer_next_leaf(TreeWriter *writer)
{
	BulkWriteBuffer buffer = smgr_bulk_get_buf(writer->bulk_write);

	if (writer->leaves == NULL)
		writer->leaves = begin_level(writer, 0, buffer);
	else
		write_full_page(writer, writer->leaves, buffer);
	return (Page) buffer;
}

void
tree_writer_finish(TreeWriter *writer)
{
	BlockNumber root = P_NONE;
	uint32		root_height = 0;
	BulkWriteBuffer metapage;

	for (TreeLevel *level = writer->leaves; level != NULL;
		 level = level->parent)
	{
		BTPageOpaque opaque = BTPageGetOpaque(level_page(level));

		if (level->parent != NULL)
			add_to_parent(writer, level, level->block);
		else
		{
			opaque->btpo_flags |= BTP_ROOT;
			root = level->block;
			root_height = level->height;
		}
		opaque->btpo_prev = level->previous;
		tree_page_remove_high_key(level_page(level));
		smgr_bulk_write(writer->bulk_write, level->block, level->buffer, true);
	}

	/* with this the index is valid */
	metapage = smgr_bulk_get_buf(writer->bulk_write);
	_bt_initmetapage((Page) metapage, root, root_height,
					 writer->equal_images);
	smgr_bulk_write(writer->bulk_write, BTREE_METAPAGE, metapage, true);
	smgr_bulk_finish(writer->bulk_write);
}
