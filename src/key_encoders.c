/*-------------------------------------------------------------------------
 *
 * key_encoders.c
 *	  From one value to its part of a sort key, a type at a time.
 *
 * The table at the end of this file has one row for each type that can be
 * encoded.  To add a type is to write its function and its row.
 *
 * An encoder turns a value into bytes that compare as the type's comparator
 * compares the values.  It need not care for NULLs, for the direction of the
 * sort or for the length of the key: those are the business of sort_keys.c
 * and of key_append().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "storage/itemptr.h"
#include "utils/date.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "compat.h"
#include "key_encoders.h"

#define BYTE_BITS(bytes)	((bytes) * BITS_PER_BYTE)
#define SIGN_BIT(bits)		(UINT64_C(1) << ((bits) - 1))


/*
 * Types of fixed width
 *
 * Signed integers compare as unsigned ones once the sign is flipped.  Dates
 * and times are such integers, their infinities the least and the greatest.
 */

static uint64_t
bool_word(Datum value)
{
	return DatumGetBool(value) ? 1 : 0;
}

static uint64_t
int2_word(Datum value)
{
	return (uint16) DatumGetInt16(value) ^ SIGN_BIT(16);
}

static uint64_t
int4_word(Datum value)
{
	return (uint32) DatumGetInt32(value) ^ SIGN_BIT(32);
}

static uint64_t
int8_word(Datum value)
{
	return (uint64_t) DatumGetInt64(value) ^ SIGN_BIT(64);
}

static uint64_t
oid_word(Datum value)
{
	return DatumGetObjectId(value);
}

/* The place of a row in its table. */
static uint64_t
tid_word(Datum value)
{
	const ItemPointerData *tid = (ItemPointer) DatumGetPointer(value);

	return (uint64_t) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

static uint64_t
date_word(Datum value)
{
	return (uint32) DatumGetDateADT(value) ^ SIGN_BIT(32);
}

static uint64_t
timestamp_word(Datum value)
{
	return (uint64_t) DatumGetTimestamp(value) ^ SIGN_BIT(64);
}

/*
 * IEEE 754 numbers of one sign compare as their bits do.  Negative ones go
 * below, and the other way round.  The two zeros are equal, and so are all
 * NaNs, which come after everything.
 */
static uint64_t
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

static uint64_t
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

static inline uint64_t
load_bytes(const void *bytes)
{
	uint64_t	loaded;

	memcpy(&loaded, bytes, sizeof(loaded));
	return pg_ntoh64(loaded);
}

static bool
encode_uuid(KeyWriter *writer, Datum value)
{
	const pg_uuid_t *uuid = DatumGetUUIDP(value);

	StaticAssertStmt(UUID_LEN == 16, "a uuid is two words");
	key_append(writer, load_bytes(uuid->data), 64);
	key_append(writer, load_bytes(uuid->data + 8), 64);
	return true;
}


/*
 * Values of variable length
 */

/*
 * Fetches and decompresses a value, all of it or, if "limit" is not negative,
 * that many bytes from its beginning.  The result is good until the next
 * call for this writer.
 */
static pg_noinline struct varlena *
detoast(KeyWriter *writer, struct varlena *stored, int limit)
{
	MemoryContext caller_context;
	struct varlena *value;

	MemoryContextReset(writer->detoast_context);
	caller_context = MemoryContextSwitchTo(writer->detoast_context);
	value = limit < 0 ? pg_detoast_datum_packed(stored) :
		pg_detoast_datum_slice(stored, 0, limit);
	MemoryContextSwitchTo(caller_context);
	return value;
}

static inline bool
is_toasted(const struct varlena *value)
{
	return VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value);
}

/*
 * The "size" bytes, less than 8, in the low end of the result.  Reads nothing
 * beyond them: they may be the last of a page.
 */
static inline uint64_t
load_tail(const char *data, Size size)
{
	if (size >= 4)
	{
		uint32		head;
		uint32		tail;

		/* the two may overlap, in bytes that are the same in both */
		memcpy(&head, data, 4);
		memcpy(&tail, data + size - 4, 4);
		return (uint64_t) pg_ntoh32(head) << BYTE_BITS(size - 4) |
			pg_ntoh32(tail);
	}
	if (size >= 2)
	{
		uint16		head;
		uint16		tail;

		memcpy(&head, data, 2);
		memcpy(&tail, data + size - 2, 2);
		return (uint64_t) pg_ntoh16(head) << BYTE_BITS(size - 2) |
			pg_ntoh16(tail);
	}
	return size == 1 ? (unsigned char) *data : 0;
}

/*
 * Appends a string that holds no zero byte, and a zero byte, which makes a
 * string come before those that it begins.
 */
static inline void
append_string(KeyWriter *writer, const char *data, Size size)
{
	KeyWriter	local = *writer;	/* for the compiler: nothing aliases it */
	Size		room = key_room(writer);

	/* The terminator finds no room then, and tells that the key is cut. */
	size = Min(size, room);

	for (; size >= 8; data += 8, size -= 8)
		key_append(&local, load_bytes(data), 64);
	key_append(&local, load_tail(data, size) << 8, BYTE_BITS(size + 1));
	*writer = local;
}

/* text and varchar, under collations that order by bytes */
static bool
encode_text(KeyWriter *writer, Datum value)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);

	if (unlikely(is_toasted(text)))
		text = detoast(writer, text, key_room(writer) + 1);
	append_string(writer, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
	return true;
}

/* The length of a string without its trailing blanks. */
static inline Size
size_without_blanks(const char *data, Size size)
{
	/* a declared length may be far beyond that of the string */
	while (size >= 8)
	{
		uint64_t	others = load_bytes(data + size - 8) ^
			UINT64_C(0x2020202020202020);

		if (others != 0)
			return size - pg_rightmost_one_pos64(others) / BITS_PER_BYTE;
		size -= 8;
	}
	while (size > 0 && data[size - 1] == ' ')
		size--;
	return size;
}

static bool
encode_bpchar(KeyWriter *writer, Datum value)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);

	/* Only the end tells which blanks are trailing. */
	if (unlikely(is_toasted(text)))
		text = detoast(writer, text, -1);
	append_string(writer, VARDATA_ANY(text),
				  size_without_blanks(VARDATA_ANY(text),
									  VARSIZE_ANY_EXHDR(text)));
	return true;
}

static bool
encode_name(KeyWriter *writer, Datum value)
{
	const char *name = NameStr(*DatumGetName(value));

	append_string(writer, name, strnlen(name, NAMEDATALEN));
	return true;
}


/*
 * numeric
 *
 * The value of a finite numeric is +-(d0 + d1 / 10000 + ...) * 10000 ^ weight
 * with d0 > 0, so positive ones compare by their weight and then by their
 * digits.  A leading byte holds the weight and what is not finite, all that
 * is positive in its upper half; a negative number is the complement of the
 * positive one.  Display scale is left out, so 1.0 and 1.00 are equal.
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
 * How a numeric is stored.  The struct is private to numeric.c, but it cannot
 * change without a dump and restore of every database, and it has been this
 * since 9.1 (the infinities since 14).
 *
 * After the varlena header comes a uint16.  Its upper two bits tell a long
 * number of either sign, a short one, or something special.  A long number
 * has its sign and display scale there, and its weight in an int16 that
 * follows; a short one has a sign bit, the display scale and seven bits of
 * weight, in two's complement.  The rest are digits to the base of 10000, an
 * int16 each, the first and the last of them not zero.
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
	int			code;			/* for the leading byte */
	bool		negative;
	int			weight;			/* of a finite number other than zero */
	int			ndigits;		/* none if it is not such a number */
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
 * The tight form: one word of the leading byte and four digits, of 14 bits
 * each.  It takes every numeric(14, 2), and much of what has more digits.
 */
static bool
encode_numeric_tight(KeyWriter *writer, Datum value)
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
			/* FALLTHROUGH */
		case 3:
			word |= (uint64_t) numeric_digit(&parts, 2) << 14;
			/* FALLTHROUGH */
		case 2:
			word |= (uint64_t) numeric_digit(&parts, 1) << 28;
			/* FALLTHROUGH */
		case 1:
			word |= (uint64_t) numeric_digit(&parts, 0) << 42;
	}
	key_append(writer, parts.negative ? ~word : word, 64);
	return true;
}

/*
 * The loose form: the leading byte, the weight if it is not in there, and all
 * digits, of 16 bits each.  The lowest of these bits tells whether more
 * digits follow, so that a number comes before those that it begins.
 */
static bool
encode_numeric_loose(KeyWriter *writer, Datum value)
{
	struct varlena *numeric = (struct varlena *) DatumGetPointer(value);
	NumericParts parts;

	if (unlikely(is_toasted(numeric)))
		numeric = detoast(writer, numeric, -1);
	numeric_take_apart(numeric, &parts);

	if (parts.negative)
		writer->complement = ~writer->complement;
	key_append(writer, parts.code, 8);
	/* these weights are of one sign, so their low bits compare as they do */
	if (unlikely(parts.code == CODE_SMALL || parts.code == CODE_LARGE))
		key_append(writer, parts.weight, 16);

	for (int i = 0; i < parts.ndigits && !writer->cut; i += 4)
	{
		int			ndigits = Min(parts.ndigits - i, 4);
		uint64_t	digits = 0;

		for (int j = 0; j < ndigits; j++)
			digits = digits << 16 | numeric_digit(&parts, i + j) << 1 |
				(i + j < parts.ndigits - 1 ? 1 : 0);
		key_append(writer, digits, ndigits * 16);
	}
	return true;
}


/*
 * The table
 *
 * A type of fixed width, or a string, has one form for both layouts.
 */
#define WORD(bytes, word)		{bytes, word, NULL}, {bytes, word, NULL}
#define BYTES(bytes, encode)	{bytes, NULL, encode}, {bytes, NULL, encode}
#define VARYING(encode)			{0, NULL, encode}, {0, NULL, encode}

static const KeyEncoder key_encoders[] = {
	/* type, by collation, tight and loose form */
	{BOOLOID, false, WORD(1, bool_word)},
	{INT2OID, false, WORD(2, int2_word)},
	{INT4OID, false, WORD(4, int4_word)},
	{INT8OID, false, WORD(8, int8_word)},
	{OIDOID, false, WORD(4, oid_word)},
	{TIDOID, false, WORD(6, tid_word)},
	{FLOAT4OID, false, WORD(4, float4_word)},
	{FLOAT8OID, false, WORD(8, float8_word)},
	{DATEOID, false, WORD(4, date_word)},
	{TIMESTAMPOID, false, WORD(8, timestamp_word)},
	{TIMESTAMPTZOID, false, WORD(8, timestamp_word)},
	{UUIDOID, false, BYTES(16, encode_uuid)},
	{TEXTOID, true, VARYING(encode_text)},
	{VARCHAROID, true, VARYING(encode_text)},
	{BPCHAROID, true, VARYING(encode_bpchar)},
	{NAMEOID, true, VARYING(encode_name)},
	{NUMERICOID, false,
	{8, NULL, encode_numeric_tight}, {0, NULL, encode_numeric_loose}},
};

const KeyEncoder *
key_encoder_find(Oid type)
{
	for (Size i = 0; i < lengthof(key_encoders); i++)
	{
		if (key_encoders[i].type == type)
			return &key_encoders[i];
	}
	return NULL;
}
