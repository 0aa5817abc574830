/*-------------------------------------------------------------------------
 *
 * heap_scan.c
 *	  Scanning a heap for an index build.
 *
 * Core's scan for index builds takes one row at a time, since rows may be in
 * any state.  It locks the page of a row twice: to find the row, and to learn
 * whether the row is live.  It also finds out which rows of a page are
 * versions of others.
 *
 * On most pages of most tables all rows are simple: inserted by a transaction
 * that has committed, or by the present one, and not updated in place, nor
 * deleted or locked since.  A simple row is live to everybody who can use the
 * index, so a page of simple rows is read under one lock.  All other pages are
 * left to core's scan, in ranges.
 *
 * A row's header has a note, the hint bit, that its transaction has committed.
 * Whoever asks first makes the note, and nobody has asked about rows that have
 * just been loaded, for example by pg_restore.  For these the scan asks about
 * the transaction itself, once for all of its rows, and makes no note.  Core's
 * scan would write on every page of the table.  The page would go to the log
 * as a whole if pages have checksums, and to disk once more.  VACUUM does that
 * later in any case.  But rows of many transactions on one page are left to
 * core, so that the next scan need not ask about each of them again.
 *
 * Concurrent builds take the rows that a snapshot sees, and table access
 * methods other than heap know their rows themselves.  In both cases core
 * scans the whole table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relscan.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/rel.h"

#include "heap/heap_scan.h"
#include "heap/inserted_rows.h"
#include "port/cache_lines.h"
#include "port/compat.h"
#include "port/is_heap.h"

/*
 * The most pages of a range that is left to core: fewer than a scan of a large
 * table keeps in buffers.
 */
#define RANGE_MAX_PAGES		16

/*
 * With more columns than this it takes less time to deform a row than to look
 * for each column.
 */
#define PLAIN_MAX_COLUMNS	3

typedef struct HeapScan
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	IndexBuildCallback callback;
	void	   *state;
	double		nlive;

	/* allots blocks to this process */
	ParallelBlockTableScanDesc shared;
	ParallelBlockTableScanWorkerData share;
	BufferAccessStrategy strategy;

	/* for predicates and expressions */
	EState	   *execution;
	ExprContext *expressions;
	ExprState  *predicate;
	TupleTableSlot *slot;
	bool		plain;			/* the index has no predicates or expressions,
								 * and few columns */

	/* the last transaction that was found to have inserted live rows */
	TransactionId inserter;

	/* pages that are to be left to core; none at the beginning */
	BlockNumber first_of_range;
	BlockNumber range_pages;
} HeapScan;

static BlockNumber
next_block(void *state)
{
	HeapScan   *scan = state;

	return table_block_parallelscan_nextpage(scan->heap, &scan->share,
											 scan->shared);
}

/*
 * The same for rows of a page, with as few questions as possible: false, too,
 * for the second transaction on the page about which nothing is known.
 */
static bool
is_inserter(HeapScan *scan, TransactionId transaction, bool *has_asked)
{
	if (TransactionIdEquals(transaction, scan->inserter))
		return true;
	if (*has_asked)
		return false;
	*has_asked = true;
	if (!inserted_live_rows(transaction))
		return false;
	scan->inserter = transaction;
	return true;
}

static bool
is_simple(HeapScan *scan, HeapTupleHeader row, bool *has_asked)
{
	const uint16 infomask = row->t_infomask;

	if ((infomask & HEAP_XMAX_INVALID) == 0 || HeapTupleHeaderIsHeapOnly(row))
		return false;
	if ((infomask & HEAP_XMIN_COMMITTED) != 0)
		return true;
	return (infomask & (HEAP_XMIN_INVALID | HEAP_MOVED)) == 0 &&
		is_inserter(scan, HeapTupleHeaderGetRawXmin(row), has_asked);
}

/*
 * Finds the rows of a page; -1 if some of them are not simple.  The buffer is
 * pinned, so the rows stay where they are.
 */
static int
find_simple_rows(HeapScan *scan, Buffer buffer, OffsetNumber *offsets)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber end;
	int			nrows = 0;
	bool		has_asked = false;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	end = PageGetMaxOffsetNumber(page);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= end; offset++)
	{
		ItemId		item = PageGetItemId(page, offset);

		if (!ItemIdIsNormal(item))
			continue;
		if (!is_simple(scan, (HeapTupleHeader) PageGetItem(page, item),
					   &has_asked))
		{
			nrows = -1;
			break;
		}
		offsets[nrows++] = offset;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return nrows;
}

/* Finds the index's columns; false if the predicate leaves the row out. */
static bool
form_columns(HeapScan *scan, HeapTuple row, Buffer buffer, Datum *values,
			 bool *isnull)
{
	MemoryContextReset(scan->expressions->ecxt_per_tuple_memory);
	ExecStoreBufferHeapTuple(row, scan->slot, buffer);
	if (scan->predicate != NULL &&
		!ExecQual(scan->predicate, scan->expressions))
		return false;
	FormIndexDatum(scan->info, scan->slot, scan->execution, values, isnull);
	return true;
}

/* The same for a plain index, straight from the row. */
static inline void
take_columns(const HeapScan *scan, HeapTuple row, Datum *values, bool *isnull)
{
	const IndexInfo *info = scan->info;

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		values[i] = heap_getattr(row, info->ii_IndexAttrNumbers[i],
								 RelationGetDescr(scan->heap), &isnull[i]);
}

/* Calls back for a row that is live, unless the predicate leaves it out. */
static inline void
give_row(HeapScan *scan, HeapTuple row, Buffer buffer)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	scan->nlive++;
	pgstat_count_heap_getnext(scan->heap);
	if (scan->plain)
		take_columns(scan, row, values, isnull);
	else if (!form_columns(scan, row, buffer, values, isnull))
		return;
	scan->callback(scan->index, &row->t_self, values, isnull, true,
				   scan->state);
}

static void
give_rows(HeapScan *scan, Buffer buffer, const OffsetNumber *offsets,
		  int nrows)
{
	Page		page = BufferGetPage(buffer);
	BlockNumber block = BufferGetBlockNumber(buffer);
	HeapTupleData row = {.t_tableOid = RelationGetRelid(scan->heap)};

	for (int i = 0; i < nrows; i++)
	{
		ItemId		item = PageGetItemId(page, offsets[i]);

		row.t_data = (HeapTupleHeader) PageGetItem(page, item);
		row.t_len = ItemIdGetLength(item);
		ItemPointerSet(&row.t_self, block, offsets[i]);
		give_row(scan, &row, buffer);
	}
}

/*
 * Lets core scan the range of pages that are left to it, and empties the
 * range.
 */
static void
scan_range(HeapScan *scan)
{
	/* core drops the state of expressions, but it is still needed here */
	IndexInfo	info = *scan->info;

	if (scan->range_pages == 0)
		return;
	info.ii_ExpressionsState = NIL;
	info.ii_PredicateState = NULL;
	scan->nlive +=
		table_index_build_range_scan(scan->heap, scan->index, &info, false,
									 false, false, scan->first_of_range,
									 scan->range_pages, scan->callback,
									 scan->state, NULL);
	pgstat_uncount_heap_scan(scan->heap);
	scan->info->ii_BrokenHotChain |= info.ii_BrokenHotChain;
	scan->range_pages = 0;
}

/* Adds a page to those that are left to core. */
static void
add_to_range(HeapScan *scan, BlockNumber block)
{
	if (scan->range_pages == RANGE_MAX_PAGES ||
		block != scan->first_of_range + scan->range_pages)
		scan_range(scan);
	if (scan->range_pages == 0)
		scan->first_of_range = block;
	scan->range_pages++;
}

static void
report_progress(const HeapScan *scan)
{
	uint64		given_out = pg_atomic_read_u64(&scan->shared->phs_nallocated);

	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
								 Min(given_out, scan->shared->phs_nblocks));
}

/* Gives the rows of a page behind those of the range, or leaves it to core. */
static void
scan_page(HeapScan *scan, Buffer buffer)
{
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	int			nrows = find_simple_rows(scan, buffer, offsets);

	if (nrows >= 0)
	{
		scan_range(scan);
		give_rows(scan, buffer, offsets, nrows);
	}
	else
		add_to_range(scan, BufferGetBlockNumber(buffer));
}

static void
scan_pages(HeapScan *scan, bool progress)
{
	BlockReader *reader = block_reader_begin(scan->heap, scan->strategy,
											 next_block, scan);
	Buffer		buffer = block_reader_next(reader);

	while (BufferIsValid(buffer))
	{
		Buffer		next = block_reader_next(reader);

		CHECK_FOR_INTERRUPTS();
		/* prefetches the next page, while the rows of this one are read */
		if (BufferIsValid(next))
		{
			const char *page = BufferGetPage(next);

			for (Size line = 0; line < BLCKSZ; line += CACHE_LINE_BYTES)
				__builtin_prefetch(page + line);
		}
		scan_page(scan, buffer);
		ReleaseBuffer(buffer);
		if (progress)
			report_progress(scan);
		buffer = next;
	}
	scan_range(scan);
	block_reader_end(reader);
}

/* Makes a "parallel" scan of this process alone, which allots its blocks. */
static ParallelTableScanDesc
share_alone(Relation heap)
{
	ParallelTableScanDesc alone =
		palloc0(table_block_parallelscan_estimate(heap));

	table_block_parallelscan_initialize(heap, alone);
	return alone;
}

static double
scan_heap(Relation heap, Relation index, IndexInfo *info,
		  ParallelTableScanDesc parallel, bool progress,
		  IndexBuildCallback callback, void *state)
{
	HeapScan	scan = {
		.heap = heap,
		.index = index,
		.info = info,
		.callback = callback,
		.state = state,
		.shared = (ParallelBlockTableScanDesc)
		(parallel != NULL ? parallel : share_alone(heap)),
		.execution = CreateExecutorState(),
		.slot = table_slot_create(heap, NULL)
	};

	scan.expressions = GetPerTupleExprContext(scan.execution);
	scan.expressions->ecxt_scantuple = scan.slot;
	scan.predicate = ExecPrepareQual(info->ii_Predicate, scan.execution);
	scan.plain = info->ii_Predicate == NIL && info->ii_Expressions == NIL &&
		info->ii_NumIndexAttrs <= PLAIN_MAX_COLUMNS;
	/* as core does for large tables, to leave the buffers to others */
	if (!RelationUsesLocalBuffers(heap) &&
		scan.shared->phs_nblocks > NBuffers / 4)
		scan.strategy = GetAccessStrategy(BAS_BULKREAD);
	pgstat_count_heap_scan(heap);
	if (progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
									 scan.shared->phs_nblocks);
	table_block_parallelscan_startblock_init(heap, &scan.share, scan.shared,
											 InvalidBlockNumber,
											 InvalidBlockNumber);
	scan_pages(&scan, progress);

	if (scan.strategy != NULL)
		FreeAccessStrategy(scan.strategy);
	ExecDropSingleTupleTableSlot(scan.slot);
	FreeExecutorState(scan.execution);
	/* these were freed with scan.execution */
	info->ii_ExpressionsState = NIL;
	if (parallel == NULL)
		pfree(scan.shared);
	return scan.nlive;
}

double
heap_scan_for_build(Relation heap, Relation index, IndexInfo *info,
					ParallelTableScanDesc parallel, bool progress,
					IndexBuildCallback callback, void *state)
{
	if (!info->ii_Concurrent && is_heap(heap))
		return scan_heap(heap, index, info, parallel, progress, callback,
						 state);
	return table_index_build_scan(heap, index, info, true, progress, callback,
								  state, parallel == NULL ? NULL :
								  table_beginscan_parallel(heap, parallel, SO_NONE));
}
