/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between PostgreSQL 15, 16, 17 and 18.
 *
 * Everything else in the extension is written as for the newest of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_COMPAT_H
#define GPUSORT_COMPAT_H

#include "postgres.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "mb/pg_wchar.h"
#include "utils/wait_event.h"

/* 17 gave extensions wait events with names of their own. */
#if PG_VERSION_NUM < 170000
#define WaitEventExtensionNew(name) PG_WAIT_EXTENSION
#endif

/*
 * Key encoders: varlena headers, comparison types, collations.
 */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
#include "utils/pg_locale.h"

#if PG_VERSION_NUM >= 180000
#define COLLATION_IS_C(collation) \
	(pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define COLLATION_IS_C(collation) lc_collate_is_c(collation)

/* 18 gave btree's strategy numbers names that no access method owns. */
#define CompareType int16
#define COMPARE_GT BTGreaterStrategyNumber
#endif

/*
 * Index builds: what core's sort has in memory ahead of each index tuple.  17
 * puts them one behind the other, and before 16 such headers were larger.
 */
#if PG_VERSION_NUM >= 170000
#define CORE_TUPLE_HEADER_BYTES 0
#elif PG_VERSION_NUM >= 160000
#define CORE_TUPLE_HEADER_BYTES 8
#else
#define CORE_TUPLE_HEADER_BYTES 24
#endif

/*
 * The beginning of a string's sort key, by a locale of ICU.  15 has no
 * function for it; that of 16 and 17 takes no heed of where the string ends.
 */
#if PG_VERSION_NUM >= 180000
#define icu_sort_key_prefix pg_strnxfrm_prefix
#else
static inline size_t
icu_sort_key_prefix(char *dest, size_t destsize, const char *src,
					ssize_t srclen, pg_locale_t locale)
{
#ifdef USE_ICU
	UCharIterator characters;
	UChar	   *converted = NULL;
	uint32		state[2] = {0, 0};
	UErrorCode	status = U_ZERO_ERROR;
	int32		length;

	if (GetDatabaseEncoding() == PG_UTF8)
		uiter_setUTF8(&characters, src, srclen);
	else
	{
		length = icu_to_uchar(&converted, src, srclen);
		uiter_setString(&characters, converted, length);
	}
	length = ucol_nextSortKeyPart(locale->info.icu.ucol, &characters, state,
								  (uint8 *) dest, destsize, &status);
	if (U_FAILURE(status))
		ereport(ERROR,
				(errmsg("sort key generation failed: %s",
						u_errorName(status))));
	if (converted != NULL)
		pfree(converted);
	return length;
#else
	elog(ERROR, "a collation of ICU in a server without ICU");
	return 0;
#endif
}
#endif

#endif							/* GPUSORT_COMPAT_H */
