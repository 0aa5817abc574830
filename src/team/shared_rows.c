/*-------------------------------------------------------------------------
 *
 * shared_rows.c
 *	  Rows of processes that sort together, in memory that all of them share.
 *
 * A process puts its rows into shared memory, one behind the other, where they
 * stay (row_deposit.c).  It sends the places and the keys of the rows in
 * batches (row_batch.h).  The collector takes the batches of all processes as
 * they become full (row_collector.c).  The collector may put rows of its own
 * in the same way; then the other processes find all rows by their places.
 *
 * The memory consists of segments.  A process makes more of them as its rows
 * need.  The segments are not those of a DSA area: to allocate from such an
 * area takes a lock that all processes may want, and raises an error if shared
 * memory is a file system that is full.  Here a full file system only means
 * that the process keeps the rows that it has not sent.
 *
 * A segment lives as long as some process has it mapped.  So it goes with the
 * last of these processes, however that process ends.  That is why a process
 * waits until the collector has mapped its segments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"

#include "port/shared_memory.h"
#include "team/shared_rows.h"

Size
shared_rows_size(int nprocesses)
{
	return offsetof(SharedRows, deposits) + nprocesses * sizeof(SharedDeposit);
}

void
shared_rows_init(SharedRows *shared, int nprocesses, Size limit)
{
	memset(shared, 0, shared_rows_size(nprocesses));
	shared->nprocesses = nprocesses;
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

bool
shared_rows_join(SharedRows *shared)
{
	bool		joined;

	SpinLockAcquire(&shared->exchange.mutex);
	joined = !shared->closed;
	if (joined)
		shared->njoined++;
	SpinLockRelease(&shared->exchange.mutex);
	return joined;
}

void
shared_rows_finish(SharedRows *shared, int process, uint64 nkept)
{
	SpinLockAcquire(&shared->exchange.mutex);
	shared->deposits[process].nkept = nkept;
	shared->nfinished++;
	SpinLockRelease(&shared->exchange.mutex);
	ConditionVariableSignal(&shared->exchange.sent);
}

RowSegments *
row_segments_begin(SharedRows *shared)
{
	RowSegments *segments = palloc0(sizeof(RowSegments));
	int			count = shared->nprocesses * MAX_SEGMENTS;

	segments->shared = shared;
	segments->mapped = palloc0(count * sizeof(dsm_segment *));
	segments->addresses = palloc0(count * sizeof(char *));
	return segments;
}

/* Notes a mapped segment; returns its address. */
static char *
note_segment(RowSegments *segments, int process, uint32 number,
			 dsm_segment *segment)
{
	int			i = process * MAX_SEGMENTS + number;

	segments->mapped[i] = segment;
	segments->addresses[i] = dsm_segment_address(segment);
	return segments->addresses[i];
}

char *
row_segments_add(RowSegments *segments, int process, Size bytes)
{
	SharedRows *shared = segments->shared;
	SharedDeposit *deposit = &shared->deposits[process];
	dsm_segment *segment;

	if (deposit->nsegments == MAX_SEGMENTS || bytes > PG_UINT32_MAX)
		return NULL;
	segment = pg_atomic_add_fetch_u64(&shared->bytes, bytes) <= shared->limit ?
		shared_memory_create(bytes) : NULL;
	if (segment == NULL)
	{
		pg_atomic_sub_fetch_u64(&shared->bytes, bytes);
		return NULL;
	}

	/* so that no error leaves it behind */
	dsm_unpin_mapping(segment);
	deposit->segments[deposit->nsegments] = dsm_segment_handle(segment);
	return note_segment(segments, process, deposit->nsegments++, segment);
}

char *
row_segments_find(RowSegments *segments, int process, uint32 number)
{
	char	   *address = segments->addresses[process * MAX_SEGMENTS + number];
	dsm_segment *segment;

	if (likely(address != NULL))
		return address;
	segment = dsm_attach(segments->shared->deposits[process].segments[number]);
	return segment == NULL ? NULL :
		note_segment(segments, process, number, segment);
}

bool
row_segments_map(RowSegments *segments)
{
	const SharedRows *shared = segments->shared;

	for (int process = 0; process < shared->nprocesses; process++)
		for (int i = 0; i < shared->deposits[process].nsegments; i++)
			if (row_segments_find(segments, process, i) == NULL)
				return false;
	return true;
}

/* Unmaps the segments of a process. */
static void
unmap_process(RowSegments *segments, int process)
{
	dsm_segment **mapped = &segments->mapped[process * MAX_SEGMENTS];

	for (int i = 0; i < MAX_SEGMENTS; i++)
		if (mapped[i] != NULL)
			dsm_detach(mapped[i]);
}

/*
 * The last process to unmap a segment frees it, which takes a good part of the
 * time that it took to fill it.  Processes mostly end together.  So each unmaps its own
 * segments last, and frees only these.
 */
void
row_segments_end(RowSegments *segments)
{
	int			nprocesses = segments->shared->nprocesses;
	int			own = IsParallelWorker() ? ParallelWorkerNumber : nprocesses - 1;

	for (int i = 1; i <= nprocesses; i++)
		unmap_process(segments, (own + i) % nprocesses);
	pfree(segments->mapped);
	pfree(segments->addresses);
	pfree(segments);
}
