/*-------------------------------------------------------------------------
 *
 * order_check.c
 *	  Checking the rows of an index as they are taken in order.
 *
 * What core sees to in its sort is to be seen to here: that a unique index has
 * no two rows with equal keys, but for those that are dead to everybody who
 * will use the index.  Equal keys are neighbours in the order, or have dead
 * rows between them whose keys are equal too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"

#include "order_check.h"
#include "row_compare.h"
#include "settings.h"

struct OrderCheck
{
	Relation	heap;
	Relation	index;
	TupleDesc	descriptor;		/* of rows */
	bool		nulls_not_distinct;
	bool		equal_images;	/* keys are equal only if their bytes are */
	RowComparator *keys;		/* NULL unless the index is unique */
	RowComparator *columns;		/* keys and places; NULL: no verification */

	/* of a unique index: the last live row, if those checked before had one */
	uint64		live_end;		/* the position behind them */
	bool		has_live;
	IndexRow   *live;			/* a copy, with room for any row */
};

OrderCheck *
order_check_begin(Relation heap, Relation index, const IndexRows *rows,
				  bool unique, bool nulls_not_distinct)
{
	OrderCheck *check = palloc0(sizeof(OrderCheck));

	check->heap = heap;
	check->index = index;
	check->descriptor = rows->descriptor;
	check->nulls_not_distinct = nulls_not_distinct;
	if (unique)
	{
		check->keys =
			row_comparator_create(rows->descriptor, index_row_column,
								  rows->columns,
								  IndexRelationGetNumberOfKeyAttributes(index));
		check->equal_images = _bt_allequalimage(index, false);
		check->live = palloc(INDEX_SIZE_MASK + 1);
	}
	if (gpusort_verify)
		check->columns = row_comparator_create(rows->descriptor,
											   index_row_column, rows->columns,
											   rows->ncolumns);
	return check;
}

void
order_check_report_duplicate(const OrderCheck *check, const IndexRow *row)
{
	TupleDesc	descriptor = RelationGetDescr(check->index);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *key;

	index_deform_tuple(index_row_tuple(row), descriptor, values, isnull);
	key = BuildIndexValueDescription(check->index, values, isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"",
					RelationGetRelationName(check->index)),
			 key != NULL ? errdetail("Key %s is duplicated.", key) :
			 errdetail("Duplicate keys exist."),
			 errtableconstraint(check->heap,
								RelationGetRelationName(check->index))));
}

/* Is some key column NULL, so that the row is unlike any other? */
static bool
has_null_key(const OrderCheck *check, const IndexRow *row)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(check->index);
	bool		isnull = false;

	if (!index_row_has_nulls(row))
		return false;
	for (int i = 1; i <= nkeys && !isnull; i++)
		(void) index_row_column(row, i, check->descriptor, &isnull);
	return isnull;
}

/*
 * Can it be told by the bytes of two live rows that their keys are not equal?
 * Not so for values that have a length of their own, since other bytes may be
 * the same value compressed.
 */
static inline bool
surely_differ(const OrderCheck *check, const IndexRow *a, const IndexRow *b)
{
	return check->equal_images &&
		!index_row_varies(a) && !index_row_varies(b) &&
		!index_rows_same_bytes(a, b);
}

/*
 * The live row that comes last ahead of this position, if its key may be that
 * of the row there; else some other, or NULL.  If it was us who have checked
 * the rows there, it is known, and none of them is looked at again.
 */
static const IndexRow *
live_row_before(OrderCheck *check, const OrderedRows *rows,
				uint64 position, const IndexRow *row)
{
	if (position == check->live_end)
		return check->has_live ? check->live : NULL;
	while (position > 0)
	{
		const IndexRow *previous = ordered_row(rows, --position);

		if (!index_row_is_dead(previous))
			return previous;
		if (row_compare(check->keys, previous, row) != 0)
			break;
	}
	return NULL;
}

/* Notes the last live row of all up to this position, or NULL. */
static void
note_live_row(OrderCheck *check, uint64 end, const IndexRow *row)
{
	check->live_end = end;
	check->has_live = row != NULL;
	if (row != NULL)
		memmove(check->live, row, index_row_bytes(row));
}

/* Finds the first of the rows whose key another has, or NULL. */
static const IndexRow *
find_duplicate(OrderCheck *check, const OrderedRows *rows,
			   uint64 position, const IndexRow *const *found, uint32 nrows)
{
	const IndexRow *previous = live_row_before(check, rows, position,
											   found[0]);

	for (uint32 i = 0; i < nrows; i++)
	{
		const IndexRow *row = found[i];

		if (unlikely(index_row_is_dead(row)))
			continue;
		if (previous != NULL && !surely_differ(check, previous, row) &&
			row_compare(check->keys, previous, row) == 0 &&
			(check->nulls_not_distinct || !has_null_key(check, row)))
			return row;
		previous = row;
	}
	note_live_row(check, position + nrows, previous);
	return NULL;
}

static void
verify_order(const OrderCheck *check, const OrderedRows *rows,
			 uint64 position, const IndexRow *const *found, uint32 nrows)
{
	const IndexRow *previous = position > 0 ?
		ordered_row(rows, position - 1) : NULL;

	for (uint32 i = 0; i < nrows; i++)
	{
		if (previous != NULL &&
			row_compare(check->columns, previous, found[i]) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("gpusort: rows are out of order"),
					 errdetail("Entry " UINT64_FORMAT " of the order sorts before the one ahead of it.",
							   position + i)));
		previous = found[i];
	}
}

const IndexRow *
order_check_rows(OrderCheck *check, const OrderedRows *rows,
				 uint64 position, const IndexRow *const *found, uint32 nrows)
{
	if (check->columns != NULL)
		verify_order(check, rows, position, found, nrows);
	return check->keys == NULL ? NULL :
		find_duplicate(check, rows, position, found, nrows);
}
