/*-------------------------------------------------------------------------
 *
 * group_limits.h
 *	  Nodes of a plan that look only at the first rows of each group.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_LIMITS_H
#define GPUSORT_GROUP_LIMITS_H

#include "nodes/plannodes.h"

/*
 * Lets the GpuSorts that feed this node leave out rows at which it would not
 * look, if it is such a node.
 */
extern void limit_groups_below(const Plan *plan);

/*
 * Has an expression, of a limit or a run condition, something that only the leader
 * can evaluate?  Parameters of other plans are such.
 */
extern bool needs_leader(Node *expression);

/*
 * How many rows of each partition, or ranks, a run condition of a window lets
 * through by a constant; 0 if that is not known.
 */
extern double limit_of_condition(const OpExpr *condition);

#endif							/* GPUSORT_GROUP_LIMITS_H */
