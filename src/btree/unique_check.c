/*-------------------------------------------------------------------------
 *
 * unique_check.c
 *	  Checking that rows of an index are in order, and unique.
 *
 * Core checks uniqueness in its sort; here it is checked while the rows are
 * taken in order.  A unique index must have no two rows with equal keys,
 * except rows that are dead to everybody who will use the index.  Rows with
 * equal keys are neighbours in the order, or have only dead rows with the same
 * key between them.
 *
 * An order that gpusortd has made, alone or in part, is not believed.  Here,
 * where the rows are in the cache anyway, each row is compared with the one
 * ahead of it.  If keys are equal, their places in the table decide, and no two
 * rows have the same place.  So each row must sort after the one ahead of it;
 * then no row comes twice, and since the order has as many entries as there are
 * rows, none is missing.
 *
 * If the leading column is a word, or a text that sorts by its bytes, mostly the
 * first word of its key tells; otherwise its values are compared.  For other
 * columns the keys are made again, which takes less time than the types' own
 * comparators.  The comparators are called only if keys are equal and not
 * exact, or doubtful.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "executor/executor.h"
#include "port/pg_bswap.h"

#include "btree/unique_check.h"
#include "keys/encode.h"
#include "settings.h"
#include "sort/row_compare.h"

/* How each row is compared with the one ahead of it. */
typedef enum NeighbourCheck
{
	CHECK_NOTHING,
	CHECK_VALUES,
	CHECK_KEYS
} NeighbourCheck;

/* How the word of a column is made; the most common ways take no call. */
typedef enum WordKind
{
	WORD_NONE,
	WORD_INT4,					/* as by int4_word() */
	WORD_INT8,
	WORD_BY_FUNCTION,
	WORD_OF_TEXT				/* its first bytes: equal words prove nothing */
} WordKind;

/* A column that has a word, as in keys, and its place in all rows. */
typedef struct WordColumn
{
	WordKind	kind;
	KeyWordFunction function;
	uint16		place;			/* offset of the value in rows without a NULL */
	int16		bytes;			/* bytes of a value */
	uint64		complement;		/* all ones if the column descends */
} WordColumn;

typedef struct RowKey
{
	int			nwords;
	uint64_t	words[KEY_MAX_WORDS];
} RowKey;

struct UniqueCheck
{
	Relation	heap;
	Relation	index;
	TupleDesc	descriptor;		/* columns of the rows */
	bool		unique;
	bool		nulls_not_distinct;
	bool		equal_images;	/* keys are equal only if their bytes are */
	RowComparator *columns;		/* compares key columns */

	/* the check of neighbours */
	NeighbourCheck neighbours;
	RowComparator *cheapest;	/* compares neighbours as "columns" does, in
								 * less time */
	WordColumn	words[INDEX_MAX_KEYS];	/* words of the leading columns */
	int			nwords;
	SortKeys   *keys;			/* keys that are made of the slot's values */
	TupleTableSlot *slot;
	RowKey		previous_key;
	RowKey		key;

	/*
	 * of a unique index: the last live row of the rows checked so far, if any
	 */
	uint64		live_end;		/* the position behind these rows */
	bool		has_live;
	IndexRow   *live;			/* a copy, with room for any row */
};

/* Compares whole texts, which may be compressed. */
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

/*
 * The first word of a text with a header of one byte; false if the text is
 * shorter.
 */
static inline bool
text_word(Datum value, uint64 *word)
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
 * A SortSupport comparator for texts that sort by their bytes.  The type's own
 * comparator may call the C library, which takes many times as long.
 */
static int
compare_bytes(Datum a, Datum b, SortSupport support)
{
	uint64		word_a;
	uint64		word_b;

	if (likely(text_word(a, &word_a) && text_word(b, &word_b) &&
			   word_a != word_b))
		return word_a < word_b ? -1 : 1;
	return compare_texts(a, b);
}

/* Tells how the word of a column is made, if it has one. */
static WordKind
kind_of_word(const KeyColumn *column, Form_pg_attribute attribute)
{
	const KeyForm *form = &column->encoder->compact;

	/* under most collations the bytes of a text tell nothing of its order */
	if (form->whole != NULL)
		return column->cache->collated == NULL ? WORD_OF_TEXT : WORD_NONE;
	if (form->word == NULL || !attribute->attbyval)
		return WORD_NONE;
	if (form->word == int4_word)
		return WORD_INT4;
	return form->word == int8_word ? WORD_INT8 : WORD_BY_FUNCTION;
}

/*
 * Finds the leading columns that have words.  Behind a text the place of a
 * column differs from row to row; a text has a fixed place only as the first
 * column.
 */
static void
find_words(UniqueCheck *check)
{
	int			place = IndexInfoFindDataOffset(0);
	int			nkeys = check->cheapest->ncolumns;
	const KeyColumn *columns = check->keys->columns;

	for (int i = 0; i < Min(nkeys, check->keys->nencoded); i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(check->descriptor, i);
		const KeyForm *form = &columns[i].encoder->compact;
		WordKind	kind = kind_of_word(&columns[i], attribute);
		WordColumn *word;

		if (kind == WORD_NONE || (kind == WORD_OF_TEXT && i > 0))
			break;
		place = att_align_nominal(place, attribute->attalign);
		word = &check->words[check->nwords++];
		word->kind = kind;
		word->function = form->word;
		word->place = place;
		word->bytes = attribute->attlen;
		word->complement = columns[i].descending ? PG_UINT64_MAX : 0;
		if (kind == WORD_OF_TEXT)
		{
			check->cheapest->columns[i].comparator = compare_bytes;
			break;
		}
		place += attribute->attlen;
	}
}

/* Decides how neighbours are compared, and makes what is needed for that. */
static void
prepare_neighbours(UniqueCheck *check, const IndexRows *rows)
{
	check->cheapest = row_comparator_create(rows->descriptor,
											index_row_column, rows->columns,
											rows->ncolumns - 1);
	check->neighbours = CHECK_VALUES;
	check->keys = sort_keys_create(rows->descriptor, rows->columns,
								   rows->ncolumns);
	if (check->keys == NULL || sort_keys_doubtful(check->keys))
		return;
	find_words(check);
	if (check->nwords > 0 && !sort_keys_costly(check->keys))
		return;
	check->neighbours = CHECK_KEYS;
	check->slot = MakeSingleTupleTableSlot(rows->descriptor, &TTSOpsVirtual);
	/* only columns that are replaced are looked at */
	ExecStoreAllNullTuple(check->slot);
}

UniqueCheck *
unique_check_begin(Relation heap, Relation index, const IndexRows *rows,
				   bool unique, bool nulls_not_distinct, bool check_order)
{
	UniqueCheck *check = palloc0(sizeof(UniqueCheck));

	check->heap = heap;
	check->index = index;
	check->descriptor = rows->descriptor;
	check->unique = unique;
	check->nulls_not_distinct = nulls_not_distinct;
	check->columns =
		row_comparator_create(rows->descriptor, index_row_column,
							  rows->columns,
							  IndexRelationGetNumberOfKeyAttributes(index));
	if (check_order)
		prepare_neighbours(check, rows);
	if (unique)
	{
		check->equal_images = _bt_allequalimage(index, false);
		check->live = palloc(INDEX_SIZE_MASK + 1);
	}
	return check;
}

void
unique_check_report_duplicate(const UniqueCheck *check, const IndexRow *row)
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

/* Is a key column NULL, so that the row equals no other? */
static bool
has_null_key(const UniqueCheck *check, const IndexRow *row)
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
 * Do the bytes of two live rows prove that their keys are not equal?  Not for
 * values of varying length, since other bytes may be the same value
 * compressed.
 */
static inline bool
surely_differ(const UniqueCheck *check, const IndexRow *a, const IndexRow *b)
{
	return check->equal_images &&
		!index_row_varies(a) && !index_row_varies(b) &&
		!index_rows_same_bytes(a, b);
}

/*
 * Returns the last live row ahead of this position, if its key may equal the
 * key of the row there; otherwise some other row, or NULL.  If this process
 * has just checked the rows ahead, it knows the live row, and looks at no row
 * again.
 */
static const IndexRow *
live_row_before(UniqueCheck *check, const TupleSource *rows,
				uint64 position, const IndexRow *row)
{
	if (position == check->live_end)
		return check->has_live ? check->live : NULL;
	while (position > 0)
	{
		const IndexRow *previous = tuple_source_row(rows, --position);

		if (!index_row_is_dead(previous))
			return previous;
		if (row_compare(check->columns, previous, row) != 0)
			break;
	}
	return NULL;
}

/* Notes the last live row ahead of this position, or NULL. */
static void
note_live_row(UniqueCheck *check, uint64 end, const IndexRow *row)
{
	check->live_end = end;
	check->has_live = row != NULL;
	if (row != NULL)
		memmove(check->live, row, index_row_bytes(row));
}

/*
 * Finds the first of the rows whose key equals the key of a row before; NULL
 * if there is none.
 */
static const IndexRow *
find_duplicate(UniqueCheck *check, const TupleSource *rows,
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

/* Compares two rows whose first "first" columns are known to be equal. */
static int
compare_rows(const RowComparator *columns, int first, const IndexRow *a,
			 const IndexRow *b)
{
	int			result = row_compare_from(columns, first, a, b);

	return result != 0 ? result :
		ItemPointerCompare((ItemPointer) &a->place, (ItemPointer) &b->place);
}

/* The word of a column, if the row is known to have one. */
static pg_attribute_always_inline bool
get_word(const WordColumn *column, WordKind kind, const IndexRow *row,
		 uint64 *word)
{
	const char *place = (const char *) row + column->place;

	*word = 0;
	if (unlikely(index_row_has_nulls(row)))
		return false;
	switch (kind)
	{
		case WORD_NONE:
			return false;
		case WORD_INT4:
			*word = *(const uint32 *) place ^ SIGN_BIT(32);
			break;
		case WORD_INT8:
			*word = *(const uint64 *) place ^ SIGN_BIT(64);
			break;
		case WORD_BY_FUNCTION:
			*word = column->function(fetch_att(place, true, column->bytes));
			break;
		case WORD_OF_TEXT:
			if (!text_word(PointerGetDatum(place), word))
				return false;
			break;
	}
	*word ^= column->complement;
	return true;
}

/* Does a row sort after the one ahead of it? */
static bool
is_after(const UniqueCheck *check, const IndexRow *row,
		 const IndexRow *previous)
{
	int			equal;

	for (equal = 0; equal < check->nwords; equal++)
	{
		const WordColumn *column = &check->words[equal];
		uint64		a;
		uint64		b;

		if (!get_word(column, column->kind, previous, &a) ||
			!get_word(column, column->kind, row, &b))
			break;
		if (a != b)
			return a < b;
		if (column->kind == WORD_OF_TEXT)
			break;
	}
	return compare_rows(check->cheapest, equal, previous, row) < 0;
}

/*
 * Are the rows in order, by their values? "kind" is the kind of the first
 * word, which mostly decides, and is a constant for the compiler.
 */
static pg_attribute_always_inline bool
are_values_in_order(const UniqueCheck *check, WordKind kind,
					const IndexRow *previous, const IndexRow *const *found,
					uint32 nrows)
{
	const WordColumn *column = &check->words[0];
	uint64		previous_word = 0;
	bool		has_previous_word = previous != NULL &&
		get_word(column, kind, previous, &previous_word);

	for (uint32 i = 0; i < nrows; i++)
	{
		const IndexRow *row = found[i];
		uint64		word = 0;
		bool		has_word = get_word(column, kind, row, &word);

		if (!(has_previous_word && has_word && previous_word < word) &&
			previous != NULL && !is_after(check, row, previous))
			return false;
		previous = row;
		previous_word = word;
		has_previous_word = has_word;
	}
	return true;
}

/* Makes a row's key; false if it does not fit the keys before. */
static bool
make_key(const UniqueCheck *check, const IndexRow *row, RowKey *key)
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

/*
 * Makes a row's key, and if need be makes that of the row ahead of it again.
 */
static void
make_keys(UniqueCheck *check, const IndexRow *previous, const IndexRow *row)
{
	while (unlikely(!make_key(check, row, &check->key)))
	{
		do
			sort_keys_change_layout(check->keys);
		while (previous != NULL &&
			   !make_key(check, previous, &check->previous_key));
	}
}

/* Compares a row with the one ahead of it, by their keys. */
static int
compare_keys(const UniqueCheck *check, const IndexRow *previous,
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
		compare_rows(check->cheapest, 0, previous, row);
}

/* Are the rows in order, by their keys? */
static bool
are_keys_in_order(UniqueCheck *check, const IndexRow *previous,
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
		if (previous != NULL && compare_keys(check, previous, found[i]) >= 0)
			return false;
		previous = found[i];
		check->previous_key.nwords = check->key.nwords;
		memcpy(check->previous_key.words, check->key.words,
			   check->key.nwords * sizeof(uint64_t));
	}
	return true;
}

static void
verify_order(const UniqueCheck *check, const IndexRow *previous,
			 uint64 position, const IndexRow *const *found, uint32 nrows)
{
	for (uint32 i = 0; i < nrows; i++)
	{
		if (previous != NULL &&
			compare_rows(check->columns, 0, previous, found[i]) >= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("gpusort: rows are out of order"),
					 errdetail("Entry " UINT64_FORMAT " of the order does not sort after the one ahead of it.",
							   position + i)));
		previous = found[i];
	}
}

/* The same for any kind of check. */
static bool
are_neighbours_in_order(const UniqueCheck *check, const IndexRow *previous,
						const IndexRow *const *found, uint32 nrows)
{
	switch (check->words[0].kind)
	{
		case WORD_INT4:
			return are_values_in_order(check, WORD_INT4, previous, found,
									   nrows);
		case WORD_INT8:
			return are_values_in_order(check, WORD_INT8, previous, found,
									   nrows);
		case WORD_BY_FUNCTION:
			return are_values_in_order(check, WORD_BY_FUNCTION, previous,
									   found, nrows);
		case WORD_OF_TEXT:
			return are_values_in_order(check, WORD_OF_TEXT, previous, found,
									   nrows);
		case WORD_NONE:
			break;
	}
	return are_values_in_order(check, WORD_NONE, previous, found, nrows);
}

bool
unique_check_rows(UniqueCheck *check, const IndexRow *previous, uint64 position,
				  const IndexRow *const *found, uint32 nrows)
{
	if (check->neighbours == CHECK_VALUES &&
		!are_neighbours_in_order(check, previous, found, nrows))
		return false;
	if (check->neighbours == CHECK_KEYS &&
		!are_keys_in_order(check, previous, found, nrows))
		return false;
	if (gpusort_verify)
		verify_order(check, previous, position, found, nrows);
	return true;
}

const IndexRow *
unique_check_duplicate(UniqueCheck *check, const TupleSource *rows,
					   uint64 position, const IndexRow *const *found,
					   uint32 nrows)
{
	return check->unique ?
		find_duplicate(check, rows, position, found, nrows) : NULL;
}
