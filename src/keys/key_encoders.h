/*-------------------------------------------------------------------------
 *
 * key_encoders.h
 *	  From one value to its part of a sort key, a type at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_ENCODERS_H
#define GPUSORT_KEY_ENCODERS_H

#include "postgres.h"

#include "common/key_format.h"

/* What an encoder may keep for a column from one value to the next. */
typedef struct KeyCache
{
	Oid			type;			/* of the values, not a domain */
	MemoryContext context;		/* as long as the sort lasts */
	struct EnumOrder *enum_order;	/* see encode_enums.c */
	struct CollatedColumn *collated;	/* NULL: strings sort by their bytes */
	struct StringPrefix *prefix;	/* and may leave that out, unless NULL */
	struct ArrayColumn *array;	/* see encode_arrays.c */
} KeyCache;

/*
 * A key while it is being written.  Bytes are gathered in "partial", from its
 * most significant one on, and go out as whole words; no byte of the key is
 * ever read or swapped afterwards.
 */
typedef struct KeyWriter
{
	uint64_t   *next;			/* where the next whole word goes */
	uint64_t   *end;			/* of the room for the key */
	uint64_t	partial;		/* the word being filled */
	int			filled;			/* its bits in use, less than 64 */
	uint64_t	complement;		/* all ones within a descending value */
	bool		truncated;		/* something found no room */
	KeyCache   *cache;			/* of the column at hand */
	MemoryContext value_context;	/* for what is made of the value at hand */
} KeyWriter;

/*
 * Appends the low "bits" bits (whole bytes, 1 to 8 of them) of the value,
 * complemented if the column descends.  What finds no room is left out.
 */
static inline void
key_append(KeyWriter *writer, uint64_t value, int bits)
{
	uint64_t	left = (value ^ writer->complement) << (64 - bits);

	writer->partial |= left >> writer->filled;
	writer->filled += bits;
	if (writer->filled >= 64)
	{
		if (likely(writer->next < writer->end))
			*writer->next++ = writer->partial;
		else
			writer->truncated = true;
		writer->filled -= 64;

		/* The last "filled" bits are left over; shifting by 64 won't do. */
		writer->partial = left << 1 << (bits - writer->filled - 1);
	}
}

/* Ends the key: writes the last word, if it has but begun. */
static inline void
key_end(KeyWriter *writer)
{
	if (writer->filled > 0)
	{
		if (likely(writer->next < writer->end))
			*writer->next++ = writer->partial;
		else
			writer->truncated = true;
	}
}

/* How many bytes can still be appended. */
static inline Size
key_room(const KeyWriter *writer)
{
	Size		bytes = (writer->end - writer->next) * sizeof(uint64_t);
	Size		pending = writer->filled / BITS_PER_BYTE;

	return bytes > pending ? bytes - pending : 0;
}

/*
 * Fetches and decompresses a value, all of it or, if "limit" is not negative,
 * that many bytes from its beginning.  The result is good until the next
 * call for this writer.
 */
extern struct varlena *encode_detoast(KeyWriter *writer,
									  struct varlena *stored, int limit);

/*
 * How the values of a type become bytes.  The bytes of a smaller value are
 * smaller, those of equal values are equal, and the bytes of one value never
 * begin those of another.  Values are never NULL.
 *
 * A type of 1 to 8 bytes gives them as the low bytes of a word.  Any other
 * appends them by key_append(); it may refuse a value, with false, whatever it
 * has appended by then.  In the compact layout that means that the value does
 * not fit its form; in the general one, that all keys have to be made again.
 */
typedef uint64_t (*KeyWordFunction) (Datum value);
typedef bool (*KeyEncodeFunction) (KeyWriter *writer, Datum value);

/*
 * Writes the key that is made of this value alone, and returns the number of
 * its words; or 0, and encode() has to do it.  For values that sort by their
 * bytes; "complement" as in KeyWriter.
 */
typedef int (*KeyWholeFunction) (Datum value, uint64_t complement,
								 uint64_t *words);

/* One way to write the values of a type, by the one function or the other. */
typedef struct KeyForm
{
	int			bytes;			/* of every value, 0 if they vary */
	KeyWordFunction word;
	KeyEncodeFunction encode;
	KeyWholeFunction whole;		/* NULL: there is none */
} KeyForm;

/* A type's row in the table of encoders. */
typedef struct KeyEncoder
{
	Oid			type;			/* whose default ordering this is */
	bool		by_collation;	/* or the same under any */
	KeyForm		compact;		/* may refuse values */
	KeyForm		general;		/* takes all values, if not at once */
} KeyEncoder;

/* The encoder for a type's default ordering, or NULL. */
extern const KeyEncoder *key_encoder_find(Oid type);

#endif							/* GPUSORT_KEY_ENCODERS_H */
