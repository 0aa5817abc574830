/*-------------------------------------------------------------------------
 *
 * group_keys.c
 *	  The beginnings of keys, which tell groups and peers apart.
 *
 * The columns of a group, or of peers, may end within a word.  So a mask tells
 * which bits of the words count.  Where neighbours are told apart column by
 * column, the first bit in which two rows differ tells the column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "sort/group_keys.h"

/* Rows for which there is room at first; the room is doubled as rows come. */
#define FIRST_ROWS			1024

/* From many rows on the room grows by this part of it only. */
#define GROWTH_PART			8
#define MANY_ROWS			65536

#define WORD_BITS			64

GroupKeys *
group_keys_create(void)
{
	GroupKeys  *keys = palloc0(sizeof(GroupKeys));

	keys->context = CurrentMemoryContext;
	return keys;
}

/* Sets the first bits of the words. */
static void
set_bits(uint64_t *mask, int bits)
{
	for (int i = 0; i < MOST_GROUP_WORDS; i++, bits -= WORD_BITS)
	{
		if (bits >= WORD_BITS)
			mask[i] = PG_UINT64_MAX;
		else
			mask[i] = bits > 0 ? PG_UINT64_MAX << (WORD_BITS - bits) : 0;
	}
}

/*
 * Finds where each of the first columns ends in a key, as far as the words can
 * tell the columns.
 */
static void
find_columns(GroupKeys *keys, const SortKeys *layout)
{
	int			wanted = Max(keys->npeer_columns, keys->nstart_columns);

	keys->nknown = 0;
	while (keys->nknown < Min(wanted, MOST_GROUP_COLUMNS))
	{
		int			bits = sort_keys_fixed_bits(layout, keys->nknown + 1);

		if (bits == 0 || bits > MOST_GROUP_WORDS * WORD_BITS)
			break;
		keys->column_end[keys->nknown++] = bits;
	}
	/* groups that are not told apart need no words, unless starts do */
	if (keys->nstart_columns == 0 && !group_keys_tell_peers(keys))
		keys->nknown = 0;
}

void
group_keys_restart(GroupKeys *keys, const SortKeys *layout)
{
	int			nwords;

	find_columns(keys, layout);
	nwords = keys->nknown == 0 ? 0 :
		(keys->column_end[keys->nknown - 1] + WORD_BITS - 1) / WORD_BITS;
	if (nwords != keys->nwords && keys->words != NULL)
	{
		pfree(keys->words);
		keys->words = NULL;
		keys->max_rows = 0;
	}
	keys->nwords = nwords;
	keys->nrows = 0;
	if (group_keys_tell_peers(keys))
	{
		set_bits(keys->group_mask,
				 keys->column_end[keys->ngroup_columns - 1]);
		set_bits(keys->peer_mask, keys->column_end[keys->npeer_columns - 1]);
	}
}

void
group_keys_grow(GroupKeys *keys)
{
	Size		bytes;

	if (keys->max_rows < MANY_ROWS)
		keys->max_rows = Max(FIRST_ROWS, keys->max_rows * 2);
	else
		keys->max_rows += keys->max_rows / GROWTH_PART;
	bytes = group_keys_memory(keys);
	keys->words = keys->words == NULL ?
		MemoryContextAllocHuge(keys->context, bytes) :
		repalloc_huge(keys->words, bytes);
}
