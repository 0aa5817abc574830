/*-------------------------------------------------------------------------
 *
 * repeated_work.h
 *	  Work that each process of a parallel plan does for itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_REPEATED_WORK_H
#define GPUSORT_REPEATED_WORK_H

#include "nodes/pathnodes.h"

/*
 * The cost to charge for the work that the members of a partial path
 * repeat, beyond what the whole path in its place repeats.
 */
extern Cost repeated_work_cost(const Path *partial, double members,
							   const Path *whole);

#endif							/* GPUSORT_REPEATED_WORK_H */
