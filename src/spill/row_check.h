/*-------------------------------------------------------------------------
 *
 * row_check.h
 *	  Whether rows come in their order, for gpusort.verify.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_CHECK_H
#define GPUSORT_ROW_CHECK_H

#include "sort/row_order.h"
#include "spill/run_tape.h"

/* Has a copy of the row before, since that is gone when the next one comes. */
typedef struct RowCheck
{
	RowOrder   *order;			/* compares rows */
	const RunFormat *format;
	MemoryContext context;
	void	   *previous;		/* NULL: none so far */
} RowCheck;

/* Begins with no row, in the current memory context. */
extern void row_check_begin(RowCheck *check, RowOrder *order,
							const RunFormat *format);

/* Raises an error if the row sorts before the one of the last call. */
extern void row_check(RowCheck *check, const void *row);

#endif							/* GPUSORT_ROW_CHECK_H */
