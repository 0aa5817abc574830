/*-------------------------------------------------------------------------
 *
 * parallel_build.c
 *	  Building an index with parallel workers.
 *
 * A build has the phases of index_build.c: rows are collected, sorted and
 * written.  The participants are the leader and its workers.
 *
 * Collect: the participants share one scan of the table.  Each forms its rows
 * in shared memory, one behind the other in a block, where the rows stay, and
 * sends their places and keys to the leader in batches (row_batch.h).  The
 * leader takes the batches of all participants, its own too, as they get full:
 * it notes the place of each row, adds the key to the sort, and frees the
 * batch.
 *
 * Sort: the leader makes the order (index_sort.c), and the workers wait.
 *
 * Write: the leader copies the order to shared memory, and all make leaf pages
 * of it (parallel_write.c).  The order there is a permutation of row numbers,
 * as in the leader.  A row's address differs between processes, so its place
 * is four bytes: the number of its block and of a word there.
 *
 * Separate sorts: each participant sorts its own rows, in its part of the
 * memory, and writes sorted runs to files.  This is done when more rows are
 * expected than the memory setting allows, or than there is shared memory for,
 * or when keys cannot be shared.  The leader alone makes the pages, of the
 * rows of all runs, which the workers merge meanwhile, part by part
 * (part_merge.c).
 *
 * Shared memory is a DSA area of the parallel context, which is freed when the
 * transaction ends in any way.  A participant asks whether the server has
 * memory left before it allocates some (shared_memory.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lwlock.h"
#include "tcop/tcopprot.h"
#include "utils/dsa.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/heap_scan.h"
#include "index/parallel_build.h"
#include "index/parallel_write.h"
#include "port/compat.h"
#include "port/shared_memory.h"
#include "sort/row_batch.h"

#define KEY_SHARED		UINT64CONST(0x6770757300000001)
#define KEY_SCAN		UINT64CONST(0x6770757300000002)
#define KEY_AREA		UINT64CONST(0x6770757300000003)
#define KEY_QUERY		UINT64CONST(0x6770757300000004)
#define KEY_BUFFERS		UINT64CONST(0x6770757300000005)
#define KEY_WAL			UINT64CONST(0x6770757300000006)
#define KEY_BLOCKS		UINT64CONST(0x6770757300000007)

/* First bytes of the DSA area, in the segment of the parallel context. */
#define AREA_BYTES		((Size) 64 * 1024)

/*
 * Bytes of a block of rows, which begins with its number.  No row is larger.
 */
#define BLOCK_BYTES		((Size) 1024 * 1024)
#define BLOCK_ROWS		MAXALIGN(sizeof(uint32))	/* offset of the rows */

/* The place of a row: the number of its block, and of a word there. */
#define PLACE_WORD_BYTES	MAXIMUM_ALIGNOF
#define PLACE_BLOCK_WORDS	(BLOCK_BYTES / PLACE_WORD_BYTES)
#define PLACE_MAX_BLOCKS	((UINT64CONST(1) << 32) / PLACE_BLOCK_WORDS)

/* The phase of the build, for workers whose scan has ended. */
typedef enum BuildPhase
{
	PHASE_COLLECT,				/* wait: others scan, or the leader sorts */
	PHASE_WRITE,				/* make leaf pages */
	PHASE_END					/* end */
} BuildPhase;

/* What all participants share. */
typedef struct BuildShared
{
	Oid			heap;
	Oid			index;
	bool		concurrent;
	bool		unique;			/* rows are checked for duplicates */
	bool		nulls_not_distinct;
	uint32		max_blocks;		/* room for places of blocks */
	uint64		limit;			/* bytes of the area, or of one separate sort */
	bool		separately;		/* each participant sorts its own rows */
	double		expected_rows;	/* rows of one participant */
	bool		host_only;		/* separate sorts use no device */

	pg_atomic_uint64 bytes;		/* bytes of the area that are in use */
	pg_atomic_uint32 nblocks;

	RowExchange exchange;		/* the mutex is for the next four fields */
	int			nfinished;		/* workers whose scan has ended */
	double		heap_tuples;	/* rows that the scans have seen */
	bool		broken_hot_chain;	/* some scan has seen a broken chain */

	pg_atomic_uint32 phase;
	ConditionVariable phase_changed;
	uint64		nrows;			/* rows to be written, from PHASE_WRITE on */
	bool		check_order;	/* a device has made the order of the rows */
	dsa_pointer order;			/* numbers of the rows, in order */
	dsa_pointer places;			/* places of the rows, by number */
	WriteShared write;
	SharedRuns	runs;			/* runs of workers that sort separately */
} BuildShared;

/* The state of a participant in its own process. */
typedef struct Participant
{
	BuildShared *shared;
	dsa_area   *area;
	bool		unique;
	IndexRows  *rows;
	SortKeys   *keys;

	/* the block that takes rows */
	dsa_pointer *blocks;		/* blocks of all participants, by number */
	dsa_pointer block;
	char	   *base;			/* address of the block */
	uint32		free_place;		/* first free place of the block */
	Size		free_bytes;

	/* the batch that takes keys, NULL before there is one */
	BatchPlace	batch_place;
	RowBatch   *batch;

	/* of the leader only, NULL in a worker */
	ParallelBuild *build;
	ExternalSort *sort;

	/* of a worker only, NULL in the leader */
	SortProgress *progress;
} Participant;

struct ParallelBuild
{
	Relation	heap;
	Relation	index;
	ParallelContext *context;
	Snapshot	snapshot;
	BuildShared *shared;
	ParallelTableScanDesc scan;
	dsa_area   *area;
	dsa_pointer *blocks;
	BufferUsage *buffers;		/* usage of each worker */
	WalUsage   *wal;

	RowSequences sequences;		/* all rows of the store, in its order */
};

/*
 * Allocates memory that all participants can reach; an invalid pointer without
 * memory.  The area grows by pieces that become as large as a good part of it.
 */
static dsa_pointer
allocate(BuildShared *shared, dsa_area *area, Size bytes)
{
	uint64		used = pg_atomic_add_fetch_u64(&shared->bytes, bytes);

	if (used > shared->limit || !shared_memory_has_room(used))
		return InvalidDsaPointer;
	return dsa_allocate_extended(area, bytes, DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
}

/*
 * In the leader: takes the rows of a batch.  Closes the exchange if there is
 * no room for all of them.
 */
static void
take_rows(Participant *leader, const RowBatch *batch)
{
	char	   *base = dsa_get_address(leader->area, batch->segment);

	row_sequences_note(&leader->build->sequences, batch->nrows,
					   *(uint32 *) base * PLACE_BLOCK_WORDS +
					   batch->places[0] / PLACE_WORD_BYTES,
					   base + batch->places[0]);
	if (external_sort_take_batch(leader->sort, batch, base) < batch->nrows)
		row_exchange_close(&leader->shared->exchange);
}

/* In the leader: takes all batches that were sent. */
static void
take_batches(Participant *leader)
{
	BuildShared *shared = leader->shared;
	BatchPlace	place = row_exchange_take(&shared->exchange);

	while (place != NO_BATCH)
	{
		RowBatch   *batch = dsa_get_address(leader->area, place);
		BatchPlace	next = batch->next;

		CHECK_FOR_INTERRUPTS();
		if (!row_exchange_is_closed(&shared->exchange))
			take_rows(leader, batch);
		dsa_free(leader->area, place);
		pg_atomic_sub_fetch_u64(&shared->bytes, sizeof(RowBatch));
		place = next;
	}
}

/* Sends the present batch to the leader, which takes its own batch at once. */
static void
send_batch(Participant *participant)
{
	if (participant->batch == NULL)
		return;
	if (participant->progress != NULL)
		sort_progress_add(participant->progress, participant->batch->nrows);
	row_exchange_send(&participant->shared->exchange, participant->batch,
					  participant->batch_place, participant->keys);
	participant->batch = NULL;
	if (participant->sort != NULL)
		take_batches(participant);
}

/* Begins a batch of rows in the present block, from this place on. */
static bool
begin_batch(Participant *participant, uint32 place)
{
	participant->batch_place = allocate(participant->shared,
										participant->area, sizeof(RowBatch));
	if (participant->batch_place == NO_BATCH)
		return false;
	participant->batch = dsa_get_address(participant->area,
										 participant->batch_place);
	row_batch_begin(participant->batch, &participant->shared->exchange,
					participant->keys, participant->block, place);
	return true;
}

static bool
begin_block(Participant *participant)
{
	BuildShared *shared = participant->shared;
	dsa_pointer block = allocate(shared, participant->area, BLOCK_BYTES);
	uint32		number;

	if (!DsaPointerIsValid(block))
		return false;
	number = pg_atomic_fetch_add_u32(&shared->nblocks, 1);
	if (number < shared->max_blocks)
		participant->blocks[number] = block;
	participant->block = block;
	participant->base = dsa_get_address(participant->area, block);
	*(uint32 *) participant->base = number;
	participant->free_place = BLOCK_ROWS;
	participant->free_bytes = BLOCK_BYTES - BLOCK_ROWS;
	return true;
}

/*
 * Returns room for a row in a block, and makes sure of room for its key in a
 * batch.
 */
static void *
shared_space(void *owner, Size bytes)
{
	Participant *participant = owner;
	void	   *row;

	if (participant->batch != NULL &&
		(bytes > participant->free_bytes ||
		 row_batch_is_full(participant->batch)))
		send_batch(participant);
	if (unlikely(bytes > participant->free_bytes) &&
		!begin_block(participant))
		return NULL;
	if (unlikely(participant->batch == NULL) &&
		!begin_batch(participant, participant->free_place))
		return NULL;

	row = participant->base + participant->free_place;
	participant->free_place += bytes;
	participant->free_bytes -= bytes;
	return row;
}

/* Adds the row that was stored last to the batch; false without memory. */
static bool
add_row(Participant *participant, Size row_bytes)
{
	while (unlikely(!row_batch_add(participant->batch,
								   &participant->shared->exchange,
								   participant->keys, participant->rows->slot,
								   participant->free_place)))
	{
		send_batch(participant);
		if (!begin_batch(participant, participant->free_place - row_bytes))
			return false;
	}
	return true;
}

/*
 * An IndexBuildCallback, whose state is the Participant: forms and sends a
 * row.
 */
static void
collect_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			bool is_alive, void *state)
{
	Participant *participant = state;
	IndexRow   *row;

	if (unlikely(row_exchange_is_closed(&participant->shared->exchange)))
		return;
	row = index_rows_store(participant->rows, tid, values, isnull,
						   shared_space, participant);
	if (unlikely(row == NULL))
	{
		row_exchange_close(&participant->shared->exchange);
		return;
	}
	if (participant->unique && !is_alive)
		index_row_set_dead(row);
	if (unlikely(!add_row(participant, index_row_bytes(row))))
		row_exchange_close(&participant->shared->exchange);
}

/* Takes part in the scan; returns the number of rows that it saw. */
static double
scan_share(Participant *participant, Relation heap, Relation index,
		   IndexInfo *info, ParallelTableScanDesc parallel_scan, bool progress)
{
	double		heap_tuples;

	participant->unique = participant->shared->unique;
	heap_tuples = heap_scan_for_build(heap, index, info, parallel_scan,
									  progress, collect_row, participant);
	send_batch(participant);
	return heap_tuples;
}

/* The rows in shared memory, in their order. */
typedef struct PlacedRows
{
	TupleSource rows;
	const uint32 *order;
	const uint32 *places;
	char	  **blocks;			/* addresses in this process */
} PlacedRows;

static void
find_placed_rows(const TupleSource *rows, uint64 position, uint32 nrows,
				 const IndexRow **found)
{
	const PlacedRows *placed = (const PlacedRows *) rows;
	const uint32 *places = placed->places;

	for (uint64 i = position; i < position + nrows; i++)
	{
		uint32		place = places[placed->order[i]];

		if (likely(i + PREFETCH_PLACES < rows->nrows))
			__builtin_prefetch(&places[placed->order[i + PREFETCH_PLACES]]);
		*found++ = (const IndexRow *)
			(placed->blocks[place / PLACE_BLOCK_WORDS] +
			 place % PLACE_BLOCK_WORDS * PLACE_WORD_BYTES);
	}
}

/* Takes part in making pages; false if the rows are not in order. */
static bool
write_share(BuildShared *shared, dsa_area *area, const dsa_pointer *blocks,
			const LeafDefinition *definition, const IndexRows *index_rows,
			TreeWriter *writer, SortProgress *progress)
{
	uint32		nblocks = pg_atomic_read_u32(&shared->nblocks);
	PlacedRows	rows = {
		.rows = {.nrows = shared->nrows,.find = find_placed_rows},
		.order = dsa_get_address(area, shared->order),
		.places = dsa_get_address(area, shared->places),
		.blocks = palloc(nblocks * sizeof(char *))
	};

	for (uint32 i = 0; i < nblocks; i++)
		rows.blocks[i] = dsa_get_address(area, blocks[i]);
	return parallel_write_share(&shared->write, area, definition, index_rows,
								&rows.rows, writer, progress);
}

/* Begins a phase for all workers. */
static void
begin_phase(BuildShared *shared, BuildPhase phase)
{
	pg_memory_barrier();
	pg_atomic_write_u32(&shared->phase, phase);
	ConditionVariableBroadcast(&shared->phase_changed);
}

/* Waits for the leader to have the order; false if the worker may end. */
static bool
wait_for_order(BuildShared *shared)
{
	uint32		phase;

	while ((phase = pg_atomic_read_u32(&shared->phase)) == PHASE_COLLECT)
		ConditionVariableSleep(&shared->phase_changed,
							   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	ConditionVariableCancelSleep();
	pg_read_barrier();
	return phase == PHASE_WRITE;
}

/*
 * Makes the keys of a participant; closes the exchange if there can be none.
 */
static SortKeys *
make_keys(BuildShared *shared, const IndexRows *rows)
{
	SortKeys   *keys = sort_keys_create(rows->descriptor, rows->columns,
										rows->ncolumns);

	if (keys == NULL)
		row_exchange_close(&shared->exchange);
	else
		(void) sort_keys_share(keys);
	return keys;
}

/*
 * A worker's part of collecting rows together; returns the number of rows that
 * it saw.
 */
static double
collect_for_leader(Participant *participant, const LeafDefinition *definition,
				   IndexInfo *info, ParallelTableScanDesc scan)
{
	participant->progress =
		sort_progress_begin(PROGRESS_OF_INDEX_BUILD, participant->shared->expected_rows, true);
	participant->rows = index_rows_begin(definition->index);
	participant->keys = make_keys(participant->shared, participant->rows);
	return scan_share(participant, definition->heap, definition->index, info,
					  scan, false);
}

/* Begins a worker's separate sort. */
static IndexSort *
begin_separate_sort(BuildShared *shared, dsm_segment *segment,
					const LeafDefinition *definition)
{
	IndexSort  *sort = index_sort_begin(definition->index, shared->unique,
										shared->limit, shared->limit,
										shared->expected_rows,
										shared->host_only);

	SharedFileSetAttach(&shared->runs.files, segment);
	sort->external.shared_runs = &shared->runs;
	return sort;
}

/*
 * Writes the runs of a worker's separate sort; returns the number of rows that
 * it saw.
 */
static double
sort_separately(BuildShared *shared, IndexSort *sort,
				const LeafDefinition *definition, IndexInfo *info,
				ParallelTableScanDesc scan)
{
	double		heap_tuples = heap_scan_for_build(definition->heap,
												  definition->index, info,
												  scan, false,
												  index_sort_put, sort);

	if (!index_sort_write_last_run(sort))
		row_exchange_close(&shared->exchange);
	else if (sort->external.runs != NULL)
		external_sort_offer_help(&sort->external);
	return heap_tuples;
}

/*
 * Lets a worker help the leader with the runs, if it has any, and ends its
 * sort.
 */
static void
end_separate_sort(IndexSort *sort)
{
	ExternalSort *external = &sort->external;

	if (!index_sort_has_failed(sort) && external->runs != NULL &&
		external_sort_help_merge(external))
		external_sort_send_parts(external);
	index_sort_end(sort);
}

/* The entry point of a worker. */
void
gpusort_build_worker(dsm_segment *segment, shm_toc *contents)
{
	BuildShared *shared = shm_toc_lookup(contents, KEY_SHARED, false);
	BufferUsage *buffers = shm_toc_lookup(contents, KEY_BUFFERS, false);
	WalUsage   *wal = shm_toc_lookup(contents, KEY_WAL, false);
	Participant participant = {
		.shared = shared,
		.blocks = shm_toc_lookup(contents, KEY_BLOCKS, false)
	};
	LeafDefinition definition = {
		.unique = shared->unique,
		.nulls_not_distinct = shared->nulls_not_distinct
	};

	/* the locks that the leader holds */
	LOCKMODE	heap_lock = shared->concurrent ?
		ShareUpdateExclusiveLock : ShareLock;
	LOCKMODE	index_lock = shared->concurrent ?
		RowExclusiveLock : AccessExclusiveLock;
	ParallelTableScanDesc scan;
	IndexInfo  *info;
	IndexSort  *sort = NULL;
	double		heap_tuples;

	debug_query_string = shm_toc_lookup(contents, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	InstrStartParallelQuery();

	definition.heap = table_open(shared->heap, heap_lock);
	definition.index = index_open(shared->index, index_lock);
	info = BuildIndexInfo(definition.index);
	info->ii_Concurrent = shared->concurrent;
	participant.area = dsa_attach_in_place(shm_toc_lookup(contents, KEY_AREA,
														  false),
										   segment);
	scan = shm_toc_lookup(contents, KEY_SCAN, false);
	if (shared->separately)
		sort = begin_separate_sort(shared, segment, &definition);
	heap_tuples = sort != NULL ?
		sort_separately(shared, sort, &definition, info, scan) :
		collect_for_leader(&participant, &definition, info, scan);

	SpinLockAcquire(&shared->exchange.mutex);
	shared->nfinished++;
	shared->heap_tuples += heap_tuples;
	shared->broken_hot_chain |= info->ii_BrokenHotChain;
	SpinLockRelease(&shared->exchange.mutex);
	ConditionVariableSignal(&shared->exchange.sent);

	if (sort != NULL)
		end_separate_sort(sort);
	else
	{
		sort_progress_enter(participant.progress, PROGRESS_WAITING_FOR_LEADER);
		if (wait_for_order(shared))
		{
			sort_progress_enter(participant.progress, PROGRESS_WRITING_INDEX);
			definition.check_order = shared->check_order;
			(void) write_share(shared, participant.area, participant.blocks,
							   &definition, participant.rows, NULL,
							   participant.progress);
		}
		sort_progress_end(participant.progress);
	}

	InstrEndParallelQuery(&buffers[ParallelWorkerNumber],
						  &wal[ParallelWorkerNumber]);
	if (participant.rows != NULL)
		index_rows_end(participant.rows);
	dsa_detach(participant.area);
	index_close(definition.index, index_lock);
	table_close(definition.heap, heap_lock);
}

/* Blocks that a build with this limit, in bytes, can have. */
static uint32
most_blocks(Size limit)
{
	return Min(limit / BLOCK_BYTES, PLACE_MAX_BLOCKS);
}

/* Makes the segment of the parallel context; false without memory. */
static bool
make_shared_memory(ParallelBuild *build, Size limit)
{
	ParallelContext *context = build->context;
	Size		scan_bytes = table_parallelscan_estimate(build->heap,
														 build->snapshot);
	Size		query_bytes = debug_query_string != NULL ?
		strlen(debug_query_string) + 1 : 0;
	Size		buffers_bytes = mul_size(sizeof(BufferUsage),
										 context->nworkers);
	Size		wal_bytes = mul_size(sizeof(WalUsage), context->nworkers);
	Size		blocks_bytes = mul_size(sizeof(dsa_pointer),
										most_blocks(limit));
	void	   *area;

	shm_toc_estimate_chunk(&context->estimator, sizeof(BuildShared));
	shm_toc_estimate_chunk(&context->estimator, scan_bytes);
	shm_toc_estimate_chunk(&context->estimator, AREA_BYTES);
	shm_toc_estimate_chunk(&context->estimator, buffers_bytes);
	shm_toc_estimate_chunk(&context->estimator, wal_bytes);
	shm_toc_estimate_chunk(&context->estimator, blocks_bytes);
	shm_toc_estimate_chunk(&context->estimator, query_bytes);
	shm_toc_estimate_keys(&context->estimator, 7);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
		return false;

	build->shared = shm_toc_allocate(context->toc, sizeof(BuildShared));
	build->scan = shm_toc_allocate(context->toc, scan_bytes);
	build->buffers = shm_toc_allocate(context->toc, buffers_bytes);
	build->wal = shm_toc_allocate(context->toc, wal_bytes);
	build->blocks = shm_toc_allocate(context->toc, blocks_bytes);
	area = shm_toc_allocate(context->toc, AREA_BYTES);
	build->area = dsa_create_in_place(area, AREA_BYTES,
									  LWTRANCHE_PARALLEL_QUERY_DSA,
									  context->seg);
	table_parallelscan_initialize(build->heap, build->scan,
								  build->snapshot);
	shm_toc_insert(context->toc, KEY_SHARED, build->shared);
	shm_toc_insert(context->toc, KEY_SCAN, build->scan);
	shm_toc_insert(context->toc, KEY_BUFFERS, build->buffers);
	shm_toc_insert(context->toc, KEY_WAL, build->wal);
	shm_toc_insert(context->toc, KEY_BLOCKS, build->blocks);
	shm_toc_insert(context->toc, KEY_AREA, area);
	if (query_bytes > 0)
	{
		char	   *query = shm_toc_allocate(context->toc, query_bytes);

		memcpy(query, debug_query_string, query_bytes);
		shm_toc_insert(context->toc, KEY_QUERY, query);
	}
	return true;
}

static void
init_shared(ParallelBuild *build, const IndexInfo *info, Size limit,
			bool separately, bool host_only, double expected_rows)
{
	BuildShared *shared = build->shared;

	memset(shared, 0, sizeof(BuildShared));
	shared->heap = RelationGetRelid(build->heap);
	shared->index = RelationGetRelid(build->index);
	shared->concurrent = info->ii_Concurrent;

	/*
	 * false for a unique index whose rows need no check, as with VACUUM FULL
	 */
	shared->unique = info->ii_Unique;
	shared->nulls_not_distinct = info->ii_NullsNotDistinct;
	shared->limit = limit;
	shared->separately = separately;
	shared->host_only = host_only;
	shared->expected_rows = expected_rows;
	shared->max_blocks = most_blocks(limit);
	pg_atomic_init_u64(&shared->bytes, 0);
	pg_atomic_init_u32(&shared->nblocks, 0);
	row_exchange_init(&shared->exchange);
	pg_atomic_init_u32(&shared->phase, PHASE_COLLECT);
	ConditionVariableInit(&shared->phase_changed);
	parallel_write_init(&shared->write);
	if (separately)
		shared_runs_init(&shared->runs, build->context->seg, limit);
}

/* Leaves parallel mode, with or without shared memory and workers. */
static void
end_context(ParallelBuild *build)
{
	if (build->area != NULL)
		dsa_detach(build->area);
	if (IsMVCCSnapshot(build->snapshot))
		UnregisterSnapshot(build->snapshot);
	DestroyParallelContext(build->context);
	ExitParallelMode();
}

ParallelBuild *
parallel_build_begin(Relation heap, Relation index, IndexInfo *info,
					 Size limit, bool separately, bool host_only,
					 double expected_rows)
{
	ParallelBuild *build = palloc0(sizeof(ParallelBuild));

	build->heap = heap;
	build->index = index;
	row_sequences_init(&build->sequences);
	EnterParallelMode();
	build->context = CreateParallelContext("gpusort",
										   "gpusort_build_worker",
										   info->ii_ParallelWorkers);
	/* a concurrent build takes the rows of a snapshot, others take all */
	build->snapshot = info->ii_Concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	if (make_shared_memory(build, limit))
	{
		init_shared(build, info, limit, separately, host_only,
					expected_rows);
		LaunchParallelWorkers(build->context);
		if (build->context->nworkers_launched > 0)
			return build;
		WaitForParallelWorkersToFinish(build->context);
	}
	end_context(build);
	pfree(build);
	return NULL;
}

/* Takes batches until the last worker has finished its scan. */
static void
wait_for_workers(Participant *leader, int nworkers)
{
	BuildShared *shared = leader->shared;
	bool		finished = false;

	while (!finished)
	{
		/* a batch that comes after this check ends the wait that may follow */
		ConditionVariablePrepareToSleep(&shared->exchange.sent);
		SpinLockAcquire(&shared->exchange.mutex);
		finished = shared->nfinished == nworkers;
		SpinLockRelease(&shared->exchange.mutex);
		take_batches(leader);
		if (!finished)
			ConditionVariableSleep(&shared->exchange.sent,
								   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

/*
 * Waits until the workers have scanned their part; returns the number of rows
 * that they saw.
 */
static double
finish_scan(ParallelBuild *build, IndexInfo *info, Participant *leader)
{
	BuildShared *shared = build->shared;

	/* otherwise it would wait for workers that could not be started */
	WaitForParallelWorkersToAttach(build->context);
	wait_for_workers(leader, build->context->nworkers_launched);
	info->ii_BrokenHotChain |= shared->broken_hot_chain;
	return shared->heap_tuples;
}

bool
parallel_build_collect(ParallelBuild *build, IndexInfo *info,
					   IndexSort *sort, double *heap_tuples)
{
	IndexRows  *rows = sort->rows;
	BuildShared *shared = build->shared;
	Participant leader = {
		.shared = shared,
		.area = build->area,
		.rows = rows,
		.keys = make_keys(shared, rows),
		.blocks = build->blocks,
		.build = build,
		.sort = &sort->external
	};

	row_order_set_layout(sort->external.order, &shared->exchange.layout);
	*heap_tuples = scan_share(&leader, build->heap, build->index, info,
							  build->scan, true);

	*heap_tuples += finish_scan(build, info, &leader);
	row_order_set_layout(sort->external.order, NULL);
	return !row_exchange_is_closed(&shared->exchange);
}

bool
parallel_build_collect_separately(ParallelBuild *build, IndexInfo *info,
								  IndexSort *sort, double *heap_tuples)
{
	BuildShared *shared = build->shared;
	Participant leader = {.shared = shared};

	sort->external.shared_runs = &shared->runs;
	/* rows are small: a merge to files takes as long as the leader's */
	sort->external.help = HELP_WITH_ROWS;
	*heap_tuples = heap_scan_for_build(build->heap, build->index, info,
									   build->scan, true, index_sort_put,
									   sort);
	*heap_tuples += finish_scan(build, info, &leader);
	return !row_exchange_is_closed(&shared->exchange);
}

/* Writes the place of each row to the row's number in "places". */
static void
share_places(const ParallelBuild *build, const RowStore *store,
			 uint32 *places)
{
	uint32		row = 0;

	for (int i = 0; i < build->sequences.count; i++)
	{
		const RowSequence *sequence = &build->sequences.list[i];

		for (uint32 j = 0; j < sequence->nrows; j++, row++)
		{
			const char *address = row_store_get(store, row);

			places[row] = sequence->first_place +
				(address - sequence->first_address) / PLACE_WORD_BYTES;
		}
	}
}

/*
 * Copies the order to shared memory, and makes the ring for pages.  False if
 * there is no room within the limit for both.
 */
static bool
share_order(ParallelBuild *build, const RowOrder *order, Size limit)
{
	BuildShared *shared = build->shared;
	WriteShared *write = &shared->write;
	uint64		nrows = order->store->nrows;
	Size		order_bytes = nrows * sizeof(uint32);
	Size		used = order->store->memory + order_bytes;

	parallel_write_plan(write, nrows, order->store->memory,
						build->context->nworkers_launched + 1);
	if (used + 2 * order_bytes +
		write->nslots * (BLCKSZ + sizeof(LeafSlot)) > limit ||
		pg_atomic_read_u32(&shared->nblocks) > shared->max_blocks)
		return false;
	shared->order = allocate(shared, build->area, order_bytes);
	shared->places = allocate(shared, build->area, order_bytes);
	write->pages = allocate(shared, build->area,
							(Size) write->nslots * BLCKSZ);
	write->slots = allocate(shared, build->area,
							write->nslots * sizeof(LeafSlot));
	if (!DsaPointerIsValid(shared->order) ||
		!DsaPointerIsValid(shared->places) ||
		!DsaPointerIsValid(write->pages) || !DsaPointerIsValid(write->slots))
		return false;

	shared->nrows = nrows;
	memcpy(dsa_get_address(build->area, shared->order), order->entries,
		   order_bytes);
	share_places(build, order->store,
				 dsa_get_address(build->area, shared->places));
	memset(dsa_get_address(build->area, write->slots), 0,
		   write->nslots * sizeof(LeafSlot));
	return true;
}

bool
parallel_build_share(ParallelBuild *build, const RowOrder *order,
					 Size limit)
{
	return order->store->nrows > 0 && share_order(build, order, limit);
}

bool
parallel_build_write(ParallelBuild *build,
					 const LeafDefinition *definition,
					 const IndexRows *index_rows, TreeWriter *writer,
					 SortProgress *progress)
{
	build->shared->check_order = definition->check_order;
	begin_phase(build->shared, PHASE_WRITE);
	return write_share(build->shared, build->area, build->blocks,
					   definition, index_rows, writer, progress);
}

uint64
parallel_build_worker_pages(const ParallelBuild *build)
{
	return pg_atomic_read_u32(&build->shared->write.worker_pages);
}

int
parallel_build_workers(const ParallelBuild *build)
{
	return build->context->nworkers_launched;
}

void
parallel_build_end(ParallelBuild *build)
{
	begin_phase(build->shared, PHASE_END);
	/* if the leader has ended before that */
	if (build->shared->separately)
		leader_decision_make(&build->shared->runs.decision, WORK_NONE);
	WaitForParallelWorkersToFinish(build->context);
	for (int i = 0; i < build->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&build->buffers[i], &build->wal[i]);
	end_context(build);
}
