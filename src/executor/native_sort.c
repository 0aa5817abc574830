/*-------------------------------------------------------------------------
 *
 * native_sort.c
 *	  Core's own sort, as nodeSort.c uses it.
 *
 * If only the first rows are wanted, core keeps no more than these, in a heap.
 * If rows have one column, core sorts the values.  From 16 on it does so for
 * values by reference, too, but then does not count the memory of the values.
 * So here only values by value are sorted as values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "cost/sort_cost.h"
#include "executor/native_sort.h"
#include "port/compat.h"

/*
 * ---- the sorted rows
 */

/* Stores the next value in the slot, as a row. */
static bool
get_value(RowSource *source, bool forward, TupleTableSlot *slot)
{
	Tuplesortstate *state = ((NativeSort *) source)->state;

	ExecClearTuple(slot);
	if (!tuplesort_getdatum(state, forward, false, &slot->tts_values[0],
							&slot->tts_isnull[0], NULL))
		return false;
	ExecStoreVirtualTuple(slot);
	return true;
}

static bool
get_row(RowSource *source, bool forward, TupleTableSlot *slot)
{
	return tuplesort_gettupleslot(((NativeSort *) source)->state, forward,
								  false, slot, NULL);
}

static void
skip_rows(RowSource *source, uint64 nrows)
{
	(void) tuplesort_skiptuples(((NativeSort *) source)->state, nrows, true);
}

static void
rescan_rows(RowSource *source)
{
	tuplesort_rescan(((NativeSort *) source)->state);
}

static void
mark_row(RowSource *source)
{
	tuplesort_markpos(((NativeSort *) source)->state);
}

static void
restore_row(RowSource *source)
{
	tuplesort_restorepos(((NativeSort *) source)->state);
}

static const RowSourceMethods native_rows = {
	get_row, skip_rows, rescan_rows, mark_row, restore_row
};

static const RowSourceMethods native_values = {
	get_value, skip_rows, rescan_rows, mark_row, restore_row
};

/*
 * ---- the sort
 */

static Tuplesortstate *
begin_of_rows(TupleDesc descriptor, const SortColumn *columns, int ncolumns,
			  int kilobytes, int options)
{
	AttrNumber *attnos = palloc(ncolumns * sizeof(AttrNumber));
	Oid		   *operators = palloc(ncolumns * sizeof(Oid));
	Oid		   *collations = palloc(ncolumns * sizeof(Oid));
	bool	   *nulls_first = palloc(ncolumns * sizeof(bool));

	for (int i = 0; i < ncolumns; i++)
	{
		attnos[i] = columns[i].attno;
		operators[i] = columns[i].sort_operator;
		collations[i] = columns[i].collation;
		nulls_first[i] = columns[i].nulls_first;
	}
	return tuplesort_begin_heap(descriptor, ncolumns, attnos, operators,
								collations, nulls_first, kilobytes, NULL,
								options);
}

/* Returns whether core can use a bound: it takes no larger one. */
static bool
is_bounded(double bound)
{
	return bound != NO_BOUND && bound <= INT_MAX / 2;
}

/* Tells an empty sort how many rows are wanted. */
static void
set_bound(NativeSort *sort, double bound)
{
	if (is_bounded(bound))
		tuplesort_set_bound(sort->state, bound);
}

NativeSort *
native_sort_begin(TupleDesc descriptor, const SortColumn *columns,
				  int ncolumns, Size limit, double bound, bool random_access)
{
	NativeSort *sort = palloc(sizeof(NativeSort));
	int			options = random_access ? TUPLESORT_RANDOMACCESS :
		TUPLESORT_NONE;
	int			kilobytes = limit / 1024;

	if (is_bounded(bound))
		options |= TUPLESORT_ALLOWBOUNDED;

	/* a column can be sorted by twice, under different collations */
	sort->of_values = descriptor->natts == 1 && ncolumns == 1 &&
		TupleDescAttr(descriptor, 0)->attbyval;
	sort->source.methods = sort->of_values ? &native_values : &native_rows;
	if (sort->of_values)
		sort->state = tuplesort_begin_datum(TupleDescAttr(descriptor, 0)->atttypid,
											columns[0].sort_operator,
											columns[0].collation,
											columns[0].nulls_first, kilobytes,
											NULL, options);
	else
		sort->state = begin_of_rows(descriptor, columns, ncolumns, kilobytes,
									options);
	set_bound(sort, bound);
	return sort;
}

void
native_sort_empty(NativeSort *sort, double bound)
{
	tuplesort_reset(sort->state);
	set_bound(sort, bound);
}

uint64
native_sort_take(NativeSort *sort, const InputRows *input, uint64 most)
{
	uint64		nrows = 0;

	for (; nrows < most; nrows++)
	{
		TupleTableSlot *slot = input_rows_next(input);

		if (TupIsNull(slot))
			break;
		native_sort_put(sort, slot);
	}
	return nrows;
}
