/*-------------------------------------------------------------------------
 *
 * posting_rows.c
 *	  Terms with compressed lists of TIDs, as rows.
 *
 * Rows lie in runs, are sent from process to process, and are what an index is
 * written from.  Lists are compressed as in the index, to one or two bytes for
 * each TID, so a run takes a fraction of its block's memory.
 *
 * In the merge of all runs, the rows of a term come one after the other, by
 * their first TIDs.  Their lists are joined.  Once a list is long, the TIDs
 * before the first one of the next row are final, and are emitted, so that a
 * term that most rows of the table have takes little memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "inverted/posting_rows.h"
#include "inverted/tid_list.h"

/*
 * A row of a run takes one part in this many of the memory, or little more, so
 * that a merge has memory for many rows: one of each run, and samples.
 */
#define RUN_ROW_PART		16384

/* A list with these TIDs is long: it does not fit an entry of an index. */
#define LEAST_LONG_LIST		((uint64) 16 * 1024)

Term
posting_row_term(const Terms *terms, const PostingRow *row)
{
	Term		term = {.column = row->column,.category = row->category};

	if (term.category == GIN_CAT_NORM_KEY)
		term.value = terms->types[term.column - 1].by_value ?
			*(Datum *) posting_row_value(row) :
			PointerGetDatum(posting_row_value(row));
	return term;
}

/*
 * ---- the order
 */

static uint64_t
word_of_row(const void *row)
{
	return ((const PostingRow *) row)->word;
}

static int
compare_terms(OwnOrder *order, const void *a, const void *b)
{
	Terms	   *terms = ((PostingOrder *) order)->terms;
	const PostingRow *row_a = a;
	const PostingRow *row_b = b;
	Term		term_a;
	Term		term_b;

	if (row_a->word != row_b->word)
		return row_a->word < row_b->word ? -1 : 1;
	term_a = posting_row_term(terms, row_a);
	term_b = posting_row_term(terms, row_b);
	return terms_compare_rest(terms, &term_a, &term_b);
}

static int
compare_rows(OwnOrder *order, const void *a, const void *b)
{
	int			result = compare_terms(order, a, b);

	return result != 0 ? result :
		ginCompareItemPointers(&posting_row_lists(a)->first,
							   &posting_row_lists(b)->first);
}

void
posting_order_init(PostingOrder *order, Terms *terms)
{
	order->own.compare = compare_rows;
	order->own.compare_groups = compare_terms;
	order->own.word = word_of_row;
	order->terms = terms;
}

/*
 * ---- making rows
 */

/* TIDs of a term, as a source of rows gives them. */
typedef struct TermPart
{
	TermRows	rows;
	bool		same;			/* the part before has the same term */
	bool		whole;			/* no other part has it */
} TermPart;

/* Makes rows of terms. */
typedef struct RowMaker
{
	RowReader	reader;			/* must be first */
	Terms	   *terms;
	bool		(*next_part) (struct RowMaker *maker, TermPart *part);
	bool		form_entries;
	Size		enough_bytes;	/* lists are put into a row until they have
								 * these bytes */
	TermPart	part;			/* what rows are being made of */
	uint64		ndone;			/* its TIDs that are in rows */
	PostingRow *row;			/* memory for a row */
	Size		row_bytes;		/* bytes of that memory */
} RowMaker;

/*
 * Returns memory for a row of this many bytes, beside its owner: the row's, if
 * that is enough.
 */
static PostingRow *
reserve_row(void *owner, PostingRow *row, Size *row_bytes, Size bytes)
{
	if (bytes <= *row_bytes)
		return row;
	if (row != NULL)
		pfree(row);
	*row_bytes = bytes;
	return MemoryContextAllocHuge(GetMemoryChunkContext(owner), bytes);
}

/* Makes the head and the value of a row, with room for its lists. */
static PostingRow *
begin_row(RowMaker *maker)
{
	const Term *term = &maker->part.rows.term;
	Size		bytes = terms_bytes(maker->terms, term);
	Size		value_bytes = term->category != GIN_CAT_NORM_KEY ? 0 :
		MAXALIGN(bytes > 0 ? bytes : sizeof(Datum));
	PostingRow *row = reserve_row(maker, maker->row, &maker->row_bytes,
								  value_bytes + POSTING_ROW_MOST_BYTES);

	maker->row = row;
	memset(row, 0, MAXALIGN(sizeof(PostingRow)) + value_bytes);
	row->value_bytes = value_bytes;
	row->word = terms_word(maker->terms, term);
	row->column = term->column;
	row->category = term->category;
	if (bytes > 0)
		memcpy(posting_row_value(row), DatumGetPointer(term->value), bytes);
	else if (value_bytes > 0)
		*(Datum *) posting_row_value(row) = term->value;
	return row;
}

/* Adds a list of the next TIDs, of most_bytes bytes at most. */
static void
add_list(RowMaker *maker, PostingRow *row, int most_bytes)
{
	const TermRows *rows = &maker->part.rows;

	/* each TID takes a byte at least, and 8 at most */
	int			most = Min(rows->count - maker->ndone, most_bytes);
	int			written;
	GinPostingList *list =
		ginCompressPostingList(rows->tids + maker->ndone, most,
							   Min(most_bytes, (most + 1) * 8), &written);
	Size		bytes = SizeOfGinPostingList(list);

	memcpy((char *) posting_row_lists(row) + row->list_bytes, list, bytes);
	pfree(list);
	row->list_bytes += bytes;
	row->ntids += written;
	maker->ndone += written;
}

/* Puts all TIDs of a term into one list; false if that is too long. */
static bool
add_only_list(RowMaker *maker, PostingRow *row)
{
	if (maker->part.rows.count > GinMaxItemSize)
		return false;
	add_list(maker, row, GinMaxItemSize);
	if (maker->ndone == maker->part.rows.count)
		return true;
	maker->ndone = 0;
	row->list_bytes = 0;
	row->ntids = 0;
	return false;
}

/*
 * Adds lists: one list if all TIDs of the term fit an entry of the index and
 * entries are formed; otherwise lists until the row has enough.  Returns
 * whether the one list goes into an entry.
 */
static bool
add_lists(RowMaker *maker, PostingRow *row)
{
	if (maker->form_entries && maker->part.whole && !row->same &&
		add_only_list(maker, row))
		return true;
	do
		add_list(maker, row, MOST_LIST_BYTES);
	while (maker->ndone < maker->part.rows.count &&
		   row->list_bytes < maker->enough_bytes);
	return false;
}

/* Adds the entry of the index, which takes the list if that is the only one. */
static void
add_entry(RowMaker *maker, PostingRow *row, bool is_only_list)
{
	GinState   *gin = &maker->terms->gin;
	const Term *term = &maker->part.rows.term;
	IndexTuple	entry = NULL;

	if (is_only_list)
		entry = GinFormTuple(gin, term->column, term->value, term->category,
							 (char *) posting_row_lists(row), row->list_bytes,
							 row->ntids, false);
	if (entry != NULL)
		row->list_bytes = 0;
	else
		entry = GinFormTuple(gin, term->column, term->value, term->category,
							 NULL, 0, 0, true);
	row->entry_bytes = IndexTupleSize(entry);
	memcpy(posting_row_entry(row), entry, row->entry_bytes);
	pfree(entry);
}

/* Returns the next row; see RowReader. */
static void *
next_row(RowReader *reader)
{
	RowMaker   *maker = (RowMaker *) reader;
	TermPart   *part = &maker->part;
	PostingRow *row;
	bool		is_only_list;

	CHECK_FOR_INTERRUPTS();
	if (maker->ndone == part->rows.count)
	{
		if (!maker->next_part(maker, part))
			return NULL;
		maker->ndone = 0;
	}
	row = begin_row(maker);
	row->same = part->same || maker->ndone > 0;
	is_only_list = add_lists(maker, row);
	if (maker->form_entries && !row->same)
		add_entry(maker, row, is_only_list);
	row->block.bytes = MAXALIGN((char *) posting_row_entry(row) +
								row->entry_bytes - (char *) row) -
		sizeof(RunBlock);
	return row;
}

/* Makes a maker of this many bytes, which begins with a RowMaker. */
static void *
begin_maker(Size bytes, Terms *terms,
			bool (*next_part) (RowMaker *maker, TermPart *part))
{
	RowMaker   *maker = palloc0(bytes);

	maker->reader.next = next_row;
	maker->terms = terms;
	maker->next_part = next_part;
	maker->enough_bytes = ENOUGH_LIST_BYTES;
	return maker;
}

/*
 * ---- rows of a block
 */

typedef struct BlockRows
{
	RowMaker	maker;			/* must be first */
	TermBlock  *block;
} BlockRows;

static bool
next_of_block(RowMaker *maker, TermPart *part)
{
	part->same = false;
	part->whole = true;
	return term_block_next(((BlockRows *) maker)->block, &part->rows);
}

/* Makes a maker of a block's rows. */
static BlockRows *
begin_block_rows(Terms *terms, TermBlock *block)
{
	MemoryContext caller_context =
		MemoryContextSwitchTo(term_block_context(block));
	BlockRows  *rows = begin_maker(sizeof(BlockRows), terms, next_of_block);

	rows->block = block;
	MemoryContextSwitchTo(caller_context);
	return rows;
}

RowReader *
posting_rows_of_block(Terms *terms, TermBlock *block)
{
	BlockRows  *rows = begin_block_rows(terms, block);

	rows->maker.form_entries = true;
	return &rows->maker.reader;
}

uint64
posting_rows_write(Terms *terms, TermBlock *block, RunTape *run, bool indexed)
{
	BlockRows  *rows = begin_block_rows(terms, block);
	uint64		count = 0;
	const void *row;

	rows->maker.enough_bytes = Min(ENOUGH_LIST_BYTES,
								   term_block_limit(block) / RUN_ROW_PART);
	for (; (row = next_row(&rows->maker.reader)) != NULL; count++)
	{
		if (indexed)
			run_tape_write_indexed(run, row);
		else
			run_tape_write(run, row);
	}
	return count;
}

/*
 * ---- joined rows
 */

typedef struct JoinedRows
{
	RowMaker	maker;			/* must be first */
	RowReader  *rows;
	uint64		long_list;		/* TIDs of a long list */
	bool		started;
	const PostingRow *next;		/* next row; NULL: none is left */

	/* the term that is being joined, in a row without its lists */
	PostingRow *term;
	Size		term_bytes;		/* memory for that */
	bool		goes_on;		/* the next row has this term, too */
	ItemPointerData *tids;
	uint64		count;
	uint64		max;
	uint64		nfinal;			/* the first TIDs, which were emitted */
} JoinedRows;

static bool next_joined(RowMaker *maker, TermPart *part);

RowReader *
posting_rows_join(Terms *terms, RowReader *rows, Size limit)
{
	JoinedRows *joined = begin_maker(sizeof(JoinedRows), terms, next_joined);

	joined->maker.form_entries = true;
	joined->rows = rows;
	/* a list may double, and be sorted */
	joined->long_list = Max(limit / (4 * sizeof(ItemPointerData)),
							LEAST_LONG_LIST);
	joined->max = 1024;
	joined->tids = palloc(joined->max * sizeof(ItemPointerData));
	return &joined->maker.reader;
}

/* Begins a list with the term of the next row. */
static void
begin_list(JoinedRows *joined)
{
	Size		bytes = MAXALIGN(sizeof(PostingRow)) + joined->next->value_bytes;

	joined->term = reserve_row(joined, joined->term, &joined->term_bytes,
							   bytes);
	memcpy(joined->term, joined->next, bytes);
	joined->count = 0;
}

/* Returns whether the next row has the term that is being joined. */
static bool
next_is_same(JoinedRows *joined)
{
	Terms	   *terms = joined->maker.terms;
	const PostingRow *next = joined->next;
	const PostingRow *last = joined->term;
	Term		term;
	Term		next_term;

	if (next == NULL || next->word != last->word)
		return false;
	if (next->value_bytes == last->value_bytes &&
		memcmp(posting_row_value(next), posting_row_value(last),
			   last->value_bytes) == 0)
		return true;
	term = posting_row_term(terms, last);
	next_term = posting_row_term(terms, next);
	return terms_compare_rest(terms, &term, &next_term) == 0;
}

/* Adds the lists of the next row, and goes on to the row behind it. */
static void
take_lists(JoinedRows *joined)
{
	const PostingRow *next = joined->next;
	int			count;
	ItemPointer tids = ginPostingListDecodeAllSegments(posting_row_lists(next),
													   next->list_bytes,
													   &count);

	if (joined->count + count > joined->max)
	{
		joined->max = Max(joined->max * 2, joined->count + count);
		joined->tids = repalloc_huge(joined->tids,
									 joined->max * sizeof(ItemPointerData));
	}
	memcpy(joined->tids + joined->count, tids, count * sizeof(ItemPointerData));
	joined->count += count;
	pfree(tids);
	joined->next = joined->rows->next(joined->rows);
}

/* Takes rows of the present term: all, or until there are many more TIDs. */
static void
take_rows(JoinedRows *joined)
{
	uint64		enough = joined->count + joined->long_list;

	do
	{
		CHECK_FOR_INTERRUPTS();
		take_lists(joined);
		joined->goes_on = next_is_same(joined);
	} while (joined->goes_on && joined->count < enough);
}

/* Drops the TIDs that were emitted. */
static void
drop_final(JoinedRows *joined)
{
	joined->count -= joined->nfinal;
	memmove(joined->tids, joined->tids + joined->nfinal,
			joined->count * sizeof(ItemPointerData));
}

/* Returns how many TIDs come before all those that are still to be read. */
static uint64
count_final(const JoinedRows *joined)
{
	return joined->goes_on ?
		tid_list_before(joined->tids, joined->count,
						&posting_row_lists(joined->next)->first) :
		joined->count;
}

static bool
next_joined(RowMaker *maker, TermPart *part)
{
	JoinedRows *joined = (JoinedRows *) maker;

	if (!joined->started)
		joined->next = joined->rows->next(joined->rows);
	joined->started = true;
	part->same = joined->goes_on;
	if (joined->goes_on)
		drop_final(joined);
	else if (joined->next == NULL)
		return false;
	else
		begin_list(joined);
	do
	{
		take_rows(joined);
		joined->count = tid_list_sort(joined->tids, joined->count);
		joined->nfinal = count_final(joined);
	} while (joined->nfinal == 0);
	part->whole = !part->same && !joined->goes_on;
	part->rows.term = posting_row_term(maker->terms, joined->term);
	part->rows.tids = joined->tids;
	part->rows.count = joined->nfinal;
	return true;
}
