/*-------------------------------------------------------------------------
 *
 * sort_cost.c
 *	  The cost of a sort, in the planner's units.
 *
 * A row takes time in three steps.  Taking it is to copy it and make its key.
 * Sorting it takes little time if a device does it.  Emitting it is from this
 * process's own memory or from a worker's.  The unit is the planner's, at the
 * rate of core's own sort: the ratio of PUT_ROW_COST and cpu_operator_cost is
 * the ratio of the measured times.  (Core charges two cpu_operator_cost for a
 * comparison.)
 *
 * bench/calibrate measures the costs of the steps.  Costs that differed
 * between machines by less than a factor of two are constants
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

/* Copying the number of a row to shared memory, where all processes emit rows. */
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

/*
 * Comparisons in core's sorts inside an aggregate, in costs of an operator, of
 * values that lie in the sorted array, if they fit the caches and if not; of
 * other values, mostly by abbreviated keys; of other values in too many rows
 * for the caches; and of strings by libc, which has no abbreviated keys.
 */
#define INLINE_OPERATORS	0.3
#define MANY_INLINE_OPERATORS	0.5
#define POINTER_OPERATORS	0.2
#define ROW_OPERATORS		1.0
#define LIBC_OPERATORS		2

/*
 * The cost of the way of a number into such a sort and out again, and of the
 * way of another value.
 */
#define INLINE_VALUE_COST	0.0115
#define POINTER_VALUE_COST	0.043

/*
 * Values in the last pieces of a sort inside an aggregate, which take next to
 * nothing.
 */
#define PIECE_VALUES		8

/*
 * The extra cost, as measured, of a row of a merge join whose values are not
 * numbers, and so lie elsewhere in memory.
 */
#define MERGE_POINTER_COST	0.06

/*
 * Core's hash tables: bytes of an entry beside its row, about, and the size up
 * to which a look-up takes the time that core expects.
 */
#define HASH_ENTRY_BYTES	48
#define FAST_HASH_BYTES		(2.0 * 1024 * 1024)

/*
 * Adds to the size of a sort the fields that depend on its keys. "order" is
 * the order of the rows that come, by the first of the columns; NULL if it is
 * unknown.
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
 * Do rows with this number of columns have only the sort column, and is that
 * passed by value?
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
sort_members(int nworkers)
{
	return nworkers + Max(1 - 0.3 * nworkers, 0);
}

static double
memory_bytes(double rows, int width)
{
	return rows * (width + ROW_OVERHEAD_BYTES);
}

double
sort_rows_bytes(double rows, int width)
{
	return rows * (MAXALIGN(width) + MAXALIGN(SizeofMinimalTupleHeader));
}

bool
sort_fits_memory(double rows, int width)
{
	return memory_bytes(rows, width) <= gpusort_memory_limit();
}

/* The number of runs that processes write if they sort these rows together. */
static double
count_runs(const SortSize *size, double members)
{
	return Max(memory_bytes(size->rows, size->width) / gpusort_memory_limit(),
			   members);
}

/* How often all rows are merged: a page of each run and a row have to fit. */
static double
merge_passes(const SortSize *size, double runs)
{
	double		order = gpusort_memory_limit() / (double) (BLCKSZ + size->width);

	return Max(ceil(log(runs) / log(Max(order, 2))), 1);
}

bool
sort_merges_at_once(const SortSize *size, double members)
{
	return merge_passes(size, count_runs(size, members)) == 1;
}

static double
kilobytes(double rows, int width)
{
	return sort_rows_bytes(rows, width) / 1024;
}

/*
 * Kilobytes of all rows in runs: a single process writes values without rows.
 */
static double
kilobytes_in_runs(const SortSize *size, double members)
{
	return members == 1 && size->is_of_values ?
		size->rows * sizeof(Datum) / 1024 : kilobytes(size->rows, size->width);
}

bool
sort_has_file_space(const SortSize *share)
{
	SortSize	stored = *share;

	stored.rows *= 1 - share->null_part;
	return temp_file_limit < 0 || sort_fits_memory(stored.rows, stored.width) ||
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

/* The cost of writing all rows to temporary files once, or of reading them. */
static Cost
cost_pages(const SortSize *size, double members)
{
	return kilobytes_in_runs(size, members) * 1024 / BLCKSZ *
		((1 - RANDOM_PAGES_PART) * seq_page_cost +
		 RANDOM_PAGES_PART * random_page_cost);
}

/* The cost of the comparisons by which runs are merged. */
static Cost
cost_comparing_runs(const SortSize *size, double members)
{
	return size->rows * log2(count_runs(size, members)) *
		cpu_operator_cost;
}

/*
 * The cost of writing all rows to temporary files as sorted runs, and of
 * merging them.  Members do both at the same time: they read and write
 * all rows once more, and one of them reads the result.  A single process
 * takes all rows once more with each further pass.
 */
static Cost
cost_spilling(const SortSize *size, double members)
{
	Cost		pages = cost_pages(size, members);
	double		passes = merge_passes(size, count_runs(size, members));
	Cost		comparisons = cost_comparing_runs(size, members);

	if (members > 1)
		return (3 * pages + comparisons) / members + pages;
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
	if (!sort_fits_memory(stored.rows, size->width))
		*startup += cost_spilling(&stored, 1);
	*total = *startup + cost_emitting(size, size->rows);
}

/*
 * The cost of a sort together whose rows do not fit the memory.  Single
 * values are written as rows, too.
 */
static void
cost_sort_in_runs(const SortSize *size, double members, Cost *startup,
				  Cost *total)
{
	/* without a device each process sorts its own rows */
	*startup = cost_putting(size, size->rows / members) +
		cost_sorting(size) / members + cost_spilling(size, members);
	*total = *startup + size->rows * EMIT_ROW_COST;
}

void
cost_sort_together(const SortSize *size, double members,
				   Cost *startup, Cost *total)
{
	double		share = size->rows / members;
	double		workers_rows = size->rows - share;

	if (!sort_fits_memory(share, size->width))
	{
		cost_sort_in_runs(size, members, startup, total);
		return;
	}
	*startup = cost_putting(size, share) + cost_sorting(size);
	/* memory that the server has set aside is not new */
	if (!shared_memory_is_set_aside(sort_rows_bytes(workers_rows, size->width)))
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

/* The same where the rows do not fit the memory: each process merges what it emits. */
static void
cost_groups_in_runs(const SortSize *size, double members, double busiest,
					Cost *startup, Cost *total)
{
	Cost		pages = cost_pages(size, members);

	*startup = (cost_putting(size, size->rows) + cost_sorting(size) + pages) /
		members;
	*total = *startup + busiest *
		(pages + cost_comparing_runs(size, members) +
		 size->rows * (PUT_ROW_COST + EMIT_ROW_COST));
}

void
cost_sort_in_groups(const SortSize *size, double members,
					double busiest, Cost *startup, Cost *total)
{
	if (!sort_fits_memory(size->rows / members, size->width))
	{
		cost_groups_in_runs(size, members, busiest, startup, total);
		return;
	}
	*startup = cost_putting(size, size->rows / members) +
		cost_sorting(size) + size->rows * SHARE_ROW_COST;
	if (!shared_memory_is_set_aside(sort_rows_bytes(size->rows, size->width)))
		*startup += kilobytes(size->rows, size->width) *
			NEW_SHARED_KILOBYTE_COST;
	*total = *startup + size->rows * busiest * gpusort_get_shared_row_cost;
}

/*
 * True if hardly any value of a Sort's column is there twice, as far as is
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

/* Core charges the same for all types; here some cost more. */
Cost
cost_merging_more(double rows, Oid type)
{
	return get_typbyval(type) ? 0 : rows * MERGE_POINTER_COST;
}

/*
 * Core charges the same for tables of all sizes.  But the larger a table is,
 * the more look-ups miss the caches: each doubling of the table was found to
 * add the same time.
 */
Cost
cost_hashing_more(double lookups, double entries, int width)
{
	double		bytes = sort_rows_bytes(entries, width) +
		entries * HASH_ENTRY_BYTES;

	/* a table that exceeds its memory is hashed in parts */
	bytes = Min(bytes, get_hash_memory_limit());
	return bytes <= FAST_HASH_BYTES ? 0 :
		lookups * log2(bytes / FAST_HASH_BYTES) * gpusort_hash_row_cost;
}
