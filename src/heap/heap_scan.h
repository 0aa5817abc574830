/*-------------------------------------------------------------------------
 *
 * heap_scan.h
 *	  Scanning a heap for an index build.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_HEAP_SCAN_H
#define GPUSORT_HEAP_SCAN_H

#include "access/tableam.h"
#include "nodes/execnodes.h"

/*
 * Scans the table for an index build.  Calls back with "state" for each row
 * that is not dead to everybody, and belongs into the index.  With "parallel"
 * the scan is shared with other processes; with "progress" its progress is
 * reported.  Rows come in the order of their places, but the scan may begin in
 * the middle of the table, and core gives the row of a HOT chain the place of
 * the chain's first row.  Returns the number of live rows that this process
 * has seen.
 */
extern double heap_scan_for_build(Relation heap, Relation index,
								  IndexInfo *info,
								  ParallelTableScanDesc parallel,
								  bool progress, IndexBuildCallback callback,
								  void *state);

#endif							/* GPUSORT_HEAP_SCAN_H */
