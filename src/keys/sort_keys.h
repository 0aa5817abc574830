/*-------------------------------------------------------------------------
 *
 * sort_keys.h
 *	  Sort keys: one memcmp-ordered key of the sort columns of a row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_KEYS_H
#define GPUSORT_SORT_KEYS_H

#include "executor/tuptable.h"
#include "nodes/pg_list.h"

#include "common/key_format.h"
#include "keys/shared_layout.h"
#include "refusal.h"

/* One column of the sort, as the plan names it. */
typedef struct SortColumn
{
	AttrNumber	attno;			/* number in the input row, from 1 */
	Oid			sort_operator;
	Oid			collation;
	bool		nulls_first;
	bool		no_key;			/* the comparators decide this column and all
								 * behind it, as those ahead hardly tie */
} SortColumn;

/* Returns the equality operator that goes with the order of a column. */
extern Oid	sort_column_equality(const SortColumn *column);

/*
 * Do values that are equal by the equality of this B-tree family of operators
 * follow one another in its order?
 */
extern bool sort_family_joins_equals(Oid family, Oid collation);

/* The same for the order of a column. */
extern bool sort_column_joins_equals(const SortColumn *column);

/* One column of the sort that is encoded (key_encoders.h). */
typedef struct KeyColumn
{
	AttrNumber	attno;			/* as in SortColumn */
	bool		nulls_first;
	bool		descending;
	bool		by_collation;	/* the order depends on the collation */
	const struct KeyEncoder *encoder;
	const struct KeyForm *form; /* form of the present layout */
	struct KeyCache *cache;
} KeyColumn;

/*
 * The layout of the keys of one sort.
 *
 * A sort begins with the compact layout, which has no place for NULLs and takes
 * only values that fit their type's compact form.  When a row does not fit, the
 * sort changes to the general layout, which takes all rows, and the keys so far
 * have to be made again.
 *
 * Keys are exact while every column is encoded and no key was truncated.
 * Otherwise rows with equal keys need not be equal, and the types' comparators
 * have to decide.
 *
 * Doubtful keys may contradict the comparators, in rare cases.  Then the
 * comparators are right.  Keys can become doubtful with any row.
 */
typedef struct SortKeys
{
	int			ncolumns;		/* columns of the sort */
	int			nencoded;		/* leading columns that can be encoded, > 0 */
	KeyColumn  *columns;		/* these */
	AttrNumber	max_attno;		/* largest of their numbers */
	bool		general;		/* layout: general, or compact */
	bool		truncated;		/* some key is only a prefix */
	bool		doubtful;		/* other processes made doubtful keys */
	bool		costly;			/* a key takes longer than a comparison */
	bool		ties_wanted;	/* ties are marked even if keys are exact */
	uint32		nchanges;		/* changes of the keys so far */
	uint32		nagreed;		/* those that processes have agreed on */
	KeyShape	shape;			/* shape of the keys of this layout */
	bool		only_words;		/* all columns are encoded as words */
	bool		whole;			/* a KeyWholeFunction makes most keys */
	int			most_words;		/* words of the longest key */
	struct KeySample *sample;	/* of keys that may become longer, or NULL */
	bool		wants_longer;	/* they had better be longer */
	MemoryContext value_context;	/* memory for one value at a time */
} SortKeys;

/*
 * The reason why values of this type, sorted so, cannot be encoded;
 * REFUSAL_NONE if they can.
 */
extern Refusal sort_keys_refuse(Oid type, Oid sort_operator, Oid collation);

/*
 * Makes keys in the compact layout, for rows of this descriptor.  NULL if the
 * first column cannot be encoded.  That can happen even if sort_keys_refuse()
 * found no reason, since the ordering of an array's elements may have changed.
 * Allocates in the current memory context.
 */
extern SortKeys *sort_keys_create(TupleDesc descriptor,
								  const SortColumn *columns, int ncolumns);

/*
 * Prepares keys, right after their creation, for a sort whose keys several
 * processes make.  Each process has to call this.  Returns false if the keys
 * of a column depend on the process.
 */
extern bool sort_keys_share(SortKeys *keys);

/*
 * The counterpart of sort_keys_change_layout() in such a sort.  After
 * sort_keys_encode() has returned 0, sort_keys_propose() proposes the change
 * to all processes.  Nothing is proposed if another process has proposed a
 * change before, or if there is no room. sort_keys_adopt() makes the changes
 * that have been proposed since the last call; it returns false if there are
 * none.
 */
extern void sort_keys_propose(SortKeys *keys, SharedLayout *layout);
extern bool sort_keys_adopt(SortKeys *keys, SharedLayout *layout);

/*
 * Marks ties even if keys are exact.  To be called right after the creation.
 */
extern void sort_keys_mark_ties(SortKeys *keys);

/*
 * Changes the layout after sort_keys_encode() has returned 0 for a row: to the
 * general layout, or to other keys in the same layout.  The shape of keys may
 * change.
 */
extern void sort_keys_change_layout(SortKeys *keys);

/*
 * Writes the slot's key to "words", which has room for KEY_MAX_WORDS words,
 * and returns the number of words.  Returns 0 if the row does not fit.  Then
 * the caller has to call sort_keys_change_layout(), and all keys have to be
 * made again.  In the compact layout any value may not fit.  In the general
 * layout that is rare: an enum has got a new value since the sort began, or
 * strings turn out to need longer keys, or keys without their common prefix.
 */
extern int	sort_keys_encode(SortKeys *keys, TupleTableSlot *slot,
							 uint64_t *words);

/*
 * Is it faster to compare each row with the one before than to make and sort
 * keys?  True under collations that have sort keys.
 */
static inline bool
sort_keys_costly(const SortKeys *keys)
{
	return keys->costly;
}

/*
 * The number of bits at the beginning of each key that the first columns take
 * in the present layout, if these bits are equal only for equal values; 0
 * otherwise.
 */
extern int	sort_keys_fixed_bits(const SortKeys *keys, int ncolumns);

/* Are rows with equal keys equal?  Of the keys made so far. */
static inline bool
sort_keys_exact(const SortKeys *keys)
{
	return keys->nencoded == keys->ncolumns && !keys->truncated;
}

/*
 * May the keys made so far contradict the comparators: order rows wrongly, or be
 * equal for different rows?
 */
extern bool sort_keys_doubtful(const SortKeys *keys);

#endif							/* GPUSORT_SORT_KEYS_H */
