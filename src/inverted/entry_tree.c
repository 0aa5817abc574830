/*-------------------------------------------------------------------------
 *
 * entry_tree.c
 *	  Writing an inverted index from its terms in order.
 *
 * A GIN index is a B-tree of entries, one for each term.  An entry has the
 * list of its rows, or if that is long, the root of a tree of lists.  Core's
 * build inserts one entry after the other, which takes a search for the place
 * of each, and halves pages that then stay half empty.  As terms come in
 * order, pages are filled from left to right here, like those of a B-tree.
 *
 * Each level of the entry tree has one page that is being filled, in memory.
 * When it is full, it is written, and its last entry goes to the level above
 * with the page's number.  So an inner entry has the highest term below it.
 * The page of the highest level becomes the root, which has a fixed number.
 * Trees of lists are filled in the same way (posting_tree.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "inverted/entry_tree.h"
#include "inverted/gin_pages.h"
#include "inverted/posting_tree.h"

/*
 * Percent of a page that are filled: the rest is for entries that come later,
 * as in a B-tree.
 */
#define ENTRY_FILL_FACTOR	90
#define LEAST_FREE_BYTES	(BLCKSZ * (100 - ENTRY_FILL_FACTOR) / 100)

struct EntryTree
{
	Relation	index;
	MemoryContext context;		/* owns this struct and the levels */
	MemoryContext term_context; /* memory of one term */
	GinLevel   *leaves;
	IndexTuple	entry;			/* entry of the last term, if its rows are in
								 * a tree of lists; or NULL */
	PostingTree *rows;			/* that tree */
	GinStatsData stats;
	uint64		ntids;
};

static GinLevel *
begin_level(EntryTree *tree, uint16 flags)
{
	MemoryContext caller_context = MemoryContextSwitchTo(tree->context);
	GinLevel   *level = gin_level_begin(flags);

	tree->stats.nEntryPages++;
	MemoryContextSwitchTo(caller_context);
	return level;
}

EntryTree *
entry_tree_begin(Relation index)
{
	EntryTree  *tree = palloc0(sizeof(EntryTree));

	tree->index = index;
	tree->context = CurrentMemoryContext;
	tree->term_context = AllocSetContextCreate(CurrentMemoryContext,
											   "gpusort index entry",
											   ALLOCSET_DEFAULT_SIZES);
	gin_pages_begin(index);
	tree->leaves = begin_level(tree, GIN_LEAF);
	return tree;
}

static void add_entry(EntryTree *tree, GinLevel *level, IndexTuple entry);

/*
 * Returns what the level above gets of a page: its last entry, without rows.
 */
static IndexTuple
form_inner_entry(Page page)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	IndexTuple	entry = (IndexTuple) PageGetItem(page, PageGetItemId(page, last));
	Size		bytes = IndexTupleSize(entry);
	IndexTuple	inner;

	if (GinPageIsLeaf(page) && !GinIsPostingTree(entry))
		bytes = MAXALIGN(GinGetPostingOffset(entry));
	inner = palloc(bytes);
	memcpy(inner, entry, bytes);
	inner->t_info = (inner->t_info & ~INDEX_SIZE_MASK) | bytes;
	return inner;
}

/* Adds an entry for a page to the level above, which is made if need be. */
static void
add_to_parent(EntryTree *tree, GinLevel *level, IndexTuple inner,
			  BlockNumber block)
{
	GinSetDownlink(inner, block);
	if (level->parent == NULL)
		level->parent = begin_level(tree, 0);
	add_entry(tree, level->parent, inner);
	pfree(inner);
}

/* Writes a level's page, which is full, and goes on to a new one. */
static void
turn_page(EntryTree *tree, GinLevel *level)
{
	IndexTuple	inner = form_inner_entry(gin_level_page(level));
	BlockNumber block = gin_level_turn_page(level, tree->index);

	tree->stats.nEntryPages++;
	add_to_parent(tree, level, inner, block);
}

/* Adds an entry to a level. */
static void
add_entry(EntryTree *tree, GinLevel *level, IndexTuple entry)
{
	Page		page = gin_level_page(level);
	Size		bytes = IndexTupleSize(entry);
	Size		free = PageGetFreeSpace(page);

	/* a page has at least two entries, even large ones */
	if (free < MAXALIGN(bytes) ||
		(free - MAXALIGN(bytes) < LEAST_FREE_BYTES &&
		 PageGetMaxOffsetNumber(page) >= 2))
		turn_page(tree, level);
	if (PageAddItem(page, (Item) entry, bytes, InvalidOffsetNumber, false,
					false) == InvalidOffsetNumber)
		elog(ERROR, "could not add an entry to index \"%s\"",
			 RelationGetRelationName(tree->index));
}

/* Adds the entry of the last term, if its rows are in a tree of lists. */
static void
finish_term(EntryTree *tree)
{
	if (tree->entry != NULL)
	{
		/* 15 has a macro, which evaluates its argument twice */
		BlockNumber root = posting_tree_finish(tree->rows);

		GinSetPostingTree(tree->entry, root);
		add_entry(tree, tree->leaves, tree->entry);
	}
	tree->entry = NULL;
	MemoryContextReset(tree->term_context);
}

/* Adds the lists of a row to the tree of lists of the last term. */
static void
add_lists(EntryTree *tree, const PostingRow *row)
{
	if (tree->entry == NULL)
		elog(ERROR, "an entry of index \"%s\" has no tree of lists",
			 RelationGetRelationName(tree->index));
	posting_tree_add(tree->rows, posting_row_lists(row), row->list_bytes);
}

void
entry_tree_put(EntryTree *tree, const PostingRow *row)
{
	MemoryContext caller_context = MemoryContextSwitchTo(tree->term_context);

	CHECK_FOR_INTERRUPTS();
	if (!row->same)
	{
		finish_term(tree);
		tree->stats.nEntries++;
		if (row->list_bytes == 0)
			add_entry(tree, tree->leaves, posting_row_entry(row));
		else
		{
			tree->entry = CopyIndexTuple(posting_row_entry(row));
			tree->rows = posting_tree_begin(tree->index, &tree->stats);
		}
	}
	if (row->list_bytes > 0)
		add_lists(tree, row);
	tree->ntids += row->ntids;
	MemoryContextSwitchTo(caller_context);
}

/* Writes the page of the highest level, as the root. */
static void
write_root(EntryTree *tree, GinLevel *level)
{
	Buffer		root = ReadBuffer(tree->index, GIN_ROOT_BLKNO);

	LockBuffer(root, GIN_EXCLUSIVE);
	gin_page_copy(root, gin_level_page(level));
	UnlockReleaseBuffer(root);
}

/* Writes the last pages of all levels. */
static void
write_last_pages(EntryTree *tree)
{
	GinLevel   *level = tree->leaves;

	for (; level->parent != NULL; level = level->parent)
	{
		IndexTuple	inner = form_inner_entry(gin_level_page(level));

		add_to_parent(tree, level, inner,
					  gin_level_write_page(level, tree->index));
	}
	write_root(tree, level);
}

uint64
entry_tree_finish(EntryTree *tree)
{
	finish_term(tree);
	write_last_pages(tree);
	gin_pages_finish(tree->index, &tree->stats);
	MemoryContextDelete(tree->term_context);
	return tree->ntids;
}
