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

#include "btree/index_rows.h"
#include "btree/index_sort.h"
#include "btree/leaf_maker.h"
#include "btree/tree_writer.h"
#include "sort/row_order.h"
#include "storage/dsm.h"
#include "storage/shm_toc.h"

typedef struct ParallelBuild ParallelBuild;

/*
 * Enters parallel mode and starts the workers that core has planned for the
 * build; NULL if none can be started.  "limit" is bytes: of all members
 * together, or with "separately" of the sort of each.  Each member is
 * expected to have expected_rows rows.  With host_only separate sorts use no
 * device.  Allocates in the current memory context.
 */
extern ParallelBuild *parallel_build_begin(Relation heap, Relation index,
										   IndexInfo *info, Size limit,
										   bool separately,
										   bool host_only,
										   double expected_rows);

/*
 * Collect: scans the table together with the workers.  The sort's store gets
 * the addresses of all rows, which lie in shared memory, and its order gets
 * their keys.  Sets *heap_tuples to the number of rows seen.  False if the
 * rows exceed the limit, or the shared memory that there is.
 */
extern bool parallel_build_collect(ParallelBuild *build, IndexInfo *info,
								   IndexSort *sort, double *heap_tuples);

/*
 * The same for members that sort separately.  Puts the leader's rows into
 * the sort.  Returns false if a worker could not sort.
 */
extern bool parallel_build_collect_separately(ParallelBuild *build,
											  IndexInfo *info,
											  IndexSort *sort,
											  double *heap_tuples);

/*
 * After that: takes the place of index_sort_perform(), and begins to merge the runs of
 * all members.
 */
extern bool parallel_build_merge(ParallelBuild *build, IndexSort *sort);

/*
 * After parallel_build_collect(), and before the sort: lets the order come into
 * shared memory, if the limit, in bytes, has room for that, and the workers find
 * the rows meanwhile.
 */
extern void parallel_build_expect_order(ParallelBuild *build, RowOrder *order,
										Size limit);

/*
 * Between sort and write: shares the order, and the places of the rows of its
 * store.  Returns false if the limit has no room for that.
 */
extern bool parallel_build_share(ParallelBuild *build);

/*
 * Write, after parallel_build_share(): makes the leaves of the index together
 * with the workers, and writes the leaves; the progress gets the rows written.
 * False if the rows turn out not to be in order.
 */
extern bool parallel_build_write(ParallelBuild *build,
								 const LeafDefinition *definition,
								 const IndexRows *index_rows,
								 TreeWriter *writer, SortProgress *progress);

/*
 * The number of leaves that workers have made, and of workers that were
 * started.
 */
extern uint64 parallel_build_worker_pages(const ParallelBuild *build);
extern int	parallel_build_workers(const ParallelBuild *build);

/* Ends the workers, frees the rows in shared memory, leaves parallel mode. */
extern void parallel_build_end(ParallelBuild *build);

/* The workers' entry point. */
extern PGDLLEXPORT void gpusort_build_worker(dsm_segment *segment,
											 shm_toc *contents);

#endif							/* GPUSORT_PARALLEL_BUILD_H */
