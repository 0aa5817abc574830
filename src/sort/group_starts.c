/*-------------------------------------------------------------------------
 *
 * group_starts.c
 *	  Where groups begin in an order.
 *
 * Partitions and peers of windows begin where a row differs from the row
 * before in one of the first sort columns.  The beginnings of keys tell that
 * without a look at the rows, if the columns are short and of fixed width
 * (group_keys.c).  They are read once, in the order, and each row gets a byte.
 * So whoever looks for the end of a partition later reads bytes that lie one
 * behind the other.
 *
 * Rows are compared where keys do not tell, and not before somebody asks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "sort/group_starts.h"

/* Entries whose keys are prefetched. */
#define PREFETCHED_ENTRIES	16

/* Entries between two checks for interrupts. */
#define STRETCH_ENTRIES		16384

/* Finds the differences that the beginnings of keys tell. */
static void
find_by_keys(GroupStarts *starts)
{
	const RowOrder *order = starts->order;
	const GroupKeys *keys = order->group_keys;
	const uint32 *entries = order->entries;
	uint64		nentries = order->nentries;
	bool		tell_all = keys->nknown >= starts->ncolumns;

	for (uint64 entry = 1; entry < nentries; entry++)
	{
		int			difference;

		if (entry % STRETCH_ENTRIES == 0)
			CHECK_FOR_INTERRUPTS();
		if (entry + PREFETCHED_ENTRIES < nentries)
			__builtin_prefetch(keys->words +
							   (uint64) ORDER_ROW(entries[entry + PREFETCHED_ENTRIES]) *
							   keys->nwords);
		difference = group_keys_first_difference(keys,
												 ORDER_ROW(entries[entry - 1]),
												 ORDER_ROW(entries[entry]));
		if (tell_all)
			difference = Min(difference, starts->ncolumns);
		else if (difference == keys->nknown)
			difference = UNKNOWN_FROM(keys->nknown);
		starts->differences[entry] = difference;
	}
}

GroupStarts *
group_starts_find(RowOrder *order, int ncolumns, FmgrInfo *equal)
{
	GroupStarts *starts = palloc0(sizeof(GroupStarts));
	const GroupKeys *keys = order->group_keys;

	Assert(ncolumns <= MOST_START_COLUMNS && order->nentries > 0);
	starts->order = order;
	starts->ncolumns = ncolumns;
	starts->equal = equal;
	starts->value_context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort group starts",
												  ALLOCSET_SMALL_SIZES);
	starts->differences = MemoryContextAllocHuge(CurrentMemoryContext,
												 order->nentries);
	/* rows that came in order have no keys */
	if (ncolumns > 0 && keys != NULL && keys->nwords > 0 &&
		keys->nrows == order->store->nrows)
		find_by_keys(starts);
	else
		memset(starts->differences, ncolumns == 0 ? 0 : UNKNOWN_FROM(0),
			   order->nentries);
	starts->differences[0] = NO_ROW_BEFORE;
	if (keys != NULL)
		row_order_keep_starts(order, 0);
	return starts;
}

bool
group_values_equal(FmgrInfo *equal, Oid collation,
				   const FormData_pg_attribute *column, Datum a, Datum b)
{
	return datumIsEqual(a, b, column->attbyval, column->attlen) ||
		DatumGetBool(FunctionCall2Coll(equal, collation, a, b));
}

bool
group_columns_equal(const RowOrder *order, FmgrInfo *equal, int column,
					const void *a, const void *b)
{
	const SortColumn *sorted = &order->columns[column];
	bool		null_a;
	bool		null_b;
	Datum		value_a = order->column(a, sorted->attno, order->descriptor,
										&null_a);
	Datum		value_b = order->column(b, sorted->attno, order->descriptor,
										&null_b);

	if (null_a || null_b)
		return null_a && null_b;
	return group_values_equal(&equal[column], sorted->collation,
							  TupleDescAttr(order->descriptor,
											sorted->attno - 1),
							  value_a, value_b);
}

int
group_starts_compare(GroupStarts *starts, uint64 entry)
{
	const RowOrder *order = starts->order;
	int			column = UNKNOWN_FROM(0) - starts->differences[entry];
	const void *row = row_order_get(order, entry);
	const void *before = row_order_get(order, entry - 1);
	MemoryContext caller_context = MemoryContextSwitchTo(starts->value_context);

	while (column < starts->ncolumns &&
		   group_columns_equal(order, starts->equal, column, before, row))
		column++;
	MemoryContextReset(starts->value_context);
	MemoryContextSwitchTo(caller_context);
	starts->differences[entry] = column;
	return column;
}
