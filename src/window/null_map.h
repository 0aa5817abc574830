/*-------------------------------------------------------------------------
 *
 * null_map.h
 *	  Which rows of a partition have a NULL for an argument, as far as known.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NULL_MAP_H
#define GPUSORT_NULL_MAP_H

#include "postgres.h"

/* 64 rows.  A row with neither bit is not known. */
typedef struct NullWord
{
	uint64		nulls;			/* rows with a NULL */
	uint64		values;			/* rows with another value */
} NullWord;

typedef struct NullMap
{
	int64		start;			/* position of the first row */
	NullWord   *words;
	int64		nwords;			/* words that say something, without gaps */
	int64		size;			/* words for which there is room */
} NullMap;

/* Prepares a map, which allocates in the current memory context. */
extern void null_map_init(NullMap *map);

/* Forgets all rows, and begins with a partition, by its first row. */
extern void null_map_begin(NullMap *map, int64 start);

/* Notes what a row of the partition has. */
extern void null_map_note(NullMap *map, int64 row, bool isnull);

/* Is a row of the partition known to have another value than NULL? */
static inline bool
null_map_has_value(const NullMap *map, int64 row)
{
	int64		number = (row - map->start) / 64;

	return number < map->nwords &&
		((map->words[number].values >> ((row - map->start) % 64)) & 1) != 0;
}

/*
 * The first row that is not known to have a NULL, from this row on, ahead or
 * back.  It may be behind the partition, or before it.
 */
extern int64 null_map_skip_ahead(const NullMap *map, int64 row);
extern int64 null_map_skip_back(const NullMap *map, int64 row);

#endif							/* GPUSORT_NULL_MAP_H */
