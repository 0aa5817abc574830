/*-------------------------------------------------------------------------
 *
 * posting_tree.c
 *	  Writing the tree of lists of a term that has many rows.
 *
 * A leaf has short compressed lists, one behind the other, and in front of
 * them its last TID.  An inner page has the numbers of the pages below, each
 * with the last TID there.  The last page of a level has no last TID: it takes
 * all that comes later.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "inverted/gin_pages.h"
#include "inverted/posting_tree.h"

struct PostingTree
{
	GinWriter  *writer;
	GinLevel   *leaves;
	Size		leaf_bytes;		/* bytes of the lists on the present leaf */
	Size		last_list;		/* where the last of them begins */
};

PostingTree *
posting_tree_begin(GinWriter *writer)
{
	PostingTree *tree = palloc0(sizeof(PostingTree));

	tree->writer = writer;
	tree->leaves = gin_level_begin(GIN_DATA | GIN_LEAF | GIN_COMPRESSED);
	return tree;
}

static void turn_page(PostingTree *tree, GinLevel *level,
					  const ItemPointerData *last);

/*
 * Adds a page to the level above, which is made if there is none.  "last" is
 * the last TID of the page.
 */
static void
add_to_parent(PostingTree *tree, GinLevel *level, BlockNumber block,
			  const ItemPointerData *last)
{
	GinLevel   *parent = level->parent;
	Page		page;
	PostingItem item;

	if (parent == NULL)
		parent = level->parent = gin_level_begin(GIN_DATA);
	page = gin_level_page(parent);
	if (GinNonLeafDataPageGetFreeSpace(page) < sizeof(PostingItem))
		turn_page(tree, parent,
				  &GinDataPageGetPostingItem(page, GinPageGetOpaque(page)->maxoff)->key);
	PostingItemSetBlockNumber(&item, block);
	item.key = *last;
	GinDataPageAddPostingItem(page, &item, GinPageGetOpaque(page)->maxoff + 1);
}

/* Writes a level's page, which is full, and goes on to a new one. */
static void
turn_page(PostingTree *tree, GinLevel *level, const ItemPointerData *last)
{
	/* the page is gone when its last TID is wanted */
	const ItemPointerData bound = *last;
	BlockNumber block;

	*GinDataPageGetRightBound(gin_level_page(level)) = bound;
	block = gin_level_turn_page(level, tree->writer);
	add_to_parent(tree, level, block, &bound);
}

/* Returns the last TID of the present leaf. */
static ItemPointerData
last_of_leaf(PostingTree *tree)
{
	Page		page = gin_level_page(tree->leaves);
	GinPostingList *list = (GinPostingList *)
		((char *) GinDataLeafPageGetPostingList(page) + tree->last_list);
	int			count;
	ItemPointer tids = ginPostingListDecode(list, &count);
	ItemPointerData last = tids[count - 1];

	pfree(tids);
	return last;
}

/* Adds a list to the last leaf. */
static void
add_list(PostingTree *tree, const GinPostingList *list, Size bytes)
{
	Page		page = gin_level_page(tree->leaves);

	if (tree->leaf_bytes + bytes > GinDataPageMaxDataSize)
	{
		ItemPointerData last = last_of_leaf(tree);

		turn_page(tree, tree->leaves, &last);
		tree->leaf_bytes = 0;
	}
	memcpy((char *) GinDataLeafPageGetPostingList(page) + tree->leaf_bytes,
		   list, bytes);
	tree->last_list = tree->leaf_bytes;
	tree->leaf_bytes += bytes;
	GinDataPageSetDataSize(page, tree->leaf_bytes);
}

/*
 * Adds a list that is longer than those of a tree: one that would have fitted
 * an entry, if the value of the term were shorter.
 */
static void
divide_list(PostingTree *tree, GinPostingList *list)
{
	int			count;
	ItemPointer tids = ginPostingListDecode(list, &count);

	for (int done = 0; done < count;)
	{
		int			written;
		GinPostingList *part = ginCompressPostingList(tids + done,
													  count - done,
													  MOST_LIST_BYTES,
													  &written);

		add_list(tree, part, SizeOfGinPostingList(part));
		pfree(part);
		done += written;
	}
	pfree(tids);
}

void
posting_tree_add(PostingTree *tree, const GinPostingList *lists, Size bytes)
{
	const char *end = (const char *) lists + bytes;

	for (const GinPostingList *list = lists; (const char *) list < end;
		 list = GinNextPostingListSegment(list))
	{
		Size		list_bytes = SizeOfGinPostingList(list);

		CHECK_FOR_INTERRUPTS();
		if (list_bytes <= MOST_LIST_BYTES)
			add_list(tree, list, list_bytes);
		else
			divide_list(tree, (GinPostingList *) list);
	}
}

BlockNumber
posting_tree_finish(PostingTree *tree)
{
	GinLevel   *level = tree->leaves;
	ItemPointerData infinity;
	BlockNumber block;

	ItemPointerSetMin(&infinity);
	for (;;)
	{
		GinLevel   *parent = level->parent;

		block = gin_level_write_page(level, tree->writer);
		if (parent == NULL)
			return block;
		add_to_parent(tree, level, block, &infinity);
		level = parent;
	}
}
