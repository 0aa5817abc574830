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

/*
 * Scans the table for an index build that takes all rows that are not dead to
 * everybody, together with others if "parallel" is not NULL.  The callback is
 * called for each row that the index is to have, and "progress" is reported.
 * Returns how many live rows were seen.
 */
extern double heap_scan_for_build(Relation heap, Relation index,
								  IndexInfo *info,
								  ParallelTableScanDesc parallel,
								  bool progress, IndexBuildCallback callback,
								  void *state);

#endif							/* GPUSORT_HEAP_SCAN_H */
