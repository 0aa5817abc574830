/*-------------------------------------------------------------------------
 *
 * node_limit.h
 *	  The limit of the rows of each group, in a plan node that sorts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_LIMIT_H
#define GPUSORT_NODE_LIMIT_H

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

#include "sort/group_limit.h"

struct ExplainState;

/* The limit as a plan says it. */
typedef struct PlannedGroupLimit
{
	GroupLimitUnit unit;
	int			ngroup_columns; /* number of the first sort columns, which
								 * make a group */
	List	   *equal;			/* equality operators of the first sort
								 * columns, which make peers */
	Expr	   *count;			/* units that are wanted, an integer */
	int			more;			/* units that are wanted beyond the count: -1,
								 * 0 or 1 */
} PlannedGroupLimit;

/* The limit of a node. */
typedef struct NodeLimit
{
	GroupLimit	limit;			/* limit for the sort; a limit without group
								 * columns is none */
	const CustomScanState *node;	/* node that has the limit */
	Expr	   *expression;		/* units that are wanted */
	ExprState  *count;			/* the expression, ready to be evaluated */
	int			more;			/* units that are wanted beyond the count: -1,
								 * 0 or 1 */
} NodeLimit;

/* Sets the limit that a plan says; there may be none. */
extern void node_limit_set(NodeLimit *limit, const PlannedGroupLimit *planned);

/* Prepares the count, when the node is begun. */
extern void node_limit_begin(NodeLimit *limit, CustomScanState *node);

static inline bool
node_has_limit(const NodeLimit *limit)
{
	return limit->limit.ngroup_columns > 0;
}

/* Returns the value of an integer of any of the three types. */
extern int64 node_limit_integer(Datum value, Oid type);

/*
 * Returns the limit for a sort that is about to begin; NULL if there is none.
 */
extern GroupLimit *node_limit_of_sort(NodeLimit *limit);

/*
 * Returns whether that sort has as many rows of each group as are wanted now.
 */
extern bool node_limit_suffices(NodeLimit *limit);

/* Shows the limit in EXPLAIN. */
extern void node_limit_explain(const NodeLimit *limit,
							   const CustomScanState *node, List *ancestors,
							   struct ExplainState *es);

#endif							/* GPUSORT_NODE_LIMIT_H */
