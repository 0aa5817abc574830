/*-------------------------------------------------------------------------
 *
 * key_format.h
 *	  The format of sort keys and of sorted orders, everywhere.
 *
 * A key is a string of bytes whose memcmp() order is the wanted order of the
 * rows.  It is kept as 64-bit words: the first byte is the most significant
 * byte of the first word, the last word is filled up with zero bytes.  Words
 * are compared as unsigned integers, so no byte is ever swapped after a key
 * has been encoded.
 *
 * All keys of a sort have one shape.  Either each has the same number of
 * words and key i starts at word i * fixed_words; or they vary in length, and
 * ends[i] is the number of words of the keys 0 to i together, so that key i
 * is words[ends[i - 1]] to words[ends[i] - 1].  Every key has at least one
 * word.  Of two different keys of varying length none is a prefix of the
 * other, also if they were truncated, at KEY_MAX_WORDS words or before.  So
 * two keys that agree up to the end of the shorter one have the same length
 * and are equal.
 *
 * Rows are numbered from zero in the order in which their keys were added.
 * The result of a sort is an order: the row numbers, smallest key first.  Rows
 * with equal keys come in no defined order.  If the caller asks for mark_ties,
 * the highest bit of an entry says that the key of this row equals the key of
 * the entry before it.
 *
 * This header knows neither PostgreSQL nor CUDA: the extension, gpusortd and
 * the kernels all include it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_FORMAT_H
#define GPUSORT_KEY_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

/* Longest key in words; the encoder truncates longer ones. */
#define KEY_MAX_WORDS		16

/* An order's entry: a row number, and whether its key equals the previous. */
#define ORDER_TIE			UINT32_C(0x80000000)
#define ORDER_ROW(entry)	((entry) & ~ORDER_TIE)

/* Rows that one sort can number; row numbers are below this. */
#define SORT_MAX_ROWS		(UINT64_C(1) << 31)

typedef struct KeyShape
{
	uint32_t	fixed_words;	/* words of every key, 0 if they vary */
	bool		mark_ties;		/* set ORDER_TIE in the order */
} KeyShape;

#endif							/* GPUSORT_KEY_FORMAT_H */
