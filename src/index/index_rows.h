/*-------------------------------------------------------------------------
 *
 * index_rows.h
 *	  The rows of an index: as they are stored, and as they are sorted.
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
	TupleDesc	descriptor;		/* the index's columns, and the place */
	SortColumn *columns;
	int			ncolumns;
	TupleTableSlot *slot;		/* the row that was stored last, for its key */

	bool		one_varlena;	/* the only column, of values of any length */

	/* of rows without a NULL, if all columns are of fixed width */
	Size		fixed_bytes;	/* 0 if not */
	uint16		fixed_places[INDEX_MAX_KEYS];	/* of the columns' values */
} IndexRows;

/* Room for a row of this size, aligned as widely as any value, or NULL. */
typedef void *(*IndexRowSpace) (void *owner, Size bytes);

/*
 * The columns that order an index: its key columns and, last, the place of
 * the row in the table, for which the attribute after the index's own stands.
 * A palloc'd array; sort operators that do not exist, or do not compare as the
 * index does, are InvalidOid.
 */
extern SortColumn *index_columns(Relation index, int *ncolumns);

/* The type of a key column, as its operator class knows it. */
extern Oid	index_column_type(Relation index, int column);

/* A column of an IndexRow, of the descriptor's columns. */
extern Datum index_row_column(const void *row, AttrNumber attno,
							  TupleDesc descriptor, bool *isnull);

/* Allocates in the current memory context. */
extern IndexRows *index_rows_begin(Relation index);
extern void index_rows_end(IndexRows *rows);

/*
 * Stores a row where "space" finds room for it, and puts it into the slot,
 * where it stays valid until the caller's values are gone.  NULL if there is
 * no room.
 */
extern IndexRow *index_rows_store(IndexRows *rows, ItemPointer tid,
								  Datum *values, bool *isnull,
								  IndexRowSpace space, void *owner);

#endif							/* GPUSORT_INDEX_ROWS_H */
