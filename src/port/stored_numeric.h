/*-------------------------------------------------------------------------
 *
 * stored_numeric.h
 *	  How a numeric is stored.
 *
 * The struct is private to numeric.c.  But it cannot change without a dump and
 * restore of every database, and has been the same since 9.1 (the infinities
 * since 14).
 *
 * After the varlena header comes a uint16.  Its upper two bits tell whether
 * the number is long and positive, long and negative, short, or special.  A
 * long number has its display scale in the other bits, and its weight in an
 * int16 that follows.  A short number has a sign bit, the display scale and
 * seven bits of weight, in two's complement.  The rest are digits to the base
 * of 10000, an int16 each, the first and the last of them not zero.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_STORED_NUMERIC_H
#define GPUSORT_STORED_NUMERIC_H

#include "postgres.h"

#define STORED_KIND_MASK		0xC000
#define STORED_LONG_NEGATIVE	0x4000
#define STORED_SHORT			0x8000
#define STORED_SPECIAL			0xC000

#define STORED_SPECIAL_MASK		0xF000
#define STORED_NAN				0xC000
#define STORED_MINUS_INFINITY	0xF000

#define STORED_LONG_SCALE_MASK	0x3FFF
#define STORED_SHORT_NEGATIVE	0x2000
#define STORED_SHORT_SCALE_MASK	0x1F80
#define STORED_SHORT_SCALE_SHIFT	7
#define STORED_SHORT_WEIGHT_SIGN	0x0040
#define STORED_SHORT_WEIGHT_MASK	0x003F

/* The base of the digits. */
#define STORED_BASE				10000

/* +-(d0 + d1 / 10000 + ...) * 10000 ^ weight, NaN, or an infinity. */
typedef struct StoredNumeric
{
	bool		is_nan;
	bool		is_infinite;
	bool		negative;		/* never of zero */
	int			weight;
	int			scale;			/* digits shown behind the decimal point */
	int			ndigits;		/* digits; none of zero, NaN and infinities */
	const char *digits;			/* not aligned; neither the first nor the last
								 * is zero */
} StoredNumeric;

static inline int
stored_numeric_digit(const StoredNumeric *number, int i)
{
	int16		digit;

	memcpy(&digit, number->digits + i * sizeof(digit), sizeof(digit));
	return digit;
}

/* Takes a numeric apart that is neither compressed nor stored elsewhere. */
static inline void
stored_numeric_read(struct varlena *numeric, StoredNumeric *number)
{
	const char *data = VARDATA_ANY(numeric);
	Size		size = VARSIZE_ANY_EXHDR(numeric);
	uint16		header;

	memcpy(&header, data, sizeof(header));
	data += sizeof(header);
	size -= sizeof(header);
	number->is_nan = false;
	number->is_infinite = false;
	if ((header & STORED_KIND_MASK) == STORED_SHORT)
	{
		number->negative = (header & STORED_SHORT_NEGATIVE) != 0;
		number->scale = (header & STORED_SHORT_SCALE_MASK) >>
			STORED_SHORT_SCALE_SHIFT;
		number->weight = header & STORED_SHORT_WEIGHT_MASK;
		if ((header & STORED_SHORT_WEIGHT_SIGN) != 0)
			number->weight -= STORED_SHORT_WEIGHT_SIGN;
	}
	else if ((header & STORED_KIND_MASK) == STORED_SPECIAL)
	{
		number->is_nan = (header & STORED_SPECIAL_MASK) == STORED_NAN;
		number->is_infinite = !number->is_nan;
		number->negative =
			(header & STORED_SPECIAL_MASK) == STORED_MINUS_INFINITY;
		number->weight = 0;
		number->scale = 0;
		number->ndigits = 0;
		number->digits = data;
		return;
	}
	else
	{
		int16		weight;

		memcpy(&weight, data, sizeof(weight));
		data += sizeof(weight);
		size -= sizeof(weight);
		number->negative = (header & STORED_KIND_MASK) == STORED_LONG_NEGATIVE;
		number->scale = header & STORED_LONG_SCALE_MASK;
		number->weight = weight;
	}

	/*
	 * numeric.c strips zero digits at either end before it stores a number,
	 * but does not rely on it when it compares.
	 */
	number->digits = data;
	number->ndigits = size / sizeof(int16);
	while (number->ndigits > 0 && stored_numeric_digit(number, 0) == 0)
	{
		number->digits += sizeof(int16);
		number->ndigits--;
		number->weight--;
	}
	while (number->ndigits > 0 &&
		   stored_numeric_digit(number, number->ndigits - 1) == 0)
		number->ndigits--;
	if (number->ndigits == 0)
		number->negative = false;
}

#endif							/* GPUSORT_STORED_NUMERIC_H */
