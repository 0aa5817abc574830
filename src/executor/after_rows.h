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
 * In a parallel worker: calls the function later, when the worker's plan has emitted all
 * rows, and the leader knows that.  One function for a plan.
 */
extern void after_rows_do(EState *estate, AfterRows function, void *arg);

/* Calls that function, if there is one for this plan, which has been finished. */
extern void after_rows_perform(EState *estate);

#endif							/* GPUSORT_AFTER_ROWS_H */
