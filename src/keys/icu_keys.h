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

#include "port/compat.h"

/* What is known of a collation of ICU. */
typedef struct IcuKeys IcuKeys;

/* Bytes beyond the limit that icu_keys_write() may overwrite. */
#define ICU_KEYS_SLACK		16

/* For this locale, which must be one of ICU; lives as long as the process. */
extern IcuKeys *icu_keys_get(pg_locale_t locale);

/*
 * Are the keys of plain strings certain to be in the order in which ICU
 * compares the strings?  What was certain may turn out not to be.
 */
extern bool icu_keys_trusted(const IcuKeys *keys);

/*
 * Writes the first "limit" bytes of a string's sort key, and returns how many
 * these are: fewer than the limit if that is all of it.  Sets *doubtful if the
 * string is not a plain one; otherwise leaves it as it is.
 */
extern Size icu_keys_write(IcuKeys *keys, const char *string, Size size,
						   char *bytes, Size limit, bool *doubtful);

#endif							/* GPUSORT_ICU_KEYS_H */
