/*-------------------------------------------------------------------------
 *
 * unique_check.h
 *	  Checking the rows of an index as they are taken in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_UNIQUE_CHECK_H
#define GPUSORT_UNIQUE_CHECK_H

#include "utils/rel.h"

#include "index/index_rows.h"
#include "index/tuple_source.h"

typedef struct UniqueCheck UniqueCheck;

/*
 * Whether rows are in order is checked if that is "unproved".  Allocates in the
 * current memory context.
 */
extern UniqueCheck *unique_check_begin(Relation heap, Relation index,
									   const IndexRows *rows, bool unique,
									   bool nulls_not_distinct, bool unproved);

/*
 * Does each of these rows, which are those from the position on, come after the
 * one ahead of it?  Ahead of the first one is "previous", if not NULL.  If that
 * is not checked, but gpusort.verify is on, raises an error if not.
 */
extern bool unique_check_rows(UniqueCheck *check, const IndexRow *previous,
							  uint64 position, const IndexRow *const *found,
							  uint32 nrows);

/*
 * After that: the first of these rows that has the key of a row ahead of it, if
 * the index is unique; NULL if there is none.
 */
extern const IndexRow *unique_check_duplicate(UniqueCheck *check,
											  const TupleSource *rows,
											  uint64 position,
											  const IndexRow *const *found,
											  uint32 nrows);

/* Raises core's error for such a row. */
extern void unique_check_report_duplicate(const UniqueCheck *check,
										  const IndexRow *row);

#endif							/* GPUSORT_UNIQUE_CHECK_H */
