/*-------------------------------------------------------------------------
 *
 * null_map.c
 *	  Which rows of a partition have a NULL for an argument, as far as known.
 *
 * A function with IGNORE NULLS looks at one row after the other until it finds
 * a value.  It does so for each row, and mostly meets the same NULLs again.  So
 * each row has two bits here, and 64 rows are skipped at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "window/null_map.h"

#define FIRST_WORDS 16

void
null_map_init(NullMap *map)
{
	map->words = palloc(FIRST_WORDS * sizeof(NullWord));
	map->size = FIRST_WORDS;
	null_map_begin(map, 0);
}

void
null_map_begin(NullMap *map, int64 start)
{
	map->start = start;
	map->nwords = 0;
}

/* Makes the map know this many words. */
static void
extend(NullMap *map, int64 nwords)
{
	if (nwords > map->size)
	{
		map->size = Max(nwords, map->size * 2);
		map->words = repalloc_huge(map->words, map->size * sizeof(NullWord));
	}
	memset(map->words + map->nwords, 0,
		   (nwords - map->nwords) * sizeof(NullWord));
	map->nwords = nwords;
}

void
null_map_note(NullMap *map, int64 row, bool isnull)
{
	int64		number = (row - map->start) / 64;
	uint64		bit = UINT64CONST(1) << ((row - map->start) % 64);

	if (number >= map->nwords)
		extend(map, number + 1);
	if (isnull)
		map->words[number].nulls |= bit;
	else
		map->words[number].values |= bit;
}

int64
null_map_skip_ahead(const NullMap *map, int64 row)
{
	int64		number = (row - map->start) / 64;
	int			bit = (row - map->start) % 64;
	uint64		others;

	if (number >= map->nwords)
		return row;
	others = ~map->words[number].nulls >> bit;
	if (others != 0)
		return row + pg_rightmost_one_pos64(others);
	while (++number < map->nwords)
	{
		others = ~map->words[number].nulls;
		if (others != 0)
			return map->start + number * 64 + pg_rightmost_one_pos64(others);
	}
	return map->start + number * 64;
}

int64
null_map_skip_back(const NullMap *map, int64 row)
{
	int64		number = (row - map->start) / 64;
	int			bit = (row - map->start) % 64;
	uint64		others;

	if (row < map->start || number >= map->nwords)
		return row;
	others = ~map->words[number].nulls << (63 - bit);
	if (others != 0)
		return row - (63 - pg_leftmost_one_pos64(others));
	while (--number >= 0)
	{
		others = ~map->words[number].nulls;
		if (others != 0)
			return map->start + number * 64 + pg_leftmost_one_pos64(others);
	}
	return map->start - 1;
}
