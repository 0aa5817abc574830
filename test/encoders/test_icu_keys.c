/*-------------------------------------------------------------------------
 *
 * test_icu_keys.c
 *	  Sort keys put together from those of characters against ICU's own.
 *
 * This includes the product's file, since the check looks at its inside: a key
 * for which ICU was asked is right in any case.
 *
 *-------------------------------------------------------------------------
 */
#include "keys/icu_keys.c"

#include "catalog/pg_collation.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "keys/recent_keys.h"
#include "test_icu_keys.h"

PG_FUNCTION_INFO_V1(check_icu_keys);
PG_FUNCTION_INFO_V1(check_icu_fallback);

#ifdef USE_ICU

/* Longest key that is looked at. */
#define LONGEST				136

/* What lies behind the room for a key, and must stay. */
#define GUARD				0x5A

/* Makes the keys learn characters, as they would after many strings. */
static void
learn_all(IcuKeys *keys)
{
	char		bytes[LONGEST + ICU_KEYS_SLACK];
	bool		doubtful = false;

	if (keys->learned_end == 0)
	{
		keys->nasked = ASCII_AFTER;
		(void) icu_keys_write(keys, "a", 1, bytes, 8, &doubtful);
	}
	if (keys->learned_end == ASCII_END && keys->in_utf8)
	{
		keys->nasked = BASIC_PLANE_AFTER;
		(void) icu_keys_write(keys, "\u00e4", 2, bytes, 8, &doubtful);
	}
	if (keys->learned_end != (keys->in_utf8 ? BASIC_PLANE_END : ASCII_END))
		elog(ERROR, "only characters below %u are learned", keys->learned_end);
}

void
test_learn_icu_keys(Oid collation)
{
	pg_locale_t locale;

	if (!OidIsValid(collation) || COLLATION_IS_C(collation))
		return;
	locale = pg_newlocale_from_collation(collation);
	if (locale != NULL && LOCALE_PROVIDER(locale) == COLLPROVIDER_ICU)
		learn_all(icu_keys_get(locale));
}

bool
test_put_together(IcuKeys *keys, const char *string, Size size)
{
	char		bytes[8 + ICU_KEYS_SLACK];
	ClassSequence sequence;

	return write_primary(keys, string, size, bytes, 8, &sequence) >= 0;
}

bool
test_is_learning(const IcuKeys *keys)
{
	return keys->learned_end != 0;
}

static char *
hexadecimal(const char *bytes, Size length)
{
	char	   *text = palloc(length * 3 + 1);

	for (Size i = 0; i < length; i++)
		sprintf(text + i * 3, "%02x ", (unsigned char) bytes[i]);
	text[length * 3] = '\0';
	return text;
}

/* Compares the key of a string with ICU's at one limit. */
static void
check_string(IcuKeys *keys, const char *string, Size size, Size limit)
{
	char		bytes[LONGEST + ICU_KEYS_SLACK + 1];
	char		by_icu[LONGEST];
	Size		length;
	Size		length_by_icu;
	bool		doubtful = false;

	memset(bytes, GUARD, sizeof(bytes));
	length = icu_keys_write(keys, string, size, bytes, limit, &doubtful);
	length_by_icu = icu_sort_key_prefix(by_icu, limit, string, size,
										keys->locale);
	if (length != length_by_icu || memcmp(bytes, by_icu, length) != 0)
		ereport(ERROR,
				(errmsg("wrong sort key of \"%s\" at a limit of %zu", string, limit),
				 errdetail("%s<-> %s", hexadecimal(bytes, length),
						   hexadecimal(by_icu, length_by_icu))));
	for (Size i = limit + ICU_KEYS_SLACK; i < sizeof(bytes); i++)
	{
		if (bytes[i] != GUARD)
			elog(ERROR, "sort key of \"%s\" runs over", string);
	}
}

/*
 * Compares the key of a string at one limit with the one that is found again,
 * or made if it is not found.
 */
static void
check_recent(RecentKeys *recent, CollationTransform *transform,
			 const char *string, Size size, Size limit)
{
	char		bytes[LONGEST + COLLATION_SLACK];
	char		made[LONGEST + COLLATION_SLACK];
	Size		made_length = collation_transform(transform, string, size, made,
												  limit);
	Size		length;
	const char *key = recent_keys_transform(recent, transform, string, size,
											bytes, limit, &length);

	if (length != made_length || memcmp(key, made, length) != 0)
		ereport(ERROR,
				(errmsg("another sort key of \"%s\" at a limit of %zu", string, limit),
				 errdetail("%s<-> %s", hexadecimal(key, length),
						   hexadecimal(made, made_length))));
}

/*
 * check_icu_keys(query text, collation oid)
 *
 * Compares the keys of all strings of the query's only column, at several
 * limits, also where the keys are found again.  Returns the percentage of strings for whose first level ICU need
 * not be asked.
 */
Datum
check_icu_keys(PG_FUNCTION_ARGS)
{
	static const Size limits[] = {1, 2, 3, 7, 8, 9, 15, 16, 32, 64, 128, LONGEST};
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	IcuKeys    *keys = icu_keys_get(pg_newlocale_from_collation(PG_GETARG_OID(1)));
	CollationTransform *transform = collation_transform_create(PG_GETARG_OID(1));
	RecentKeys *recent = recent_keys_create();
	int64		nput_together = 0;
	int64		nstrings;

	learn_all(keys);
	SPI_connect();
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "not a SELECT: %s", query);
	nstrings = SPI_processed;
	for (int64 i = 0; i < nstrings; i++)
	{
		char	   *string = SPI_getvalue(SPI_tuptable->vals[i],
										  SPI_tuptable->tupdesc, 1);

		CHECK_FOR_INTERRUPTS();
		/* more than twice, for the levels below the first */
		for (int times = 0; times < 4; times++)
		{
			for (int limit = 0; limit < lengthof(limits); limit++)
			{
				check_string(keys, string, strlen(string), limits[limit]);
				check_recent(recent, transform, string, strlen(string),
							 limits[limit]);
			}
		}
		if (test_put_together(keys, string, strlen(string)))
			nput_together++;
		pfree(string);
	}
	SPI_finish();
	PG_RETURN_INT32(nput_together * 100 / Max(nstrings, 1));
}

/*
 * check_icu_fallback(collation oid)
 *
 * Spoils what is known of a character.  As soon as the key that is put
 * together for a string differs from ICU's, all keys have to be ICU's, and the
 * keys made before are not trusted.
 */
Datum
check_icu_fallback(PG_FUNCTION_ARGS)
{
	static const char *const strings[] = {"xyzzy", "y", "x", "xyzzy, and more"};
	IcuKeys    *keys = icu_keys_get(pg_newlocale_from_collation(PG_GETARG_OID(0)));

	learn_all(keys);
	if (!test_put_together(keys, "xyz", 3) || !icu_keys_trusted(keys))
		elog(ERROR, "no keys are put together");
	find_weight(keys, 'y')->first ^= 1;
	for (int i = 0; i < lengthof(strings); i++)
	{
		check_string(keys, strings[i], strlen(strings[i]), LONGEST);
		if (test_put_together(keys, "xyz", 3))
			elog(ERROR, "keys are still put together");
		if (icu_keys_trusted(keys))
			elog(ERROR, "keys are still trusted");
	}
	PG_RETURN_VOID();
}

#else

void
test_learn_icu_keys(Oid collation)
{
}

bool
test_put_together(IcuKeys *keys, const char *string, Size size)
{
	return false;
}

bool
test_is_learning(const IcuKeys *keys)
{
	return false;
}

Datum
check_icu_keys(PG_FUNCTION_ARGS)
{
	elog(ERROR, "a server without ICU");
	PG_RETURN_NULL();
}

Datum
check_icu_fallback(PG_FUNCTION_ARGS)
{
	elog(ERROR, "a server without ICU");
	PG_RETURN_NULL();
}

#endif
