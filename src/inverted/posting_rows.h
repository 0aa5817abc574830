/*-------------------------------------------------------------------------
 *
 * posting_rows.h
 *	  Terms with compressed lists of TIDs, as rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_POSTING_ROWS_H
#define GPUSORT_POSTING_ROWS_H

#include "inverted/term_block.h"
#include "spill/row_reader.h"
#include "spill/run_order.h"
#include "spill/run_tape.h"

/*
 * A row: this head, the value of the term, compressed lists, one behind the
 * other, and perhaps an entry of the index.  A term with many TIDs has several
 * rows in succession.
 */
typedef struct PostingRow
{
	RunBlock	block;			/* must be first: the bytes behind it */
	uint32		value_bytes;	/* bytes of the value, aligned */
	uint64		word;			/* see terms_word() */
	uint32		list_bytes;		/* bytes of all lists */
	uint32		entry_bytes;	/* bytes of the entry; 0: there is none */
	uint32		ntids;
	OffsetNumber column;
	GinNullCategory category;
	bool		same;			/* the row before has this term, too */
} PostingRow;

/* The form of these rows on a tape. */
#define POSTING_ROW_FORMAT	(&run_of_blocks)

/*
 * The most bytes of a list, as in core's index builds; but if an entry of the
 * index has room for all TIDs of a term, these are in one list.
 */
#define MOST_LIST_BYTES		384

/* Lists are put into a row until they have these bytes, or fewer. */
#define ENOUGH_LIST_BYTES	(16 * 1024)

/* The most bytes of a row beside its value. */
#define POSTING_ROW_MOST_BYTES \
	(MAXALIGN(sizeof(PostingRow)) + ENOUGH_LIST_BYTES + \
	 Max(MOST_LIST_BYTES, GinMaxItemSize) + GinMaxItemSize + \
	 2 * MAXIMUM_ALIGNOF)

/* Return the value of a row, its first list, and its entry. */
static inline char *
posting_row_value(const PostingRow *row)
{
	return (char *) row + MAXALIGN(sizeof(PostingRow));
}

static inline GinPostingList *
posting_row_lists(const PostingRow *row)
{
	return (GinPostingList *) (posting_row_value(row) + row->value_bytes);
}

static inline IndexTuple
posting_row_entry(const PostingRow *row)
{
	return (IndexTuple) MAXALIGN((char *) posting_row_lists(row) +
								 row->list_bytes);
}

/* Returns the term of a row, which points into the row. */
extern Term posting_row_term(const Terms *terms, const PostingRow *row);

/* The order of rows: by term, and then by the first TID. */
typedef struct PostingOrder
{
	OwnOrder	own;			/* must be first */
	Terms	   *terms;
} PostingOrder;

extern void posting_order_init(PostingOrder *order, Terms *terms);

/*
 * Reads the rows of a sorted block, as PostingRows.  The first row of each term
 * has the entry of the index: with the list, unless the list is too long; then
 * lists are beside the entry.  The memory is freed with the block's rows.
 */
extern RowReader *posting_rows_of_block(Terms *terms, TermBlock *block);

/*
 * Writes the rows of a sorted block, without entries, to a tape, with an index
 * of the tape or without one.  Returns the number of rows.
 */
extern uint64 posting_rows_write(Terms *terms, TermBlock *block, RunTape *run,
								 bool indexed);

/* The part of the memory of a merge that the lists of joined terms take. */
#define LISTS_PART			4

/*
 * Reads PostingRows in their order, joins the lists of each term, and forms
 * entries.  Lists take about "limit" bytes of memory.  Allocates in the
 * current memory context.
 */
extern RowReader *posting_rows_join(Terms *terms, RowReader *rows, Size limit);

#endif							/* GPUSORT_POSTING_ROWS_H */
