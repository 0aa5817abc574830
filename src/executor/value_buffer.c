/*-------------------------------------------------------------------------
 *
 * value_buffer.c
 *	  Values of a group, some of which are wanted when the group is complete.
 *
 * Which values of a group make a percentile is known when the group's last row
 * has come.  Most groups are small, and an array has their values.  The values
 * of a group that exceeds the memory go to a tuplestore.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "executor/value_buffer.h"
#include "port/compat.h"
#include "settings.h"

#define FIRST_ROOM	64
/* An array of more bytes does not stay for the next group. */
#define KEPT_BYTES	(64 * 1024)

struct ValueBuffer
{
	bool		by_value;
	int16		length;			/* length of a value, as in pg_type */
	Datum	   *values;
	uint64		nvalues;
	uint64		room;
	MemoryContext memory;		/* memory of the query */
	MemoryContext copies;		/* memory of values that are by reference */
	Size		copied;			/* bytes of these values */
	Tuplestorestate *store;		/* all values, if they exceed the memory; or
								 * NULL */
	uint64		read;			/* number of values that have been read from
								 * the tuplestore */
	TupleTableSlot *slot;		/* value that was read last */
};

ValueBuffer *
value_buffer_create(EState *estate, TupleDesc descriptor, AttrNumber column)
{
	MemoryContext caller_context = MemoryContextSwitchTo(estate->es_query_cxt);
	ValueBuffer *buffer = palloc0(sizeof(ValueBuffer));
	TupleDesc	value = CreateTemplateTupleDesc(1);

	TupleDescCopyEntry(value, 1, descriptor, column);
	TupleDescFinalize(value);
	buffer->by_value = TupleDescAttr(descriptor, column - 1)->attbyval;
	buffer->length = TupleDescAttr(descriptor, column - 1)->attlen;
	buffer->room = FIRST_ROOM;
	buffer->values = palloc(FIRST_ROOM * sizeof(Datum));
	buffer->memory = estate->es_query_cxt;
	buffer->copies = AllocSetContextCreate(buffer->memory,
										   "gpusort values of a group",
										   ALLOCSET_DEFAULT_SIZES);
	buffer->slot = ExecInitExtraTupleSlot(estate, value, &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(caller_context);
	return buffer;
}

/* Adds a value to the tuplestore. */
static void
store_value(ValueBuffer *buffer, Datum value)
{
	bool		isnull = false;

	tuplestore_putvalues(buffer->store, buffer->slot->tts_tupleDescriptor,
						 &value, &isnull);
}

/*
 * Returns the bytes of the array, with room for this many values, and of what
 * the values refer to.
 */
static Size
bytes_of(const ValueBuffer *buffer, uint64 room)
{
	return room * sizeof(Datum) + buffer->copied;
}

/*
 * Frees the values in memory.  The array keeps as much room as it had at
 * first.
 */
static void
forget_values(ValueBuffer *buffer)
{
	if (buffer->room > FIRST_ROOM)
		buffer->values = repalloc(buffer->values, FIRST_ROOM * sizeof(Datum));
	buffer->room = FIRST_ROOM;
	MemoryContextReset(buffer->copies);
	buffer->copied = 0;
}

/* Moves the values to a tuplestore. */
static void
begin_store(ValueBuffer *buffer)
{
	MemoryContext caller_context = MemoryContextSwitchTo(buffer->memory);

	buffer->store = tuplestore_begin_heap(false, false,
										  gpusort_memory_limit() / 1024);
	MemoryContextSwitchTo(caller_context);
	for (uint64 i = 0; i < buffer->nvalues; i++)
		store_value(buffer, buffer->values[i]);
	forget_values(buffer);
}

/*
 * Makes room for one more value in the array; false if that takes too much
 * memory.
 */
static bool
make_room(ValueBuffer *buffer)
{
	uint64		room = buffer->nvalues < buffer->room ? buffer->room :
		buffer->room * 2;

	if (bytes_of(buffer, room) > gpusort_memory_limit())
		return false;
	if (room > buffer->room)
		buffer->values = repalloc_huge(buffer->values, room * sizeof(Datum));
	buffer->room = room;
	return true;
}

static Datum
copy_value(ValueBuffer *buffer, Datum value)
{
	MemoryContext caller_context = MemoryContextSwitchTo(buffer->copies);

	value = datumCopy(value, false, buffer->length);
	buffer->copied += GetMemoryChunkSpace(DatumGetPointer(value));
	MemoryContextSwitchTo(caller_context);
	return value;
}

void
value_buffer_add(ValueBuffer *buffer, Datum value)
{
	if (unlikely(buffer->store == NULL &&
				 (buffer->nvalues == buffer->room || buffer->copied > 0) &&
				 !make_room(buffer)))
		begin_store(buffer);
	if (unlikely(buffer->store != NULL))
		store_value(buffer, value);
	else
		buffer->values[buffer->nvalues] = buffer->by_value ? value :
			copy_value(buffer, value);
	buffer->nvalues++;
}

Datum
value_buffer_get(ValueBuffer *buffer, uint64 position)
{
	bool		isnull;

	Assert(position < buffer->nvalues);
	if (buffer->store == NULL)
		return buffer->values[position];

	/* a value that was read is not read again */
	if (position >= buffer->read)
	{
		if (!tuplestore_skiptuples(buffer->store, position - buffer->read, true) ||
			!tuplestore_gettupleslot(buffer->store, true, false, buffer->slot))
			elog(ERROR, "fewer values are stored than came");
		buffer->read = position + 1;
	}
	return slot_getattr(buffer->slot, 1, &isnull);
}

void
value_buffer_reset(ValueBuffer *buffer)
{
	if (buffer->store != NULL)
	{
		ExecClearTuple(buffer->slot);
		tuplestore_end(buffer->store);
		buffer->store = NULL;
	}
	else if (buffer->copied > 0 || bytes_of(buffer, buffer->room) > KEPT_BYTES)
		forget_values(buffer);
	buffer->nvalues = 0;
	buffer->read = 0;
}
