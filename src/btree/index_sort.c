/*-------------------------------------------------------------------------
 *
 * index_sort.c
 *	  Sorting the rows of an index: put them, sort, get them in order.
 *
 * A row is stored as the index tuple that it will be, and its key goes to the
 * sort (external_sort.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "btree/index_sort.h"
#include "btree/merged_rows.h"
#include "port/timing.h"
#include "sort/spare_memory.h"

/*
 * The least bytes of a row: its tuple, its place and its entry of the order.
 */
#define LEAST_ROW_BYTES \
	(MAXALIGN(sizeof(IndexTupleData) + 1) + sizeof(void *) + sizeof(uint32))

static const ExternalSortVariant index_tuples = {
	.column = index_row_column,
	.format = &run_of_index_rows,
	.least_row_bytes = LEAST_ROW_BYTES
};

double
index_sort_least_memory(double rows)
{
	return rows * LEAST_ROW_BYTES;
}

/* The part of a limit for the merge of runs, while leaves are made. */
static Size
bytes_for_runs(Size limit)
{
	return limit - Min(2 * merged_rows_bytes(limit), limit / 2);
}

IndexSort *
index_sort_begin(Relation index, bool unique, Size limit, Size limit_of_merge,
				 double expected_rows, bool host_only)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort index build",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(context);
	IndexSort  *sort = palloc0(sizeof(IndexSort));
	ExternalSort *external = &sort->external;

	sort->context = context;
	sort->unique = unique;
	sort->rows = index_rows_begin(index);
	if (external_sort_begin(external, &index_tuples, sort->rows->descriptor,
							sort->rows->columns, sort->rows->ncolumns, limit,
							expected_rows, true,
							sort_progress_begin(PROGRESS_OF_INDEX_BUILD, expected_rows, true)))
	{
		external->limit_of_merge = bytes_for_runs(limit_of_merge);
		if (host_only)
			row_order_leave_device(external->order);
	}
	MemoryContextSwitchTo(caller_context);
	return sort;
}

/* Returns space in the store for a row; an IndexRowSpace. */
static void *
store_space(void *owner, Size bytes)
{
	return external_sort_reserve(owner, bytes);
}

/* Spills the store to make room for a row; on failure the sort fails. */
static void
make_room(IndexSort *sort)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (!external_sort_spill(&sort->external))
		external_sort_drop_rows(&sort->external);
	sort->run_microseconds += microseconds_since(start);
}

/*
 * Puts a row in the store, and its key in the order; false if there is no
 * room.
 */
static inline bool
put_in_store(IndexSort *sort, ItemPointer tid, Datum *values, bool *isnull,
			 bool is_alive)
{
	ExternalSort *external = &sort->external;
	IndexRow   *row = index_rows_store(sort->rows, tid, values, isnull,
									   store_space, external);

	if (unlikely(row == NULL))
		return false;
	if (sort->unique && !is_alive)
		index_row_set_dead(row);
	if (likely(row_order_add(external->order, sort->rows->slot)))
		return true;
	row_store_take_back(external->store);
	return false;
}

/*
 * Once the sort has failed, rows are ignored.  The scan goes on, since nothing
 * can end it.
 */
void
index_sort_put(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			   bool is_alive, void *state)
{
	IndexSort  *sort = state;

	if (unlikely(index_sort_has_failed(sort)) ||
		likely(put_in_store(sort, tid, values, isnull, is_alive)))
		return;
	make_room(sort);
	if (!index_sort_has_failed(sort) &&
		!put_in_store(sort, tid, values, isnull, is_alive))
		elog(ERROR, "an empty row store has no room for a row");
}

bool
index_sort_perform(IndexSort *sort)
{
	ExternalSort *external = &sort->external;

	if (!index_sort_has_failed(sort) && !external_sort_perform(external))
		external_sort_drop_rows(external);
	if (external->runs != NULL)
		sort->merged = sorted_runs_reader(external->runs);
	return !index_sort_has_failed(sort);
}

bool
index_sort_needs_check(const IndexSort *sort)
{
	const ExternalSort *external = &sort->external;

	return external->on_device ||
		(external->runs != NULL && sorted_runs_ordered(external->runs));
}

bool
index_sort_write_last_run(IndexSort *sort)
{
	ExternalSort *external = &sort->external;

	if (!index_sort_has_failed(sort) && external->store->nrows > 0 &&
		!external_sort_spill(external))
		external_sort_drop_rows(external);
	if (index_sort_has_failed(sort))
		return false;
	external_sort_free_rows(external);
	/* the merge has all of the memory */
	spare_memory_drop();
	return true;
}

void
index_sort_end(IndexSort *sort)
{
	external_sort_end(&sort->external);
	index_rows_end(sort->rows);
	MemoryContextDelete(sort->context);
}
