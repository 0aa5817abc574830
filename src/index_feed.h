/*-------------------------------------------------------------------------
 *
 * index_feed.h
 *	  Feeding a B-tree build with rows in the order of the index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_FEED_H
#define GPUSORT_INDEX_FEED_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "sort_keys.h"

/*
 * The columns that order an index: its key columns and, last, the place of
 * the row in the table, for which the attribute after the index's own stands.
 * A palloc'd array; sort operators that do not exist are InvalidOid.
 */
extern SortColumn *index_feed_columns(Relation index, int *ncolumns);

/* The type of a key column, as its operator class knows it. */
extern Oid	index_feed_column_type(Relation index, int column);

/*
 * The least memory that so many rows need, with what core's sort needs beside
 * us; in bytes.
 */
extern double index_feed_least_memory(double rows);

/*
 * Builds the index as btbuild() does, in one process.  The rows go to core's
 * sort in order, unless they turn out to exceed the memory setting.
 */
extern struct IndexBuildResult *index_feed_build(Relation heap, Relation index,
												 IndexInfo *info,
												 double expected_rows);

#endif							/* GPUSORT_INDEX_FEED_H */
