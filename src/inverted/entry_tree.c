/*-------------------------------------------------------------------------
 *
 * entry_tree.c
 *	  Completing an inverted index from its leaves in order.
 *
 * A GIN index is a B-tree of entries, one for each term.  Core's build inserts
 * one entry after the other, which takes a search for the place of each, and
 * halves pages that then stay half empty.  As terms come in order, pages are
 * filled from left to right here, like those of a B-tree.
 *
 * Most leaves are there already (entry_leaves.c).  The last leaf of each part
 * is written here, when the number of the leaf behind it is known.
 *
 * Each level of the tree has one page that is being filled, in memory.  When
 * it is full, it is written, and its last entry goes to the level above with
 * the page's number.  So an inner entry has the highest term below it.  The
 * page of the highest level becomes the root, which has a fixed number.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "inverted/entry_tree.h"
#include "settings.h"

struct EntryTree
{
	GinWriter  *writer;
	Terms	   *terms;
	GinLevel   *leaves;			/* its page is the last leaf of a part, or is
								 * empty */
	PGAlignedBlock inner;		/* memory for an entry of an inner page */
	GinCounts	counts;
};

EntryTree *
entry_tree_begin(GinWriter *writer, Terms *terms)
{
	EntryTree  *tree = palloc0(sizeof(EntryTree));

	tree->writer = writer;
	tree->terms = terms;
	tree->leaves = gin_level_begin(GIN_LEAF);
	gin_pages_begin(writer);
	return tree;
}

/*
 * ---- inner pages
 */

/*
 * Adds an entry for a page to the level above, which is made if need be.  The
 * entry is changed.
 */
static void
add_to_parent(EntryTree *tree, GinLevel *level, IndexTuple entry,
			  BlockNumber block)
{
	GinLevel   *parent = level->parent;

	GinSetDownlink(entry, block);
	if (parent == NULL)
		parent = level->parent = gin_level_begin(0);
	if (!gin_level_add_entry(parent, entry))
	{
		PGAlignedBlock last;

		gin_page_copy_last_entry(gin_level_page(parent), (IndexTuple) last.data);
		add_to_parent(tree, parent, (IndexTuple) last.data,
					  gin_level_turn_page(parent, tree->writer));
		(void) gin_level_add_entry(parent, entry);
	}
}

/*
 * ---- leaves
 */

/* Returns whether the level has a page that is being filled. */
static inline bool
has_page(GinLevel *level)
{
	return PageGetMaxOffsetNumber(gin_level_page(level)) > 0;
}

/* Raises an error unless the last entry of a page is before the first of another. */
static void
check_order(EntryTree *tree, Page page, Page next)
{
	GinState   *gin = &tree->terms->gin;
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	IndexTuple	a = (IndexTuple) PageGetItem(page, PageGetItemId(page, last));
	IndexTuple	b = (IndexTuple)
		PageGetItem(next, PageGetItemId(next, FirstOffsetNumber));
	GinNullCategory category_a;
	GinNullCategory category_b;
	Datum		key_a = gintuple_get_key(gin, a, &category_a);
	Datum		key_b = gintuple_get_key(gin, b, &category_b);

	if (ginCompareAttEntries(gin, gintuple_get_attrnum(gin, a), key_a,
							 category_a, gintuple_get_attrnum(gin, b), key_b,
							 category_b) >= 0)
		elog(ERROR, "parts of index \"%s\" are out of order",
			 RelationGetRelationName(tree->writer->index));
}

/* Checks the order of the last leaf of a part and the next leaf. */
static void
check_next_leaf(EntryTree *tree, LeafRow *next)
{
	Page		page = gin_level_page(tree->leaves);
	Buffer		buffer;

	if (next->is_page)
	{
		check_order(tree, page, leaf_row_page(next));
		return;
	}
	buffer = ReadBuffer(tree->writer->index, next->number);
	LockBuffer(buffer, GIN_SHARE);
	check_order(tree, page, BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
}

/* Writes the last leaf of a part, ahead of the next leaf. */
static void
finish_part(EntryTree *tree, LeafRow *next)
{
	GinLevel   *leaves = tree->leaves;
	IndexTuple	entry = (IndexTuple) tree->inner.data;

	if (gpusort_verify)
		check_next_leaf(tree, next);
	if (next->number == InvalidBlockNumber)
		next->number = gin_writer_new_block(tree->writer);
	gin_page_copy_last_entry(gin_level_page(leaves), entry);
	add_to_parent(tree, leaves, entry,
				  gin_level_link_page(leaves, tree->writer, next->number));
}

static void
add_counts(EntryTree *tree, GinCounts counts)
{
	tree->counts.entry_pages += counts.entry_pages;
	tree->counts.data_pages += counts.data_pages;
	tree->counts.entries += counts.entries;
	tree->counts.tids += counts.tids;
}

void
entry_tree_put(EntryTree *tree, LeafRow *leaf)
{
	GinLevel   *leaves = tree->leaves;

	CHECK_FOR_INTERRUPTS();
	add_counts(tree, leaf->counts);
	if (has_page(leaves))
		finish_part(tree, leaf);
	if (leaf->is_page)
	{
		memcpy(gin_level_page(leaves), leaf_row_page(leaf), BLCKSZ);
		leaves->block = leaf->number;
	}
	else
		add_to_parent(tree, leaves, leaf_row_entry(leaf), leaf->number);
}

/*
 * ---- the end
 */

/* Writes the last pages of all levels, the highest one as the root. */
static void
write_last_pages(EntryTree *tree)
{
	GinLevel   *level = tree->leaves;

	for (; level->parent != NULL; level = level->parent)
	{
		IndexTuple	entry = (IndexTuple) tree->inner.data;

		gin_page_copy_last_entry(gin_level_page(level), entry);
		add_to_parent(tree, level, entry,
					  gin_level_write_page(level, tree->writer));
	}
	gin_writer_put(tree->writer, GIN_ROOT_BLKNO, gin_level_page(level));
}

uint64
entry_tree_finish(EntryTree *tree)
{
	write_last_pages(tree);
	add_counts(tree, gin_writer_take_counts(tree->writer));
	gin_pages_finish(tree->writer, &tree->counts);
	return tree->counts.tids;
}
