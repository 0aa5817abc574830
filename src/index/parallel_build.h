/*-------------------------------------------------------------------------
 *
 * parallel_build.h
 *	  Building an index with parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PARALLEL_BUILD_H
#define GPUSORT_PARALLEL_BUILD_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "index/index_rows.h"
#include "index/index_sort.h"
#include "index/leaf_maker.h"
#include "sort/row_order.h"
#include "storage/dsm.h"
#include "storage/shm_toc.h"
#include "index/tree_writer.h"

typedef struct ParallelBuild ParallelBuild;

/*
 * Enters parallel mode and starts the workers that core has planned for the
 * build; NULL if not a single one can be had.  All of them may take so many
 * bytes; or if they are to sort separately, each, with so many rows, and with
 * host_only without a device.  Allocates in the current memory context.
 */
extern ParallelBuild *parallel_build_begin(Relation heap, Relation index,
											   IndexInfo *info, Size limit,
											   bool separately,
											   bool host_only,
											   double expected_rows);

/*
 * Scans the table together with the workers.  The sort's store gets the places
 * of all rows, which lie in shared memory, and its order their keys.  False if
 * that exceeds the store's limit.
 */
extern bool parallel_build_rows(ParallelBuild *collect, IndexInfo *info,
								  IndexSort *sort, double *heap_tuples);

/*
 * The same where they sort separately: puts the rows of this process, and
 * returns the runs of the others; NULL if one of them could not sort.
 */
extern SharedRuns *parallel_build_separately(ParallelBuild *collect,
											   IndexInfo *info,
											   IndexSort *sort,
											   double *heap_tuples);

/*
 * Readies the rows, which are in the order's store, for all to make leaves of
 * them.  False if there is no room within the limit for what that takes.
 */
extern bool parallel_build_share(ParallelBuild *collect,
								   const RowOrder *order, Size limit);

/*
 * After that: makes the leaves of the index together with the workers, and
 * writes them.  False if the rows turn out not to be in order.
 */
extern bool parallel_build_write(ParallelBuild *collect,
								   const LeafDefinition *definition,
								   const IndexRows *index_rows,
								   TreeWriter *writer);

/* How many leaves workers have made. */
extern uint64 parallel_build_worker_pages(const ParallelBuild *collect);

extern int	parallel_build_workers(const ParallelBuild *collect);

/* Frees the rows and leaves parallel mode. */
extern void parallel_build_end(ParallelBuild *collect);

/* The workers' entry point. */
extern PGDLLEXPORT void gpusort_collect_worker(dsm_segment *segment,
											   shm_toc *contents);

#endif							/* GPUSORT_PARALLEL_BUILD_H */
