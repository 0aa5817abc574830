/*-------------------------------------------------------------------------
 *
 * page_writer.h
 *	  Logging and writing the pages of a new index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PAGE_WRITER_H
#define GPUSORT_PAGE_WRITER_H

#include "access/xlogdefs.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* The best number of pages to write at once. */
#define PAGE_BATCH	32

/*
 * Returns what page_writer_finish() has to know of the time before the first
 * page.
 */
extern XLogRecPtr page_writer_begin(void);

/*
 * Logs pages, if the index is logged, and writes them, each to its block of
 * the index.  Sets their places in the log and their checksums.  Any process
 * may write any page, once, whether or not the file is as long already.  The
 * pages are aligned to PG_IO_ALIGN_SIZE.
 */
extern void page_writer_write(Relation index, BlockNumber *blocks,
							  Page *pages, int npages);

/* Returns the number of the index's file to which the block belongs. */
static inline uint32
page_writer_file(BlockNumber block)
{
	return block / RELSEG_SIZE;
}

/*
 * Begins another file of the index, with its first block.  Called before that
 * block or one behind it is written, while nobody writes to the index.
 */
extern void page_writer_begin_file(Relation index, BlockNumber block);

/*
 * Makes all pages outlive a crash, if the index has to, when the last one has
 * been written.
 */
extern void page_writer_finish(Relation index, XLogRecPtr begun);

#endif							/* GPUSORT_PAGE_WRITER_H */
