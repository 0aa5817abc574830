/*-------------------------------------------------------------------------
 *
 * term_scan.c
 *	  Parsing the rows of a table into blocks of terms.
 *
 * The operator class of a column extracts the terms of a value.  Its function
 * may raise errors, run queries, or build indexes itself, so nothing is locked
 * here when it is called.
 *
 * The scan gives the rows of a process in the order of their TIDs, or almost
 * so: a scan that is shared, or joins another, may begin in the middle of the
 * table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/index.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "heap/heap_scan.h"
#include "inverted/term_scan.h"
#include "port/timing.h"

void
term_scan_sort(TermScan *scan)
{
	scan->most_bytes = Max(scan->most_bytes, term_block_bytes(scan->block));
	sort_progress_enter(scan->progress, PROGRESS_SORTING);
	term_block_sort(scan->block);
}

/*
 * Decides after the first block whether the pairs of all further rows are
 * divided.
 */
static void
choose_buckets(TermScan *scan)
{
	double		row_bytes = (double) term_block_bytes(scan->block) /
		term_block_rows(scan->block);

	scan->buckets = term_buckets_begin(scan->terms, scan->block, scan->limit,
									   scan->expected_rows * row_bytes);
	scan->is_dividing = scan->buckets != NULL;
	scan->may_divide = false;
}

/* Ends dividing: further rows go to the block again. */
static void
stop_dividing(TermScan *scan)
{
	term_buckets_finish(scan->buckets);
	scan->most_bytes = Max(scan->most_bytes, term_buckets_disk(scan->buckets));
	scan->is_dividing = false;
}

void
term_scan_spill(TermScan *scan, bool ends_run)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	term_scan_sort(scan);
	if (scan->may_divide)
		choose_buckets(scan);
	scan->has_spilled = true;
	scan->spill(scan, ends_run);
	term_block_empty(scan->block);
	sort_progress_enter(scan->progress, PROGRESS_TAKING_ROWS);
	scan->spill_microseconds += microseconds_since(start);
}

/* Puts a term of the present row. */
static inline void
put_term(TermScan *scan, const Term *term)
{
	if (scan->is_dividing)
		term_buckets_add(scan->buckets, term);
	else
		term_block_add(scan->block, term);
}

/* Puts one of the nulls that stand for a whole value. */
static void
put_null(TermScan *scan, OffsetNumber column, GinNullCategory category)
{
	Term		term = {.column = column,.category = category};

	put_term(scan, &term);
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
		put_term(scan, &term);
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
	if (scan->is_dividing)
		term_buckets_begin_row(scan->buckets, tid);
	else
		term_block_begin_row(scan->block, tid);
	for (int i = 0; i < ncolumns; i++)
	{
		if (isnull[i])
			put_null(scan, i + 1, GIN_CAT_NULL_ITEM);
		else
			put_value(scan, i + 1, values[i]);
	}
	if (!scan->is_dividing)
		term_block_end_row(scan->block);
	else if (unlikely(term_buckets_are_uneven(scan->buckets)))
		stop_dividing(scan);
	MemoryContextSwitchTo(scan->context);
	MemoryContextReset(scan->row_context);
	sort_progress_add(scan->progress, 1);
	if (unlikely(term_block_is_full(scan->block)))
		term_scan_spill(scan, true);
	MemoryContextSwitchTo(caller_context);
}

/* Makes a run of all buckets; several if the block does not hold a bucket. */
static void
spill_buckets(TermScan *scan)
{
	int			count = term_buckets_count(scan->buckets);

	if (scan->is_dividing)
		stop_dividing(scan);
	if (term_block_rows(scan->block) > 0)
		term_scan_spill(scan, true);
	for (int i = 0; i < count; i++)
	{
		while (!term_buckets_read(scan->buckets, i, scan->block))
			term_scan_spill(scan, true);
		term_scan_spill(scan, i == count - 1);
	}
	term_buckets_end(scan->buckets);
	scan->buckets = NULL;
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
	nrows = heap_scan_for_build(heap, index, info, parallel, show_progress,
								put_row, scan);
	MemoryContextDelete(scan->row_context);
	scan->may_divide = false;
	if (scan->buckets != NULL)
		spill_buckets(scan);
	return nrows;
}
