/*-------------------------------------------------------------------------
 *
 * row_check.c
 *	  A check that rows come in their order, for gpusort.verify.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "spill/row_check.h"

void
row_check_begin(RowCheck *check, RunOrder order, const RunFormat *format)
{
	check->order = order;
	check->format = format;
	check->context = CurrentMemoryContext;
	check->previous = NULL;
}

void
row_check(RowCheck *check, const void *row)
{
	Size		bytes = check->format->bytes(row);
	MemoryContext caller_context = MemoryContextSwitchTo(check->context);

	if (check->previous != NULL)
	{
		if (run_order_compare(check->order, check->previous, row) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("gpusort: rows are out of order"),
					 errdetail("A merge of runs gave a row that sorts before the one ahead of it.")));
		pfree(check->previous);
	}
	check->previous = MemoryContextAllocHuge(check->context, bytes);
	memcpy(check->previous, row, bytes);
	MemoryContextSwitchTo(caller_context);
}
