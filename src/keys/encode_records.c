/*-------------------------------------------------------------------------
 *
 * encode_records.c
 *	  Keys of records, which are values of composite types and whole rows.
 *
 * Records compare column by column, each by the default ordering of its type and under
 * its own collation; a NULL comes after all else, and is equal to another.  Dropped
 * columns do not count.
 *
 * Columns of the type record, and ROW() without a cast, may hold another row type in
 * each row.  The comparator raises an error when it comes to a column whose
 * type differs in the two records, unless an earlier column decides.  So keys
 * have the columns that all row types so far begin with.  If a new row type
 * has fewer columns in common with the first one, its record is refused, and
 * all keys are made again.  From then on keys end behind the common columns.
 * If two keys are equal, the comparator decides, or raises its error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "keys/encode.h"

/*
 * The bytes ahead of each column, and the byte for a record without columns.
 */
#define CODE_NO_COLUMNS		0
#define CODE_VALUE			1
#define CODE_NULL			2

/* A row type of which a record has come, and its columns. */
typedef struct RowType
{
	struct RowType *next;
	Oid			type;
	int32		typmod;
	TupleDesc	descriptor;
	Datum	   *values;			/* columns of the present record */
	bool	   *isnull;
	int			ncolumns;		/* columns that are not dropped */
	AttrNumber *attnos;
} RowType;

struct RecordColumn
{
	RowType    *first;			/* all row types so far; parts of the cache
								 * are columns of the first */
	RowType    *last;			/* row type of the record before */
	int			ncommon;		/* columns that all row types begin with */
	bool		varies;			/* some row types have other columns, too */
	bool		shared;			/* several processes make keys */
};

static Form_pg_attribute
get_column(const RowType *row_type, int i)
{
	return TupleDescAttr(row_type->descriptor, row_type->attnos[i] - 1);
}

static RowType *
create_row_type(Oid type, int32 typmod)
{
	RowType    *row_type = palloc0(sizeof(RowType));
	TupleDesc	descriptor = lookup_rowtype_tupdesc(type, typmod);
	int			natts = descriptor->natts;

	row_type->type = type;
	row_type->typmod = typmod;
	/* with the defaults that older rows have for columns added later */
	row_type->descriptor = CreateTupleDescCopyConstr(descriptor);
	ReleaseTupleDesc(descriptor);
	row_type->values = palloc(natts * sizeof(Datum));
	row_type->isnull = palloc(natts * sizeof(bool));
	row_type->attnos = palloc(natts * sizeof(AttrNumber));
	for (int i = 0; i < natts; i++)
	{
		if (!TupleDescAttr(row_type->descriptor, i)->attisdropped)
			row_type->attnos[row_type->ncolumns++] = i + 1;
	}
	return row_type;
}

/* Makes the parts of a cache, when the first row type is known. */
static void
begin_parts(KeyCache *cache, RowType *row_type)
{
	struct RecordColumn *column = cache->record;

	column->first = row_type;
	column->last = row_type;
	column->ncommon = row_type->ncolumns;
	cache->parts = palloc(row_type->ncolumns * sizeof(KeyCache *));
	for (int i = 0; i < row_type->ncolumns; i++)
	{
		Form_pg_attribute attribute = get_column(row_type, i);

		cache->parts[i] = key_part_create(cache, attribute->atttypid, InvalidOid,
										  attribute->attcollation,
										  KEY_INSIDE);
	}
	cache->nparts = row_type->ncolumns;
}

void
encode_record_begin(KeyCache *cache, Oid collation, KeyPlace place)
{
	cache->record = palloc0(sizeof(struct RecordColumn));
	if (cache->type != RECORDOID)
		begin_parts(cache, create_row_type(cache->type, -1));
}

void
encode_record_share(KeyCache *cache)
{
	cache->record->shared = true;
}

Oid
encode_record_first(Oid type, Oid *family, Oid *collation)
{
	TupleDesc	descriptor = lookup_rowtype_tupdesc(type, -1);
	Oid			first = InvalidOid;

	for (int i = 0; i < descriptor->natts && !OidIsValid(first); i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (!attribute->attisdropped)
		{
			first = attribute->atttypid;
			*collation = attribute->attcollation;
		}
	}
	ReleaseTupleDesc(descriptor);
	return first;
}

/* The number of leading columns that two row types have in common. */
static int
count_common_columns(const RowType *a, const RowType *b)
{
	int			count = 0;

	while (count < Min(a->ncolumns, b->ncolumns) &&
		   get_column(a, count)->atttypid == get_column(b, count)->atttypid &&
		   get_column(a, count)->attcollation ==
		   get_column(b, count)->attcollation)
		count++;
	return count;
}

/*
 * Adds a row type to those before.  Returns false if keys have been made that
 * do not fit it: with a column that it does not have, or without a column that
 * it has beyond them.
 */
static bool
add_row_type(struct RecordColumn *column, RowType *row_type)
{
	int			ncommon = count_common_columns(row_type, column->first);
	bool		varies = ncommon < column->first->ncolumns ||
		ncommon < row_type->ncolumns;

	row_type->next = column->first->next;
	column->first->next = row_type;
	column->last = row_type;
	if (ncommon >= column->ncommon && (column->varies || !varies))
		return true;

	/* all keys that processes share have to be made alike */
	if (column->shared)
		elog(ERROR, "record of type %u where one of %u is expected",
			 row_type->type, column->first->type);
	column->ncommon = Min(column->ncommon, ncommon);
	column->varies = true;
	return false;
}

/* Finds or adds the row type of a record; false to refuse the record. */
static pg_noinline bool
change_row_type(KeyCache *cache, Oid type, int32 typmod)
{
	struct RecordColumn *column = cache->record;
	RowType    *row_type;
	MemoryContext caller_context;
	bool		taken = true;

	for (row_type = column->first; row_type != NULL; row_type = row_type->next)
	{
		if (row_type->type == type && row_type->typmod == typmod)
		{
			column->last = row_type;
			return true;
		}
	}

	caller_context = MemoryContextSwitchTo(cache->context);
	row_type = create_row_type(type, typmod);
	if (column->first == NULL)
		begin_parts(cache, row_type);
	else
		taken = add_row_type(column, row_type);
	MemoryContextSwitchTo(caller_context);
	return taken;
}

static bool
append_columns(KeyWriter *writer, const RowType *row_type)
{
	KeyCache   *cache = writer->cache;
	int			ncolumns = cache->record->ncommon;

	for (int i = 0; i < ncolumns && !writer->truncated; i++)
	{
		AttrNumber	attno = row_type->attnos[i];
		bool		isnull = row_type->isnull[attno - 1];

		/* the comparator may raise an error, even of two NULLs */
		if (cache->parts[i]->encoder == NULL)
		{
			key_append(writer, CODE_VALUE, 8);
			writer->truncated = true;
			break;
		}
		key_append(writer, isnull ? CODE_NULL : CODE_VALUE, 8);
		if (!isnull && !encode_part(writer, cache->parts[i],
									row_type->values[attno - 1]))
			return false;
	}
	/* no key is empty */
	if (ncolumns == 0)
		key_append(writer, CODE_NO_COLUMNS, 8);
	return true;
}

static bool
append_record(KeyWriter *writer, Datum value)
{
	KeyCache   *cache = writer->cache;
	HeapTupleHeader record = (HeapTupleHeader) encode_flatten(cache, value);
	HeapTupleData tuple = {
		.t_len = HeapTupleHeaderGetDatumLength(record),
		.t_data = record
	};
	const RowType *row_type = cache->record->last;

	if (unlikely(row_type == NULL ||
				 row_type->type != HeapTupleHeaderGetTypeId(record) ||
				 row_type->typmod != HeapTupleHeaderGetTypMod(record)))
	{
		if (!change_row_type(cache, HeapTupleHeaderGetTypeId(record),
							 HeapTupleHeaderGetTypMod(record)))
			return false;
		row_type = cache->record->last;
	}

	heap_deform_tuple(&tuple, row_type->descriptor, row_type->values,
					  row_type->isnull);
	if (!append_columns(writer, row_type))
		return false;
	if (unlikely(cache->record->varies))
		writer->truncated = true;
	return true;
}

bool
encode_record(KeyWriter *writer, Datum value)
{
	return encode_parts(writer, value, append_record);
}
