/*-------------------------------------------------------------------------
 *
 * parallel_build.c
 *	  Building an index with parallel workers.
 *
 * A build has the phases of index_build.c: rows are collected, sorted and
 * written.  The participants are the leader and its workers.
 *
 * Collect: the participants share one scan of the table.  Each forms its rows
 * in shared memory, where they stay, and sends their places and keys to the
 * leader in batches (row_deposit.c).  The leader takes the batches of all
 * participants, its own too (row_collector.c).
 *
 * Sort: the leader makes the order (index_sort.c), and the workers wait.
 *
 * Write: the leader copies the order to shared memory (shared_order.c), and all
 * make leaf pages of it (parallel_write.c).
 *
 * Separate sorts: each participant sorts its own rows, in its part of the
 * memory, and writes sorted runs to files.  Participants sort separately if
 * more rows are expected than the memory setting allows, or than there is
 * shared memory for, or if keys cannot be shared.  The workers merge all runs
 * part by part (merged_runs.c).  Meanwhile the leader alone makes the pages of
 * the merged rows.
 *
 * The leader decides once what the workers do after the last row
 * (leader_decision.h).  A participant that comes when the others have had all
 * rows of the table puts none.  Shared memory is freed when the transaction
 * ends in any way.
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
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/heap_scan.h"
#include "index/parallel_build.h"
#include "index/parallel_write.h"
#include "port/compat.h"
#include "team/merged_runs.h"
#include "team/row_deposit.h"
#include "team/shared_order.h"

#define KEY_SHARED		UINT64CONST(0x6770757300000001)
#define KEY_SCAN		UINT64CONST(0x6770757300000002)
#define KEY_ROWS		UINT64CONST(0x6770757300000003)
#define KEY_QUERY		UINT64CONST(0x6770757300000004)
#define KEY_BUFFERS		UINT64CONST(0x6770757300000005)
#define KEY_WAL			UINT64CONST(0x6770757300000006)

/* What all participants share, beside the SharedRows. */
typedef struct BuildShared
{
	Oid			heap;
	Oid			index;
	bool		concurrent;
	bool		unique;			/* rows are checked for duplicates */
	bool		nulls_not_distinct;
	uint64		limit;			/* bytes of one separate sort */
	bool		separately;		/* each participant sorts its own rows */
	double		expected_rows;	/* rows of one participant */
	bool		host_only;		/* separate sorts use no device */

	slock_t		mutex;			/* protects the next two */
	double		heap_tuples;	/* rows that the workers' scans have seen */
	bool		broken_hot_chain;	/* some scan has seen a broken chain */

	SharedRuns	runs;			/* runs of participants that sort separately */
	SharedParts parts;			/* parts of their merge, and what the workers
								 * do after the last row */
	bool		check_order;	/* a device has made the order of the rows */
	SharedOrder order;			/* order of rows in shared memory */
	WriteShared write;
} BuildShared;

/* A participant that puts its rows into shared memory. */
typedef struct Participant
{
	SharedRows *shared;
	bool		unique;
	IndexRows  *rows;
	RowDeposit *deposit;

	/* of the leader only, NULL in a worker */
	RowCollector *collector;
	ExternalSort *sort;
} Participant;

struct ParallelBuild
{
	Relation	heap;
	Relation	index;
	ParallelContext *context;
	Snapshot	snapshot;
	BuildShared *shared;
	ParallelTableScanDesc scan;
	SharedRows *rows;
	BufferUsage *buffers;		/* usage of each worker */
	WalUsage   *wal;

	RowSegments *segments;		/* shared rows of all participants */
	RowCollector *collector;

	/* of participants that sort separately */
	MemberRuns	runs;			/* the leader's runs */
	MergedRuns	merge;			/* those of all */
};

/* Are no more rows wanted, since they have to be sorted in another way? */
static inline bool
is_given_up(SharedRows *shared)
{
	return row_exchange_is_closed(&shared->exchange);
}

static void
give_up(SharedRows *shared)
{
	row_exchange_close(&shared->exchange);
}

/* In the leader: takes the rows that have been sent, or gives up without room for all. */
static void
take_batches(Participant *leader)
{
	const RowBatch *batch;
	char	   *base;

	while ((batch = row_collector_next(leader->collector, &base)) != NULL)
	{
		if (!is_given_up(leader->shared) &&
			external_sort_take_batch(leader->sort, batch, base) < batch->nrows)
			give_up(leader->shared);
	}
}

/* Returns room for a row; an IndexRowSpace. */
static void *
shared_space(void *owner, Size bytes)
{
	return row_deposit_reserve(owner, bytes);
}

/*
 * An IndexBuildCallback, whose state is the Participant: forms and puts a row.
 * Ignores rows once the collection is given up, since nothing can end the
 * scan.
 */
static void
collect_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			bool is_alive, void *state)
{
	Participant *participant = state;
	IndexRow   *row;

	if (unlikely(is_given_up(participant->shared)))
		return;
	row = index_rows_store(participant->rows, tid, values, isnull,
						   shared_space, participant->deposit);
	if (unlikely(row == NULL))
	{
		give_up(participant->shared);
		return;
	}
	if (participant->unique && !is_alive)
		index_row_set_dead(row);
	if (unlikely(!row_deposit_add(participant->deposit, participant->rows->slot)))
		give_up(participant->shared);
	if (participant->collector != NULL &&
		unlikely(row_exchange_has_batches(&participant->shared->exchange)))
		take_batches(participant);
}

/* The rows in shared memory, in their order, as a source of tuples. */
typedef struct SharedTuples
{
	TupleSource source;
	OrderedRows rows;
} SharedTuples;

static void
find_shared_rows(const TupleSource *source, uint64 position, uint32 nrows,
				 const IndexRow **found)
{
	const OrderedRows *rows = &((const SharedTuples *) source)->rows;

	for (uint64 i = position; i < position + nrows; i++)
	{
		if (likely(i + PREFETCH_PLACES < source->nrows))
			ordered_rows_prefetch_place(rows, i + PREFETCH_PLACES);
		*found++ = ordered_rows_get(rows, i);
	}
}

/*
 * Takes part in making pages, unless the leader has ended; false if the rows are not in
 * order.
 */
static bool
write_share(BuildShared *shared, RowSegments *segments,
			const LeafDefinition *definition, const IndexRows *index_rows,
			TreeWriter *writer, SortProgress *progress)
{
	SharedTuples tuples = {
		.source = {.nrows = shared->order.nrows,.find = find_shared_rows}
	};
	bool		in_order;

	if (!ordered_rows_map(&tuples.rows, &shared->order, segments))
		return true;
	in_order = parallel_write_share(&shared->write, definition, index_rows,
									&tuples.source, writer, progress);
	ordered_rows_unmap(&tuples.rows);
	return in_order;
}

/*
 * ---- a worker
 */

/* What a worker has of the build. */
typedef struct BuildWorker
{
	BuildShared *shared;
	SharedRows *rows;
	LeafDefinition definition;
	IndexInfo  *info;
	ParallelTableScanDesc scan;
} BuildWorker;

/*
 * Scans a share of the table.  Notes the counts before the worker says that it
 * has finished.
 */
static void
scan_share(BuildWorker *worker, IndexBuildCallback callback, void *state)
{
	BuildShared *shared = worker->shared;
	const LeafDefinition *definition = &worker->definition;
	double		heap_tuples = heap_scan_for_build(definition->heap,
												  definition->index,
												  worker->info, worker->scan,
												  false, callback, state);

	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += heap_tuples;
	shared->broken_hot_chain |= worker->info->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
}

/* Lets a separate sort write its runs where all participants can read them. */
static void
write_runs_to(IndexSort *sort, MemberRuns *runs, SharedRuns *shared)
{
	ExternalSort *external = &sort->external;

	member_runs_begin(runs, shared, external->variant->format);
	external->writer = &runs->writer;
}

/* Puts a worker's rows into shared memory, unless the others have had all. */
static void
put_rows(BuildWorker *worker, IndexRows *rows, RowSegments *segments,
		 SortProgress *progress)
{
	Participant participant = {
		.shared = worker->rows,
		.unique = worker->shared->unique,
		.rows = rows,
		.deposit = row_deposit_begin(worker->rows, segments,
									 ParallelWorkerNumber, rows->descriptor,
									 rows->columns, rows->ncolumns, progress)
	};

	if (participant.deposit == NULL)
		return;
	scan_share(worker, collect_row, &participant);
	row_deposit_finish(participant.deposit, 0);
	sort_progress_enter(progress, PROGRESS_WAITING_FOR_LEADER);
	row_deposit_end(participant.deposit);
}

/* Collects rows together with the others, and makes pages of them. */
static void
work_together(BuildWorker *worker)
{
	BuildShared *shared = worker->shared;
	IndexRows  *rows = index_rows_begin(worker->definition.index);
	RowSegments *segments = row_segments_begin(worker->rows);
	SortProgress *progress = sort_progress_begin(PROGRESS_OF_INDEX_BUILD,
												 shared->expected_rows, true);

	put_rows(worker, rows, segments, progress);
	if (leader_decision_await(&shared->parts.decision) == WORK_EMIT_PARTS)
	{
		sort_progress_enter(progress, PROGRESS_WRITING_INDEX);
		worker->definition.check_order = shared->check_order;
		(void) write_share(shared, segments, &worker->definition, rows, NULL,
						   progress);
	}
	sort_progress_end(progress);
	row_segments_end(segments);
	index_rows_end(rows);
}

/* Begins a worker's separate sort, whose runs are these. */
static IndexSort *
begin_separate_sort(BuildWorker *worker, dsm_segment *segment,
					MemberRuns *runs)
{
	BuildShared *shared = worker->shared;
	IndexSort  *sort = index_sort_begin(worker->definition.index,
										shared->unique, shared->limit,
										shared->limit, shared->expected_rows,
										shared->host_only);

	SharedFileSetAttach(&shared->runs.files, segment);
	write_runs_to(sort, runs, &shared->runs);
	return sort;
}

/* Sends parts of the merge of all runs, if the leader wants that. */
static void
help_to_merge(BuildShared *shared, ExternalSort *external)
{
	TeamWork	work = leader_decision_await(&shared->parts.decision);
	MemoryContext caller_context = MemoryContextSwitchTo(external->context);

	if (work == WORK_SEND_PARTS)
	{
		sort_progress_enter(external->progress, PROGRESS_MERGING_RUNS);
		merged_runs_help(&shared->runs, &shared->parts, work,
						 run_order_of_rows(external->order),
						 external->variant->format);
	}
	MemoryContextSwitchTo(caller_context);
}

/* Sorts a worker's rows separately, and helps the leader with the runs, if there are any. */
static void
work_separately(BuildWorker *worker, dsm_segment *segment)
{
	BuildShared *shared = worker->shared;
	MemberRuns	runs;
	IndexSort  *sort;
	bool		has_runs;

	if (!shared_rows_join(worker->rows))
		return;
	sort = begin_separate_sort(worker, segment, &runs);
	scan_share(worker, index_sort_put, sort);
	if (!index_sort_write_last_run(sort))
		give_up(worker->rows);
	has_runs = !index_sort_has_failed(sort) && sort->external.nruns > 0;
	if (has_runs)
		shared_parts_offer(&shared->parts);
	shared_rows_finish(worker->rows, ParallelWorkerNumber, 0);

	if (has_runs)
		help_to_merge(shared, &sort->external);
	member_runs_close(&runs);
	index_sort_end(sort);
}

/* The entry point of a worker. */
void
gpusort_build_worker(dsm_segment *segment, shm_toc *contents)
{
	BuildShared *shared = shm_toc_lookup(contents, KEY_SHARED, false);
	BufferUsage *buffers = shm_toc_lookup(contents, KEY_BUFFERS, false);
	WalUsage   *wal = shm_toc_lookup(contents, KEY_WAL, false);
	BuildWorker worker = {
		.shared = shared,
		.rows = shm_toc_lookup(contents, KEY_ROWS, false),
		.definition.unique = shared->unique,
		.definition.nulls_not_distinct = shared->nulls_not_distinct,
		.scan = shm_toc_lookup(contents, KEY_SCAN, false)
	};
	LeafDefinition *definition = &worker.definition;

	/* the locks that the leader holds */
	LOCKMODE	heap_lock = shared->concurrent ?
		ShareUpdateExclusiveLock : ShareLock;
	LOCKMODE	index_lock = shared->concurrent ?
		RowExclusiveLock : AccessExclusiveLock;

	debug_query_string = shm_toc_lookup(contents, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	InstrStartParallelQuery();

	definition->heap = table_open(shared->heap, heap_lock);
	definition->index = index_open(shared->index, index_lock);
	worker.info = BuildIndexInfo(definition->index);
	worker.info->ii_Concurrent = shared->concurrent;
	if (shared->separately)
		work_separately(&worker, segment);
	else
		work_together(&worker);

	InstrEndParallelQuery(&buffers[ParallelWorkerNumber],
						  &wal[ParallelWorkerNumber]);
	index_close(definition->index, index_lock);
	table_close(definition->heap, heap_lock);
}

/*
 * ---- the leader
 */

/* Makes the segment of the parallel context; false without memory. */
static bool
make_shared_memory(ParallelBuild *build)
{
	ParallelContext *context = build->context;
	Size		scan_bytes = table_parallelscan_estimate(build->heap,
														 build->snapshot);
	Size		rows_bytes = shared_rows_size(context->nworkers + 1);
	Size		query_bytes = debug_query_string != NULL ?
		strlen(debug_query_string) + 1 : 0;
	Size		buffers_bytes = mul_size(sizeof(BufferUsage),
										 context->nworkers);
	Size		wal_bytes = mul_size(sizeof(WalUsage), context->nworkers);

	shm_toc_estimate_chunk(&context->estimator, sizeof(BuildShared));
	shm_toc_estimate_chunk(&context->estimator, scan_bytes);
	shm_toc_estimate_chunk(&context->estimator, rows_bytes);
	shm_toc_estimate_chunk(&context->estimator, buffers_bytes);
	shm_toc_estimate_chunk(&context->estimator, wal_bytes);
	shm_toc_estimate_chunk(&context->estimator, query_bytes);
	shm_toc_estimate_keys(&context->estimator, 6);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
		return false;

	build->shared = shm_toc_allocate(context->toc, sizeof(BuildShared));
	build->scan = shm_toc_allocate(context->toc, scan_bytes);
	build->rows = shm_toc_allocate(context->toc, rows_bytes);
	build->buffers = shm_toc_allocate(context->toc, buffers_bytes);
	build->wal = shm_toc_allocate(context->toc, wal_bytes);
	table_parallelscan_initialize(build->heap, build->scan,
								  build->snapshot);
	shm_toc_insert(context->toc, KEY_SHARED, build->shared);
	shm_toc_insert(context->toc, KEY_SCAN, build->scan);
	shm_toc_insert(context->toc, KEY_ROWS, build->rows);
	shm_toc_insert(context->toc, KEY_BUFFERS, build->buffers);
	shm_toc_insert(context->toc, KEY_WAL, build->wal);
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
	 * false for a unique index whose rows need no check, as in VACUUM FULL
	 */
	shared->unique = info->ii_Unique;
	shared->nulls_not_distinct = info->ii_NullsNotDistinct;
	shared->limit = limit;
	shared->separately = separately;
	shared->host_only = host_only;
	shared->expected_rows = expected_rows;
	SpinLockInit(&shared->mutex);
	shared_runs_init(&shared->runs, build->context->seg, limit);
	shared_parts_init(&shared->parts);
	parallel_write_init(&shared->write);
	shared_rows_init(build->rows, build->context->nworkers + 1,
					 separately ? 0 : limit);
}

/* Leaves parallel mode, with or without shared memory and workers. */
static void
end_context(ParallelBuild *build)
{
	if (IsMVCCSnapshot(build->snapshot))
		UnregisterSnapshot(build->snapshot);
	DestroyParallelContext(build->context);
	ExitParallelMode();
}

/* Begins to collect the rows of all participants. */
static void
begin_collecting(ParallelBuild *build)
{
	build->segments = row_segments_begin(build->rows);
	build->collector = row_collector_begin(build->rows, build->segments);
}

ParallelBuild *
parallel_build_begin(Relation heap, Relation index, IndexInfo *info,
					 Size limit, bool separately, bool host_only,
					 double expected_rows)
{
	ParallelBuild *build = palloc0(sizeof(ParallelBuild));

	build->heap = heap;
	build->index = index;
	EnterParallelMode();
	build->context = CreateParallelContext("gpusort",
										   "gpusort_build_worker",
										   info->ii_ParallelWorkers);
	/* a concurrent build takes the rows of a snapshot, others take all */
	build->snapshot = info->ii_Concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	if (make_shared_memory(build))
	{
		init_shared(build, info, limit, separately, host_only,
					expected_rows);
		begin_collecting(build);
		LaunchParallelWorkers(build->context);
		if (build->context->nworkers_launched > 0)
			return build;
		WaitForParallelWorkersToFinish(build->context);
	}
	end_context(build);
	pfree(build);
	return NULL;
}

/*
 * Adds the counts of the workers, which have finished; false if the sort is
 * given up.
 */
static bool
take_counts(ParallelBuild *build, IndexInfo *info, double *heap_tuples)
{
	*heap_tuples += build->shared->heap_tuples;
	info->ii_BrokenHotChain |= build->shared->broken_hot_chain;
	return !is_given_up(build->rows);
}

bool
parallel_build_collect(ParallelBuild *build, IndexInfo *info,
					   IndexSort *sort, double *heap_tuples)
{
	IndexRows  *rows = sort->rows;
	RowOrder   *order = sort->external.order;
	Participant leader = {
		.shared = build->rows,
		.unique = build->shared->unique,
		.rows = rows,
		.deposit = row_deposit_begin(build->rows, build->segments,
									 build->context->nworkers,
									 rows->descriptor, rows->columns,
									 rows->ncolumns, NULL),
		.collector = build->collector,
		.sort = &sort->external
	};

	row_order_set_layout(order, row_collector_layout(build->collector));
	*heap_tuples = heap_scan_for_build(build->heap, build->index, info,
									   build->scan, true, collect_row,
									   &leader);
	row_deposit_finish(leader.deposit, 0);
	do
		take_batches(&leader);
	while (row_collector_wait(build->collector));
	row_deposit_end(leader.deposit);
	row_order_set_layout(order, NULL);
	return take_counts(build, info, heap_tuples);
}

bool
parallel_build_collect_separately(ParallelBuild *build, IndexInfo *info,
								  IndexSort *sort, double *heap_tuples)
{
	SharedRuns *runs = &build->shared->runs;

	write_runs_to(sort, &build->runs, runs);
	*heap_tuples = heap_scan_for_build(build->heap, build->index, info,
									   build->scan, true, index_sort_put,
									   sort);
	(void) row_collector_wait(build->collector);
	shared_runs_report(runs, &sort->external);
	return take_counts(build, info, heap_tuples);
}

bool
parallel_build_merge(ParallelBuild *build, IndexSort *sort)
{
	BuildShared *shared = build->shared;
	ExternalSort *external = &sort->external;
	MergedRuns *merge = &build->merge;

	if (shared_runs_count(&shared->runs) == 0)
		return index_sort_perform(sort);
	if (!index_sort_write_last_run(sort))
		return false;
	member_runs_close(&build->runs);
	sort_progress_enter(external->progress, PROGRESS_MERGING_RUNS);
	merged_runs_begin(merge, &shared->runs, &shared->parts,
					  run_order_of_rows(external->order),
					  external->variant->format, external->limit_of_merge);
	/* rows are small: parts in files take as long as the leader alone */
	(void) merged_runs_prepare(merge, WORK_SEND_PARTS,
							   build->context->nworkers_launched + 1);
	merged_runs_announce(merge);
	sort->merged = merged_runs_rows(merge);
	external->memory = merged_runs_disk(merge);
	return true;
}

bool
parallel_build_share(ParallelBuild *build, RowOrder *order, Size limit)
{
	BuildShared *shared = build->shared;
	uint64		nrows = order->store->nrows;
	Size		ring_bytes;

	if (nrows == 0)
		return false;
	ring_bytes = parallel_write_plan(&shared->write, nrows,
									 order->store->memory,
									 build->context->nworkers_launched + 1);
	if (ring_bytes > limit ||
		!shared_order_copy(&shared->order, order, build->collector,
						   limit - ring_bytes))
		return false;
	if (parallel_write_make_ring(&shared->write))
		return true;
	shared_order_drop(&shared->order);
	return false;
}

bool
parallel_build_write(ParallelBuild *build,
					 const LeafDefinition *definition,
					 const IndexRows *index_rows, TreeWriter *writer,
					 SortProgress *progress)
{
	BuildShared *shared = build->shared;

	shared->check_order = definition->check_order;
	leader_decision_make(&shared->parts.decision, WORK_EMIT_PARTS);
	return write_share(shared, build->segments, definition, index_rows,
					   writer, progress);
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
	/* unless something else has been decided */
	leader_decision_make(&build->shared->parts.decision, WORK_NONE);
	merged_runs_end(&build->merge);
	member_runs_close(&build->runs);
	WaitForParallelWorkersToFinish(build->context);
	for (int i = 0; i < build->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&build->buffers[i], &build->wal[i]);
	row_segments_end(build->segments);
	end_context(build);
}
