/*-------------------------------------------------------------------------
 *
 * encode_strings.c
 *	  Keys of strings: of characters, of bytes and of bits.
 *
 * The key of a string is its bytes and a zero byte.  The zero byte makes a
 * string come before longer strings that begin with it.  Characters whose
 * collation does not order by bytes go to encode_collated.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "port/pg_bitutils.h"
#include "utils/formatting.h"
#include "utils/memutils.h"

#include "keys/encode.h"

/*
 * Sets how many of the first bytes, which strings have in common, are left out
 * of the key.  May refuse the string.
 */
static inline bool
skip_prefix(KeyWriter *writer, const char *data, Size size, Size *left_out)
{
	const StringPrefix *prefix = writer->cache->prefix;

	*left_out = 0;
	return prefix == NULL ||
		(encode_prefix_size(prefix) == 0 && size < key_room(writer)) ||
		encode_prefix(writer, data, size, left_out);
}

/*
 * Text
 */

bool
encode_characters(KeyWriter *writer, const char *data, Size size)
{
	Size		left_out;

	if (unlikely(writer->cache->collated != NULL))
		return encode_collated(writer, data, size);
	if (!skip_prefix(writer, data, size, &left_out))
		return false;
	encode_string(writer, data + left_out, size - left_out);
	return true;
}

/* The bytes of a string that can matter to its key; -1 if all can. */
static inline int
bytes_that_matter(const KeyWriter *writer)
{
	const KeyCache *cache = writer->cache;

	/* To a collation the end may matter even for the first characters. */
	if (cache->collated != NULL)
		return -1;
	return key_room(writer) + 1 +
		(cache->prefix != NULL ? encode_prefix_size(cache->prefix) : 0);
}

/* text and varchar */
bool
encode_text(KeyWriter *writer, Datum value)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);

	if (unlikely(is_toasted(text)))
		text = encode_detoast(writer, text, bytes_that_matter(writer));
	return encode_characters(writer, VARDATA_ANY(text),
							 VARSIZE_ANY_EXHDR(text));
}

/* The whole key of a single text, written without leaving registers. */
int
text_key(Datum value, uint64_t complement, uint64_t *words)
{
	const struct varlena *text =
		(const struct varlena *) DatumGetPointer(value);
	KeyWriter	writer = {
		.next = words,
		.end = words + KEY_MAX_WORDS,
		.complement = complement
	};

	/* toasted values, and truncated keys, are for encode_text() */
	if (unlikely(is_toasted(text) ||
				 VARSIZE_ANY_EXHDR(text) >= key_room(&writer)))
		return 0;
	encode_string(&writer, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
	key_end(&writer);
	return writer.next - words;
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

bool
encode_bpchar(KeyWriter *writer, Datum value)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);

	/* Only the end tells which blanks are trailing. */
	if (unlikely(is_toasted(text)))
		text = encode_detoast(writer, text, -1);
	return encode_characters(writer, VARDATA_ANY(text),
							 size_without_blanks(VARDATA_ANY(text),
												 VARSIZE_ANY_EXHDR(text)));
}

bool
encode_name(KeyWriter *writer, Datum value)
{
	const char *name = NameStr(*DatumGetName(value));

	return encode_characters(writer, name, strnlen(name, NAMEDATALEN));
}

/*
 * citext, of the extension of that name.  Its comparator lowers both strings,
 * always by the rules of the database's default collation, and then compares
 * them under the collation of the sort.
 */
bool
encode_citext(KeyWriter *writer, Datum value)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);
	MemoryContext caller_context;
	char	   *lowered;

	/* the lowered form of a beginning may depend on what follows */
	if (unlikely(is_toasted(text)))
		text = encode_detoast(writer, text, -1);
	else
		MemoryContextReset(writer->value_context);

	caller_context = MemoryContextSwitchTo(writer->value_context);
	lowered = str_tolower(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text),
						  DEFAULT_COLLATION_OID);
	MemoryContextSwitchTo(caller_context);
	return encode_characters(writer, lowered, strlen(lowered));
}


/*
 * Bytes and bits
 *
 * The bytes zero and one are each written as two bytes, a one and the byte
 * plus one.  So a zero byte is only at the end.
 */

#define EACH_BYTE(byte)		(UINT64_C(0x0101010101010101) * (byte))

/* Is one of the eight bytes to be written as two? */
static inline bool
has_byte_to_escape(uint64_t bytes)
{
	/* the subtraction sets the highest bit of bytes less than 2 */
	return ((bytes - EACH_BYTE(2)) & ~bytes & EACH_BYTE(0x80)) != 0;
}

static void
append_escaped(KeyWriter *writer, const unsigned char *data, Size size)
{
	for (Size i = 0; i < size; i++)
	{
		if (data[i] < 2)
			key_append(writer, 0x0101 + data[i], 16);
		else
			key_append(writer, data[i], 8);
	}
}

/* Appends a string of any bytes, and a zero byte. */
static void
append_bytes(KeyWriter *writer, const char *data, Size size)
{
	Size		room = key_room(writer);

	/* the terminator finds no room then, and marks the key as truncated */
	size = Min(size, room);

	for (; size >= 8; data += 8, size -= 8)
	{
		uint64_t	bytes = load_bytes(data);

		if (unlikely(has_byte_to_escape(bytes)))
			append_escaped(writer, (const unsigned char *) data, 8);
		else
			key_append(writer, bytes, 64);
	}
	append_escaped(writer, (const unsigned char *) data, size);
	key_append(writer, 0, 8);
}

bool
encode_bytea(KeyWriter *writer, Datum value)
{
	struct varlena *bytes = (struct varlena *) DatumGetPointer(value);
	Size		left_out;

	if (unlikely(is_toasted(bytes)))
		bytes = encode_detoast(writer, bytes, bytes_that_matter(writer));
	if (!skip_prefix(writer, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
					 &left_out))
		return false;
	append_bytes(writer, VARDATA_ANY(bytes) + left_out,
				 VARSIZE_ANY_EXHDR(bytes) - left_out);
	return true;
}

/*
 * A bit string is stored as the number of its bits, and the bytes that the
 * bits need, filled up with zero bits.  The bytes compare first, then the
 * number.
 */
typedef struct StoredBits
{
	int32		nbits;
	const char *data;
	Size		size;
} StoredBits;

static inline StoredBits
get_bits(struct varlena *stored)
{
	StoredBits	bits;

	memcpy(&bits.nbits, VARDATA_ANY(stored), sizeof(bits.nbits));
	bits.data = VARDATA_ANY(stored) + sizeof(bits.nbits);
	bits.size = VARSIZE_ANY_EXHDR(stored) - sizeof(bits.nbits);
	return bits;
}

/* The compact form: seven bytes, filled up with zeros, and the number of bits. */
bool
encode_bits_compact(KeyWriter *writer, Datum value)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	StoredBits	bits;

	/* A string that was worth compressing does not fit. */
	if (unlikely(is_toasted(stored)))
		return false;
	bits = get_bits(stored);
	if (unlikely(bits.size > 7))
		return false;
	key_append(writer,
			   load_tail(bits.data, bits.size) << BYTE_BITS(7 - bits.size) << 8 |
			   bits.nbits, 64);
	return true;
}

/*
 * The general form: all bytes, escaped and ended, and how many bits of the last
 * one count.
 */
bool
encode_bits_general(KeyWriter *writer, Datum value)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	StoredBits	bits;

	if (unlikely(is_toasted(stored)))
		stored = encode_detoast(writer, stored,
								sizeof(bits.nbits) + key_room(writer) + 1);
	bits = get_bits(stored);
	append_bytes(writer, bits.data, bits.size);
	key_append(writer, bits.nbits % BITS_PER_BYTE == 0 ? BITS_PER_BYTE :
			   bits.nbits % BITS_PER_BYTE, 8);
	return true;
}
