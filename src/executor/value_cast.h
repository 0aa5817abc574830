/*-------------------------------------------------------------------------
 *
 * value_cast.h
 *	  The cast of the values that a node sorts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_VALUE_CAST_H
#define GPUSORT_VALUE_CAST_H

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

/*
 * Takes a cast out of the plan below a node, if this column of that plan is a
 * cast that the node can do.  The column becomes the expression that was cast.
 * Returns the function of the cast; InvalidOid if there is none.
 */
extern Oid	value_cast_take(Plan *child, AttrNumber column);

/* Returns the same cast of another expression, for EXPLAIN. */
extern Expr *value_cast_of(Oid function, Expr *value);

/*
 * Casts a value that is not NULL.  Resets the memory of each tuple of the
 * context.
 */
extern Datum value_cast_do(Datum value, ExprContext *context);

#endif							/* GPUSORT_VALUE_CAST_H */
