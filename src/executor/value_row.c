/*-------------------------------------------------------------------------
 *
 * value_row.c
 *	  Rows of a group and one value, made of rows with several values.
 *
 * A node that sorts several values of its child's rows does a sort for each.
 * Each sort gets only the columns of the groups, and its value behind them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"

#include "executor/value_cast.h"
#include "executor/value_row.h"
#include "port/compat.h"

typedef struct ValueRow
{
	RowMaker	maker;			/* must be first */
	int			ngroup_columns;
	AttrNumber	value_column;	/* column of the child */
	bool		casts;
	ExprContext *context;
	TupleTableSlot *slot;		/* the row that was made */
} ValueRow;

static TupleTableSlot *
make_value_row(RowMaker *maker, TupleTableSlot *row)
{
	const ValueRow *made = (const ValueRow *) maker;
	TupleTableSlot *slot = made->slot;
	int			n = made->ngroup_columns;
	int			column = made->value_column - 1;

	slot_getallattrs(row);
	ExecClearTuple(slot);
	for (int i = 0; i < n; i++)
	{
		slot->tts_values[i] = row->tts_values[i];
		slot->tts_isnull[i] = row->tts_isnull[i];
	}
	slot->tts_isnull[n] = row->tts_isnull[column];
	slot->tts_values[n] = made->casts && !row->tts_isnull[column] ?
		value_cast_do(row->tts_values[column], made->context) :
		row->tts_values[column];
	return ExecStoreVirtualTuple(slot);
}

RowMaker *
value_row_maker(CustomScanState *node, int ngroup_columns,
				AttrNumber value_column, Oid cast, TupleDesc *descriptor)
{
	ValueRow   *made = palloc0(sizeof(ValueRow));
	TupleDesc	columns = ExecGetResultType(outerPlanState(node));
	int			n = ngroup_columns;

	*descriptor = CreateTemplateTupleDesc(n + 1);
	for (int i = 1; i <= n; i++)
		TupleDescCopyEntry(*descriptor, i, columns, i);
	if (OidIsValid(cast))
		TupleDescInitEntry(*descriptor, n + 1, NULL, FLOAT8OID, -1, 0);
	else
		TupleDescCopyEntry(*descriptor, n + 1, columns, value_column);
	TupleDescFinalize(*descriptor);
	made->maker.make = make_value_row;
	made->ngroup_columns = n;
	made->value_column = value_column;
	made->casts = OidIsValid(cast);
	made->context = node->ss.ps.ps_ExprContext;
	made->slot = ExecInitExtraTupleSlot(node->ss.ps.state, *descriptor,
										&TTSOpsVirtual);
	return &made->maker;
}
