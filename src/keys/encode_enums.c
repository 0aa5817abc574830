/*-------------------------------------------------------------------------
 *
 * encode_enums.c
 *	  Keys of enums.
 *
 * The value of an enum is the OID of its row in pg_enum.  Even OIDs are in the
 * order of the type.  A value that is added gets an odd OID unless it comes
 * last by its OID as well as in the order of the type.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_enum.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "keys/encode.h"

/* The compact form: the OID, if it is even. */
bool
encode_enum_compact(KeyWriter *writer, Datum value)
{
	Oid			oid = DatumGetObjectId(value);

	if (unlikely(oid % 2 != 0))
		return false;
	key_append(writer, oid, 32);
	return true;
}

/*
 * The general form: the number in the order of the type, as pg_enum has it.
 * The type's rows are read when the first value comes, and kept for the rest
 * of the sort, by their OIDs.
 */
typedef struct EnumValue
{
	Oid			oid;
	uint32		place;			/* the number, so that it compares as such */
} EnumValue;

typedef struct EnumOrder
{
	int			nvalues;
	int			room;
	EnumValue	values[FLEXIBLE_ARRAY_MEMBER];
} EnumOrder;

static int
compare_enum_values(const void *a, const void *b)
{
	Oid			oid_a = ((const EnumValue *) a)->oid;
	Oid			oid_b = ((const EnumValue *) b)->oid;

	return oid_a < oid_b ? -1 : oid_a > oid_b;
}

static Size
enum_order_size(int room)
{
	return offsetof(EnumOrder, values) + room * sizeof(EnumValue);
}

/* Reads the values of the column's type. */
static void
read_enum_order(KeyCache *cache)
{
	EnumOrder  *order;
	Relation	relation;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (cache->enum_order != NULL)
		pfree(cache->enum_order);
	cache->enum_order = NULL;
	order = MemoryContextAlloc(cache->context, enum_order_size(64));
	order->nvalues = 0;
	order->room = 64;

	relation = table_open(EnumRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(cache->type));
	scan = systable_beginscan(relation, EnumTypIdLabelIndexId, true, NULL, 1,
							  &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_enum row = (Form_pg_enum) GETSTRUCT(tuple);
		EnumValue  *value;

		if (order->nvalues == order->room)
		{
			order->room *= 2;
			order = repalloc(order, enum_order_size(order->room));
		}
		value = &order->values[order->nvalues++];
		value->oid = row->oid;
		value->place = float4_word(Float4GetDatum(row->enumsortorder));
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);

	qsort(order->values, order->nvalues, sizeof(EnumValue),
		  compare_enum_values);
	cache->enum_order = order;
}

static const EnumValue *
find_enum_value(const EnumOrder *order, Oid oid)
{
	EnumValue	sought = {.oid = oid};

	return bsearch(&sought, order->values, order->nvalues, sizeof(EnumValue),
				   compare_enum_values);
}

/*
 * Refuses a value that has been added since the values were read.  Other
 * values may have got new numbers then, and the keys made so far have the old
 * ones.
 */
bool
encode_enum_general(KeyWriter *writer, Datum value)
{
	KeyCache   *cache = writer->cache;
	Oid			oid = DatumGetObjectId(value);
	bool		was_read = cache->enum_order != NULL;
	const EnumValue *found = NULL;

	if (likely(was_read))
		found = find_enum_value(cache->enum_order, oid);
	if (unlikely(found == NULL))
	{
		read_enum_order(cache);
		found = find_enum_value(cache->enum_order, oid);
		if (found == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("invalid internal value for enum: %u", oid)));
		if (was_read)
			return false;
	}
	key_append(writer, found->place, 32);
	return true;
}
