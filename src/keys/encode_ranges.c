/*-------------------------------------------------------------------------
 *
 * encode_ranges.c
 *	  Keys of ranges and multiranges.
 *
 * Ranges compare by their lower bounds, then by their upper ones; an empty range
 * comes first.  A bound that does not exist lies beyond all others.  If two
 * lower bounds have the same value, the one that includes it is less; of two
 * upper bounds the one that includes it is greater.  Multiranges compare range
 * by range, and a multirange comes before longer ones that begin with it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_range.h"
#include "utils/lsyscache.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "keys/encode.h"

/* What a range begins with, or what follows the last one of a multirange. */
#define CODE_EMPTY			0
#define CODE_NO_LOWER		1
#define CODE_LOWER			2
#define CODE_END			0

/* What the upper bound begins with. */
#define CODE_UPPER			1
#define CODE_NO_UPPER		2

/* What follows the value of a bound. */
#define CODE_BEFORE_VALUE	0
#define CODE_BEHIND_VALUE	1

/* The type of a multirange's ranges, or the type itself. */
static Oid
range_type(Oid type)
{
	return type_is_multirange(type) ? get_multirange_range(type) : type;
}

/*
 * The family of a range type need not be the default one of its bounds' type.
 */
Oid
encode_range_first(Oid type, Oid *family, Oid *collation)
{
	HeapTuple	tuple = SearchSysCache1(RANGETYPE,
										ObjectIdGetDatum(range_type(type)));
	Oid			bound;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for the range type %u", type);
	bound = ((Form_pg_range) GETSTRUCT(tuple))->rngsubtype;
	*family = get_opclass_family(((Form_pg_range) GETSTRUCT(tuple))->rngsubopc);
	ReleaseSysCache(tuple);
	return bound;
}

void
encode_range_begin(KeyCache *cache, Oid collation, KeyPlace place)
{
	Oid			family;
	Oid			bound = encode_range_first(cache->type, &family, &collation);

	cache->range = lookup_type_cache(range_type(cache->type),
									 TYPECACHE_RANGE_INFO);
	cache->parts = palloc(sizeof(KeyCache *));
	cache->parts[0] = key_part_create(cache, bound, family,
									  cache->range->rng_collation, KEY_INSIDE);
	cache->nparts = 1;
}

/* Appends the value of a bound, and on which side of it the bound is. */
static bool
append_value(KeyWriter *writer, const RangeBound *bound)
{
	if (!encode_part(writer, writer->cache->parts[0], bound->val))
		return false;
	if (!writer->truncated)
		key_append(writer, bound->lower == bound->inclusive ?
				   CODE_BEFORE_VALUE : CODE_BEHIND_VALUE, 8);
	return true;
}

static bool
append_bounds(KeyWriter *writer, const RangeBound *lower,
			  const RangeBound *upper)
{
	key_append(writer, lower->infinite ? CODE_NO_LOWER : CODE_LOWER, 8);
	if (!lower->infinite && !append_value(writer, lower))
		return false;
	if (writer->truncated)
		return true;
	key_append(writer, upper->infinite ? CODE_NO_UPPER : CODE_UPPER, 8);
	return upper->infinite || append_value(writer, upper);
}

static bool
append_range(KeyWriter *writer, Datum value)
{
	const RangeType *range =
		(const RangeType *) encode_flatten(writer->cache, value);
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;

	range_deserialize(writer->cache->range, range, &lower, &upper, &empty);
	if (!empty)
		return append_bounds(writer, &lower, &upper);
	key_append(writer, CODE_EMPTY, 8);
	return true;
}

static bool
append_multirange(KeyWriter *writer, Datum value)
{
	const MultirangeType *multirange =
		(const MultirangeType *) encode_flatten(writer->cache, value);

	for (uint32 i = 0; i < multirange->rangeCount && !writer->truncated; i++)
	{
		RangeBound	lower;
		RangeBound	upper;

		multirange_get_bounds(writer->cache->range, multirange, i, &lower,
							  &upper);
		if (!append_bounds(writer, &lower, &upper))
			return false;
	}
	if (!writer->truncated)
		key_append(writer, CODE_END, 8);
	return true;
}

bool
encode_range(KeyWriter *writer, Datum value)
{
	return encode_parts(writer, value, append_range);
}

bool
encode_multirange(KeyWriter *writer, Datum value)
{
	return encode_parts(writer, value, append_multirange);
}
