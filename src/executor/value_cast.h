/*-------------------------------------------------------------------------
 *
 * value_cast.h
 *	  The cast of the values that a node sorts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_VALUE_CAST_H
#define GPUSORT_VALUE_CAST_H

#include "nodes/plannodes.h"

#include "executor/parallel_sort.h"

/*
 * In a plan that is being made: the last column of what is below a node may be a
 * cast that the node can do.  Then it becomes what is cast, and this returns the
 * function; otherwise InvalidOid.
 */
extern Oid	value_cast_take(Plan *child);

/* The same cast of another expression, for EXPLAIN. */
extern Expr *value_cast_of(Oid function, Expr *value);

/* Has the sort cast the last column of its rows, after it has begun. */
extern void value_cast_begin(ParallelSort *sort, EState *estate);

#endif							/* GPUSORT_VALUE_CAST_H */
