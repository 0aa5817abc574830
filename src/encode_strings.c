/*-------------------------------------------------------------------------
 *
 * encode_strings.c
 *	  Keys of strings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "encode.h"

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
bool
encode_text(KeyWriter *writer, Datum value)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);

	if (unlikely(is_toasted(text)))
		text = encode_detoast(writer, text, key_room(writer) + 1);
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

bool
encode_bpchar(KeyWriter *writer, Datum value)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);

	/* Only the end tells which blanks are trailing. */
	if (unlikely(is_toasted(text)))
		text = encode_detoast(writer, text, -1);
	append_string(writer, VARDATA_ANY(text),
				  size_without_blanks(VARDATA_ANY(text),
									  VARSIZE_ANY_EXHDR(text)));
	return true;
}

bool
encode_name(KeyWriter *writer, Datum value)
{
	const char *name = NameStr(*DatumGetName(value));

	append_string(writer, name, strnlen(name, NAMEDATALEN));
	return true;
}
