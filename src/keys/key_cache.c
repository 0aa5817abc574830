/*-------------------------------------------------------------------------
 *
 * key_cache.c
 *	  The tree of what encoders keep from one value to the next.
 *
 * Some values have parts, such as the columns of a record or the bounds of a range.
 * A part has an encoder and a cache of its own, like a column of the sort.  So
 * parts can have parts themselves, to any depth.
 *
 * Not every part has an encoder.  The key ends at a part without one, and the
 * comparators decide about rows that are equal so far.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "keys/encode.h"

/*
 * The most parts of a column's values.  Row types of row types can have
 * millions of columns, and a key has room for the first few only.
 */
#define MOST_PARTS	2048

/*
 * The families text_pattern_ops and the like order by bytes under any
 * collation.
 */
bool
key_is_pattern_family(Oid family, Oid operand)
{
	return (family == TEXT_PATTERN_BTREE_FAM_OID && operand == TEXTOID) ||
		(family == BPCHAR_PATTERN_BTREE_FAM_OID && operand == BPCHAROID);
}

/*
 * Finds the encoder for values of a type by a family, the default one if that is not
 * valid, and whether the order depends on the collation.
 */
static const KeyEncoder *
find_by_family(Oid type, Oid family, bool *by_collation)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	const KeyEncoder *encoder;

	if (!OidIsValid(entry->btree_opintype))
		return NULL;
	encoder = key_encoder_find_parts(type, entry->btree_opintype, by_collation);
	if (key_is_pattern_family(family, entry->btree_opintype))
		*by_collation = false;
	else if (OidIsValid(family) && family != entry->btree_opf)
		return NULL;
	return encoder;
}

const KeyEncoder *
key_encoder_find_parts(Oid type, Oid operand, bool *by_collation)
{
	const KeyEncoder *encoder = key_encoder_find(operand);
	Oid			base_type = getBaseType(type);
	Oid			part;
	Oid			family = InvalidOid;
	Oid			collation = InvalidOid;
	bool		part_by_collation;

	check_stack_depth();
	if (encoder == NULL)
		return NULL;
	*by_collation = encoder->by_collation;
	/* nothing is known of records before the first one */
	if (encoder->first == NULL || base_type == RECORDOID)
		return encoder;

	part = encoder->first(base_type, &family, &collation);
	/* a row type may have no columns */
	if (!OidIsValid(part))
		return operand == RECORDOID ? encoder : NULL;
	if (find_by_family(getBaseType(part), family, &part_by_collation) == NULL)
		return NULL;
	/* the others have collations of their own */
	if (operand == ANYARRAYOID)
		*by_collation = part_by_collation;
	else if (operand == RECORDOID && part_by_collation &&
			 !collation_can_sort(collation))
		return NULL;
	return encoder;
}

/* Do values have long keys, whose common beginning may be left out? */
static bool
may_begin_alike(const KeyCache *cache)
{
	const KeyEncoder *encoder = cache->encoder;

	switch (encoder->type)
	{
		case ANYARRAYOID:
			/* the prefix is that of the elements, not of the array */
			return false;
		case BYTEAOID:
			return true;
		case InvalidOid:
			/* strings, paths and the like of extensions */
			return encoder->general.bytes == 0;
		default:
			return encoder->by_collation || cache->nparts > 0 ||
				cache->record != NULL;
	}
}

static KeyCache *
create_cache(const KeyEncoder *encoder, Oid type, Oid collation,
			 KeyPlace place, int *parts_left)
{
	KeyCache   *cache = palloc0(sizeof(KeyCache));
	CollationTransform *transform;

	cache->type = getBaseType(type);
	cache->encoder = encoder;
	cache->context = CurrentMemoryContext;
	cache->parts_left = parts_left;
	if (encoder == NULL)
		return cache;

	if (encoder->by_collation && OidIsValid(collation))
	{
		transform = collation_transform_create(collation);
		if (transform != NULL)
			cache->collated = encode_collated_begin(transform, place);
	}
	if (encoder->begin != NULL)
		encoder->begin(cache, collation, place);

	if (place != KEY_INSIDE && may_begin_alike(cache))
		cache->prefix = encode_prefix_begin();
	return cache;
}

KeyCache *
key_cache_create(const KeyEncoder *encoder, Oid type, Oid collation,
				 KeyPlace place)
{
	int		   *parts_left = palloc(sizeof(int));

	*parts_left = MOST_PARTS;
	return create_cache(encoder, type, collation, place, parts_left);
}

KeyCache *
key_part_create(KeyCache *whole, Oid type, Oid family, Oid collation,
				KeyPlace place)
{
	Oid			base_type = getBaseType(type);
	bool		by_collation;
	const KeyEncoder *encoder = find_by_family(base_type, family,
											   &by_collation);

	check_stack_depth();
	/* the comparator says that there is no collation */
	if (encoder != NULL && by_collation && !collation_can_sort(collation))
		encoder = NULL;
	if (*whole->parts_left == 0)
		encoder = NULL;
	else
		--*whole->parts_left;
	if (encoder != NULL && encoder->by_collation && !by_collation)
		collation = InvalidOid;
	return create_cache(encoder, base_type, collation, place,
						whole->parts_left);
}

bool
key_cache_walk(KeyCache *cache, KeyCacheFunction function, void *argument)
{
	check_stack_depth();
	if (function(cache, argument))
		return true;
	for (int i = 0; i < cache->nparts; i++)
	{
		if (key_cache_walk(cache->parts[i], function, argument))
			return true;
	}
	return false;
}
