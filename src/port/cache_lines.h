/*-------------------------------------------------------------------------
 *
 * cache_lines.h
 *	  What the processor fetches at once.
 *
 * Rows are visited in an order that no processor foresees, so what will be
 * wanted is named ahead of time, by __builtin_prefetch().
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_CACHE_LINES_H
#define GPUSORT_CACHE_LINES_H

#define CACHE_LINE_BYTES	64

#endif							/* GPUSORT_CACHE_LINES_H */
