/*-------------------------------------------------------------------------
 *
 * shared_rows.c
 *	  Rows that parallel workers send to their leader.
 *
 * A worker puts its rows one behind the other into shared memory, where they
 * stay, and sends their places and keys in batches (row_batch.h).  The leader
 * takes the batches of all as they get full, between rows of its own; a batch
 * that it has taken is used again.  No process waits while there are rows to
 * take: the leader waits for the workers after the last row of its own, and a
 * worker that has sent its last batch waits for the leader to take it.
 *
 * Workers that come after the leader has ceased to wait are not needed, since
 * those who took part have had all rows.
 *
 * Below, a worker is any process that sends rows, and the leader the one that
 * collects them.  Of processes that all emit rows (node_groups.c) any may be
 * elected to collect, and sends its own rows as well; then the others find all
 * rows by their places.
 *
 * The memory is in segments which grow with the worker's rows.  They are its
 * own, and not those of a DSA area: to allocate these takes a lock that all
 * participants may want, and where shared memory is a file system that is full
 * it raises an error.  Here that only means that the worker keeps the rows
 * that it has not sent.  A segment lives as long as some process has mapped it,
 * so it goes with the last of them, however that ends; that is why the worker
 * waits until the leader has mapped the segment.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/dsm.h"
#include "utils/memutils.h"

#include "executor/shared_rows.h"
#include "port/compat.h"
#include "port/shared_memory.h"
#include "shared_state.h"
#include "sort/slot_row.h"

#define MAX_SEGMENTS		1024

#define FIRST_SEGMENT_BYTES		((Size) 64 * 1024)
#define LARGEST_SEGMENT_BYTES	((Size) 64 * 1024 * 1024)

/* From which on it is worth a line in the log that this memory is new. */
#define HINT_BYTES				((uint64) 16 * 1024 * 1024)

/* Of a batch: the worker, the number of its segment, and where it is there, never 0. */
#define BATCH_PLACE(worker, segment, place) \
	((uint64) (worker) << 48 | (uint64) (segment) << 32 | (place))
#define PLACE_WORKER(batch_place) ((int) ((batch_place) >> 48))
#define PLACE_SEGMENT(batch_place) ((uint32) ((batch_place) >> 32) & 0xffff)
#define PLACE_IN_SEGMENT(batch_place) ((uint32) (batch_place))

/* Of a row: the number of its segment among those of all workers, and where it is there. */
#define SEGMENT_NUMBER(worker, segment) ((worker) * MAX_SEGMENTS + (segment))
#define ROW_PLACE(worker, segment, place) \
	((uint64) SEGMENT_NUMBER(worker, segment) << 32 | (place))

/* What is shared of one worker. */
typedef struct SharedWorker
{
	dsm_handle	segments[MAX_SEGMENTS];
	int			nsegments;
	BatchPlace	taken;			/* list of batches that can be used again */
	uint64		nwaiting;		/* batches that the leader has not taken */
	uint64		nrows;			/* rows that were sent */
	uint64		nkept;			/* rows that were kept, set when finished */
} SharedWorker;

struct SharedRows
{
	int			nworkers;
	Size		limit;			/* bytes of all segments */
	pg_atomic_uint64 bytes;		/* bytes of the segments so far */
	ConditionVariable taken;	/* the last batch of some worker */

	RowExchange exchange;		/* the mutex is for all fields below */
	int			njoined;		/* workers that take part */
	int			nfinished;		/* workers that have sent all their rows */
	bool		elected;		/* somebody is to collect the rows */
	bool		closed;			/* the leader does not wait for others */
	SharedWorker workers[FLEXIBLE_ARRAY_MEMBER];
};

/* A worker. */
struct RowDeposit
{
	SharedRows *shared;
	int			worker;
	SharedWorker *own;
	TupleDesc	descriptor;
	SortKeys   *keys;			/* NULL: the leader makes the keys */
	SortProgress *progress;		/* the caller's */

	/* own segments so far, of which the last one is being filled */
	RowSegments *segments;
	int			nsegments;
	Size		bytes;			/* bytes of all segments */
	char	   *base;			/* address of the last segment */
	uint32		free_place;
	Size		free_bytes;

	/* the batch that takes keys, NULL before there is one */
	BatchPlace	batch_place;
	RowBatch   *batch;
};

/* The leader. */
struct RowCollector
{
	SharedRows *shared;
	RowSegments *segments;
	BatchPlace	list;			/* batches in the order to be taken */
	BatchPlace	current;		/* batch that the caller has */
	RowSequences sequences;		/* rows of all batches so far */
};

Size
shared_rows_size(int nworkers)
{
	return offsetof(SharedRows, workers) + nworkers * sizeof(SharedWorker);
}

void
shared_rows_init(SharedRows *shared, int nworkers, Size limit)
{
	memset(shared, 0, shared_rows_size(nworkers));
	shared->nworkers = nworkers;
	shared->limit = limit;
	pg_atomic_init_u64(&shared->bytes, 0);
	ConditionVariableInit(&shared->taken);
	row_exchange_init(&shared->exchange);
}

bool
shared_rows_elect(SharedRows *shared)
{
	bool		elected;

	SpinLockAcquire(&shared->exchange.mutex);
	elected = !shared->elected;
	shared->elected = true;
	SpinLockRelease(&shared->exchange.mutex);
	return elected;
}

RowSegments *
row_segments_begin(SharedRows *shared)
{
	RowSegments *segments = palloc0(sizeof(RowSegments));
	int			count = shared->nworkers * MAX_SEGMENTS;

	segments->shared = shared;
	segments->mapped = palloc0(count * sizeof(dsm_segment *));
	segments->addresses = palloc0(count * sizeof(char *));
	return segments;
}

/* Notes a mapped segment. */
static void
note_segment(RowSegments *segments, int worker, uint32 number,
			 dsm_segment *segment)
{
	int			i = SEGMENT_NUMBER(worker, number);

	segments->mapped[i] = segment;
	segments->addresses[i] = dsm_segment_address(segment);
}

/* The address of a segment; NULL if no process has it any more. */
static inline char *
segment_address(RowSegments *segments, int worker, uint32 number)
{
	int			i = SEGMENT_NUMBER(worker, number);

	if (unlikely(segments->addresses[i] == NULL))
	{
		dsm_segment *segment =
			dsm_attach(segments->shared->workers[worker].segments[number]);

		if (segment == NULL)
			return NULL;
		note_segment(segments, worker, number, segment);
	}
	return segments->addresses[i];
}

bool
row_segments_map(RowSegments *segments)
{
	const SharedRows *shared = segments->shared;

	for (int worker = 0; worker < shared->nworkers; worker++)
		for (int i = 0; i < shared->workers[worker].nsegments; i++)
			if (segment_address(segments, worker, i) == NULL)
				return false;
	return true;
}

void
row_segments_end(RowSegments *segments)
{
	for (int i = 0; i < segments->shared->nworkers * MAX_SEGMENTS; i++)
		if (segments->mapped[i] != NULL)
			dsm_detach(segments->mapped[i]);
	pfree(segments->mapped);
	pfree(segments->addresses);
	pfree(segments);
}

RowDeposit *
row_deposit_begin(SharedRows *shared, RowSegments *segments, int worker,
				  TupleDesc descriptor, const SortColumn *columns,
				  int ncolumns, SortProgress *progress)
{
	RowDeposit *deposit;
	bool		late;

	SpinLockAcquire(&shared->exchange.mutex);
	late = shared->closed;
	if (!late)
		shared->njoined++;
	SpinLockRelease(&shared->exchange.mutex);
	if (late)
		return NULL;

	deposit = palloc0(sizeof(RowDeposit));
	deposit->shared = shared;
	deposit->segments = segments;
	deposit->worker = worker;
	deposit->own = &shared->workers[worker];
	deposit->descriptor = descriptor;
	deposit->progress = progress;
	deposit->keys = sort_keys_create(descriptor, columns, ncolumns);
	if (deposit->keys != NULL && !sort_keys_share(deposit->keys))
		deposit->keys = NULL;
	return deposit;
}

/* Makes a new segment the last one, with room for "needed" bytes; false if there is none. */
static bool
add_segment(RowDeposit *deposit, Size needed)
{
	SharedRows *shared = deposit->shared;
	Size		bytes = Min(deposit->bytes, LARGEST_SEGMENT_BYTES);
	dsm_segment *segment;

	/* an eighth of its share at most, so that little of it goes unused */
	bytes = Min(bytes, shared->limit / shared->nworkers / 8);
	bytes = Max(bytes, FIRST_SEGMENT_BYTES);
	bytes = Max(bytes, CACHE_LINE_BYTES + needed);

	if (deposit->nsegments == MAX_SEGMENTS || bytes > PG_UINT32_MAX)
		return false;
	segment = pg_atomic_add_fetch_u64(&shared->bytes, bytes) <= shared->limit ?
		shared_memory_create(bytes) : NULL;
	if (segment == NULL)
	{
		pg_atomic_sub_fetch_u64(&shared->bytes, bytes);
		return false;
	}

	/* so that no error leaves it behind */
	dsm_unpin_mapping(segment);
	note_segment(deposit->segments, deposit->worker, deposit->nsegments,
				 segment);
	deposit->own->segments[deposit->nsegments] = dsm_segment_handle(segment);
	deposit->own->nsegments = ++deposit->nsegments;
	deposit->bytes += bytes;
	deposit->base = dsm_segment_address(segment);
	deposit->free_place = CACHE_LINE_BYTES;
	deposit->free_bytes = bytes - CACHE_LINE_BYTES;
	return true;
}

/* Sends the present batch to the leader. */
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

/* An own batch, by its place. */
static RowBatch *
own_batch(const RowDeposit *deposit, BatchPlace place)
{
	char	   *base = segment_address(deposit->segments, deposit->worker,
									   PLACE_SEGMENT(place));

	return (RowBatch *) (base + PLACE_IN_SEGMENT(place));
}

/* Takes bytes of the last segment, or of a new one; returns their place, or 0. */
static uint32
take_space(RowDeposit *deposit, Size bytes)
{
	uint32		place;

	if (unlikely(bytes > deposit->free_bytes) && !add_segment(deposit, bytes))
		return 0;
	place = deposit->free_place;
	deposit->free_place += bytes;
	deposit->free_bytes -= bytes;
	return place;
}

/* Finds room for a batch; one that the leader has taken will do. */
static BatchPlace
find_batch(RowDeposit *deposit)
{
	SharedRows *shared = deposit->shared;
	BatchPlace	place;
	uint32		space;

	SpinLockAcquire(&shared->exchange.mutex);
	place = deposit->own->taken;
	if (place != NO_BATCH)
		deposit->own->taken = own_batch(deposit, place)->next;
	SpinLockRelease(&shared->exchange.mutex);
	if (place != NO_BATCH)
		return place;

	space = take_space(deposit, MAXALIGN(sizeof(RowBatch)));
	return space == 0 ? NO_BATCH :
		BATCH_PLACE(deposit->worker, deposit->nsegments - 1, space);
}

/*
 * Finds a batch with room for a key, whose rows are in the last segment, and this many
 * bytes of that segment; false if there are none.
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
	deposit->batch = own_batch(deposit, place);
	row_batch_begin(deposit->batch, &deposit->shared->exchange, deposit->keys,
					deposit->nsegments - 1, deposit->free_place);
	return true;
}

bool
row_deposit_put(RowDeposit *deposit, TupleTableSlot *slot)
{
	SlotRow		row = slot_row_find(slot, deposit->descriptor);
	Size		bytes = MAXALIGN(row.bytes);
	char	   *place;

	if (unlikely(!prepare(deposit, bytes)))
		return false;
	while (unlikely(!row_batch_add(deposit->batch, &deposit->shared->exchange,
								   deposit->keys, slot,
								   deposit->free_place + bytes)))
	{
		send_batch(deposit);
		if (!prepare(deposit, bytes))
			return false;
	}

	place = deposit->base + deposit->free_place;
	slot_row_write(&row, slot, deposit->descriptor, (MinimalTuple) place);
	PREFETCH_WRITE(place, bytes);
	deposit->free_place += bytes;
	deposit->free_bytes -= bytes;
	return true;
}

void
row_deposit_finish(RowDeposit *deposit, uint64 nkept)
{
	SharedRows *shared = deposit->shared;

	send_batch(deposit);
	SpinLockAcquire(&shared->exchange.mutex);
	deposit->own->nkept = nkept;
	shared->nfinished++;
	SpinLockRelease(&shared->exchange.mutex);
	ConditionVariableSignal(&shared->exchange.sent);
}

void
row_deposit_end(RowDeposit *deposit)
{
	static uint32 wait_event = 0;
	SharedRows *shared = deposit->shared;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortLeader");
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

RowCollector *
row_collector_begin(SharedRows *shared, RowSegments *segments)
{
	RowCollector *collector = palloc0(sizeof(RowCollector));

	collector->shared = shared;
	row_sequences_init(&collector->sequences);
	collector->segments = segments;
	return collector;
}

/* The address of a segment, which its worker keeps. */
static char *
kept_segment(RowCollector *collector, int worker, uint32 number)
{
	char	   *address = segment_address(collector->segments, worker, number);

	if (address == NULL)
		elog(ERROR, "could not map the rows of a parallel worker");
	return address;
}

static RowBatch *
batch_address(RowCollector *collector, BatchPlace place)
{
	char	   *base = kept_segment(collector, PLACE_WORKER(place),
									PLACE_SEGMENT(place));

	return (RowBatch *) (base + PLACE_IN_SEGMENT(place));
}

/* Gives the batch whose rows have been taken back to its worker. */
static void
give_back_batch(RowCollector *collector)
{
	SharedRows *shared = collector->shared;
	BatchPlace	place = collector->current;
	SharedWorker *worker;
	RowBatch   *batch;
	bool		was_last;

	if (place == NO_BATCH)
		return;
	worker = &shared->workers[PLACE_WORKER(place)];
	batch = batch_address(collector, place);
	SpinLockAcquire(&shared->exchange.mutex);
	batch->next = worker->taken;
	worker->taken = place;
	was_last = --worker->nwaiting == 0;
	SpinLockRelease(&shared->exchange.mutex);
	if (was_last)
		ConditionVariableBroadcast(&shared->taken);
	collector->current = NO_BATCH;
}

const RowBatch *
row_collector_next(RowCollector *collector, char **base)
{
	SharedRows *shared = collector->shared;
	int			worker;
	RowBatch   *batch;

	give_back_batch(collector);
	if (collector->list == NO_BATCH)
		collector->list = row_exchange_take(&shared->exchange);
	if (likely(collector->list == NO_BATCH))
		return NULL;
	CHECK_FOR_INTERRUPTS();
	collector->current = collector->list;
	batch = batch_address(collector, collector->current);
	collector->list = batch->next;
	worker = PLACE_WORKER(collector->current);
	*base = kept_segment(collector, worker, batch->segment);
	row_sequences_note(&collector->sequences, batch->nrows,
					   ROW_PLACE(worker, batch->segment, batch->places[0]),
					   *base + batch->places[0]);
	return batch;
}

/*
 * Tells the log, once, that new memory is what takes time, when it was much
 * and the server has none set aside.
 */
static void
hint_at_memory(SharedRows *shared)
{
	uint64		bytes = pg_atomic_read_u64(&shared->bytes);

	if (min_dynamic_shared_memory == 0 && bytes >= HINT_BYTES &&
		shared_claim_memory_hint())
		ereport(LOG,
				(errmsg("gpusort: parallel workers took " UINT64_FORMAT " MB of new shared memory for the rows of a sort",
						bytes / (1024 * 1024)),
				 errhint("Such sorts take less time if min_dynamic_shared_memory sets memory aside for them.")));
}

bool
row_collector_wait(RowCollector *collector)
{
	static uint32 wait_event = 0;
	SharedRows *shared = collector->shared;
	bool		has_batches;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortWorkers");
	for (;;)
	{
		/* what comes after this look ends the wait that may follow */
		ConditionVariablePrepareToSleep(&shared->exchange.sent);
		SpinLockAcquire(&shared->exchange.mutex);
		has_batches = shared->exchange.batches != NO_BATCH;
		if (!has_batches && shared->nfinished == shared->njoined)
			shared->closed = true;
		SpinLockRelease(&shared->exchange.mutex);
		if (has_batches || shared->closed)
			break;
		ConditionVariableSleep(&shared->exchange.sent, wait_event);
	}
	ConditionVariableCancelSleep();
	if (!has_batches)
		hint_at_memory(shared);
	return has_batches;
}

SharedLayout *
row_collector_layout(RowCollector *collector)
{
	return &collector->shared->exchange.layout;
}

void
row_collector_refuse(RowCollector *collector)
{
	row_exchange_close(&collector->shared->exchange);
}

int
row_collector_workers(const RowCollector *collector)
{
	int			count = 0;

	/* the last one is the leader */
	for (int i = 0; i < collector->shared->nworkers - 1; i++)
	{
		const SharedWorker *worker = &collector->shared->workers[i];

		count += worker->nrows > 0 || worker->nkept > 0;
	}
	return count;
}

uint64
row_collector_kept(const RowCollector *collector)
{
	uint64		count = 0;

	for (int i = 0; i < collector->shared->nworkers; i++)
		count += collector->shared->workers[i].nkept;
	return count;
}

void
row_collector_places(const RowCollector *collector, const RowStore *store,
					 uint64 *places)
{
	const RowSequences *sequences = &collector->sequences;
	uint64		row = 0;

	for (int i = 0; i < sequences->count; i++)
	{
		const RowSequence *sequence = &sequences->list[i];

		CHECK_FOR_INTERRUPTS();
		for (uint32 j = 0; j < sequence->nrows; j++, row++)
			places[row] = sequence->first_place +
				((char *) row_store_get(store, row) - sequence->first_address);
	}
	Assert(row == store->nrows);
}

void
row_collector_end(RowCollector *collector)
{
	pfree(collector->sequences.list);
	pfree(collector);
}
