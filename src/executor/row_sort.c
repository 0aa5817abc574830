/*-------------------------------------------------------------------------
 *
 * row_sort.c
 *	  Sorting rows: put them, sort, get them in order.
 *
 * A row that is put goes two ways.  The row itself is copied to the row store
 * and stays there; its key is made and sorted with the others, elsewhere.
 * The order comes back, a permutation of row numbers, by which rows are emitted
 * from the store.
 *
 *		slot --+-- row_store.c ---+--> slot
 *		       |                  |
 *		       +-- row_order.c ---+
 *
 * Rows of a single by-value column are kept as values, without a header, and NULLs
 * are not kept: they are counted, and emitted before the values or after them.
 *
 * Rows that exceed the memory setting go to sorted runs in a temporary file,
 * which are merged in the end (external_sort.c).
 *
 * If only few first rows are wanted, core's heap of the first rows sorts them.
 * So it does if there are more rows than expected: from where the rows that are
 * wanted are few of them, or the memory is full and has room for those.
 *
 * If the rows turn out not to be sortable by keys, they are put to core's
 * tuplesort one by one, while the store shrinks.
 *
 * Processes that sort together share their memory.  The leader takes the rows of
 * the others, too, which are in shared memory and stay there (shared_rows.c).
 * The limit is then the memory of all processes, except a part of each: in that
 * part a process sorts the rows for which there is no room, and writes them as
 * runs (kept_rows.c), and so does the leader from then on.  Where so many rows
 * are expected that they would have to be written anyway, each process does that
 * from the beginning, in all of its memory.  In the end the leader merges all runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "cost/sort_cost.h"
#include "executor/native_sort.h"
#include "executor/row_sort.h"
#include "port/compat.h"
#include "port/timing.h"
#include "settings.h"
#include "shared_state.h"
#include "sort/row_order.h"
#include "sort/row_store.h"
#include "spill/external_sort.h"

/* Least bytes of a row in memory. */
#define LEAST_ROW_BYTES	(MAXALIGN(SizeofMinimalTupleHeader) + sizeof(void *))

/* Values by which they are prefetched ahead of the one that is emitted. */
#define VALUES_AHEAD			32

/*
 * The part of its memory that a process which sorts together with others has for
 * rows that it keeps: one in so many.
 */
#define KEPT_ROWS_PART		5

/* The least that it keeps: core's sorts have as much, whatever the setting. */
#define LEAST_KEPT_BYTES	((Size) 64 * 1024)

/*
 * The first rows that are wanted are few when there are so many times as many
 * rows: then core's heap of the first rows was found to take no longer than a
 * sort of all.
 */
#define FEW_ROWS_PART		32

/* The reason why a sort is native from the beginning. */
#define FEW_ROWS	"few rows are expected, or wanted"

/* The reason why a sort goes to core's heap of the first rows. */
#define FEW_FIRST_ROWS	"only the first rows are wanted"

/* The phase of a sort, and the place of its rows. */
typedef enum RowSortStatus
{
	TAKES_ROWS,					/* rows are put, to be sorted by keys */
	EMITS_FROM_MEMORY,			/* rows are emitted from the store */
	EMITS_FROM_RUNS,			/* rows are emitted by the merge of the runs */
	SORTS_NATIVELY				/* core's tuplesort has all rows */
} RowSortStatus;

static const ExternalSortVariant minimal_tuples = {
	.column = minimal_tuple_column,
	.format = &run_of_minimal_tuples,
	.least_row_bytes = LEAST_ROW_BYTES
};

/* Of rows with a single column that is by value, without NULLs. */
static const ExternalSortVariant single_values = {
	.column = single_value_column,
	.format = &run_of_values,
	.least_row_bytes = sizeof(Datum),
	.of_values = true
};

struct RowSort
{
	RowSortStatus status;
	ExternalSort external;		/* sort by keys */
	NativeSort *native;			/* core's sort, if SORTS_NATIVELY */
	MemoryContext context;		/* owns everything below */
	TupleDesc	descriptor;
	SortColumn *columns;
	int			ncolumns;
	double		bound;			/* first rows that are wanted, or NO_BOUND */
	bool		random_access;
	bool		of_few;			/* begun by row_sort_begin_few() */
	bool		of_values;		/* rows are of one column, by value */
	bool		keeps_values;	/* they are kept as values */
	Size		native_limit;	/* bytes of core's sort */
	RowCollector *collector;	/* workers' rows; NULL without workers */
	bool		kept;			/* rows do not go to shared memory any more */
	SortProgress *progress;

	/* if EMITS_FROM_MEMORY, or EMITS_FROM_RUNS */
	uint64		next;			/* row to be emitted next: entry of the order */
	uint64		marked_next;
	uint64		stop;			/* where the progress is shown next, or the
								 * end */

	/* if EMITS_FROM_MEMORY, or values from runs */
	uint64		nentries;		/* rows to be emitted, with NULLs */
	Size		row_bytes;		/* bytes of a row to be prefetched */
	bool		at_end;			/* a fetch has gone past the last row */
	bool		marked_at_end;

	/* of values */
	uint64		first_value;	/* entry of the first value, behind NULLs */
	uint64		nvalues;		/* values to be emitted */
	uint64		next_in_runs;	/* value that the runs emit next */
	uint64		marked_in_runs;

	instr_time	started;
	RowSortReport report;
};

/* Puts a row to the native sort. */
static inline void
put_natively(RowSort *sort, TupleTableSlot *slot)
{
	native_sort_put(sort->native, slot);
	sort_progress_add(sort->progress, 1);
}

/* Stores the value, or NULL if there is none, in the slot. */
static inline void
store_value(TupleTableSlot *slot, const Datum *value)
{
	ExecClearTuple(slot);
	slot->tts_values[0] = value != NULL ? *value : (Datum) 0;
	slot->tts_isnull[0] = value == NULL;
	ExecStoreVirtualTuple(slot);
}

/* The same for a stored row; the slot is for minimal tuples. */
static inline void
put_stored_natively(RowSort *sort, MinimalTuple row, TupleTableSlot *slot)
{
	CHECK_FOR_INTERRUPTS();
	ExecStoreMinimalTuple(row, slot, false);
	native_sort_put(sort->native, slot);
}

/* The same for values, and for as many NULLs as have been put. */
static void
put_values_natively(RowSort *sort, TupleTableSlot *slot)
{
	const Datum *value;

	while ((value = external_sort_take_back(&sort->external)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		store_value(slot, value);
		native_sort_put(sort->native, slot);
	}
	store_value(slot, NULL);
	for (uint64 i = 0; i < sort->external.nnulls; i++)
	{
		CHECK_FOR_INTERRUPTS();
		native_sort_put(sort->native, slot);
	}
}

/* Moves the rows that have been put to core's tuplesort. */
static void
move_to_native(RowSort *sort)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(sort->descriptor,
													&TTSOpsMinimalTuple);
	MinimalTuple row;

	external_sort_give_up(&sort->external);
	if (sort->keeps_values)
		put_values_natively(sort, slot);
	else
		while ((row = external_sort_take_back(&sort->external)) != NULL)
			put_stored_natively(sort, row, slot);
	ExecDropSingleTupleTableSlot(slot);
	external_sort_end(&sort->external);
}

/*
 * Falls back to core's tuplesort, with the rows put so far; the reason is logged.
 */
static void
fall_back(RowSort *sort, const char *reason)
{
	ereport(DEBUG1,
			(errmsg_internal("gpusort falls back to PostgreSQL's sort: %s", reason)));
	sort->native = native_sort_begin(sort->descriptor, sort->columns,
									 sort->ncolumns, sort->native_limit,
									 sort->bound, sort->random_access);
	sort->status = SORTS_NATIVELY;
	sort_progress_set_device(sort->progress, "native");
	sort_progress_enter(sort->progress, PROGRESS_TAKING_ROWS);

	/* workers had better keep their rows now, in runs */
	if (sort->collector != NULL)
		row_collector_refuse(sort->collector);
	if (sort->external.order != NULL)
		move_to_native(sort);
}

/* Makes a sort that can take no rows yet. */
static RowSort *
create_sort(TupleDesc descriptor, SortColumn *columns, int ncolumns,
			double expected_rows, double bound, bool random_access,
			bool by_keys)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(context);
	RowSort    *sort = palloc0(sizeof(RowSort));

	INSTR_TIME_SET_CURRENT(sort->started);
	sort->context = context;
	sort->descriptor = descriptor;
	sort->of_values = descriptor->natts == 1 &&
		TupleDescAttr(descriptor, 0)->attbyval;
	sort->columns = columns;
	sort->ncolumns = ncolumns;
	sort->bound = bound;
	sort->random_access = random_access;
	sort->progress = sort_progress_begin(PROGRESS_OF_SORT, expected_rows,
										 by_keys);
	MemoryContextSwitchTo(caller_context);
	return sort;
}

/*
 * Begins to sort by keys, in the current memory context; or natively.  Rows in shared
 * memory do not spill by themselves.
 */
static void
begin_by_keys(RowSort *sort, Size limit, double expected_rows, bool spills)
{
	/* the plan may be older than a change of the setting */
	if (!gpusort_enable || !gpusort_enable_sort)
		fall_back(sort, "it has been switched off since the query was planned");
	else if (external_sort_begin(&sort->external,
								 sort->keeps_values ? &single_values :
								 &minimal_tuples, sort->descriptor, sort->columns,
								 sort->ncolumns, limit, expected_rows, spills,
								 sort->progress))
		sort->external.random_access = sort->random_access;
	else
		fall_back(sort, "its order has changed since the query was planned");
}

RowSort *
row_sort_begin(TupleDesc descriptor, SortColumn *columns, int ncolumns,
			   double expected_rows, double bound, bool random_access)
{
	RowSort    *sort = create_sort(descriptor, columns, ncolumns,
								   expected_rows, bound, random_access, true);
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	sort->native_limit = gpusort_memory_limit();
	/* a column can be sorted by twice, under different operators */
	sort->keeps_values = sort->of_values && ncolumns == 1;
	begin_by_keys(sort, sort->native_limit, expected_rows, true);
	/* estimates are not so good that twice as many would be unexpected */
	if (bound != NO_BOUND && sort->status == TAKES_ROWS)
		external_sort_limit_rows(&sort->external,
								 (uint64) Min((double) SORT_MAX_ROWS,
											  Max(2 * expected_rows,
												  FEW_ROWS_PART * (bound + 1))));
	MemoryContextSwitchTo(caller_context);
	return sort;
}

void
row_sort_limit_groups(RowSort *sort, GroupLimit *limit)
{
	if (sort->status == TAKES_ROWS)
		external_sort_limit_groups(&sort->external, limit);
}

/* Begins another sort in the place of one that has been emptied. */
static void
begin_again(RowSort *sort, double expected_rows)
{
	INSTR_TIME_SET_CURRENT(sort->started);
	sort_progress_begin_again(sort->progress, expected_rows, false);
	sort_progress_set_device(sort->progress, "native");
}

RowSort *
row_sort_begin_few(RowSort **emptied, TupleDesc descriptor,
				   SortColumn *columns, int ncolumns, double expected_rows,
				   double bound, bool random_access)
{
	RowSort    *sort = *emptied;
	MemoryContext caller_context;

	*emptied = NULL;
	if (sort != NULL && sort->bound == bound &&
		sort->native_limit == gpusort_memory_limit())
	{
		begin_again(sort, expected_rows);
		return sort;
	}
	if (sort != NULL)
		row_sort_end(sort);

	sort = create_sort(descriptor, columns, ncolumns, expected_rows, bound,
					   random_access, false);
	caller_context = MemoryContextSwitchTo(sort->context);
	sort->of_few = true;
	sort->native_limit = gpusort_memory_limit();
	fall_back(sort, FEW_ROWS);
	MemoryContextSwitchTo(caller_context);
	return sort;
}

SharedMemoryLimits
row_sort_divide_memory(int nworkers, bool keep_rows)
{
	Size		memory = gpusort_memory_limit();
	SharedMemoryLimits limits;

	limits.kept_rows = keep_rows ? memory :
		Min(memory, Max(memory / KEPT_ROWS_PART, LEAST_KEPT_BYTES));
	limits.shared_rows = (nworkers + 1) * (memory - limits.kept_rows);
	limits.merge = (nworkers + 1) * limits.kept_rows;
	return limits;
}

RowSort *
row_sort_begin_leader(TupleDesc descriptor, SortColumn *columns, int ncolumns,
					  double expected_rows, double bound,
					  const SharedMemoryLimits *limits,
					  RowCollector *collector, SharedRuns *runs)
{
	bool		kept = limits->shared_rows == 0;
	RowSort    *sort = create_sort(descriptor, columns, ncolumns,
								   expected_rows, bound, false, true);
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	sort->native_limit = limits->kept_rows;
	sort->collector = collector;
	sort->kept = kept;
	begin_by_keys(sort, kept ? limits->kept_rows : limits->shared_rows,
				  expected_rows, kept);
	sort->external.shared_runs = runs;
	if (sort->status == TAKES_ROWS)
	{
		if (!kept)
			(void) row_order_share(sort->external.order);
		/* the others have no more memory then, and rows in shared memory have */
		sort->external.limit_of_merge = limits->merge;
		sort->external.emits_all = bound == NO_BOUND;
	}
	MemoryContextSwitchTo(caller_context);
	return sort;
}

RowSort *
row_sort_begin_runs(TupleDesc descriptor, SortColumn *columns, int ncolumns,
					double expected_rows, double bound, Size limit,
					SharedRuns *runs)
{
	RowSort    *sort = create_sort(descriptor, columns, ncolumns,
								   expected_rows, bound, false, true);
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	sort->native_limit = limit;
	begin_by_keys(sort, limit, expected_rows, true);
	sort->external.shared_runs = runs;
	MemoryContextSwitchTo(caller_context);
	return sort;
}

bool
row_sort_is_by_keys(const RowSort *sort)
{
	return sort->status != SORTS_NATIVELY;
}

/* Falls back after rows could not be sorted by keys. */
static void
fall_back_without_keys(RowSort *sort)
{
	fall_back(sort, sort->external.order->memory > sort->external.limit ?
			  "the device was lost, and the memory for a sort is full" :
			  "its keys were misleading");
}

/*
 * Are so few rows wanted that core's sort has room for its heap of them?  Core
 * makes the heap when it has twice as many rows, and a row takes up to twice
 * the memory there.
 */
static bool
few_are_wanted(const RowSort *sort)
{
	return sort->bound != NO_BOUND && sort->external.runs == NULL &&
		sort->bound * 4 < sort->external.store->nrows;
}

/*
 * Writes the rows in the store as a run; false if they cannot be sorted by keys.
 * Rows of workers stay in shared memory also then.  So after that workers have to
 * keep theirs, and for further ones there is but this process's own memory.
 */
static bool
spill_rows(RowSort *sort)
{
	if (!external_sort_spill(&sort->external))
		return false;
	if (sort->collector != NULL && !sort->kept)
	{
		row_collector_refuse(sort->collector);
		external_sort_set_limit(&sort->external, sort->native_limit);
		sort->kept = true;
	}
	return true;
}

/* Makes room for rows: spills those in the store, or falls back. */
static void
make_room(RowSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	if (few_are_wanted(sort))
		fall_back(sort, FEW_FIRST_ROWS);
	else if (!spill_rows(sort))
		fall_back_without_keys(sort);
	MemoryContextSwitchTo(caller_context);
}

/* Adds the row that came to the store last to the order, if there is room. */
static inline bool
put_in_order(RowSort *sort, TupleTableSlot *slot)
{
	if (likely(row_order_add(sort->external.order, slot)))
		return true;
	row_store_take_back(sort->external.store);
	return false;
}

/* As put_in_store(), of a single value. */
static pg_noinline bool
put_value(RowSort *sort, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, 1, &isnull);

	if (isnull)
	{
		/* values may take long to come, and the progress is to go on */
		if (unlikely(++sort->external.nnulls % PROGRESS_ROWS == 0))
			(void) external_sort_go_on(&sort->external);
		return true;
	}
	return likely(external_sort_takes_row(&sort->external) &&
				  row_store_add_value(sort->external.store, value,
									  external_sort_memory(&sort->external))) &&
		put_in_order(sort, slot);
}

/* Takes the row with those that are sorted by keys, if there is room. */
static inline bool
put_in_store(RowSort *sort, TupleTableSlot *slot)
{
	if (unlikely(sort->keeps_values))
		return put_value(sort, slot);
	return likely(external_sort_takes_row(&sort->external) &&
				  row_store_add(sort->external.store, slot,
								external_sort_memory(&sort->external))) &&
		put_in_order(sort, slot);
}

/* Takes a row of this process. */
static inline void
put_row(RowSort *sort, TupleTableSlot *slot)
{
	if (likely(sort->status == TAKES_ROWS))
	{
		if (likely(put_in_store(sort, slot)))
			return;
		make_room(sort);
	}
	if (sort->status == SORTS_NATIVELY)
		put_natively(sort, slot);
	else if (!put_in_store(sort, slot))
		elog(ERROR, "an empty row store has no room for a row");
}

/* Puts the rows of a batch, from this one on, as those of this process. */
static void
put_batch(RowSort *sort, const RowBatch *batch, int first, char *base)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(sort->descriptor,
													&TTSOpsMinimalTuple);

	for (int i = first; i < batch->nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ExecStoreMinimalTuple((MinimalTuple) (base + batch->places[i]), slot,
							  false);
		put_row(sort, slot);
	}
	ExecDropSingleTupleTableSlot(slot);
}

/* Takes the rows of a batch. */
static void
take_batch(RowSort *sort, const RowBatch *batch, char *base)
{
	uint32		taken = 0;

	if (sort->status == TAKES_ROWS && !sort->kept)
	{
		taken = external_sort_take_batch(&sort->external, batch, base);
		if (taken < batch->nrows)
			make_room(sort);
	}
	if (taken < batch->nrows)
		put_batch(sort, batch, taken, base);
}

/* Takes the rows that workers have sent. */
static void
take_batches(RowSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);
	const RowBatch *batch;
	char	   *base;

	while ((batch = row_collector_next(sort->collector, &base)) != NULL)
		take_batch(sort, batch, base);
	MemoryContextSwitchTo(caller_context);
}

void
row_sort_take_sent(RowSort *sort)
{
	take_batches(sort);
}

/* Takes a row of this process, and what workers have sent until now. */
static pg_attribute_always_inline void
put_rows(RowSort *sort, TupleTableSlot *slot)
{
	if (unlikely(sort->collector != NULL))
		take_batches(sort);
	put_row(sort, slot);
}

void
row_sort_put(RowSort *sort, TupleTableSlot *slot)
{
	put_rows(sort, slot);
}

uint64
row_sort_take(RowSort *sort, PlanState *source)
{
	uint64		nrows = 0;
	uint64		taken;

	/* one that sorts natively has nothing else to do between rows */
	while (sort->status == TAKES_ROWS || sort->collector != NULL)
	{
		TupleTableSlot *slot = ExecProcNode(source);

		if (TupIsNull(slot))
			return nrows;
		put_rows(sort, slot);
		nrows++;
	}
	do
	{
		taken = native_sort_take(sort->native, source, PROGRESS_ROWS);
		sort_progress_add(sort->progress, taken);
		nrows += taken;
	} while (taken == PROGRESS_ROWS);
	return nrows;
}

/* Adds how the runs were merged, whose rows were sorted by this method. */
static void
report_runs(const SortedRuns *runs, const char *method,
			RowSortReport *report)
{
	int			count = sorted_runs_count(runs);
	int			nparts = sorted_runs_parts(runs);

	report->on_disk = true;
	if (nparts > 0)
		snprintf(report->method, REPORT_TEXT_SIZE,
				 "%s, merge of %d runs in %d parts", method, count, nparts);
	else
		snprintf(report->method, REPORT_TEXT_SIZE, "%s, merge of %d runs%s",
				 method, count,
				 sorted_runs_ordered(runs) ? " by gpusortd" : "");
}

/* Fills the report of a sort by keys. */
static void
report_keys(RowSort *sort)
{
	const ExternalSort *external = &sort->external;
	RowSortReport *report = &sort->report;

	report->nrows = external->nnulls + external->nrows;
	report->memory = external->memory;
	report->on_device = external->on_device;
	report->device_microseconds = external->device_microseconds;
	memcpy(report->device, external->device, REPORT_TEXT_SIZE);
	memcpy(report->method, external->method, REPORT_TEXT_SIZE);
	if (external->runs != NULL)
		report_runs(external->runs, external->method, report);
}

/* Sorts natively, after the last row. */
static void
sort_natively(RowSort *sort)
{
	sort_progress_enter(sort->progress, PROGRESS_SORTING);
	tuplesort_performsort(sort->native->state);
	sort_progress_enter(sort->progress, PROGRESS_EMITTING_ROWS);
}

/* Shows that rows are emitted, the first ones next. */
static void
show_emitting(RowSort *sort)
{
	sort->stop = sort->status == EMITS_FROM_MEMORY || sort->keeps_values ?
		Min(PROGRESS_ROWS, sort->nentries) : PROGRESS_ROWS;
	sort->progress->figures.emits = true;
	sort_progress_enter(sort->progress, PROGRESS_EMITTING_ROWS);
}

/* Shows that so many rows have been emitted, or more at an earlier scan. */
static void
show_emitted(RowSort *sort)
{
	if (sort->next > sort->progress->figures.rows_emitted)
		sort_progress_emitted(sort->progress, sort->next);
}

/* Finds which entries are NULLs. */
static void
place_nulls(RowSort *sort)
{
	uint64		nnulls = sort->external.nnulls;

	if (sort->external.group_limit != NULL)
		nnulls = group_limit_of_nulls(sort->external.group_limit, nnulls);
	sort->nvalues = sort->nentries;
	sort->nentries += nnulls;
	if (sort->columns[0].nulls_first)
		sort->first_value = nnulls;
}

/* Sorts the rows that have been put, by their keys; or falls back. */
static void
sort_by_keys(RowSort *sort)
{
	ExternalSort *external = &sort->external;

	if (!external_sort_perform(external))
	{
		fall_back_without_keys(sort);
		return;
	}
	report_keys(sort);
	if (external->status == EXTERNAL_SORT_IN_RUNS)
	{
		sort->status = EMITS_FROM_RUNS;
		sort->nentries = external->rows_in_runs;
	}
	else
	{
		sort->status = EMITS_FROM_MEMORY;
		sort->nentries = external->order->nentries;
		sort->row_bytes = Min(row_store_row_bytes(external->store),
							  MOST_FETCHED_BYTES);
	}
	if (sort->keeps_values)
		place_nulls(sort);
	show_emitting(sort);
}

/* Moves the rows of the shared runs to core's tuplesort. */
static void
move_shared_to_native(RowSort *sort)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(sort->descriptor,
													&TTSOpsMinimalTuple);
	SharedRuns *shared = sort->external.shared_runs;
	SortedRuns *runs = sorted_runs_create(NULL, &run_of_minimal_tuples,
										  sort->native_limit,
										  sort->native_limit, false, shared, 0);
	MinimalTuple row;

	while ((row = sorted_runs_take(runs)) != NULL)
		put_stored_natively(sort, row, slot);
	sorted_runs_end(runs);
	ExecDropSingleTupleTableSlot(slot);
	sort_progress_add(sort->progress, shared->nrows);
}

/* Adds a finished sort to the server's statistics. */
static void
count_sort(const RowSort *sort)
{
	if (sort->collector != NULL)
		shared_count(STAT_SORTS_TOGETHER, 1);
	shared_count(STAT_SORT_WORKERS, sort->report.workers);
	if (sort->status == SORTS_NATIVELY)
	{
		shared_count(STAT_SORTS_NATIVE, 1);
		return;
	}
	shared_count(sort->report.on_device ? STAT_SORTS_DEVICE : STAT_SORTS_HOST,
				 1);
	if (sort->status == EMITS_FROM_RUNS)
		shared_count(STAT_SORTS_SPILLED, 1);
	shared_count(STAT_ROWS, sort->report.nrows);
	shared_count(STAT_BYTES, sort->report.memory);
	shared_count(STAT_FILL_MICROSECONDS, sort->report.fill_microseconds);
	shared_count(STAT_SORT_MICROSECONDS, sort->report.sort_microseconds);
}

uint64
row_sort_take_rest(RowSort *sort)
{
	do
		take_batches(sort);
	while (row_collector_wait(sort->collector));
	sort->report.workers = row_collector_workers(sort->collector);
	sort->report.kept_rows = row_collector_kept(sort->collector);
	return sort->report.kept_rows;
}

void
row_sort_perform(RowSort *sort)
{
	instr_time	start;
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	if (sort->collector != NULL)
		(void) row_sort_take_rest(sort);
	sort->report.fill_microseconds = microseconds_since(sort->started);
	INSTR_TIME_SET_CURRENT(start);
	if (sort->status == TAKES_ROWS)
		sort_by_keys(sort);
	if (sort->status == SORTS_NATIVELY)
	{
		if (sort->collector != NULL)
			move_shared_to_native(sort);
		sort_natively(sort);
	}
	if (sort->collector != NULL)
		shared_runs_decide(sort->external.shared_runs, MERGE_BY_LEADER);
	sort->report.sort_microseconds = microseconds_since(start);
	count_sort(sort);
	MemoryContextSwitchTo(caller_context);
}

bool
row_sort_write_runs(RowSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	if (sort->status == TAKES_ROWS && sort->external.store->nrows > 0 &&
		!external_sort_spill(&sort->external))
		fall_back_without_keys(sort);
	MemoryContextSwitchTo(caller_context);
	return row_sort_is_by_keys(sort);
}

void
row_sort_offer_help(RowSort *sort)
{
	external_sort_offer_help(&sort->external);
	sort_progress_enter(sort->progress, PROGRESS_WAITING_FOR_LEADER);
}

void
row_sort_help_merge(RowSort *sort)
{
	external_sort_help_merge(&sort->external);
}

void
row_sort_give_up_keys(RowSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	if (sort->status == TAKES_ROWS)
		fall_back(sort, "other processes have rows that are not sorted by keys");
	MemoryContextSwitchTo(caller_context);
}

RowOrder *
row_sort_shared_order(RowSort *sort)
{
	return sort->status == EMITS_FROM_MEMORY &&
		!row_store_has_rows(sort->external.store) ?
		sort->external.order : NULL;
}

/* At a stop, or the end: shows the progress; false at the end. */
static pg_noinline bool
emit_on(RowSort *sort)
{
	show_emitted(sort);
	sort->stop = Min(sort->next + PROGRESS_ROWS, sort->nentries);
	return sort->next < sort->stop;
}

/* At a stop, before the next row of the merge is fetched. */
static pg_noinline void
show_runs_emitted(RowSort *sort)
{
	show_emitted(sort);
	sort->stop = sort->next + PROGRESS_ROWS;
}

/* Moves on to the next entry; false at the end. */
static inline bool
step_forward(RowSort *sort, uint64 *entry)
{
	if (unlikely(sort->next >= sort->stop) && !emit_on(sort))
	{
		sort->at_end = true;
		return false;
	}
	*entry = sort->next++;
	return true;
}

/*
 * Moves back to the entry before the one emitted last, or to the last one
 * if the end has been reached; false at the start.
 */
static bool
step_backward(RowSort *sort, uint64 *entry)
{
	if (sort->at_end)
		sort->at_end = false;
	else if (sort->next > 0)
		sort->next--;
	if (sort->next == 0)
		return false;
	*entry = sort->next - 1;
	return true;
}

/*
 * Takes the only column out of a row, unless it is NULL or younger than the
 * row.  Whoever wants the row will look at it, and would go through the row by
 * all the rules.
 */
static inline void
take_value(TupleTableSlot *slot, MinimalTuple row)
{
	if ((row->t_infomask & HEAP_HASNULL) != 0 ||
		HeapTupleHeaderGetNatts(row) == 0)
		return;
	slot->tts_values[0] =
		fetchatt(TupleDescCompactAttr(slot->tts_tupleDescriptor, 0),
				 (char *) row + row->t_hoff - MINIMAL_TUPLE_OFFSET);
	slot->tts_isnull[0] = false;
	slot->tts_nvalid = 1;
}

/* As row_sort_get(), from memory. */
static inline bool
get_from_memory(RowSort *sort, bool forward, TupleTableSlot *slot)
{
	RowOrder   *order = sort->external.order;
	uint64		entry;
	void	   *row;

	if (!(forward ? step_forward(sort, &entry) : step_backward(sort, &entry)))
	{
		ExecClearTuple(slot);
		return false;
	}
	if (unlikely(gpusort_verify))
		row_order_verify(order, entry);
	if (likely(forward))
		row = row_order_get_forward(order, entry, sort->row_bytes);
	else
		row = row_order_get(order, entry);
	ExecStoreMinimalTuple(row, slot, false);
	if (sort->of_values)
		take_value(slot, row);
	return true;
}

/* As row_sort_get(), by the merge of the runs. */
static pg_noinline bool
get_from_runs(RowSort *sort, bool forward, TupleTableSlot *slot)
{
	if (unlikely(sort->next >= sort->stop))
		show_runs_emitted(sort);
	/* rows that are fetched backward are not counted */
	sort->next += forward;
	return sorted_runs_get(sort->external.runs, forward, slot);
}

/*
 * Stores a value, by its number, from runs in the slot.  The runs have it next, or
 * the one emitted last; unless others were skipped or NULLs were between.
 */
static void
get_value_from_runs(RowSort *sort, uint64 number, TupleTableSlot *slot)
{
	SortedRuns *runs = sort->external.runs;
	bool		forward = sort->next_in_runs != number + 2;

	if (sort->next_in_runs == number + 1)
		(void) sorted_runs_get(runs, false, slot);
	else if (unlikely(sort->next_in_runs < number))
		sorted_runs_skip(runs, number - sort->next_in_runs);
	if (!sorted_runs_get(runs, forward, slot))
		elog(ERROR, "runs have fewer values than were written");
	sort->next_in_runs = number + 1;
}

/*
 * The value of an entry in memory.  A later one is prefetched: nothing but the
 * order has to be read for that, so there need not be a loop for many.
 */
static inline const Datum *
find_value(const RowOrder *order, uint64 entry)
{
	if (likely(entry + VALUES_AHEAD < order->nentries))
		__builtin_prefetch(row_order_get(order, entry + VALUES_AHEAD));
	return row_order_get(order, entry);
}

/* As row_sort_get(), of values. */
static pg_noinline bool
get_value(RowSort *sort, bool forward, TupleTableSlot *slot)
{
	RowOrder   *order = sort->external.order;
	uint64		entry;
	uint64		number;

	if (!(forward ? step_forward(sort, &entry) : step_backward(sort, &entry)))
	{
		ExecClearTuple(slot);
		return false;
	}
	/* of NULLs before all values it is larger than any */
	number = entry - sort->first_value;
	if (unlikely(number >= sort->nvalues))
		store_value(slot, NULL);
	else if (sort->status == EMITS_FROM_RUNS)
		get_value_from_runs(sort, number, slot);
	else
	{
		if (unlikely(gpusort_verify))
			row_order_verify(order, number);
		store_value(slot, find_value(order, number));
	}
	return true;
}

bool
row_sort_get(RowSort *sort, bool forward, TupleTableSlot *slot)
{
	if (unlikely(sort->keeps_values) && sort->status != SORTS_NATIVELY)
		return get_value(sort, forward, slot);
	if (likely(sort->status == EMITS_FROM_MEMORY))
		return get_from_memory(sort, forward, slot);
	if (sort->status == EMITS_FROM_RUNS)
		return get_from_runs(sort, forward, slot);
	Assert(sort->status == SORTS_NATIVELY);
	return native_sort_get(sort->native, forward, slot);
}

void
row_sort_skip(RowSort *sort, uint64 nrows)
{
	switch (sort->status)
	{
		case EMITS_FROM_MEMORY:
			sort->next = Min(sort->next + nrows, sort->nentries);
			break;
		case EMITS_FROM_RUNS:
			if (sort->keeps_values)
			{
				sort->next = Min(sort->next + nrows, sort->nentries);
				break;
			}
			sorted_runs_skip(sort->external.runs, nrows);
			sort->next += nrows;
			break;
		case SORTS_NATIVELY:
			(void) tuplesort_skiptuples(sort->native->state, nrows, true);
			break;
		case TAKES_ROWS:
			Assert(false);
	}
}

bool
row_sort_count_groups(const RowSort *sort, uint64 *ngroups)
{
	const RowOrder *order = sort->external.order;

	if (sort->status != EMITS_FROM_MEMORY ||
		(order->nentries > 0 && !order->limited_exactly))
		return false;
	*ngroups = sort->nentries;
	return true;
}

bool
row_sort_suffices(const RowSort *sort, double bound)
{
	/* those that are sorted by keys are all kept */
	return sort->status != SORTS_NATIVELY || sort->bound == NO_BOUND ||
		(bound != NO_BOUND && bound <= sort->bound);
}

void
row_sort_rescan(RowSort *sort)
{
	sort->next = 0;
	sort->marked_next = 0;
	sort->at_end = false;
	sort->marked_at_end = false;
	switch (sort->status)
	{
		case EMITS_FROM_MEMORY:
			break;
		case EMITS_FROM_RUNS:
			sort->next_in_runs = 0;
			sort->marked_in_runs = 0;
			sorted_runs_rescan(sort->external.runs);
			break;
		case SORTS_NATIVELY:
			tuplesort_rescan(sort->native->state);
			break;
		case TAKES_ROWS:
			Assert(false);
	}
}

void
row_sort_mark(RowSort *sort)
{
	sort->marked_next = sort->next;
	sort->marked_at_end = sort->at_end;
	switch (sort->status)
	{
		case EMITS_FROM_MEMORY:
			break;
		case EMITS_FROM_RUNS:
			sort->marked_in_runs = sort->next_in_runs;
			sorted_runs_mark(sort->external.runs);
			break;
		case SORTS_NATIVELY:
			tuplesort_markpos(sort->native->state);
			break;
		case TAKES_ROWS:
			Assert(false);
	}
}

void
row_sort_restore(RowSort *sort)
{
	sort->next = sort->marked_next;
	sort->at_end = sort->marked_at_end;
	switch (sort->status)
	{
		case EMITS_FROM_MEMORY:
			break;
		case EMITS_FROM_RUNS:
			sort->next_in_runs = sort->marked_in_runs;
			sorted_runs_restore(sort->external.runs);
			break;
		case SORTS_NATIVELY:
			tuplesort_restorepos(sort->native->state);
			break;
		case TAKES_ROWS:
			Assert(false);
	}
}

void
row_sort_report(RowSort *sort, RowSortReport *report)
{
	*report = sort->report;
	if (sort->status == SORTS_NATIVELY)
	{
		TuplesortInstrumentation core;

		tuplesort_get_stats(sort->native->state, &core);
		snprintf(report->method, REPORT_TEXT_SIZE, "%s (native)",
				 tuplesort_method_name(core.sortMethod));
		report->device[0] = '\0';
		report->memory = core.spaceUsed * (Size) 1024;
		report->on_disk = core.spaceType == SORT_SPACE_TYPE_DISK;
	}
}

void
row_sort_end(RowSort *sort)
{
	if (sort->status == SORTS_NATIVELY)
		tuplesort_end(sort->native->state);
	external_sort_end(&sort->external);
	if (sort->collector != NULL)
		row_collector_end(sort->collector);
	MemoryContextDelete(sort->context);
}

void
row_sort_empty(RowSort *sort, RowSort **emptied)
{
	if (!sort->of_few)
	{
		row_sort_end(sort);
		return;
	}
	sort_progress_end(sort->progress);
	native_sort_empty(sort->native, sort->bound);
	*emptied = sort;
}
