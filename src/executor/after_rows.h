/*-------------------------------------------------------------------------
 *
 * after_rows.h
 *	  What a parallel worker does when it has emitted its last row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_AFTER_ROWS_H
#define GPUSORT_AFTER_ROWS_H

#include "nodes/execnodes.h"

typedef void (*AfterRows) (void *arg);

/*
 * Calls the function later, in a parallel worker: when the worker's plan has
 * emitted all rows, and the leader knows that.  A plan can have one function.
 */
extern void after_rows_do(EState *estate, AfterRows function, void *arg);

/*
 * Calls the function of this plan, if there is one, when the plan is finished.
 */
extern void after_rows_perform(EState *estate);

#endif							/* GPUSORT_AFTER_ROWS_H */
