/*-------------------------------------------------------------------------
 *
 * toast.h
 *	  Values that have to be fetched or decompressed before they are read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TOAST_H
#define GPUSORT_TOAST_H

#include "postgres.h"

/* Is a value, of varying length, compressed or stored elsewhere? */
static inline bool
is_toasted(const struct varlena *value)
{
	return VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value);
}

#endif							/* GPUSORT_TOAST_H */
