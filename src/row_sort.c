/*-------------------------------------------------------------------------
 *
 * row_sort.c
 *	  Sorting rows: put them, sort, get them in order.
 *
 * A row that is put goes two ways.  The row itself is copied to the row store
 * and stays there; its key is made and pushed to the sort job, which may be
 * in another process and on a device.  What comes back is an order, a list of
 * row numbers, and rows are handed out by looking them up in the store.
 *
 *		slot --+-- row_store.c ---------------------+--> slot
 *		       |                                    |
 *		       +-- sort_keys.c --> sort_job.c --> order
 *
 * Since the rows are here, the keys can be made again at any time.  That is
 * done when a row does not fit the layout of the keys so far, and when the
 * device is lost.
 *
 * The whole order is fetched before the first row is handed out.  That costs
 * under a nanosecond a row, frees the device for others while this query
 * takes its time, and means that a lost device never finds a result half
 * delivered, when sorting anew could bring equal keys in another order.
 *
 * When the rows exceed the memory setting they are handed to core's tuplesort
 * one by one, the store shrinking as they go, and the sort goes on natively.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

#include "row_compare.h"
#include "row_sort.h"
#include "row_store.h"
#include "settings.h"
#include "shared_state.h"
#include "sort_job.h"

/* How far ahead of the row handed out others are fetched into the cache. */
#define PREFETCH_PLACE		32
#define PREFETCH_ROW		16

struct RowSort
{
	MemoryContext context;		/* holds everything below */
	TupleDesc	descriptor;
	SortColumn *columns;
	int			ncolumns;
	double		expected_rows;
	bool		random_access;
	Size		limit;			/* bytes */

	/* while rows are put; with "tuplesort" set the sort is native */
	RowStore   *store;
	SortKeys   *keys;
	SortJob    *job;
	TupleTableSlot *slot;		/* for rows of the store */
	Tuplesortstate *tuplesort;

	/* when sorted, and not native */
	uint32	   *order;
	uint64		next;			/* entry of the order to be handed out next */
	bool		at_end;			/* someone has tried to go past the end */
	uint64		marked_next;
	bool		marked_at_end;
	RowComparator *comparator;	/* made on first use */

	instr_time	started;
	RowSortReport report;
};

/*
 * Hands the sort over to core's tuplesort, with the rows put so far.
 */
static void
go_native(RowSort *sort)
{
	AttrNumber *attnos = palloc(sort->ncolumns * sizeof(AttrNumber));
	Oid		   *operators = palloc(sort->ncolumns * sizeof(Oid));
	Oid		   *collations = palloc(sort->ncolumns * sizeof(Oid));
	bool	   *nulls_first = palloc(sort->ncolumns * sizeof(bool));

	for (int i = 0; i < sort->ncolumns; i++)
	{
		attnos[i] = sort->columns[i].attno;
		operators[i] = sort->columns[i].sort_operator;
		collations[i] = sort->columns[i].collation;
		nulls_first[i] = sort->columns[i].nulls_first;
	}
	sort->tuplesort =
		tuplesort_begin_heap(sort->descriptor, sort->ncolumns, attnos,
							 operators, collations, nulls_first,
							 sort->limit / 1024, NULL,
							 sort->random_access ? TUPLESORT_RANDOMACCESS : TUPLESORT_NONE);

	if (sort->job != NULL)
		sort_job_end(sort->job);
	sort->job = NULL;
	if (sort->store == NULL)
		return;
	for (uint64 row = 0; row < sort->store->nrows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		row_store_forget_before(sort->store, row);
		ExecStoreMinimalTuple(row_store_get(sort->store, row), sort->slot,
							  false);
		tuplesort_puttupleslot(sort->tuplesort, sort->slot);
	}
	ExecClearTuple(sort->slot);
	row_store_free(sort->store);
	sort->store = NULL;
}

RowSort *
row_sort_begin(TupleDesc descriptor, SortColumn *columns, int ncolumns,
			   double expected_rows, bool random_access)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(context);
	RowSort    *sort = palloc0(sizeof(RowSort));

	INSTR_TIME_SET_CURRENT(sort->started);
	sort->context = context;
	sort->descriptor = descriptor;
	sort->columns = columns;
	sort->ncolumns = ncolumns;
	sort->expected_rows = expected_rows;
	sort->random_access = random_access;
	sort->limit = gpusort_memory_limit();

	/* the plan may be older than a change of the setting */
	if (!gpusort_enable || !gpusort_enable_sort)
		go_native(sort);
	else
	{
		sort->store = row_store_create(descriptor, sort->limit);
		sort->keys = sort_keys_create(descriptor, columns, ncolumns);
		sort->job = sort_job_begin(&sort->keys->shape, expected_rows, false);
		sort->slot = MakeSingleTupleTableSlot(descriptor,
											  &TTSOpsMinimalTuple);
	}
	MemoryContextSwitchTo(caller_context);
	return sort;
}

/* What became of a row's key. */
typedef enum KeyOutcome
{
	KEY_ADDED,
	KEY_DOES_NOT_FIT,			/* the tight layout, or those so far */
	KEY_JOB_LOST				/* with the device */
} KeyOutcome;

static inline KeyOutcome
add_key(RowSort *sort, TupleTableSlot *slot)
{
	uint64_t   *space = sort_job_space(sort->job);
	int			nwords;

	if (unlikely(space == NULL))
		return KEY_JOB_LOST;
	nwords = sort_keys_encode(sort->keys, slot, space);
	if (unlikely(nwords == 0))
		return KEY_DOES_NOT_FIT;
	sort_job_add(sort->job, nwords);
	return KEY_ADDED;
}

/* Makes the key of a row that is in the store. */
static KeyOutcome
add_key_again(RowSort *sort, uint32 row)
{
	ExecStoreMinimalTuple(row_store_get(sort->store, row), sort->slot, false);
	return add_key(sort, sort->slot);
}

/*
 * Begins the job anew, with the keys of all rows in the store: in the loose
 * layout if some key does not fit, in this process if the device was lost.
 */
static void
make_keys_again(RowSort *sort, KeyOutcome outcome)
{
	bool		host_only = sort->job->host_only;
	uint64		row = 0;

	while (outcome != KEY_ADDED)
	{
		if (outcome == KEY_DOES_NOT_FIT)
			sort_keys_loosen(sort->keys);
		else
			host_only = true;

		sort_job_end(sort->job);
		sort->job = NULL;
		sort->job = sort_job_begin(&sort->keys->shape,
								   Max(sort->expected_rows, sort->store->nrows),
								   host_only);
		outcome = KEY_ADDED;
		for (row = 0; row < sort->store->nrows && outcome == KEY_ADDED; row++)
		{
			CHECK_FOR_INTERRUPTS();
			outcome = add_key_again(sort, row);
		}
	}
	ExecClearTuple(sort->slot);
}

void
row_sort_put(RowSort *sort, TupleTableSlot *slot)
{
	MemoryContext caller_context;

	if (sort->tuplesort != NULL)
	{
		tuplesort_puttupleslot(sort->tuplesort, slot);
		return;
	}

	caller_context = MemoryContextSwitchTo(sort->context);
	if (likely(sort->store->nrows < SORT_MAX_ROWS &&
			   row_store_add(sort->store, slot, sort_job_memory(sort->job))))
	{
		KeyOutcome	outcome = add_key(sort, slot);

		if (unlikely(outcome != KEY_ADDED))
			make_keys_again(sort, outcome);
	}
	else
	{
		go_native(sort);
		tuplesort_puttupleslot(sort->tuplesort, slot);
	}
	MemoryContextSwitchTo(caller_context);
}

static const RowComparator *
get_comparator(RowSort *sort)
{
	if (sort->comparator == NULL)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(sort->context);

		sort->comparator = row_comparator_create(sort->descriptor,
												 sort->columns,
												 sort->ncolumns);
		MemoryContextSwitchTo(caller_context);
	}
	return sort->comparator;
}

/*
 * Runs the job; if the device is lost, once more in this process.  The order
 * is left unset if that takes more memory than the setting allows.
 */
static void
run_job(RowSort *sort)
{
	sort->order = sort_job_run(sort->job);
	if (sort->order == NULL)
		make_keys_again(sort, KEY_JOB_LOST);
	sort->report.memory = sort->store->memory + sort_job_memory(sort->job);
	if (sort->order == NULL && sort->report.memory <= sort->limit)
		sort->order = sort_job_run(sort->job);
}

/* Raises an error unless the order has every row once. */
static void
verify_permutation(RowSort *sort)
{
	uint64		nrows = sort->store->nrows;
	Size		bytes = nrows / 8 + 1;
	uint8	   *seen = MemoryContextAllocHuge(CurrentMemoryContext, bytes);

	memset(seen, 0, bytes);
	for (uint64 i = 0; i < nrows; i++)
	{
		uint32		row = ORDER_ROW(sort->order[i]);
		uint8		bit = 1 << (row % 8);

		if (row >= nrows || (seen[row / 8] & bit) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("gpusort: the order is not a permutation of the rows"),
					 errdetail("Entry " UINT64_FORMAT " of " UINT64_FORMAT " is row %u.",
							   i, nrows, row)));
		seen[row / 8] |= bit;
	}
	pfree(seen);
}

/* Raises an error if the row of this entry sorts before the previous one's. */
static void
verify_entry(RowSort *sort, uint64 entry)
{
	if (entry > 0 &&
		row_compare(get_comparator(sort),
					row_store_get(sort->store, sort->order[entry - 1]),
					row_store_get(sort->store, sort->order[entry])) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("gpusort: rows are out of order"),
				 errdetail("Entry " UINT64_FORMAT " of the order, row %u, sorts before the one ahead of it, row %u.",
						   entry, sort->order[entry], sort->order[entry - 1])));
}

/* Makes the order from the keys. */
static void
sort_by_keys(RowSort *sort)
{
	run_job(sort);
	if (sort->order == NULL)
	{
		go_native(sort);
		return;
	}
	if (gpusort_verify)
		verify_permutation(sort);
	if (!sort_keys_exact(sort->keys))
		row_settle_ties(get_comparator(sort), sort->store, sort->order,
						sort->store->nrows);
	else if (sort->keys->shape.mark_ties)
		row_accept_ties(sort->order, sort->store->nrows);

	sort->report.nrows = sort->store->nrows;
	sort->report.method = pstrdup(sort->job->method);
	sort->report.device = pstrdup(sort->job->device);
	sort->report.on_device = sort->job->on_device;
	sort->report.device_microseconds = sort->job->device_microseconds;
	sort_job_end(sort->job);
	sort->job = NULL;
}

static uint64
microseconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MICROSEC(now);
}

/* Adds a finished sort to the server's statistics. */
static void
count_sort(const RowSort *sort)
{
	if (sort->tuplesort != NULL)
	{
		shared_count(STAT_SORTS_NATIVE, 1);
		return;
	}
	shared_count(sort->report.on_device ? STAT_SORTS_DEVICE : STAT_SORTS_HOST,
				 1);
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
	if (sort->tuplesort == NULL)
		sort_by_keys(sort);
	if (sort->tuplesort != NULL)
		tuplesort_performsort(sort->tuplesort);
	sort->report.sort_microseconds = microseconds_since(start);
	count_sort(sort);
	MemoryContextSwitchTo(caller_context);
}

/*
 * Moves on to the next entry; false at the end.
 *
 * The order jumps about in memory, so what later entries need is fetched into
 * the cache ahead of them.  That is not in a function of its own because gcc
 * takes one that only prefetches for one without effect, and drops the call.
 */
static inline bool
step_forward(RowSort *sort, uint64 *entry)
{
	const RowStore *store = sort->store;

	if (sort->next >= store->nrows)
	{
		sort->at_end = true;
		return false;
	}
	*entry = sort->next++;
	if (likely(*entry + PREFETCH_PLACE < store->nrows))
	{
		const char *row = (const char *)
			row_store_get(store, sort->order[*entry + PREFETCH_ROW]);

		__builtin_prefetch(row_store_place(store, sort->order[*entry + PREFETCH_PLACE]));
		__builtin_prefetch(row);
		__builtin_prefetch(row + 64);
	}
	return true;
}

/*
 * Moves back to the entry before the one handed out last, or to the last one
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

bool
row_sort_get(RowSort *sort, bool forward, TupleTableSlot *slot)
{
	uint64		entry;

	if (sort->tuplesort != NULL)
		return tuplesort_gettupleslot(sort->tuplesort, forward, false, slot,
									  NULL);

	if (!(forward ? step_forward(sort, &entry) : step_backward(sort, &entry)))
	{
		ExecClearTuple(slot);
		return false;
	}
	if (unlikely(gpusort_verify))
		verify_entry(sort, entry);
	ExecStoreMinimalTuple(row_store_get(sort->store, sort->order[entry]),
						  slot, false);
	return true;
}

void
row_sort_rescan(RowSort *sort)
{
	if (sort->tuplesort != NULL)
	{
		tuplesort_rescan(sort->tuplesort);
		return;
	}
	sort->next = 0;
	sort->at_end = false;
	sort->marked_next = 0;
	sort->marked_at_end = false;
}

void
row_sort_mark(RowSort *sort)
{
	if (sort->tuplesort != NULL)
	{
		tuplesort_markpos(sort->tuplesort);
		return;
	}
	sort->marked_next = sort->next;
	sort->marked_at_end = sort->at_end;
}

void
row_sort_restore(RowSort *sort)
{
	if (sort->tuplesort != NULL)
	{
		tuplesort_restorepos(sort->tuplesort);
		return;
	}
	sort->next = sort->marked_next;
	sort->at_end = sort->marked_at_end;
}

void
row_sort_report(RowSort *sort, RowSortReport *report)
{
	*report = sort->report;
	if (sort->tuplesort != NULL)
	{
		TuplesortInstrumentation core;

		tuplesort_get_stats(sort->tuplesort, &core);
		report->method = psprintf("%s (native)",
								  tuplesort_method_name(core.sortMethod));
		report->device = NULL;
		report->memory = core.spaceUsed * (Size) 1024;
		report->on_disk = core.spaceType == SORT_SPACE_TYPE_DISK;
	}
}

void
row_sort_end(RowSort *sort)
{
	if (sort->tuplesort != NULL)
		tuplesort_end(sort->tuplesort);
	if (sort->slot != NULL)
		ExecDropSingleTupleTableSlot(sort->slot);
	MemoryContextDelete(sort->context);
}
