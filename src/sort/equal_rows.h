/*-------------------------------------------------------------------------
 *
 * equal_rows.h
 *	  The end of equal rows in an order, by galloping and bisection.
 *
 * Steps double until they lead beyond the equal rows.  So if many rows are
 * equal, most of them are never looked at.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EQUAL_ROWS_H
#define GPUSORT_EQUAL_ROWS_H

#include "postgres.h"

/* Is the row at a position equal to the first one? */
typedef bool (*IsEqualFunction) (void *argument, uint64 position);

/*
 * The first position behind "start" whose row is not equal to the row at
 * "start", or "end" if all rows before "end" are equal to it.
 */
static inline uint64
equal_rows_end(uint64 start, uint64 end, IsEqualFunction is_equal,
			   void *argument)
{
	uint64		inside = start;
	uint64		step = 1;

	while (step < end - inside && is_equal(argument, inside + step))
	{
		inside += step;
		step *= 2;
	}
	end = Min(end, inside + step);
	while (end - inside > 1)
	{
		uint64		middle = inside + (end - inside) / 2;

		if (is_equal(argument, middle))
			inside = middle;
		else
			end = middle;
	}
	return end;
}

#endif							/* GPUSORT_EQUAL_ROWS_H */
