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

/*
 * How a numeric is stored.  The struct is private to numeric.c.  But it cannot
 * change without a dump and restore of every database, and has been the same
 * since 9.1 (the infinities since 14).
 *
 * After the varlena header comes a uint16.  Its upper two bits tell whether
 * the number is long and positive, long and negative, short, or special.  A
 * long number has its display scale in the other bits, and its weight in an
 * int16 that follows.  A short number has a sign bit, the display scale and
 * seven bits of weight, in two's complement.  The rest are digits to the base
 * of 10000, an int16 each, the first and the last of them not zero.
 */
#define STORED_KIND_MASK		0xC000
#define STORED_LONG_NEGATIVE	0x4000
#define STORED_SHORT			0x8000
#define STORED_SPECIAL			0xC000

#define STORED_SPECIAL_MASK		0xF000
#define STORED_NAN				0xC000
#define STORED_MINUS_INFINITY	0xF000

#define STORED_SHORT_NEGATIVE	0x2000
#define STORED_SHORT_WEIGHT_SIGN	0x0040
#define STORED_SHORT_WEIGHT_MASK	0x003F

typedef struct NumericParts
{
	int			code;			/* code of the leading byte */
	bool		negative;
	int			weight;			/* weight of a finite number other than zero */
	int			ndigits;		/* digits; none of another number */
	const char *digits;			/* not aligned */
} NumericParts;

static inline int
numeric_digit(const NumericParts *parts, int i)
{
	int16		digit;

	memcpy(&digit, parts->digits + i * sizeof(digit), sizeof(digit));
	return digit;
}

static inline void
numeric_take_apart(struct varlena *numeric, NumericParts *parts)
{
	const char *data = VARDATA_ANY(numeric);
	Size		size = VARSIZE_ANY_EXHDR(numeric);
	uint16		header;

	memcpy(&header, data, sizeof(header));
	if ((header & STORED_KIND_MASK) == STORED_SHORT)
	{
		parts->negative = (header & STORED_SHORT_NEGATIVE) != 0;
		parts->weight = header & STORED_SHORT_WEIGHT_MASK;
		if ((header & STORED_SHORT_WEIGHT_SIGN) != 0)
			parts->weight -= STORED_SHORT_WEIGHT_SIGN;
		data += sizeof(header);
		size -= sizeof(header);
	}
	else if ((header & STORED_KIND_MASK) == STORED_SPECIAL)
	{
		parts->code = (header & STORED_SPECIAL_MASK) == STORED_NAN ?
			CODE_NAN : CODE_INFINITY;
		parts->negative =
			(header & STORED_SPECIAL_MASK) == STORED_MINUS_INFINITY;
		parts->ndigits = 0;
		return;
	}
	else
	{
		int16		weight;

		memcpy(&weight, data + sizeof(header), sizeof(weight));
		parts->negative = (header & STORED_KIND_MASK) == STORED_LONG_NEGATIVE;
		parts->weight = weight;
		data += sizeof(header) + sizeof(weight);
		size -= sizeof(header) + sizeof(weight);
	}

	/*
	 * numeric.c strips zero digits at either end before it stores a number,
	 * but does not rely on it when it compares.
	 */
	parts->digits = data;
	parts->ndigits = size / sizeof(int16);
	while (parts->ndigits > 0 && numeric_digit(parts, 0) == 0)
	{
		parts->digits += sizeof(int16);
		parts->ndigits--;
		parts->weight--;
	}
	while (parts->ndigits > 0 && numeric_digit(parts, parts->ndigits - 1) == 0)
		parts->ndigits--;

	if (parts->ndigits == 0)
	{
		parts->code = CODE_ZERO;
		parts->negative = false;
	}
	else if (parts->weight < LEAST_WEIGHT)
		parts->code = CODE_SMALL;
	else if (parts->weight > GREATEST_WEIGHT)
		parts->code = CODE_LARGE;
	else
		parts->code = CODE_LEAST_WEIGHT + (parts->weight - LEAST_WEIGHT);
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
	if (unlikely(parts.ndigits > 4 ||
				 parts.code == CODE_SMALL || parts.code == CODE_LARGE))
		return false;

	word = (uint64_t) parts.code << 56;
	switch (parts.ndigits)
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
	key_append(writer, parts.negative ? ~word : word, 64);
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

	memcpy(&word, parts->digits + first * sizeof(int16), sizeof(word));
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

	if (parts.negative)
		writer->complement = ~writer->complement;
	key_append(writer, parts.code, 8);
	/* these weights are of one sign, so their low bits compare as they do */
	if (unlikely(parts.code == CODE_SMALL || parts.code == CODE_LARGE))
		key_append(writer, parts.weight, 16);

	for (i = 0; i < parts.ndigits - WORD_DIGITS; i += WORD_DIGITS)
	{
		if (unlikely(writer->truncated))
			return true;
		key_append(writer, word_of_digits(&parts, i) << 1 | ALL_FOLLOWED, 64);
	}
	if (parts.ndigits == 0)
		return true;
	for (int j = i; j < parts.ndigits; j++)
		last = last << 16 | numeric_digit(&parts, j) << 1 | 1;
	key_append(writer, last ^ 1, (parts.ndigits - i) * 16);
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
	if (unlikely(parts.ndigits == 0 || parts.ndigits > 4))
		return false;
	for (int i = 0; i < parts.ndigits; i++)
		integer = integer * 10000 + numeric_digit(&parts, i);
	power = parts.weight - parts.ndigits + 1;
	if (unlikely(integer > LARGEST_INTEGER || abs(power) > LARGEST_POWER))
		return false;
	*number = power < 0 ? integer / powers[-power] : integer * powers[power];
	if (parts.negative)
		*number = -*number;
	return true;
}
