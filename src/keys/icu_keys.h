/*-------------------------------------------------------------------------
 *
 * icu_keys.h
 *	  Sort keys that are equal to ICU's, mostly made without calling ICU.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ICU_KEYS_H
#define GPUSORT_ICU_KEYS_H

#include "postgres.h"

#include "port/compat.h"

/* The weights of characters under a collation of ICU, as far as learned. */
typedef struct IcuKeys IcuKeys;

/* Bytes beyond the limit that icu_keys_write() may overwrite. */
#define ICU_KEYS_SLACK		16

/* The keys of this locale of ICU, which live as long as the process. */
extern IcuKeys *icu_keys_get(pg_locale_t locale);

/*
 * Are the keys of plain strings certain to be in the order of ICU's comparison?
 * May change from true to false.
 */
extern bool icu_keys_trusted(const IcuKeys *keys);

/*
 * Writes a string's sort key, truncated to "limit" bytes, and returns the bytes
 * written: fewer than the limit if the key is whole.  Sets *doubtful if the string
 * is not plain, and leaves it unchanged otherwise.
 */
extern Size icu_keys_write(IcuKeys *keys, const char *string, Size size,
						   char *bytes, Size limit, bool *doubtful);

#endif							/* GPUSORT_ICU_KEYS_H */
