/*-------------------------------------------------------------------------
 *
 * row_ties.c
 *	  Sorting rows whose keys are equal.
 *
 * The comparators sort these rows.  A comparator decompresses or fetches a
 * toasted value each time that it compares the value, and many rows tie
 * because they have long values that begin alike.  So if many rows tie, their
 * values are taken out of the rows first, and a toasted value is replaced when
 * it is compared for the first time, as long as there is memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "port/compat.h"
#include "port/toast.h"
#include "sort/row_ties.h"

/* How far ahead of a comparison its row is fetched into the cache. */
#define PREFETCH_DISTANCE	16

/* Fewer ties than this are sorted where they lie. */
#define MANY_TIES			8

/* Bytes beside a value that it takes to keep the value. */
#define VALUE_OVERHEAD		32

/* What is the same for all ties of an order. */
typedef struct TieContext
{
	const RowComparator *comparator;
	const RowStore *store;
	Size		room;			/* bytes that may be taken */
	Size		most_taken;		/* bytes that have been taken, at most */
} TieContext;

/* Many rows that tie, numbered from 0 as they come. */
typedef struct TiedRows
{
	const RowComparator *comparator;
	uint32	   *rows;			/* their numbers in the store */
	Datum	   *values;			/* values of the sort columns, row by row */
	bool	   *isnull;
	Size		room;			/* bytes left for values that were toasted */
	MemoryContext context;		/* these values; NULL if there are none */
} TiedRows;

static int
compare_tied_rows(const void *a, const void *b, void *argument)
{
	const TieContext *context = argument;

	CHECK_FOR_INTERRUPTS();
	return row_compare(context->comparator,
					   row_store_get(context->store, *(const uint32 *) a),
					   row_store_get(context->store, *(const uint32 *) b));
}

/* Prefetches a row that will be compared soon. */
#define PREFETCH_COMPARED(store, order, entry, nrows) \
	do { \
		if ((entry) + PREFETCH_DISTANCE < (nrows)) \
			__builtin_prefetch(row_store_get(store, \
								ORDER_ROW((order)[(entry) + PREFETCH_DISTANCE]))); \
	} while (0)

/* Takes the values of a row out of the store. */
static void
load_row(TiedRows *ties, const RowStore *store, uint32 row, uint64 place)
{
	const RowComparator *comparator = ties->comparator;
	const void *stored = row_store_get(store, row);
	Datum	   *values = ties->values + place * comparator->ncolumns;
	bool	   *isnull = ties->isnull + place * comparator->ncolumns;

	ties->rows[place] = row;
	for (int i = 0; i < comparator->ncolumns; i++)
		values[i] = comparator->column(stored, comparator->columns[i].ssup_attno,
									   comparator->descriptor, &isnull[i]);
}

/* Replaces a toasted value, if there is room. */
static pg_noinline void
replace_toasted(TiedRows *ties, Datum *value)
{
	Size		bytes = toast_raw_datum_size(*value) + VALUE_OVERHEAD;
	MemoryContext caller_context;

	if (bytes > ties->room)
		return;
	/* other contexts would round the size up to a power of two */
	if (ties->context == NULL)
		ties->context = GenerationContextCreate(CurrentMemoryContext,
												"gpusort tied values",
												ALLOCSET_DEFAULT_SIZES);
	ties->room -= bytes;
	caller_context = MemoryContextSwitchTo(ties->context);
	*value = PointerGetDatum(detoast_attr((struct varlena *)
										  DatumGetPointer(*value)));
	MemoryContextSwitchTo(caller_context);
}

static int
compare_loaded_rows(const void *a, const void *b, void *argument)
{
	TiedRows   *ties = argument;
	const RowComparator *comparator = ties->comparator;
	uint64		place_a = (uint64) *(const uint32 *) a * comparator->ncolumns;
	uint64		place_b = (uint64) *(const uint32 *) b * comparator->ncolumns;
	int			comparison = 0;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < comparator->ncolumns && comparison == 0; i++)
	{
		SortSupport support = &comparator->columns[i];
		Datum	   *value_a = &ties->values[place_a + i];
		Datum	   *value_b = &ties->values[place_b + i];
		bool		null_a = ties->isnull[place_a + i];
		bool		null_b = ties->isnull[place_b + i];

		if (TupleDescCompactAttr(comparator->descriptor,
								 support->ssup_attno - 1)->attlen == -1 &&
			!null_a && !null_b)
		{
			if (unlikely(is_toasted((struct varlena *) DatumGetPointer(*value_a))))
				replace_toasted(ties, value_a);
			if (unlikely(is_toasted((struct varlena *) DatumGetPointer(*value_b))))
				replace_toasted(ties, value_b);
		}
		comparison = ApplySortComparator(*value_a, null_a, *value_b, null_b,
										 support);
	}
	return comparison;
}

/* Bytes of what is kept of each tied row, with its place in their order. */
static inline Size
bytes_of_row(const RowComparator *comparator)
{
	return 2 * sizeof(uint32) +
		comparator->ncolumns * (sizeof(Datum) + sizeof(bool));
}

/* Makes room for rows that tie, in the current memory context. */
static void
begin_loading(TiedRows *ties, const TieContext *context, uint64 nrows)
{
	uint64		nvalues = nrows * context->comparator->ncolumns;
	MemoryContext memory = CurrentMemoryContext;

	ties->comparator = context->comparator;
	ties->rows = MemoryContextAllocHuge(memory, nrows * sizeof(uint32));
	ties->values = MemoryContextAllocHuge(memory, nvalues * sizeof(Datum));
	ties->isnull = MemoryContextAllocHuge(memory, nvalues * sizeof(bool));
	ties->room = context->room - nrows * bytes_of_row(context->comparator);
	ties->context = NULL;
}

/* Sorts the rows of an order, all of which are loaded. */
static void
sort_loaded(TiedRows *ties, uint32 *order, uint64 nrows)
{
	uint32	   *places = MemoryContextAllocHuge(CurrentMemoryContext,
												nrows * sizeof(uint32));

	for (uint64 i = 0; i < nrows; i++)
		places[i] = i;
	qsort_arg(places, nrows, sizeof(uint32), compare_loaded_rows, ties);
	for (uint64 i = 0; i < nrows; i++)
		order[i] = ties->rows[places[i]];
}

/*
 * Sorts many rows whose keys are equal.  The rows themselves are mostly equal,
 * which a comparison of each row with the next finds.  But these rows lie far
 * apart in memory, so they are prefetched.
 */
static void
sort_many_ties(uint32 *order, uint64 nrows, TieContext *context)
{
	TiedRows	ties;
	uint32		before = 0;
	uint32		last = 1;
	bool		in_order = true;

	begin_loading(&ties, context, nrows);
	load_row(&ties, context->store, order[0], 0);
	for (; last < nrows; before = last++)
	{
		PREFETCH_COMPARED(context->store, order, last, nrows);
		load_row(&ties, context->store, order[last], last);
		if (in_order)
			in_order = compare_loaded_rows(&before, &last, &ties) <= 0;
	}
	if (!in_order)
		sort_loaded(&ties, order, nrows);
	context->most_taken = Max(context->most_taken, context->room - ties.room);
}

/* Sorts rows whose keys are equal. */
static void
sort_ties(uint32 *order, uint64 nrows, TieContext *context)
{
	if (nrows >= MANY_TIES &&
		nrows * bytes_of_row(context->comparator) <= context->room)
		sort_many_ties(order, nrows, context);
	else
		qsort_arg(order, nrows, sizeof(uint32), compare_tied_rows, context);
}

bool
row_settle_ties(const RowComparator *comparator, const RowStore *store,
				const SortKeys *keys, uint32 *order, uint64 nrows, Size room,
				Size *memory)
{
	TieContext	context = {
		.comparator = comparator,
		.store = store,
		.room = room
	};
	bool		doubtful = sort_keys_doubtful(keys);
	MemoryContext ties_context = AllocSetContextCreate(CurrentMemoryContext,
													   "gpusort ties",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(ties_context);
	uint64		start = 0;
	bool		in_order = true;

	while (start < nrows && in_order)
	{
		uint64		end = start + 1;

		while (end < nrows && (order[end] & ORDER_TIE) != 0)
		{
			order[end] = ORDER_ROW(order[end]);
			end++;
		}
		if (end - start > 1)
			sort_ties(order + start, end - start, &context);
		if (doubtful && start > 0)
		{
			PREFETCH_COMPARED(store, order, start, nrows);
			in_order = compare_tied_rows(&order[start - 1], &order[start],
										 &context) <= 0;
		}
		MemoryContextReset(ties_context);
		start = end;
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(ties_context);
	*memory += context.most_taken;
	return in_order;
}
