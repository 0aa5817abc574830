/*-------------------------------------------------------------------------
 *
 * window_plan.c
 *	  What the plan of a GpuSortWindow says: its sort and its windows.
 *
 * All of it is written as lists, since a plan is copied, and is written and
 * read for parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/window_plan.h"

static List *
write_range(const WindowRangeDefinition *range)
{
	return list_make5(makeInteger(range->in_range),
					  makeInteger(range->collation),
					  makeInteger(range->ascending),
					  makeInteger(range->nulls_first),
					  makeInteger(range->column));
}

static WindowRangeDefinition
read_range(const List *written)
{
	return (WindowRangeDefinition)
	{
		.in_range = intVal(linitial(written)),
			.collation = intVal(lsecond(written)),
			.ascending = intVal(lthird(written)),
			.nulls_first = intVal(lfourth(written)),
			.column = intVal(list_nth(written, 4))
	};
}

static List *
write_window(const WindowDefinition *window)
{
	List	   *numbers = list_make3_int(window->npartition_columns,
										 window->npeer_columns,
										 window->options);

	numbers = lappend_int(numbers, window->is_partitioned);
	numbers = lappend_int(numbers, window->is_ordered);
	numbers = lappend_int(numbers, window->is_top);
	return list_make5(makeString(window->name), numbers,
					  list_make4(window->start_offset, window->end_offset,
								 write_range(&window->start_range),
								 write_range(&window->end_range)),
					  window->run_condition, window->functions);
}

static WindowDefinition
read_window(const List *written)
{
	const List *numbers = lsecond(written);
	const List *offsets = lthird(written);

	return (WindowDefinition)
	{
		.name = strVal(linitial(written)),
			.npartition_columns = linitial_int(numbers),
			.npeer_columns = lsecond_int(numbers),
			.options = lthird_int(numbers),
			.is_partitioned = list_nth_int(numbers, 3),
			.is_ordered = list_nth_int(numbers, 4),
			.is_top = list_nth_int(numbers, 5),
			.start_offset = linitial(offsets),
			.end_offset = lsecond(offsets),
			.start_range = read_range(lthird(offsets)),
			.end_range = read_range(lfourth(offsets)),
			.run_condition = lfourth(written),
			.functions = list_nth(written, 4)
	};
}

List *
planned_windows_write(const PlannedWindows *planned)
{
	List	   *windows = NIL;

	for (int i = 0; i < planned->nwindows; i++)
		windows = lappend(windows, write_window(&planned->windows[i]));
	return list_make3(planned_sort_write(&planned->sort),
					  list_make2_int(planned->ngroup_columns,
									 planned->presorted), windows);
}

PlannedWindows
planned_windows_read(const CustomScan *scan)
{
	const List *written = lthird(scan->custom_private);
	PlannedWindows planned = {
		.sort = planned_sort_read(scan),
		.ngroup_columns = linitial_int(lsecond(scan->custom_private)),
		.presorted = lsecond_int(lsecond(scan->custom_private)),
		.nwindows = list_length(written)
	};
	ListCell   *cell;

	planned.windows = palloc(planned.nwindows * sizeof(WindowDefinition));
	foreach(cell, written)
		planned.windows[foreach_current_index(cell)] =
		read_window(lfirst(cell));
	return planned;
}
