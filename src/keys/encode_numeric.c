/*-------------------------------------------------------------------------
 *
 * encode_numeric.c
 *	  Keys of numerics, and numerics as double precision.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "keys/encode.h"
#include "keys/numeric_float8.h"
#include "port/compat.h"
#include "port/stored_numeric.h"

/*
 * The value of a finite numeric is +-(d0 + d1 / 10000 + ...) * 10000 ^ weight
 * with d0 > 0, so positive numerics compare by their weight and then by their
 * digits.  A leading byte holds the weight, or tells that the value is not
 * finite; what is positive has the upper half of its values.  A negative
 * number is the complement of the positive one.  Display scale is left out, so
 * 1.0 and 1.00 are equal.
 */
#define CODE_ZERO			0x80
#define CODE_SMALL			0x81	/* the weight follows */
#define CODE_LEAST_WEIGHT	0x82
#define CODE_GREATEST_WEIGHT	0xFC
#define CODE_LARGE			0xFD	/* the weight follows */
#define CODE_INFINITY		0xFE
#define CODE_NAN			0xFF

#define LEAST_WEIGHT		(-61)
#define GREATEST_WEIGHT		61

StaticAssertDecl(GREATEST_WEIGHT - LEAST_WEIGHT ==
				 CODE_GREATEST_WEIGHT - CODE_LEAST_WEIGHT,
				 "a byte holds the weight of ordinary numbers");

/* A numeric, and the code of its leading byte. */
typedef struct NumericParts
{
	StoredNumeric number;
	int			code;
} NumericParts;

static inline int
code_of_number(const StoredNumeric *number)
{
	if (unlikely(number->is_nan))
		return CODE_NAN;
	if (unlikely(number->is_infinite))
		return CODE_INFINITY;
	if (number->ndigits == 0)
		return CODE_ZERO;
	if (unlikely(number->weight < LEAST_WEIGHT))
		return CODE_SMALL;
	if (unlikely(number->weight > GREATEST_WEIGHT))
		return CODE_LARGE;
	return CODE_LEAST_WEIGHT + (number->weight - LEAST_WEIGHT);
}

static inline void
numeric_take_apart(struct varlena *numeric, NumericParts *parts)
{
	stored_numeric_read(numeric, &parts->number);
	parts->code = code_of_number(&parts->number);
}

static inline int
numeric_digit(const NumericParts *parts, int i)
{
	return stored_numeric_digit(&parts->number, i);
}

/*
 * The compact form: one word of the leading byte and four digits, of 14 bits
 * each.  It takes every numeric(14, 2), and many numbers with more digits.
 */
bool
encode_numeric_compact(KeyWriter *writer, Datum value)
{
	struct varlena *numeric = (struct varlena *) DatumGetPointer(value);
	NumericParts parts;
	uint64_t	word;

	/* A number that was worth compressing does not fit. */
	if (unlikely(is_toasted(numeric)))
		return false;

	numeric_take_apart(numeric, &parts);
	if (unlikely(parts.number.ndigits > 4 ||
				 parts.code == CODE_SMALL || parts.code == CODE_LARGE))
		return false;

	word = (uint64_t) parts.code << 56;
	switch (parts.number.ndigits)
	{
		case 4:
			word |= (uint64_t) numeric_digit(&parts, 3);
			pg_fallthrough;
		case 3:
			word |= (uint64_t) numeric_digit(&parts, 2) << 14;
			pg_fallthrough;
		case 2:
			word |= (uint64_t) numeric_digit(&parts, 1) << 28;
			pg_fallthrough;
		case 1:
			word |= (uint64_t) numeric_digit(&parts, 0) << 42;
	}
	key_append(writer, parts.number.negative ? ~word : word, 64);
	return true;
}

/*
 * Digits in a word of the general form, and the bits that tell whether more
 * follow.
 */
#define WORD_DIGITS			4
#define ALL_FOLLOWED		UINT64CONST(0x0001000100010001)

/*
 * WORD_DIGITS digits from the first on, 16 bits each, the last digit lowest.
 */
static inline uint64_t
word_of_digits(const NumericParts *parts, int first)
{
	uint64_t	word;

	memcpy(&word, parts->number.digits + first * sizeof(int16), sizeof(word));
#ifndef WORDS_BIGENDIAN
	word = word << 48 | (word & 0xFFFF0000) << 16 |
		(word >> 16 & 0xFFFF0000) | word >> 48;
#endif
	return word;
}

/*
 * The general form: the leading byte, the weight if the byte does not hold it,
 * and all digits, 16 bits each.  The lowest of these bits tells whether more
 * digits follow, so that a number comes before longer ones that begin with it.
 */
bool
encode_numeric_general(KeyWriter *writer, Datum value)
{
	struct varlena *numeric = (struct varlena *) DatumGetPointer(value);
	NumericParts parts;
	uint64_t	last = 0;
	int			i;

	if (unlikely(is_toasted(numeric)))
		numeric = encode_detoast(writer, numeric, -1);
	numeric_take_apart(numeric, &parts);

	if (parts.number.negative)
		writer->complement = ~writer->complement;
	key_append(writer, parts.code, 8);
	/* these weights are of one sign, so their low bits compare as they do */
	if (unlikely(parts.code == CODE_SMALL || parts.code == CODE_LARGE))
		key_append(writer, parts.number.weight, 16);

	for (i = 0; i < parts.number.ndigits - WORD_DIGITS; i += WORD_DIGITS)
	{
		if (unlikely(writer->truncated))
			return true;
		key_append(writer, word_of_digits(&parts, i) << 1 | ALL_FOLLOWED, 64);
	}
	if (parts.number.ndigits == 0)
		return true;
	for (int j = i; j < parts.number.ndigits; j++)
		last = last << 16 | numeric_digit(&parts, j) << 1 | 1;
	key_append(writer, last ^ 1, (parts.number.ndigits - i) * 16);
	return true;
}

/*
 * Each integer up to this is a double, as is each power of ten up to 10000 ^
 * 5.
 */
#define LARGEST_INTEGER		(INT64_C(1) << DBL_MANT_DIG)
#define LARGEST_POWER		5

/*
 * With few digits a numeric is an integer multiplied by a power of ten, or divided
 * by one.  If both of them are doubles, the result of that one operation is the
 * double next to the number, which is what core's function reads from its text.
 */
bool
numeric_as_float8(Datum value, float8 *number)
{
	static const float8 powers[] = {1, 1e4, 1e8, 1e12, 1e16, 1e20};
	struct varlena *numeric = (struct varlena *) DatumGetPointer(value);
	NumericParts parts;
	int64		integer = 0;
	int			power;

	/* a result computed with more bits would be rounded twice */
	if (FLT_EVAL_METHOD != 0 || unlikely(is_toasted(numeric)))
		return false;
	numeric_take_apart(numeric, &parts);
	if (parts.code == CODE_ZERO)
	{
		*number = 0;
		return true;
	}
	if (unlikely(parts.number.ndigits == 0 || parts.number.ndigits > 4))
		return false;
	for (int i = 0; i < parts.number.ndigits; i++)
		integer = integer * 10000 + numeric_digit(&parts, i);
	power = parts.number.weight - parts.number.ndigits + 1;
	if (unlikely(integer > LARGEST_INTEGER || abs(power) > LARGEST_POWER))
		return false;
	*number = power < 0 ? integer / powers[-power] : integer * powers[power];
	if (parts.number.negative)
		*number = -*number;
	return true;
}
