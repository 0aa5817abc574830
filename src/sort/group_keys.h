/*-------------------------------------------------------------------------
 *
 * group_keys.h
 *	  The beginnings of keys, which tell groups and peers apart.
 *
 * If the first sort columns are short and of fixed width, the first words of a
 * row's key tell its group.  These words are kept in the order in which rows
 * come, so that nobody has to look at the rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_KEYS_H
#define GPUSORT_GROUP_KEYS_H

#include "port/pg_bitutils.h"

#include "keys/sort_keys.h"

/* The most words that are kept of a key, and their most columns. */
#define MOST_GROUP_WORDS	2
#define MOST_GROUP_COLUMNS	16

typedef struct GroupKeys
{
	MemoryContext context;		/* holds the words */
	int			ngroup_columns; /* first sort columns, which make a group */
	int			npeer_columns;	/* first sort columns, which make peers */
	int			nstart_columns; /* first sort columns in which neighbours are
								 * told apart; the words need not tell all */
	int			nwords;			/* words kept of each key; 0: none */
	int			nknown;			/* first sort columns that the words tell */
	uint8		column_end[MOST_GROUP_COLUMNS]; /* bits up to the end of each */
	uint64_t	group_mask[MOST_GROUP_WORDS];	/* bits that make a group */
	uint64_t	peer_mask[MOST_GROUP_WORDS];	/* bits that make peers */
	uint64_t   *words;			/* nwords of each row */
	uint64		nrows;
	uint64		max_rows;		/* rows for which there is room */
} GroupKeys;

/*
 * Makes an empty list of keys, in the current memory context.  The caller then
 * sets the numbers of columns.  Rows with the same values in the first
 * ngroup_columns sort columns are a group, and those with the same values in
 * the first npeer_columns are peers; both are 0 if neither is wanted.
 */
extern GroupKeys *group_keys_create(void);

/* Do the words tell groups and peers apart? */
static inline bool
group_keys_tell_peers(const GroupKeys *keys)
{
	return keys->npeer_columns > 0 && keys->nknown >= keys->npeer_columns;
}

/* Begins anew, with no rows, for keys in their present layout. */
extern void group_keys_restart(GroupKeys *keys, const SortKeys *layout);

/* Makes room for more rows. */
extern void group_keys_grow(GroupKeys *keys);

/* Adds the next row, by its whole key. */
static inline void
group_keys_add(GroupKeys *keys, const uint64_t *words)
{
	uint64_t   *place;

	if (keys->nwords == 0)
		return;
	if (unlikely(keys->nrows == keys->max_rows))
		group_keys_grow(keys);
	place = keys->words + keys->nrows++ * keys->nwords;
	for (int i = 0; i < keys->nwords; i++)
		place[i] = words[i];
}

/* Bytes that the words take. */
static inline Size
group_keys_memory(const GroupKeys *keys)
{
	return keys->max_rows * keys->nwords * sizeof(uint64_t);
}

/* Are two rows equal in the bits of a mask? */
static inline bool
group_keys_equal(const GroupKeys *keys, const uint64_t *mask, uint32 a, uint32 b)
{
	const uint64_t *words_a = keys->words + (uint64) a * keys->nwords;
	const uint64_t *words_b = keys->words + (uint64) b * keys->nwords;
	uint64_t	difference = 0;

	for (int i = 0; i < keys->nwords; i++)
		difference |= (words_a[i] ^ words_b[i]) & mask[i];
	return difference == 0;
}

/*
 * The first column in which two rows differ, counted from 0; nknown if none of
 * those that the words tell does.
 */
static inline int
group_keys_first_difference(const GroupKeys *keys, uint32 a, uint32 b)
{
	const uint64_t *words_a = keys->words + (uint64) a * keys->nwords;
	const uint64_t *words_b = keys->words + (uint64) b * keys->nwords;

	for (int i = 0; i < keys->nwords; i++)
	{
		uint64_t	difference = words_a[i] ^ words_b[i];
		int			column = 0;
		int			bit;

		if (difference == 0)
			continue;
		bit = i * 64 + 63 - pg_leftmost_one_pos64(difference);
		while (column < keys->nknown && bit >= keys->column_end[column])
			column++;
		return column;
	}
	return keys->nknown;
}

#endif							/* GPUSORT_GROUP_KEYS_H */
