/*-------------------------------------------------------------------------
 *
 * exact_sum.c
 *	  Exact sums and averages of integers and numerics.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/fmgroids.h"
#include "utils/numeric.h"

#include "port/stored_numeric.h"
#include "port/toast.h"
#include "window/exact_sum.h"

/* Digits to the base of 10000, on either side of the decimal point. */
#define WHOLE_DIGITS	4
#define FRACTION_DIGITS	(EXACT_SCALE / 4)

/*
 * The greatest number that int64_div_fast_to_numeric() is given: in some releases
 * it multiplies by up to 1000 without a look at the result.
 */
#define MOST_DIVIDED	(PG_INT64_MAX / 1000)

/* A power of ten that a bigint holds. */
#define LARGE_POWER		INT64CONST(1000000000000000000)

/* The aggregates that are sums. */
typedef struct KnownSum
{
	Oid			transition;
	Oid			final;
	ExactValues values;
	ExactResult result;
} KnownSum;

static const KnownSum known_sums[] = {
	{F_INT2_SUM, InvalidOid, EXACT_INT2, EXACT_BIGINT},
	{F_INT4_SUM, InvalidOid, EXACT_INT4, EXACT_BIGINT},
	{F_INT2_AVG_ACCUM, F_INT8_AVG, EXACT_INT2, EXACT_AVERAGE},
	{F_INT2_AVG_ACCUM, F_INT2INT4_SUM, EXACT_INT2, EXACT_BIGINT},
	{F_INT4_AVG_ACCUM, F_INT8_AVG, EXACT_INT4, EXACT_AVERAGE},
	{F_INT4_AVG_ACCUM, F_INT2INT4_SUM, EXACT_INT4, EXACT_BIGINT},
	{F_INT8_AVG_ACCUM, F_NUMERIC_POLY_SUM, EXACT_INT8, EXACT_TOTAL},
	{F_INT8_AVG_ACCUM, F_NUMERIC_POLY_AVG, EXACT_INT8, EXACT_AVERAGE},
	{F_NUMERIC_AVG_ACCUM, F_NUMERIC_SUM, EXACT_NUMERIC, EXACT_TOTAL},
	{F_NUMERIC_AVG_ACCUM, F_NUMERIC_AVG, EXACT_NUMERIC, EXACT_AVERAGE}
};

ExactValues
exact_sum_values(Oid transition)
{
	for (int i = 0; i < lengthof(known_sums); i++)
		if (known_sums[i].transition == transition)
			return known_sums[i].values;
	return EXACT_NONE;
}

bool
exact_sum_finds(Oid transition, Oid final, ExactResult *result)
{
	for (int i = 0; i < lengthof(known_sums); i++)
	{
		const KnownSum *known = &known_sums[i];

		if (known->transition != transition || known->final != final)
			continue;
		*result = known->result;
		return true;
	}
	return false;
}

bool
exact_sum_begins(Oid transition, Datum initial, bool isnull)
{
	ArrayType  *array;
	const int64 *numbers;

	if (transition != F_INT2_AVG_ACCUM && transition != F_INT4_AVG_ACCUM)
		return isnull;
	if (isnull)
		return false;
	/* an array of the count and the sum, of which users can make others */
	array = DatumGetArrayTypeP(initial);
	if (ARR_HASNULL(array) ||
		ARR_SIZE(array) != ARR_OVERHEAD_NONULLS(1) + 2 * sizeof(int64))
		return false;
	numbers = (const int64 *) ARR_DATA_PTR(array);
	return numbers[0] == 0 && numbers[1] == 0;
}

/* Returns 10 ^ exponent. */
static inline int64
power_of_ten(int exponent)
{
	int64		power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

/* Powers of STORED_BASE. */
#define POWER_4		((int128) INT64CONST(10000000000000000))
static const int128 powers_of_base[] = {
	1, 10000, 100000000, INT64CONST(1000000000000), POWER_4, POWER_4 * 10000,
	POWER_4 * 100000000, POWER_4 * INT64CONST(1000000000000)
};

StaticAssertDecl(lengthof(powers_of_base) == WHOLE_DIGITS + FRACTION_DIGITS,
				 "the last digit has one of these powers");

bool
exact_number_of_numeric(Datum value, ExactNumber *number)
{
	struct varlena *numeric = (struct varlena *) DatumGetPointer(value);
	StoredNumeric stored;
	int			power;			/* of the base, as a factor of the digits */
	int64		first = 0;		/* the first digits */

	if (unlikely(is_toasted(numeric)))
		return false;
	stored_numeric_read(numeric, &stored);
	power = stored.weight - stored.ndigits + 1 + FRACTION_DIGITS;
	if (unlikely(stored.is_nan || stored.is_infinite ||
				 stored.scale > EXACT_SCALE))
		return false;
	number->scale = stored.scale;
	number->number = 0;
	if (stored.ndigits == 0)
		return true;
	if (unlikely(stored.weight >= WHOLE_DIGITS || power < 0))
		return false;
	for (int i = 0; i < Min(stored.ndigits, 4); i++)
		first = first * STORED_BASE + stored_numeric_digit(&stored, i);
	number->number = first;
	for (int i = 4; i < stored.ndigits; i++)
		number->number = number->number * STORED_BASE +
			stored_numeric_digit(&stored, i);
	number->number *= powers_of_base[power];
	if (stored.negative)
		number->number = -number->number;
	return true;
}

/* Returns number / 10 ^ scale, with that display scale. */
static Datum
make_numeric(int128 number, int scale)
{
	int128		whole;
	int64		rest;

	if (number >= -MOST_DIVIDED && number <= MOST_DIVIDED)
		return NumericGetDatum(int64_div_fast_to_numeric((int64) number, scale));
	if (scale > 0)
	{
		whole = number / power_of_ten(scale);
		rest = (int64) (number % power_of_ten(scale));
		return DirectFunctionCall2(numeric_add, make_numeric(whole, 0),
								   NumericGetDatum(int64_div_fast_to_numeric(rest, scale)));
	}
	if (number >= PG_INT64_MIN && number <= PG_INT64_MAX)
		return NumericGetDatum(int64_to_numeric((int64) number));
	whole = number / LARGE_POWER;
	rest = (int64) (number % LARGE_POWER);
	return DirectFunctionCall2(numeric_add,
							   DirectFunctionCall2(numeric_mul,
												   make_numeric(whole, 0),
												   NumericGetDatum(int64_to_numeric(LARGE_POWER))),
							   NumericGetDatum(int64_to_numeric(rest)));
}

Datum
exact_sum_numeric(const ExactSum *sum, ExactValues values)
{
	int64		units;

	if (values != EXACT_NUMERIC)
		return make_numeric(sum->sum, 0);
	units = power_of_ten(EXACT_SCALE - sum->scale);
	/* a division of 64 bits takes a tenth of the time */
	if (sum->sum >= PG_INT64_MIN && sum->sum <= PG_INT64_MAX)
		return make_numeric((int64) sum->sum / units, sum->scale);
	return make_numeric(sum->sum / units, sum->scale);
}

/* Makes the average of a sum that is a numeric, as core does. */
static Datum
make_average(Datum sum, int64 count)
{
	return DirectFunctionCall2(numeric_div, sum,
							   NumericGetDatum(int64_to_numeric(count)));
}

Datum
exact_sum_result(const ExactSum *sum, ExactValues values, ExactResult result)
{
	switch (result)
	{
		case EXACT_BIGINT:
			return Int64GetDatum((int64) sum->sum);
		case EXACT_TOTAL:
			return exact_sum_numeric(sum, values);
		default:
			return make_average(exact_sum_numeric(sum, values), sum->count);
	}
}

Datum
exact_result_of_state(Datum state, int64 count, ExactResult result)
{
	Datum		sum = DirectFunctionCall1(numeric_sum, state);

	return result == EXACT_AVERAGE ? make_average(sum, count) : sum;
}
