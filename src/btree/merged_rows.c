/*-------------------------------------------------------------------------
 *
 * merged_rows.c
 *	  A window on the rows of an index that come from the merge of sorted runs.
 *
 * The merge returns one row after the other, and a row is gone when the next
 * one comes.  Leaves are made from many rows at a time, and some of the rows
 * before.  So a window of rows moves along the order.  Rows that are still
 * wanted move to its front, and the next rows are put behind them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "btree/merged_rows.h"
#include "port/copy_bytes.h"

/*
 * The most bytes that are read at a time, so that they stay in the
 * second-level cache.
 */
#define MOST_BYTES			((Size) 512 * 1024)
#define LEAST_BYTES			((Size) 64 * 1024)

/*
 * Unless a build's limit is small, these bytes may take one part in this many
 * of it.
 */
#define LIMIT_PART			8

struct MergedRows
{
	TupleSource rows;
	RowReader  *reader;
	const IndexRow *next;		/* next row of the merge, not yet in the
								 * window; NULL at the end */
	uint32		max_rows;
	Size		bytes;

	/* the window */
	uint64		first;			/* position of the first row in the window */
	uint32		nrows;
	uint32		max_held;
	const IndexRow **held;		/* rows in the window, one behind the other in
								 * memory */
	char	   *space;
	Size		space_bytes;
	Size		used_bytes;
};

Size
merged_rows_bytes(Size limit)
{
	return Min(Max(limit / LIMIT_PART, LEAST_BYTES), MOST_BYTES);
}

static void
find_merged_rows(const TupleSource *rows, uint64 position, uint32 nrows,
				 const IndexRow **found)
{
	const MergedRows *merged = (const MergedRows *) rows;

	Assert(position >= merged->first &&
		   position + nrows <= merged->first + merged->nrows);
	memcpy(found, merged->held + (position - merged->first),
		   nrows * sizeof(IndexRow *));
}

MergedRows *
merged_rows_begin(RowReader *reader, uint64 nrows, uint32 max_rows, Size bytes)
{
	MergedRows *merged = palloc0(sizeof(MergedRows));

	merged->rows.nrows = nrows;
	merged->rows.find = find_merged_rows;
	merged->reader = reader;
	merged->next = reader->next(reader);
	merged->max_rows = max_rows;
	merged->bytes = bytes;
	merged->max_held = max_rows;
	merged->held = palloc(max_rows * sizeof(IndexRow *));
	merged->space_bytes = bytes;
	merged->space = palloc(bytes);
	return merged;
}

const TupleSource *
merged_rows_source(const MergedRows *merged)
{
	return &merged->rows;
}

/* Makes room for this many rows, and this many bytes of rows, in all. */
static void
make_room(MergedRows *merged, uint32 nrows, Size bytes)
{
	if (nrows > merged->max_held)
	{
		pfree(merged->held);
		merged->held = palloc(nrows * sizeof(IndexRow *));
		merged->max_held = nrows;
	}
	if (bytes > merged->space_bytes)
	{
		merged->space = repalloc(merged->space, bytes);
		merged->space_bytes = bytes;
	}
}

/*
 * Moves the last "kept" rows to the front, with room for new rows behind them.
 */
static void
keep_rows(MergedRows *merged, uint32 kept)
{
	uint32		dropped = merged->nrows - kept;
	Size		start = kept == 0 ? merged->used_bytes :
		(char *) merged->held[dropped] - merged->space;
	char	   *place;

	merged->first += dropped;
	merged->nrows = kept;
	merged->used_bytes -= start;
	memmove(merged->space, merged->space + start, merged->used_bytes);
	make_room(merged, kept + merged->max_rows,
			  merged->used_bytes + merged->bytes);
	place = merged->space;
	for (uint32 i = 0; i < kept; i++)
	{
		merged->held[i] = (const IndexRow *) place;
		place += index_row_bytes(merged->held[i]);
	}
}

uint32
merged_rows_read(MergedRows *merged, uint32 kept)
{
	Size		most_bytes;

	keep_rows(merged, kept);
	most_bytes = merged->used_bytes + merged->bytes;
	while (merged->next != NULL && merged->nrows - kept < merged->max_rows)
	{
		Size		bytes = index_row_bytes(merged->next);
		char	   *place = merged->space + merged->used_bytes;

		if (merged->used_bytes + bytes > most_bytes)
			break;
		copy_few_bytes(place, merged->next, bytes);
		merged->held[merged->nrows++] = (const IndexRow *) place;
		merged->used_bytes += bytes;
		merged->next = merged->reader->next(merged->reader);
	}
	return merged->nrows - kept;
}
