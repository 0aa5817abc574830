/*-------------------------------------------------------------------------
 *
 * index_load.h
 *	  Building a B-tree in one go: its rows are collected, sorted and written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_LOAD_H
#define GPUSORT_INDEX_LOAD_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "sort_keys.h"

/*
 * The columns that order an index: its key columns and, last, the place of
 * the row in the table, for which the attribute after the index's own stands.
 * A palloc'd array; sort operators that do not exist are InvalidOid.
 */
extern SortColumn *index_load_columns(Relation index, int *ncolumns);

/* The type of a key column, as its operator class knows it. */
extern Oid	index_load_column_type(Relation index, int column);

/* The least memory that so many rows need, in bytes. */
extern double index_load_least_memory(double rows);

/*
 * Builds the index as btbuild() does, in one process.  If its rows turn out to
 * exceed the memory setting, calls that.
 */
extern struct IndexBuildResult *index_load_build(Relation heap, Relation index,
												 IndexInfo *info,
												 double expected_rows);

#endif							/* GPUSORT_INDEX_LOAD_H */
