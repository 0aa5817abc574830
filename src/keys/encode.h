/*-------------------------------------------------------------------------
 *
 * encode.h
 *	  The encoders of all types, by families, and what encoders have in common.
 *
 * The interface of an encoder is in key_encoders.h, the table of types and their
 * encoders in key_encoders.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ENCODE_H
#define GPUSORT_ENCODE_H

#include "postgres.h"

#include "port/pg_bswap.h"

#include "keys/collation.h"
#include "keys/key_encoders.h"
#include "port/compat.h"
#include "port/toast.h"

#define BYTE_BITS(bytes)	((bytes) * BITS_PER_BYTE)
#define SIGN_BIT(bits)		(UINT64_C(1) << ((bits) - 1))

/* encode_numbers.c */
extern uint64_t bool_word(Datum value);
extern uint64_t char_word(Datum value);
extern uint64_t int2_word(Datum value);
extern uint64_t int4_word(Datum value);
extern uint64_t int8_word(Datum value);
extern uint64_t float4_word(Datum value);
extern uint64_t float8_word(Datum value);

/* encode_numeric.c */
extern bool encode_numeric_compact(KeyWriter *writer, Datum value);
extern bool encode_numeric_general(KeyWriter *writer, Datum value);

/* encode_times.c */
extern bool encode_timetz_compact(KeyWriter *writer, Datum value);
extern bool encode_timetz_general(KeyWriter *writer, Datum value);
extern bool encode_interval_compact(KeyWriter *writer, Datum value);
extern bool encode_interval_general(KeyWriter *writer, Datum value);

/* encode_identifiers.c */
extern uint64_t oid_word(Datum value);
extern uint64_t unsigned_word(Datum value);
extern uint64_t tid_word(Datum value);
extern bool encode_uuid(KeyWriter *writer, Datum value);

/* encode_enums.c */
extern bool encode_enum_compact(KeyWriter *writer, Datum value);
extern bool encode_enum_general(KeyWriter *writer, Datum value);

/* encode_network.c */
extern bool encode_inet_compact(KeyWriter *writer, Datum value);
extern bool encode_inet_general(KeyWriter *writer, Datum value);
extern uint64_t macaddr_word(Datum value);
extern uint64_t macaddr8_word(Datum value);

/* encode_strings.c */

/*
 * Appends characters: their bytes, or their sort key under the cache's
 * collation.
 */
extern bool encode_characters(KeyWriter *writer, const char *data, Size size);

extern bool encode_text(KeyWriter *writer, Datum value);
extern int	text_key(Datum value, uint64_t complement, uint64_t *words);
extern bool encode_bpchar(KeyWriter *writer, Datum value);
extern bool encode_name(KeyWriter *writer, Datum value);
extern bool encode_citext(KeyWriter *writer, Datum value);
extern bool encode_bytea(KeyWriter *writer, Datum value);
extern bool encode_bits_compact(KeyWriter *writer, Datum value);
extern bool encode_bits_general(KeyWriter *writer, Datum value);

/* encode_collated.c */
typedef struct CollatedColumn CollatedColumn;

/*
 * Begins a column of strings, or a part that is strings, in the current memory
 * context.
 */
extern CollatedColumn *encode_collated_begin(CollationTransform *transform,
											 KeyPlace place);

/* Appends a string's sort key under the column's collation; may refuse it. */
extern bool encode_collated(KeyWriter *writer, const char *string, Size size);

/*
 * Was the last string refused because the column's keys had better be longer?
 * Then encode_collated_wanted() says how long, and the caller has to call
 * encode_collated_change() or encode_collated_keep(), as for a prefix below.
 */
extern bool encode_collated_wants_change(const CollatedColumn *column);
extern Size encode_collated_wanted(const CollatedColumn *column);
extern void encode_collated_change(CollatedColumn *column, Size limit);
extern void encode_collated_keep(CollatedColumn *column);

/*
 * Makes the keys begin longer, for a sort of several processes, where changes
 * cost more.
 */
extern void encode_collated_share(CollatedColumn *column);

/* Are the keys so far certain to be in the order of the server's comparison? */
extern bool encode_collated_trusted(const CollatedColumn *column);

/* encode_prefix.c */
typedef struct StringPrefix StringPrefix;

/* A common prefix is looked for up to this length. */
#define PREFIX_MOST_BYTES	8192

/* Begins a column of strings that sort by their bytes, or of their sort keys. */
extern StringPrefix *encode_prefix_begin(void);

/*
 * Appends a byte that tells whether the string has the common prefix, and sets
 * how many of its first bytes are left out.  The caller appends the rest.  May
 * refuse the string.
 */
extern bool encode_prefix(KeyWriter *writer, const char *string, Size size,
						  Size *left_out);

/*
 * Was the last string refused because another prefix had better be left out?
 * Then encode_prefix_wanted() gives that prefix and returns its size, and the
 * caller has to call one of the next two functions.  With
 * encode_prefix_change() keys leave the prefix out from now on, and all keys
 * have to be made again.  With encode_prefix_keep() keys stay as they are.
 */
extern bool encode_prefix_wants_change(const StringPrefix *prefix);
extern Size encode_prefix_wanted(const StringPrefix *prefix,
								 const char **bytes);
extern void encode_prefix_change(StringPrefix *prefix, const char *bytes,
								 Size size);
extern void encode_prefix_keep(StringPrefix *prefix);

/* Bytes of the common prefix that keys leave out, 0 if none. */
extern Size encode_prefix_size(const StringPrefix *prefix);

/*
 * The two parts of encode_prefix(), for a caller that has only the beginning
 * of a string.
 *
 * encode_prefix_append_place() appends the byte that tells whether the string
 * has the common prefix, and returns how many of its first bytes are left out.
 *
 * encode_prefix_note() notes a string that found no room, by at least its
 * first encode_prefix_bytes_to_note() bytes.  Returns false to refuse the
 * string, as above.
 */
extern Size encode_prefix_append_place(KeyWriter *writer, const char *string,
									   Size size);
extern Size encode_prefix_bytes_to_note(const StringPrefix *prefix);
extern bool encode_prefix_note(StringPrefix *prefix, const char *string,
							   Size size);

/*
 * Do all strings noted since the last change begin with the same bytes, this many
 * or more, which the next change would leave out?
 */
extern bool encode_prefix_ties(const StringPrefix *prefix, Size size);

/* Is it still worth noting strings? */
extern bool encode_prefix_is_hoped_for(const StringPrefix *prefix);

/* encode_arrays.c */
typedef struct ArrayColumn ArrayColumn;

extern void encode_array_begin(KeyCache *cache, Oid collation, KeyPlace place);
extern Oid	encode_array_first(Oid type, Oid *family, Oid *collation);
extern bool encode_array(KeyWriter *writer, Datum value);

/* encode_ranges.c */
extern void encode_range_begin(KeyCache *cache, Oid collation, KeyPlace place);
extern Oid	encode_range_first(Oid type, Oid *family, Oid *collation);
extern bool encode_range(KeyWriter *writer, Datum value);
extern bool encode_multirange(KeyWriter *writer, Datum value);

/* encode_records.c */
extern void encode_record_begin(KeyCache *cache, Oid collation, KeyPlace place);
extern Oid	encode_record_first(Oid type, Oid *family, Oid *collation);

/*
 * Prepares the encoder for keys of several processes.  These cannot make keys
 * of the type record together, as its values may be of any row type.
 */
extern void encode_record_share(KeyCache *cache);

extern bool encode_record(KeyWriter *writer, Datum value);

/* encode_jsonb.c */
extern void encode_jsonb_begin(KeyCache *cache, Oid collation, KeyPlace place);

/*
 * Prepares the encoder for keys of several processes, which are longer, and
 * never change.
 */
extern void encode_jsonb_share(KeyCache *cache);

/*
 * Was the last document refused because a string that many documents have had
 * better be left out?  Then the caller has to call encode_jsonb_change(), and
 * all keys have to be made again.
 */
extern bool encode_jsonb_wants_change(const KeyCache *cache);
extern void encode_jsonb_change(KeyCache *cache);

extern bool encode_jsonb(KeyWriter *writer, Datum value);

/* encode_ltree.c */
extern bool encode_ltree(KeyWriter *writer, Datum value);

/* encode_hstore.c */
extern bool encode_hstore(KeyWriter *writer, Datum value);

/* encode_parts.c */

/*
 * Appends the key of a part.  Returns false to refuse the part, and with it
 * the value.  The writer's cache belongs to the value, before the call and
 * after.
 */
extern bool encode_part(KeyWriter *writer, KeyCache *part, Datum value);

/*
 * Appends the key of a value.  If a common prefix is looked for, the key
 * leaves it out.  The function encode() appends the key as it is.
 */
extern bool encode_parts(KeyWriter *writer, Datum value,
						 KeyEncodeFunction encode);

/* The next eight bytes, the first of them the most significant. */
static inline uint64_t
load_bytes(const void *bytes)
{
	uint64_t	loaded;

	memcpy(&loaded, bytes, sizeof(loaded));
	return pg_ntoh64(loaded);
}

/*
 * Reads "size" bytes, less than 8, into the low end of the result.  Reads
 * nothing behind these bytes, since they may be the last ones of a mapped
 * page.
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

/* Appends a string, and a byte behind it that is less than all bytes of strings. */
static inline void
encode_ended(KeyWriter *writer, const char *data, Size size, uint64_t end)
{
	KeyWriter	local = *writer;	/* for the compiler: nothing aliases it */
	Size		room = key_room(writer);

	/* the terminator finds no room then, and marks the key as truncated */
	size = Min(size, room);

	for (; size >= 8; data += 8, size -= 8)
		key_append(&local, load_bytes(data), 64);
	key_append(&local, load_tail(data, size) << 8 | end, BYTE_BITS(size + 1));
	*writer = local;
}

/* Appends a string that holds no zero byte, and a zero byte. */
static inline void
encode_string(KeyWriter *writer, const char *data, Size size)
{
	encode_ended(writer, data, size, 0);
}

#endif							/* GPUSORT_ENCODE_H */
