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
 * An order that gpusortd has had a hand in is not believed.  That it has every
 * row once is known (sort_job.c, run_order.c).  That it is in order is seen
 * here, where the rows are in the cache anyway, by comparing each with the one
 * ahead of it.  If the leading column is a word, or a text that sorts by its
 * bytes, its values are compared.  Otherwise the keys are made again, which takes
 * less than the types' own comparators; these are only asked where keys are
 * equal and not exact.  Doubtful keys need neither: by then the comparators have
 * looked at all rows of an order (row_compare.c), or have merged them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "executor/executor.h"
#include "port/pg_bswap.h"

#include "key_encoders.h"
#include "order_check.h"
#include "row_compare.h"
#include "settings.h"

/* How rows are compared with the one ahead of each. */
typedef enum NeighbourCheck
{
	CHECK_NOTHING,
	CHECK_VALUES,
	CHECK_KEYS
} NeighbourCheck;

typedef struct RowKey
{
	int			nwords;
	uint64_t	words[KEY_MAX_WORDS];
} RowKey;

struct OrderCheck
{
	Relation	heap;
	Relation	index;
	TupleDesc	descriptor;		/* of rows */
	bool		unique;
	bool		nulls_not_distinct;
	bool		equal_images;	/* keys are equal only if their bytes are */
	RowComparator *columns;		/* compares key columns */

	/* of neighbours */
	NeighbourCheck neighbours;
	SortSupportData first_column;	/* with the cheapest comparator of it */
	bool		first_by_value;
	int16		first_bytes;	/* its length, as its type's */
	SortKeys   *keys;			/* made of what is in the slot */
	TupleTableSlot *slot;
	RowKey		previous_key;
	RowKey		key;

	/* of a unique index: the last live row, if those checked before had one */
	uint64		live_end;		/* the position behind them */
	bool		has_live;
	IndexRow   *live;			/* a copy, with room for any row */
};

/* Compares texts in full; these may be compressed. */
static pg_noinline int
compare_texts(Datum a, Datum b)
{
	struct varlena *text_a = PG_DETOAST_DATUM_PACKED(a);
	struct varlena *text_b = PG_DETOAST_DATUM_PACKED(b);
	Size		bytes_a = VARSIZE_ANY_EXHDR(text_a);
	Size		bytes_b = VARSIZE_ANY_EXHDR(text_b);
	int			result = memcmp(VARDATA_ANY(text_a), VARDATA_ANY(text_b),
								Min(bytes_a, bytes_b));

	if (result == 0 && bytes_a != bytes_b)
		result = bytes_a < bytes_b ? -1 : 1;
	if ((Pointer) text_a != DatumGetPointer(a))
		pfree(text_a);
	if ((Pointer) text_b != DatumGetPointer(b))
		pfree(text_b);
	return result;
}

/* The first word of a text with a header of one byte; false if it is shorter. */
static inline bool
first_word(Datum value, uint64 *word)
{
	const char *text = DatumGetPointer(value);

	if (!VARATT_IS_SHORT(text) || VARATT_IS_EXTERNAL(text) ||
		VARSIZE_SHORT(text) < VARHDRSZ_SHORT + sizeof(uint64))
		return false;
	memcpy(word, VARDATA_SHORT(text), sizeof(uint64));
	*word = pg_ntoh64(*word);
	return true;
}

/*
 * A comparator of SortSupport's for texts that sort by their bytes.  The type's
 * own may ask the C library, which takes many times as long.
 */
static int
compare_bytes(Datum a, Datum b, SortSupport support)
{
	uint64		word_a;
	uint64		word_b;

	if (likely(first_word(a, &word_a) && first_word(b, &word_b) &&
			   word_a != word_b))
		return word_a < word_b ? -1 : 1;
	return compare_texts(a, b);
}

/* Decides how neighbours are compared, and makes what that takes. */
static void
prepare_neighbours(OrderCheck *check, const IndexRows *rows)
{
	int			ncolumns;
	/* columns note the form of their keys, which may not be the sort's */
	SortColumn *columns = index_columns(check->index, &ncolumns);
	Form_pg_attribute attribute = TupleDescAttr(rows->descriptor, 0);
	const KeyForm *form;

	check->keys = sort_keys_create(rows->descriptor, columns, ncolumns);
	if (check->keys == NULL)
	{
		check->neighbours = CHECK_VALUES;
		check->first_column = check->columns->columns[0];
		return;
	}
	if (sort_keys_doubtful(check->keys))
		return;
	form = &columns[0].encoder->tight;
	if (!sort_keys_costly(check->keys) &&
		(form->whole != NULL || (form->word != NULL && attribute->attbyval)))
	{
		check->neighbours = CHECK_VALUES;
		check->first_column = check->columns->columns[0];
		check->first_by_value = attribute->attbyval;
		check->first_bytes = attribute->attlen;
		if (form->whole != NULL)
			check->first_column.comparator = compare_bytes;
		return;
	}
	check->neighbours = CHECK_KEYS;
	check->slot = MakeSingleTupleTableSlot(rows->descriptor, &TTSOpsVirtual);
	/* of its columns only those are looked at that are replaced */
	ExecStoreAllNullTuple(check->slot);
}

OrderCheck *
order_check_begin(Relation heap, Relation index, const IndexRows *rows,
				  bool unique, bool nulls_not_distinct, bool unproved)
{
	OrderCheck *check = palloc0(sizeof(OrderCheck));

	check->heap = heap;
	check->index = index;
	check->descriptor = rows->descriptor;
	check->unique = unique;
	check->nulls_not_distinct = nulls_not_distinct;
	check->columns =
		row_comparator_create(rows->descriptor, index_row_column,
							  rows->columns,
							  IndexRelationGetNumberOfKeyAttributes(index));
	if (unproved)
		prepare_neighbours(check, rows);
	if (unique)
	{
		check->equal_images = _bt_allequalimage(index, false);
		check->live = palloc(INDEX_SIZE_MASK + 1);
	}
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
		if (row_compare(check->columns, previous, row) != 0)
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
			row_compare(check->columns, previous, row) == 0 &&
			(check->nulls_not_distinct || !has_null_key(check, row)))
			return row;
		previous = row;
	}
	note_live_row(check, position + nrows, previous);
	return NULL;
}

/* Compares two rows of which so many leading columns are known to be equal. */
static int
compare_rows(const OrderCheck *check, int first, const IndexRow *a,
			 const IndexRow *b)
{
	int			result = row_compare_from(check->columns, first, a, b);

	return result != 0 ? result :
		ItemPointerCompare((ItemPointer) &a->place, (ItemPointer) &b->place);
}

/* A row's first column, whose place is the same in all rows without NULLs. */
static inline Datum
first_value(const OrderCheck *check, const IndexRow *row, bool *isnull)
{
	if (unlikely(index_row_has_nulls(row)))
		return index_row_column(row, 1, check->descriptor, isnull);
	*isnull = false;
	return fetch_att((const char *) row + IndexInfoFindDataOffset(0),
					 check->first_by_value, check->first_bytes);
}

/* Are the rows in order, by their values? */
static bool
are_values_in_order(OrderCheck *check, const IndexRow *previous,
					const IndexRow *const *found, uint32 nrows)
{
	SortSupport support = &check->first_column;
	Datum		previous_value = (Datum) 0;
	bool		previous_isnull = false;

	if (previous != NULL)
		previous_value = first_value(check, previous, &previous_isnull);
	for (uint32 i = 0; i < nrows; i++)
	{
		const IndexRow *row = found[i];
		bool		isnull;
		Datum		value = first_value(check, row, &isnull);

		if (likely(previous != NULL))
		{
			int			result = ApplySortComparator(previous_value,
													 previous_isnull, value,
													 isnull, support);

			if (result == 0)
				result = compare_rows(check, 1, previous, row);
			if (unlikely(result > 0))
				return false;
		}
		previous = row;
		previous_value = value;
		previous_isnull = isnull;
	}
	return true;
}

/* Makes a row's key; false if it does not fit those before. */
static bool
make_key(const OrderCheck *check, const IndexRow *row, RowKey *key)
{
	const SortKeys *keys = check->keys;
	TupleTableSlot *slot = check->slot;

	for (int i = 0; i < keys->nencoded; i++)
	{
		AttrNumber	attno = keys->columns[i].attno;

		slot->tts_values[attno - 1] =
			index_row_column(row, attno, check->descriptor,
							 &slot->tts_isnull[attno - 1]);
	}
	key->nwords = sort_keys_encode(check->keys, slot, key->words);
	return key->nwords > 0;
}

/* Makes a row's key, and if need be that of the row ahead of it once more. */
static void
make_keys(OrderCheck *check, const IndexRow *previous, const IndexRow *row)
{
	while (unlikely(!make_key(check, row, &check->key)))
	{
		do
			sort_keys_loosen(check->keys);
		while (previous != NULL &&
			   !make_key(check, previous, &check->previous_key));
	}
}

/* Compares a row with the one ahead of it, by their keys. */
static int
compare_keys(const OrderCheck *check, const IndexRow *previous,
			 const IndexRow *row)
{
	const RowKey *a = &check->previous_key;
	const RowKey *b = &check->key;

	/* no key begins another */
	for (int i = 0; i < Min(a->nwords, b->nwords); i++)
	{
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	}
	return sort_keys_exact(check->keys) ? 0 :
		compare_rows(check, 0, previous, row);
}

/* Are the rows in order, by their keys? */
static bool
are_keys_in_order(OrderCheck *check, const IndexRow *previous,
				  const IndexRow *const *found, uint32 nrows)
{
	if (previous != NULL)
	{
		make_keys(check, NULL, previous);
		check->previous_key = check->key;
	}
	for (uint32 i = 0; i < nrows; i++)
	{
		make_keys(check, previous, found[i]);
		if (previous != NULL && compare_keys(check, previous, found[i]) > 0)
			return false;
		previous = found[i];
		check->previous_key.nwords = check->key.nwords;
		memcpy(check->previous_key.words, check->key.words,
			   check->key.nwords * sizeof(uint64_t));
	}
	return true;
}

static void
verify_order(const OrderCheck *check, const IndexRow *previous,
			 uint64 position, const IndexRow *const *found, uint32 nrows)
{
	for (uint32 i = 0; i < nrows; i++)
	{
		if (previous != NULL &&
			compare_rows(check, 0, previous, found[i]) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("gpusort: rows are out of order"),
					 errdetail("Entry " UINT64_FORMAT " of the order sorts before the one ahead of it.",
							   position + i)));
		previous = found[i];
	}
}

bool
order_check_rows(OrderCheck *check, const IndexRow *previous, uint64 position,
				 const IndexRow *const *found, uint32 nrows)
{
	if (check->neighbours == CHECK_VALUES &&
		!are_values_in_order(check, previous, found, nrows))
		return false;
	if (check->neighbours == CHECK_KEYS &&
		!are_keys_in_order(check, previous, found, nrows))
		return false;
	if (gpusort_verify)
		verify_order(check, previous, position, found, nrows);
	return true;
}

const IndexRow *
order_check_duplicate(OrderCheck *check, const OrderedRows *rows,
					  uint64 position, const IndexRow *const *found,
					  uint32 nrows)
{
	return check->unique ?
		find_duplicate(check, rows, position, found, nrows) : NULL;
}
