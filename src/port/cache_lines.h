/*-------------------------------------------------------------------------
 *
 * cache_lines.h
 *	  The cache lines of the processor.
 *
 * No processor predicts the order in which rows are read, so their cache lines
 * are prefetched by __builtin_prefetch().
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_CACHE_LINES_H
#define GPUSORT_CACHE_LINES_H

#define CACHE_LINE_BYTES	64

#endif							/* GPUSORT_CACHE_LINES_H */
