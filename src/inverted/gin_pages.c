/*-------------------------------------------------------------------------
 *
 * gin_pages.c
 *	  Writing the pages of an inverted index.
 *
 * The trees of an index are filled from left to right.  A page links to its
 * right neighbour, so it gets written when that one has a number.  Each page
 * is written once, by one of the processes that build the index, and goes to
 * the WAL at the same time.  Processes make new pages at the end of the index
 * on their own, several at once: a few of them are left, without content.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "inverted/gin_pages.h"
#include "port/compat.h"

/* Pages are made at once: one for each this many that the process has made. */
#define MADE_FOR_EACH_NEW	32

/*
 * Percent of a page that are filled with entries: the rest is for entries that
 * come later, as in a B-tree.
 */
#define ENTRY_FILL_FACTOR	90
#define LEAST_FREE_BYTES	(BLCKSZ * (100 - ENTRY_FILL_FACTOR) / 100)

void
gin_writer_init(GinWriter *writer, Relation index)
{
	memset(writer, 0, sizeof(GinWriter));
	writer->index = index;
}

/* Makes new pages at the end of the index. */
static void
make_blocks(GinWriter *writer)
{
	uint32		nblocks = Min(writer->nblocks / MADE_FOR_EACH_NEW + 1,
							  MOST_BLOCKS_OF_EXTENSION);

	writer->next = extend_relation(writer->index, &nblocks);
	writer->end = writer->next + nblocks;
	writer->nblocks += nblocks;
}

BlockNumber
gin_writer_new_block(GinWriter *writer)
{
	if (writer->next == writer->end)
		make_blocks(writer);
	return writer->next++;
}

void
gin_writer_put(GinWriter *writer, BlockNumber block, Page page)
{
	Buffer		buffer = ReadBufferExtended(writer->index, MAIN_FORKNUM, block,
											RBM_ZERO_AND_LOCK, NULL);

	START_CRIT_SECTION();
	memcpy(BufferGetPage(buffer), page, BLCKSZ);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(writer->index))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
	if (GinPageIsData(page))
		writer->counts.data_pages++;
	else
		writer->counts.entry_pages++;
}

GinCounts
gin_writer_take_counts(GinWriter *writer)
{
	GinCounts	counts = writer->counts;

	memset(&writer->counts, 0, sizeof(GinCounts));
	return counts;
}

void
gin_pages_begin(GinWriter *writer)
{
	BlockNumber metablock = gin_writer_new_block(writer);
	BlockNumber root = gin_writer_new_block(writer);
	Buffer		metapage = ReadBuffer(writer->index, metablock);

	if (metablock != GIN_METAPAGE_BLKNO || root != GIN_ROOT_BLKNO)
		elog(ERROR, "index \"%s\" has pages already",
			 RelationGetRelationName(writer->index));
	LockBuffer(metapage, GIN_EXCLUSIVE);
	START_CRIT_SECTION();
	GinInitMetabuffer(metapage);
	MarkBufferDirty(metapage);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(metapage);
}

void
gin_pages_finish(GinWriter *writer, const GinCounts *counts)
{
	GinStatsData stats = {
		.nTotalPages = RelationGetNumberOfBlocks(writer->index),
		.nEntryPages = counts->entry_pages,
		.nDataPages = counts->data_pages,
		.nEntries = counts->entries
	};

	/* for core this is no build: it would log the metapage later */
	ginUpdateStats(writer->index, &stats, false);
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

BlockNumber
gin_level_write_page(GinLevel *level, GinWriter *writer)
{
	/* to its place, or to a new page */
	BlockNumber block = level->block != InvalidBlockNumber ? level->block :
		gin_writer_new_block(writer);

	gin_writer_put(writer, block, gin_level_page(level));
	return block;
}

BlockNumber
gin_level_link_page(GinLevel *level, GinWriter *writer, BlockNumber next)
{
	Page		page = gin_level_page(level);
	BlockNumber block;

	GinPageGetOpaque(page)->rightlink = next;
	block = gin_level_write_page(level, writer);
	level->block = next;
	GinInitPage(page, level->flags, BLCKSZ);
	return block;
}

BlockNumber
gin_level_turn_page(GinLevel *level, GinWriter *writer)
{
	return gin_level_link_page(level, writer, gin_writer_new_block(writer));
}

bool
gin_level_add_entry(GinLevel *level, IndexTuple entry)
{
	Page		page = gin_level_page(level);
	Size		bytes = IndexTupleSize(entry);
	Size		free = PageGetFreeSpace(page);

	/* a page has at least two entries, even large ones */
	if (free < MAXALIGN(bytes) ||
		(free - MAXALIGN(bytes) < LEAST_FREE_BYTES &&
		 PageGetMaxOffsetNumber(page) >= 2))
		return false;
	if (PageAddItem(page, (void *) entry, bytes, InvalidOffsetNumber, false,
					false) == InvalidOffsetNumber)
		elog(ERROR, "could not add an entry to a page of an index");
	return true;
}

void
gin_page_copy_last_entry(Page page, IndexTuple copy)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	IndexTuple	entry = (IndexTuple) PageGetItem(page, PageGetItemId(page, last));
	Size		bytes = IndexTupleSize(entry);

	if (GinPageIsLeaf(page) && !GinIsPostingTree(entry))
		bytes = MAXALIGN(GinGetPostingOffset(entry));
	memcpy(copy, entry, bytes);
	copy->t_info = (copy->t_info & ~INDEX_SIZE_MASK) | bytes;
}
