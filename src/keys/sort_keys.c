/*-------------------------------------------------------------------------
 *
 * sort_keys.c
 *	  From the sort columns of a row to one memcmp-ordered key.
 *
 * A key has the values of the sort columns one behind the other, each encoded
 * by its type (key_encoders.c).  The bytes of a value compare as the values
 * do, and no value's bytes are a prefix of the bytes of another.  So the first
 * column that differs decides.  For a descending column all bits of the value
 * are complemented.
 *
 * In the general layout a byte ahead of each column tells NULL from other
 * values.  It is never complemented, as the place of NULLs does not depend on
 * the direction.  A NULL in a column of fixed width is filled up with zeros,
 * so that keys of fixed width keep their width.
 *
 * Most columns never hold a NULL, and the byte would often make a key a word
 * longer.  So a sort begins with the compact layout, which does without it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "keys/encode.h"
#include "keys/key_sample.h"
#include "keys/sort_keys.h"

/*
 * Words of the longest key at first, if values have parts.  Mostly the first
 * parts decide.
 */
#define FIRST_WORDS_OF_PARTS	5

Oid
sort_column_equality(const SortColumn *column)
{
	return get_equality_op_for_ordering_op(column->sort_operator, NULL);
}

/*
 * The equality of the families that order strings by their bytes is that of the
 * collation.  Strings that differ may be equal, then, and others lie between
 * them.
 */
bool
sort_family_joins_equals(Oid family, Oid collation)
{
	return (family != TEXT_PATTERN_BTREE_FAM_OID &&
			family != BPCHAR_PATTERN_BTREE_FAM_OID) ||
		!OidIsValid(collation) || get_collation_isdeterministic(collation);
}

bool
sort_column_joins_equals(const SortColumn *column)
{
	Oid			family;
	Oid			type;
	CompareType strategy;

	return !get_ordering_op_properties(column->sort_operator, &family, &type,
									   &strategy) ||
		sort_family_joins_equals(family, column->collation);
}

/*
 * Is this the default family of operators of a type, for which keys are made?
 * Among PostgreSQL's own families a type has only its default one, besides
 * those that order strings or records by bytes, and nobody can give these
 * families other operators of the type.  To ask for the default takes twenty
 * lookups in the catalogs if nothing is in the caches: 0.15 ms in each worker.
 */
static bool
is_default_family(Oid family, Oid operand_type)
{
	return (family < FirstUnpinnedObjectId && operand_type != RECORDOID) ||
		family == lookup_type_cache(operand_type,
									TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

/*
 * Finds the encoder for values of a type that are sorted this way, and the
 * direction of the sort, and notes both in the column.  Returns the reason to
 * refuse the column; the column has a meaning only if there is none.
 */
static Refusal
find_encoder(Oid type, const SortColumn *sorted, KeyColumn *column)
{
	Oid			family;
	Oid			operand_type;
	CompareType direction;

	/*
	 * Core takes the values for what the operator compares.  A type without
	 * an ordering of its own counts as the type that it is stored like,
	 * varchar as text, regclass as oid.  The default ordering of the type
	 * itself may have changed since the query was planned.
	 */
	if (!get_ordering_op_properties(sorted->sort_operator, &family,
									&operand_type, &direction) ||
		(type != operand_type &&
		 !IsBinaryCoercible(getBaseType(type), operand_type)))
		return REFUSAL_OPERATOR;
	column->encoder = key_encoder_find_parts(type, operand_type,
											 &column->by_collation);
	if (column->encoder == NULL)
		return REFUSAL_TYPE;

	/*
	 * The operator has to be of the default ordering, or of an ordering by
	 * bytes.
	 */
	column->descending = direction == COMPARE_GT;
	if (key_is_pattern_family(family, operand_type))
		column->by_collation = false;
	else if (!is_default_family(family, operand_type))
		return REFUSAL_OPERATOR;

	if (column->by_collation && !collation_can_sort(sorted->collation))
		return REFUSAL_COLLATION;
	return REFUSAL_NONE;
}

Refusal
sort_keys_refuse(Oid type, Oid sort_operator, Oid collation)
{
	const SortColumn sorted = {
		.sort_operator = sort_operator,
		.collation = collation
	};
	KeyColumn	column;

	return find_encoder(type, &sorted, &column);
}

/* Are strings of a column their own keys? */
static bool
strings_are_whole(const KeyCache *cache)
{
	return cache->collated == NULL &&
		(cache->prefix == NULL || encode_prefix_size(cache->prefix) == 0);
}

/* Chooses the forms for a layout, and finds out the shape of its keys. */
static void
set_layout(SortKeys *keys, bool general)
{
	bool		fixed = true;
	bool		only_words = true;
	int			bytes = 0;
	int			words;

	for (int i = 0; i < keys->nencoded; i++)
	{
		KeyColumn  *column = &keys->columns[i];

		column->form = general ?
			&column->encoder->general : &column->encoder->compact;
		if (column->form->bytes == 0)
			fixed = false;
		if (column->form->word == NULL)
			only_words = false;
		bytes += (general ? 1 : 0) + column->form->bytes;
	}
	words = (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);

	keys->nchanges++;
	keys->general = general;
	keys->truncated = false;
	keys->only_words = only_words && words <= KEY_MAX_WORDS;
	keys->whole = keys->nencoded == 1 &&
		keys->columns[0].form->whole != NULL &&
		strings_are_whole(keys->columns[0].cache);
	keys->shape.fixed_words = fixed ? Min(words, KEY_MAX_WORDS) : 0;

	/* How long varying keys become is known only after the last one. */
	keys->shape.mark_ties = !fixed || words > KEY_MAX_WORDS ||
		keys->nencoded < keys->ncolumns || keys->ties_wanted;
}

void
sort_keys_mark_ties(SortKeys *keys)
{
	keys->ties_wanted = true;
	keys->shape.mark_ties = true;
}

/*
 * Begins with short keys if values have many parts.  These keys become longer
 * when a sample shows that too many rows would tie.
 */
static void
begin_short(SortKeys *keys)
{
	keys->most_words = KEY_MAX_WORDS;
	for (int i = 0; i < keys->nencoded; i++)
	{
		const KeyCache *cache = keys->columns[i].cache;

		if (cache->nparts > 0 || cache->record != NULL)
			keys->most_words = FIRST_WORDS_OF_PARTS;
	}
	if (keys->most_words < KEY_MAX_WORDS)
		keys->sample = key_sample_begin();
}

/* Makes keys as long as they can be from now on. */
static void
make_longer(SortKeys *keys)
{
	if (keys->sample != NULL)
		key_sample_end(keys->sample);
	keys->sample = NULL;
	keys->wants_longer = false;
	keys->most_words = KEY_MAX_WORDS;
}

/* May sort keys be made of strings in the values? */
static bool
may_have_collated(KeyCache *cache, void *argument)
{
	return cache->collated != NULL || cache->type == RECORDOID;
}

SortKeys *
sort_keys_create(TupleDesc descriptor, const SortColumn *columns, int ncolumns)
{
	SortKeys   *keys = palloc0(sizeof(SortKeys));

	keys->ncolumns = ncolumns;
	keys->columns = palloc0(ncolumns * sizeof(KeyColumn));
	for (int i = 0; i < ncolumns; i++)
	{
		const SortColumn *sorted = &columns[i];
		KeyColumn  *column = &keys->columns[i];
		Form_pg_attribute attribute = TupleDescAttr(descriptor,
													sorted->attno - 1);

		if (sorted->no_key ||
			find_encoder(attribute->atttypid, sorted, column) != REFUSAL_NONE)
			break;
		column->attno = sorted->attno;
		column->nulls_first = sorted->nulls_first;
		column->cache = key_cache_create(column->encoder, attribute->atttypid,
										 column->by_collation ?
										 sorted->collation : InvalidOid,
										 i == ncolumns - 1 ?
										 KEY_OF_LAST_COLUMN : KEY_OF_COLUMN);
		keys->costly |= key_cache_walk(column->cache, may_have_collated, NULL);
		keys->max_attno = Max(keys->max_attno, column->attno);
		keys->nencoded++;
	}
	if (keys->nencoded == 0)
	{
		pfree(keys->columns);
		pfree(keys);
		return NULL;
	}

	keys->value_context = AllocSetContextCreate(CurrentMemoryContext,
												"gpusort value",
												ALLOCSET_SMALL_SIZES);
	begin_short(keys);
	set_layout(keys, false);
	return keys;
}

/*
 * Do keys of a part depend on the process?  Two processes may have read
 * different numbers of an enum's values, or have seen records of different row
 * types.
 */
static bool
cannot_share(KeyCache *cache, void *argument)
{
	return cache->type == RECORDOID ||
		(cache->encoder != NULL && cache->encoder->type == ANYENUMOID);
}

/* Prepares a part for keys of several processes. */
static bool
share_part(KeyCache *cache, void *argument)
{
	if (cache->collated != NULL)
		encode_collated_share(cache->collated);
	if (cache->record != NULL)
		encode_record_share(cache);
	if (cache->jsonb != NULL)
		encode_jsonb_share(cache);
	return false;
}

bool
sort_keys_share(SortKeys *keys)
{
	for (int i = 0; i < keys->nencoded; i++)
	{
		if (key_cache_walk(keys->columns[i].cache, cannot_share, NULL))
			return false;
	}
	for (int i = 0; i < keys->nencoded; i++)
		(void) key_cache_walk(keys->columns[i].cache, share_part, NULL);
	make_longer(keys);
	return true;
}

int
sort_keys_fixed_bits(const SortKeys *keys, int ncolumns)
{
	int			bytes = 0;

	if (ncolumns > keys->nencoded)
		return 0;
	for (int i = 0; i < ncolumns; i++)
	{
		if (keys->columns[i].form->bytes == 0 || keys->columns[i].by_collation)
			return 0;
		bytes += (keys->general ? 1 : 0) + keys->columns[i].form->bytes;
	}
	return bytes * BITS_PER_BYTE;
}

static bool
is_doubtful(KeyCache *cache, void *argument)
{
	return cache->collated != NULL &&
		!encode_collated_trusted(cache->collated);
}

bool
sort_keys_doubtful(const SortKeys *keys)
{
	bool		doubtful = keys->doubtful;

	for (int i = 0; i < keys->nencoded && keys->costly && !doubtful; i++)
		doubtful = key_cache_walk(keys->columns[i].cache, is_doubtful, NULL);
	return doubtful;
}

/* A change that a part of the keys wants, and the part. */
typedef struct WantedChange
{
	LayoutChange change;
	KeyCache   *cache;
} WantedChange;

/* Does this part, which has refused a value, want a change? */
static bool
wants_change(KeyCache *cache, void *argument)
{
	WantedChange *wanted = argument;
	LayoutChange *change = &wanted->change;

	wanted->cache = cache;
	if (cache->prefix != NULL && encode_prefix_wants_change(cache->prefix))
	{
		change->kind = LAYOUT_LEAVES_PREFIX_OUT;
		change->size = encode_prefix_wanted(cache->prefix, &change->bytes);
		return true;
	}
	if (cache->collated != NULL &&
		encode_collated_wants_change(cache->collated))
	{
		change->kind = LAYOUT_HAS_LONGER_KEYS;
		change->size = encode_collated_wanted(cache->collated);
		return true;
	}
	if (cache->jsonb != NULL && encode_jsonb_wants_change(cache))
	{
		change->kind = LAYOUT_HAS_COMMON_STRING;
		return true;
	}
	change->part++;
	return false;
}

/* Finds the first change that a part wants; false if no part wants one. */
static bool
find_change(const SortKeys *keys, WantedChange *wanted)
{
	bool		found = false;

	wanted->change.part = 0;
	for (int i = 0; i < keys->nencoded && !found; i++)
		found = key_cache_walk(keys->columns[i].cache, wants_change, wanted);
	return found;
}

/* Changes the keys of a part, if the change is one of them. */
static void
make_change(KeyCache *cache, const LayoutChange *change)
{
	if (change->kind == LAYOUT_LEAVES_PREFIX_OUT)
		encode_prefix_change(cache->prefix, change->bytes, change->size);
	else if (change->kind == LAYOUT_HAS_LONGER_KEYS)
		encode_collated_change(cache->collated, change->size);
	else if (change->kind == LAYOUT_HAS_COMMON_STRING)
		encode_jsonb_change(cache);
}

/* Leaves the keys of the part as they are. */
static void
withdraw_change(const KeyCache *cache, const LayoutChange *change)
{
	if (change->kind == LAYOUT_LEAVES_PREFIX_OUT)
		encode_prefix_keep(cache->prefix);
	else
		encode_collated_keep(cache->collated);
}

/* A part that is sought by its number, and the part if it has been found. */
typedef struct SoughtPart
{
	int			left;			/* parts ahead of it that are still to come */
	KeyCache   *cache;
} SoughtPart;

static bool
is_sought(KeyCache *cache, void *argument)
{
	SoughtPart *sought = argument;

	sought->cache = cache;
	return sought->left-- == 0;
}

/* The part of this number. */
static KeyCache *
find_part(const SortKeys *keys, int number)
{
	SoughtPart	sought = {.left = number};

	for (int i = 0; i < keys->nencoded; i++)
	{
		if (key_cache_walk(keys->columns[i].cache, is_sought, &sought))
			return sought.cache;
	}
	elog(ERROR, "no part %d of keys", number);
}

void
sort_keys_change_layout(SortKeys *keys)
{
	WantedChange wanted;
	bool		general = keys->general;

	if (keys->wants_longer)
		make_longer(keys);
	else if (find_change(keys, &wanted))
		make_change(wanted.cache, &wanted.change);
	else
		general = true;
	set_layout(keys, general);
}

void
sort_keys_propose(SortKeys *keys, SharedLayout *layout)
{
	WantedChange wanted;

	if (!find_change(keys, &wanted))
	{
		wanted.change.kind = LAYOUT_BECOMES_GENERAL;
		(void) shared_layout_change(layout, keys->nagreed, &wanted.change);
	}
	else if (!shared_layout_change(layout, keys->nagreed, &wanted.change))
		withdraw_change(wanted.cache, &wanted.change);
}

bool
sort_keys_adopt(SortKeys *keys, SharedLayout *layout)
{
	bool		general = keys->general;

	if (likely(keys->nagreed == shared_layout_number(layout)))
		return false;
	while (keys->nagreed < shared_layout_number(layout))
	{
		LayoutChange change = shared_layout_get(layout, keys->nagreed++);

		if (change.kind == LAYOUT_BECOMES_GENERAL)
			general = true;
		else
			make_change(find_part(keys, change.part), &change);
	}
	set_layout(keys, general);
	return true;
}

/* What stands ahead of a column in the general layout. */
static inline uint64_t
null_flag(const KeyColumn *column, bool isnull)
{
	return isnull == column->nulls_first ? 0 : 1;
}

/* Appends the null flag and, for a NULL, the bytes in place of the value. */
static inline void
append_null_flag(KeyWriter *writer, const KeyColumn *column, bool isnull)
{
	writer->complement = 0;
	key_append(writer, null_flag(column, isnull), BITS_PER_BYTE);
	if (isnull)
	{
		for (int i = 0; i < column->form->bytes; i++)
			key_append(writer, 0, 8);
	}
}

/*
 * Gets a column straight from the slot's tuple, if its place is the same in
 * all rows without NULLs.  Returns false if it is not.
 */
static inline bool
get_fixed_column(TupleTableSlot *slot, AttrNumber attno)
{
	TupleDesc	descriptor = slot->tts_tupleDescriptor;
	int			offset;
	HeapTuple	tuple;

	if (!TTS_IS_BUFFERTUPLE(slot) || slot->tts_nvalid >= attno)
		return false;
	offset = TupleDescCompactAttr(descriptor, attno - 1)->attcacheoff;
	tuple = ((HeapTupleTableSlot *) slot)->tuple;
	if (offset < 0 || HeapTupleHasNulls(tuple) ||
		HeapTupleHeaderGetNatts(tuple->t_data) < attno)
		return false;
	slot->tts_values[attno - 1] =
		fetchatt(TupleDescCompactAttr(descriptor, attno - 1),
				 (char *) tuple->t_data + tuple->t_data->t_hoff + offset);
	slot->tts_isnull[attno - 1] = false;
	return true;
}

/* Keys of a single word, in the compact layout. */
static inline int
encode_word(const SortKeys *keys, const TupleTableSlot *slot, uint64_t *words)
{
	const KeyColumn *column = &keys->columns[0];
	uint64_t	value;

	if (unlikely(slot->tts_isnull[column->attno - 1]))
		return 0;
	value = column->form->word(slot->tts_values[column->attno - 1]);
	if (column->descending)
		value = ~value;
	*words = value << (64 - column->form->bytes * BITS_PER_BYTE);
	return 1;
}

/*
 * Keys of a single value that is not a word; 0 if encode() has to make the
 * key.
 */
static inline int
encode_whole(const SortKeys *keys, const TupleTableSlot *slot, uint64_t *words)
{
	const KeyColumn *column = &keys->columns[0];

	if (unlikely(slot->tts_isnull[column->attno - 1]))
		return 0;
	return column->form->whole(slot->tts_values[column->attno - 1],
							   column->descending ? PG_UINT64_MAX : 0, words);
}

/* A key that is being written, all of it in registers. */
typedef struct WordWriter
{
	uint64_t   *next;			/* place of the next full word */
	uint64_t	partial;		/* bits of the next word so far, the highest
								 * ones */
	int			filled;			/* number of these bits, less than 64 */
} WordWriter;

/* Appends the lowest bits of a value: 1 to 64 bits. */
static inline void
append_bits(WordWriter *writer, uint64_t value, int bits)
{
	value <<= 64 - bits;
	writer->partial |= value >> writer->filled;
	writer->filled += bits;
	if (writer->filled >= 64)
	{
		*writer->next++ = writer->partial;
		writer->filled -= 64;
		/* as in key_append() */
		writer->partial = value << 1 << (bits - writer->filled - 1);
	}
}

/*
 * Keys of nothing but words are the most common, so they have a function of
 * their own, which does in registers what key_append() does.
 */
static inline int
encode_words(const SortKeys *keys, const TupleTableSlot *slot, uint64_t *words)
{
	WordWriter	writer = {.next = words};

	for (int i = 0; i < keys->nencoded; i++)
	{
		const KeyColumn *column = &keys->columns[i];
		const KeyForm *form = column->form;
		bool		isnull = slot->tts_isnull[column->attno - 1];
		uint64_t	value = 0;

		if (keys->general)
			append_bits(&writer, null_flag(column, isnull), BITS_PER_BYTE);
		else if (unlikely(isnull))
			return 0;
		if (!isnull)
		{
			value = form->word(slot->tts_values[column->attno - 1]);
			if (column->descending)
				value = ~value;
		}
		append_bits(&writer, value, form->bytes * BITS_PER_BYTE);
	}
	if (writer.filled > 0)
		*writer.next++ = writer.partial;
	return writer.next - words;
}

/* Keys of any columns. */
static int
encode_columns(SortKeys *keys, const TupleTableSlot *slot, uint64_t *words)
{
	KeyWriter	writer = {
		.next = words,
		.end = words + keys->most_words,
		.value_context = keys->value_context
	};
	int			nwords;
	int			i;

	for (i = 0; i < keys->nencoded && writer.next < writer.end &&
		 !writer.truncated; i++)
	{
		const KeyColumn *column = &keys->columns[i];
		bool		isnull = slot->tts_isnull[column->attno - 1];
		Datum		value;

		if (keys->general)
			append_null_flag(&writer, column, isnull);
		if (unlikely(isnull))
		{
			if (!keys->general)
				return 0;
			continue;
		}
		value = slot->tts_values[column->attno - 1];
		writer.complement = column->descending ? PG_UINT64_MAX : 0;
		writer.cache = column->cache;
		if (column->form->word != NULL)
			key_append(&writer, column->form->word(value),
					   column->form->bytes * BITS_PER_BYTE);
		else if (!column->form->encode(&writer, value))
			return 0;
	}

	key_end(&writer);
	nwords = writer.next - words;
	if (writer.truncated || i < keys->nencoded)
	{
		keys->truncated = true;
		if (keys->sample != NULL &&
			!key_sample_take(keys->sample, words, nwords))
		{
			keys->wants_longer = true;
			return 0;
		}
	}
	return nwords;
}

int
sort_keys_encode(SortKeys *keys, TupleTableSlot *slot, uint64_t *words)
{
	int			nwords = 0;

	if (keys->nencoded > 1 || !get_fixed_column(slot, keys->max_attno))
		slot_getsomeattrs(slot, keys->max_attno);
	if (keys->only_words)
		return keys->nencoded == 1 && !keys->general ?
			encode_word(keys, slot, words) :
			encode_words(keys, slot, words);
	if (keys->whole)
		nwords = encode_whole(keys, slot, words);
	return nwords > 0 ? nwords : encode_columns(keys, slot, words);
}
