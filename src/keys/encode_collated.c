/*-------------------------------------------------------------------------
 *
 * encode_collated.c
 *	  Keys of strings under collations that do not order by bytes.
 *
 * The key is the string's sort key and, where the collation breaks ties, the
 * string itself, each ended by a zero byte.
 *
 * A whole sort key is often longer than the string, and takes many times as
 * long to make as the few first bytes that core's sort uses.  Mostly the first
 * bytes decide.  So the keys of a column begin with one word of the sort key,
 * and rows for which that is too little are left to the comparators.  If the
 * first strings show that there would be many such rows, longer keys are made
 * of all rows.  Samples of later strings can show it, too, as with names that
 * end in a rising number.
 *
 * Longer keys are also made when equal strings come again and again and other
 * columns follow in the key: nothing can follow a truncated sort key.
 *
 * If all sort keys begin alike, their common prefix is left out
 * (encode_prefix.c), and the limit applies to the bytes behind it.
 *
 * Inside a value of several parts a sort key is as long as a key can be, since
 * nothing can follow a truncated sort key, and the parts behind it mostly
 * matter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "keys/collation.h"
#include "keys/encode.h"
#include "keys/recent_keys.h"

/* Bytes of a sort key at first, by how much the bytes grow each time, ... */
#define FIRST_LIMIT			8
#define LIMIT_FACTOR		2
#define FIRST_SHARED_LIMIT	16
#define GREATEST_LIMIT		(KEY_MAX_WORDS * sizeof(uint64_t))

/*
 * Most bytes of a sort key inside a value; the key ends behind a longer one.
 * encode_parts() may have room for more bytes.  But the comparator finds equal
 * strings equal without sort keys.  So where values begin with the same long
 * string, sort keys must not take longer than the comparator.
 */
#define LIMIT_INSIDE		GREATEST_LIMIT

/* The longest sort key that is looked at, with what all of them begin with. */
#define MOST_SORT_KEY_BYTES	(PREFIX_MOST_BYTES + GREATEST_LIMIT + sizeof(uint64_t))

/*
 * Beginnings of truncated strings in a sample, and how many of them may be equal.
 * That is few, as a million rows have many more in common than a thousand.
 */
#define SAMPLE_SIZE			1024
#define SAMPLE_CLASHES		3

/*
 * The numbers of the strings with which samples begin: the first truncated
 * string, then SECOND_SAMPLE, then each time SAMPLE_FACTOR times as many, up
 * to LAST_SAMPLE.
 */
#define SECOND_SAMPLE		16384
#define SAMPLE_FACTOR		16
#define LAST_SAMPLE			(SECOND_SAMPLE * SAMPLE_FACTOR)

/* Bytes of a string that tell it from others. */
#define SAMPLE_BYTES		256

/*
 * A power of two, large enough that two strings of a sample rarely share a
 * slot.
 */
#define SAMPLE_SLOTS		8192

typedef struct SampledString
{
	uint32		beginning;		/* hashes; 0 if the slot is free */
	uint32		string;
} SampledString;

struct CollatedColumn
{
	CollationTransform *transform;
	bool		is_last;		/* no other column follows in the sort */
	bool		breaks_ties;
	Size		limit;			/* bytes of a sort key that are used */
	bool		wants_change;	/* keys had better be longer */
	uint32		until_sample;	/* strings to come before the next sample, if
								 * there is none */
	uint32		next_sample;	/* number of the sample's first string; 0: no
								 * sample */
	int			nsampled;
	int			nclashes;
	SampledString *sample;		/* SAMPLE_SLOTS, or NULL */
	char	   *bytes;			/* the present string's sort key */
	RecentKeys *recent;			/* of a part, whose sort keys are long */
	MemoryContext context;		/* context of all this */
};

static void
begin_sample(CollatedColumn *column)
{
	Size		bytes = SAMPLE_SLOTS * sizeof(SampledString);

	column->nsampled = 0;
	column->nclashes = 0;
	if (column->sample == NULL)
		column->sample = MemoryContextAlloc(column->context, bytes);
	memset(column->sample, 0, bytes);
}

static void
end_sample(CollatedColumn *column)
{
	pfree(column->sample);
	column->sample = NULL;
}

/*
 * Keeps the limit as it is.  Another sample begins later, up to LAST_SAMPLE.
 */
static void
accept_sample(CollatedColumn *column)
{
	end_sample(column);
	column->until_sample = column->next_sample;
	column->next_sample = column->next_sample < LAST_SAMPLE ?
		column->next_sample * SAMPLE_FACTOR : 0;
}

CollatedColumn *
encode_collated_begin(CollationTransform *transform, KeyPlace place)
{
	CollatedColumn *column = palloc0(sizeof(CollatedColumn));

	column->transform = transform;
	column->is_last = place == KEY_OF_LAST_COLUMN;
	column->breaks_ties = collation_breaks_ties(transform);
	column->limit = FIRST_LIMIT;
	column->bytes = palloc(MOST_SORT_KEY_BYTES + COLLATION_SLACK);
	column->context = CurrentMemoryContext;
	if (place == KEY_INSIDE)
	{
		column->limit = LIMIT_INSIDE;
		column->recent = recent_keys_create();
		return column;
	}
	column->next_sample = SECOND_SAMPLE;
	begin_sample(column);
	return column;
}

bool
encode_collated_trusted(const CollatedColumn *column)
{
	return collation_is_trusted(column->transform);
}

bool
encode_collated_wants_change(const CollatedColumn *column)
{
	return column->wants_change;
}

Size
encode_collated_wanted(const CollatedColumn *column)
{
	return column->limit * LIMIT_FACTOR;
}

void
encode_collated_share(CollatedColumn *column)
{
	column->limit = Max(column->limit, FIRST_SHARED_LIMIT);
}

void
encode_collated_change(CollatedColumn *column, Size limit)
{
	column->wants_change = false;
	column->limit = limit;
	column->until_sample = 0;
	if (limit < GREATEST_LIMIT)
	{
		column->next_sample = SECOND_SAMPLE;
		begin_sample(column);
	}
	else if (column->sample != NULL)
		end_sample(column);
}

void
encode_collated_keep(CollatedColumn *column)
{
	column->wants_change = false;
	accept_sample(column);
}

/*
 * Adds a string whose sort key was truncated to the sample.  Returns false if
 * beginnings of this length do not tell strings apart, and keys shall be
 * longer.  With "all_alike" all strings begin alike; then to leave the common
 * prefix out will tell more than longer keys.
 */
static bool
sample_string(CollatedColumn *column, const char *beginning, Size limit,
			  const char *string, Size size, bool all_alike)
{
	uint32		beginning_hash = hash_bytes((const unsigned char *) beginning,
											limit) | 1;
	uint32		string_hash = hash_bytes((const unsigned char *) string,
										 Min(size, SAMPLE_BYTES));
	SampledString *slot =
		&column->sample[(beginning_hash >> 1) % SAMPLE_SLOTS];

	if (slot->beginning == beginning_hash)
	{
		if (slot->string != string_hash || !column->is_last)
			column->nclashes++;
	}
	else
	{
		slot->beginning = beginning_hash;
		slot->string = string_hash;
	}
	column->nsampled++;
	if (all_alike)
		column->nclashes = 0;
	if (column->nclashes > SAMPLE_CLASHES)
	{
		column->wants_change = true;
		return false;
	}
	if (column->nsampled == SAMPLE_SIZE)
		accept_sample(column);
	return true;
}

/* Is a string whose sort key was truncated to be sampled? */
static inline bool
is_sampled(CollatedColumn *column)
{
	if (likely(column->sample == NULL && column->until_sample == 0))
		return false;
	if (column->sample == NULL && --column->until_sample == 0)
		begin_sample(column);
	return column->sample != NULL;
}

/*
 * The limit, in bytes, at which a truncated key ends with a whole word, if
 * "before" more bytes stand ahead of it.  The limit is the same for keys that
 * are equal so far.
 */
static Size
limit_in_key(const CollatedColumn *column, const KeyWriter *writer, Size before)
{
	Size		filled = writer->filled / BITS_PER_BYTE + before;
	Size		beyond = (filled + column->limit) % sizeof(uint64_t);
	Size		limit = column->limit - beyond;
	Size		room = key_room(writer);

	/* a byte of flags, or one of "before", may take away one */
	if (beyond > 1)
		limit += sizeof(uint64_t);
	return Min(limit, room > before ? room - before : 0);
}

/* Appends the beginning of a sort key, after which the key ends. */
static inline void
append_cut(KeyWriter *writer, const char *bytes, Size size)
{
	for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t))
	{
		key_append(writer, load_bytes(bytes), 64);
		bytes += sizeof(uint64_t);
	}
	if (size > 0)
		key_append(writer, load_tail(bytes, size), BYTE_BITS(size));
	writer->truncated = true;
}

/*
 * Notes a string whose sort key was truncated; the first "length" bytes of the
 * sort key are there.  The rest is made only if it matters, which it hardly
 * does but for the first string.
 */
static bool
note_cut(CollatedColumn *column, StringPrefix *prefix, const char *string,
		 Size size, Size length)
{
	Size		wanted = encode_prefix_bytes_to_note(prefix);

	if (unlikely(wanted > length))
		length = collation_transform(column->transform, string, size,
									 column->bytes, wanted);
	return encode_prefix_note(prefix, column->bytes, length);
}

/* Returns the beginning of a string's sort key, and sets its length. */
static inline const char *
make_sort_key(CollatedColumn *column, const char *string, Size size,
			  Size limit, Size *length)
{
	if (column->recent != NULL)
		return recent_keys_transform(column->recent, column->transform,
									 string, size, column->bytes, limit, length);
	*length = collation_transform(column->transform, string, size,
								  column->bytes, limit);
	return column->bytes;
}

bool
encode_collated(KeyWriter *writer, const char *string, Size size)
{
	CollatedColumn *column = writer->cache->collated;
	StringPrefix *prefix = writer->cache->prefix;
	Size		common = prefix != NULL ? encode_prefix_size(prefix) : 0;
	Size		limit = limit_in_key(column, writer, common > 0 ? 1 : 0);
	Size		length;
	const char *bytes = make_sort_key(column, string, size, common + limit,
									  &length);
	Size		left_out = encode_prefix_append_place(writer, bytes, length);

	bytes += left_out;
	if (length - left_out < limit)
	{
		encode_string(writer, bytes, length - left_out);
		if (column->breaks_ties)
			encode_string(writer, string, size);
		return true;
	}

	append_cut(writer, bytes, limit);
	/* a string behind the end of the key would find no room in any case */
	if (limit == 0 || prefix == NULL)
		return true;
	return (likely(!is_sampled(column)) ||
			sample_string(column, bytes, limit, string, size,
						  encode_prefix_ties(prefix, left_out + limit))) &&
		note_cut(column, prefix, string, size, length);
}
