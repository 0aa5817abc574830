/*-------------------------------------------------------------------------
 *
 * key_encoders.c
 *	  From one value to its part of a sort key, a type at a time.
 *
 * The table at the end of this file has one row for each type that can be
 * encoded.  To add a type is to write its function, in the encode_*.c of its
 * family, and its row.
 *
 * An encoder turns a value into bytes that compare as the type's comparator
 * compares the values.  It need not care for NULLs, for the direction of the
 * sort or for the length of the key: those are the business of sort_keys.c
 * and of key_append().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "keys/encode.h"

struct varlena *
encode_detoast(KeyWriter *writer, struct varlena *stored, int limit)
{
	MemoryContext caller_context;
	struct varlena *value;

	MemoryContextReset(writer->value_context);
	caller_context = MemoryContextSwitchTo(writer->value_context);
	value = limit < 0 ? pg_detoast_datum_packed(stored) :
		pg_detoast_datum_slice(stored, 0, limit);
	MemoryContextSwitchTo(caller_context);
	return value;
}

struct varlena *
encode_flatten(KeyCache *cache, Datum value)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	MemoryContext caller_context;

	if (!VARATT_IS_EXTENDED(stored))
		return stored;
	if (VARATT_IS_SHORT(stored) && !VARATT_IS_EXTERNAL(stored))
	{
		/* the commonest case: a buffer is kept for it */
		Size		size = VARSIZE_SHORT(stored) - VARHDRSZ_SHORT;

		if (cache->flat == NULL)
			cache->flat = MemoryContextAlloc(cache->context,
											 VARHDRSZ + VARATT_SHORT_MAX);
		SET_VARSIZE(cache->flat, VARHDRSZ + size);
		memcpy(VARDATA(cache->flat), VARDATA_SHORT(stored), size);
		return (struct varlena *) cache->flat;
	}

	if (cache->flat_context == NULL)
		cache->flat_context = AllocSetContextCreate(cache->context,
													"gpusort flat value",
													ALLOCSET_SMALL_SIZES);
	MemoryContextReset(cache->flat_context);
	caller_context = MemoryContextSwitchTo(cache->flat_context);
	stored = pg_detoast_datum(stored);
	MemoryContextSwitchTo(caller_context);
	return stored;
}

/*
 * The table
 *
 * A type of fixed width, or a string, has one form for both layouts.
 */
#define WORD(bytes, word) \
	{bytes, word, NULL, NULL}, {bytes, word, NULL, NULL}
#define TWO_FORMS(compact_bytes, compact, general_bytes, general) \
	{compact_bytes, NULL, compact, NULL}, {general_bytes, NULL, general, NULL}
#define BYTES(bytes, encode)	TWO_FORMS(bytes, encode, bytes, encode)
#define VARYING(encode)			TWO_FORMS(0, encode, 0, encode)
#define VARYING_OR_WHOLE(encode, whole) \
	{0, NULL, encode, whole}, {0, NULL, encode, NULL}

static const KeyEncoder key_encoders[] = {
	/* type, by collation, compact and general form, functions for parts */
	{BOOLOID, false, WORD(1, bool_word)},
	{CHAROID, false, WORD(1, char_word)},
	{INT2OID, false, WORD(2, int2_word)},
	{INT4OID, false, WORD(4, int4_word)},
	{INT8OID, false, WORD(8, int8_word)},
	{FLOAT4OID, false, WORD(4, float4_word)},
	{FLOAT8OID, false, WORD(8, float8_word)},
	{NUMERICOID, false,
	TWO_FORMS(8, encode_numeric_compact, 0, encode_numeric_general)},
	{MONEYOID, false, WORD(8, int8_word)},
	{DATEOID, false, WORD(4, int4_word)},
	{TIMEOID, false, WORD(8, int8_word)},
	{TIMETZOID, false,
	TWO_FORMS(8, encode_timetz_compact, 12, encode_timetz_general)},
	{TIMESTAMPOID, false, WORD(8, int8_word)},
	{TIMESTAMPTZOID, false, WORD(8, int8_word)},
	{INTERVALOID, false,
	TWO_FORMS(8, encode_interval_compact, 10, encode_interval_general)},
	{OIDOID, false, WORD(4, oid_word)},
	{XID8OID, false, WORD(8, unsigned_word)},
	{PG_LSNOID, false, WORD(8, unsigned_word)},
	{TIDOID, false, WORD(6, tid_word)},
	{UUIDOID, false, BYTES(16, encode_uuid)},
	{ANYENUMOID, false,
	TWO_FORMS(4, encode_enum_compact, 4, encode_enum_general)},
	{INETOID, false,
	TWO_FORMS(8, encode_inet_compact, 0, encode_inet_general)},
	{MACADDROID, false, WORD(6, macaddr_word)},
	{MACADDR8OID, false, WORD(8, macaddr8_word)},
	{TEXTOID, true, VARYING_OR_WHOLE(encode_text, text_key)},
	{BPCHAROID, true, VARYING(encode_bpchar)},
	{NAMEOID, true, VARYING(encode_name)},
	{BYTEAOID, false, VARYING(encode_bytea)},
	{BITOID, false,
	TWO_FORMS(8, encode_bits_compact, 0, encode_bits_general)},
	{VARBITOID, false,
	TWO_FORMS(8, encode_bits_compact, 0, encode_bits_general)},
	{ANYARRAYOID, false, VARYING(encode_array),
	encode_array_begin, encode_array_first},
	{ANYRANGEOID, false, VARYING(encode_range),
	encode_range_begin, encode_range_first},
	{ANYMULTIRANGEOID, false, VARYING(encode_multirange),
	encode_range_begin, encode_range_first},
	{RECORDOID, false, VARYING(encode_record),
	encode_record_begin, encode_record_first},
	{JSONBOID, false, VARYING(encode_jsonb), encode_jsonb_begin},
};

/* The type that the extension citext makes has another OID everywhere. */
static const KeyEncoder citext_encoder = {
	InvalidOid, true, VARYING(encode_citext)
};

static bool
is_citext(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid			extension = InvalidOid;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (strcmp(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname),
			   "citext") == 0)
		extension = getExtensionOfObject(TypeRelationId, type);
	ReleaseSysCache(tuple);
	return OidIsValid(extension) &&
		extension == get_extension_oid("citext", true);
}

const KeyEncoder *
key_encoder_find(Oid type)
{
	for (Size i = 0; i < lengthof(key_encoders); i++)
	{
		if (key_encoders[i].type == type)
			return &key_encoders[i];
	}
	return is_citext(type) ? &citext_encoder : NULL;
}
