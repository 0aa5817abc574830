/*-------------------------------------------------------------------------
 *
 * index_rows.h
 *	  Forming the rows of an index, to be stored and sorted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_ROWS_H
#define GPUSORT_INDEX_ROWS_H

#include "executor/tuptable.h"
#include "utils/rel.h"

#include "keys/sort_keys.h"
#include "sort/index_row.h"

typedef struct IndexRows
{
	Relation	index;
	TupleDesc	descriptor;		/* columns of the index, then the row's place */
	const SortColumn *columns;
	int			ncolumns;
	TupleTableSlot *slot;		/* row that was stored last, for its key */

	bool		one_varlena;	/* the only column is of varying length */

	/* the form of rows without a NULL, if all columns are of fixed width */
	Size		fixed_bytes;	/* size of the row, else 0 */
	uint16		fixed_places[INDEX_MAX_KEYS];	/* offsets of the values */
} IndexRows;

/* A function that returns MAXALIGNed room for a row of this size, or NULL. */
typedef void *(*IndexRowSpace) (void *owner, Size bytes);

/*
 * The columns that order an index: its key columns and, last, the place of the
 * row in the table, which is the attribute after the index's own.  Returns a
 * palloc'd array.  A sort operator that does not exist, or does not compare as
 * the index does, is InvalidOid.
 */
extern SortColumn *index_columns(Relation index, int *ncolumns);

/* The type by which the operator class compares a key column. */
extern Oid	index_column_type(Relation index, int column);

/* The value of a column of an IndexRow: a RowColumnFunction (row_compare.h). */
extern Datum index_row_column(const void *row, AttrNumber attno,
							  TupleDesc descriptor, bool *isnull);

/* Allocates in the current memory context. */
extern IndexRows *index_rows_begin(Relation index);
extern void index_rows_end(IndexRows *rows);

/*
 * Stores a row in the room that "space" returns, and puts its values into the
 * slot, which is valid as long as the caller's values are.  NULL if there is
 * no room.
 */
extern IndexRow *index_rows_store(IndexRows *rows, ItemPointer tid,
								  Datum *values, bool *isnull,
								  IndexRowSpace space, void *owner);

#endif							/* GPUSORT_INDEX_ROWS_H */
