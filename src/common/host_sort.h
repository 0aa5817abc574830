/*-------------------------------------------------------------------------
 *
 * host_sort.h
 *	  Sorting keys on the CPU: the host engine.
 *
 * The same code sorts inside a backend (no GPU, or too few rows for it) and
 * inside gpusortd's host engine, so it depends on neither: the caller owns
 * all memory, and is called back often enough to be interruptible.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_HOST_SORT_H
#define GPUSORT_HOST_SORT_H

#include <stddef.h>

#include "key_format.h"

/* Keys in memory, laid out as key_format.h says; owned by the caller. */
typedef struct HostKeys
{
	KeyShape	shape;
	const uint64_t *words;
	const uint64_t *ends;		/* ends[i] is as in key_format.h; NULL for
								 * keys of fixed width */
	uint64_t	nrows;			/* at most SORT_MAX_ROWS */
} HostKeys;

/* The words of a row's key, and in *nwords their number. */
static inline const uint64_t *
host_key(const HostKeys *keys, uint64_t row, uint64_t *nwords)
{
	uint64_t	begin;

	if (keys->ends == NULL)
	{
		*nwords = keys->shape.fixed_words;
		return keys->words + row * keys->shape.fixed_words;
	}

	begin = row == 0 ? 0 : keys->ends[row - 1];
	*nwords = keys->ends[row] - begin;
	return keys->words + begin;
}

/* An entry that is sorted: a word of a row's key, and the row's number. */
typedef struct HostSortEntry
{
	uint64_t	word;
	uint32_t	row;
} HostSortEntry;

/* A function called every few milliseconds of work; may leave by longjmp(). */
typedef void (*HostSortPoll) (void *argument);

/*
 * Sorts the keys and returns the order: nrows entries at the start of the
 * memory of "entries".  That memory is the caller's, has room for nrows
 * HostSortEntry, and is overwritten.  The sort takes about 150 kB of stack
 * besides.  It never fails, and calls "poll" with "argument".
 */
extern uint32_t *host_sort(const HostKeys *keys, HostSortEntry *entries,
						   HostSortPoll poll, void *argument);

/*
 * Nanoseconds in which a process sorts a row, to be compared with the time of
 * a wait for a device.  Measured with random keys of 8 bytes
 * (docs/notes/2026-11-host-engine.md, "The host sort").
 */
#define HOST_SORT_NANOSECONDS	18

static inline uint64_t
host_sort_milliseconds(uint64_t nrows)
{
	return nrows * HOST_SORT_NANOSECONDS / 1000000;
}

#endif							/* GPUSORT_HOST_SORT_H */
