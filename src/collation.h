/*-------------------------------------------------------------------------
 *
 * collation.h
 *	  What sort keys need to know of a collation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_COLLATION_H
#define GPUSORT_COLLATION_H

#include "postgres.h"

/*
 * Does text under this collation sort as its bytes do, and are only equal
 * bytes equal?  InvalidOid gives false.
 */
extern bool collation_is_bytewise(Oid collation);

#endif							/* GPUSORT_COLLATION_H */
