/*-------------------------------------------------------------------------
 *
 * order_sums.h
 *	  Whether an order has every row once, by sums of its row numbers.
 *
 * Row numbers of an order are added up as they come, and so are their squares
 * and cubes, modulo 2^64.  For all rows from 0 on there are formulas for these
 * sums.  If the three sums are right, the order is believed to have every row
 * once.
 *
 * Two multisets of numbers whose first powers up to the k-th add up to the
 * same are equal, or differ in more than k numbers (Newton's identities).  So
 * an order is never believed if one or two of its rows have taken the places of
 * others.  Three could deceive the sums only if their cubes differ by a multiple
 * of 2^64.  More wrong rows would have to cancel out in all three sums.  Faults
 * know nothing of these: a part that comes twice, old contents of the ring, or
 * bits that have changed cancel out less than once in 2^64 times.  A bitmap of
 * the rows seen would leave no chance at all, but each row would read and
 * write memory at a random place.  That took twice as long as to copy and to
 * check the order, while all workers of the statement wait.  B-trees need no
 * such trust (unique_check.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ORDER_SUMS_H
#define GPUSORT_ORDER_SUMS_H

/* Modulo 2^64.  All zero: no row has come yet. */
typedef struct OrderSums
{
	uint64		rows;
	uint64		squares;
	uint64		cubes;
} OrderSums;

static inline void
order_sums_add(OrderSums *sums, uint32 row)
{
	uint64		square = (uint64) row * row;

	sums->rows += row;
	sums->squares += square;
	sums->cubes += square * row;
}

/* Are these the sums of the rows 0 to nrows - 1, for at most 2^32 rows? */
static inline bool
order_sums_are_of_all(const OrderSums *sums, uint64 nrows)
{
	uint64		last = nrows - 1;
	uint64		rows = nrows % 2 == 0 ? nrows / 2 * last : last / 2 * nrows;
	uint64		odd = 2 * nrows - 1;

	/* rows * odd can be divided by 3, so one of the two can */
	return sums->rows == rows &&
		sums->squares == (rows % 3 == 0 ? rows / 3 * odd : odd / 3 * rows) &&
		sums->cubes == rows * rows;
}

#endif							/* GPUSORT_ORDER_SUMS_H */
