/*-------------------------------------------------------------------------
 *
 * encode_arrays.c
 *	  Keys of arrays of what has keys itself.
 *
 * Arrays compare element by element, whatever their dimensions; a NULL comes
 * after all else, and an array before those that it begins.  Only when all
 * elements are equal do the dimensions count: their number, then their
 * lengths, then their lower bounds.
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

/* What goes ahead of each element, and what after the last one. */
#define CODE_END			0
#define CODE_ELEMENT		1
#define CODE_NULL			2

struct ArrayColumn
{
	KeyCache	element;
	Oid			type;			/* type of the elements, maybe a domain */
	const KeyForm *form;
	int16		length;
	bool		by_value;
	char		alignment;
	MemoryContext context;		/* memory for an array that is not stored flat */
};

const KeyEncoder *
encode_array_element(Oid array_type)
{
	Oid			type = get_base_element_type(array_type);
	TypeCacheEntry *entry;

	if (!OidIsValid(type))
		return NULL;
	entry = lookup_type_cache(getBaseType(type), TYPECACHE_BTREE_OPFAMILY);

	/* a domain may be of arrays, too */
	if (entry->btree_opintype == ANYARRAYOID)
		return NULL;
	return key_encoder_find(entry->btree_opintype);
}

ArrayColumn *
encode_array_begin(Oid array_type, CollatedColumn *collated,
				   StringPrefix *prefix)
{
	ArrayColumn *column = palloc0(sizeof(ArrayColumn));

	column->type = get_base_element_type(array_type);
	column->element.type = getBaseType(column->type);
	column->element.context = CurrentMemoryContext;
	column->element.collated = collated;
	column->element.prefix = prefix;
	column->form = &encode_array_element(array_type)->general;
	get_typlenbyvalalign(column->type, &column->length, &column->by_value,
						 &column->alignment);
	column->context = AllocSetContextCreate(CurrentMemoryContext,
											"gpusort array",
											ALLOCSET_SMALL_SIZES);
	return column;
}

bool
encode_array_has_enums(const ArrayColumn *column)
{
	return column->form->encode == encode_enum_general;
}

static inline bool
append_element(KeyWriter *writer, const KeyForm *form, Datum element)
{
	uint64_t	complement = writer->complement;
	bool		taken = true;

	if (form->word != NULL)
		key_append(writer, form->word(element), BYTE_BITS(form->bytes));
	else
		taken = form->encode(writer, element);
	writer->complement = complement;
	return taken;
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
		if (!isnull && !append_element(writer, column->form, element))
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
	KeyCache   *cache = writer->cache;
	ArrayColumn *column = cache->array;
	MemoryContext caller_context;
	AnyArrayType *array;
	bool		taken;

	MemoryContextReset(column->context);
	caller_context = MemoryContextSwitchTo(column->context);
	array = DatumGetAnyArrayP(value);
	MemoryContextSwitchTo(caller_context);
	if (AARR_ELEMTYPE(array) != column->type &&
		AARR_ELEMTYPE(array) != column->element.type)
		elog(ERROR, "array of type %u where one of %u is expected",
			 AARR_ELEMTYPE(array), column->type);

	writer->cache = &column->element;
	taken = append_elements(writer, column, array);
	writer->cache = cache;
	if (taken && !writer->truncated)
		append_dimensions(writer, array);
	return taken;
}
