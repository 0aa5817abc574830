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
 * Pages of all levels have numbers in the order in which they are begun.  Pages
 * that are complete are written in batches (page_writer.c).
 *
 * Above the leaves, a page is full when a tuple comes that has no room on it,
 * or when less is free than the fill factor leaves.  Then the last tuple on
 * the page moves to the new page, and its key becomes the high key.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "btree/page_writer.h"
#include "btree/tree_page.h"
#include "btree/tree_writer.h"
#include "port/compat.h"

/* No tree is higher: an inner page has two links at least. */
#define MAX_LEVELS	32

/* A level of the tree, and its page that is being filled. */
typedef struct TreeLevel
{
	struct TreeLevel *parent;	/* NULL at the top */
	uint32		height;			/* 0 for leaves */

	Page		page;
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
	XLogRecPtr	begun;			/* for page_writer_finish() */
	BlockNumber nblocks;		/* numbers given to pages so far */
	TreeLevel  *leaves;			/* level of the leaves; NULL before the first
								 * leaf */

	/* complete pages that have not been written yet */
	int			ncomplete;
	BlockNumber blocks[PAGE_BATCH];
	Page		pages[PAGE_BATCH];
};

TreeWriter *
tree_writer_begin(Relation heap, Relation index)
{
	TreeWriter *writer = palloc0(sizeof(TreeWriter));

	writer->heap = heap;
	writer->index = index;
	writer->equal_images = _bt_allequalimage(index, true);
	writer->begun = page_writer_begin();
	writer->nblocks = BTREE_METAPAGE + 1;
	return writer;
}

/* Writes the complete pages, and frees them. */
static void
write_complete(TreeWriter *writer)
{
	page_writer_write(writer->index, writer->blocks, writer->pages,
					  writer->ncomplete);
	for (int i = 0; i < writer->ncomplete; i++)
		pfree(writer->pages[i]);
	writer->ncomplete = 0;
}

/* Takes over a page that is complete. */
static void
add_complete(TreeWriter *writer, BlockNumber block, Page page)
{
	writer->blocks[writer->ncomplete] = block;
	writer->pages[writer->ncomplete] = page;
	if (++writer->ncomplete == PAGE_BATCH)
		write_complete(writer);
}

/* Gives a page its number. */
static BlockNumber
next_block(TreeWriter *writer)
{
	BlockNumber block = writer->nblocks++;

	if (page_writer_file(block) != page_writer_file(block - 1))
	{
		write_complete(writer);
		page_writer_begin_file(writer->index, block);
	}
	return block;
}

/* Begins a level with its first page. */
static TreeLevel *
begin_level(TreeWriter *writer, uint32 height, Page page)
{
	TreeLevel  *level = palloc0(sizeof(TreeLevel));

	level->height = height;
	level->page = page;
	level->block = next_block(writer);
	level->previous = P_NONE;
	level->last = P_HIKEY;

	/* minus infinity */
	level->low_key = palloc0(sizeof(IndexTupleData));
	level->low_key->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(level->low_key, 0, false);
	return level;
}

static Page
begin_page(uint32 height)
{
	Page		page = ALLOCATE_BLOCK(CurrentMemoryContext);

	tree_page_begin(page, height);
	return page;
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
									begin_page(level->height + 1));
	BTreeTupleSetDownLink(level->low_key, block);
	add_tuple(writer, level->parent, level->low_key);
	pfree(level->low_key);
	level->low_key = NULL;
}

/*
 * Completes the level's page, which is full and has its high key, and returns
 * its block.  The page on its right becomes the level's page, and may have no
 * contents yet.
 */
static BlockNumber
complete_page(TreeWriter *writer, TreeLevel *level, Page next)
{
	Page		full = level->page;
	BlockNumber full_block = level->block;
	BTPageOpaque opaque = BTPageGetOpaque(full);

	level->page = next;
	level->block = next_block(writer);
	add_to_parent(writer, level, full_block);
	level->low_key = CopyIndexTuple(tree_page_tuple(full, P_HIKEY));
	opaque->btpo_prev = level->previous;
	opaque->btpo_next = level->block;
	level->previous = full_block;
	return full_block;
}

/* Goes on to a new page, to which the last tuple of the present one moves. */
static void
turn_page(TreeWriter *writer, TreeLevel *level)
{
	Page		full = level->page;
	Page		next = begin_page(level->height);

	put_link(next, tree_page_tuple(full, level->last));
	tree_page_last_to_high_key(full, level->last);
	add_complete(writer, complete_page(writer, level, next), full);
	level->last = P_FIRSTKEY;
}

/* Adds a tuple to a level above the leaves. */
static void
add_tuple(TreeWriter *writer, TreeLevel *level, IndexTuple tuple)
{
	const Size	full_below = BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	Size		bytes = MAXALIGN(IndexTupleSize(tuple));
	Size		free = PageGetFreeSpace(level->page);

	if (unlikely(bytes > BTREE_MAX_ITEM_BYTES(level->page)))
		_bt_check_third_page(writer->index, writer->heap, false,
							 level->page, tuple);

	/* a page has at least two tuples, even large ones */
	if (free < bytes || (free < full_below && level->last > P_FIRSTKEY))
		turn_page(writer, level);

	level->last++;
	if (level->last == P_FIRSTKEY)
		put_link(level->page, tuple);
	else
		memcpy(tree_page_extend(level->page, level->last, bytes),
			   tuple, bytes);
}

BlockNumber
tree_writer_add_leaf(TreeWriter *writer, Page leaf)
{
	if (writer->leaves != NULL)
		return complete_page(writer, writer->leaves, leaf);
	writer->leaves = begin_level(writer, 0, leaf);
	return P_NONE;
}

void
tree_writer_keep_leaf(TreeWriter *writer)
{
	Page		kept = ALLOCATE_BLOCK(CurrentMemoryContext);

	memcpy(kept, writer->leaves->page, BLCKSZ);
	writer->leaves->page = kept;
}

bool
tree_writer_may_begin_file(const TreeWriter *writer)
{
	BlockNumber last = writer->nblocks - 1;

	/* a page of each level may be begun */
	return page_writer_file(last + MAX_LEVELS) != page_writer_file(last);
}

Page
tree_writer_next_leaf(TreeWriter *writer)
{
	Page		full = writer->leaves == NULL ? NULL : writer->leaves->page;
	Page		next = ALLOCATE_BLOCK(CurrentMemoryContext);
	BlockNumber full_block = tree_writer_add_leaf(writer, next);

	if (full != NULL)
		add_complete(writer, full_block, full);
	return next;
}

void
tree_writer_finish(TreeWriter *writer)
{
	BlockNumber root = P_NONE;
	uint32		root_height = 0;
	Page		metapage = ALLOCATE_BLOCK(CurrentMemoryContext);

	for (TreeLevel *level = writer->leaves; level != NULL;
		 level = level->parent)
	{
		BTPageOpaque opaque = BTPageGetOpaque(level->page);

		if (level->parent != NULL)
			add_to_parent(writer, level, level->block);
		else
		{
			opaque->btpo_flags |= BTP_ROOT;
			root = level->block;
			root_height = level->height;
		}
		opaque->btpo_prev = level->previous;
		tree_page_remove_high_key(level->page);
		add_complete(writer, level->block, level->page);
	}

	/* with this the index is valid */
	_bt_initmetapage(metapage, root, root_height, writer->equal_images);
	add_complete(writer, BTREE_METAPAGE, metapage);
	write_complete(writer);
	page_writer_finish(writer->index, writer->begun);
}
