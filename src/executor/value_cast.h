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
 * Takes a cast out of the plan below a node, if the last column of that plan
 * is a cast that the node can do.  The column becomes the expression that was
 * cast.  Returns the function of the cast; InvalidOid if there is none.
 */
extern Oid	value_cast_take(Plan *child);

/* Returns the same cast of another expression, for EXPLAIN. */
extern Expr *value_cast_of(Oid function, Expr *value);

/* Makes a sort that has begun cast the last column of its rows. */
extern void value_cast_begin(ParallelSort *sort, EState *estate);

#endif							/* GPUSORT_VALUE_CAST_H */
