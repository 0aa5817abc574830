/*-------------------------------------------------------------------------
 *
 * encode_arrays.c
 *	  Keys of arrays whose elements have keys.
 *
 * Arrays compare element by element, whatever their dimensions.  A NULL
 * element comes after all others, and an array comes before longer arrays that
 * begin with its elements.  The dimensions count only if all elements are
 * equal: their number, then their lengths, then their lower bounds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/arrayaccess.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "keys/encode.h"
#include "port/compat.h"

/* The byte ahead of each element, and the one after the last element. */
#define CODE_END			0
#define CODE_ELEMENT		1
#define CODE_NULL			2

struct ArrayColumn
{
	Oid			type;			/* type of the elements, maybe a domain */
	int16		length;
	bool		by_value;
	char		alignment;
	MemoryContext context;		/* memory for an array that is not stored flat */
};

Oid
encode_array_first(Oid type, Oid *family, Oid *collation)
{
	return get_base_element_type(type);
}

void
encode_array_begin(KeyCache *cache, Oid collation, KeyPlace place)
{
	ArrayColumn *column = palloc0(sizeof(ArrayColumn));

	column->type = get_base_element_type(cache->type);
	get_typlenbyvalalign(column->type, &column->length, &column->by_value,
						 &column->alignment);
	column->context = AllocSetContextCreate(CurrentMemoryContext,
											"gpusort array",
											ALLOCSET_SMALL_SIZES);
	cache->array = column;
	cache->parts = palloc(sizeof(KeyCache *));
	cache->parts[0] = key_part_create(cache, column->type, InvalidOid, collation,
									  place == KEY_INSIDE ? KEY_INSIDE :
									  KEY_OF_COLUMN);
	cache->nparts = 1;
}

static bool
append_elements(KeyWriter *writer, ArrayColumn *column, AnyArrayType *array)
{
	int			nelements = ArrayGetNItems(AARR_NDIM(array), AARR_DIMS(array));
	array_iter	iterator;

	ARRAY_ITER_SETUP(&iterator, array, column->length, column->by_value,
					 column->alignment);
	for (int i = 0; i < nelements && !writer->truncated; i++)
	{
		bool		isnull;
		Datum		element = ARRAY_ITER_NEXT(&iterator, &isnull, i,
											  column->length,
											  column->by_value,
											  column->alignment);

		key_append(writer, isnull ? CODE_NULL : CODE_ELEMENT, 8);
		if (!isnull && !encode_part(writer, writer->cache->parts[0], element))
			return false;
	}
	return true;
}

/* Appends the end of an array. */
static void
append_dimensions(KeyWriter *writer, AnyArrayType *array)
{
	int			ndimensions = AARR_NDIM(array);

	key_append(writer, CODE_END, 8);
	key_append(writer, ndimensions, 8);
	for (int i = 0; i < ndimensions; i++)
		key_append(writer, AARR_DIMS(array)[i], 32);
	for (int i = 0; i < ndimensions; i++)
		key_append(writer, (uint32) AARR_LBOUND(array)[i] ^ SIGN_BIT(32), 32);
}

bool
encode_array(KeyWriter *writer, Datum value)
{
	ArrayColumn *column = writer->cache->array;
	MemoryContext caller_context;
	AnyArrayType *array;
	bool		taken;

	MemoryContextReset(column->context);
	caller_context = MemoryContextSwitchTo(column->context);
	array = DatumGetAnyArrayP(value);
	MemoryContextSwitchTo(caller_context);
	if (AARR_ELEMTYPE(array) != column->type &&
		AARR_ELEMTYPE(array) != writer->cache->parts[0]->type)
		elog(ERROR, "array of type %u where one of %u is expected",
			 AARR_ELEMTYPE(array), column->type);

	taken = append_elements(writer, column, array);
	if (taken && !writer->truncated)
		append_dimensions(writer, array);
	return taken;
}
