/*-------------------------------------------------------------------------
 *
 * percentile.h
 *	  Percentiles of sorted values, as percentile_cont() and percentile_disc().
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PERCENTILE_H
#define GPUSORT_PERCENTILE_H

#include "postgres.h"

#include "utils/array.h"

/* How the values between which a percentile lies make it. */
typedef enum PercentileKind
{
	PERCENTILE_DISCRETE,		/* it is a value */
	PERCENTILE_OF_NUMBERS,		/* it lies between two, of type float8 */
	PERCENTILE_OF_INTERVALS		/* the same of type interval */
} PercentileKind;

/* The value of a position, counted from 0, of the sorted ones. */
typedef struct WantedValue
{
	uint64		position;
	Datum		value;			/* set by the user */
} WantedValue;

/* A percentile; one of no fraction, or of no values, is NULL. */
typedef struct Percentile
{
	bool		isnull;
	double		fraction;
	WantedValue first;
	WantedValue second;			/* the same one, or the next */
	double		part;			/* of the way from the first to the second */
} Percentile;

/*
 * Sets of which of so many values a percentile is made.  An error if its fraction
 * is none.
 */
extern void percentile_find(Percentile *percentile, PercentileKind kind,
							uint64 nvalues);

/* What the values make; by reference in the current memory context. */
extern Datum percentile_value(const Percentile *percentile,
							  PercentileKind kind);

/*
 * The fractions of an array, as percentiles; and the array of this type that has
 * what they are in their places.
 */
extern Percentile *percentiles_of_array(ArrayType *fractions, int *count);
extern ArrayType *percentiles_to_array(const Percentile *percentiles,
									   int count, PercentileKind kind,
									   ArrayType *fractions, Oid type);

#endif							/* GPUSORT_PERCENTILE_H */
