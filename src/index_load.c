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
 * When the rows turn out to exceed the memory setting, what has been collected
 * is dropped, and core builds the index as ever.
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
#include "parallel_collect.h"
#include "row_order.h"
#include "row_store.h"
#include "settings.h"
#include "shared_memory.h"
#include "shared_state.h"
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
	RowOrder   *order;			/* NULL: over the limit */
	ParallelCollect *parallel;	/* NULL: in this process alone */

	instr_time	since;			/* when the present phase began */
	uint64		collect_microseconds;
	uint64		sort_microseconds;
	uint64		write_microseconds;
} IndexLoad;

double
index_load_least_memory(double rows)
{
	/* the tuple and its place, and the entry of the order */
	return rows * (MAXALIGN(sizeof(IndexTupleData) + 1) + sizeof(void *) +
				   sizeof(uint32));
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
								  load->rows->ncolumns, expected_rows);
	MemoryContextSwitchTo(caller_context);
}

/* Frees all rows. */
static void
drop_rows(IndexLoad *load)
{
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

/*
 * The scan's callback: collects a row.  When the limit is exceeded the scan
 * goes on, for it cannot be ended, but its rows are not looked at.
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
		drop_rows(load);
		return;
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
	StoredRows	stored = {
		.rows = {.nrows = load->store->nrows, .find = find_stored_rows},
		.order = load->order
	};
	uint32		chunk_rows = leaf_maker_chunk_rows(stored.rows.nrows, 1);
	LeafMaker  *maker = leaf_maker_begin(definition, load->rows, &stored.rows,
										 chunk_rows);
	PendingRows *pending = palloc0(sizeof(PendingRows));

	for (uint64 position = 0; position < stored.rows.nrows;
		 position += chunk_rows)
	{
		uint32		npages;

		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
									 position);
		leaf_maker_take(maker, position,
						Min(chunk_rows, stored.rows.nrows - position));
		npages = leaf_maker_lay_out(maker, pending);
		for (uint32 page = 0; page < npages; page++)
			(void) leaf_maker_fill(maker, page, tree_writer_next_leaf(writer));
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
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
								 load->store->nrows);
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
		PROGRESS_BTREE_PHASE_PERFORMSORT_1, load->store->nrows, 0, 0
	};

	pgstat_progress_update_multi_param(lengthof(parameters), parameters,
									   values);
}

/* Sorts the rows and writes the index; false if the sort is over the limit. */
static bool
sort_and_write(IndexLoad *load)
{
	MemoryContext caller_context;

	report_sort_phase(load);
	if (!row_order_make(load->order, load->limit))
		return false;
	take_time(&load->since, &load->sort_microseconds);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_LEAF_LOAD);
	caller_context = MemoryContextSwitchTo(load->context);
	write_in_order(load);
	MemoryContextSwitchTo(caller_context);
	take_time(&load->since, &load->write_microseconds);
	return true;
}

/* Adds a build to the server's statistics. */
static void
count_build(const IndexLoad *load)
{
	shared_count(load->order->on_device ? STAT_INDEXES_DEVICE :
				 STAT_INDEXES_HOST, 1);
	if (load->parallel != NULL)
	{
		shared_count(STAT_INDEX_WORKERS,
					 parallel_collect_workers(load->parallel));
		shared_count(STAT_INDEX_WORKER_PAGES,
					 parallel_collect_worker_pages(load->parallel));
	}
	shared_count(STAT_INDEX_ROWS, load->store->nrows);
	shared_count(STAT_INDEX_BYTES, load->order->memory);
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

	if (load.order != NULL && !sort_and_write(&load))
		drop_rows(&load);
	if (load.order == NULL)
	{
		pfree(result);
		result = btbuild(heap, index, info);
		shared_count(STAT_INDEXES_NATIVE, 1);
		return result;
	}

	result->index_tuples = load.store->nrows;
	count_build(&load);
	drop_rows(&load);
	return result;
}
