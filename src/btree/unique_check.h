/*-------------------------------------------------------------------------
 *
 * unique_check.h
 *	  Checking that rows of an index are in order, and unique.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_UNIQUE_CHECK_H
#define GPUSORT_UNIQUE_CHECK_H

#include "utils/rel.h"

#include "btree/index_rows.h"
#include "btree/tuple_source.h"

typedef struct UniqueCheck UniqueCheck;

/*
 * Begins the checks: of uniqueness if "unique", of the order if "check_order".
 * Allocates in the current memory context.
 */
extern UniqueCheck *unique_check_begin(Relation heap, Relation index,
									   const IndexRows *rows, bool unique,
									   bool nulls_not_distinct, bool check_order);

/*
 * Does each of these rows sort after the row before it?  "found" are the rows
 * from the position on, and "previous" is the row before them, or NULL.
 * Always true if the order is not checked; but with gpusort.verify a wrong
 * order then raises an error.
 */
extern bool unique_check_rows(UniqueCheck *check, const IndexRow *previous,
							  uint64 position, const IndexRow *const *found,
							  uint32 nrows);

/*
 * After unique_check_rows(): the first of these rows that is a duplicate of a
 * row before it; NULL if there is none, or if the index is not unique.
 */
extern const IndexRow *unique_check_duplicate(UniqueCheck *check,
											  const TupleSource *rows,
											  uint64 position,
											  const IndexRow *const *found,
											  uint32 nrows);

/* Raises core's error for a duplicate. */
extern void unique_check_report_duplicate(const UniqueCheck *check,
										  const IndexRow *row);

#endif							/* GPUSORT_UNIQUE_CHECK_H */
