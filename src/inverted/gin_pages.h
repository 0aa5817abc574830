/*-------------------------------------------------------------------------
 *
 * gin_pages.h
 *	  Writing the pages of an inverted index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GIN_PAGES_H
#define GPUSORT_GIN_PAGES_H

#include "access/gin_private.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* What an index has, or a part of it. */
typedef struct GinCounts
{
	uint64		entry_pages;	/* pages of the entry tree */
	uint64		data_pages;		/* pages of trees of lists */
	uint64		entries;
	uint64		tids;			/* in all lists */
} GinCounts;

/*
 * Writes pages of an index, in one of the processes that build it.  Pages are
 * new ones at the end of the index.
 */
typedef struct GinWriter
{
	Relation	index;
	BlockNumber next;			/* first new page that has no content yet */
	BlockNumber end;			/* end of these new pages */
	uint64		nblocks;		/* pages that this process has made */
	GinCounts	counts;			/* of what was written and not yet taken */
} GinWriter;

extern void gin_writer_init(GinWriter *writer, Relation index);

/* Returns the number of a new page. */
extern BlockNumber gin_writer_new_block(GinWriter *writer);

/* Writes a page to its place in the index, and to the WAL if necessary. */
extern void gin_writer_put(GinWriter *writer, BlockNumber block, Page page);

/* Returns the counts since the last call. */
extern GinCounts gin_writer_take_counts(GinWriter *writer);

/*
 * gin_pages_begin() makes the metapage of an index, whose file is empty, and
 * the page of the root: both have fixed numbers.  gin_pages_finish() notes the
 * counts of a complete index on the metapage.
 */
extern void gin_pages_begin(GinWriter *writer);
extern void gin_pages_finish(GinWriter *writer, const GinCounts *counts);

/*
 * A level of a tree, and its page that is being filled, in memory.  The first
 * page of a level has no number until it is full, or the tree is complete.
 */
typedef struct GinLevel
{
	struct GinLevel *parent;	/* NULL at the top */
	BlockNumber block;			/* number of the page, or InvalidBlockNumber */
	uint16		flags;			/* of all pages of the level */
	PGAlignedBlock page;
} GinLevel;

static inline Page
gin_level_page(GinLevel *level)
{
	return (Page) level->page.data;
}

/* Makes a level with an empty page, in the current memory context. */
extern GinLevel *gin_level_begin(uint16 flags);

/*
 * Writes the level's page, which is full, with a link to the next page: to
 * page "next", or to a new one.  Returns the number of the page.  Afterwards
 * the level has an empty page.
 */
extern BlockNumber gin_level_turn_page(GinLevel *level, GinWriter *writer);
extern BlockNumber gin_level_link_page(GinLevel *level, GinWriter *writer,
									   BlockNumber next);

/*
 * Writes the level's page as it is, and returns its number.  The last page of
 * a level has no link.
 */
extern BlockNumber gin_level_write_page(GinLevel *level, GinWriter *writer);

/*
 * Adds an entry to the level's page, if that has room.  Pages of entries are
 * filled to 90 percent.
 */
extern bool gin_level_add_entry(GinLevel *level, IndexTuple entry);

/*
 * Copies the last entry of a page to memory for BLCKSZ bytes, without its
 * rows: this is what the level above gets of the page.
 */
extern void gin_page_copy_last_entry(Page page, IndexTuple copy);

#endif							/* GPUSORT_GIN_PAGES_H */
