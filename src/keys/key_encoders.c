/*-------------------------------------------------------------------------
 *
 * key_encoders.c
 *	  From one value to its part of a sort key, a type at a time.
 *
 * The tables at the end of this file have one row for each type that can be
 * encoded.  To add a type is to write its function, in the encode_*.c of its
 * family, and its row.
 *
 * An encoder turns a value into bytes that compare as the type's comparator
 * compares the values.  NULLs, the direction of the sort and the length of the
 * key are the business of sort_keys.c and key_append().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

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
 * The tables
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

/*
 * Types of contrib extensions.  Their OIDs differ between databases.  So a
 * type is known by its name, the name of its extension, and the comparator of
 * its default ordering, a function of the extension's library or of the
 * server.
 */
typedef struct ExtensionEncoder
{
	const char *type;
	const char *extension;
	const char *comparator;		/* its name in C */
	KeyEncoder	encoder;
} ExtensionEncoder;

#define ISN(type)	{type, "isn", "btint8cmp", {InvalidOid, false, WORD(8, int8_word)}}

static const ExtensionEncoder extension_encoders[] = {
	{"citext", "citext", "citext_cmp",
	{InvalidOid, true, VARYING(encode_citext)}},
	{"ltree", "ltree", "ltree_cmp",
	{InvalidOid, false, VARYING(encode_ltree)}},
	{"hstore", "hstore", "hstore_cmp",
	{InvalidOid, false, VARYING(encode_hstore)}},
	/* numbers of publications, which are stored and compared as int8 */
	ISN("ean13"),
	ISN("isbn13"),
	ISN("ismn13"),
	ISN("issn13"),
	ISN("isbn"),
	ISN("ismn"),
	ISN("issn"),
	ISN("upc")
};

/* Is this the path of a library of the name, "$libdir/name" as a rule? */
static bool
is_path_of(const char *path, const char *name)
{
	const char *file = strrchr(path, '/');
	Size		length = strlen(name);

	file = file != NULL ? file + 1 : path;
	return strncmp(file, name, length) == 0 &&
		(file[length] == '\0' || strcmp(file + length, DLSUFFIX) == 0);
}

/* A text attribute of a function; it is never NULL for functions in C. */
static const char *
function_text(HeapTuple tuple, AttrNumber attno)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(PROCOID, tuple, attno, &isnull);

	return isnull ? "" : TextDatumGetCString(value);
}

/*
 * Does the function in SQL have this name in C, in the server or in the
 * library of the extension?
 */
static bool
is_function(Oid function, const char *name, const char *extension)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			language;
	bool		is_same;

	if (!HeapTupleIsValid(tuple))
		return false;
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	is_same = (language == INTERNALlanguageId || language == ClanguageId) &&
		strcmp(function_text(tuple, Anum_pg_proc_prosrc), name) == 0 &&
		(language == INTERNALlanguageId ||
		 is_path_of(function_text(tuple, Anum_pg_proc_probin), extension));
	ReleaseSysCache(tuple);
	return is_same;
}

/* Is the type, which has the name, the one that the extension makes? */
static bool
is_of_extension(Oid type, const ExtensionEncoder *sought)
{
	Oid			extension = get_extension_oid(sought->extension, true);

	return OidIsValid(extension) &&
		getExtensionOfObject(TypeRelationId, type) == extension &&
		is_function(lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc,
					sought->comparator, sought->extension);
}

static const KeyEncoder *
find_of_extension(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	NameData	name;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	name = ((Form_pg_type) GETSTRUCT(tuple))->typname;
	ReleaseSysCache(tuple);
	for (Size i = 0; i < lengthof(extension_encoders); i++)
	{
		const ExtensionEncoder *encoder = &extension_encoders[i];

		if (strcmp(NameStr(name), encoder->type) == 0)
			return is_of_extension(type, encoder) ? &encoder->encoder : NULL;
	}
	return NULL;
}

const KeyEncoder *
key_encoder_find(Oid type)
{
	for (Size i = 0; i < lengthof(key_encoders); i++)
	{
		if (key_encoders[i].type == type)
			return &key_encoders[i];
	}
	return find_of_extension(type);
}
