/*-------------------------------------------------------------------------
 *
 * sort_choice.c
 *	  Which sort is done: by core, alone, together in memory or in runs.
 *
 * The planner asks when it makes paths and when its plan is finished, and the
 * executor asks again when it knows how many rows are wanted.  All of them ask
 * here.  There are three questions, in this order:
 *
 *	- Are only so few rows wanted that core's heap of the first rows takes less
 *	  time than a sort of all?
 *	- Can several processes sort together?  Rows that stay in memory need shared
 *	  memory for that, and runs must be few enough to be merged at once.
 *	- Do they write the rows as runs, since the rows do not fit the memory?
 *
 * Whether a sort gains enough, by workers or over core's sort of single values,
 * is decided here, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "cost/sort_choice.h"
#include "port/compat.h"
#include "port/shared_memory.h"
#include "settings.h"

/* Bytes that core's heap of the first rows needs beside a row's block. */
#define HEAP_ENTRY_BYTES	24
#define LEAST_HEAP_ENTRIES	1024
#define ALLOC_HEAD_BYTES	8

/*
 * The cost of a comparison in core's heap of the first rows, in costs of an
 * operator: twice what core charges, since its rows lie anywhere in memory.
 */
#define HEAP_OPERATORS		4

/*
 * Fewer different values than these are few.  Sorts of single numbers had 0.83
 * to 1.12 of PostgreSQL's speed with 2 different values, 0.86 to 1.25 with 20,
 * and 0.99 to 1.34 with 200.
 */
#define FEW_VALUES			100

/*
 * If NULLs are at least this part of all rows, most rows are NULL: with 95% of
 * a text or a numeric, sorts had 0.61 to 0.86 of PostgreSQL's speed.
 */
#define MOSTLY_NULL_PART	0.9

/* A sort of all rows at this part of a heap's cost is sure to take less. */
#define SURE_PART			0.65

/*
 * The part of the cost without workers that a plan with workers may have at
 * most.  Where the gain is smaller, others have better use for the workers.
 * Besides, estimates are not exact, and there may be more processes than
 * processors.  With two processors a gain of 2% was expected where a sort
 * took 1.4 times as long with a worker, 1% where a median took 1.3 times,
 * and 9% where a sort took 1.05 times (docs/notes/2026-11-costs.md).
 */
#define TOGETHER_PART		0.9

/*
 * Does core's heap of the first rows fit its memory?  Core makes the heap when
 * it has twice as many rows, or when its memory is full with more than the
 * bound; in the latter case the sizes of single rows decide between the heap
 * and a sort in files.  Each row has an entry, of which there are some in any
 * case, and a block of 2^n bytes, with a head; a value may be in its entry.
 */
static bool
heap_fits_memory(double bound, int width)
{
	double		entries = Max(bound, LEAST_HEAP_ENTRIES);
	double		bytes = 0;
	double		block = 1;

	if (width > sizeof(Datum))
	{
		while (block < SizeofMinimalTupleHeader + width)
			block *= 2;
		bytes = ALLOC_HEAD_BYTES + block;
	}
	return entries * HEAP_ENTRY_BYTES + bound * bytes <= gpusort_memory_limit();
}

/*
 * The cost of core's heap of the first rows.  Core compares each row with
 * the last row that it keeps.  The n-th row takes that row's place with a
 * chance of bound / n, and then the heap is put in order again.  If rows
 * come in order, only those that tie with the last one take its place.  Core
 * itself charges for each row as if the heap was put in order each time.
 */
static Cost
cost_first_rows(const SortSize *size, double bound)
{
	double		kept = Max(bound, 2);
	double		competing = Min(kept + size->tied_rows, size->rows);
	double		replaced = kept *
		(1 + size->ordered_part * log(Max(competing / kept, 1)) +
		 (1 - size->ordered_part) * log(Max(size->rows / kept, 1)));

	return HEAP_OPERATORS * cpu_operator_cost *
		(size->rows + replaced * log2(kept));
}

/* May core make a heap of the first rows? */
static bool
heap_is_made(const SortSize *size, double bound)
{
	return bound != NO_BOUND &&
		(bound * 2 < size->rows ||
		 (bound < size->rows && !sort_fits_memory(size->rows, size->width))) &&
		heap_fits_memory(bound, size->width);
}

/*
 * Does core's heap find the first "bound" rows in less time than a GpuSort of
 * all?
 */
static bool
first_rows_are_few(const SortSize *size, double members, double bound)
{
	SortSize	all = *size;
	Cost		startup;
	Cost		total;

	if (!heap_is_made(size, bound) || !gpusort_enable_costs)
		return heap_is_made(size, bound);
	all.rows *= members;
	if (members > 1)
		cost_sort_together(&all, members, &startup, &total);
	else
		cost_sort_alone(&all, &startup, &total);
	return SURE_PART * cost_first_rows(size, bound) <=
		startup + (total - startup) * bound / all.rows;
}

/* Can processes, each of which has a share of this size, sort together? */
static bool
has_room(const SortSize *share, double members)
{
	SortSize	all = *share;

	all.rows *= members;
	return sort_fits_memory(share->rows, share->width) ?
		shared_memory_suffices(sort_rows_bytes(all.rows, all.width)) :
		sort_merges_at_once(&all, members);
}

bool
first_rows_may_be_together(double bound)
{
	return bound == NO_BOUND || temp_file_limit < 0;
}

SortChoice
sort_choose(const SortSize *share, double members, double bound)
{
	if (first_rows_are_few(share, members, bound))
		return SORT_NATIVELY;
	if (members == 1 || !has_room(share, members) ||
		!first_rows_may_be_together(bound))
		return SORT_ALONE;
	return sort_fits_memory(share->rows, share->width) ?
		SORT_TOGETHER_IN_MEMORY : SORT_TOGETHER_IN_RUNS;
}

bool
workers_hardly_gain(Cost together, Cost alone)
{
	return together > TOGETHER_PART * alone;
}

/*
 * If rows have a single column, core sorts the values alone.  It compares
 * little if few values are different, and does not store NULLs.  Our sort
 * leaves out NULLs only if the values are numbers.
 */
bool
values_are_few(Oid type, ColumnValues values)
{
	if (gpusort_min_rows == 0)
		return false;
	if (get_typbyval(type))
		return values.different > 0 && values.different < FEW_VALUES;
	return values.null_part >= MOSTLY_NULL_PART;
}

/*
 * Core may keep values that are not numbers in memory, whatever the memory
 * setting.  It sorts a few values in the caches, while our sort would write
 * them: 15,000 of 516 bytes had 0.5 to 0.6 of PostgreSQL's speed, 40,000 of
 * 132 bytes 0.9, and 100,000 of 33 to 1032 bytes 1.0 to 1.15.
 */
bool
values_are_kept(const SortSize *size, Oid type)
{
	return !SORTS_COUNT_VALUES && gpusort_min_rows > 0 &&
		!get_typbyval(type) && size->rows < MANY_ROWS &&
		!sort_fits_memory(size->rows, size->width);
}
