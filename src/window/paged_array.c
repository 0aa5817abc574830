/*-------------------------------------------------------------------------
 *
 * paged_array.c
 *	  A short value for each row, by position, within limited memory.
 *
 * Values are added one behind the other, looked at by a few readers that each
 * move on slowly, and dropped from the first one on.  They are in pages of a
 * block.  A page that is full never changes.  So it is written at most once,
 * when its memory is needed for another page, and read again as often as
 * somebody looks at it.  Pages leave memory in the order in which they have
 * come, which costs a reader that stays on a page little, and needs no note of
 * who reads what.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/tablespace.h"
#include "port/pg_bitutils.h"

#include "window/paged_array.h"

/* Readers and the page that is being filled have a page each, at least. */
#define LEAST_FRAMES	8

/* Pages for which there is room at first; a power of 2. */
#define FIRST_MAX_PAGES	8

void
paged_array_init(PagedArray *array, Size width, Size limit)
{
	memset(array, 0, sizeof(*array));
	array->width = width;
	array->page_bits = pg_leftmost_one_pos64(BLCKSZ / width);
	array->max_pages = FIRST_MAX_PAGES;
	array->pages = palloc(FIRST_MAX_PAGES * sizeof(ArrayPage));
	array->max_frames = Min(Max(limit / BLCKSZ, LEAST_FRAMES), PG_INT16_MAX);
	array->frames = palloc(LEAST_FRAMES * sizeof(PageFrame));
	array->context = CurrentMemoryContext;
}

static inline ArrayPage *
find_page(const PagedArray *array, int64 page)
{
	return &array->pages[page & (array->max_pages - 1)];
}

/* Makes room for the number of one more page. */
static void
grow_pages(PagedArray *array, int64 page)
{
	int64		max_pages = array->max_pages * 2;
	ArrayPage  *pages = MemoryContextAllocHuge(array->context,
											   max_pages * sizeof(ArrayPage));

	for (int64 i = array->first_page; i < page; i++)
		pages[i & (max_pages - 1)] = *find_page(array, i);
	pfree(array->pages);
	array->pages = pages;
	array->max_pages = max_pages;
}

static void
create_file(PagedArray *array)
{
	MemoryContext caller_context = MemoryContextSwitchTo(array->context);

	PrepareTempTablespaces();
	array->file = BufFileCreateTemp(false);
	MemoryContextSwitchTo(caller_context);
}

/* Takes a page out of its frame, and writes it if it was not written before. */
static void
evict(PagedArray *array, PageFrame *frame)
{
	ArrayPage  *page = find_page(array, frame->page);

	if (page->block < 0)
	{
		if (array->file == NULL)
			create_file(array);
		if (BufFileSeekBlock(array->file, array->nblocks) != 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not seek in a temporary file: %m")));
		BufFileWrite(array->file, frame->memory, BLCKSZ);
		page->block = array->nblocks++;
	}
	page->memory = NULL;
}

/* Makes a new frame. */
static PageFrame *
add_frame(PagedArray *array)
{
	if (array->nframes >= LEAST_FRAMES &&
		pg_nextpower2_32(array->nframes) == array->nframes)
		array->frames = repalloc(array->frames,
								 array->nframes * 2 * sizeof(PageFrame));
	array->frames[array->nframes].memory = MemoryContextAlloc(array->context,
															  BLCKSZ);
	return &array->frames[array->nframes++];
}

/*
 * Returns memory for a page: of a page that was dropped, new memory, or that
 * of a full page.
 */
static char *
find_memory(PagedArray *array, int64 page)
{
	int64		filled = (array->count - 1) >> array->page_bits;
	PageFrame  *frame = &array->frames[array->next_frame];

	if (array->nframes == 0 ||
		(frame->page >= array->first_page &&
		 array->nframes < array->max_frames))
		frame = add_frame(array);
	else
	{
		if (frame->page == filled && page < filled)
		{
			/* values are still added to this one */
			array->next_frame = (array->next_frame + 1) % array->nframes;
			frame = &array->frames[array->next_frame];
		}
		if (frame->page >= array->first_page)
			evict(array, frame);
		array->next_frame = (array->next_frame + 1) % array->nframes;
	}
	frame->page = page;
	return frame->memory;
}

void *
paged_array_add(PagedArray *array)
{
	int64		page = array->count >> array->page_bits;

	if ((array->count & (((int64) 1 << array->page_bits) - 1)) == 0)
	{
		char	   *memory = find_memory(array, page);

		if (page - array->first_page == array->max_pages)
			grow_pages(array, page);
		*find_page(array, page) = (ArrayPage)
		{
			.memory = memory,.block = -1
		};
	}
	return paged_array_get(array, array->count++);
}

void
paged_array_read(PagedArray *array, int64 page)
{
	ArrayPage  *place = find_page(array, page);
	char	   *memory = find_memory(array, page);

	if (BufFileSeekBlock(array->file, place->block) != 0 ||
		BufFileRead(array->file, memory, BLCKSZ) != BLCKSZ)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read a temporary file: %m")));
	place->memory = memory;
}

void
paged_array_release(PagedArray *array, int64 first)
{
	array->first_page = Max(array->first_page, first >> array->page_bits);
}

void
paged_array_end(PagedArray *array)
{
	if (array->file != NULL)
		BufFileClose(array->file);
	memset(array, 0, sizeof(*array));
}
