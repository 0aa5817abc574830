/*-------------------------------------------------------------------------
 *
 * encode_hstore.c
 *	  Keys of hstore, a type of the extension of that name.
 *
 * The comparator first compares the bytes of all names and values, which are
 * stored one behind another.  The first bytes that differ decide; if all bytes
 * of one hstore begin the other, the longer one is greater.  Then the number
 * of pairs counts, and then where each name and each value ends.  A NULL is
 * greater than an empty string.
 *
 * The numbers behind the bytes decide little.  So they are written in as few
 * bytes as the length of all names and values allows.  This length is the same
 * in two keys that are equal up to there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "keys/encode.h"

/* The number of pairs, with which a value begins; versions before 9.0 had no mark. */
#define PRESENT_VERSION		0x80000000
#define COUNT_MASK			0x0FFFFFFF

/* An entry, of which there is one for each name and each value. */
#define ENTRY_NULL			0x40000000
#define ENTRY_END_MASK		0x3FFFFFFF

typedef struct varlena *(*UpgradeFunction) (Datum value);

static inline uint32
load_number(const char *stored)
{
	uint32		number;

	memcpy(&number, stored, sizeof(number));
	return number;
}

/*
 * Converts a value of an old version as the extension itself does.  A database
 * that was upgraded in place may still have such values.
 */
static pg_noinline struct varlena *
upgrade_value(KeyWriter *writer, Datum value)
{
	static UpgradeFunction upgrade = NULL;
	MemoryContext caller_context;
	struct varlena *upgraded;

	if (upgrade == NULL)
		upgrade = (UpgradeFunction)
			load_external_function("$libdir/hstore", "hstoreUpgrade", true, NULL);
	MemoryContextReset(writer->value_context);
	caller_context = MemoryContextSwitchTo(writer->value_context);
	upgraded = upgrade(value);
	MemoryContextSwitchTo(caller_context);
	return upgraded;
}

/* Appends the number of pairs, and the end of each of their names and values. */
static void
append_entries(KeyWriter *writer, const char *entries, uint32 npairs, Size size)
{
	/* names differ, so there is at most one pair more than bytes */
	int			bits = size < 128 ? 8 : size < 32768 ? 16 : 32;

	key_append(writer, npairs, bits);
	for (uint32 i = 0; i < npairs * 2 && !writer->truncated; i++)
	{
		uint32		entry = load_number(entries + i * sizeof(uint32));

		key_append(writer, (entry & ENTRY_END_MASK) << 1 |
				   ((entry & ENTRY_NULL) != 0 ? 1 : 0), bits);
	}
}

static bool
append_pairs(KeyWriter *writer, Datum value)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	uint32		npairs;
	const char *entries;
	const char *bytes;
	Size		size;

	if (unlikely(is_toasted(stored)))
		stored = encode_detoast(writer, stored, -1);
	if (unlikely((load_number(VARDATA_ANY(stored)) & PRESENT_VERSION) == 0))
		stored = upgrade_value(writer, value);

	npairs = load_number(VARDATA_ANY(stored)) & COUNT_MASK;
	entries = VARDATA_ANY(stored) + sizeof(uint32);
	bytes = entries + npairs * 2 * sizeof(uint32);
	size = npairs == 0 ? 0 :
		load_number(bytes - sizeof(uint32)) & ENTRY_END_MASK;

	encode_string(writer, bytes, size);
	if (!writer->truncated)
		append_entries(writer, entries, npairs, size);
	return true;
}

bool
encode_hstore(KeyWriter *writer, Datum value)
{
	return encode_parts(writer, value, append_pairs);
}
