/*-------------------------------------------------------------------------
 *
 * collation.c
 *	  What sort keys need to know of a collation.
 *
 * The server itself knows which collations it compares with memcmp(): C and
 * POSIX of any provider, and all collations of the builtin provider (17 and
 * later), with C.UTF-8 among them.  It does not know of one more, which is
 * the default of many installations: libc's C.UTF-8, for which it calls
 * strcoll().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "collation.h"
#include "compat.h"

/*
 * Does this C library's strcoll() order C.UTF-8 by bytes?
 *
 * glibc's does so since 2.35, where the locale came upstream with a collation
 * that has no rules at all ("codepoint_collation"), so that strcoll() is
 * strcmp() for whatever bytes it is given.  The C.UTF-8 that distributions
 * had before that listed the code points one by one, and left out those that
 * were not assigned then.  It is the library in use that counts, not the one
 * compiled against.
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
 * The name of the locale by which libc compares under this collation, or NULL
 * if it is another provider that compares.
 */
static char *
libc_locale(Oid collation)
{
	int			cache;
	HeapTuple	tuple;
	char		provider;
	AttrNumber	attno;
	Datum		name = (Datum) 0;
	bool		isnull = true;
	char	   *result;

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
			elog(ERROR, "cache lookup failed for collation %u", collation);
		provider = ((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
		attno = Anum_pg_collation_collcollate;
	}

	if (provider == COLLPROVIDER_LIBC)
		name = SysCacheGetAttr(cache, tuple, attno, &isnull);
	result = isnull ? NULL : TextDatumGetCString(name);
	ReleaseSysCache(tuple);
	return result;
}

bool
collation_is_bytewise(Oid collation)
{
	char	   *locale;

	if (!OidIsValid(collation))
		return false;
	if (COLLATION_IS_C(collation))
		return true;
	if (!libc_c_utf8_is_bytewise())
		return false;

	/* glibc takes both spellings, and any case, for the same locale. */
	locale = libc_locale(collation);
	return locale != NULL &&
		(pg_strcasecmp(locale, "C.UTF-8") == 0 ||
		 pg_strcasecmp(locale, "C.UTF8") == 0);
}
