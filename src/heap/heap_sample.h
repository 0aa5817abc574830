/*-------------------------------------------------------------------------
 *
 * heap_sample.h
 *	  What a few pages tell of a heap that has no statistics.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_HEAP_SAMPLE_H
#define GPUSORT_HEAP_SAMPLE_H

#include "access/attnum.h"
#include "utils/relcache.h"

/* Returns about how many rows a heap has. */
extern double heap_sample_rows(Relation heap);

/*
 * Returns the bytes that a column's values take in a row of the heap, or beside
 * it, on average; a NULL takes none.
 */
extern double heap_sample_width(Relation heap, AttrNumber column);

#endif							/* GPUSORT_HEAP_SAMPLE_H */
