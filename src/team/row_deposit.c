/*-------------------------------------------------------------------------
 *
 * row_deposit.c
 *	  Putting the rows of one process of a team into shared memory.
 *
 * Each process writes its rows into segments of its own, one behind the other.
 * The keys of rows that lie together make a batch.  When a batch is full the
 * process sends it to the collector (row_batch.h).  A batch that the collector
 * has taken is used again.
 *
 * No process waits while it has rows to put.  If there is no room left, or the
 * collector takes no more rows, the process keeps all further rows
 * (member_sort.c), or the sort is done in another way.  After its last batch a
 * process waits until the collector has taken all of its batches.
 *
 * A process that comes when the collector has ceased to wait is not needed:
 * the others have had all rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "port/compat.h"
#include "sort/slot_row.h"
#include "team/row_deposit.h"

/*
 * Segments grow up to LARGEST_SEGMENT_BYTES.  With much memory they grow up to
 * 1/MOST_SEGMENTS of it, but not beyond MOST_SEGMENT_BYTES: a server has few
 * more segments.
 */
#define FIRST_SEGMENT_BYTES		((Size) 64 * 1024)
#define LARGEST_SEGMENT_BYTES	((Size) 64 * 1024 * 1024)
#define MOST_SEGMENTS			256
#define MOST_SEGMENT_BYTES		((Size) 1024 * 1024 * 1024)

struct RowDeposit
{
	SharedRows *shared;
	int			process;		/* number of this process */
	SharedDeposit *own;
	TupleDesc	descriptor;
	SortKeys   *keys;			/* NULL: the collector makes the keys */
	SortProgress *progress;		/* the caller's */

	/* the last segment, which is being filled */
	RowSegments *segments;
	Size		bytes;			/* bytes of all own segments */
	char	   *base;			/* address of the last segment */
	uint32		free_place;
	Size		free_bytes;
	Size		reserved_bytes; /* room of the row that is being formed */

	/* the batch that takes keys, NULL before there is one */
	BatchPlace	batch_place;
	RowBatch   *batch;
};

RowDeposit *
row_deposit_begin(SharedRows *shared, RowSegments *segments, int process,
				  TupleDesc descriptor, const SortColumn *columns,
				  int ncolumns, SortProgress *progress)
{
	RowDeposit *deposit;

	if (!shared_rows_join(shared))
		return NULL;

	deposit = palloc0(sizeof(RowDeposit));
	deposit->shared = shared;
	deposit->segments = segments;
	deposit->process = process;
	deposit->own = &shared->deposits[process];
	deposit->descriptor = descriptor;
	deposit->progress = progress;
	deposit->keys = sort_keys_create(descriptor, columns, ncolumns);
	if (deposit->keys != NULL && !sort_keys_share(deposit->keys))
		deposit->keys = NULL;
	return deposit;
}

/* Returns the bytes of the next segment, which has room for "needed" bytes. */
static Size
next_segment_bytes(const RowDeposit *deposit, Size needed)
{
	Size		limit = deposit->shared->limit;
	Size		largest = Max(LARGEST_SEGMENT_BYTES,
							  Min(limit / MOST_SEGMENTS, MOST_SEGMENT_BYTES));
	Size		bytes = Min(deposit->bytes, largest);

	/* at most an eighth of this process's share, so that little goes unused */
	bytes = Min(bytes, limit / deposit->shared->nprocesses / 8);
	bytes = Max(bytes, FIRST_SEGMENT_BYTES);
	return Max(bytes, CACHE_LINE_BYTES + needed);
}

/*
 * Makes a new last segment, with room for "needed" bytes; false if there is no
 * memory.
 */
static bool
add_segment(RowDeposit *deposit, Size needed)
{
	Size		bytes = next_segment_bytes(deposit, needed);
	char	   *base = row_segments_add(deposit->segments, deposit->process,
										bytes);

	if (base == NULL)
		return false;
	deposit->bytes += bytes;
	deposit->base = base;
	deposit->free_place = CACHE_LINE_BYTES;
	deposit->free_bytes = bytes - CACHE_LINE_BYTES;
	return true;
}

/* Sends the present batch to the collector. */
static void
send_batch(RowDeposit *deposit)
{
	SharedRows *shared = deposit->shared;

	if (deposit->batch == NULL)
		return;
	SpinLockAcquire(&shared->exchange.mutex);
	deposit->own->nwaiting++;
	deposit->own->nrows += deposit->batch->nrows;
	SpinLockRelease(&shared->exchange.mutex);
	if (deposit->progress != NULL)
		sort_progress_add(deposit->progress, deposit->batch->nrows);
	row_exchange_send(&shared->exchange, deposit->batch,
					  deposit->batch_place, deposit->keys);
	deposit->batch = NULL;
}

/* Takes bytes of the last segment; returns their place there. */
static inline uint32
take_bytes(RowDeposit *deposit, Size bytes)
{
	uint32		place = deposit->free_place;

	deposit->free_place += bytes;
	deposit->free_bytes -= bytes;
	return place;
}

/* Returns the number of the last segment. */
static inline uint32
last_segment(const RowDeposit *deposit)
{
	return deposit->own->nsegments - 1;
}

/*
 * Finds room for a batch: the room of a batch that the collector has taken, or
 * new room.
 */
static BatchPlace
find_batch(RowDeposit *deposit)
{
	const Size	bytes = MAXALIGN(sizeof(RowBatch));
	SharedRows *shared = deposit->shared;
	BatchPlace	place;

	SpinLockAcquire(&shared->exchange.mutex);
	place = deposit->own->taken;
	if (place != NO_BATCH)
		deposit->own->taken = batch_address(deposit->segments, place)->next;
	SpinLockRelease(&shared->exchange.mutex);
	if (place != NO_BATCH)
		return place;
	if (bytes > deposit->free_bytes && !add_segment(deposit, bytes))
		return NO_BATCH;
	place = take_bytes(deposit, bytes);
	return batch_place(deposit->process, last_segment(deposit), place);
}

/*
 * Prepares to put a row of this many bytes: a batch with room for its key,
 * whose rows are in the last segment, and room in that segment.  Returns false
 * if there is none, or if the collector takes no more rows.
 */
static bool
prepare(RowDeposit *deposit, Size bytes)
{
	BatchPlace	place;

	if (likely(deposit->batch != NULL && !row_batch_is_full(deposit->batch) &&
			   bytes <= deposit->free_bytes))
		return true;

	send_batch(deposit);
	if (row_exchange_is_closed(&deposit->shared->exchange) ||
		(place = find_batch(deposit)) == NO_BATCH ||
		(bytes > deposit->free_bytes && !add_segment(deposit, bytes)))
		return false;
	deposit->batch_place = place;
	deposit->batch = batch_address(deposit->segments, place);
	row_batch_begin(deposit->batch, &deposit->shared->exchange, deposit->keys,
					last_segment(deposit), deposit->free_place);
	return true;
}

/*
 * Adds the key of a row of this many bytes to the batch; false as
 * row_batch_add() is.
 */
static inline bool
add_key(RowDeposit *deposit, TupleTableSlot *slot, Size bytes)
{
	return row_batch_add(deposit->batch, &deposit->shared->exchange,
						 deposit->keys, slot, deposit->free_place + bytes);
}

bool
row_deposit_put(RowDeposit *deposit, TupleTableSlot *slot)
{
	SlotRow		row = slot_row_find(slot, deposit->descriptor);
	Size		bytes = MAXALIGN(row.bytes);
	char	   *place;

	if (unlikely(!prepare(deposit, bytes)))
		return false;
	while (unlikely(!add_key(deposit, slot, bytes)))
	{
		send_batch(deposit);
		if (!prepare(deposit, bytes))
			return false;
	}

	place = deposit->base + take_bytes(deposit, bytes);
	slot_row_write(&row, slot, deposit->descriptor, (MinimalTuple) place);
	PREFETCH_WRITE(place, bytes);
	return true;
}

void *
row_deposit_reserve(RowDeposit *deposit, Size bytes)
{
	if (unlikely(!prepare(deposit, bytes)))
		return NULL;
	deposit->reserved_bytes = bytes;
	return deposit->base + deposit->free_place;
}

/*
 * Copies the row to the beginning of a batch whose layout fits the row's key;
 * false if there is no room.
 */
static pg_noinline bool
move_row(RowDeposit *deposit, TupleTableSlot *slot)
{
	Size		bytes = deposit->reserved_bytes;
	const char *row = deposit->base + take_bytes(deposit, bytes);

	do
	{
		send_batch(deposit);
		if (!prepare(deposit, bytes))
			return false;
	} while (!add_key(deposit, slot, bytes));
	memcpy(deposit->base + take_bytes(deposit, bytes), row, bytes);
	return true;
}

bool
row_deposit_add(RowDeposit *deposit, TupleTableSlot *slot)
{
	if (unlikely(!add_key(deposit, slot, deposit->reserved_bytes)))
		return move_row(deposit, slot);
	(void) take_bytes(deposit, deposit->reserved_bytes);
	return true;
}

void
row_deposit_finish(RowDeposit *deposit, uint64 nkept)
{
	send_batch(deposit);
	shared_rows_finish(deposit->shared, deposit->process, nkept);
}

void
row_deposit_end(RowDeposit *deposit)
{
	static uint32 wait_event = 0;
	SharedRows *shared = deposit->shared;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortCollector");
	for (;;)
	{
		bool		taken;

		ConditionVariablePrepareToSleep(&shared->taken);
		SpinLockAcquire(&shared->exchange.mutex);
		taken = deposit->own->nwaiting == 0;
		SpinLockRelease(&shared->exchange.mutex);
		if (taken)
			break;
		ConditionVariableSleep(&shared->taken, wait_event);
	}
	ConditionVariableCancelSleep();
	pfree(deposit);
}
