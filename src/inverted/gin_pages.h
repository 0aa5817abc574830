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

/*
 * Makes the metapage of an empty index, and an empty root of the entry tree:
 * both have fixed numbers.
 */
extern void gin_pages_begin(Relation index);

/*
 * Notes the counts of a complete index on the metapage, and writes the index
 * to the WAL if necessary.
 */
extern void gin_pages_finish(Relation index, GinStatsData *stats);

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
 * Writes the level's page, which is full, with a link to the next page.
 * Returns the number of the page.  Afterwards the level has an empty page.
 */
extern BlockNumber gin_level_turn_page(GinLevel *level, Relation index);

/*
 * Writes the level's page as it is, and returns its number.  The last page of
 * a level has no link.
 */
extern BlockNumber gin_level_write_page(GinLevel *level, Relation index);

/* Copies a page to a buffer, which is locked. */
extern void gin_page_copy(Buffer buffer, Page page);

#endif							/* GPUSORT_GIN_PAGES_H */
