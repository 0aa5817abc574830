/*-------------------------------------------------------------------------
 *
 * sort_cost.c
 *	  The cost of a sort, in the planner's units.
 *
 * A row takes time in three steps: taking it, that is copying it and making
 * its key; sorting it, of which little is left if a device does it; and
 * emitting it, from this process's own memory or from a worker's.  The unit is
 * the planner's, at the rate of core's own sort: PUT_ROW_COST stands to
 * cpu_operator_cost as the measured times stand to each other.  (Core charges
 * two cpu_operator_cost for a comparison.)
 *
 * bench/calibrate measures the costs of the steps.  Those that differed between
 * machines by less than a factor of two are constants
 * (docs/notes/2026-11-costs.md), the others are settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "common/key_format.h"
#include "cost/sort_cost.h"
#include "device/sort_job.h"
#include "port/compat.h"
#include "port/shared_memory.h"
#include "settings.h"

/* Taking a row with a key of 8 bytes, and copying a kilobyte of rows. */
#define PUT_ROW_COST		0.006
#define PUT_KILOBYTE_COST	0.12

/*
 * Emitting a row from this process's own memory, and emitting a single value.
 */
#define EMIT_ROW_COST		0.0125
#define EMIT_VALUE_COST		0.0025

/* Taking a row that another process has put, and later a value of it. */
#define TAKE_VALUE_COST		0.004

/* Writing the place of a row, where all processes emit rows. */
#define SHARE_ROW_COST		0.001

/* A kilobyte of workers' rows in memory that the server has not set aside. */
#define NEW_SHARED_KILOBYTE_COST	0.13

/* Bytes, about, that core's sort and ours need for a row beside its data. */
#define ROW_OVERHEAD_BYTES	(SizeofMinimalTupleHeader + 32)

/*
 * The part of the pages of temporary files that is not read in sequence, as in
 * core.
 */
#define RANDOM_PAGES_PART	0.25

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

/*
 * If different values are at least this part of all rows, all count as
 * different.
 */
#define UNIQUE_PART			0.9

/*
 * The part of temp_file_limit that a plan may be expected to need: there may
 * be more rows than expected, and wider ones.
 */
#define SURE_FILE_PART		0.5

/* A sort of all rows at this part of a heap's cost is sure to take less. */
#define SURE_PART			0.65

/*
 * The part of the cost without workers that a plan with workers may have at
 * most.  Where the gain is smaller, others have better use for the workers.
 * Estimates are not that good either, and there may be more processes than
 * processors.  With two processors a gain of 2% was expected where a sort took
 * 1.4 times as long with a worker, 1% where a median took 1.3 times, and 9%
 * where a sort took 1.05 times (docs/notes/2026-11-costs.md).
 */
#define TOGETHER_PART		0.9

/*
 * Comparisons in core's sorts inside an aggregate, in costs of an operator: of
 * values that lie in the sorted array, which may fit the caches or not; of
 * other values, mostly by abbreviated keys; of these in too many rows for the
 * caches; and of strings by libc, which has no abbreviated keys.
 */
#define INLINE_OPERATORS	0.3
#define MANY_INLINE_OPERATORS	0.5
#define POINTER_OPERATORS	0.2
#define ROW_OPERATORS		1.0
#define LIBC_OPERATORS		2
#define MANY_ROWS			50000

/*
 * The cost of a number's way into that sort and out again, and of another
 * value's.
 */
#define INLINE_VALUE_COST	0.0115
#define POINTER_VALUE_COST	0.043

/* Values in the last pieces of that sort, which take next to nothing. */
#define PIECE_VALUES		8

/*
 * What a row of a merge join was found to take more if its values are not
 * numbers, but lie elsewhere in memory.
 */
#define MERGE_POINTER_COST	0.06

/*
 * Core's hash tables: bytes of an entry beside its row, about, and the size up
 * to which a look-up takes what core expects.
 */
#define HASH_ENTRY_BYTES	48
#define FAST_HASH_BYTES		(2.0 * 1024 * 1024)

/*
 * Adds to the size of a sort what depends on its keys.  "order" is the order
 * of the rows that come, by the first of the columns; NULL if it is unknown.
 */
static void
add_keys(SortSize *size, const List *columns, Oid sort_operator,
		 Oid collation, const TableOrder *order)
{
	double		correlation = order == NULL ? 0 :
		table_order_correlation(order, sort_operator, collation);
	ListCell   *cell;

	foreach(cell, columns)
	{
		const Node *column = lfirst(cell);

		size->key_words += get_typavgwidth(exprType(column),
										   exprTypmod(column)) /
			(double) sizeof(uint64);
	}
	if (correlation <= 0)
		return;
	/* as core estimates the pages that an index scan reads */
	size->ordered_part = correlation * correlation;
	size->tied_rows = list_length(columns) == 1 ? 0 : order->group_rows;
}

/*
 * Do rows of this number of columns have only their sort column, passed by
 * value?
 */
static bool
are_values(int ncolumns, const List *columns)
{
	return ncolumns == 1 && get_typbyval(exprType(linitial(columns)));
}

/* Adds what is known of rows that are single values. */
static void
add_values(SortSize *size, ColumnValues values)
{
	size->is_of_values = true;
	size->null_part = values.null_part;
}

SortSize
sort_size_of_path(PlannerInfo *root, const Path *input, const List *columns,
				  Oid sort_operator, Oid collation, double bound)
{
	SortSize	size = {input->rows, input->pathtarget->width};
	TableOrder	order;
	bool		is_known = bound != NO_BOUND &&
		order_of_path(root, input, linitial(columns), &order);

	add_keys(&size, columns, sort_operator, collation,
			 is_known ? &order : NULL);
	if (are_values(list_length(input->pathtarget->exprs), columns))
		add_values(&size, values_of_path(root, input, linitial(columns)));
	return size;
}

SortSize
sort_size_of_plan(const Plan *sort, const List *attnos, Oid sort_operator,
				  Oid collation, const List *range_table)
{
	const Plan *input = sort->lefttree;
	SortSize	size = {input->plan_rows, sort->plan_width};
	List	   *columns = NIL;
	ListCell   *cell;
	TableOrder	order;
	bool		is_known;

	foreach(cell, attnos)
	{
		const TargetEntry *entry = list_nth(input->targetlist,
											lfirst_int(cell) - 1);

		columns = lappend(columns, entry->expr);
	}
	is_known = order_of_plan(input, linitial(columns), range_table, &order);
	add_keys(&size, columns, sort_operator, collation,
			 is_known ? &order : NULL);
	if (are_values(list_length(input->targetlist), columns))
		add_values(&size, values_of_plan(input, linitial(columns),
										 range_table));
	list_free(columns);
	return size;
}

double
sort_participants(int nworkers)
{
	return nworkers + Max(1 - 0.3 * nworkers, 0);
}

static double
memory_bytes(double rows, int width)
{
	return rows * (width + ROW_OVERHEAD_BYTES);
}

/* Bytes of memory of this many rows of this width: an estimate. */
static double
rows_bytes(double rows, int width)
{
	return rows * (MAXALIGN(width) + MAXALIGN(SizeofMinimalTupleHeader));
}

/* Do this many rows of this width fit the memory for a sort? */
static bool
fits_memory(double rows, int width)
{
	return memory_bytes(rows, width) <= gpusort_memory_limit();
}

bool
sort_together_spills(const SortSize *share)
{
	return !fits_memory(share->rows, share->width);
}

/* The number of runs that processes write that sort these rows together. */
static double
count_runs(const SortSize *size, double participants)
{
	return Max(memory_bytes(size->rows, size->width) / gpusort_memory_limit(),
			   participants);
}

/* How often all rows are merged: a page of each run and a row have to fit. */
static double
merge_passes(const SortSize *size, double runs)
{
	double		order = gpusort_memory_limit() / (double) (BLCKSZ + size->width);

	return Max(ceil(log(runs) / log(Max(order, 2))), 1);
}

bool
sort_together_has_room(const SortSize *share, double participants)
{
	SortSize	all = *share;

	all.rows *= participants;
	return sort_together_spills(share) ?
		merge_passes(&all, count_runs(&all, participants)) == 1 :
		shared_memory_suffices(rows_bytes(all.rows, all.width));
}

static double
kilobytes(double rows, int width)
{
	return rows_bytes(rows, width) / 1024;
}

/*
 * Kilobytes of all rows in runs: a single process writes values without rows.
 */
static double
kilobytes_in_runs(const SortSize *size, double participants)
{
	return participants == 1 && size->is_of_values ?
		size->rows * sizeof(Datum) / 1024 : kilobytes(size->rows, size->width);
}

bool
sort_has_file_space(const SortSize *share)
{
	SortSize	stored = *share;

	stored.rows *= 1 - share->null_part;
	return temp_file_limit < 0 || fits_memory(stored.rows, stored.width) ||
		kilobytes_in_runs(&stored, 1) <= temp_file_limit * SURE_FILE_PART;
}

/* The expected number of words of a key. */
static double
words_of_key(const SortSize *size)
{
	return Min(Max(size->key_words, 1), KEY_MAX_WORDS);
}

/* The cost of taking this many of the rows, by one process. */
static Cost
cost_putting(const SortSize *size, double rows)
{
	double		words = words_of_key(size);

	return rows * (PUT_ROW_COST + (words - 1) * gpusort_key_word_cost) +
		kilobytes(rows, size->width) * PUT_KILOBYTE_COST;
}

/* The cost of emitting this many of the rows, by the process that has them. */
static Cost
cost_emitting(const SortSize *size, double rows)
{
	return rows * (size->is_of_values ? EMIT_VALUE_COST : EMIT_ROW_COST);
}

static Cost
cost_sorting(const SortSize *size)
{
	/* a device sorts in next to no time once the rows are taken */
	return sort_job_expects_gpu(size->rows, words_of_key(size)) ? 0 :
		size->rows * gpusort_host_sort_row_cost;
}

/*
 * The cost of writing all rows to temporary files as sorted runs, and of
 * merging them.  Participants do both at the same time: they read and write
 * all rows once more, and one of them reads the result.  A single process
 * takes all rows once more with each further pass.
 */
static Cost
cost_spilling(const SortSize *size, double participants)
{
	Cost		pages = kilobytes_in_runs(size, participants) * 1024 / BLCKSZ *
		((1 - RANDOM_PAGES_PART) * seq_page_cost +
		 RANDOM_PAGES_PART * random_page_cost);
	double		runs = count_runs(size, participants);
	double		passes = merge_passes(size, runs);
	Cost		comparisons = size->rows * log2(runs) * cpu_operator_cost;

	if (participants > 1)
		return (3 * pages + comparisons) / participants + pages;
	return 2 * passes * pages +
		(passes - 1) * (size->rows * PUT_ROW_COST +
						cost_emitting(size, size->rows)) +
		comparisons;
}

void
cost_sort_alone(const SortSize *size, Cost *startup, Cost *total)
{
	SortSize	stored = *size;

	/* NULLs are only counted */
	stored.rows *= 1 - size->null_part;
	*startup = cost_putting(size, size->rows) + cost_sorting(&stored);
	if (!fits_memory(stored.rows, size->width))
		*startup += cost_spilling(&stored, 1);
	*total = *startup + cost_emitting(size, size->rows);
}

/*
 * The cost of a sort together whose rows do not fit the memory.  There single
 * values are rows, too.
 */
static void
cost_sort_in_runs(const SortSize *size, double participants, Cost *startup,
				  Cost *total)
{
	/* without a device each process sorts its own rows */
	*startup = cost_putting(size, size->rows / participants) +
		cost_sorting(size) / participants + cost_spilling(size, participants);
	*total = *startup + size->rows * EMIT_ROW_COST;
}

void
cost_sort_together(const SortSize *size, double participants,
				   Cost *startup, Cost *total)
{
	double		share = size->rows / participants;
	double		workers_rows = size->rows - share;
	SortSize	part = *size;

	part.rows = share;
	if (sort_together_spills(&part))
	{
		cost_sort_in_runs(size, participants, startup, total);
		return;
	}
	*startup = cost_putting(size, share) + cost_sorting(size);
	/* memory that the server has set aside is not new */
	if (!shared_memory_is_set_aside(rows_bytes(workers_rows, size->width)))
		*startup += kilobytes(workers_rows, size->width) *
			NEW_SHARED_KILOBYTE_COST;
	if (size->is_of_values)
	{
		*startup += workers_rows * TAKE_VALUE_COST;
		*total = *startup + cost_emitting(size, size->rows);
	}
	else
		*total = *startup + cost_emitting(size, share) +
			workers_rows * gpusort_get_shared_row_cost;
}

void
cost_sort_in_groups(const SortSize *size, double participants,
					double busiest, Cost *startup, Cost *total)
{
	*startup = cost_putting(size, size->rows / participants) +
		cost_sorting(size) + size->rows * SHARE_ROW_COST;
	if (!shared_memory_is_set_aside(rows_bytes(size->rows, size->width)))
		*startup += kilobytes(size->rows, size->width) *
			NEW_SHARED_KILOBYTE_COST;
	*total = *startup + size->rows * busiest * gpusort_get_shared_row_cost;
}

bool
workers_hardly_gain(Cost together, Cost alone)
{
	return together > TOGETHER_PART * alone;
}

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
 * The cost of core's heap of the first rows.  Core compares each row with the
 * last of those that it keeps.  The n-th row takes the place of that one with
 * a chance of bound / n, and then the heap is put in order again.  If rows
 * come in order this ends with those that tie with the last one.  Core itself
 * charges for each row as if the heap was always put in order.
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
		 (bound < size->rows && !fits_memory(size->rows, size->width))) &&
		heap_fits_memory(bound, size->width);
}

bool
first_rows_are_few(const SortSize *size, double participants, double bound)
{
	SortSize	all = *size;
	Cost		startup;
	Cost		total;

	if (!heap_is_made(size, bound) || !gpusort_enable_costs)
		return heap_is_made(size, bound);
	all.rows *= participants;
	if (participants > 1)
		cost_sort_together(&all, participants, &startup, &total);
	else
		cost_sort_alone(&all, &startup, &total);
	return SURE_PART * cost_first_rows(size, bound) <=
		startup + (total - startup) * bound / all.rows;
}

/*
 * Of rows with a single column core sorts the values alone.  It compares
 * little where few are different, and does not store NULLs.  Our sort does
 * without NULLs for numbers only.
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
 * Core may keep values that are not numbers in memory, whatever the setting.
 * A few it sorts in the caches, while our sort would write them: 15,000 of 516
 * bytes had 0.5 to 0.6 of PostgreSQL's speed, 40,000 of 132 bytes 0.9, and
 * 100,000 of 33 to 1032 bytes 1.0 to 1.15.
 */
bool
values_are_kept(const SortSize *size, Oid type)
{
	return !SORTS_COUNT_VALUES && gpusort_min_rows > 0 &&
		!get_typbyval(type) && size->rows < MANY_ROWS &&
		!fits_memory(size->rows, size->width);
}

/*
 * True if hardly any value of a column of a Sort is there twice, as far as
 * known.
 */
static bool
values_hardly_tie(const Sort *sort, int column, const List *range_table)
{
	const Plan *input = sort->plan.lefttree;
	const TargetEntry *entry = list_nth(input->targetlist,
										sort->sortColIdx[column] - 1);

	return values_of_plan(input, (Node *) entry->expr, range_table).different >=
		input->plan_rows * UNIQUE_PART;
}

int
sort_key_columns(const Sort *sort, const List *range_table)
{
	for (int i = 1; i < sort->numCols; i++)
	{
		Oid			collation = sort->collations[i];

		/* keys of strings are cheap only if the strings are the keys */
		if (!OidIsValid(collation) || COLLATION_IS_C(collation))
			continue;
		for (int j = 0; j < i; j++)
			if (values_hardly_tie(sort, j, range_table))
				return i;
	}
	return sort->numCols;
}

/* Are strings compared by libc under this collation? */
static bool
is_of_libc(Oid collation)
{
	pg_locale_t locale;

	if (!OidIsValid(collation) || COLLATION_IS_C(collation))
		return false;
	locale = pg_newlocale_from_collation(collation);
	return locale == NULL || LOCALE_PROVIDER(locale) == COLLPROVIDER_LIBC;
}

Cost
cost_comparisons_inside(const InnerSize *size, Oid type, Oid collation)
{
	double		operators;

	if (size->group_values <= PIECE_VALUES)
		return 0;
	if (get_typbyval(type))
		operators = size->group_rows > MANY_ROWS ? MANY_INLINE_OPERATORS :
			INLINE_OPERATORS;
	else if (is_of_libc(collation))
		operators = LIBC_OPERATORS;
	else
		operators = size->is_of_rows && size->group_rows > MANY_ROWS ?
			ROW_OPERATORS : POINTER_OPERATORS;
	return size->rows * log2(size->group_values / PIECE_VALUES) * operators *
		cpu_operator_cost;
}

Cost
cost_sorts_inside(const InnerSize *size, Oid type, Oid collation)
{
	return size->rows * (get_typbyval(type) ? INLINE_VALUE_COST :
						 POINTER_VALUE_COST) +
		cost_comparisons_inside(size, type, collation);
}

Cost
cost_counting(double values)
{
	return values * EMIT_ROW_COST;
}

/* Core charges the same for all types. */
Cost
cost_merging_more(double rows, Oid type)
{
	return get_typbyval(type) ? 0 : rows * MERGE_POINTER_COST;
}

/*
 * Core charges the same for tables of all sizes.  But the larger a table is,
 * the more of its look-ups miss the caches: each doubling was found to add the
 * same time.
 */
Cost
cost_hashing_more(double lookups, double entries, int width)
{
	double		bytes = rows_bytes(entries, width) +
		entries * HASH_ENTRY_BYTES;

	/* a table that exceeds its memory is hashed in parts */
	bytes = Min(bytes, get_hash_memory_limit());
	return bytes <= FAST_HASH_BYTES ? 0 :
		lookups * log2(bytes / FAST_HASH_BYTES) * gpusort_hash_row_cost;
}
