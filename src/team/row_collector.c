/*-------------------------------------------------------------------------
 *
 * row_collector.c
 *	  Collecting the rows that the processes of a team put into shared
 *	  memory.
 *
 * The collector takes the batches of all processes between rows of its own.
 * After its last row it waits for the batches of the others.  Each batch that
 * it has taken goes back to its process.  The rows stay where they are.  The
 * collector notes their places, so that other processes can find the rows
 * (sorted_slices.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"

#include "port/compat.h"
#include "port/timing.h"
#include "shared_state.h"
#include "team/row_collector.h"

/* How long the collector waits for the error of a process whose rows are gone. */
#define MOST_WAIT_MICROSECONDS	UINT64CONST(10000000)

/* New shared memory of at least these bytes is worth a line in the log. */
#define HINT_BYTES		((uint64) 16 * 1024 * 1024)

struct RowCollector
{
	SharedRows *shared;
	RowSegments *segments;
	BatchPlace	list;			/* batches that the caller gets next */
	BatchPlace	current;		/* batch that the caller has */
	RowSequences sequences;		/* places of the rows of all batches so far */
};

RowCollector *
row_collector_begin(SharedRows *shared, RowSegments *segments)
{
	RowCollector *collector = palloc0(sizeof(RowCollector));

	collector->shared = shared;
	row_sequences_init(&collector->sequences);
	collector->segments = segments;
	return collector;
}

/*
 * Ends this process since the rows of another one are gone.  That process has failed
 * then, and its error is what users want to see.  The error reaches the leader, which
 * raises it in its turn, or terminates this process.
 */
static void
end_with_others(void)
{
	static uint32 wait_event = 0;
	instr_time	begun;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortLostRows");
	INSTR_TIME_SET_CURRENT(begun);
	do
	{
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 MOST_WAIT_MICROSECONDS / 1000, wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	} while (microseconds_since(begun) < MOST_WAIT_MICROSECONDS);
	elog(ERROR, "could not map the rows of a parallel worker");
}

/* Returns a batch.  Its process keeps the segment until the batch is taken. */
static RowBatch *
find_batch(RowCollector *collector, BatchPlace place)
{
	RowBatch   *batch = batch_address(collector->segments, place);

	if (batch == NULL)
		end_with_others();
	return batch;
}

/* Gives the present batch back to its process. */
static void
give_back_batch(RowCollector *collector)
{
	SharedRows *shared = collector->shared;
	BatchPlace	place = collector->current;
	SharedDeposit *deposit;
	RowBatch   *batch;
	bool		was_last;

	if (place == NO_BATCH)
		return;
	deposit = &shared->deposits[batch_process(place)];
	batch = find_batch(collector, place);
	SpinLockAcquire(&shared->exchange.mutex);
	batch->next = deposit->taken;
	deposit->taken = place;
	was_last = --deposit->nwaiting == 0;
	SpinLockRelease(&shared->exchange.mutex);
	if (was_last)
		ConditionVariableBroadcast(&shared->taken);
	collector->current = NO_BATCH;
}

const RowBatch *
row_collector_next(RowCollector *collector, char **base)
{
	SharedRows *shared = collector->shared;
	int			process;
	RowBatch   *batch;

	give_back_batch(collector);
	if (collector->list == NO_BATCH)
		collector->list = row_exchange_take(&shared->exchange);
	if (likely(collector->list == NO_BATCH))
		return NULL;
	CHECK_FOR_INTERRUPTS();
	collector->current = collector->list;
	batch = find_batch(collector, collector->current);
	collector->list = batch->next;
	process = batch_process(collector->current);
	*base = row_segments_find(collector->segments, process, batch->segment);
	if (*base == NULL)
		end_with_others();
	row_sequences_note(&collector->sequences, batch->nrows,
					   row_segments_place(process, batch->segment,
										  batch->places[0]));
	return batch;
}

/*
 * Tells the log, once, that new shared memory takes time, if a sort took much
 * of it and the server has none set aside.
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
		/* a signal after this look ends the wait that may follow */
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
	for (int i = 0; i < collector->shared->nprocesses - 1; i++)
	{
		const SharedDeposit *deposit = &collector->shared->deposits[i];

		count += deposit->nrows > 0 || deposit->nkept > 0;
	}
	return count;
}

uint64
row_collector_kept(const RowCollector *collector)
{
	uint64		count = 0;

	for (int i = 0; i < collector->shared->nprocesses; i++)
		count += collector->shared->deposits[i].nkept;
	return count;
}

const RowSequences *
row_collector_sequences(const RowCollector *collector)
{
	return &collector->sequences;
}
