/*-------------------------------------------------------------------------
 *
 * group_keys.c
 *	  The beginnings of keys, which tell groups and peers apart.
 *
 * The columns of a group, or of peers, may end within a word.  So a mask tells
 * which bits of the words count.
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
group_keys_create(int ngroup_columns, int npeer_columns)
{
	GroupKeys  *keys = palloc0(sizeof(GroupKeys));

	keys->context = CurrentMemoryContext;
	keys->ngroup_columns = ngroup_columns;
	keys->npeer_columns = npeer_columns;
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

void
group_keys_restart(GroupKeys *keys, const SortKeys *layout)
{
	int			group_bits = sort_keys_fixed_bits(layout, keys->ngroup_columns);
	int			peer_bits = sort_keys_fixed_bits(layout, keys->npeer_columns);
	int			nwords = (peer_bits + WORD_BITS - 1) / WORD_BITS;

	if (group_bits == 0 || nwords > MOST_GROUP_WORDS)
		nwords = 0;
	if (nwords != keys->nwords && keys->words != NULL)
	{
		pfree(keys->words);
		keys->words = NULL;
		keys->max_rows = 0;
	}
	keys->nwords = nwords;
	keys->nrows = 0;
	set_bits(keys->group_mask, group_bits);
	set_bits(keys->peer_mask, peer_bits);
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
