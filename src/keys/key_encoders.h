/*-------------------------------------------------------------------------
 *
 * key_encoders.h
 *	  Encoders: the part of a sort key that one value of a type becomes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_ENCODERS_H
#define GPUSORT_KEY_ENCODERS_H

#include "postgres.h"

#include "common/key_format.h"

/*
 * The state of a column's encoder, kept from one value to the next.  Values
 * may have parts with encoders of their own, such as the elements of an array,
 * so this is a tree (key_cache.c).
 */
typedef struct KeyCache
{
	Oid			type;			/* type of the values, not a domain */
	const struct KeyEncoder *encoder;	/* NULL of a part without keys: the
										 * key ends there */
	MemoryContext context;		/* memory for the whole sort */
	MemoryContext flat_context; /* memory for a value that is not stored flat */
	char	   *flat;			/* the value, if it had a short header */
	int			nparts;
	struct KeyCache **parts;	/* elements, bounds, columns or strings */
	int		   *parts_left;		/* parts that the whole tree may still get */
	struct EnumOrder *enum_order;	/* numbers of enum values (encode_enums.c) */
	struct CollatedColumn *collated;	/* sort keys of strings; NULL: by
										 * bytes */
	struct StringPrefix *prefix;	/* common prefix of strings, of their sort
									 * keys, or of keys of parts; NULL: none
									 * is looked for */
	struct ArrayColumn *array;	/* elements of arrays (encode_arrays.c) */
	struct TypeCacheEntry *range;	/* type of ranges (encode_ranges.c) */
	struct RecordColumn *record;	/* row types of records (encode_records.c) */
	struct JsonbColumn *jsonb;	/* names in documents (encode_jsonb.c) */
} KeyCache;

/* Where in keys the values are. */
typedef enum KeyPlace
{
	KEY_OF_LAST_COLUMN,			/* values of the last sort column */
	KEY_OF_COLUMN,				/* values of another, or elements of its
								 * arrays */
	KEY_INSIDE					/* other parts of values */
} KeyPlace;

/*
 * A key that is being written.  Bytes are collected in "partial", from its most
 * significant byte on, and are written as whole words; no byte of the key is
 * read or swapped afterwards.
 */
typedef struct KeyWriter
{
	uint64_t   *next;			/* place of the next whole word */
	uint64_t   *end;			/* end of the room for the key */
	uint64_t	partial;		/* the word being filled */
	int			filled;			/* bits of "partial" in use, less than 64 */
	uint64_t	complement;		/* all ones within a descending value */
	bool		truncated;		/* the key is longer than its room */
	KeyCache   *cache;			/* state of the present column */
	MemoryContext value_context;	/* memory for the present value */
} KeyWriter;

/*
 * Appends the low "bits" bits (whole bytes, 1 to 8 of them) of the value,
 * complemented if the column descends.  Bits beyond the room are dropped.
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

		/* the last "filled" bits remain; a shift by 64 is undefined */
		writer->partial = left << 1 << (bits - writer->filled - 1);
	}
}

/* Ends the key: writes the last word, filled up with zeros. */
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

/*
 * Is the key so far longer than its room, even if the last word is not full?
 */
static inline bool
key_is_truncated(const KeyWriter *writer)
{
	return writer->truncated ||
		(writer->next == writer->end && writer->filled > 0);
}

/* Bytes that can still be appended. */
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
 * Returns a value with parts, flat and aligned.  The result is good until the
 * next call for this cache.
 */
extern struct varlena *encode_flatten(KeyCache *cache, Datum value);

/*
 * An encoder makes bytes of a value.  A smaller value has smaller bytes, equal
 * values have equal bytes, and no value's bytes are a prefix of the bytes of
 * another value.  Values are never NULL.
 *
 * A KeyWordFunction returns the bytes, 1 to 8, in the low end of a word.  A
 * KeyEncodeFunction appends them by key_append(), or returns false to refuse
 * the value, whatever has been appended by then.  In the compact layout a
 * refusal means that the value does not fit its form; in the general layout,
 * that all keys have to be made again.
 */
typedef uint64_t (*KeyWordFunction) (Datum value);
typedef bool (*KeyEncodeFunction) (KeyWriter *writer, Datum value);

/*
 * A function that writes the whole key of a sort by one column, for values
 * that sort by their bytes.  Returns the number of words, or 0 if encode() has
 * to write the key. "complement" is as in KeyWriter.
 */
typedef int (*KeyWholeFunction) (Datum value, uint64_t complement,
								 uint64_t *words);

/*
 * A form of a type's values. "word" writes it, or "encode" if "word" is NULL.
 */
typedef struct KeyForm
{
	int			bytes;			/* bytes of every value, 0 if they vary */
	KeyWordFunction word;
	KeyEncodeFunction encode;
	KeyWholeFunction whole;		/* or NULL */
} KeyForm;

/*
 * Functions of an encoder of values with parts.  A KeyFirstFunction returns
 * the type of the first part of a type's values, or InvalidOid if there is
 * none.  It sets the family that orders the part, if that is not the default
 * one, and the part's collation, if it has one of its own.  A KeyBeginFunction
 * completes the cache of a type: it makes its parts.
 */
typedef Oid (*KeyFirstFunction) (Oid type, Oid *family, Oid *collation);
typedef void (*KeyBeginFunction) (KeyCache *cache, Oid collation,
								  KeyPlace place);

/* A type's row in the table of encoders. */
typedef struct KeyEncoder
{
	Oid			type;			/* type whose default ordering is encoded */
	bool		by_collation;	/* the order depends on the collation */
	KeyForm		compact;		/* may refuse values */
	KeyForm		general;		/* takes all values, some at a second try */
	KeyBeginFunction begin;		/* NULL: values have no parts */
	KeyFirstFunction first;		/* NULL: the first part has an encoder */
} KeyEncoder;

/* The encoder for a type's default ordering, or NULL. */
extern const KeyEncoder *key_encoder_find(Oid type);

/*
 * The same for values of "type" that sort as the type "operand" does: the type
 * itself or one of its kind, such as anyarray.  NULL also if the first part of
 * the values has no encoder.  Sets whether the order depends on the collation
 * of the sort.
 */
extern const KeyEncoder *key_encoder_find_parts(Oid type, Oid operand,
												bool *by_collation);

/* Is this a family of operators that order strings of the type by their bytes? */
extern bool key_is_pattern_family(Oid family, Oid operand);

/*
 * Makes the cache of an encoder, in the current memory context.  Strings sort
 * by their bytes if "collation" is not valid.
 */
extern KeyCache *key_cache_create(const KeyEncoder *encoder, Oid type,
								  Oid collation, KeyPlace place);

/*
 * Makes the cache for a part of "whole", in the current memory context.  The
 * part sorts by the family of operators, or by its default ordering if the
 * family is not valid.  The part has no encoder if there are too many parts
 * already.
 */
extern KeyCache *key_part_create(KeyCache *whole, Oid type, Oid family,
								 Oid collation, KeyPlace place);

/* Calls a function for a cache and all its parts, until it returns true. */
typedef bool (*KeyCacheFunction) (KeyCache *cache, void *argument);
extern bool key_cache_walk(KeyCache *cache, KeyCacheFunction function,
						   void *argument);

#endif							/* GPUSORT_KEY_ENCODERS_H */
