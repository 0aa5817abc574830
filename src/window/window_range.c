/*-------------------------------------------------------------------------
 *
 * window_range.c
 *	  An end of a frame at a distance from the value of the present row.
 *
 * RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW begins with the first row
 * whose value is in that range.  The type's own function tells which are.  The
 * ends never move back, so each row is looked at once as they move on.  NULLs
 * are in a range of their own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "window/window_range.h"

/* The values of a row, and of the present one. */
typedef struct ComparedValues
{
	Datum		value;
	bool		isnull;
	Datum		present;
	bool		present_isnull;
} ComparedValues;

static ComparedValues
fetch_values(WindowRange *range, WindowRows *rows, int64 row)
{
	AttrNumber	column = range->definition.column;
	ComparedValues values;

	values.value = slot_getattr(window_rows_fetch(rows, range->cursor,
												  range->position),
								column, &values.isnull);
	values.present = slot_getattr(window_rows_fetch(rows, range->present, row),
								  column, &values.present_isnull);
	return values;
}

/*
 * Is a value at least, or with "less" at most, as large as the present one with
 * the distance added or subtracted?
 */
static bool
is_in_range(WindowRange *range, const WindowRows *rows,
			const ComparedValues *values, bool less)
{
	bool		subtract = range->preceding == range->definition.ascending;
	MemoryContext caller_context = MemoryContextSwitchTo(rows->value_context);
	bool		result = DatumGetBool(FunctionCall5Coll(&range->in_range,
														range->definition.collation,
														values->value,
														values->present,
														range->distance,
														BoolGetDatum(subtract),
														BoolGetDatum(less)));

	MemoryContextSwitchTo(caller_context);
	MemoryContextReset(rows->value_context);
	return result;
}

bool
window_range_begins(WindowRange *range, WindowRows *rows, int64 row)
{
	ComparedValues values = fetch_values(range, rows, row);

	if (values.isnull || values.present_isnull)
		return range->definition.nulls_first ?
			!values.isnull || values.present_isnull :
			values.isnull || !values.present_isnull;
	return is_in_range(range, rows, &values, !range->definition.ascending);
}

bool
window_range_is_over(WindowRange *range, WindowRows *rows, int64 row)
{
	ComparedValues values = fetch_values(range, rows, row);

	if (values.isnull || values.present_isnull)
		return range->definition.nulls_first ?
			!values.isnull : !values.present_isnull;
	return !is_in_range(range, rows, &values, range->definition.ascending);
}
