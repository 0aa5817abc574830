/*-------------------------------------------------------------------------
 *
 * terms.h
 *	  The terms of an inverted index, and their order.
 *
 * A term is what GIN calls a key: one of the words, elements or trigrams that
 * the operator class extracts from a column's value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TERMS_H
#define GPUSORT_TERMS_H

#include "access/gin_private.h"
#include "common/hashfn.h"

#include "port/compat.h"

typedef struct Term
{
	Datum		value;			/* 0 if the category is of nulls */
	OffsetNumber column;		/* column of the index, from 1 */
	GinNullCategory category;	/* a value, or one of three kinds of null */
} Term;

/* The type of the terms of a column. */
typedef struct TermType
{
	bool		by_value;
	bool		int_aligned;	/* values need no alignment beyond an int's */
	int16		length;
	uint64		(*beginning) (Datum value); /* see terms_word() */

	/*
	 * compares two values with equal beginnings; NULL: the operator class
	 * does
	 */
	int			(*compare) (Datum a, Datum b);
} TermType;

/* The terms of an index. */
typedef struct Terms
{
	GinState	gin;
	TermType	types[INDEX_MAX_KEYS];	/* of each column */
	MemoryContext context;		/* memory that comparisons leave behind */
} Terms;

/* Looks at an index; allocates in the current memory context. */
extern Terms *terms_begin(Relation index);

/* Compares two terms by the operator class of their column. */
extern int	terms_compare(Terms *terms, const Term *a, const Term *b);

/* Compares two terms that have the same word, in less time. */
extern int	terms_compare_rest(Terms *terms, const Term *a, const Term *b);

/*
 * For gpusort.verify: raises an error unless the operator class has these two
 * terms as equal, or the first before the second, as they were taken to be.
 */
extern void terms_verify(Terms *terms, const Term *a, const Term *b,
						 bool is_equal);

/*
 * Returns a word that stands for the beginning of a term: of two terms with
 * different words, the term with the lower word comes first.
 */
extern uint64 terms_word(const Terms *terms, const Term *term);

/* Returns the bytes at which the value points; 0 if it does not point. */
static inline Size
terms_bytes(const Terms *terms, const Term *term)
{
	const TermType *type = &terms->types[term->column - 1];

	if (term->category != GIN_CAT_NORM_KEY || type->by_value)
		return 0;
	return type->length > 0 ? type->length :
		type->length == -1 ? VARSIZE_ANY(DatumGetPointer(term->value)) :
		strlen(DatumGetCString(term->value)) + 1;
}

/*
 * Returns a hash value of a term, whose value points at "bytes" bytes.  Terms
 * that are the same have the same hash value.
 */
static inline uint32
terms_hash(const Term *term, Size bytes)
{
	uint32		seed = (uint32) term->column << 8 | (uint8) term->category;

	if (bytes == 0)
		return murmurhash32(murmurhash32((uint32) term->value ^ seed) ^
							(uint32) ((uint64) term->value >> 32));
	return hash_bytes((const unsigned char *) DatumGetPointer(term->value),
					  bytes) ^ murmurhash32(seed);
}

/*
 * Has a term the same bytes as another one, whose value points at "bytes"
 * bytes?  Terms that are equal need not be the same.
 */
static inline bool
terms_are_same(const Terms *terms, const Term *a, const Term *b, Size bytes)
{
	if (a->column != b->column || a->category != b->category)
		return false;
	if (bytes == 0)
		return a->value == b->value;
	return terms_bytes(terms, a) == bytes &&
		memcmp(DatumGetPointer(a->value), DatumGetPointer(b->value),
			   bytes) == 0;
}

#endif							/* GPUSORT_TERMS_H */
