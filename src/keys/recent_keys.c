/*-------------------------------------------------------------------------
 *
 * recent_keys.c
 *	  The sort keys of strings that came a short while ago.
 *
 * Columns of strings often hold the same few strings again and again.  To make
 * a long sort key takes several times as long as to find it again.  So each
 * sort key is kept in a table, at a place that depends on the string, until
 * another string takes the place.
 *
 * If too few strings of a period are found, the table is not used for some
 * time.  This time doubles with each such period.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/encode.h"
#include "keys/recent_keys.h"

/* Places of the table. */
#define SLOT_BITS			10
#define NSLOTS				(1 << SLOT_BITS)

/* Most bytes of a string and its sort key together. */
#define SLOT_BYTES			248

/* To find the beginning of a sort key takes as long as to make this many bytes. */
#define LEAST_LIMIT			24

/*
 * Of the strings of a period one in FOUND_PART has to be found.  Otherwise the
 * table rests for FIRST_REST strings, and later for up to LAST_REST strings.
 */
#define PERIOD				1024
#define FOUND_PART			4
#define FIRST_REST			8192
#define LAST_REST			(FIRST_REST * 128)

typedef struct RecentKey
{
	uint16		size;			/* bytes of the string */
	uint16		length;			/* bytes of the sort key; 0 if the slot is
								 * free */
	bool		whole;			/* these bytes are the whole sort key */
	char		bytes[SLOT_BYTES];	/* the string and its sort key */
} RecentKey;

struct RecentKeys
{
	bool		rests;
	uint32		left;			/* strings until the period or the rest ends */
	uint32		nfound;			/* strings of the period that were found */
	uint32		next_rest;		/* strings of the next rest */
	RecentKey  *slots;			/* NSLOTS, or NULL */
	MemoryContext context;
};

RecentKeys *
recent_keys_create(void)
{
	RecentKeys *recent = palloc0(sizeof(RecentKeys));

	recent->left = PERIOD;
	recent->next_rest = FIRST_REST;
	recent->context = CurrentMemoryContext;
	return recent;
}

/* Begins the next period, or a rest. */
static pg_noinline void
begin_period(RecentKeys *recent)
{
	recent->rests = !recent->rests && recent->nfound < PERIOD / FOUND_PART;
	recent->nfound = 0;
	recent->left = PERIOD;
	if (recent->rests)
	{
		recent->left = recent->next_rest;
		recent->next_rest = Min(recent->next_rest * 2, LAST_REST);
	}
}

static pg_noinline void
create_slots(RecentKeys *recent)
{
	recent->slots = MemoryContextAllocZero(recent->context,
										   NSLOTS * sizeof(RecentKey));
}

/*
 * The slot of a string, by its length and its first, middle and last bytes.
 */
static inline RecentKey *
find_slot(const RecentKeys *recent, const char *string, Size size)
{
	uint64_t	hash = size;

	if (size < sizeof(uint64_t))
		hash += load_tail(string, size) << BITS_PER_BYTE;
	else
		hash += load_bytes(string) +
			load_bytes(string + (size - sizeof(uint64_t)) / 2) * 3 +
			load_bytes(string + size - sizeof(uint64_t)) * 5;
	/* the highest bits of this product depend on all bits of the factor */
	hash *= UINT64_C(0x9E3779B97F4A7C15);
	return &recent->slots[hash >> (64 - SLOT_BITS)];
}

static inline bool
has_key(const RecentKey *slot, const char *string, Size size, Size limit)
{
	return slot->length > 0 && slot->size == size &&
		(slot->whole || slot->length >= limit) &&
		memcmp(slot->bytes, string, size) == 0;
}

static void
keep_key(RecentKey *slot, const char *string, Size size,
		 const char *bytes, Size length, bool whole)
{
	if (size + length > SLOT_BYTES)
		return;
	slot->size = size;
	slot->length = length;
	slot->whole = whole;
	memcpy(slot->bytes, string, size);
	memcpy(slot->bytes + size, bytes, length);
}

const char *
recent_keys_transform(RecentKeys *recent, CollationTransform *transform,
					  const char *string, Size size,
					  char *bytes, Size limit, Size *length)
{
	RecentKey  *slot;

	if (unlikely(recent->left-- == 0))
		begin_period(recent);
	if (recent->rests || size >= SLOT_BYTES || limit < LEAST_LIMIT)
	{
		*length = collation_transform(transform, string, size, bytes, limit);
		return bytes;
	}

	if (unlikely(recent->slots == NULL))
		create_slots(recent);
	slot = find_slot(recent, string, size);
	if (likely(has_key(slot, string, size, limit)))
	{
		recent->nfound++;
		*length = Min(slot->length, limit);
		return slot->bytes + size;
	}
	*length = collation_transform(transform, string, size, bytes, limit);
	keep_key(slot, string, size, bytes, *length, *length < limit);
	return bytes;
}
