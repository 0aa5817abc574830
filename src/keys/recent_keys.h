/*-------------------------------------------------------------------------
 *
 * recent_keys.h
 *	  The sort keys of strings that came a short while ago.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RECENT_KEYS_H
#define GPUSORT_RECENT_KEYS_H

#include "keys/collation.h"

typedef struct RecentKeys RecentKeys;

/* Begins without keys, in the current memory context. */
extern RecentKeys *recent_keys_create(void);

/*
 * Does what collation_transform() does, but returns the sort key, and sets its
 * length.  The sort key is good until the next call.  "bytes" has room for a
 * sort key.
 */
extern const char *recent_keys_transform(RecentKeys *recent,
										 CollationTransform *transform,
										 const char *string, Size size,
										 char *bytes, Size limit, Size *length);

#endif							/* GPUSORT_RECENT_KEYS_H */
