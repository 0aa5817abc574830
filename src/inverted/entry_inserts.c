/*-------------------------------------------------------------------------
 *
 * entry_inserts.c
 *	  Inserting blocks of terms into an inverted index.
 *
 * Core's build in one process needs no temporary files: it inserts what its
 * memory holds into the index, time after time.  A build that may write few
 * temporary files, by temp_file_limit, does the same with its blocks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "inverted/entry_inserts.h"
#include "inverted/gin_pages.h"

struct EntryInserts
{
	GinWriter	writer;
	Terms	   *terms;
	MemoryContext context;		/* memory of one insertion */
	GinStatsData stats;			/* counts of core's insertions */
	uint64		ntids;
};

EntryInserts *
entry_inserts_begin(Relation index, Terms *terms)
{
	EntryInserts *inserts = palloc0(sizeof(EntryInserts));
	PGAlignedBlock root;

	inserts->terms = terms;
	inserts->context = AllocSetContextCreate(CurrentMemoryContext,
											 "gpusort index entry",
											 ALLOCSET_DEFAULT_SIZES);
	gin_writer_init(&inserts->writer, index);
	gin_pages_begin(&inserts->writer);
	GinInitPage((Page) root.data, GIN_LEAF, BLCKSZ);
	gin_writer_put(&inserts->writer, GIN_ROOT_BLKNO, (Page) root.data);
	inserts->stats.nEntryPages = 1;
	return inserts;
}

void
entry_inserts_put(EntryInserts *inserts, TermBlock *block)
{
	MemoryContext caller_context = MemoryContextSwitchTo(inserts->context);
	TermRows	rows;

	while (term_block_next(block, &rows))
	{
		CHECK_FOR_INTERRUPTS();
		ginEntryInsert(&inserts->terms->gin, rows.term.column,
					   rows.term.value, rows.term.category, rows.tids,
					   rows.count, &inserts->stats);
		inserts->ntids += rows.count;
		MemoryContextReset(inserts->context);
	}
	MemoryContextSwitchTo(caller_context);
}

uint64
entry_inserts_finish(EntryInserts *inserts)
{
	Relation	index = inserts->writer.index;
	const GinCounts counts = {
		.entry_pages = inserts->stats.nEntryPages,
		.data_pages = inserts->stats.nDataPages,
		.entries = inserts->stats.nEntries
	};

	/* insertions into an index that is being built write no WAL */
	if (RelationNeedsWAL(index))
		log_newpage_range(index, MAIN_FORKNUM, GIN_ROOT_BLKNO,
						  RelationGetNumberOfBlocks(index), true);
	gin_pages_finish(&inserts->writer, &counts);
	MemoryContextDelete(inserts->context);
	return inserts->ntids;
}
