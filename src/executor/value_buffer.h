/*-------------------------------------------------------------------------
 *
 * value_buffer.h
 *	  Values of a group, some of which are wanted when the group is complete.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_VALUE_BUFFER_H
#define GPUSORT_VALUE_BUFFER_H

#include "nodes/execnodes.h"

typedef struct ValueBuffer ValueBuffer;

/*
 * Makes an empty buffer for values like the values of this column.  The buffer
 * takes the memory of a sort, and a file beyond that.  It lives as long as the
 * query's memory.
 */
extern ValueBuffer *value_buffer_create(EState *estate, TupleDesc descriptor,
										AttrNumber column);

/* Adds a copy of a value. */
extern void value_buffer_add(ValueBuffer *buffer, Datum value);

/*
 * Returns the value that came at this position, counted from 0.  Positions
 * must not descend.  The value is valid until the next call.
 */
extern Datum value_buffer_get(ValueBuffer *buffer, uint64 position);

/* Empties the buffer. */
extern void value_buffer_reset(ValueBuffer *buffer);

#endif							/* GPUSORT_VALUE_BUFFER_H */
