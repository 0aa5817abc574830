/*-------------------------------------------------------------------------
 *
 * percentile.c
 *	  Percentiles of sorted values: percentile_cont() and percentile_disc().
 *
 * A percentile is made of one value, or of two values that follow each other.
 * Their positions are known from the number of all values, so no other value
 * is looked at.  The arithmetic is core's, to the last bit.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "executor/percentile.h"

void
percentile_find(Percentile *percentile, PercentileKind kind, uint64 nvalues)
{
	double		fraction = percentile->fraction;
	double		place;

	if (percentile->isnull)
		return;
	if (fraction < 0 || fraction > 1 || isnan(fraction))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("percentile value %g is not between 0 and 1",
						fraction)));
	percentile->isnull = nvalues == 0;
	if (kind == PERCENTILE_DISCRETE)
	{
		/* the first value with this fraction of all at or before it */
		place = Max(ceil(fraction * nvalues) - 1, 0);
		percentile->first.position = (uint64) place;
		percentile->second.position = (uint64) place;
		return;
	}
	place = fraction * ((double) nvalues - 1);
	percentile->first.position = (uint64) Max(floor(place), 0);
	percentile->second.position = (uint64) Max(ceil(place), 0);
	percentile->part = place - floor(place);
}

/* Returns the number at this part of the way from one number to the other. */
static Datum
number_between(Datum first, Datum second, double part)
{
	float8		low = DatumGetFloat8(first);
	float8		high = DatumGetFloat8(second);

	return Float8GetDatum(low + part * (high - low));
}

/*
 * Returns the interval at this part of the way from one interval to the other.
 */
static Datum
interval_between(Datum first, Datum second, double part)
{
	Datum		way = DirectFunctionCall2(interval_mi, second, first);

	way = DirectFunctionCall2(interval_mul, way, Float8GetDatumFast(part));
	return DirectFunctionCall2(interval_pl, way, first);
}

Datum
percentile_value(const Percentile *percentile, PercentileKind kind)
{
	Datum		first = percentile->first.value;
	Datum		second = percentile->second.value;

	if (percentile->first.position == percentile->second.position)
		return first;
	return kind == PERCENTILE_OF_NUMBERS ?
		number_between(first, second, percentile->part) :
		interval_between(first, second, percentile->part);
}

Percentile *
percentiles_of_array(ArrayType *fractions, int *count)
{
	Percentile *percentiles;
	Datum	   *values;
	bool	   *nulls;

	deconstruct_array(fractions, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, count);
	percentiles = palloc_extended(Max(*count, 1) * sizeof(Percentile),
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < *count; i++)
	{
		percentiles[i].isnull = nulls[i];
		if (!nulls[i])
			percentiles[i].fraction = DatumGetFloat8(values[i]);
	}
	return percentiles;
}

ArrayType *
percentiles_to_array(const Percentile *percentiles, int count,
					 PercentileKind kind, ArrayType *fractions, Oid type)
{
	Datum	   *values = palloc(Max(count, 1) * sizeof(Datum));
	bool	   *nulls = palloc(Max(count, 1) * sizeof(bool));
	int16		length;
	bool		by_value;
	char		alignment;

	if (count == 0)
		return construct_empty_array(type);
	for (int i = 0; i < count; i++)
	{
		nulls[i] = percentiles[i].isnull;
		values[i] = nulls[i] ? (Datum) 0 :
			percentile_value(&percentiles[i], kind);
	}
	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	return construct_md_array(values, nulls, ARR_NDIM(fractions),
							  ARR_DIMS(fractions), ARR_LBOUND(fractions),
							  type, length, by_value, alignment);
}
