/*-------------------------------------------------------------------------
 *
 * encode_prefix.c
 *	  Keys of long strings that begin alike.
 *
 * A key has room for the first bytes of a string.  If these bytes are the same
 * in all strings, as in addresses of pages, keys decide nothing.  So once many
 * strings have found no room, their common prefix is left out of keys.  A byte
 * tells whether a string comes before all strings with the prefix, has the
 * prefix, or comes after.  Behind the byte stands the whole string, or what
 * follows the prefix.
 *
 * The keys made so far are made again then.  Later strings need not have the
 * prefix: it is left out only where it is found.
 *
 * Under collations that do not order by bytes, the strings here are sort keys
 * (encode_collated.c).  For values with parts, the strings are the bytes of
 * the parts (encode_parts.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/encode.h"

/* A prefix is worth leaving out from this length on. */
#define LEAST_BYTES			16

/*
 * The prefix is looked at after this many strings without room, and then each
 * time there are this many times more.
 */
#define FIRST_STRINGS		128
#define MORE_STRINGS		16

struct StringPrefix
{
	Size		size;			/* bytes that are left out; 0: none */
	char	   *bytes;
	uint32		nlong;			/* strings that the present prefix has left
								 * too long */
	uint32		next_look;		/* number of strings at which the next prefix
								 * is chosen */
	Size		common_size;	/* bytes that these strings have in common */
	char	   *common;
	bool		wants_change;	/* these common bytes had better be left out */
	MemoryContext context;		/* context of all this */
};

StringPrefix *
encode_prefix_begin(void)
{
	StringPrefix *prefix = palloc0(sizeof(StringPrefix));

	prefix->next_look = FIRST_STRINGS;
	prefix->context = CurrentMemoryContext;
	return prefix;
}

bool
encode_prefix_wants_change(const StringPrefix *prefix)
{
	return prefix->wants_change;
}

Size
encode_prefix_wanted(const StringPrefix *prefix, const char **bytes)
{
	*bytes = prefix->common;
	return prefix->common_size;
}

Size
encode_prefix_size(const StringPrefix *prefix)
{
	return prefix->size;
}

/* How many bytes two strings of this length begin with are the same. */
static Size
count_common(const char *a, const char *b, Size size)
{
	Size		count = 0;

	if (memcmp(a, b, size) == 0)
		return size;
	while (a[count] == b[count])
		count++;
	return count;
}

Size
encode_prefix_bytes_to_note(const StringPrefix *prefix)
{
	return prefix->nlong == 0 ? PREFIX_MOST_BYTES : prefix->common_size;
}

bool
encode_prefix_ties(const StringPrefix *prefix, Size size)
{
	return prefix->nlong > 0 && prefix->common_size >= Max(size, LEAST_BYTES);
}

/* What strings have in common only becomes less. */
bool
encode_prefix_is_hoped_for(const StringPrefix *prefix)
{
	return prefix->nlong == 0 || prefix->common_size >= LEAST_BYTES;
}

/* Notes what a string has in common with those before. */
static void
note_string(StringPrefix *prefix, const char *string, Size size)
{
	if (prefix->common == NULL)
		prefix->common = MemoryContextAlloc(prefix->context, PREFIX_MOST_BYTES);
	if (prefix->nlong++ == 0)
	{
		prefix->common_size = Min(size, PREFIX_MOST_BYTES);
		memcpy(prefix->common, string, prefix->common_size);
	}
	else
		prefix->common_size = count_common(prefix->common, string,
										   Min(size, prefix->common_size));
}

/* Is the common prefix worth leaving out, and not left out already? */
static bool
is_better(const StringPrefix *prefix)
{
	return prefix->common_size >= LEAST_BYTES &&
		(prefix->common_size != prefix->size ||
		 memcmp(prefix->common, prefix->bytes, prefix->size) != 0);
}

void
encode_prefix_change(StringPrefix *prefix, const char *bytes, Size size)
{
	if (prefix->bytes == NULL)
		prefix->bytes = MemoryContextAlloc(prefix->context, PREFIX_MOST_BYTES);
	memcpy(prefix->bytes, bytes, size);
	prefix->size = size;
	encode_prefix_keep(prefix);
}

void
encode_prefix_keep(StringPrefix *prefix)
{
	prefix->nlong = 0;
	prefix->next_look *= MORE_STRINGS;
	prefix->wants_change = false;
}

bool
encode_prefix_note(StringPrefix *prefix, const char *string, Size size)
{
	note_string(prefix, string, size);
	if (prefix->nlong != prefix->next_look)
		return true;
	if (is_better(prefix))
		prefix->wants_change = true;
	else
		prefix->next_look *= MORE_STRINGS;
	return !prefix->wants_change;
}

/*
 * Returns less than zero if the string comes before all strings with the
 * prefix, zero if it has the prefix, and more than zero if it comes after.
 */
static int
place_of_string(const StringPrefix *prefix, const char *string, Size size)
{
	int			place = memcmp(string, prefix->bytes, Min(size, prefix->size));

	return place == 0 && size < prefix->size ? -1 : place;
}

Size
encode_prefix_append_place(KeyWriter *writer, const char *string, Size size)
{
	const StringPrefix *prefix = writer->cache->prefix;
	int			place;

	if (prefix == NULL || prefix->size == 0)
		return 0;
	place = place_of_string(prefix, string, size);
	key_append(writer, place < 0 ? 0 : place == 0 ? 1 : 2, 8);
	return place == 0 ? prefix->size : 0;
}

bool
encode_prefix(KeyWriter *writer, const char *string, Size size,
			  Size *left_out)
{
	Size		room;

	*left_out = encode_prefix_append_place(writer, string, size);
	/* a string behind the end of the key would find no room in any case */
	room = key_room(writer);
	return room == 0 || size - *left_out < room ||
		encode_prefix_note(writer->cache->prefix, string, size);
}
