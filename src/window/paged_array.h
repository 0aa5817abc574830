/*-------------------------------------------------------------------------
 *
 * paged_array.h
 *	  A short value for each row, by position, within limited memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PAGED_ARRAY_H
#define GPUSORT_PAGED_ARRAY_H

#include "storage/buffile.h"

/* A page of values. */
typedef struct ArrayPage
{
	char	   *memory;			/* NULL: the page is in the file */
	int64		block;			/* block of the file; -1: not written */
} ArrayPage;

/* Memory for a page. */
typedef struct PageFrame
{
	char	   *memory;
	int64		page;			/* number of the page that it has */
} PageFrame;

typedef struct PagedArray
{
	Size		width;			/* bytes of a value, a power of 2 */
	int			page_bits;		/* values of a page, as a power of 2 */
	int64		count;			/* values that were added */
	int64		first_page;		/* first page that is kept */
	ArrayPage  *pages;			/* kept pages, at their numbers modulo
								 * "max_pages" */
	int64		max_pages;		/* a power of 2 */
	PageFrame  *frames;
	int			nframes;
	int			max_frames;
	int			next_frame;		/* frame that is used next, once all are made */
	BufFile    *file;			/* NULL: no page was written */
	int64		nblocks;		/* blocks of the file */
	MemoryContext context;		/* owns everything */
} PagedArray;

/*
 * Makes an empty array of values of this many bytes, in the current memory
 * context.  Pages take "limit" bytes of memory, or a few pages if that is
 * less; the others go to a temporary file.
 */
extern void paged_array_init(PagedArray *array, Size width, Size limit);

/*
 * Adds a value behind the others; returns its place, valid until the next
 * call.
 */
extern void *paged_array_add(PagedArray *array);

/* Brings a page into memory. */
extern void paged_array_read(PagedArray *array, int64 page);

/* Drops the values before this one. */
extern void paged_array_release(PagedArray *array, int64 first);

/*
 * Closes the file.  The memory goes with its context; the array may be all
 * zeros.
 */
extern void paged_array_end(PagedArray *array);

/* Returns a value that was added and not dropped, valid until the next call. */
static inline void *
paged_array_get(PagedArray *array, int64 number)
{
	int64		page = number >> array->page_bits;
	const ArrayPage *place = &array->pages[page & (array->max_pages - 1)];

	Assert(page >= array->first_page && number < array->count);
	if (unlikely(place->memory == NULL))
		paged_array_read(array, page);
	return place->memory +
		(number & (((int64) 1 << array->page_bits) - 1)) * array->width;
}

#endif							/* GPUSORT_PAGED_ARRAY_H */
