/*-------------------------------------------------------------------------
 *
 * row_order.c
 *	  The order of the rows of a store, by their sort columns.
 *
 * The key of each row is made when the row comes, and goes to the sort job,
 * which may be in another process and on a device.  The job returns an order,
 * a list of row numbers.
 *
 * Since the rows are in the store, the keys can be made again at any time.
 * That happens when a row does not fit the layout of the keys so far, and when
 * the device is lost.
 *
 * To make and sort a key takes longer than a comparison.  So no keys are made
 * as long as the rows come in order.  If all rows come in order, nothing is
 * left to sort.  Otherwise not much is lost, and nothing if rows come in
 * random order.  If there is no room for the keys when a row comes out of
 * order, the rows so far become a run of their own.
 *
 * The whole order is fetched before the first row is looked up.  That costs
 * under a nanosecond a row, and frees the device for others while the rows are
 * emitted.  And no device can be lost when half of the rows are emitted, where
 * a new sort could bring equal keys in another order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "port/compat.h"
#include "settings.h"
#include "sort/row_order.h"
#include "sort/row_ties.h"

RowOrder *
row_order_begin(RowStore *store, TupleDesc descriptor,
				RowColumnFunction column, const SortColumn *columns, int ncolumns,
				double expected_rows)
{
	SortKeys   *keys = sort_keys_create(descriptor, columns, ncolumns);
	RowOrder   *order;

	if (keys == NULL)
		return NULL;
	order = palloc0(sizeof(RowOrder));
	order->context = CurrentMemoryContext;
	order->store = store;
	order->descriptor = descriptor;
	order->column = column;
	order->columns = columns;
	order->ncolumns = ncolumns;
	order->expected_rows = expected_rows;
	order->keys = keys;
	order->job = sort_job_begin(&order->keys->shape, expected_rows, false);
	return order;
}

void
row_order_leave_device(RowOrder *order)
{
	order->host_only = true;
	sort_job_stay(order->job);
}

/* Keeps group keys in the present layout, and returns them. */
static GroupKeys *
need_group_keys(RowOrder *order)
{
	if (order->group_keys == NULL)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(order->context);

		order->group_keys = group_keys_create();
		MemoryContextSwitchTo(caller_context);
	}
	return order->group_keys;
}

void
row_order_keep_groups(RowOrder *order, int ngroup_columns, int npeer_columns)
{
	GroupKeys  *keys = need_group_keys(order);

	keys->ngroup_columns = ngroup_columns;
	keys->npeer_columns = npeer_columns;
	group_keys_restart(keys, order->keys);
}

void
row_order_keep_starts(RowOrder *order, int ncolumns)
{
	GroupKeys  *keys = need_group_keys(order);

	keys->nstart_columns = ncolumns;
	group_keys_restart(keys, order->keys);
}

void
row_order_mark_ties(RowOrder *order)
{
	sort_keys_mark_ties(order->keys);
	sort_job_restart(order->job, &order->keys->shape, order->host_only);
}

void
row_order_want_places(RowOrder *order)
{
	order->selects = true;
	row_order_leave_device(order);
}

/* Drops the group keys of all rows, as keys are made anew. */
static void
restart_group_keys(RowOrder *order)
{
	if (order->group_keys != NULL)
		group_keys_restart(order->group_keys, order->keys);
}

bool
row_order_share(RowOrder *order)
{
	order->shared = true;
	return sort_keys_share(order->keys);
}

void
row_order_set_layout(RowOrder *order, SharedLayout *layout)
{
	order->layout = layout;
}

void
row_order_drop_keys(RowOrder *order)
{
	if (order->job != NULL)
	{
		order->host_only |= order->job->device_failed &&
			!order->job->may_start_over;
		sort_job_end(order->job);
	}
	order->job = NULL;
}

/* Frees the order that has been made, if there is one. */
static void
free_entries(RowOrder *order)
{
	if (order->entries != NULL)
		order_room_free(order->room, order->entries);
	order->entries = NULL;
}

void
row_order_restart(RowOrder *order, RowStore *store)
{
	MemoryContext caller_context = MemoryContextSwitchTo(order->context);

	Assert(store->nrows == 0);
	order->store = store;
	order->keys_lost = false;
	free_entries(order);
	if (order->selection != NULL)
		rank_selection_end(order->selection);
	order->selection = NULL;
	/* there will be several orders, which are merged */
	if (order->selects)
		order->host_only = false;
	order->selects = false;
	order->in_order = false;
	order->started_over = false;
	restart_group_keys(order);
	if (order->job != NULL && order->job->device_failed)
		row_order_drop_keys(order);
	if (order->job != NULL)
		sort_job_restart(order->job, &order->keys->shape, order->host_only);
	else
		order->job = sort_job_begin(&order->keys->shape, order->expected_rows,
									order->host_only);
	MemoryContextSwitchTo(caller_context);
}

/* The outcome of making a row's key. */
typedef enum KeyOutcome
{
	KEY_ADDED,
	KEY_DOES_NOT_FIT,			/* the compact layout, or the keys so far */
	KEY_LAYOUT_CHANGED,			/* by another process */
	KEY_JOB_LOST,				/* with the device */
	KEY_NOT_MADE				/* while rows came in order */
} KeyOutcome;

void
row_order_close_sink(RowOrder *order)
{
	KeySink    *sink = order->sink;

	order->sink = NULL;
	if (sink != NULL)
		sink->close(sink);
}

/* Makes the key of a row; inline, since it is called for each row. */
static pg_attribute_always_inline KeyOutcome
add_key(RowOrder *order, TupleTableSlot *slot)
{
	uint64_t   *space = sort_job_space(order->job);
	int			nwords;

	if (unlikely(space == NULL))
		return KEY_JOB_LOST;
	nwords = sort_keys_encode(order->keys, slot, space);
	if (unlikely(nwords == 0))
		return KEY_DOES_NOT_FIT;
	sort_job_add(order->job, nwords);
	if (unlikely(order->group_keys != NULL))
		group_keys_add(order->group_keys, space);
	if (unlikely(order->sink != NULL) &&
		!order->sink->take(order->sink, space, nwords))
		row_order_close_sink(order);
	return KEY_ADDED;
}

/*
 * Returns a virtual slot with the columns of a stored row that make its key.
 */
static TupleTableSlot *
load_slot(RowOrder *order, const void *row)
{
	TupleTableSlot *slot = order->slot;

	if (slot == NULL)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(order->context);

		slot = MakeSingleTupleTableSlot(order->descriptor, &TTSOpsVirtual);
		/* only columns that are set below are looked at */
		ExecStoreAllNullTuple(slot);
		order->slot = slot;
		MemoryContextSwitchTo(caller_context);
	}
	for (int i = 0; i < order->keys->nencoded; i++)
	{
		AttrNumber	attno = order->columns[i].attno;

		slot->tts_values[attno - 1] =
			order->column(row, attno, order->descriptor,
						  &slot->tts_isnull[attno - 1]);
	}
	return slot;
}

/* Makes the key of a row that is in the store. */
static KeyOutcome
add_key_again(RowOrder *order, uint32 row)
{
	return add_key(order, load_slot(order, row_store_get(order->store, row)));
}

/*
 * Is there room for the keys of the stored rows, and for the entries of a sort
 * in this process?  Expects keys that are not much longer than those so far.
 */
static bool
has_room_for_keys(const RowOrder *order)
{
	const SortJob *job = order->job;
	uint64		nrows = order->store->nrows;
	uint64		key_words = job->shape.fixed_words;

	/* with the end of each key; most of a row may be its key */
	if (key_words == 0)
		key_words = 2 + (sort_job_nrows(job) == 0 ?
						 Min(row_store_row_bytes(order->store) / sizeof(uint64_t),
							 KEY_MAX_WORDS) :
						 (job->pushed_words + job->batch.nwords) /
						 sort_job_nrows(job));
	if (order->group_keys != NULL)
		key_words += order->group_keys->nwords;
	return row_store_make_room(order->store,
							   nrows * (key_words * sizeof(uint64_t) * 9 / 8 +
										sizeof(HostSortEntry)));
}

void
row_order_change_layout(RowOrder *order)
{
	if (order->layout == NULL)
	{
		sort_keys_change_layout(order->keys);
		return;
	}
	sort_keys_propose(order->keys, order->layout);
	(void) sort_keys_adopt(order->keys, order->layout);
}

/*
 * Begins the job anew, with the keys of all rows in the store.  The keys are
 * in another layout if some key does not fit.  The job is in this process if
 * the device was lost; if another device may do the job, that is tried first,
 * but only once.  If there is no room for the keys in this process, makes
 * none, and sets keys_lost.
 */
static void
make_keys_again(RowOrder *order, KeyOutcome outcome)
{
	MemoryContext caller_context = MemoryContextSwitchTo(order->context);
	bool		host_only = order->job->state == JOB_HERE;

	/* else the sink would get some keys twice, or in another layout */
	row_order_close_sink(order);
	while (outcome != KEY_ADDED)
	{
		if (outcome == KEY_DOES_NOT_FIT)
			row_order_change_layout(order);
		else if (outcome == KEY_JOB_LOST)
		{
			host_only = order->started_over || !order->job->may_start_over;
			order->started_over = true;
			order->host_only |= host_only;
			order->keys_lost = host_only && !has_room_for_keys(order);
		}

		row_order_drop_keys(order);
		restart_group_keys(order);
		order->job = sort_job_begin(&order->keys->shape,
									Max(order->expected_rows,
										order->store->nrows),
									host_only);
		outcome = KEY_ADDED;
		if (order->keys_lost)
			break;
		for (uint64 row = 0;
			 row < order->store->nrows && outcome == KEY_ADDED; row++)
		{
			CHECK_FOR_INTERRUPTS();
			outcome = add_key_again(order, row);
		}
	}
	MemoryContextSwitchTo(caller_context);
}

static const RowComparator *
get_comparator(RowOrder *order)
{
	if (order->comparator == NULL)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(order->context);

		order->comparator = row_comparator_create(order->descriptor,
												  order->column,
												  order->columns,
												  order->ncolumns);
		MemoryContextSwitchTo(caller_context);
	}
	return order->comparator;
}

int
row_order_encode(RowOrder *order, const void *row, uint64_t *words)
{
	return sort_keys_encode(order->keys, load_slot(order, row), words);
}

void
row_order_open_sink(RowOrder *order, KeySink *sink)
{
	const RowStore *store = order->store;
	uint64_t	words[KEY_MAX_WORDS];

	order->sink = sink;
	for (uint64 row = 0; row < store->nrows && order->sink != NULL; row++)
	{
		int			nwords = row_order_encode(order, row_store_get(store, row),
											  words);

		/* rows that came in order had no keys yet */
		if (nwords == 0)
			row_order_change_layout(order);
		if (nwords == 0 || !sink->take(sink, words, nwords))
			row_order_close_sink(order);
	}
}

int
row_order_compare(RowOrder *order, const void *a, const void *b)
{
	return row_compare(get_comparator(order), a, b);
}

/*
 * The first sort column of the row that came last, valid as long as the row is
 * stored.
 */
static inline Datum
first_column(const RowOrder *order, const TupleTableSlot *slot,
			 const void *row, bool *isnull)
{
	AttrNumber	attno = order->columns[0].attno;

	if (slot->tts_nvalid < attno ||
		!TupleDescCompactAttr(order->descriptor, attno - 1)->attbyval)
		return order->column(row, attno, order->descriptor, isnull);
	*isnull = slot->tts_isnull[attno - 1];
	return slot->tts_values[attno - 1];
}

/*
 * Does the last row sort before the row ahead of it, of which the first column
 * is known?  Mostly the first column tells.
 */
static inline bool
sorts_before_last(const RowOrder *order, const void *row, Datum value,
				  bool isnull)
{
	const RowStore *store = order->store;
	const RowComparator *comparator = order->comparator;
	int			comparison = ApplySortComparator(order->last_value,
												 order->last_isnull,
												 value, isnull,
												 &comparator->columns[0]);

	if (comparison == 0)
		comparison = row_compare_from(comparator, 1,
									  row_store_get(store, store->nrows - 2),
									  row);
	return comparison > 0;
}

/*
 * Is the last row in order?  If it is not, it may be taken back from the store,
 * so the row ahead of it stays the last one.
 */
static bool
came_in_order(RowOrder *order, const TupleTableSlot *slot)
{
	const void *row = row_store_get(order->store, order->store->nrows - 1);
	bool		isnull;
	Datum		value = first_column(order, slot, row, &isnull);

	(void) get_comparator(order);
	if (order->store->nrows > 1 &&
		sorts_before_last(order, row, value, isnull))
		return false;
	order->last_value = value;
	order->last_isnull = isnull;
	return true;
}

bool
row_order_add(RowOrder *order, TupleTableSlot *slot)
{
	KeyOutcome	outcome;

	/* after the loss of a device, rows may come here from another store */
	if (unlikely(order->store->nrows == 1))
		order->in_order = !order->shared && !order->host_only &&
			order->sink == NULL;
	if (order->in_order)
	{
		if (likely(came_in_order(order, slot)))
			return true;
		if (!has_room_for_keys(order))
			return false;
		order->in_order = false;
		outcome = KEY_NOT_MADE;
	}
	else
		outcome = add_key(order, slot);
	if (unlikely(outcome != KEY_ADDED))
		make_keys_again(order, outcome);
	return true;
}

/* Adds the first words of these keys to what tells groups apart. */
static void
add_group_keys(GroupKeys *group_keys, const uint64_t *words,
			   const uint8 *key_words, uint32 nkeys)
{
	for (uint32 i = 0; i < nkeys; i++)
	{
		group_keys_add(group_keys, words);
		words += key_words[i];
	}
}

void
row_order_add_keys(RowOrder *order, const uint64_t *words,
				   const uint8 *key_words, uint32 nkeys)
{
	if (unlikely(!sort_job_add_all(order->job, words, key_words, nkeys)))
		make_keys_again(order, KEY_JOB_LOST);
	else if (unlikely(order->group_keys != NULL))
		add_group_keys(order->group_keys, words, key_words, nkeys);
}

void
row_order_add_stored(RowOrder *order, uint32 nrows)
{
	KeyOutcome	outcome = KEY_ADDED;

	for (uint64 row = order->store->nrows - nrows;
		 row < order->store->nrows && outcome == KEY_ADDED; row++)
		outcome = add_key_again(order, row);
	if (unlikely(outcome != KEY_ADDED))
		make_keys_again(order, outcome);
}

void
row_order_adopt_layout(RowOrder *order)
{
	if (order->layout != NULL &&
		unlikely(sort_keys_adopt(order->keys, order->layout)))
		make_keys_again(order, KEY_LAYOUT_CHANGED);
}

/*
 * Runs the job.  If the device is lost, runs it once more on another device or
 * in this process.  Returns false if that takes more memory than the limit
 * allows.
 */
static bool
perform_job(RowOrder *order, Size limit)
{
	do
	{
		order->entries = sort_job_perform(order->job, order->room);
		if (order->entries == NULL)
			make_keys_again(order, KEY_JOB_LOST);
		order->memory = order->store->memory + row_order_memory(order);
	} while (order->entries == NULL && order->memory <= limit);
	return order->entries != NULL;
}

/* Notes how rows are emitted in order for which no job has run. */
static void
note_without_job(RowOrder *order, const char *method)
{
	strlcpy(order->method, method, sizeof(order->method));
	strlcpy(order->device, "host", sizeof(order->device));
	order->on_device = false;
	order->device_microseconds = 0;
}

/*
 * Makes the order of rows that came in order.  False as perform_job(), except
 * that a single row may be larger than the limit.
 */
static bool
keep_order(RowOrder *order, Size limit)
{
	uint64		nrows = order->store->nrows;
	Size		bytes = nrows * sizeof(uint32);

	order->memory = order->store->memory + bytes;
	if (order->memory > limit && nrows > 1)
		return false;
	order->entries = order_room_allocate(order->room, nrows);
	for (uint64 row = 0; row < nrows; row++)
		order->entries[row] = row;
	note_without_job(order, METHOD_IN_ORDER);
	return true;
}

/* Raises an error unless the order has every row once. */
static void
verify_permutation(const RowOrder *order)
{
	uint64		nrows = order->store->nrows;
	Size		bytes = nrows / 8 + 1;
	uint8	   *seen = MemoryContextAllocHuge(CurrentMemoryContext, bytes);

	memset(seen, 0, bytes);
	for (uint64 i = 0; i < nrows; i++)
	{
		uint32		row = ORDER_ROW(order->entries[i]);
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

/*
 * The order jumps about in memory.  Many rows are prefetched at once, not one
 * later row at each row's turn.  This is the group prefetching of Chen,
 * Ailamaki, Gibbons and Mowry, "Improving Hash Join Performance through
 * Prefetching" (section 4).  If rows have more pages than the TLB, a fetch
 * holds up what comes after it until the page has been found.  Many of these
 * searches overlap only in a loop that does nothing else.
 */
void
row_order_prefetch(const RowOrder *order, PrefetchedRows *prefetched,
				   uint64 entry, Size bytes)
{
	const RowStore *store = order->store;
	uint64		count = Min(PREFETCHED_ROWS, order->nentries - entry);

	for (uint64 i = 0; i < count; i++)
	{
		char	   *row = row_store_get(store,
										ORDER_ROW(order->entries[entry + i]));

		prefetched->rows[i] = row;
		for (Size line = 0; line < bytes; line += CACHE_LINE_BYTES)
			__builtin_prefetch(row + line);
	}
	prefetched->first = entry;
	prefetched->count = count;
}

void
row_order_fetch_values(RowOrder *order, uint64 entry)
{
	PrefetchedRows *prefetched = &order->prefetched;
	uint64		count = Min(PREFETCHED_ROWS, order->nentries - entry);

	for (uint64 i = 0; i < count; i++)
		prefetched->values[i] =
			*(Datum *) row_store_place(order->store,
									   ORDER_ROW(order->entries[entry + i]));
	prefetched->first = entry;
	prefetched->count = count;
}

void
row_order_verify(RowOrder *order, uint64 entry)
{
	int			comparison;

	if (entry == 0)
		return;
	comparison = row_order_compare(order, row_order_get(order, entry - 1),
								   row_order_get(order, entry));
	if (comparison > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("gpusort: rows are out of order"),
				 errdetail("Entry " UINT64_FORMAT " of the order, row %u, sorts before the one ahead of it, row %u.",
						   entry, ORDER_ROW(order->entries[entry]),
						   ORDER_ROW(order->entries[entry - 1]))));
	if (order->has_ties &&
		row_order_is_tie(order, entry) != (comparison == 0))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("gpusort: equal rows are marked wrongly"),
				 errdetail("Entry " UINT64_FORMAT " of the order, row %u, is %s the one ahead of it, row %u.",
						   entry, ORDER_ROW(order->entries[entry]),
						   comparison == 0 ? "equal to" : "not equal to",
						   ORDER_ROW(order->entries[entry - 1]))));
}

void
row_order_verify_all(RowOrder *order)
{
	for (uint64 entry = 0; entry < order->nentries; entry++)
	{
		CHECK_FOR_INTERRUPTS();
		row_order_verify(order, entry);
	}
}

/*
 * The comparators decide what keys have not decided.  If they find that the
 * keys are wrong, the order stays unset.
 */
static void
settle_order(RowOrder *order, Size limit)
{
	const SortKeys *keys = order->keys;

	if (sort_keys_exact(keys) && !sort_keys_doubtful(keys))
		order->has_ties = keys->shape.mark_ties;
	else if (!row_settle_ties(get_comparator(order), order->store, keys,
							  order->entries, order->store->nrows,
							  limit - Min(limit, order->memory),
							  &order->memory))
	{
		ereport(LOG,
				(errmsg("gpusort: falling back to PostgreSQL's sort"),
				 errdetail("Sort keys contradict comparisons under a collation of this sort.")));
		free_entries(order);
	}
}

void
row_order_set_room(RowOrder *order, OrderRoom *room)
{
	order->room = room;
}

bool
row_order_make(RowOrder *order, Size limit)
{
	MemoryContext caller_context = MemoryContextSwitchTo(order->context);

	order->prefetched.count = 0;
	order->has_ties = false;
	order->memory = order->store->memory + row_order_memory(order);
	if (order->in_order)
		(void) keep_order(order, limit);
	else if (!order->keys_lost && perform_job(order, limit))
	{
		if (gpusort_verify)
			verify_permutation(order);
		settle_order(order, limit);

		strlcpy(order->method, order->job->method, sizeof(order->method));
		strlcpy(order->device, order->job->device, sizeof(order->device));
		order->on_device = order->job->on_device;
		order->device_microseconds = order->job->device_microseconds;
	}
	order->nentries = order->store->nrows;
	MemoryContextSwitchTo(caller_context);
	return order->entries != NULL;
}

bool
row_order_select(RowOrder *order)
{
	const SortJob *job = order->job;
	const SortKeys *keys = order->keys;
	MemoryContext caller_context;

	if (!order->selects || order->in_order || order->keys_lost ||
		job->state != JOB_HERE || job->shape.fixed_words != 1 ||
		!sort_keys_exact(keys) || sort_keys_doubtful(keys))
		return false;
	caller_context = MemoryContextSwitchTo(order->context);
	order->selection = rank_selection_begin(job->batch.words,
											job->batch.nrows);
	MemoryContextSwitchTo(caller_context);
	order->nentries = order->store->nrows;
	order->memory = order->store->memory + row_order_memory(order);
	note_without_job(order, METHOD_SELECTION);
	return true;
}

/* Raises an error unless a row may stand at this place of the order. */
static void
verify_place(RowOrder *order, uint64 entry, uint32 row)
{
	const void *found = row_store_get(order->store, row);
	uint64		nless = 0;
	uint64		nequal = 0;

	for (uint64 i = 0; i < order->store->nrows; i++)
	{
		int			comparison = row_order_compare(order,
												   row_store_get(order->store, i),
												   found);

		if (i % DIRECTORY_PAGE_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		nless += comparison < 0;
		nequal += comparison == 0;
	}
	if (entry < nless || entry >= nless + nequal)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("gpusort: a row does not belong to its place in the order"),
				 errdetail("Entry " UINT64_FORMAT " is row %u, which belongs behind " UINT64_FORMAT " rows and has " UINT64_FORMAT " equals.",
						   entry, row, nless, nequal)));
}

void *
row_order_find(RowOrder *order, uint64 entry)
{
	uint32		row;

	if (order->entries == NULL &&
		rank_selection_find(order->selection, entry, &row))
	{
		if (unlikely(gpusort_verify))
			verify_place(order, entry, row);
		return row_store_get(order->store, row);
	}
	if (order->entries == NULL && !row_order_make(order, SIZE_MAX))
		elog(ERROR, "keys of a single word do not sort");
	return row_order_get(order, entry);
}

/* The value of a minimal tuple of one by-value column. */
static inline Datum
only_column(const RowOrder *order, MinimalTuple row, bool *isnull)
{
	/* unless the column was added after the row */
	if (unlikely((row->t_infomask & HEAP_HASNULL) != 0 ||
				 HeapTupleHeaderGetNatts(row) == 0))
		return order->column(row, 1, order->descriptor, isnull);
	*isnull = false;
	return fetchatt(TupleDescCompactAttr(order->descriptor, 0),
					(char *) row + row->t_hoff - MINIMAL_TUPLE_OFFSET);
}

/*
 * Reads rows in the order in which they came, so that no read misses the
 * caches.  The values, which are read later in sorted order, are a third of
 * the rows' bytes, and have large pages.
 */
uint64
row_order_take_values(RowOrder *order, bool nulls_first)
{
	RowStore   *store = order->store;
	uint64		nnulls = 0;

	Assert(!order->limited && !store->of_values);
	for (uint64 row = 0; row < store->nrows; row++)
	{
		void	  **place = row_store_place(store, row);
		bool		isnull;

		if (row % DIRECTORY_PAGE_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		*place = DatumGetPointer(only_column(order, *place, &isnull));
		nnulls += isnull;
	}
	store->of_values = true;
	order->column = single_value_column;
	order->comparator = NULL;
	order->prefetched.count = 0;
	order->nentries -= nnulls;
	if (nulls_first)
		memmove(order->entries, order->entries + nnulls,
				order->nentries * sizeof(uint32));
	return nnulls;
}
