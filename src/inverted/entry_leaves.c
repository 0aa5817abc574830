/*-------------------------------------------------------------------------
 *
 * entry_leaves.c
 *	  Writing leaves of the entry tree of an inverted index.
 *
 * A leaf has entries, one for each term.  An entry has the list of the term's
 * rows, or if that is long, the root of a tree of lists (posting_tree.c).
 *
 * Terms come in order: all terms of the index, or those of one part of the
 * merge of all runs.  So the leaves of a part are written by the process that
 * makes the part, whatever others write.  Only the last leaf of a part is not
 * written here, as its right neighbour is in the next part: it goes to the
 * process that makes the inner pages (entry_tree.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "inverted/entry_leaves.h"
#include "inverted/posting_tree.h"

typedef struct EntryLeaves
{
	RowReader	reader;			/* must be first */
	GinWriter  *writer;
	RowReader  *rows;			/* terms in order */
	bool		no_rows_left;
	GinLevel   *leaves;
	IndexTuple	entry;			/* entry of the last term, if its rows are in
								 * a tree of lists; or NULL */
	PostingTree *lists;			/* that tree */
	MemoryContext term_context; /* memory of one term */
	LeafRow    *row;			/* memory for a row */
} EntryLeaves;

/* Returns the row, now that "bytes" bytes are behind its head. */
static LeafRow *
finish_row(EntryLeaves *leaves, BlockNumber number, bool is_page, Size bytes)
{
	LeafRow    *row = leaves->row;

	row->block.bytes = MAXALIGN(sizeof(LeafRow)) + bytes - sizeof(RunBlock);
	row->is_page = is_page;
	row->number = number;
	row->counts = gin_writer_take_counts(leaves->writer);
	return row;
}

/*
 * Adds an entry.  Returns a row if that takes a new page, otherwise NULL: the
 * page before has been written.
 */
static LeafRow *
add_entry(EntryLeaves *leaves, IndexTuple entry)
{
	GinLevel   *level = leaves->leaves;
	IndexTuple	last = leaf_row_entry(leaves->row);
	LeafRow    *row = NULL;

	if (!gin_level_add_entry(level, entry))
	{
		BlockNumber number;

		gin_page_copy_last_entry(gin_level_page(level), last);
		number = gin_level_turn_page(level, leaves->writer);
		row = finish_row(leaves, number, false, IndexTupleSize(last));
		(void) gin_level_add_entry(level, entry);
	}
	leaves->writer->counts.entries++;
	return row;
}

/* Adds the entry of the last term, if its rows are in a tree of lists. */
static LeafRow *
finish_term(EntryLeaves *leaves)
{
	LeafRow    *row = NULL;

	if (leaves->entry != NULL)
	{
		/* 15 has a macro, which evaluates its argument twice */
		BlockNumber root = posting_tree_finish(leaves->lists);

		GinSetPostingTree(leaves->entry, root);
		row = add_entry(leaves, leaves->entry);
	}
	leaves->entry = NULL;
	MemoryContextReset(leaves->term_context);
	return row;
}

/* Begins a term, whose entry has its rows or gets a tree of lists. */
static LeafRow *
begin_term(EntryLeaves *leaves, const PostingRow *row)
{
	if (row->list_bytes == 0)
		return add_entry(leaves, posting_row_entry(row));
	leaves->entry = CopyIndexTuple(posting_row_entry(row));
	leaves->lists = posting_tree_begin(leaves->writer);
	return NULL;
}

/* Adds the lists of a row to the tree of lists of the last term. */
static void
add_lists(EntryLeaves *leaves, const PostingRow *row)
{
	if (leaves->entry == NULL)
		elog(ERROR, "an entry of index \"%s\" has no tree of lists",
			 RelationGetRelationName(leaves->writer->index));
	posting_tree_add(leaves->lists, posting_row_lists(row), row->list_bytes);
}

/* Adds the next term, or more lists of the last term.  Returns as add_entry(). */
static LeafRow *
put_row(EntryLeaves *leaves, const PostingRow *row)
{
	MemoryContext caller_context = MemoryContextSwitchTo(leaves->term_context);
	LeafRow    *leaf = NULL;

	if (!row->same)
	{
		LeafRow    *before = finish_term(leaves);

		leaf = begin_term(leaves, row);
		/* a page has room for more than one entry */
		Assert(before == NULL || leaf == NULL);
		if (leaf == NULL)
			leaf = before;
	}
	if (row->list_bytes > 0)
		add_lists(leaves, row);
	leaves->writer->counts.tids += row->ntids;
	MemoryContextSwitchTo(caller_context);
	return leaf;
}

/* Returns the last leaf, once; NULL if it has no entries. */
static LeafRow *
take_last_leaf(EntryLeaves *leaves)
{
	GinLevel   *level = leaves->leaves;
	Page		page = gin_level_page(level);

	if (PageGetMaxOffsetNumber(page) == 0)
		return NULL;
	memcpy(leaf_row_page(leaves->row), page, BLCKSZ);
	GinInitPage(page, level->flags, BLCKSZ);
	return finish_row(leaves, level->block, true, BLCKSZ);
}

/* Returns the next LeafRow; see RowReader. */
static void *
next_leaf(RowReader *reader)
{
	EntryLeaves *leaves = (EntryLeaves *) reader;
	LeafRow    *leaf = NULL;

	while (leaf == NULL && !leaves->no_rows_left)
	{
		const PostingRow *row = leaves->rows->next(leaves->rows);

		leaves->no_rows_left = row == NULL;
		leaf = row != NULL ? put_row(leaves, row) : finish_term(leaves);
	}
	return leaf != NULL ? leaf : take_last_leaf(leaves);
}

RowReader *
entry_leaves_begin(GinWriter *writer, RowReader *rows)
{
	EntryLeaves *leaves = palloc0(sizeof(EntryLeaves));

	leaves->reader.next = next_leaf;
	leaves->writer = writer;
	leaves->rows = rows;
	leaves->leaves = gin_level_begin(GIN_LEAF);
	leaves->term_context = AllocSetContextCreate(CurrentMemoryContext,
												 "gpusort index entry",
												 ALLOCSET_DEFAULT_SIZES);
	leaves->row = palloc0(MAXALIGN(sizeof(LeafRow)) + BLCKSZ);
	return &leaves->reader;
}
