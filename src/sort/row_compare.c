/*-------------------------------------------------------------------------
 *
 * row_compare.c
 *	  Comparing rows by their types' own comparators.
 *
 * Keys decide almost everything.  Comparators are needed where keys are only
 * prefixes, for rows whose keys are equal, and to verify an order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "sort/row_compare.h"

/*
 * The argument that qsort_arg() passes to the comparison of two row numbers.
 */
typedef struct TieContext
{
	const RowComparator *comparator;
	const RowStore *store;
} TieContext;

/* How far ahead of a comparison its row is fetched into the cache. */
#define PREFETCH_DISTANCE	16

RowComparator *
row_comparator_create(TupleDesc descriptor, RowColumnFunction column,
					  const SortColumn *columns, int ncolumns)
{
	RowComparator *comparator = palloc(sizeof(RowComparator));

	comparator->descriptor = descriptor;
	comparator->column = column;
	comparator->ncolumns = ncolumns;
	comparator->columns = palloc0(ncolumns * sizeof(SortSupportData));
	for (int i = 0; i < ncolumns; i++)
	{
		SortSupport support = &comparator->columns[i];

		support->ssup_cxt = CurrentMemoryContext;
		support->ssup_collation = columns[i].collation;
		support->ssup_nulls_first = columns[i].nulls_first;
		support->ssup_attno = columns[i].attno;
		PrepareSortSupportFromOrderingOp(columns[i].sort_operator, support);
	}
	return comparator;
}

Datum
minimal_tuple_column(const void *row, AttrNumber attno, TupleDesc descriptor,
					 bool *isnull)
{
	/* the heap tuple of which the minimal tuple is the body */
	HeapTupleData tuple = {
		.t_len = ((MinimalTuple) row)->t_len + MINIMAL_TUPLE_OFFSET,
		.t_data = (HeapTupleHeader) ((char *) row - MINIMAL_TUPLE_OFFSET)
	};

	return heap_getattr(&tuple, attno, descriptor, isnull);
}

Datum
single_value_column(const void *row, AttrNumber attno, TupleDesc descriptor,
					bool *isnull)
{
	*isnull = false;
	return *(const Datum *) row;
}

int
row_compare(const RowComparator *comparator, const void *a, const void *b)
{
	return row_compare_from(comparator, 0, a, b);
}

int
row_compare_from(const RowComparator *comparator, int first,
				 const void *a, const void *b)
{
	for (int i = first; i < comparator->ncolumns; i++)
	{
		SortSupport support = &comparator->columns[i];
		bool		null_a;
		bool		null_b;
		Datum		value_a = comparator->column(a, support->ssup_attno,
												 comparator->descriptor,
												 &null_a);
		Datum		value_b = comparator->column(b, support->ssup_attno,
												 comparator->descriptor,
												 &null_b);
		int			result = ApplySortComparator(value_a, null_a,
												 value_b, null_b, support);

		if (result != 0)
			return result;
	}
	return 0;
}

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

/* Fewer ties than this are sorted without a look at their order. */
#define MANY_TIES			8

/*
 * Sorts rows whose keys are equal.  If there are many, the rows themselves are
 * mostly equal, which a comparison of each row with the next finds.  But these
 * rows lie far apart in memory, so they are prefetched.
 */
static void
sort_ties(uint32 *order, uint64 nrows, TieContext *context)
{
	uint64		entry = 1;

	if (nrows >= MANY_TIES)
	{
		while (entry < nrows &&
			   compare_tied_rows(&order[entry - 1], &order[entry],
								 context) <= 0)
		{
			entry++;
			PREFETCH_COMPARED(context->store, order, entry, nrows);
		}
	}
	if (entry < nrows)
		qsort_arg(order, nrows, sizeof(uint32), compare_tied_rows, context);
}

bool
row_settle_ties(const RowComparator *comparator, const RowStore *store,
				const SortKeys *keys, uint32 *order, uint64 nrows)
{
	TieContext	context = {comparator, store};
	bool		doubtful = sort_keys_doubtful(keys);
	bool		settled = sort_keys_exact(keys) && !doubtful;
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
		if (end - start > 1 && !settled)
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
	return in_order;
}

void
row_accept_ties(uint32 *order, uint64 nrows)
{
	for (uint64 i = 0; i < nrows; i++)
		order[i] = ORDER_ROW(order[i]);
}
