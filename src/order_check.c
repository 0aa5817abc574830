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
	bool		nulls_not_distinct;
	bool		equal_images;	/* keys are equal only if their bytes are */
	RowComparator *keys;		/* NULL unless the index is unique */
	RowComparator *columns;		/* keys and places; NULL: no verification */

	/* of a unique index: the last live row, if those checked before had one */
	uint64		live_end;		/* the position behind them */
	bool		has_live;
	IndexTuple	live;			/* a copy, with room for any row */
};

OrderCheck *
order_check_begin(Relation heap, Relation index, const IndexRows *rows,
				  bool unique, bool nulls_not_distinct)
{
	OrderCheck *check = palloc0(sizeof(OrderCheck));

	check->heap = heap;
	check->index = index;
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
order_check_report_duplicate(const OrderCheck *check, IndexTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(check->index);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *key;

	index_deform_tuple(tuple, descriptor, values, isnull);
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
has_null_key(const OrderCheck *check, IndexTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(check->index);
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(check->index);
	bool		isnull = false;

	if (!IndexTupleHasNulls(tuple))
		return false;
	for (int i = 1; i <= nkeys && !isnull; i++)
		(void) index_getattr(tuple, i, descriptor, &isnull);
	return isnull;
}

static inline bool
is_dead(IndexTuple tuple)
{
	return (tuple->t_info & ROW_IS_DEAD) != 0;
}

/*
 * Can it be told by the bytes of two live rows that their keys are not equal?
 * Not so for values that have a length of their own, since other bytes may be
 * the same value compressed.
 */
static inline bool
surely_differ(const OrderCheck *check, IndexTuple a, IndexTuple b)
{
	return check->equal_images &&
		((a->t_info | b->t_info) & INDEX_VAR_MASK) == 0 &&
		!index_rows_same_bytes(a, b);
}

/*
 * The live row that comes last ahead of this position, if its key may be that
 * of the tuple there; else some other, or NULL.  If it was us who have checked
 * the rows there, it is known, and none of them is looked at again.
 */
static IndexTuple
live_row_before(OrderCheck *check, const OrderedRows *rows,
				uint64 position, IndexTuple tuple)
{
	if (position == check->live_end)
		return check->has_live ? check->live : NULL;
	while (position > 0)
	{
		IndexTuple	previous = ordered_row(rows, --position);

		if (!is_dead(previous))
			return previous;
		if (row_compare(check->keys, previous, tuple) != 0)
			break;
	}
	return NULL;
}

/* Notes the last live row of all up to this position, or NULL. */
static void
note_live_row(OrderCheck *check, uint64 end, IndexTuple tuple)
{
	check->live_end = end;
	check->has_live = tuple != NULL;
	if (tuple != NULL)
		memmove(check->live, tuple, IndexTupleSize(tuple));
}

/* Finds the first of the tuples whose key another has, or NULL. */
static IndexTuple
find_duplicate(OrderCheck *check, const OrderedRows *rows,
			   uint64 position, const IndexTuple *tuples, uint32 ntuples)
{
	IndexTuple	previous = live_row_before(check, rows, position, tuples[0]);

	for (uint32 i = 0; i < ntuples; i++)
	{
		IndexTuple	tuple = tuples[i];

		if (unlikely(is_dead(tuple)))
			continue;
		if (previous != NULL && !surely_differ(check, previous, tuple) &&
			row_compare(check->keys, previous, tuple) == 0 &&
			(check->nulls_not_distinct || !has_null_key(check, tuple)))
			return tuple;
		previous = tuple;
	}
	note_live_row(check, position + ntuples, previous);
	return NULL;
}

static void
verify_order(const OrderCheck *check, const OrderedRows *rows,
			 uint64 position, const IndexTuple *tuples, uint32 ntuples)
{
	IndexTuple	previous = position > 0 ?
		ordered_row(rows, position - 1) : NULL;

	for (uint32 i = 0; i < ntuples; i++)
	{
		if (previous != NULL &&
			row_compare(check->columns, previous, tuples[i]) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("gpusort: rows are out of order"),
					 errdetail("Entry " UINT64_FORMAT " of the order sorts before the one ahead of it.",
							   position + i)));
		previous = tuples[i];
	}
}

IndexTuple
order_check_rows(OrderCheck *check, const OrderedRows *rows,
				 uint64 position, const IndexTuple *tuples, uint32 ntuples)
{
	if (check->columns != NULL)
		verify_order(check, rows, position, tuples, ntuples);
	return check->keys == NULL ? NULL :
		find_duplicate(check, rows, position, tuples, ntuples);
}
