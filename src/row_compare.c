/*-------------------------------------------------------------------------
 *
 * row_compare.c
 *	  Comparing rows by their types' own comparators.
 *
 * Almost everything is decided by the keys.  Comparators are needed where
 * keys are only prefixes, for the runs of rows whose keys are equal, and to
 * verify an order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "row_compare.h"

/* What qsort_arg() hands to the comparison of two row numbers. */
typedef struct TieContext
{
	const RowComparator *comparator;
	const RowStore *store;
} TieContext;

RowComparator *
row_comparator_create(TupleDesc descriptor, const SortColumn *columns,
					  int ncolumns)
{
	RowComparator *comparator = palloc(sizeof(RowComparator));

	comparator->descriptor = descriptor;
	comparator->ncolumns = ncolumns;
	comparator->columns = palloc0(ncolumns * sizeof(SortSupportData));
	for (int i = 0; i < ncolumns; i++)
	{
		SortSupport column = &comparator->columns[i];

		column->ssup_cxt = CurrentMemoryContext;
		column->ssup_collation = columns[i].collation;
		column->ssup_nulls_first = columns[i].nulls_first;
		column->ssup_attno = columns[i].attno;
		PrepareSortSupportFromOrderingOp(columns[i].sort_operator, column);
	}
	return comparator;
}

/* The heap tuple whose body the minimal tuple is. */
static inline HeapTupleData
as_heap_tuple(MinimalTuple row)
{
	HeapTupleData tuple = {0};

	tuple.t_len = row->t_len + MINIMAL_TUPLE_OFFSET;
	tuple.t_data = (HeapTupleHeader) ((char *) row - MINIMAL_TUPLE_OFFSET);
	return tuple;
}

int
row_compare(const RowComparator *comparator, MinimalTuple a, MinimalTuple b)
{
	HeapTupleData tuple_a = as_heap_tuple(a);
	HeapTupleData tuple_b = as_heap_tuple(b);

	for (int i = 0; i < comparator->ncolumns; i++)
	{
		SortSupport column = &comparator->columns[i];
		bool		null_a;
		bool		null_b;
		Datum		value_a = heap_getattr(&tuple_a, column->ssup_attno,
										   comparator->descriptor, &null_a);
		Datum		value_b = heap_getattr(&tuple_b, column->ssup_attno,
										   comparator->descriptor, &null_b);
		int			result = ApplySortComparator(value_a, null_a,
												 value_b, null_b, column);

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

void
row_settle_ties(const RowComparator *comparator, const RowStore *store,
				uint32 *order, uint64 nrows)
{
	TieContext	context = {comparator, store};
	MemoryContext run_context = AllocSetContextCreate(CurrentMemoryContext,
													  "gpusort ties",
													  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(run_context);
	uint64		start = 0;

	while (start < nrows)
	{
		uint64		end = start + 1;

		while (end < nrows && (order[end] & ORDER_TIE) != 0)
		{
			order[end] = ORDER_ROW(order[end]);
			end++;
		}
		if (end - start > 1)
		{
			qsort_arg(order + start, end - start, sizeof(uint32),
					  compare_tied_rows, &context);
			MemoryContextReset(run_context);
		}
		start = end;
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(run_context);
}

void
row_accept_ties(uint32 *order, uint64 nrows)
{
	for (uint64 i = 0; i < nrows; i++)
		order[i] = ORDER_ROW(order[i]);
}
