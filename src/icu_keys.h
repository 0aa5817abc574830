/*-------------------------------------------------------------------------
 *
 * icu_keys.h
 *	  Sort keys as ICU makes them, mostly without asking it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ICU_KEYS_H
#define GPUSORT_ICU_KEYS_H

#include "postgres.h"

#include "compat.h"

/* What is known of a collation of ICU. */
typedef struct IcuKeys IcuKeys;

/* Bytes beyond the limit that icu_keys_write() may overwrite. */
#define ICU_KEYS_SLACK		16

/* For this locale, which must be one of ICU; lives as long as the process. */
extern IcuKeys *icu_keys_get(pg_locale_t locale);

/*
 * Writes the first "limit" bytes of a string's sort key, and returns how many
 * these are: fewer than the limit if that is all of it.
 */
extern Size icu_keys_write(IcuKeys *keys, const char *string, Size size,
						   char *bytes, Size limit);

#endif							/* GPUSORT_ICU_KEYS_H */
