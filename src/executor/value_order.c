/*-------------------------------------------------------------------------
 *
 * value_order.c
 *	  Values in one order, and the aggregates that follow from it.
 *
 * Without groups, only the values are looked at that make a percentile, and
 * different values are counted only if the keys do not tell their number.  With
 * groups, all values of a group are noted until the group is complete.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"

#include "executor/value_order.h"
#include "port/compat.h"

/* Returns the value of the present row. */
static inline Datum
current_value(const ValueOrder *order, bool *isnull)
{
	return slot_getattr(order->row, order->column, isnull);
}

static Datum
copy_value(const ValueOrder *order, Datum value)
{
	return datumCopy(value, order->by_value, order->length);
}

/* Counts a value that is not less than the values before it. */
static inline void
count_value(ValueOrder *order, Datum value)
{
	ExprContext *context = order->sort->css.ss.ps.ps_ExprContext;

	if (order->counts.ndistinct > 0)
	{
		MemoryContext caller_context =
			MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
		bool		is_equal = DatumGetBool(FunctionCall2Coll(&order->equal,
															  order->collation,
															  order->last,
															  value));

		MemoryContextSwitchTo(caller_context);
		ResetExprContext(context);
		if (is_equal)
			return;
		if (!order->by_value)
			pfree(DatumGetPointer(order->last));
	}
	order->last = copy_value(order, value);
	order->counts.ndistinct++;
}

/*
 * Counts the different values among those that this process has still to emit.
 */
static void
count_values(ValueOrder *order)
{
	bool		isnull;

	while (value_order_next(order))
	{
		CHECK_FOR_INTERRUPTS();
		count_value(order, current_value(order, &isnull));
	}
}

/* Sets the values that are wanted at the position of the present row. */
static ListCell *
take_wanted(const ValueOrder *order, uint64 position, Datum value,
			const List *wanted, ListCell *cell)
{
	Datum		copy = (Datum) 0;
	bool		is_copied = false;

	for (; cell != NULL; cell = lnext(wanted, cell))
	{
		WantedValue *one = lfirst(cell);

		if (one->position != position)
			break;
		if (!is_copied)
			copy = copy_value(order, value);
		is_copied = true;
		one->value = copy;
	}
	return cell;
}

/*
 * Fetches the wanted values, which are listed in ascending positions, and
 * counts different values if need be.
 */
static void
fetch_values(ValueOrder *order, RowSort *sort, List *wanted)
{
	bool		counts_distinct = order->aggregates.counts_distinct;
	uint64		position = 0;
	ListCell   *cell = list_head(wanted);

	while (cell != NULL || counts_distinct)
	{
		Datum		value;
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		if (!counts_distinct)
		{
			uint64		next = ((WantedValue *) lfirst(cell))->position;

			row_sort_skip(sort, next - position);
			position = next;
		}
		if (!value_order_next(order))
			break;
		value = current_value(order, &isnull);
		if (counts_distinct)
			count_value(order, value);
		cell = take_wanted(order, position, value, wanted, cell);
		position++;
	}
	if (cell != NULL)
		elog(ERROR, "fewer rows were sorted than put");
}

/* Finds what the aggregates need in the order of all values. */
static void
take_order(ValueOrder *order, RowSort *sort, const NodeLimit *limit)
{
	if (!node_has_limit(limit))
		fetch_values(order, sort,
					 value_aggregates_wanted(&order->aggregates,
											 order->counts.nvalues));
	else if (!row_sort_count_groups(sort, &order->counts.ndistinct))
		count_values(order);
}

/* Does this for the node's own sort, which several processes may do. */
static bool
take_own(ValueOrder *order)
{
	ParallelSort *sort = order->sort;

	order->counts.nvalues -= parallel_sort_nulls(sort);
	if (sort->parts != NULL)
	{
		count_values(order);
		return parallel_sort_is_last(sort, &order->counts.ndistinct);
	}
	if (sort->sort == NULL)
		return false;
	take_order(order, sort->sort, &sort->limit);
	return true;
}

bool
value_order_take_all(ValueOrder *order)
{
	const SortBeside *beside = order->beside;

	value_order_begin(order);
	order->counts.nrows = parallel_sort_rows(order->sort);
	order->counts.nvalues = order->counts.nrows;
	if (beside == NULL)
		return take_own(order);
	order->counts.nvalues -= beside->nnulls;
	if (beside->sort != NULL)
		take_order(order, beside->sort, &beside->limit);
	return true;
}

void
value_order_begin(ValueOrder *order)
{
	memset(&order->counts, 0, sizeof(ValueCounts));
}

void
value_order_take(ValueOrder *order, MemoryContext memory)
{
	bool		isnull;
	Datum		value = current_value(order, &isnull);

	order->counts.nrows++;
	if (isnull)
		return;
	order->counts.nvalues++;
	if (order->values != NULL)
		value_buffer_add(order->values, value);
	if (order->aggregates.counts_distinct)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(memory);

		count_value(order, value);
		MemoryContextSwitchTo(caller_context);
	}
}

void
value_order_complete(ValueOrder *order)
{
	ListCell   *cell;

	foreach(cell, value_aggregates_wanted(&order->aggregates,
										  order->counts.nvalues))
	{
		WantedValue *one = lfirst(cell);

		one->value = copy_value(order, value_buffer_get(order->values,
														one->position));
	}
	if (order->values != NULL)
		value_buffer_reset(order->values);
}
