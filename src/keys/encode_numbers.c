/*-------------------------------------------------------------------------
 *
 * encode_numbers.c
 *	  Keys of numbers, and of other values that are stored as a number.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "keys/encode.h"
#include "port/compat.h"

/*
 * Integers
 *
 * Signed integers compare as unsigned ones once the sign is flipped.  Money,
 * dates, times and timestamps are signed integers; infinities are the least
 * and the greatest.  A "char" is an unsigned byte.
 */

uint64_t
bool_word(Datum value)
{
	return DatumGetBool(value) ? 1 : 0;
}

uint64_t
char_word(Datum value)
{
	return (uint8) DatumGetChar(value);
}

uint64_t
int2_word(Datum value)
{
	return (uint16) DatumGetInt16(value) ^ SIGN_BIT(16);
}

uint64_t
int4_word(Datum value)
{
	return (uint32) DatumGetInt32(value) ^ SIGN_BIT(32);
}

uint64_t
int8_word(Datum value)
{
	return (uint64_t) DatumGetInt64(value) ^ SIGN_BIT(64);
}


/*
 * Floating point
 *
 * IEEE 754 numbers of one sign compare as their bits do.  Negative numbers
 * come first, in the reverse order of their bits.  The two zeros are equal,
 * and so are all NaNs, which come after all numbers.
 */
uint64_t
float4_word(Datum value)
{
	float4		number = DatumGetFloat4(value);
	uint32		bits;

	if (unlikely(isnan(number)))
		return PG_UINT32_MAX;
	number += 0.0f;				/* makes the negative zero positive */
	memcpy(&bits, &number, sizeof(bits));
	return bits ^ ((bits & SIGN_BIT(32)) != 0 ? PG_UINT32_MAX : SIGN_BIT(32));
}

uint64_t
float8_word(Datum value)
{
	float8		number = DatumGetFloat8(value);
	uint64_t	bits;

	if (unlikely(isnan(number)))
		return PG_UINT64_MAX;
	number += 0.0;				/* makes the negative zero positive */
	memcpy(&bits, &number, sizeof(bits));
	return bits ^ ((bits & SIGN_BIT(64)) != 0 ? PG_UINT64_MAX : SIGN_BIT(64));
}
