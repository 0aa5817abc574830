/*-------------------------------------------------------------------------
 *
 * row_maker.c
 *	  Rows made of some columns of other rows.
 *
 * A node that sorts several values of its child's rows does a sort for each.
 * Each sort gets only the columns that it needs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"

#include "executor/row_maker.h"
#include "executor/value_cast.h"
#include "port/compat.h"

typedef struct ColumnMaker
{
	RowMaker	maker;			/* must be first */
	int			ncolumns;
	int		   *columns;		/* columns of the child, counted from 0 */
	int			cast_place;		/* place of the column that is cast, or -1 */
	ExprContext *context;
	TupleTableSlot *slot;		/* the row that was made */
} ColumnMaker;

static TupleTableSlot *
make_row(RowMaker *maker, TupleTableSlot *row)
{
	const ColumnMaker *made = (const ColumnMaker *) maker;
	TupleTableSlot *slot = made->slot;
	int			cast = made->cast_place;

	slot_getallattrs(row);
	ExecClearTuple(slot);
	for (int i = 0; i < made->ncolumns; i++)
	{
		slot->tts_values[i] = row->tts_values[made->columns[i]];
		slot->tts_isnull[i] = row->tts_isnull[made->columns[i]];
	}
	if (cast >= 0 && !slot->tts_isnull[cast])
		slot->tts_values[cast] = value_cast_do(slot->tts_values[cast],
											   made->context);
	return ExecStoreVirtualTuple(slot);
}

RowMaker *
row_maker_create(CustomScanState *node, const List *columns, Oid cast,
				 int cast_place, TupleDesc *descriptor)
{
	ColumnMaker *made = palloc0(sizeof(ColumnMaker));
	TupleDesc	child = ExecGetResultType(outerPlanState(node));
	ListCell   *cell;

	made->maker.make = make_row;
	made->ncolumns = list_length(columns);
	made->columns = palloc(made->ncolumns * sizeof(int));
	made->cast_place = OidIsValid(cast) ? cast_place : -1;
	*descriptor = CreateTemplateTupleDesc(made->ncolumns);
	foreach(cell, columns)
	{
		int			i = foreach_current_index(cell);

		made->columns[i] = lfirst_int(cell) - 1;
		if (i == made->cast_place)
			TupleDescInitEntry(*descriptor, i + 1, NULL, FLOAT8OID, -1, 0);
		else
			TupleDescCopyEntry(*descriptor, i + 1, child, lfirst_int(cell));
	}
	TupleDescFinalize(*descriptor);
	made->context = node->ss.ps.ps_ExprContext;
	made->slot = ExecInitExtraTupleSlot(node->ss.ps.state, *descriptor,
										&TTSOpsVirtual);
	return &made->maker;
}
