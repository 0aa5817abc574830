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
 * If this node looks only at the first rows of each group, makes the GpuSorts
 * below it leave out the other rows.
 */
extern void limit_groups_below(const Plan *plan);

/*
 * Can only the leader evaluate this expression of a limit or a run
 * condition?  That is so if it has parameters of other plans.
 */
extern bool needs_leader(Node *expression);

/*
 * The number of rows, or ranks, of each partition that a window's run
 * condition lets through; 0 if it is not a constant.
 */
extern double limit_of_condition(const OpExpr *condition);

#endif							/* GPUSORT_GROUP_LIMITS_H */
