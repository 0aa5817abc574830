/*-------------------------------------------------------------------------
 *
 * term_scan.c
 *	  Parsing the rows of a table into blocks of terms.
 *
 * The operator class of a column extracts the terms of a value.  Its function
 * may raise errors, run queries, or build indexes itself, so nothing is locked
 * here when it is called.
 *
 * Core's scan gives the rows, as it gives them in the order of their TIDs:
 * parsing a row takes much longer than reading it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/index.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/term_scan.h"
#include "port/compat.h"

/* Puts one of the nulls that stand for a whole value. */
static void
put_null(TermScan *scan, OffsetNumber column, GinNullCategory category)
{
	Term		term = {.column = column,.category = category};

	term_block_add(scan->block, &term);
}

/* Puts the terms of a column's value. */
static void
put_value(TermScan *scan, OffsetNumber column, Datum value)
{
	GinState   *gin = &scan->terms->gin;
	int32		nterms = 0;
	bool	   *nulls = NULL;
	Datum	   *values = (Datum *)
		DatumGetPointer(FunctionCall3Coll(&gin->extractValueFn[column - 1],
										  gin->supportCollation[column - 1],
										  value, PointerGetDatum(&nterms),
										  PointerGetDatum(&nulls)));

	if (values == NULL || nterms <= 0)
	{
		put_null(scan, column, GIN_CAT_EMPTY_ITEM);
		return;
	}
	for (int32 i = 0; i < nterms; i++)
	{
		Term		term = {.column = column};

		if (nulls != NULL && nulls[i])
			term.category = GIN_CAT_NULL_KEY;
		else
			term.value = values[i];
		term_block_add(scan->block, &term);
	}
}

/* Puts the terms of a row; an IndexBuildCallback. */
static void
put_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool is_alive, void *state)
{
	TermScan   *scan = state;
	int			ncolumns = scan->terms->gin.origTupdesc->natts;
	MemoryContext caller_context = MemoryContextSwitchTo(scan->row_context);

	CHECK_FOR_INTERRUPTS();
	term_block_begin_row(scan->block, tid);
	for (int i = 0; i < ncolumns; i++)
	{
		if (isnull[i])
			put_null(scan, i + 1, GIN_CAT_NULL_ITEM);
		else
			put_value(scan, i + 1, values[i]);
	}
	term_block_end_row(scan->block);
	MemoryContextSwitchTo(scan->context);
	MemoryContextReset(scan->row_context);
	sort_progress_add(scan->progress, 1);
	if (unlikely(term_block_is_full(scan->block)))
		scan->spill(scan);
	MemoryContextSwitchTo(caller_context);
}

double
term_scan_perform(TermScan *scan, Relation heap, Relation index,
				  IndexInfo *info, ParallelTableScanDesc parallel,
				  bool show_progress)
{
	double		nrows;

	scan->context = CurrentMemoryContext;
	scan->row_context = AllocSetContextCreate(CurrentMemoryContext,
											  "gpusort terms of a row",
											  ALLOCSET_DEFAULT_SIZES);
	/* a shared scan may begin in the middle of the table */
	nrows = table_index_build_scan(heap, index, info, parallel != NULL,
								   show_progress, put_row, scan,
								   parallel == NULL ? NULL :
								   table_beginscan_parallel(heap, parallel, SO_NONE));
	MemoryContextDelete(scan->row_context);
	return nrows;
}
