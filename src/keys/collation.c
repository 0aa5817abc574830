/*-------------------------------------------------------------------------
 *
 * collation.c
 *	  Sort keys: bytes that compare as a collation orders the strings.
 *
 * The server compares with memcmp() under C and POSIX of any provider, and
 * under all collations of the builtin provider (17 and later), with C.UTF-8
 * among them.  One more collation orders by bytes without the server knowing
 * it: libc's C.UTF-8, the default of many installations, for which the server
 * calls strcoll().
 *
 * Under any other collation a string has a sort key, which the provider that
 * compares the strings makes.  Sort keys are costly to make, and the first
 * characters of strings often decide.  So a caller can have just the beginning
 * of a sort key.
 *
 * Sort keys are not always in the order in which the provider compares the
 * strings.  The keys of libc cannot be trusted at all, so core does not use
 * them.  Of ICU's keys core uses only the first eight bytes.  ICU's keys
 * contradict its comparisons under some attributes of a collation, and about
 * some strings that are not in normal form (icu_keys.c).  A sort by keys that
 * are not trusted has to compare neighbours when all rows are sorted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "keys/collation.h"
#include "keys/icu_keys.h"
#include "port/compat.h"

/*
 * Longest string that is given to libc, whose keys are several times as long.
 */
#define LIBC_MAX_BYTES		8192

/*
 * Characters of a longer string from which the first bytes of its key are
 * made.  Most characters have one or two bytes in the key.
 */
#define LIBC_HEAD_CHARACTERS(limit) ((limit) * 3 / 4 + 4)

/* The byte between the levels of a sort key of glibc, and nowhere else. */
#define LIBC_LEVEL_END		1

struct CollationTransform
{
	pg_locale_t locale;			/* NULL: libc's, of the whole process */
	IcuKeys    *icu_keys;		/* keys of ICU; NULL under another provider */
	bool		doubtful;		/* some keys so far are doubtful */
	MemoryContext context;		/* context of this struct */
	char	   *source;			/* string, ended as libc wants it */
	char	   *result;			/* sort key of the string */
	Size		result_size;
};

/*
 * Does this C library's strcoll() order C.UTF-8 by bytes?
 *
 * glibc's does so since 2.35, where the locale came upstream with a collation
 * that has no rules at all ("codepoint_collation"), so that strcoll() is
 * strcmp() for whatever bytes it is given.  Before 2.35 distributions had a
 * C.UTF-8 that listed the code points one by one, and left out those that were
 * not assigned then.  The library in use counts, not the one compiled against.
 */
static bool
libc_c_utf8_is_bytewise(void)
{
#ifdef __GLIBC__
	int			major;
	int			minor;

	return sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2 &&
		(major > 2 || (major == 2 && minor >= 35));
#else
	return false;
#endif
}

/*
 * The provider that compares under this collation: one of COLLPROVIDER_xxx.
 * Sets the locale of libc, or NULL if it is not known.
 */
static char
find_provider(Oid collation, char **libc_locale)
{
	int			cache;
	HeapTuple	tuple;
	char		provider;
	AttrNumber	attno;

	/* The default collation's own row only points to the database. */
	if (collation == DEFAULT_COLLATION_OID)
	{
		cache = DATABASEOID;
		tuple = SearchSysCache1(cache, ObjectIdGetDatum(MyDatabaseId));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
		provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
		attno = Anum_pg_database_datcollate;
	}
	else
	{
		cache = COLLOID;
		tuple = SearchSysCache1(cache, ObjectIdGetDatum(collation));
		if (!HeapTupleIsValid(tuple))
		{
			/* dropped since the plan was made, but core goes on to use it */
			*libc_locale = NULL;
			return LOCALE_PROVIDER(pg_newlocale_from_collation(collation));
		}
		provider = ((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
		attno = Anum_pg_collation_collcollate;
	}

	*libc_locale = NULL;
	if (provider == COLLPROVIDER_LIBC)
	{
		bool		isnull;
		Datum		name = SysCacheGetAttr(cache, tuple, attno, &isnull);

		if (!isnull)
			*libc_locale = TextDatumGetCString(name);
	}
	ReleaseSysCache(tuple);
	return provider;
}

/* glibc takes both spellings, and any case, for the same locale. */
static bool
is_c_utf8(const char *libc_locale)
{
	return pg_strcasecmp(libc_locale, "C.UTF-8") == 0 ||
		pg_strcasecmp(libc_locale, "C.UTF8") == 0;
}

bool
collation_can_sort(Oid collation)
{
	return OidIsValid(collation);
}

CollationTransform *
collation_transform_create(Oid collation)
{
	CollationTransform *transform;
	char	   *libc_locale;
	char		provider;

	if (COLLATION_IS_C(collation))
		return NULL;
	provider = find_provider(collation, &libc_locale);
	if (libc_locale != NULL && is_c_utf8(libc_locale) &&
		libc_c_utf8_is_bytewise())
		return NULL;

	transform = palloc0(sizeof(CollationTransform));
	transform->locale = pg_newlocale_from_collation(collation);
	if (provider == COLLPROVIDER_ICU)
		transform->icu_keys = icu_keys_get(transform->locale);
	else
		transform->doubtful = true;
	transform->context = CurrentMemoryContext;
	return transform;
}

bool
collation_breaks_ties(const CollationTransform *transform)
{
	return transform->locale == NULL || transform->locale->deterministic;
}

bool
collation_is_trusted(const CollationTransform *transform)
{
	return !transform->doubtful && icu_keys_trusted(transform->icu_keys);
}


/*
 * libc, which makes a sort key as a whole
 */

/* Makes the key of a string of at most LIBC_MAX_BYTES; returns its length. */
static Size
transform_whole(CollationTransform *transform, const char *string, Size size)
{
	Size		length;

	if (transform->source == NULL)
	{
		transform->result_size = LIBC_MAX_BYTES;
		transform->source = MemoryContextAlloc(transform->context,
											   LIBC_MAX_BYTES + 1);
		transform->result = MemoryContextAlloc(transform->context,
											   transform->result_size);
	}
	memcpy(transform->source, string, size);
	transform->source[size] = '\0';

	for (;;)
	{
		if (transform->locale == NULL)
			length = strxfrm(transform->result, transform->source,
							 transform->result_size);
		else
			length = strxfrm_l(transform->result, transform->source,
							   transform->result_size,
							   LOCALE_OF_LIBC(transform->locale));
		if (length < transform->result_size)
			return length;
		transform->result_size = length + 1;
		transform->result = repalloc(transform->result,
									 transform->result_size);
	}
}

/*
 * The same for at most that many characters; *whole tells whether that is all
 * of the string.
 */
static Size
transform_head(CollationTransform *transform, const char *string, Size size,
			   int characters, bool *whole)
{
	Size		head = pg_mbcharcliplen(string, size, characters);

	if (head > LIBC_MAX_BYTES)
		head = pg_mbcliplen(string, size, LIBC_MAX_BYTES);
	*whole = head == size;
	return transform_whole(transform, string, head);
}

/*
 * The first level of a sort key is made of the weights of the characters, one
 * after the other.  So a few characters may give all the bytes that are
 * wanted.  Several characters may have another weight together, or none.  That
 * does not matter here, since keys of libc are not trusted.
 */
static Size
transform_by_libc(CollationTransform *transform, const char *string, Size size,
				  char *bytes, Size limit)
{
	bool		whole;
	Size		length = transform_head(transform, string, size,
										LIBC_HEAD_CHARACTERS(limit), &whole);

	if (!whole && (length < limit ||
				   memchr(transform->result, LIBC_LEVEL_END, limit) != NULL))
		length = transform_head(transform, string, size, LIBC_MAX_BYTES,
								&whole);
	if (length < limit && !whole)
	{
		memset(bytes, 0, limit);
		memcpy(bytes, transform->result, length);
		return limit;
	}
	memcpy(bytes, transform->result, Min(length, limit));
	return Min(length, limit);
}

Size
collation_transform(CollationTransform *transform, const char *string,
					Size size, char *bytes, Size limit)
{
	if (likely(transform->icu_keys != NULL))
		return icu_keys_write(transform->icu_keys, string, size, bytes, limit,
							  &transform->doubtful);
	return transform_by_libc(transform, string, size, bytes, limit);
}
