/*-------------------------------------------------------------------------
 *
 * inverted_workers.h
 *	  Building an inverted index with parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INVERTED_WORKERS_H
#define GPUSORT_INVERTED_WORKERS_H

#include "inverted/terms.h"
#include "sort_progress.h"
#include "spill/row_reader.h"
#include "team/build_processes.h"

typedef struct InvertedWorkers InvertedWorkers;

/*
 * Enters parallel mode and starts the workers that core has planned for the
 * build; NULL if none can be started.  "limit" is bytes of all processes
 * together.  About expected_rows rows of the table are expected.  Allocates in
 * the current memory context, as all functions below do.
 */
extern InvertedWorkers *inverted_workers_begin(Relation heap, Relation index,
											   const IndexInfo *info,
											   Size limit,
											   double expected_rows);

/*
 * Scans the table together with the workers, and waits for their runs.  Sets
 * *heap_tuples to the number of live rows.
 */
extern void inverted_workers_collect(InvertedWorkers *workers,
									 IndexInfo *info, Terms *terms,
									 SortProgress *progress,
									 double *heap_tuples);

/*
 * Begins to merge the runs of all processes, in this process with "limit"
 * bytes of memory, and to write leaves, in this process with "writer".  Comes
 * after entry_tree_begin().  Returns what reads LeafRows; NULL if there are
 * none.
 */
extern RowReader *inverted_workers_merge(InvertedWorkers *workers,
										 GinWriter *writer, Size limit);

/* Returns the bytes of all files, and the number of workers. */
extern Size inverted_workers_disk(const InvertedWorkers *workers);
extern int	inverted_workers_count(const InvertedWorkers *workers);

/* Ends the workers, and leaves parallel mode. */
extern void inverted_workers_end(InvertedWorkers *workers);

/* The workers' entry point. */
extern PGDLLEXPORT void gpusort_inverted_worker(dsm_segment *segment,
												shm_toc *contents);

#endif							/* GPUSORT_INVERTED_WORKERS_H */
