/*-------------------------------------------------------------------------
 *
 * external_sort.c
 *	  Sorting rows by their keys: in memory, or in runs if there are too many.
 *
 * A row is put into a store, and its key into the order of the store's rows.
 * A device or this process makes the order.  When the rows exceed the memory
 * setting, the sort makes the order of the rows so far, and writes them to a
 * temporary file as a sorted run.  Then the store takes the next rows.  In the
 * end the runs are merged (sorted_runs.c).
 *
 * If the device is lost, and memory is too small to sort without it, the rows
 * are put once more, one by one, and become smaller runs.
 *
 * If keys cannot sort the rows, the sort is given up.  Its user takes the rows
 * back or drops them.
 *
 * Rows of queries (row_sort.c) and of indexes (index_sort.c) are sorted in
 * this way.  The variant says what a row is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "spill/external_sort.h"

/* Least bytes of a row in memory. */
#define LEAST_ROW_BYTES	(MAXALIGN(SizeofMinimalTupleHeader) + sizeof(void *))

const ExternalSortVariant sort_of_minimal_tuples = {
	.column = minimal_tuple_column,
	.format = &run_of_minimal_tuples,
	.least_row_bytes = LEAST_ROW_BYTES
};

/* Makes an empty store, in the current memory context. */
static RowStore *
create_store(const ExternalSort *sort)
{
	RowStore   *store = sort->spills ?
		sorted_runs_create_store(sort->descriptor, sort->limit) :
		row_store_create(sort->descriptor, sort->limit);

	if (sort->variant->of_values)
		row_store_hold_values(store);
	return store;
}

/* Sets the next stop: after some more rows, or at the last row. */
static void
set_stop(ExternalSort *sort)
{
	sort->stop_rows = Min(sort->store->nrows + PROGRESS_ROWS, sort->most_rows);
}

/* Counts the rows that have been put; later they count as sorted. */
static void
count_rows(ExternalSort *sort)
{
	sort->progress->figures.rows_put = sort->nnulls + sort->nleft_out +
		sort->nrows + sort->store->nrows +
		(sort->moved != NULL ? sort->moved->nrows - sort->next_row : 0);
}

bool
external_sort_go_on(ExternalSort *sort)
{
	if (sort->store->nrows >= sort->most_rows)
		return false;
	set_stop(sort);
	count_rows(sort);
	if (sort->order->job->state == JOB_ON_DEVICE)
		sort_progress_set_device(sort->progress, "gpusortd");
	sort_progress_show(sort->progress);
	return true;
}

uint32
external_sort_take_batch(ExternalSort *sort, const RowBatch *batch,
						 char *base)
{
	uint32		taken = row_batch_take(batch, base, sort->store, sort->order);

	if (sort->store->nrows >= sort->stop_rows)
		(void) external_sort_go_on(sort);
	return taken;
}

/* Shows that the rows in the store are being sorted, and where. */
static void
show_sorting(ExternalSort *sort)
{
	const SortJob *job = sort->order->job;

	count_rows(sort);
	sort_progress_set_device(sort->progress,
							 job->state == JOB_ON_DEVICE ||
							 job->state == JOB_QUEUED ? "gpusortd" : "host");
	sort_progress_enter(sort->progress, PROGRESS_SORTING);
}

bool
external_sort_begin(ExternalSort *sort, const ExternalSortVariant *variant,
					TupleDesc descriptor, const SortColumn *columns, int ncolumns,
					Size limit, double expected_rows, bool spills,
					SortProgress *progress)
{
	memset(sort, 0, sizeof(ExternalSort));
	sort->context = CurrentMemoryContext;
	sort->variant = variant;
	sort->descriptor = descriptor;
	sort->spills = spills;
	sort->limit = limit;
	sort->limit_of_merge = limit;
	sort->expected_rows = expected_rows;
	sort->most_in_run = SORT_MAX_ROWS;
	sort->progress = progress;
	sort->store = create_store(sort);
	external_sort_limit_rows(sort, SORT_MAX_ROWS);
	sort->order = row_order_begin(sort->store, descriptor, variant->column,
								  columns, ncolumns,
								  Min(expected_rows,
									  limit / variant->least_row_bytes));
	if (sort->order == NULL)
		external_sort_drop_rows(sort);
	return sort->order != NULL;
}

void
external_sort_limit_rows(ExternalSort *sort, uint64 most_rows)
{
	sort->most_rows = most_rows;
	set_stop(sort);
}

void
external_sort_limit_groups(ExternalSort *sort, GroupLimit *limit)
{
	sort->group_limit = limit;
	group_limit_prepare(limit, sort->order);
}

/* Begins an empty store, and its order. */
static void
begin_store(ExternalSort *sort)
{
	sort->store = create_store(sort);
	set_stop(sort);
	row_order_restart(sort->order, sort->store);
}

static void
free_store(RowStore **store)
{
	if (*store != NULL)
		row_store_free(*store);
	*store = NULL;
}

static bool spill(ExternalSort *sort);

/* Copies a row to the store; false if the sort has to be given up. */
static bool
put_copy(ExternalSort *sort, const void *row)
{
	Size		bytes = sort->variant->format->bytes(row);
	void	   *space = external_sort_reserve(sort, bytes);

	if (space == NULL)
	{
		if (!spill(sort))
			return false;
		space = external_sort_reserve(sort, bytes);
		if (space == NULL)
			elog(ERROR, "an empty row store has no room for a row");
	}
	memcpy(space, row, bytes);
	row_order_add_stored(sort->order, 1);
	return true;
}

/*
 * Moves the stored rows, one by one, to a new store in the memory that is
 * left.  Their old store shrinks meanwhile.  Returns false if the sort has to
 * be given up.
 */
static bool
move_rows(ExternalSort *sort)
{
	RowStore   *moved = sort->store;

	sort->moved = moved;
	begin_store(sort);
	for (sort->next_row = 0; sort->next_row < moved->nrows; sort->next_row++)
	{
		CHECK_FOR_INTERRUPTS();
		row_store_forget_before(moved, sort->next_row);
		sort->moved_bytes = moved->memory;
		if (!put_copy(sort, row_store_get(moved, sort->next_row)))
			return false;
	}
	free_store(&sort->moved);
	sort->moved_bytes = 0;
	sort->next_row = 0;
	return true;
}

/*
 * Returns whether the stored rows can be moved.  Rows in shared memory cannot.
 */
static bool
can_move_rows(const ExternalSort *sort)
{
	return sort->order->keys_lost && sort->spills && sort->moved == NULL &&
		row_store_has_rows(sort->store);
}

/* Notes how the order of the rows in the store was made. */
static void
note_order(ExternalSort *sort)
{
	const RowOrder *order = sort->order;

	/* rows that came in order do not count if others have been sorted */
	if (!order->in_order || sort->nrows == 0)
	{
		memcpy(sort->method, order->method, REPORT_TEXT_SIZE);
		memcpy(sort->device, order->device, REPORT_TEXT_SIZE);
	}
	sort->nrows += sort->store->nrows;
	sort->memory = Max(sort->memory, order->memory);
	sort->on_device |= order->on_device;
	sort->device_microseconds += order->device_microseconds;
	sort_progress_set_device(sort->progress, order->device);
}

/*
 * Makes the order of the rows in the store.  If the device was lost, and
 * memory is too small for all rows without it, makes runs of the rows, and the
 * order of the last rows.  Returns false if the sort has to be given up.
 */
static bool
make_order(ExternalSort *sort)
{
	show_sorting(sort);
	if (!row_order_make(sort->order, sort->limit) &&
		!(can_move_rows(sort) && move_rows(sort) &&
		  row_order_make(sort->order, sort->limit)))
		return false;
	note_order(sort);
	if (sort->group_limit != NULL)
		group_limit_apply(sort->group_limit, sort->order);
	return true;
}

/* Makes an empty list of runs, if there is none. */
static void
begin_runs(ExternalSort *sort)
{
	if (sort->runs != NULL)
		return;
	sort->runs = sorted_runs_create(run_order_of_rows(sort->order),
									sort->variant->format,
									sort->limit, sort->limit_of_merge,
									sort->random_access);
	sorted_runs_plan(sort->runs, sort->expected_rows);
}

/* Writes the rows in the store as a run, when their order is made. */
static void
add_run(ExternalSort *sort)
{
	sort->order->nentries = Min(sort->order->nentries, sort->most_in_run);
	sort_progress_enter(sort->progress, PROGRESS_WRITING_RUN);
	sort->rows_in_runs += sort->order->nentries;
	if (sort->writer != NULL)
		sort->writer->add(sort->writer, sort->order);
	else
	{
		begin_runs(sort);
		sorted_runs_add(sort->runs);
	}
	sort->nruns++;
	sort->progress->figures.runs_written = sort->nruns;
	row_store_reset(sort->store);
	row_order_restart(sort->order, sort->store);
	set_stop(sort);
}

/* Does what external_sort_spill() does, in the sort's memory context. */
static bool
spill(ExternalSort *sort)
{
	if (!make_order(sort))
		return false;
	add_run(sort);
	return true;
}

bool
external_sort_spill(ExternalSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);
	bool		done = spill(sort);

	sort_progress_enter(sort->progress, PROGRESS_TAKING_ROWS);
	MemoryContextSwitchTo(caller_context);
	return done;
}

void
external_sort_set_limit(ExternalSort *sort, Size limit)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	Assert(sort->store->nrows == 0);
	sort->limit = limit;
	/* the present store also counts its directory, and rows in other memory */
	free_store(&sort->store);
	begin_store(sort);
	MemoryContextSwitchTo(caller_context);
}

void
external_sort_free_rows(ExternalSort *sort)
{
	row_order_drop_keys(sort->order);
	free_store(&sort->store);
}

/* Begins to merge all runs; rows in the store become the last one. */
static void
merge_runs(ExternalSort *sort)
{
	if (sort->store->nrows > 0)
		add_run(sort);
	external_sort_free_rows(sort);
	sort->progress->figures.rows_put = sort->nnulls + sort->nleft_out +
		sort->nrows;
	sort_progress_enter(sort->progress, PROGRESS_MERGING_RUNS);
	sorted_runs_merge(sort->runs);
	sort->memory = sorted_runs_disk(sort->runs);
}

static bool
perform(ExternalSort *sort)
{
	Assert(sort->writer == NULL || sort->nruns == 0);
	/* the keys stay */
	if (sort->runs == NULL && row_order_select(sort->order))
	{
		note_order(sort);
		return true;
	}
	/* a sort without rows has an order, too */
	if ((sort->store->nrows > 0 || sort->runs == NULL) && !make_order(sort))
		return false;
	if (sort->runs != NULL)
		merge_runs(sort);
	else
		row_order_drop_keys(sort->order);
	return true;
}

bool
external_sort_perform(ExternalSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);
	bool		done = perform(sort);

	MemoryContextSwitchTo(caller_context);
	return done;
}

void
external_sort_give_up(ExternalSort *sort)
{
	if (sort->store != NULL)
		count_rows(sort);
	if (sort->order != NULL)
		row_order_drop_keys(sort->order);
	if (sort->moved == NULL)
		sort->next_row = 0;
	sort->given_up = true;
}

/* Returns the next row of a store, and frees the store after the last one. */
static void *
take_from_store(RowStore **store, uint64 *next)
{
	if (*next < (*store)->nrows)
	{
		row_store_forget_before(*store, *next);
		return row_store_get(*store, (*next)++);
	}
	free_store(store);
	*next = 0;
	return NULL;
}

void *
external_sort_take_back(ExternalSort *sort)
{
	void	   *row = NULL;

	if (sort->moved != NULL)
		row = take_from_store(&sort->moved, &sort->next_row);
	if (row == NULL && sort->store != NULL)
		row = take_from_store(&sort->store, &sort->next_row);
	if (row == NULL && sort->runs != NULL)
		row = sorted_runs_take(sort->runs);
	return row;
}

void
external_sort_drop_rows(ExternalSort *sort)
{
	external_sort_give_up(sort);
	external_sort_end(sort);
	free_store(&sort->moved);
	free_store(&sort->store);
}

void
external_sort_end(ExternalSort *sort)
{
	if (sort->runs != NULL)
		sorted_runs_end(sort->runs);
	sort->runs = NULL;
}
