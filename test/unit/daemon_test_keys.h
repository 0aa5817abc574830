/*-------------------------------------------------------------------------
 *
 * daemon_test_keys.h
 *	  Keys for tests of gpusortd, kept to check orders with.
 *
 * To be included after test_report.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DAEMON_TEST_KEYS_H
#define GPUSORT_DAEMON_TEST_KEYS_H

#include <stdlib.h>

#include "../../src/common/key_format.h"

typedef struct KeySet
{
	KeyShape	shape;
	uint64_t	nrows;
	uint64_t   *words;
	uint64_t   *ends;			/* for keys of fixed width too */
} KeySet;

static void
free_keys(KeySet *set)
{
	free(set->words);
	free(set->ends);
}

static uint64_t
key_begin(const KeySet *set, uint64_t row)
{
	return row == 0 ? 0 : set->ends[row - 1];
}

/* Like memcmp() on the keys of two rows, none of which begins another. */
static int
compare_rows(const KeySet *set, uint64_t left, uint64_t right)
{
	uint64_t	l = key_begin(set, left);
	uint64_t	r = key_begin(set, right);

	for (; l < set->ends[left] && r < set->ends[right]; l++, r++)
	{
		if (set->words[l] != set->words[r])
			return set->words[l] < set->words[r] ? -1 : 1;
	}
	return 0;
}

/* What a word of a row's key can be. */

static uint64_t
constant(uint64_t row, uint64_t nrows)
{
	(void) row;
	(void) nrows;
	return 77;
}

static uint64_t
ascending(uint64_t row, uint64_t nrows)
{
	(void) nrows;
	return row / 3;
}

static uint64_t
descending(uint64_t row, uint64_t nrows)
{
	return (nrows - row) / 3;
}

/* Is every row there once? */
static bool
check_rows(const KeySet *set, const uint32_t *order, const char *what)
{
	bool	   *seen = calloc(set->nrows + 1, sizeof(bool));
	bool		good = true;

	for (uint64_t i = 0; i < set->nrows && good; i++)
	{
		uint32_t	row = ORDER_ROW(order[i]);

		if (row >= set->nrows || seen[row])
			good = wrong("%s: entry %llu is row %u, once more or of none", what,
						 (unsigned long long) i, row);
		else
			seen[row] = true;
	}
	free(seen);
	return good;
}

/*
 * Is every row there once, are keys in order, and are equal ones marked if
 * that is wanted?
 */
static bool
check_order(const KeySet *set, const uint32_t *order, const char *what)
{
	if (!check_rows(set, order, what))
		return false;
	for (uint64_t i = 0; i < set->nrows; i++)
	{
		int			comparison = i == 0 ? -1 :
			compare_rows(set, ORDER_ROW(order[i - 1]), ORDER_ROW(order[i]));

		if (comparison > 0)
			return wrong("%s: entry %llu of %llu is out of order", what,
						 (unsigned long long) i,
						 (unsigned long long) set->nrows);
		if ((set->shape.mark_ties && comparison == 0) !=
			((order[i] & ORDER_TIE) != 0))
			return wrong("%s: the mark of entry %llu of %llu is wrong", what,
						 (unsigned long long) i,
						 (unsigned long long) set->nrows);
	}
	return true;
}

#endif							/* GPUSORT_DAEMON_TEST_KEYS_H */
