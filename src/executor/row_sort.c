/*-------------------------------------------------------------------------
 *
 * row_sort.c
 *	  Sorting rows: put them, sort, get them in order.
 *
 * A row that is put goes two ways.  The row itself is copied to the row store
 * and stays there.  Its key is made, and is sorted with the other keys,
 * elsewhere.  The order comes back, a permutation of row numbers.  By this
 * order rows are emitted from the store (row_source.c).
 *
 *	slot --+-- row_store.c ---+-- row_source.c --> slot
 *	       |                  |
 *	       +-- row_order.c ---+
 *
 * If rows have a single by-value column, only the values are kept, without a
 * tuple header, and NULLs are only counted.  Processes that sort together keep
 * such rows as they are, since they may have to write them.  Their collector
 * takes the values when the rows have been sorted.
 *
 * Rows that exceed the memory setting are written as sorted runs to a
 * temporary file, and the runs are merged in the end (external_sort.c).
 *
 * If only few first rows are wanted, core's heap of the first rows sorts them
 * (native_sort.c).  The heap takes over later, too: when there turn out to be
 * many more rows than are wanted, or when the memory is full and has room for
 * the heap.
 *
 * If keys cannot sort the rows, the rows are moved to core's tuplesort one by
 * one, while the store shrinks.
 *
 * If only the first rows of each group are wanted, rows that cannot be among
 * them are left out when they are put (group_thresholds.c).
 *
 * If processes sort together, one of them has the rows of all, which a team
 * has sorted (team.c).  It emits the rows in the same way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "cost/sort_cost.h"
#include "executor/native_sort.h"
#include "executor/row_sort.h"
#include "executor/row_source.h"
#include "port/timing.h"
#include "settings.h"
#include "shared_state.h"
#include "sort/group_thresholds.h"
#include "sort/row_order.h"
#include "sort/row_store.h"
#include "spill/external_sort.h"

/*
 * The wanted first rows are few if there are FEW_ROWS_PART times as many rows.
 * Then core's heap of the first rows takes no longer than a sort of all, as
 * measured.
 */
#define FEW_ROWS_PART		32

/* The reason why a sort is native from the beginning. */
#define FEW_ROWS	"few rows are expected, or wanted"

/* The reason why a sort goes to core's heap of the first rows. */
#define FEW_FIRST_ROWS	"only the first rows are wanted"

/* The phase of a sort, and where the rows are in the end. */
typedef enum RowSortStatus
{
	TAKES_ROWS,					/* rows are put, to be sorted by keys */
	IN_MEMORY,					/* rows are sorted, in the store */
	IN_RUNS,					/* rows are sorted, in runs */
	TAKES_NATIVELY,				/* rows are put to core's tuplesort */
	NATIVE						/* core's tuplesort has sorted the rows */
} RowSortStatus;

/* The form of rows that are one value each, without NULLs. */
static const ExternalSortVariant single_values = {
	.column = single_value_column,
	.format = &run_of_values,
	.least_row_bytes = sizeof(Datum),
	.of_values = true
};

struct RowSort
{
	RowSortStatus status;
	RowSource  *source;			/* the sorted rows */
	ExternalSort *external;		/* the sort by keys: own, or a team's */
	ExternalSort own;
	GroupThresholds *thresholds;	/* tell which rows need not be put, or
									 * NULL */
	NativeSort *native;			/* core's sort; NULL: keys sort the rows */
	Team	   *team;			/* team that has sorted the rows, or NULL */
	TeamWork	work;			/* what the team does with parts of the order */
	MemoryContext context;		/* owns everything below */
	TupleDesc	descriptor;
	const SortColumn *columns;
	int			ncolumns;
	double		bound;			/* first rows that are wanted, or NO_BOUND */
	bool		random_access;
	bool		of_few;			/* begun by row_sort_begin_few() */
	bool		keeps_values;	/* rows of one column, by value, are kept as
								 * values */
	bool		fetches_places; /* only rows of a team at single places are
								 * fetched */
	Size		native_limit;	/* bytes of core's sort */
	SortProgress *progress;

	instr_time	started;
	RowSortReport report;
};

/* Puts a row into the native sort. */
static inline void
put_natively(RowSort *sort, TupleTableSlot *slot)
{
	native_sort_put(sort->native, slot);
	sort_progress_add(sort->progress, 1);
}

/* Puts a stored row into the native sort; the slot is for minimal tuples. */
static inline void
put_stored_natively(RowSort *sort, MinimalTuple row, TupleTableSlot *slot)
{
	CHECK_FOR_INTERRUPTS();
	ExecStoreMinimalTuple(row, slot, false);
	native_sort_put(sort->native, slot);
}

/*
 * Puts the values that have been put, and the NULLs that were counted, into
 * the native sort.
 */
static void
put_values_natively(RowSort *sort, TupleTableSlot *slot)
{
	const Datum *value;

	while ((value = external_sort_take_back(sort->external)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		row_source_store_value(slot, value);
		native_sort_put(sort->native, slot);
	}
	row_source_store_value(slot, NULL);
	for (uint64 i = 0; i < sort->external->nnulls; i++)
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

	external_sort_give_up(sort->external);
	if (sort->keeps_values)
		put_values_natively(sort, slot);
	else
		while ((row = external_sort_take_back(sort->external)) != NULL)
			put_stored_natively(sort, row, slot);
	ExecDropSingleTupleTableSlot(slot);
	external_sort_end(sort->external);
}

/* Begins core's tuplesort, without rows; the reason is logged. */
static void
begin_natively(RowSort *sort, const char *reason)
{
	ereport(DEBUG1,
			(errmsg_internal("gpusort falls back to PostgreSQL's sort: %s", reason)));
	sort->native = native_sort_begin(sort->descriptor, sort->columns,
									 sort->ncolumns, sort->native_limit,
									 sort->bound, sort->random_access);
	sort->status = TAKES_NATIVELY;
	sort_progress_set_device(sort->progress, "native");
	sort_progress_enter(sort->progress, PROGRESS_TAKING_ROWS);
}

/* Falls back to core's tuplesort, with the rows put so far. */
static void
fall_back(RowSort *sort, const char *reason)
{
	begin_natively(sort, reason);
	if (sort->external->order != NULL)
		move_to_native(sort);
}

/* Makes a sort that can take no rows yet. */
static RowSort *
create_sort(TupleDesc descriptor, const SortColumn *columns, int ncolumns,
			double bound, bool random_access)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(context);
	RowSort    *sort = palloc0(sizeof(RowSort));

	INSTR_TIME_SET_CURRENT(sort->started);
	sort->context = context;
	sort->external = &sort->own;
	sort->descriptor = descriptor;
	sort->columns = columns;
	sort->ncolumns = ncolumns;
	sort->bound = bound;
	sort->random_access = random_access;
	MemoryContextSwitchTo(caller_context);
	return sort;
}

/* Shows the progress of a sort that has been created. */
static void
begin_progress(RowSort *sort, double expected_rows, bool by_keys)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	sort->progress = sort_progress_begin(PROGRESS_OF_SORT, expected_rows,
										 by_keys);
	MemoryContextSwitchTo(caller_context);
}

/* Begins to sort by keys, in the current memory context; or natively. */
static void
begin_by_keys(RowSort *sort, double expected_rows)
{
	/* the plan may be older than a change of the setting */
	if (!gpusort_enable || !gpusort_enable_sort)
		fall_back(sort, "it has been switched off since the query was planned");
	else if (external_sort_begin(sort->external,
								 sort->keeps_values ? &single_values :
								 &sort_of_minimal_tuples, sort->descriptor, sort->columns,
								 sort->ncolumns, sort->native_limit, expected_rows, true,
								 sort->progress))
		sort->external->random_access = sort->random_access;
	else
		fall_back(sort, "its order has changed since the query was planned");
}

bool
row_sort_is_of_values(TupleDesc descriptor, int ncolumns)
{
	/* a column can be sorted by twice, under different operators */
	return ncolumns == 1 && descriptor->natts == 1 &&
		TupleDescAttr(descriptor, 0)->attbyval;
}

RowSort *
row_sort_begin(TupleDesc descriptor, const SortColumn *columns, int ncolumns,
			   Size memory, double expected_rows, double bound,
			   bool random_access)
{
	RowSort    *sort = create_sort(descriptor, columns, ncolumns, bound,
								   random_access);
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	begin_progress(sort, expected_rows, true);
	sort->native_limit = memory;
	sort->keeps_values = row_sort_is_of_values(descriptor, ncolumns);
	begin_by_keys(sort, expected_rows);
	/* estimates are not so good that twice as many would be unexpected */
	if (bound != NO_BOUND && sort->status == TAKES_ROWS)
		external_sort_limit_rows(sort->external,
								 (uint64) Min((double) SORT_MAX_ROWS,
											  Max(2 * expected_rows,
												  FEW_ROWS_PART * (bound + 1))));
	MemoryContextSwitchTo(caller_context);
	return sort;
}

void
row_sort_limit_groups(RowSort *sort, GroupLimit *limit)
{
	MemoryContext caller_context;

	if (limit == NULL || sort->status != TAKES_ROWS)
		return;
	external_sort_limit_groups(sort->external, limit);
	caller_context = MemoryContextSwitchTo(sort->context);
	sort->thresholds = group_thresholds_begin(limit, sort->descriptor,
											  sort->columns, sort->ncolumns,
											  sort->external->expected_rows);
	MemoryContextSwitchTo(caller_context);
}

/* Returns whether a row need not be put; counts it if so. */
static pg_noinline bool
leaves_out(RowSort *sort, TupleTableSlot *slot)
{
	if (group_thresholds_leave_out(&sort->thresholds, slot))
	{
		external_sort_leave_out(sort->external);
		return true;
	}
	sort->external->other_bytes = group_thresholds_bytes(sort->thresholds);
	return false;
}

void
row_sort_keep_starts(RowSort *sort, int ncolumns)
{
	if (sort->status == TAKES_ROWS && !sort->keeps_values && ncolumns > 0)
		row_order_keep_starts(sort->external->order, ncolumns);
}

void
row_sort_mark_ties(RowSort *sort)
{
	if (sort->status == TAKES_ROWS && !sort->keeps_values)
		row_order_mark_ties(sort->external->order);
}

/*
 * Bytes of a value that a place is found for: the value, its key, and what a
 * sort would take, which begins if there are many places.
 */
#define SELECTED_BYTES		(3 * sizeof(uint64) + sizeof(HostSortEntry))

/*
 * Values may be many more than expected.  Then runs are written, earlier than
 * on a device.  So the expected values may take half of the memory.
 */
void
row_sort_want_places(RowSort *sort)
{
	if (sort->team != NULL)
		sort->fetches_places = true;
	else if (sort->status == TAKES_ROWS && sort->keeps_values &&
			 sort->external->expected_rows * SELECTED_BYTES * 2 <= sort->native_limit)
		row_order_want_places(sort->external->order);
}

/* Begins another sort in the place of one that has been emptied. */
static void
begin_again(RowSort *sort, double expected_rows)
{
	INSTR_TIME_SET_CURRENT(sort->started);
	sort->status = TAKES_NATIVELY;
	sort_progress_begin_again(sort->progress, expected_rows, false);
	sort_progress_set_device(sort->progress, "native");
}

RowSort *
row_sort_begin_few(RowSort **emptied, TupleDesc descriptor,
				   const SortColumn *columns, int ncolumns, Size memory,
				   double expected_rows, double bound, bool random_access)
{
	RowSort    *sort = *emptied;
	MemoryContext caller_context;

	*emptied = NULL;
	if (sort != NULL && sort->bound == bound &&
		sort->native_limit == memory)
	{
		begin_again(sort, expected_rows);
		return sort;
	}
	if (sort != NULL)
		row_sort_end(sort);

	sort = create_sort(descriptor, columns, ncolumns, bound, random_access);
	begin_progress(sort, expected_rows, false);
	caller_context = MemoryContextSwitchTo(sort->context);
	sort->of_few = true;
	sort->native_limit = memory;
	fall_back(sort, FEW_ROWS);
	MemoryContextSwitchTo(caller_context);
	return sort;
}

/* Falls back after rows could not be sorted by keys. */
static void
fall_back_without_keys(RowSort *sort)
{
	fall_back(sort, sort->external->order->memory > sort->external->limit ?
			  "the device was lost, and the memory for a sort is full" :
			  "its keys were misleading");
}

/*
 * Returns whether core's sort takes the rows, when memory is full.  Core has
 * room for a heap of the wanted rows when it has twice as many rows, and a row
 * takes up to twice the memory there.  Where files are limited, core decides
 * which rows need one.
 */
static bool
few_are_wanted(const RowSort *sort)
{
	double		times = temp_file_limit < 0 ? 4 : 1;

	return sort->bound != NO_BOUND && sort->external->runs == NULL &&
		sort->bound * times < sort->external->store->nrows;
}

/* Makes room for rows: spills the rows in the store, or falls back. */
static void
make_room(RowSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	if (few_are_wanted(sort))
		fall_back(sort, FEW_FIRST_ROWS);
	else if (!external_sort_spill(sort->external))
		fall_back_without_keys(sort);
	MemoryContextSwitchTo(caller_context);
}

/* Does what put_in_store() does, for a single value. */
static pg_noinline bool
put_value(RowSort *sort, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, 1, &isnull);

	if (isnull)
	{
		/*
		 * the next value may take long to come, and the progress is to go on
		 */
		if (unlikely(++sort->external->nnulls % PROGRESS_ROWS == 0))
			(void) external_sort_go_on(sort->external);
		return true;
	}
	return likely(external_sort_takes_row(sort->external) &&
				  row_store_add_value(sort->external->store, value,
									  external_sort_memory(sort->external))) &&
		external_sort_put_key(sort->external, slot);
}

/* Puts a row to be sorted by keys; false if there is no room. */
static inline bool
put_in_store(RowSort *sort, TupleTableSlot *slot)
{
	if (unlikely(sort->keeps_values))
		return put_value(sort, slot);
	return external_sort_put(sort->external, slot);
}

/*
 * Frees what tells where groups begin, when memory is full, so that no run is
 * written only because of that.  Then rows are compared.  Returns false if
 * there is nothing of that kind.
 */
static bool
free_starts(RowSort *sort)
{
	RowOrder   *order = sort->external->order;

	/* a limit of groups needs the same */
	if (order->group_keys == NULL || order->group_keys->nstart_columns == 0 ||
		order->limited)
		return false;
	row_order_keep_starts(order, 0);
	return true;
}

/* Puts a row into the sort by keys, or into the native sort. */
static inline void
put_row(RowSort *sort, TupleTableSlot *slot)
{
	if (likely(sort->status == TAKES_ROWS))
	{
		if (unlikely(sort->thresholds != NULL) && leaves_out(sort, slot))
			return;
		if (likely(put_in_store(sort, slot)) ||
			(free_starts(sort) && put_in_store(sort, slot)))
			return;
		make_room(sort);
	}
	if (sort->native != NULL)
		put_natively(sort, slot);
	else if (!put_in_store(sort, slot))
		elog(ERROR, "an empty row store has no room for a row");
}

void
row_sort_put(RowSort *sort, TupleTableSlot *slot)
{
	put_row(sort, slot);
}

uint64
row_sort_take(RowSort *sort, const InputRows *input)
{
	uint64		nrows = 0;
	uint64		taken;

	/* a native sort has nothing else to do between rows */
	while (sort->status == TAKES_ROWS)
	{
		TupleTableSlot *slot = input_rows_next(input);

		if (TupIsNull(slot))
			return nrows;
		put_row(sort, slot);
		nrows++;
	}
	do
	{
		taken = native_sort_take(sort->native, input, PROGRESS_ROWS);
		sort_progress_add(sort->progress, taken);
		nrows += taken;
	} while (taken == PROGRESS_ROWS);
	return nrows;
}

/* Returns how the last merge is done, unless one process compares keys. */
static const char *
describe_merge(const RowSort *sort)
{
	const ExternalSort *external = sort->external;
	int			nparts;

	if (sort->team == NULL)
		return sorted_runs_ordered(external->runs) ? " by gpusortd" : "";
	nparts = team_merged_parts(sort->team);
	if (nparts == 0)
		return "";
	return psprintf(" in %d %sparts", nparts,
					sort->work == WORK_SEND_PARTS ? "streamed " : "");
}

/*
 * Reports how the runs were merged; "method" sorted their rows.  If the rows
 * of each run came in order, the sort has cost nothing but the files.
 */
static void
report_runs(const RowSort *sort, const char *method, RowSortReport *report)
{
	bool		in_order = strcmp(method, METHOD_IN_ORDER) == 0;

	report->on_disk = true;
	snprintf(report->method, REPORT_TEXT_SIZE, "%s, merge of %d runs%s%s",
			 in_order ? "none, each run in order" : method,
			 sort->external->nruns, describe_merge(sort),
			 in_order ? " that more memory would spare" : "");
}

/* Fills the report of a sort by keys. */
static void
report_keys(RowSort *sort)
{
	const ExternalSort *external = sort->external;
	RowSortReport *report = &sort->report;

	report->nrows = external->nnulls + external->nrows;
	report->memory = external->memory;
	report->on_device = external->on_device;
	report->device_microseconds = external->device_microseconds;
	memcpy(report->device, external->device, REPORT_TEXT_SIZE);
	memcpy(report->method, external->method, REPORT_TEXT_SIZE);
	if (sort->status == IN_RUNS)
		report_runs(sort, external->method, report);
}

/* Sorts natively, after the last row. */
static void
sort_natively(RowSort *sort)
{
	sort_progress_enter(sort->progress, PROGRESS_SORTING);
	tuplesort_performsort(sort->native->state);
	sort_progress_enter(sort->progress, PROGRESS_EMITTING_ROWS);
	sort->source = &sort->native->source;
	sort->status = NATIVE;
}

/* Returns the rows in runs, without the NULLs that were only counted. */
static RowSource *
source_in_runs(const ExternalSort *external)
{
	ResultTape *tape = sorted_runs_result(external->runs);

	return tape != NULL ? row_source_of_tape(tape, external->progress) :
		row_source_of_reader(sorted_runs_reader(external->runs),
							 external->variant->of_values,
							 external->progress);
}

/* Returns how many of the counted NULLs are wanted. */
static uint64
wanted_nulls(const ExternalSort *external)
{
	return external->group_limit == NULL ? external->nnulls :
		group_limit_of_nulls(external->group_limit, external->nnulls);
}

/* Returns the rows that have been sorted by keys, wherever they are. */
static RowSource *
make_source(const RowSort *sort)
{
	const ExternalSort *external = sort->external;
	bool		nulls_first = sort->columns[0].nulls_first;

	if (sort->status == IN_RUNS)
	{
		RowSource  *rows = source_in_runs(external);

		return !sort->keeps_values ? rows :
			row_source_of_values_in_runs(rows, external->rows_in_runs,
										 wanted_nulls(external), nulls_first,
										 sort->progress);
	}
	return sort->keeps_values ?
		row_source_of_values(external->order, wanted_nulls(external),
							 nulls_first, sort->progress) :
		row_source_of_order(external->order, sort->descriptor, sort->progress);
}

/* Begins to emit rows that have been sorted by keys. */
static void
begin_emission(RowSort *sort, RowSource *source)
{
	report_keys(sort);
	sort->source = source;
	sort->progress->figures.emits = true;
	sort_progress_enter(sort->progress, PROGRESS_EMITTING_ROWS);
}

/* Adds a finished sort to the server's statistics. */
static void
count_sort(const RowSort *sort)
{
	if (sort->team != NULL)
		shared_count(STAT_SORTS_TOGETHER, 1);
	shared_count(STAT_SORT_WORKERS, sort->report.workers);
	shared_count(STAT_ROWS_LEFT_OUT, sort->report.left_out_rows);
	if (sort->status == NATIVE)
	{
		shared_count(STAT_SORTS_NATIVE, 1);
		return;
	}
	shared_count(sort->report.on_device ? STAT_SORTS_DEVICE : STAT_SORTS_HOST,
				 1);
	if (sort->status == IN_RUNS)
		shared_count(STAT_SORTS_SPILLED, 1);
	shared_count(STAT_ROWS, sort->report.nrows);
	shared_count(STAT_BYTES, sort->report.memory);
	shared_count(STAT_FILL_MICROSECONDS, sort->report.fill_microseconds);
	shared_count(STAT_SORT_MICROSECONDS, sort->report.sort_microseconds);
}

void
row_sort_perform(RowSort *sort)
{
	instr_time	start;
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	sort->report.fill_microseconds = microseconds_since(sort->started);
	INSTR_TIME_SET_CURRENT(start);
	sort->report.left_out_rows = sort->external->nleft_out;
	group_thresholds_end(&sort->thresholds);
	sort->external->other_bytes = 0;
	if (sort->status == TAKES_ROWS)
	{
		if (external_sort_perform(sort->external))
		{
			sort->status = sort->external->runs == NULL ? IN_MEMORY : IN_RUNS;
			begin_emission(sort, make_source(sort));
		}
		else
			fall_back_without_keys(sort);
	}
	if (sort->status == TAKES_NATIVELY)
		sort_natively(sort);
	sort->report.sort_microseconds = microseconds_since(start);
	count_sort(sort);
	MemoryContextSwitchTo(caller_context);
}

/* Sorts the rows of a team natively, when keys cannot sort them. */
static void
sort_team_natively(RowSort *sort)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(sort->descriptor,
													&TTSOpsMinimalTuple);
	uint64		nrows = 0;
	MinimalTuple row;

	begin_natively(sort, "some process has rows that are not sorted by keys");
	for (; (row = team_take_back(sort->team)) != NULL; nrows++)
		put_stored_natively(sort, row, slot);
	ExecDropSingleTupleTableSlot(slot);
	sort_progress_add(sort->progress, nrows);
	sort_natively(sort);
}

RowSort *
row_sort_of_team(Team *team, bool in_slices)
{
	const TeamRows *rows = team_rows(team);
	bool		by_keys = team_order(team, in_slices);
	RowSort    *sort = create_sort(rows->descriptor, rows->columns,
								   rows->ncolumns, rows->bound, false);

	sort->team = team;
	sort->native_limit = team_kept_bytes(team);
	sort->external = team_sort(team);
	sort->progress = sort->external->progress;
	if (!by_keys)
		sort->status = TAKES_NATIVELY;
	else
		sort->status = team_has_runs(team) ? IN_RUNS : IN_MEMORY;
	return sort;
}

/*
 * Returns whether all rows can be emitted as values, and are likely to be
 * emitted.
 */
static bool
can_take_values(const RowSort *sort)
{
	return row_sort_is_of_values(sort->descriptor, sort->ncolumns) &&
		sort->bound == NO_BOUND && !sort->fetches_places &&
		sort->status == IN_MEMORY && !sort->external->order->limited;
}

/* Adds the team's report. */
static void
report_team(RowSort *sort)
{
	TeamReport	report = team_report(sort->team);

	sort->report.workers = report.workers;
	sort->report.kept_rows = report.kept_rows;
	sort->report.left_out_rows = report.left_out_rows;
	sort->report.fill_microseconds = report.fill_microseconds;
	sort->report.sort_microseconds = report.sort_microseconds +
		microseconds_since(sort->started);
}

TeamWork
row_sort_prepare(RowSort *sort, TeamWork wish)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	if (sort->status == TAKES_NATIVELY || sort->bound != NO_BOUND ||
		(wish != WORK_EMIT_PARTS && can_take_values(sort)))
		wish = WORK_NONE;
	sort->work = team_prepare(sort->team, wish);
	if (sort->status != TAKES_NATIVELY)
		report_keys(sort);
	report_team(sort);
	MemoryContextSwitchTo(caller_context);
	return sort->work;
}

/* Returns the values of rows of one by-value column, all of them in memory. */
static RowSource *
take_values(RowSort *sort)
{
	bool		nulls_first = sort->columns[0].nulls_first;
	RowOrder   *order = sort->external->order;
	uint64		nnulls = row_order_take_values(order, nulls_first);

	return row_source_of_values(order, nnulls, nulls_first, sort->progress);
}

/* Returns the rows that a team has sorted by keys. */
static RowSource *
source_of_team(RowSort *sort)
{
	RowReader  *rows = team_rows_in_order(sort->team);

	if (rows != NULL)
		return row_source_of_reader(rows, false, sort->progress);
	return can_take_values(sort) ? take_values(sort) : make_source(sort);
}

void
row_sort_announce(RowSort *sort)
{
	MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

	team_announce(sort->team);
	if (sort->status == TAKES_NATIVELY)
		sort_team_natively(sort);
	else if (sort->work != WORK_EMIT_PARTS)
		begin_emission(sort, source_of_team(sort));
	report_team(sort);
	count_sort(sort);
	MemoryContextSwitchTo(caller_context);
}

bool
row_sort_get(RowSort *sort, bool forward, TupleTableSlot *slot)
{
	return sort->source->methods->get(sort->source, forward, slot);
}

void
row_sort_skip(RowSort *sort, uint64 nrows)
{
	sort->source->methods->skip(sort->source, nrows);
}

RowOrder *
row_sort_order(const RowSort *sort)
{
	return sort->status == IN_MEMORY && !sort->keeps_values &&
		sort->team == NULL ? sort->external->order : NULL;
}

void
row_sort_show_emitted(RowSort *sort, uint64 nrows)
{
	if (nrows > sort->progress->figures.rows_emitted)
		sort_progress_emitted(sort->progress, nrows);
}

bool
row_sort_count_groups(const RowSort *sort, uint64 *ngroups)
{
	const RowOrder *order = sort->external->order;

	if (sort->status != IN_MEMORY ||
		(order->nentries > 0 && !order->limited_exactly))
		return false;
	*ngroups = order->nentries + wanted_nulls(sort->external);
	return true;
}

bool
row_sort_suffices(const RowSort *sort, double bound)
{
	/* rows that are sorted by keys are all kept */
	return sort->native == NULL || sort->bound == NO_BOUND ||
		(bound != NO_BOUND && bound <= sort->bound);
}

void
row_sort_rescan(RowSort *sort)
{
	sort->source->methods->rescan(sort->source);
}

void
row_sort_mark(RowSort *sort)
{
	sort->source->methods->mark(sort->source);
}

void
row_sort_restore(RowSort *sort)
{
	sort->source->methods->restore(sort->source);
}

void
row_sort_report(RowSort *sort, RowSortReport *report)
{
	*report = sort->report;
	if (sort->native != NULL)
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
	if (sort->native != NULL)
		tuplesort_end(sort->native->state);
	if (sort->team == NULL)
		external_sort_end(sort->external);
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
