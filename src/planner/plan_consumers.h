/*-------------------------------------------------------------------------
 *
 * plan_consumers.h
 *	  Replacing what takes sorted rows by one node with the sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PLAN_CONSUMERS_H
#define GPUSORT_PLAN_CONSUMERS_H

#include "nodes/plannodes.h"

/* Registers the nodes for parallel workers. */
extern void plan_consumers_init(void);

/*
 * Replaces WindowAggs, Aggs, Uniques and Groups in a finished plan, when all of its Sorts have
 * been replaced.
 */
extern void plan_consumers_rewrite(PlannedStmt *statement);

#endif							/* GPUSORT_PLAN_CONSUMERS_H */
