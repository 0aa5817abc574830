/*-------------------------------------------------------------------------
 *
 * run_order.h
 *	  The order of the rows in runs.
 *
 * Rows of a sort are compared by the keys and comparators of its RowOrder.
 * Other rows have a comparison of their own, and a word in place of a key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_ORDER_H
#define GPUSORT_RUN_ORDER_H

#include "sort/row_order.h"

typedef struct OwnOrder OwnOrder;

struct OwnOrder
{
	int			(*compare) (OwnOrder *order, const void *a, const void *b);

	/* the same for groups of rows, which no part of a merge divides */
	int			(*compare_groups) (OwnOrder *order, const void *a,
								   const void *b);

	/* a row with a lower word comes first; of equal words compare() decides */
	uint64_t	(*word) (const void *row);
};

/* One of the two.  What it points to must stay. */
typedef struct RunOrder
{
	RowOrder   *rows;
	OwnOrder   *own;			/* if "rows" is NULL */
} RunOrder;

static inline RunOrder
run_order_of_rows(RowOrder *rows)
{
	return (RunOrder)
	{
		.rows = rows
	};
}

static inline RunOrder
run_order_of_own(OwnOrder *own)
{
	return (RunOrder)
	{
		.own = own
	};
}

/* Compares two rows.  Comparators may leave memory behind. */
static inline int
run_order_compare(RunOrder order, const void *a, const void *b)
{
	return order.rows != NULL ? row_order_compare(order.rows, a, b) :
		order.own->compare(order.own, a, b);
}

/* Does what row_order_encode() does. */
static inline int
run_order_encode(RunOrder order, const void *row, uint64_t *words)
{
	if (likely(order.rows != NULL))
		return row_order_encode(order.rows, row, words);
	words[0] = order.own->word(row);
	return 1;
}

/* Do equal keys mean that rows are equal? */
static inline bool
run_order_is_exact(RunOrder order)
{
	return order.rows != NULL && sort_keys_exact(order.rows->keys);
}

/* May keys contradict the comparators? */
static inline bool
run_order_is_doubtful(RunOrder order)
{
	return order.rows != NULL && sort_keys_doubtful(order.rows->keys);
}

/* Do keys have only one word? */
static inline bool
run_order_has_one_word(RunOrder order)
{
	return order.rows == NULL || order.rows->keys->shape.fixed_words == 1;
}

/* Does it take less time to read a key than to make it? */
static inline bool
run_order_is_costly(RunOrder order)
{
	return order.rows != NULL && sort_keys_costly(order.rows->keys);
}

/* Returns the number of changes that the keys have had (sort_keys.h). */
static inline uint32
run_order_changes(RunOrder order)
{
	return order.rows != NULL ? order.rows->keys->nchanges : 0;
}

#endif							/* GPUSORT_RUN_ORDER_H */
