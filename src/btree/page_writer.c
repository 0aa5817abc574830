/*-------------------------------------------------------------------------
 *
 * page_writer.c
 *	  Logging and writing the pages of a new index.
 *
 * Nobody else knows a new index, so its pages need no buffers.  They are
 * logged and written in batches: one record of the log for a batch, and one
 * call of the system for all pages that follow one another.
 *
 * Any process of the build writes pages, in any order.  A page beyond the end of
 * the file leaves a hole, which other pages fill.  But an index larger than
 * RELSEG_SIZE blocks is in several files, and md.c makes the next file only
 * when the one before is as long as it can be; else it writes the last block
 * of that file, which might overwrite a page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "storage/smgr.h"

#include "btree/page_writer.h"
#include "port/compat.h"

XLogRecPtr
page_writer_begin(void)
{
	return GetRedoRecPtr();
}

void
page_writer_write(Relation index, BlockNumber *blocks, Page *pages, int npages)
{
	int			end;

	if (RelationNeedsWAL(index))
		log_newpages(RELATION_LOCATOR(index), MAIN_FORKNUM, npages, blocks,
					 pages, true);
	for (int i = 0; i < npages; i++)
		PageSetChecksum(pages[i], blocks[i]);
	/* pages that follow one another in a file */
	for (int first = 0; first < npages; first = end)
	{
		for (end = first + 1; end < npages; end++)
			if (blocks[end] != blocks[end - 1] + 1 ||
				page_writer_file(blocks[end]) != page_writer_file(blocks[first]))
				break;
		write_blocks(RelationGetSmgr(index), MAIN_FORKNUM, blocks[first],
					 pages + first, end - first);
	}
}

void
page_writer_begin_file(Relation index, BlockNumber block)
{
	Page		zeros = ALLOCATE_BLOCK(CurrentMemoryContext);

	memset(zeros, 0, BLCKSZ);
	smgrextend(RelationGetSmgr(index), MAIN_FORKNUM, block, zeros, true);
	pfree(zeros);
}

void
page_writer_finish(Relation index, XLogRecPtr begun)
{
	/* storage.c syncs permanent relations that are not logged at commit */
	if (RelationNeedsWAL(index) ||
		index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		sync_new_pages(RelationGetSmgr(index), MAIN_FORKNUM,
					   RelationNeedsWAL(index), begun);
}
