/*-------------------------------------------------------------------------
 *
 * index_sort.c
 *	  Sorting the rows of an index: put them, sort, have them in order.
 *
 * A row is stored as the index tuple that it will be, and its key goes to the
 * sort.  What comes back is the order of the rows in the store.
 *
 * When the rows exceed the memory setting they are put in order as far as they
 * have come, and written to a temporary file; then the next ones are taken.
 * Such sorted runs are merged in the end.  Should the device be lost when there
 * is no room to sort without, the rows are put once more, one by one, and so
 * become smaller runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/index_sort.h"
#include "index/merged_rows.h"
#include "port/timing.h"

/* What a row takes at least: the tuple, its place, the entry of the order. */
#define LEAST_ROW_BYTES \
	(MAXALIGN(sizeof(IndexTupleData) + 1) + sizeof(void *) + sizeof(uint32))

double
index_sort_least_memory(double rows)
{
	return rows * LEAST_ROW_BYTES;
}

/* What a limit leaves for runs that are merged, while leaves are made. */
static Size
bytes_for_runs(Size limit)
{
	return limit - Min(2 * merged_rows_bytes(limit), limit / 2);
}

static void give_up(IndexSort *sort);

IndexSort *
index_sort_begin(Relation index, bool unique, Size limit, Size limit_of_merge,
				 double expected_rows, bool host_only)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort index build",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(context);
	IndexSort  *sort = palloc0(sizeof(IndexSort));

	sort->context = context;
	sort->unique = unique;
	sort->limit = limit;
	sort->limit_of_merge = limit_of_merge;
	sort->expected_rows = expected_rows;
	sort->rows = index_rows_begin(index);
	sort->store = sorted_runs_create_store(sort->rows->descriptor,
										   sort->limit);
	sort->order = row_order_begin(sort->store, sort->rows->descriptor,
								  index_row_column, sort->rows->columns,
								  sort->rows->ncolumns,
								  Min(expected_rows, limit / LEAST_ROW_BYTES));
	if (sort->order == NULL)
		give_up(sort);
	else if (host_only)
		row_order_leave_device(sort->order);
	MemoryContextSwitchTo(caller_context);
	return sort;
}

/* Where the store has room for a row. */
static void *
store_space(void *owner, Size bytes)
{
	IndexSort  *sort = owner;

	if (unlikely(sort->store->nrows == SORT_MAX_ROWS))
		return NULL;
	return row_store_reserve(sort->store, bytes,
							 row_order_memory(sort->order) +
							 sort->moving_bytes);
}

static bool write_run(IndexSort *sort);

/*
 * Puts the stored rows once more, into a store in what memory is left, while
 * the one that has them shrinks; false if keys are of no use.
 */
static bool
put_again(IndexSort *sort)
{
	RowStore   *store = sort->store;
	bool		good = true;

	sort->store = sorted_runs_create_store(sort->rows->descriptor,
										   sort->limit);
	row_order_restart(sort->order, sort->store);
	for (uint64 number = 0; number < store->nrows && good; number++)
	{
		IndexRow   *row;
		Size		bytes;
		void	   *space;

		CHECK_FOR_INTERRUPTS();
		row_store_forget_before(store, number);
		sort->moving_bytes = store->memory;
		row = row_store_get(store, number);
		bytes = index_row_bytes(row);
		space = store_space(sort, bytes);
		if (space == NULL)
		{
			good = write_run(sort);
			space = good ? store_space(sort, bytes) : NULL;
		}
		if (space != NULL)
		{
			memcpy(space, row, bytes);
			row_order_add_stored(sort->order);
		}
	}
	sort->moving_bytes = 0;
	row_store_free(store);
	return good;
}

/*
 * Makes the order of the rows in the store, or of the last of them, if the
 * device was lost and there is no room for all without it; or returns false.
 */
static bool
make_order(IndexSort *sort)
{
	if (row_order_make(sort->order, sort->limit))
		return true;
	return sort->order->keys_lost && row_store_has_rows(sort->store) &&
		put_again(sort) && row_order_make(sort->order, sort->limit);
}

/*
 * Makes the order of the rows in the store, before which there may be runs
 * then; false if keys are of no use.
 */
static bool
sort_stored_rows(IndexSort *sort)
{
	if (!make_order(sort))
		return false;
	sort->nrows += sort->store->nrows;
	sort->memory = Max(sort->memory, sort->order->memory);
	sort->on_device |= sort->order->on_device;
	return true;
}

/* Makes what runs are added to. */
static void
begin_runs(IndexSort *sort)
{
	if (sort->runs != NULL)
		return;
	sort->runs = sort->shared_runs != NULL ?
		sorted_runs_create_shared(sort->order, &run_of_index_rows,
								  sort->limit, sort->shared_runs) :
		sorted_runs_create(sort->order, &run_of_index_rows,
						   sort->limit, bytes_for_runs(sort->limit_of_merge),
						   false, sort->expected_rows);
}

/*
 * Writes the rows in the store, whose order is known, to a file as a run, and
 * empties the store.
 */
static void
add_run(IndexSort *sort)
{
	begin_runs(sort);
	sorted_runs_add(sort->runs, sort->store);
}

/*
 * Writes the rows in the store to a file as a sorted run, and empties the
 * store; false if keys are of no use.
 */
static bool
write_run(IndexSort *sort)
{
	if (!sort_stored_rows(sort))
		return false;
	add_run(sort);
	return true;
}

/* Frees all rows, and what goes with them, as they cannot be sorted here. */
static void
give_up(IndexSort *sort)
{
	sort->failed = true;
	if (sort->runs != NULL)
		sorted_runs_end(sort->runs);
	sort->runs = NULL;
	if (sort->order != NULL)
		row_order_drop_keys(sort->order);
	row_store_free(sort->store);
	sort->store = NULL;
}

/* Makes room for a row where there is none; or gives up. */
static void
make_room(IndexSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (!write_run(sort))
		give_up(sort);
	sort->run_microseconds += microseconds_since(start);
	MemoryContextSwitchTo(caller_context);
}

/* Takes a row with those that are sorted by keys, if there is room. */
static inline bool
put_in_store(IndexSort *sort, ItemPointer tid, Datum *values, bool *isnull,
			 bool is_alive)
{
	IndexRow   *row = index_rows_store(sort->rows, tid, values, isnull,
									   store_space, sort);

	if (unlikely(row == NULL))
		return false;
	if (sort->unique && !is_alive)
		index_row_set_dead(row);
	if (likely(row_order_add(sort->order, sort->rows->slot)))
		return true;
	row_store_take_back(sort->store);
	return false;
}

/*
 * When the sort has failed the scan goes on, for it cannot be ended, but its
 * rows are not looked at.
 */
void
index_sort_put(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			   bool is_alive, void *state)
{
	IndexSort  *sort = state;

	if (unlikely(sort->failed) ||
		likely(put_in_store(sort, tid, values, isnull, is_alive)))
		return;
	make_room(sort);
	if (!sort->failed && !put_in_store(sort, tid, values, isnull, is_alive))
		elog(ERROR, "an empty row store has no room for a row");
}

/* Merges all runs, the rows in the store being one if there are any. */
static void
merge_runs(IndexSort *sort, SharedRuns *others)
{
	if (sort->store->nrows > 0)
		add_run(sort);
	begin_runs(sort);
	row_order_drop_keys(sort->order);
	row_store_free(sort->store);
	sort->store = NULL;
	if (others != NULL)
	{
		sorted_runs_import(sort->runs, others);
		sort->nrows += others->nrows;
	}
	sorted_runs_merge(sort->runs);
	sort->memory = sorted_runs_disk(sort->runs);
}

bool
index_sort_perform(IndexSort *sort, SharedRuns *others)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);
	bool		in_runs = sort->runs != NULL ||
		(others != NULL && pg_atomic_read_u32(&others->nruns) > 0);

	if (!sort->failed && (sort->store->nrows > 0 || !in_runs) &&
		!sort_stored_rows(sort))
		give_up(sort);
	if (!sort->failed && (in_runs || sort->runs != NULL))
		merge_runs(sort, others);
	else if (!sort->failed)
		row_order_drop_keys(sort->order);
	MemoryContextSwitchTo(caller_context);
	return !sort->failed;
}

bool
index_sort_is_unproved(const IndexSort *sort)
{
	return sort->on_device ||
		(sort->runs != NULL && sorted_runs_ordered(sort->runs));
}

bool
index_sort_write_last_run(IndexSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	if (!sort->failed && sort->store->nrows > 0 && !write_run(sort))
		give_up(sort);
	MemoryContextSwitchTo(caller_context);
	return !sort->failed;
}

void
index_sort_end(IndexSort *sort)
{
	if (sort->runs != NULL)
		sorted_runs_end(sort->runs);
	index_rows_end(sort->rows);
	MemoryContextDelete(sort->context);
}
