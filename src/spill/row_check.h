/*-------------------------------------------------------------------------
 *
 * row_check.h
 *	  A check that rows come in their order, for gpusort.verify.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_CHECK_H
#define GPUSORT_ROW_CHECK_H

#include "spill/run_order.h"
#include "spill/run_tape.h"

/*
 * A check.  It has a copy of the row before, which is gone when the next one
 * comes.
 */
typedef struct RowCheck
{
	RunOrder	order;			/* compares rows */
	const RunFormat *format;
	MemoryContext context;
	void	   *previous;		/* copy of the row before; NULL: none so far */
} RowCheck;

/* Begins without a row, in the current memory context. */
extern void row_check_begin(RowCheck *check, RunOrder order,
							const RunFormat *format);

/* Raises an error if this row sorts before the row of the last call. */
extern void row_check(RowCheck *check, const void *row);

#endif							/* GPUSORT_ROW_CHECK_H */
