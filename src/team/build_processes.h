/*-------------------------------------------------------------------------
 *
 * build_processes.h
 *	  The processes of a parallel index build.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BUILD_PROCESSES_H
#define GPUSORT_BUILD_PROCESSES_H

#include "access/parallel.h"
#include "access/tableam.h"
#include "executor/instrument.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "team/parts.h"
#include "team/shared_rows.h"
#include "team/shared_runs.h"

/* The least bytes of memory of a process that sorts separately. */
#define LEAST_SORT_BYTES	((Size) 64 * 1024)

/* What the processes of every kind of build share, beside the SharedRows. */
typedef struct BuildTeam
{
	Oid			heap;
	Oid			index;
	bool		concurrent;

	slock_t		mutex;			/* protects the next two */
	double		heap_tuples;	/* rows that the workers' scans have seen */
	bool		broken_hot_chain;	/* some scan has seen a broken chain */

	SharedRuns	runs;			/* runs of processes that sort separately */
	SharedParts parts;			/* parts of their merge, and what the workers
								 * do after the last row */
} BuildTeam;

/* The processes, in the leader. */
typedef struct BuildProcesses
{
	ParallelContext *context;
	Snapshot	snapshot;
	BuildTeam  *team;
	void	   *shared;			/* what the processes of this kind of build
								 * share */
	SharedRows *rows;
	ParallelTableScanDesc scan;
	BufferUsage *buffers;		/* usage of each worker */
	WalUsage   *wal;
} BuildProcesses;

/* What a worker has of the build. */
typedef struct BuildWorker
{
	dsm_segment *segment;
	BuildTeam  *team;
	void	   *shared;
	SharedRows *rows;
	ParallelTableScanDesc scan;
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	BufferUsage *buffers;
	WalUsage   *wal;
} BuildWorker;

/*
 * Enters parallel mode, and makes the shared memory of a build with the
 * workers that core has planned; NULL if there is no memory.  "entry" is the
 * function that workers call.  "shared" gets shared_bytes bytes, all zero.
 * Separate sorts have "limit" bytes of memory each, and rows in shared memory
 * limit_of_rows in all.  Allocates in the current memory context.
 */
extern BuildProcesses *build_processes_begin(Relation heap, Relation index,
											 const IndexInfo *info,
											 const char *entry,
											 Size shared_bytes, Size limit,
											 Size limit_of_rows);

/*
 * Starts the workers.  Returns false if none can be started; then the
 * processes have to be ended.
 */
extern bool build_processes_launch(BuildProcesses *processes);

/* Returns the number of workers that were started. */
static inline int
build_processes_workers(const BuildProcesses *processes)
{
	return processes->context->nworkers_launched;
}

/* Adds the workers' counts of the scan, when all have finished. */
extern void build_processes_take_counts(const BuildProcesses *processes,
										IndexInfo *info, double *heap_tuples);

/*
 * Waits until all workers have ended, frees the shared memory, and leaves
 * parallel mode.
 */
extern void build_processes_end(BuildProcesses *processes);

/*
 * Begin and end the work of a worker.  In between it has the table and the
 * index open.
 */
extern void build_worker_begin(BuildWorker *worker, dsm_segment *segment,
							   shm_toc *contents);
extern void build_worker_end(BuildWorker *worker);

/*
 * Takes part in a build whose processes sort separately, before the worker
 * takes its first row.  Returns false if the others have had all rows.
 */
extern bool build_worker_join(BuildWorker *worker);

/*
 * Adds the counts of a worker's scan, before it says that it has finished.
 */
extern void build_worker_note_counts(const BuildWorker *worker,
									 double heap_tuples);

#endif							/* GPUSORT_BUILD_PROCESSES_H */
