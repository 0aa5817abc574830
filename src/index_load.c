/*-------------------------------------------------------------------------
 *
 * index_load.c
 *	  Building a B-tree in one go: its rows are collected, sorted and written.
 *
 * The table access method scans the table and calls back for each row that
 * the index is to have.  The row is stored as the index tuple that it will be,
 * and its key goes to the sort.  When the last row has come the tuples are
 * put on leaf pages in order, straight from where they are.  Parallel workers
 * may help with all but the sort (parallel_collect.c).
 *
 * When the rows exceed the memory setting they are put in order as far as they
 * have come, and written to a temporary file; then the next ones are taken.
 * Such sorted runs are merged in the end, while leaves are made of their rows.
 *
 * Should the keys turn out to be of no use, what has been collected is dropped,
 * and core builds the index as ever.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "compat.h"
#include "heap_scan.h"
#include "index_load.h"
#include "index_rows.h"
#include "leaf_maker.h"
#include "merged_rows.h"
#include "parallel_collect.h"
#include "row_order.h"
#include "row_store.h"
#include "settings.h"
#include "shared_memory.h"
#include "shared_state.h"
#include "sorted_runs.h"
#include "tree_writer.h"

typedef struct IndexLoad
{
	Relation	heap;
	Relation	index;
	bool		unique;
	bool		nulls_not_distinct;
	Size		limit;			/* bytes for all of it */

	MemoryContext context;		/* holds everything below */
	IndexRows  *rows;
	RowStore   *store;
	RowOrder   *order;			/* NULL: given up */
	SortedRuns *runs;			/* of rows before those; NULL if there are none */
	ParallelCollect *parallel;	/* NULL: in this process alone */

	uint64		nrows;			/* that have been sorted */
	Size		memory;			/* bytes at the highest, or in files */
	bool		on_device;		/* some were sorted there */

	instr_time	since;			/* when the present phase began */
	uint64		collect_microseconds;
	uint64		sort_microseconds;
	uint64		write_microseconds;
} IndexLoad;

/* What a row takes at least: the tuple, its place, the entry of the order. */
#define LEAST_ROW_BYTES \
	(MAXALIGN(sizeof(IndexTupleData) + 1) + sizeof(void *) + sizeof(uint32))

double
index_load_least_memory(double rows)
{
	return rows * LEAST_ROW_BYTES;
}

bool
index_load_can_share(double rows)
{
	return shared_memory_has_room(2 * index_load_least_memory(rows));
}

/* Makes what is needed to collect rows. */
static void
begin_collecting(IndexLoad *load, double expected_rows)
{
	MemoryContext caller_context;

	load->context = AllocSetContextCreate(CurrentMemoryContext,
										  "gpusort index build",
										  ALLOCSET_SMALL_SIZES);
	caller_context = MemoryContextSwitchTo(load->context);
	load->rows = index_rows_begin(load->index);
	load->store = row_store_create(load->rows->descriptor, load->limit);
	load->order = row_order_begin(load->store, load->rows->descriptor,
								  index_row_column, load->rows->columns,
								  load->rows->ncolumns,
								  Min(expected_rows,
									  load->limit / LEAST_ROW_BYTES));
	MemoryContextSwitchTo(caller_context);
}

/* Frees all rows. */
static void
drop_rows(IndexLoad *load)
{
	if (load->runs != NULL)
		sorted_runs_end(load->runs);
	load->runs = NULL;
	if (load->parallel != NULL)
		parallel_collect_end(load->parallel);
	index_rows_end(load->rows);
	MemoryContextDelete(load->context);
	load->order = NULL;
}

/* Where the store has room for a row. */
static void *
store_space(void *owner, Size bytes)
{
	IndexLoad  *load = owner;

	if (unlikely(load->store->nrows == SORT_MAX_ROWS))
		return NULL;
	return row_store_reserve(load->store, bytes,
							 row_order_memory(load->order));
}

/* Adds to a time what has passed since "since", and moves that to now. */
static void
take_time(instr_time *since, uint64 *microseconds)
{
	instr_time	now;
	instr_time	passed;

	INSTR_TIME_SET_CURRENT(now);
	passed = now;
	INSTR_TIME_SUBTRACT(passed, *since);
	*microseconds += INSTR_TIME_GET_MICROSEC(passed);
	*since = now;
}

/* Makes the order of the rows in the store; false if the keys are of no use. */
static bool
sort_stored_rows(IndexLoad *load)
{
	if (!row_order_make(load->order, load->limit))
		return false;
	load->nrows += load->store->nrows;
	load->memory = Max(load->memory, load->order->memory);
	load->on_device |= load->order->on_device;
	return true;
}

/* What the limit leaves for the runs when they are merged, and leaves made. */
static Size
merge_limit(Size limit)
{
	return limit - Min(2 * merged_rows_bytes(limit), limit / 2);
}

/*
 * Writes the rows in the store to a file as a sorted run, and empties the
 * store; false if the keys are of no use.
 */
static bool
write_run(IndexLoad *load)
{
	if (!sort_stored_rows(load))
		return false;
	if (load->runs == NULL)
		load->runs = sorted_runs_create(load->order, &run_of_index_tuples,
										merge_limit(load->limit), false);
	sorted_runs_add(load->runs);
	row_store_reset(load->store);
	row_order_restart(load->order);
	return true;
}

/* Makes room for a row where there is none; or all rows are dropped. */
static void
make_room(IndexLoad *load)
{
	MemoryContext caller_context = MemoryContextSwitchTo(load->context);
	bool		written;

	take_time(&load->since, &load->collect_microseconds);
	written = write_run(load);
	take_time(&load->since, &load->sort_microseconds);
	MemoryContextSwitchTo(caller_context);
	if (!written)
		drop_rows(load);
}

/*
 * The scan's callback: collects a row.  When the rows have been dropped the
 * scan goes on, for it cannot be ended, but its rows are not looked at.
 */
static void
collect(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool is_alive, void *state)
{
	IndexLoad  *load = state;
	IndexTuple	tuple;

	if (unlikely(load->order == NULL))
		return;
	tuple = index_rows_store(load->rows, tid, values, isnull, store_space,
							 load);
	if (unlikely(tuple == NULL))
	{
		make_room(load);
		if (load->order == NULL)
			return;
		tuple = index_rows_store(load->rows, tid, values, isnull, store_space,
								 load);
		if (tuple == NULL)
			elog(ERROR, "an empty row store has no room for a row");
	}
	if (load->unique && !is_alive)
		tuple->t_info |= ROW_IS_DEAD;
	row_order_add(load->order, load->rows->slot);
}

/* Scans the table, with workers if there are to be any. */
static double
collect_rows(IndexLoad *load, IndexInfo *info, double expected_rows)
{
	double		heap_tuples;

	if (info->ii_ParallelWorkers > 0 &&
		index_load_can_share(expected_rows) &&
		sort_keys_share(load->order->keys))
	{
		MemoryContext caller_context = MemoryContextSwitchTo(load->context);

		load->parallel = parallel_collect_begin(load->heap, load->index, info,
												load->limit);
		MemoryContextSwitchTo(caller_context);
	}
	if (load->parallel == NULL)
		return heap_scan_for_build(load->heap, load->index, info, NULL, true,
								   collect, load);

	if (!parallel_collect_rows(load->parallel, info, load->rows, load->store,
							   load->order, &heap_tuples))
		drop_rows(load);
	return heap_tuples;
}

/* The rows of the store, in their order. */
typedef struct StoredRows
{
	OrderedRows rows;
	const RowOrder *order;
} StoredRows;

static void
find_stored_rows(const OrderedRows *rows, uint64 position, uint32 nrows,
				 IndexTuple *tuples)
{
	const RowOrder *order = ((const StoredRows *) rows)->order;
	const uint32 *entries = order->entries;

	for (uint64 i = position; i < position + nrows; i++)
	{
		if (likely(i + PREFETCH_PLACES < rows->nrows))
			__builtin_prefetch(row_store_place(order->store,
											   entries[i + PREFETCH_PLACES]));
		*tuples++ = row_order_get(order, i);
	}
}

/* Writes all rows in their order, in this process alone. */
static void
write_alone(const IndexLoad *load, const LeafDefinition *definition,
			TreeWriter *writer)
{
	uint32		chunk_rows = leaf_maker_chunk_rows(load->nrows, 1);
	StoredRows	stored = {
		.rows = {.nrows = load->nrows, .find = find_stored_rows},
		.order = load->order
	};
	MergedRows *merged = load->runs == NULL ? NULL :
		merged_rows_begin(load->runs, load->nrows, chunk_rows,
						  merged_rows_bytes(load->limit));
	LeafMaker  *maker = leaf_maker_begin(definition, load->rows,
										 merged == NULL ? &stored.rows :
										 merged_rows_ordered(merged),
										 chunk_rows);
	PendingRows *pending = palloc0(sizeof(PendingRows));
	uint64		position = 0;

	while (position < load->nrows)
	{
		uint32		nrows = Min(chunk_rows, load->nrows - position);
		uint32		npages;

		/* the row ahead of the chunk is compared with its first one */
		if (merged != NULL)
			nrows = merged_rows_read(merged,
									 Max(pending->nrows, position > 0));
		if (nrows == 0)
			elog(ERROR, "gpusort: rows are missing from sorted runs");
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
									 position);
		leaf_maker_take(maker, position, nrows);
		npages = leaf_maker_lay_out(maker, pending);
		for (uint32 page = 0; page < npages; page++)
			(void) leaf_maker_fill(maker, page, tree_writer_next_leaf(writer));
		position += nrows;
	}
}

/* Writes all rows in their order. */
static void
write_in_order(const IndexLoad *load)
{
	const LeafDefinition definition = {
		.heap = load->heap,
		.index = load->index,
		.unique = load->unique,
		.nulls_not_distinct = load->nulls_not_distinct
	};
	TreeWriter *writer = tree_writer_begin(load->heap, load->index);

	if (load->parallel == NULL ||
		!parallel_collect_write(load->parallel, &definition, load->rows,
								load->order, load->limit, writer))
		write_alone(load, &definition, writer);
	tree_writer_finish(writer);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, load->nrows);
}

/* Tells those who watch that all rows have come and are being sorted. */
static void
report_sort_phase(const IndexLoad *load)
{
	const int	parameters[] = {
		PROGRESS_CREATEIDX_SUBPHASE,
		PROGRESS_CREATEIDX_TUPLES_TOTAL,
		PROGRESS_SCAN_BLOCKS_TOTAL,
		PROGRESS_SCAN_BLOCKS_DONE
	};
	const int64 values[] = {
		PROGRESS_BTREE_PHASE_PERFORMSORT_1,
		load->nrows + load->store->nrows, 0, 0
	};

	pgstat_progress_update_multi_param(lengthof(parameters), parameters,
									   values);
}

/* Merges the runs, the rows in the store being the last one; false as above. */
static bool
merge_runs(IndexLoad *load)
{
	if (!write_run(load))
		return false;
	row_order_drop_keys(load->order);
	row_store_free(load->store);
	load->store = NULL;
	sorted_runs_merge(load->runs);
	load->memory = sorted_runs_disk(load->runs);
	return true;
}

/* Sorts all rows; false if the keys are of no use. */
static bool
sort_rows(IndexLoad *load)
{
	MemoryContext caller_context = MemoryContextSwitchTo(load->context);
	bool		sorted;

	report_sort_phase(load);
	sorted = load->runs != NULL ? merge_runs(load) : sort_stored_rows(load);
	MemoryContextSwitchTo(caller_context);
	take_time(&load->since, &load->sort_microseconds);
	return sorted;
}

/* Writes the index. */
static void
write_index(IndexLoad *load)
{
	MemoryContext caller_context = MemoryContextSwitchTo(load->context);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_LEAF_LOAD);
	write_in_order(load);
	MemoryContextSwitchTo(caller_context);
	take_time(&load->since, &load->write_microseconds);
}

/* Adds a build to the server's statistics. */
static void
count_build(const IndexLoad *load)
{
	shared_count(load->on_device ? STAT_INDEXES_DEVICE : STAT_INDEXES_HOST, 1);
	if (load->runs != NULL)
		shared_count(STAT_INDEXES_SPILLED, 1);
	if (load->parallel != NULL)
	{
		shared_count(STAT_INDEX_WORKERS,
					 parallel_collect_workers(load->parallel));
		shared_count(STAT_INDEX_WORKER_PAGES,
					 parallel_collect_worker_pages(load->parallel));
	}
	shared_count(STAT_INDEX_ROWS, load->nrows);
	shared_count(STAT_INDEX_BYTES, load->memory);
	shared_count(STAT_INDEX_COLLECT_MICROSECONDS, load->collect_microseconds);
	shared_count(STAT_INDEX_SORT_MICROSECONDS, load->sort_microseconds);
	shared_count(STAT_INDEX_WRITE_MICROSECONDS, load->write_microseconds);
}

IndexBuildResult *
index_load_build(Relation heap, Relation index, IndexInfo *info,
				 double expected_rows)
{
	IndexLoad	load = {
		.heap = heap,
		.index = index,
		.unique = info->ii_Unique,
		.nulls_not_distinct = info->ii_NullsNotDistinct,
		.limit = gpusort_index_memory_limit()
	};
	IndexBuildResult *result;

	/* core has an error for that */
	if (RelationGetNumberOfBlocks(index) != 0)
		return btbuild(heap, index, info);

	result = palloc(sizeof(IndexBuildResult));
	INSTR_TIME_SET_CURRENT(load.since);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);
	begin_collecting(&load, expected_rows);
	result->heap_tuples = collect_rows(&load, info, expected_rows);
	take_time(&load.since, &load.collect_microseconds);

	if (load.order != NULL && !sort_rows(&load))
		drop_rows(&load);
	if (load.order == NULL)
	{
		pfree(result);
		result = btbuild(heap, index, info);
		shared_count(STAT_INDEXES_NATIVE, 1);
		return result;
	}

	write_index(&load);
	result->index_tuples = load.nrows;
	count_build(&load);
	drop_rows(&load);
	return result;
}
