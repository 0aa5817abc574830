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

#include "miscadmin.h"
#include "utils/memutils.h"

#include "inverted/entry_inserts.h"
#include "inverted/gin_pages.h"

struct EntryInserts
{
	Relation	index;
	Terms	   *terms;
	MemoryContext context;		/* memory of one insertion */
	GinStatsData stats;
	uint64		ntids;
};

EntryInserts *
entry_inserts_begin(Relation index, Terms *terms)
{
	EntryInserts *inserts = palloc0(sizeof(EntryInserts));

	inserts->index = index;
	inserts->terms = terms;
	inserts->context = AllocSetContextCreate(CurrentMemoryContext,
											 "gpusort index entry",
											 ALLOCSET_DEFAULT_SIZES);
	gin_pages_begin(index);
	/* the root */
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
	gin_pages_finish(inserts->index, &inserts->stats);
	MemoryContextDelete(inserts->context);
	return inserts->ntids;
}
