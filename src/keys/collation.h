/*-------------------------------------------------------------------------
 *
 * collation.h
 *	  Sort keys of strings under a collation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_COLLATION_H
#define GPUSORT_COLLATION_H

#include "postgres.h"

#include "keys/icu_keys.h"

/* The state for making sort keys under a collation that does not sort by bytes. */
typedef struct CollationTransform CollationTransform;

/*
 * Can strings be sorted under this collation?  False for InvalidOid.
 */
extern bool collation_can_sort(Oid collation);

/*
 * Makes a transform, in the current memory context; NULL if strings sort by their
 * bytes under the collation, and only equal bytes are equal.  The collation must
 * be one that can sort.
 */
extern CollationTransform *collation_transform_create(Oid collation);

/* Bytes beyond the limit that collation_transform() may overwrite. */
#define COLLATION_SLACK		ICU_KEYS_SLACK

/*
 * Writes a string's sort key, truncated to "limit" bytes, and returns the bytes
 * written: fewer than the limit if the key is whole.  No byte of a sort key is
 * zero; zeros may follow it up to the limit.
 */
extern Size collation_transform(CollationTransform *transform,
								const char *string, Size size,
								char *bytes, Size limit);

/* Do strings with equal sort keys sort by their bytes? */
extern bool collation_breaks_ties(const CollationTransform *transform);

/*
 * Are the sort keys made so far certain to be in the order of the server's
 * comparison of the strings?
 */
extern bool collation_is_trusted(const CollationTransform *transform);

#endif							/* GPUSORT_COLLATION_H */
