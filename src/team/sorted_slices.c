/*-------------------------------------------------------------------------
 *
 * sorted_slices.c
 *	  Slices of the order of rows in shared memory.
 *
 * Each participant takes the next slice of the order when it has emitted one.
 * Slices nominally have the same number of rows, but are cut only between groups:
 * a slice really begins with the first group that begins at or behind its nominal
 * position.  So whole groups are emitted by one participant, and its rows ascend.
 * A group that is larger than a slice leaves others empty.  Where a group ends is
 * found by galloping and bisection (equal_rows.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "port/cache_lines.h"
#include "settings.h"
#include "sort/equal_rows.h"
#include "team/sorted_slices.h"

/* Slices that there are for each participant, if groups are small. */
#define SLICES_PER_PARTICIPANT	64

/* Least nominal rows of a slice. */
#define LEAST_SLICE_ROWS		64

struct SliceReader
{
	SharedSlices *shared;
	OrderedRows rows;
	const RowComparator *groups;
	SortProgress *progress;		/* the caller's */

	uint64		position;		/* next row of the slice */
	uint64		end;			/* end of the slice */
	uint64		rows_taken;		/* rows of all slices so far */

	void	   *prefetched[PREFETCHED_ROWS];
	uint64		first_prefetched;	/* position of the first of these */
	uint64		nprefetched;
};

void
shared_slices_init(SharedSlices *shared)
{
	memset(shared, 0, sizeof(SharedSlices));
	pg_atomic_init_u64(&shared->next, 0);
	pg_atomic_init_u64(&shared->nslices, 0);
	pg_atomic_init_u32(&shared->nparticipants, 0);
	pg_atomic_init_u64(&shared->most_rows, 0);
}

/* Raises an error if the order is wrong. */
static void
verify_order(RowOrder *order)
{
	for (uint64 entry = 0; entry < order->nentries; entry++)
	{
		CHECK_FOR_INTERRUPTS();
		row_order_verify(order, entry);
	}
}

uint64
shared_slices_even(uint64 nrows, int nparticipants)
{
	return Max(nrows / (nparticipants * SLICES_PER_PARTICIPANT),
			   LEAST_SLICE_ROWS);
}

bool
shared_slices_share(SharedSlices *shared, RowOrder *order,
					const RowCollector *collector, uint64 slice_rows,
					Size limit)
{
	if (gpusort_verify)
		verify_order(order);
	shared->slice_rows = slice_rows;
	return shared_order_copy(&shared->order, order, collector, limit);
}

bool
shared_slices_take(SharedSlices *shared, uint64 begin)
{
	return pg_atomic_compare_exchange_u64(&shared->next, &begin,
										  begin + shared->slice_rows);
}

uint64
shared_slices_take_rest(SharedSlices *shared)
{
	uint64		next = pg_atomic_exchange_u64(&shared->next, shared->order.nrows);

	return Min(next, shared->order.nrows);
}

SliceReader *
slice_reader_begin(SharedSlices *shared, RowSegments *segments,
				   const RowComparator *groups, SortProgress *progress)
{
	SliceReader *reader = palloc0(sizeof(SliceReader));

	reader->shared = shared;
	reader->groups = groups;
	reader->progress = progress;
	if (ordered_rows_map(&reader->rows, &shared->order, segments))
		return reader;
	pfree(reader);
	return NULL;
}

/* A row of a group, as a slice reader has it. */
typedef struct GroupRow
{
	const SliceReader *reader;
	const void *row;
} GroupRow;

static inline bool
is_same_group(void *argument, uint64 position)
{
	const GroupRow *group = argument;

	return row_compare(group->reader->groups, group->row,
					   ordered_rows_get(&group->reader->rows, position)) == 0;
}

/* Where the first group begins that begins at or behind this position. */
static uint64
find_group(const SliceReader *reader, uint64 position)
{
	uint64		nrows = reader->shared->order.nrows;
	GroupRow	before = {.reader = reader};

	if (position == 0 || position >= nrows || reader->groups == NULL)
		return Min(position, nrows);
	before.row = ordered_rows_get(&reader->rows, position - 1);
	return equal_rows_end(position - 1, nrows, is_same_group, &before);
}

/* Counts a slice that has been taken. */
static void
count_slice(SliceReader *reader)
{
	SharedSlices *shared = reader->shared;
	uint64		most = pg_atomic_read_u64(&shared->most_rows);

	if (reader->rows_taken == 0)
		pg_atomic_fetch_add_u32(&shared->nparticipants, 1);
	pg_atomic_fetch_add_u64(&shared->nslices, 1);
	reader->rows_taken += reader->end - reader->position;
	while (reader->rows_taken > most &&
		   !pg_atomic_compare_exchange_u64(&shared->most_rows, &most,
										   reader->rows_taken))
		;
}

/* Takes the next slice that has rows; false if there is none. */
static bool
take_slice(SliceReader *reader)
{
	SharedSlices *shared = reader->shared;

	if (reader->progress != NULL)
		sort_progress_emitted(reader->progress, reader->rows_taken);
	for (;;)
	{
		uint64		begin = pg_atomic_fetch_add_u64(&shared->next,
													shared->slice_rows);
		uint64		end = begin + shared->slice_rows;

		if (begin >= shared->order.nrows)
			return false;
		CHECK_FOR_INTERRUPTS();
		reader->position = find_group(reader, begin);
		/* a group that is longer belongs to the slice in which it begins */
		if (reader->position >= Min(end, shared->order.nrows))
			continue;
		reader->end = find_group(reader, end);
		count_slice(reader);
		return true;
	}
}

bool
slice_reader_take(SliceReader *reader, uint64 *slice, uint64 *nrows)
{
	if (!take_slice(reader))
		return false;
	*slice = reader->position / reader->shared->slice_rows;
	*nrows = reader->end - reader->position;
	return true;
}

/* Finds the next rows, and prefetches them, as row_order_prefetch() does. */
static void
prefetch(SliceReader *reader)
{
	Size		bytes = Min(reader->shared->order.row_bytes, MOST_FETCHED_BYTES);
	uint64		count = Min(PREFETCHED_ROWS, reader->end - reader->position);

	for (uint64 i = 0; i < count; i++)
		ordered_rows_prefetch_place(&reader->rows, reader->position + i);
	for (uint64 i = 0; i < count; i++)
	{
		char	   *row = ordered_rows_get(&reader->rows, reader->position + i);

		reader->prefetched[i] = row;
		for (Size line = 0; line < bytes; line += CACHE_LINE_BYTES)
			__builtin_prefetch(row + line);
	}
	reader->first_prefetched = reader->position;
	reader->nprefetched = count;
}

void *
slice_reader_next(SliceReader *reader)
{
	uint64		i;

	if (unlikely(reader->position >= reader->end) && !take_slice(reader))
		return NULL;
	i = reader->position - reader->first_prefetched;
	if (unlikely(i >= reader->nprefetched))
	{
		prefetch(reader);
		i = 0;
	}
	reader->position++;
	return reader->prefetched[i];
}

uint64
slice_reader_rows(const SliceReader *reader)
{
	return reader->rows_taken;
}

void
slice_reader_end(SliceReader *reader)
{
	ordered_rows_unmap(&reader->rows);
	pfree(reader);
}
