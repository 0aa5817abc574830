/*-------------------------------------------------------------------------
 *
 * gin_pages.c
 *	  Writing the pages of an inverted index.
 *
 * The trees of an index are filled from left to right.  A page links to its
 * right neighbour, so it gets written when that one has a number.  Nothing
 * goes to the WAL here: the whole index does when it is complete.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "inverted/gin_pages.h"

void
gin_pages_begin(Relation index)
{
	Buffer		metapage = GinNewBuffer(index);
	Buffer		root = GinNewBuffer(index);

	Assert(BufferGetBlockNumber(metapage) == GIN_METAPAGE_BLKNO);
	Assert(BufferGetBlockNumber(root) == GIN_ROOT_BLKNO);
	START_CRIT_SECTION();
	GinInitMetabuffer(metapage);
	MarkBufferDirty(metapage);
	GinInitBuffer(root, GIN_LEAF);
	MarkBufferDirty(root);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(metapage);
	UnlockReleaseBuffer(root);
}

void
gin_pages_finish(Relation index, GinStatsData *stats)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);

	stats->nTotalPages = nblocks;
	ginUpdateStats(index, stats, true);
	if (RelationNeedsWAL(index))
		log_newpage_range(index, MAIN_FORKNUM, 0, nblocks, true);
}

GinLevel *
gin_level_begin(uint16 flags)
{
	GinLevel   *level = palloc(sizeof(GinLevel));

	level->parent = NULL;
	level->block = InvalidBlockNumber;
	level->flags = flags;
	GinInitPage(gin_level_page(level), flags, BLCKSZ);
	return level;
}

void
gin_page_copy(Buffer buffer, Page page)
{
	START_CRIT_SECTION();
	memcpy(BufferGetPage(buffer), page, BLCKSZ);
	MarkBufferDirty(buffer);
	END_CRIT_SECTION();
}

/* Makes a new page at the end of the index, and returns its number. */
static BlockNumber
new_block(Relation index)
{
	Buffer		buffer = GinNewBuffer(index);
	BlockNumber block = BufferGetBlockNumber(buffer);

	UnlockReleaseBuffer(buffer);
	return block;
}

BlockNumber
gin_level_write_page(GinLevel *level, Relation index)
{
	/* to its place, or to a new page */
	Buffer		buffer = level->block == InvalidBlockNumber ?
		GinNewBuffer(index) :
		ReadBufferExtended(index, MAIN_FORKNUM, level->block,
						   RBM_ZERO_AND_LOCK, NULL);
	BlockNumber block = BufferGetBlockNumber(buffer);

	gin_page_copy(buffer, gin_level_page(level));
	UnlockReleaseBuffer(buffer);
	return block;
}

BlockNumber
gin_level_turn_page(GinLevel *level, Relation index)
{
	Page		page = gin_level_page(level);
	BlockNumber next = new_block(index);
	BlockNumber block;

	GinPageGetOpaque(page)->rightlink = next;
	block = gin_level_write_page(level, index);
	level->block = next;
	GinInitPage(page, level->flags, BLCKSZ);
	return block;
}
