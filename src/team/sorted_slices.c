/*-------------------------------------------------------------------------
 *
 * sorted_slices.c
 *	  Slices of the order of rows in shared memory, as parts.
 *
 * The rows of all members, and their order, lie in shared memory.  A slice is
 * a range of that order.
 *
 * Nominally all slices have the same number of rows.  Where all members emit
 * slices, a slice is cut only between groups: it begins with the first group
 * that begins at or behind the slice's nominal position.  So one member emits
 * a whole group, and its rows ascend.  A group that is larger than a slice
 * leaves other slices empty.  Galloping and bisection find where a group ends
 * (equal_rows.h).
 *
 * A row that is too large to be sent stays where it is, and its length is sent
 * in its place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "port/cache_lines.h"
#include "settings.h"
#include "sort/equal_rows.h"
#include "team/part_stream.h"
#include "team/sorted_slices.h"

/* Slices for each member, if groups are small. */
#define SLICES_OF_MEMBER	64

/* The least nominal rows of a slice. */
#define LEAST_SLICE_ROWS	64

typedef struct SliceMaker
{
	PartMaker	maker;			/* must be first */
	SharedSlices *shared;
	OrderedRows rows;
	const RowComparator *groups;

	uint64		position;		/* next row of the slice */
	uint64		end;			/* end of the slice */

	void	   *prefetched[PREFETCHED_ROWS];
	uint64		first_prefetched;	/* position of the first prefetched row */
	uint64		nprefetched;
} SliceMaker;

void
shared_slices_init(SharedSlices *shared)
{
	shared_order_init(&shared->order);
	shared->slice_rows = 0;
}

uint64
shared_slices_even(uint64 nrows, int nmembers)
{
	return Max(nrows / (nmembers * SLICES_OF_MEMBER), LEAST_SLICE_ROWS);
}

bool
shared_slices_share(SharedSlices *shared, SharedParts *parts,
					RowOrder *order, const RowCollector *collector,
					uint64 slice_rows, Size limit)
{
	uint64		nrows = order->nentries;

	if (gpusort_verify)
		row_order_verify_all(order);
	shared->slice_rows = slice_rows;
	shared_parts_set(parts, false, (nrows + slice_rows - 1) / slice_rows,
					 nrows);
	return shared_order_set(&shared->order, order, collector, limit);
}

/* A row of a group, and the maker that knows its groups. */
typedef struct GroupRow
{
	const SliceMaker *slice;
	const void *row;
} GroupRow;

static inline bool
is_same_group(void *argument, uint64 position)
{
	const GroupRow *group = argument;

	return row_compare(group->slice->groups, group->row,
					   ordered_rows_get(&group->slice->rows, position)) == 0;
}

/* Returns where the first group begins that begins at or behind a position. */
static uint64
find_group(const SliceMaker *slice, uint64 position)
{
	uint64		nrows = slice->shared->order.nrows;
	GroupRow	before = {.slice = slice};

	if (position == 0 || position >= nrows || slice->groups == NULL)
		return Min(position, nrows);
	before.row = ordered_rows_get(&slice->rows, position - 1);
	return equal_rows_end(position - 1, nrows, is_same_group, &before);
}

/* Begins a slice. */
static void
open_slice(PartMaker *maker, int part)
{
	SliceMaker *slice = (SliceMaker *) maker;
	uint64		nrows = slice->shared->order.nrows;
	uint64		begin = part * slice->shared->slice_rows;
	uint64		end = Min(begin + slice->shared->slice_rows, nrows);

	slice->position = find_group(slice, begin);

	/*
	 * a group that goes on behind a slice belongs to the slice in which it
	 * begins
	 */
	slice->end = slice->position < end ? find_group(slice, end) :
		slice->position;
	slice->nprefetched = 0;
}

/*
 * Finds the next rows of the slice, and prefetches them, as
 * row_order_prefetch() does.
 */
static void
prefetch(SliceMaker *slice)
{
	Size		bytes = Min(slice->shared->order.row_bytes, MOST_FETCHED_BYTES);
	uint64		count = Min(PREFETCHED_ROWS, slice->end - slice->position);

	for (uint64 i = 0; i < count; i++)
		ordered_rows_prefetch_place(&slice->rows, slice->position + i);
	for (uint64 i = 0; i < count; i++)
	{
		char	   *row = ordered_rows_get(&slice->rows, slice->position + i);

		slice->prefetched[i] = row;
		for (Size line = 0; line < bytes; line += CACHE_LINE_BYTES)
			__builtin_prefetch(row + line);
	}
	slice->first_prefetched = slice->position;
	slice->nprefetched = count;
}

/* Returns the next row of the slice; NULL at its end. */
static void *
next_of_slice(PartMaker *maker)
{
	SliceMaker *slice = (SliceMaker *) maker;
	uint64		i;

	if (unlikely(slice->position >= slice->end))
		return NULL;
	i = slice->position - slice->first_prefetched;
	if (unlikely(i >= slice->nprefetched))
	{
		prefetch(slice);
		i = 0;
	}
	slice->position++;
	return slice->prefetched[i];
}

static void
close_slice(PartMaker *maker)
{
}

static bool
is_tie_in_slice(const PartMaker *maker)
{
	const SliceMaker *slice = (const SliceMaker *) maker;

	return ordered_rows_is_tie(&slice->rows, slice->position - 1);
}

/* Returns the bytes that a row takes in shared memory. */
static Size
shared_bytes(const void *row)
{
	return MAXALIGN(((const MinimalTupleData *) row)->t_len);
}

void
shared_slices_find_rows(SharedSlices *shared, RowSegments *segments)
{
	shared_order_find_rows(&shared->order, segments, shared_bytes);
}

/*
 * Returns how many bytes of a row are sent: its length alone if the row is too
 * large.
 */
static Size
sent_bytes(const void *row)
{
	Size		bytes = ((const MinimalTupleData *) row)->t_len;

	return bytes <= STREAM_MOST_ROW_BYTES ? bytes :
		sizeof(((MinimalTuple) 0)->t_len);
}

/* Returns the row of which bytes were sent, from a slice without groups. */
static void *
find_sent(PartMaker *maker, int part, uint64 number, void *row)
{
	const SliceMaker *slice = (const SliceMaker *) maker;

	return likely(((MinimalTuple) row)->t_len <= STREAM_MOST_ROW_BYTES) ? row :
		ordered_rows_get(&slice->rows,
						 part * slice->shared->slice_rows + number);
}

static void
end_slices(PartMaker *maker, bool at_end)
{
	SliceMaker *slice = (SliceMaker *) maker;

	ordered_rows_unmap(&slice->rows);
	pfree(slice);
}

PartMaker *
slice_maker_begin(SharedSlices *shared, RowSegments *segments,
				  const RowComparator *groups)
{
	static const PartMakerMethods methods = {
		.open = open_slice,
		.next = next_of_slice,
		.close = close_slice,
		.is_tie = is_tie_in_slice,
		.find = find_sent,
		.end = end_slices
	};
	SliceMaker *slice = palloc0(sizeof(SliceMaker));

	slice->maker.methods = &methods;
	slice->maker.tells_ties = shared->order.has_ties;
	slice->maker.row_bytes = sent_bytes;
	slice->shared = shared;
	slice->groups = groups;
	if (ordered_rows_map(&slice->rows, &shared->order, segments, shared_bytes))
		return &slice->maker;
	pfree(slice);
	return NULL;
}
