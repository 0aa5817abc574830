/*-------------------------------------------------------------------------
 *
 * group_rows.c
 *	  The rows of groups, as a node reads them in order.
 *
 * A node keeps the first row of a group, and compares each row with it.  Rows
 * are in order, so the first column that differs is mostly one of the first.
 * Values of the same bytes are equal, without a call of an operator.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "executor/group_rows.h"
#include "executor/row_sort.h"
#include "executor/row_source.h"
#include "port/execution_check.h"
#include "sort/group_starts.h"

/* A column that makes groups. */
typedef struct GroupColumn
{
	AttrNumber	attno;
	bool		by_value;
	Oid			collation;
	FmgrInfo	equal;
} GroupColumn;

struct GroupRows
{
	TupleDesc	descriptor;
	GroupColumn *columns;
	bool		are_values;		/* each row is a value, passed by value */
	MemoryContext value_context;	/* memory for one comparison at a time */
};

GroupRows *
group_rows_create(TupleDesc descriptor, int ncolumns)
{
	GroupRows  *rows = palloc0(sizeof(GroupRows));

	rows->descriptor = descriptor;
	rows->columns = palloc0((ncolumns + 1) * sizeof(GroupColumn));
	rows->are_values = row_sort_is_of_values(descriptor, 1);
	rows->value_context = AllocSetContextCreate(CurrentMemoryContext,
												"gpusort group values",
												ALLOCSET_SMALL_SIZES);
	return rows;
}

void
group_rows_set_column(GroupRows *rows, int column, AttrNumber attno,
					  Oid equality, Oid collation)
{
	Oid			function = get_opcode(equality);

	check_execution(function, GetUserId(), OBJECT_FUNCTION);
	fmgr_info(function, &rows->columns[column].equal);
	rows->columns[column].attno = attno;
	rows->columns[column].by_value =
		TupleDescAttr(rows->descriptor, attno - 1)->attbyval;
	rows->columns[column].collation = collation;
}

GroupRows *
group_rows_of_sort(TupleDesc descriptor, const SortColumn *columns,
				   int ncolumns)
{
	GroupRows  *rows = group_rows_create(descriptor, ncolumns);

	for (int i = 0; i < ncolumns; i++)
		group_rows_set_column(rows, i, columns[i].attno,
							  sort_column_equality(&columns[i]),
							  columns[i].collation);
	return rows;
}

/* Are two values of a column, not NULL, equal by its operator? */
static bool
are_equal(const GroupRows *rows, GroupColumn *column, Datum first, Datum next)
{
	MemoryContext caller_context = MemoryContextSwitchTo(rows->value_context);
	bool		equal;

	equal = group_values_equal(&column->equal, column->collation,
							   TupleDescAttr(rows->descriptor,
											 column->attno - 1),
							   first, next);
	MemoryContextReset(rows->value_context);
	MemoryContextSwitchTo(caller_context);
	return equal;
}

int
group_rows_difference(GroupRows *rows, int ncolumns, TupleTableSlot *first,
					  TupleTableSlot *next)
{
	for (int i = 0; i < ncolumns; i++)
	{
		GroupColumn *column = &rows->columns[i];
		bool		null_first;
		bool		null_next;
		Datum		value_first = slot_getattr(first, column->attno,
											   &null_first);
		Datum		value_next = slot_getattr(next, column->attno, &null_next);

		if (null_first != null_next)
			return i;
		if (null_first || (column->by_value && value_first == value_next))
			continue;
		if (!are_equal(rows, column, value_first, value_next))
			return i;
	}
	return ncolumns;
}

/* Keeps a row that stays where it is, with its columns if they are known. */
static void
keep_in_place(TupleTableSlot *kept, const TupleTableSlot *row)
{
	int			ncolumns = row->tts_tupleDescriptor->natts;

	ExecStoreMinimalTuple(((const MinimalTupleTableSlot *) row)->mintuple,
						  kept, false);
	if (row->tts_nvalid < ncolumns)
		return;
	for (int i = 0; i < ncolumns; i++)
	{
		kept->tts_values[i] = row->tts_values[i];
		kept->tts_isnull[i] = row->tts_isnull[i];
	}
	kept->tts_nvalid = ncolumns;
}

void
group_rows_keep(const GroupRows *rows, TupleTableSlot *kept,
				TupleTableSlot *row, bool stays)
{
	if (stays)
		keep_in_place(kept, row);
	else if (rows->are_values)
	{
		bool		isnull;
		Datum		value = slot_getattr(row, 1, &isnull);

		row_source_store_value(kept, isnull ? NULL : &value);
	}
	else
		ExecCopySlot(kept, row);
}
