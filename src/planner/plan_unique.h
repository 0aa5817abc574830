/*-------------------------------------------------------------------------
 *
 * plan_unique.h
 *	  Replacing a Unique or Group above a sort by a GpuSortUnique.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PLAN_UNIQUE_H
#define GPUSORT_PLAN_UNIQUE_H

#include "nodes/plannodes.h"

/*
 * Returns what takes the place of a Unique or Group in a finished plan, or the
 * node itself.
 */
extern Plan *plan_unique_replace(Plan *plan);

#endif							/* GPUSORT_PLAN_UNIQUE_H */
