/*-------------------------------------------------------------------------
 *
 * sort_keys.h
 *	  From the sort columns of a row to one memcmp-ordered key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_KEYS_H
#define GPUSORT_SORT_KEYS_H

#include "executor/tuptable.h"
#include "nodes/pg_list.h"

#include "common/key_format.h"
#include "refusal.h"

/* One column of the sort, as the plan names it. */
typedef struct SortColumn
{
	AttrNumber	attno;			/* in the input row, from 1 */
	Oid			sort_operator;
	Oid			collation;
	bool		nulls_first;

	/* filled in by sort_keys_create(), for columns that are encoded */
	bool		descending;
	bool		by_collation;	/* or the same under any */
	/* see key_encoders.h */
	const struct KeyEncoder *encoder;
	const struct KeyForm *form; /* of the present layout */
	struct KeyCache *cache;
} SortColumn;

/*
 * How the keys of one sort are made.
 *
 * A sort starts with the compact layout, which has no place for NULLs and only
 * takes values that fit their type's compact form.  When a row does not fit,
 * the sort is changed to the general layout, which takes everything, and the
 * keys made so far have to be made again.
 *
 * Keys are exact while every column is encoded and no key had to be cut.
 * Otherwise rows with equal keys need not be equal, and the types' own
 * comparators have to settle their order.
 *
 * Doubtful keys may contradict the comparators, if very rarely.  Then it is
 * the comparators that are right.  Keys can become so with any row.
 */
typedef struct SortKeys
{
	int			ncolumns;
	SortColumn *columns;
	int			nencoded;		/* leading columns that can be encoded, > 0 */
	AttrNumber	max_attno;		/* of those */
	bool		general;		/* the layout */
	bool		truncated;		/* some key is only a beginning */
	bool		doubtful;		/* as made by others, in the same sort */
	bool		costly;			/* keys take longer than a comparison each */
	bool		same_layout;	/* will do, when keys are made again */
	KeyShape	shape;			/* of the present layout */
	bool		only_words;		/* keys are made of words of the columns */
	bool		whole;			/* most are made of a single value, as it is */
	MemoryContext value_context;	/* for what is made of one value */
} SortKeys;

/* Why values of this type, sorted so, cannot be encoded. */
extern Refusal sort_keys_refuse(Oid type, Oid sort_operator, Oid collation);

/*
 * Makes the compact layout for rows of this descriptor.  "columns" is kept and
 * completed.  NULL if the first of them cannot be encoded, which can happen
 * also where it was found that it can: the order of elements of arrays is that
 * of the moment.  Allocates in the current memory context.
 */
extern SortKeys *sort_keys_create(TupleDesc descriptor, SortColumn *columns,
								  int ncolumns);

/*
 * Right after their creation: lets several processes make keys of one sort,
 * if each calls this.  Then keys do not adapt to the rows that one of them has
 * seen, but for the change of the layout.  False if they cannot do without.
 */
extern bool sort_keys_share(SortKeys *keys);

/*
 * Changes to the general layout, or begins once more with the same, whichever
 * the last row that did not fit asked for.  The shape may change.
 */
extern void sort_keys_change_layout(SortKeys *keys);

/*
 * Encodes the slot's key into "words" (KEY_MAX_WORDS of them) and returns how
 * many it took.  If that is 0 then the keys made so far cannot go with this
 * row's, and all have to be made again after sort_keys_change_layout().  Such is the
 * end of the compact layout, when a row does not fit it.  Otherwise it is rare:
 * an enum has got a new value since the sort began, or strings turn out to
 * need longer keys, or keys without what all begin with.
 */
extern int	sort_keys_encode(SortKeys *keys, TupleTableSlot *slot,
							 uint64_t *words);

/*
 * Does it take longer to make the rows' keys and sort them than to compare
 * each row with the one before?  So it is with collations that have sort keys.
 */
static inline bool
sort_keys_costly(const SortKeys *keys)
{
	return keys->costly;
}

/* Do rows with equal keys, among the keys made so far, sort equal? */
static inline bool
sort_keys_exact(const SortKeys *keys)
{
	return keys->nencoded == keys->ncolumns && !keys->truncated;
}

/*
 * May rows be in the wrong order by the keys made so far, or not be equal where
 * their keys are?
 */
extern bool sort_keys_doubtful(const SortKeys *keys);

#endif							/* GPUSORT_SORT_KEYS_H */
