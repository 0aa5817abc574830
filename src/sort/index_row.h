/*-------------------------------------------------------------------------
 *
 * index_row.h
 *	  A row of an index, until it is on a page.
 *
 * A row is an index tuple with one more bit, which marks a row of a unique
 * index as dead to the check for uniqueness.  It is the only free bit of the
 * header, but core's B-trees mark pivot tuples by it.  So a row has a type of
 * its own.  Core never gets a row, only a tuple that one of the functions here
 * makes of it, or a value (index_rows.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_ROW_H
#define GPUSORT_INDEX_ROW_H

#include "access/itup.h"

/* The mark of a dead row. */
#define ROW_IS_DEAD			INDEX_AM_RESERVED_BIT

/* The header of a row, before its null bitmap and its columns. */
typedef struct IndexRow
{
	ItemPointerData place;		/* place in the table */
	uint16		info;			/* t_info of the tuple, with the mark */
} IndexRow;

StaticAssertDecl(sizeof(IndexRow) == sizeof(IndexTupleData) &&
				 sizeof(IndexRow) == sizeof(uint64) &&
				 offsetof(IndexRow, info) == offsetof(IndexTupleData, t_info),
				 "the head of an index tuple is one word");

/* Bytes of a row, which are whole words. */
static inline Size
index_row_bytes(const IndexRow *row)
{
	return row->info & INDEX_SIZE_MASK;
}

static inline bool
index_row_is_dead(const IndexRow *row)
{
	return (row->info & ROW_IS_DEAD) != 0;
}

static inline void
index_row_set_dead(IndexRow *row)
{
	row->info |= ROW_IS_DEAD;
}

/* Does the row have a NULL, or a value of varying length? */
static inline bool
index_row_has_nulls(const IndexRow *row)
{
	return (row->info & INDEX_NULL_MASK) != 0;
}

static inline bool
index_row_varies(const IndexRow *row)
{
	return (row->info & INDEX_VAR_MASK) != 0;
}

/*
 * True if two rows have the same bytes in all columns.  The first word is the
 * header.
 */
static inline bool
index_rows_same_bytes(const IndexRow *a, const IndexRow *b)
{
	const uint64 *a_words = (const uint64 *) a;
	const uint64 *b_words = (const uint64 *) b;
	Size		nwords = index_row_bytes(a) / sizeof(uint64);

	if (a->info != b->info)
		return false;
	for (Size i = 1; i < nwords; i++)
	{
		if (a_words[i] != b_words[i])
			return false;
	}
	return true;
}

/* Copies a row as a tuple; "tuple" has room for its bytes. */
static inline void
index_row_copy(const IndexRow *row, IndexTuple tuple)
{
	Size		nwords = index_row_bytes(row) / sizeof(uint64);

	/* a loop, since the words are few */
	for (Size i = 0; i < nwords; i++)
		((uint64 *) tuple)[i] = ((const uint64 *) row)[i];
	tuple->t_info &= ~ROW_IS_DEAD;
}

/* The tuple of a row, in place.  Raises an error if the row is dead. */
static inline IndexTuple
index_row_tuple(const IndexRow *row)
{
	if (unlikely(index_row_is_dead(row)))
		elog(ERROR, "gpusort: a row that is dead was taken for a tuple");
	return (IndexTuple) row;
}

#endif							/* GPUSORT_INDEX_ROW_H */
