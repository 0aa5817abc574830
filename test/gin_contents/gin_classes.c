/*-------------------------------------------------------------------------
 *
 * gin_classes.c
 *	  An operator class for GIN whose items say what its functions do.
 *
 * An item is a text of words, each of which stands for keys, which are of type
 * int4, or for something that happens while the keys are extracted:
 *
 *	7			a key
 *	7-20		all keys from 7 to 20
 *	null		a null key
 *	spi			keys that a query returns: 1000001 to 1000003
 *	error		an error
 *	wait		waits for the advisory lock 1, which a query takes
 *	sleep		sleeps for 10 milliseconds
 *
 * An item without a key is allowed.  Two functions compare keys: one by their
 * last digits first, the other by their absolute values, so that some keys are
 * equal and not the same.  A comparison with the key 2000000666 is an error.
 *
 * An operator tells whether an item has a key, and another one whether it has
 * not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin.h"
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(scripted_compare);
PG_FUNCTION_INFO_V1(scripted_compare_absolute);
PG_FUNCTION_INFO_V1(scripted_extract);
PG_FUNCTION_INFO_V1(scripted_extract_query);
PG_FUNCTION_INFO_V1(scripted_consistent);
PG_FUNCTION_INFO_V1(scripted_has);
PG_FUNCTION_INFO_V1(scripted_has_absolute);
PG_FUNCTION_INFO_V1(scripted_lacks);
PG_FUNCTION_INFO_V1(scripted_lacks_absolute);

#define HAS_STRATEGY		1
#define LACKS_STRATEGY		2

/* A comparison with this key fails. */
#define BAD_KEY				2000000666

#define SLEEP_MICROSECONDS	10000

/* The keys of an item. */
typedef struct Keys
{
	int			nkeys;
	int			nallocated;
	Datum	   *keys;
	bool	   *nulls;
} Keys;

static void
refuse_bad_key(int32 a, int32 b)
{
	if (a == BAD_KEY || b == BAD_KEY)
		ereport(ERROR, (errmsg("a key cannot be compared")));
}

static int
compare_integers(int32 a, int32 b)
{
	return a < b ? -1 : a > b;
}

Datum
scripted_compare(PG_FUNCTION_ARGS)
{
	int32		a = PG_GETARG_INT32(0);
	int32		b = PG_GETARG_INT32(1);
	int			digits;

	refuse_bad_key(a, b);
	digits = compare_integers(a % 10, b % 10);
	PG_RETURN_INT32(digits != 0 ? digits : compare_integers(a, b));
}

Datum
scripted_compare_absolute(PG_FUNCTION_ARGS)
{
	int32		a = PG_GETARG_INT32(0);
	int32		b = PG_GETARG_INT32(1);

	refuse_bad_key(a, b);
	PG_RETURN_INT32(compare_integers(abs(a), abs(b)));
}

/* ---- keys of an item */

static void
add_key(Keys *keys, Datum key, bool null)
{
	if (keys->nkeys == keys->nallocated)
	{
		keys->nallocated *= 2;
		keys->keys = repalloc(keys->keys, keys->nallocated * sizeof(Datum));
		keys->nulls = repalloc(keys->nulls, keys->nallocated * sizeof(bool));
	}
	keys->keys[keys->nkeys] = key;
	keys->nulls[keys->nkeys++] = null;
}

/* Runs a query, and adds the keys that it returns unless they are void. */
static void
add_keys_of_query(Keys *keys, const char *query)
{
	MemoryContext outer = CurrentMemoryContext;

	SPI_connect();
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "a query of gin_classes fails");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		null;
		Datum		key = SPI_getbinval(SPI_tuptable->vals[i],
										SPI_tuptable->tupdesc, 1, &null);
		MemoryContext inner = MemoryContextSwitchTo(outer);

		if (SPI_gettypeid(SPI_tuptable->tupdesc, 1) == INT4OID)
			add_key(keys, key, null);
		MemoryContextSwitchTo(inner);
	}
	SPI_finish();
}

static void
add_range(Keys *keys, const char *word)
{
	int			first;
	int			last;
	int			nread = sscanf(word, "%d-%d", &first, &last);

	if (nread < 1)
		elog(ERROR, "\"%s\" is no word of gin_classes", word);
	for (int key = first; key <= (nread == 2 ? last : first); key++)
		add_key(keys, Int32GetDatum(key), false);
}

static void
add_word(Keys *keys, const char *word)
{
	if (strcmp(word, "null") == 0)
		add_key(keys, (Datum) 0, true);
	else if (strcmp(word, "spi") == 0)
		add_keys_of_query(keys, "SELECT generate_series(1000001, 1000003)");
	else if (strcmp(word, "wait") == 0)
		add_keys_of_query(keys, "SELECT pg_advisory_xact_lock_shared(1)");
	else if (strcmp(word, "error") == 0)
		ereport(ERROR, (errmsg("an item has no keys that can be extracted")));
	else if (strcmp(word, "sleep") == 0)
	{
		pg_usleep(SLEEP_MICROSECONDS);
		CHECK_FOR_INTERRUPTS();
	}
	else
		add_range(keys, word);
}

static Keys
keys_of(Datum item)
{
	Keys		keys = {0, 16, palloc(16 * sizeof(Datum)), palloc(16 * sizeof(bool))};
	char	   *rest = TextDatumGetCString(item);
	char	   *word;

	while ((word = strsep(&rest, " ")) != NULL)
	{
		if (*word != '\0')
			add_word(&keys, word);
	}
	return keys;
}

/* ---- functions of the class */

Datum
scripted_extract(PG_FUNCTION_ARGS)
{
	Keys		keys = keys_of(PG_GETARG_DATUM(0));

	*(int32 *) PG_GETARG_POINTER(1) = keys.nkeys;
	*(bool **) PG_GETARG_POINTER(2) = keys.nulls;
	PG_RETURN_POINTER(keys.keys);
}

Datum
scripted_extract_query(PG_FUNCTION_ARGS)
{
	Datum	   *keys = palloc(sizeof(Datum));

	*keys = PG_GETARG_DATUM(0);
	*(int32 *) PG_GETARG_POINTER(1) = 1;
	if (PG_GETARG_UINT16(2) == LACKS_STRATEGY)
		*(int32 *) PG_GETARG_POINTER(6) = GIN_SEARCH_MODE_ALL;
	PG_RETURN_POINTER(keys);
}

Datum
scripted_consistent(PG_FUNCTION_ARGS)
{
	bool		has = *(bool *) PG_GETARG_POINTER(0);

	*(bool *) PG_GETARG_POINTER(5) = false;
	PG_RETURN_BOOL(PG_GETARG_UINT16(1) == HAS_STRATEGY ? has : !has);
}

static bool
has_key(FunctionCallInfo fcinfo, bool absolute)
{
	Keys		keys = keys_of(PG_GETARG_DATUM(0));
	int32		sought = PG_GETARG_INT32(1);

	for (int i = 0; i < keys.nkeys; i++)
	{
		int32		key = DatumGetInt32(keys.keys[i]);

		if (!keys.nulls[i] &&
			(absolute ? abs(key) == abs(sought) : key == sought))
			return true;
	}
	return false;
}

Datum
scripted_has(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(has_key(fcinfo, false));
}

Datum
scripted_has_absolute(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(has_key(fcinfo, true));
}

Datum
scripted_lacks(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!has_key(fcinfo, false));
}

Datum
scripted_lacks_absolute(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!has_key(fcinfo, true));
}
