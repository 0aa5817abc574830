/*-------------------------------------------------------------------------
 *
 * window_slot.c
 *	  A slot of the columns of a row and the results of window functions.
 *
 * To take the columns out of a row takes longer than to evaluate most
 * functions, and often nobody above reads all columns.  So the slot takes a
 * column when somebody asks for it, as other slots do.  Apart from that it is
 * a virtual slot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "port/compat.h"
#include "window/window_slot.h"

static void
take_columns(TupleTableSlot *slot, int ncolumns)
{
	WindowSlot *window = (WindowSlot *) slot;
	TupleTableSlot *row = window->row;

	slot_getsomeattrs(row, window->needed[ncolumns - 1]);
	for (int i = slot->tts_nvalid; i < ncolumns; i++)
	{
		int			source = window->sources[i];

		if (source > 0)
		{
			slot->tts_values[i] = row->tts_values[source - 1];
			slot->tts_isnull[i] = row->tts_isnull[source - 1];
		}
		else
		{
			slot->tts_values[i] = window->values[-source];
			slot->tts_isnull[i] = window->isnull[-source];
		}
	}
	slot->tts_nvalid = ncolumns;
}

static void
materialize(TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	TTSOpsVirtual.materialize(slot);
}

static HeapTuple
copy_heap_tuple(TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	return TTSOpsVirtual.copy_heap_tuple(slot);
}

static MinimalTuple
copy_minimal_tuple(TupleTableSlot *slot EXTRA_BYTES_PARAMETER)
{
	slot_getallattrs(slot);
	return TTSOpsVirtual.copy_minimal_tuple(slot EXTRA_BYTES_ARGUMENT);
}

const TupleTableSlotOps *
window_slot_ops(void)
{
	static TupleTableSlotOps ops;
	const size_t size = sizeof(WindowSlot);

	if (ops.init == NULL)
	{
		memcpy(&ops, &TTSOpsVirtual, sizeof(ops));
		/* in the type the size is constant */
		memcpy((void *) &ops.base_slot_size, &size, sizeof(size));
		ops.getsomeattrs = take_columns;
		ops.materialize = materialize;
		ops.copy_heap_tuple = copy_heap_tuple;
		ops.copy_minimal_tuple = copy_minimal_tuple;
	}
	return &ops;
}

WindowSlot *
window_slot_create(EState *estate, TupleDesc descriptor, const int *sources,
				   const Datum *values, const bool *isnull)
{
	WindowSlot *slot = (WindowSlot *)
		ExecInitExtraTupleSlot(estate, descriptor, window_slot_ops());
	AttrNumber *needed = palloc((descriptor->natts + 1) * sizeof(AttrNumber));
	AttrNumber	most = 0;

	for (int i = 0; i < descriptor->natts; i++)
	{
		most = Max(most, sources[i]);
		needed[i] = most;
	}
	slot->sources = sources;
	slot->needed = needed;
	slot->values = values;
	slot->isnull = isnull;
	return slot;
}
