/*-------------------------------------------------------------------------
 *
 * exact_sum.h
 *	  Exact sums and averages of integers and numerics.
 *
 * Core adds a numeric to a sum by some 60 ns of work on arrays of digits, and
 * nearly as much around that.  But nearly all numerics in tables are integers
 * of 128 bits, if they are counted in units of 10 ^ -EXACT_SCALE.  Such sums are
 * exact, as core's are, so the order of the values does not matter, and the
 * results are core's to the last digit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EXACT_SUM_H
#define GPUSORT_EXACT_SUM_H

#include "postgres.h"

/* The greatest display scale of a numeric that is an exact number. */
#define EXACT_SCALE		16

/* The values that are summed up. */
typedef enum ExactValues
{
	EXACT_NONE,					/* none of these */
	EXACT_INT2,
	EXACT_INT4,
	EXACT_INT8,
	EXACT_NUMERIC
} ExactValues;

/* What is made of a sum. */
typedef enum ExactResult
{
	EXACT_BIGINT,				/* the sum, as a bigint */
	EXACT_TOTAL,				/* the sum, as a numeric */
	EXACT_AVERAGE				/* a numeric */
} ExactResult;

/*
 * exact_sum_values() returns what an aggregate of this transition function sums
 * up; EXACT_NONE if it does something else.  exact_sum_finds() sets what its final
 * function, or InvalidOid, makes of the sum; false if that is something else.
 */
extern ExactValues exact_sum_values(Oid transition);
extern bool exact_sum_finds(Oid transition, Oid final, ExactResult *result);

/* Is this how the state of such an aggregate begins if there are no values? */
extern bool exact_sum_begins(Oid transition, Datum initial, bool isnull);

/* A numeric. */
typedef struct ExactNumber
{
	int128		number;			/* in units of 10 ^ -EXACT_SCALE */
	int			scale;			/* display scale */
} ExactNumber;

typedef struct ExactSum
{
	int128		sum;			/* of numerics, in the same units */
	int64		count;			/* values */
	int			scale;			/* greatest display scale of the values */
} ExactSum;

/*
 * Reads a numeric.  Returns false if it is no exact number: too long, NaN, or
 * infinite.
 */
extern bool exact_number_of_numeric(Datum value, ExactNumber *number);

/* Returns an integer. */
static inline int64
exact_integer(ExactValues values, Datum value)
{
	return values == EXACT_INT2 ? DatumGetInt16(value) :
		values == EXACT_INT4 ? DatumGetInt32(value) : DatumGetInt64(value);
}

/* Begins a sum of no values. */
static inline void
exact_sum_begin(ExactSum *sum)
{
	sum->sum = 0;
	sum->count = 0;
	sum->scale = 0;
}

/* Adds an integer.  Of all rows of a server the sum has less than 128 bits. */
static inline void
exact_sum_add_integer(ExactSum *sum, int64 integer)
{
	sum->sum += integer;
	sum->count++;
}

/*
 * Adds this many values, which have this sum and greatest display scale.  Returns
 * false if the sum would become too large; then it stays as it is.
 */
static inline bool
exact_sum_add(ExactSum *sum, int128 number, int64 count, int scale)
{
	int128		total;

	if (unlikely(__builtin_add_overflow(sum->sum, number, &total)))
		return false;
	sum->sum = total;
	sum->count += count;
	sum->scale = Max(sum->scale, scale);
	return true;
}

/* Returns the sum as a numeric, in the current memory context. */
extern Datum exact_sum_numeric(const ExactSum *sum, ExactValues values);

/*
 * Return a result of one value or more, in the current memory context: of a sum,
 * or of the state of core's function for numerics, which has the sum of this many
 * values.
 */
extern Datum exact_sum_result(const ExactSum *sum, ExactValues values,
							  ExactResult result);
extern Datum exact_result_of_state(Datum state, int64 count,
								   ExactResult result);

#endif							/* GPUSORT_EXACT_SUM_H */
