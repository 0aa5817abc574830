/*-------------------------------------------------------------------------
 *
 * build_processes.c
 *	  The processes of a parallel index build.
 *
 * The leader and its workers share one scan of the table.  What they do with
 * its rows depends on the kind of the index (parallel_build.c,
 * inverted_workers.c).  Shared memory is freed when the transaction ends in
 * any way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"

#include "port/compat.h"
#include "team/build_processes.h"

#define KEY_TEAM		UINT64CONST(0x6770757300000001)
#define KEY_SHARED		UINT64CONST(0x6770757300000002)
#define KEY_SCAN		UINT64CONST(0x6770757300000003)
#define KEY_ROWS		UINT64CONST(0x6770757300000004)
#define KEY_QUERY		UINT64CONST(0x6770757300000005)
#define KEY_BUFFERS		UINT64CONST(0x6770757300000006)
#define KEY_WAL			UINT64CONST(0x6770757300000007)

/* Allots a part of the context's segment, under a key. */
static void *
allot(ParallelContext *context, uint64 key, Size bytes)
{
	void	   *part = shm_toc_allocate(context->toc, bytes);

	shm_toc_insert(context->toc, key, part);
	return part;
}

/* Makes the segment of the parallel context; false without memory. */
static bool
make_shared_memory(BuildProcesses *processes, Relation heap, Size shared_bytes)
{
	ParallelContext *context = processes->context;
	shm_toc_estimator *estimator = &context->estimator;
	Size		scan_bytes = table_parallelscan_estimate(heap,
														 processes->snapshot);
	Size		rows_bytes = shared_rows_size(context->nworkers + 1);
	Size		query_bytes = debug_query_string != NULL ?
		strlen(debug_query_string) + 1 : 0;
	Size		buffers_bytes = mul_size(sizeof(BufferUsage),
										 context->nworkers);
	Size		wal_bytes = mul_size(sizeof(WalUsage), context->nworkers);

	shm_toc_estimate_chunk(estimator, sizeof(BuildTeam));
	shm_toc_estimate_chunk(estimator, shared_bytes);
	shm_toc_estimate_chunk(estimator, scan_bytes);
	shm_toc_estimate_chunk(estimator, rows_bytes);
	shm_toc_estimate_chunk(estimator, buffers_bytes);
	shm_toc_estimate_chunk(estimator, wal_bytes);
	shm_toc_estimate_chunk(estimator, query_bytes);
	shm_toc_estimate_keys(estimator, 7);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
		return false;

	processes->team = allot(context, KEY_TEAM, sizeof(BuildTeam));
	processes->shared = allot(context, KEY_SHARED, shared_bytes);
	processes->scan = allot(context, KEY_SCAN, scan_bytes);
	processes->rows = allot(context, KEY_ROWS, rows_bytes);
	processes->buffers = allot(context, KEY_BUFFERS, buffers_bytes);
	processes->wal = allot(context, KEY_WAL, wal_bytes);
	table_parallelscan_initialize(heap, processes->scan, processes->snapshot);
	memset(processes->shared, 0, shared_bytes);
	if (query_bytes > 0)
		memcpy(allot(context, KEY_QUERY, query_bytes), debug_query_string,
			   query_bytes);
	return true;
}

static void
init_team(BuildProcesses *processes, Relation heap, Relation index,
		  const IndexInfo *info, Size limit, Size limit_of_rows)
{
	BuildTeam  *team = processes->team;

	memset(team, 0, sizeof(BuildTeam));
	team->heap = RelationGetRelid(heap);
	team->index = RelationGetRelid(index);
	team->concurrent = info->ii_Concurrent;
	SpinLockInit(&team->mutex);
	shared_runs_init(&team->runs, processes->context->seg, limit);
	shared_parts_init(&team->parts);
	shared_rows_init(processes->rows, processes->context->nworkers + 1,
					 limit_of_rows);
}

/* Leaves parallel mode, with or without shared memory and workers. */
static void
end_context(BuildProcesses *processes)
{
	if (IsMVCCSnapshot(processes->snapshot))
		UnregisterSnapshot(processes->snapshot);
	DestroyParallelContext(processes->context);
	ExitParallelMode();
	pfree(processes);
}

BuildProcesses *
build_processes_begin(Relation heap, Relation index, const IndexInfo *info,
					  const char *entry, Size shared_bytes, Size limit,
					  Size limit_of_rows)
{
	BuildProcesses *processes = palloc0(sizeof(BuildProcesses));

	EnterParallelMode();
	processes->context = CreateParallelContext("gpusort", entry,
											   info->ii_ParallelWorkers);
	/* a concurrent build takes the rows of a snapshot, others take all */
	processes->snapshot = info->ii_Concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	if (!make_shared_memory(processes, heap, shared_bytes))
	{
		end_context(processes);
		return NULL;
	}
	init_team(processes, heap, index, info, limit, limit_of_rows);
	return processes;
}

bool
build_processes_launch(BuildProcesses *processes)
{
	LaunchParallelWorkers(processes->context);
	return processes->context->nworkers_launched > 0;
}

void
build_processes_take_counts(const BuildProcesses *processes, IndexInfo *info,
							double *heap_tuples)
{
	*heap_tuples += processes->team->heap_tuples;
	info->ii_BrokenHotChain |= processes->team->broken_hot_chain;
}

void
build_processes_end(BuildProcesses *processes)
{
	ParallelContext *context = processes->context;

	WaitForParallelWorkersToFinish(context);
	for (int i = 0; i < context->nworkers_launched; i++)
		InstrAccumParallelQuery(&processes->buffers[i], &processes->wal[i]);
	end_context(processes);
}

/* Returns the locks that the leader holds on the table and on the index. */
static inline LOCKMODE
heap_lock(const BuildTeam *team)
{
	return team->concurrent ? ShareUpdateExclusiveLock : ShareLock;
}

static inline LOCKMODE
index_lock(const BuildTeam *team)
{
	return team->concurrent ? RowExclusiveLock : AccessExclusiveLock;
}

void
build_worker_begin(BuildWorker *worker, dsm_segment *segment,
				   shm_toc *contents)
{
	BuildTeam  *team = shm_toc_lookup(contents, KEY_TEAM, false);

	debug_query_string = shm_toc_lookup(contents, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	InstrStartParallelQuery();

	worker->team = team;
	worker->shared = shm_toc_lookup(contents, KEY_SHARED, false);
	worker->rows = shm_toc_lookup(contents, KEY_ROWS, false);
	worker->scan = shm_toc_lookup(contents, KEY_SCAN, false);
	worker->buffers = shm_toc_lookup(contents, KEY_BUFFERS, false);
	worker->wal = shm_toc_lookup(contents, KEY_WAL, false);
	worker->heap = table_open(team->heap, heap_lock(team));
	worker->index = index_open(team->index, index_lock(team));
	worker->info = BuildIndexInfo(worker->index);
	worker->info->ii_Concurrent = team->concurrent;
	worker->segment = segment;
}

bool
build_worker_join(BuildWorker *worker)
{
	if (!shared_rows_join(worker->rows))
		return false;
	SharedFileSetAttach(&worker->team->runs.files, worker->segment);
	return true;
}

void
build_worker_end(BuildWorker *worker)
{
	InstrEndParallelQuery(&worker->buffers[ParallelWorkerNumber],
						  &worker->wal[ParallelWorkerNumber]);
	index_close(worker->index, index_lock(worker->team));
	table_close(worker->heap, heap_lock(worker->team));
}

void
build_worker_note_counts(const BuildWorker *worker, double heap_tuples)
{
	BuildTeam  *team = worker->team;

	SpinLockAcquire(&team->mutex);
	team->heap_tuples += heap_tuples;
	team->broken_hot_chain |= worker->info->ii_BrokenHotChain;
	SpinLockRelease(&team->mutex);
}
