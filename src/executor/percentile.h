/*-------------------------------------------------------------------------
 *
 * percentile.h
 *	  Percentiles of sorted values: percentile_cont() and percentile_disc().
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PERCENTILE_H
#define GPUSORT_PERCENTILE_H

#include "postgres.h"

#include "utils/array.h"

/* How a percentile is computed from the values between which it lies. */
typedef enum PercentileKind
{
	PERCENTILE_DISCRETE,		/* one of the values */
	PERCENTILE_OF_NUMBERS,		/* interpolated between values of type float8 */
	PERCENTILE_OF_INTERVALS		/* interpolated between values of type
								 * interval */
} PercentileKind;

/* A value of the sorted values, by its position, counted from 0. */
typedef struct WantedValue
{
	uint64		position;
	Datum		value;			/* set by the user */
} WantedValue;

/* A percentile.  It is NULL without a fraction, or without values. */
typedef struct Percentile
{
	bool		isnull;
	double		fraction;
	WantedValue first;
	WantedValue second;			/* the first value again, or the next one */
	double		part;			/* part of the way from the first to the
								 * second */
} Percentile;

/*
 * Sets the positions of the values that a percentile of nvalues values needs.
 * Raises an error if its fraction is not between 0 and 1.
 */
extern void percentile_find(Percentile *percentile, PercentileKind kind,
							uint64 nvalues);

/*
 * Returns the result of a percentile, when its values are set, in the current
 * memory context.
 */
extern Datum percentile_value(const Percentile *percentile,
							  PercentileKind kind);

/*
 * percentiles_of_array() makes a percentile for each fraction of an array.
 * percentiles_to_array() makes an array of the results, of this type and of
 * the same dimensions.
 */
extern Percentile *percentiles_of_array(ArrayType *fractions, int *count);
extern ArrayType *percentiles_to_array(const Percentile *percentiles,
									   int count, PercentileKind kind,
									   ArrayType *fractions, Oid type);

#endif							/* GPUSORT_PERCENTILE_H */
