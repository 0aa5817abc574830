/*-------------------------------------------------------------------------
 *
 * collation.h
 *	  From strings to bytes that compare as a collation has it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_COLLATION_H
#define GPUSORT_COLLATION_H

#include "postgres.h"

#include "keys/icu_keys.h"

/* A collation that does not order by bytes, with what is needed to apply it. */
typedef struct CollationTransform CollationTransform;

/*
 * Can strings be sorted under this collation?  InvalidOid, which says that
 * there is none, gives false.
 */
extern bool collation_can_sort(Oid collation);

/*
 * Makes a transform, in the current memory context; NULL if strings sort as
 * their bytes do, and only equal bytes are equal.  The collation must be one
 * that can sort.
 */
extern CollationTransform *collation_transform_create(Oid collation);

/* Bytes beyond the limit that collation_transform() may overwrite. */
#define COLLATION_SLACK		ICU_KEYS_SLACK

/*
 * Writes the first "limit" bytes of a string's sort key, and returns how many
 * these are: fewer than the limit if that is all of it.  None is zero, other
 * than such as fill up to the limit.
 */
extern Size collation_transform(CollationTransform *transform,
								const char *string, Size size,
								char *bytes, Size limit);

/* May strings be different that have equal sort keys? */
extern bool collation_breaks_ties(const CollationTransform *transform);

/*
 * Are the sort keys made so far certain to be in the order in which the server
 * compares the strings?
 */
extern bool collation_is_trusted(const CollationTransform *transform);

#endif							/* GPUSORT_COLLATION_H */
