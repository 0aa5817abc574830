/*-------------------------------------------------------------------------
 *
 * encode_parts.c
 *	  Keys of values that have parts.
 *
 * A part is written in the general form of its type.
 *
 * A key has room for the first bytes of its parts.  If these bytes are the
 * same in all values, the common prefix is left out, as for strings
 * (encode_prefix.c).  To find the prefix, or to leave it out, the bytes are
 * first written elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/encode.h"

bool
encode_part(KeyWriter *writer, KeyCache *part, Datum value)
{
	KeyCache   *cache = writer->cache;
	uint64_t	complement = writer->complement;
	const KeyForm *form;
	bool		taken = true;

	if (unlikely(part->encoder == NULL))
	{
		writer->truncated = true;
		return true;
	}
	form = &part->encoder->general;
	if (form->word != NULL)
	{
		key_append(writer, form->word(value), BYTE_BITS(form->bytes));
		return true;
	}
	writer->cache = part;
	taken = form->encode(writer, value);
	writer->cache = cache;
	writer->complement = complement;
	return taken;
}

/* The bytes that a value is written as, or their beginning. */
typedef struct WrittenBytes
{
	char	   *bytes;
	Size		size;
	bool		truncated;		/* there are more bytes */
} WrittenBytes;

/*
 * Room for a prefix, for what a key has room for, and for what stands ahead.
 */
#define WRITTEN_WORDS	(PREFIX_MOST_BYTES / sizeof(uint64_t) + KEY_MAX_WORDS + 1)

/*
 * Writes the bytes of a value, at least those that the caller needs.  Returns
 * false to refuse the value.
 */
static bool
write_bytes(const KeyWriter *writer, Datum value, KeyEncodeFunction encode,
			Size needed, uint64_t *words, WrittenBytes *written)
{
	Size		nwords = Min(needed / sizeof(uint64_t) + 1, WRITTEN_WORDS);
	KeyWriter	bytes = {
		.next = words,
		.end = words + nwords,
		.cache = writer->cache,
		.value_context = writer->value_context
	};

	if (!encode(&bytes, value))
		return false;
	written->bytes = (char *) words;
	written->size = Min((bytes.next - words) * sizeof(uint64_t) +
						bytes.filled / BITS_PER_BYTE,
						nwords * sizeof(uint64_t));
	key_end(&bytes);
	written->truncated = bytes.truncated;
	for (uint64_t *word = words; word < bytes.next; word++)
		*word = pg_hton64(*word);
	return true;
}

/* Appends bytes, as far as there is room. */
static void
append_bytes(KeyWriter *writer, const char *bytes, Size size)
{
	for (; size >= sizeof(uint64_t) && !writer->truncated;
		 size -= sizeof(uint64_t))
	{
		key_append(writer, load_bytes(bytes), 64);
		bytes += sizeof(uint64_t);
	}
	if (size > 0 && !writer->truncated)
		key_append(writer, load_tail(bytes, size), BYTE_BITS(size));
}

/*
 * Appends what follows the common prefix, or the whole key if it lacks the
 * prefix.
 */
static pg_noinline bool
append_without_prefix(KeyWriter *writer, Datum value, KeyEncodeFunction encode)
{
	StringPrefix *prefix = writer->cache->prefix;
	Size		room = key_room(writer);
	uint64_t	words[WRITTEN_WORDS];
	WrittenBytes written;
	Size		left_out;

	if (!write_bytes(writer, value, encode, encode_prefix_size(prefix) + room,
					 words, &written))
		return false;
	left_out = encode_prefix_append_place(writer, written.bytes, written.size);
	append_bytes(writer, written.bytes + left_out, written.size - left_out);
	if (written.truncated)
		writer->truncated = true;
	return !key_is_truncated(writer) || room == 0 ||
		encode_prefix_note(prefix, written.bytes, written.size);
}

/* Notes a value whose key was truncated. */
static pg_noinline bool
note_truncated(KeyWriter *writer, Datum value, KeyEncodeFunction encode)
{
	StringPrefix *prefix = writer->cache->prefix;
	uint64_t	words[WRITTEN_WORDS];
	WrittenBytes written;

	return write_bytes(writer, value, encode,
					   encode_prefix_bytes_to_note(prefix), words, &written) &&
		encode_prefix_note(prefix, written.bytes, written.size);
}

/* Parts of parts come here too, so this takes little of the stack. */
bool
encode_parts(KeyWriter *writer, Datum value, KeyEncodeFunction encode)
{
	StringPrefix *prefix = writer->cache->prefix;
	Size		room;

	if (prefix == NULL)
		return encode(writer, value);
	if (encode_prefix_size(prefix) > 0)
		return append_without_prefix(writer, value, encode);

	room = key_room(writer);
	if (!encode(writer, value))
		return false;
	/* a key that had no room to begin with tells nothing */
	return likely(!key_is_truncated(writer)) || room == 0 ||
		!encode_prefix_is_hoped_for(prefix) ||
		note_truncated(writer, value, encode);
}
