/*-------------------------------------------------------------------------
 *
 * value_buffer.h
 *	  Values of which some are wanted when it is known how many there are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_VALUE_BUFFER_H
#define GPUSORT_VALUE_BUFFER_H

#include "nodes/execnodes.h"

typedef struct ValueBuffer ValueBuffer;

/*
 * An empty buffer for values like those of this column, which takes the memory of
 * a sort, and a file beyond that.  It lives as long as the query's memory.
 */
extern ValueBuffer *value_buffer_create(EState *estate, TupleDesc descriptor,
										AttrNumber column);

/* Takes in a copy of a value. */
extern void value_buffer_add(ValueBuffer *buffer, Datum value);

/*
 * The value that came at this position, counted from 0; positions must not descend.
 * Valid until the next call.
 */
extern Datum value_buffer_get(ValueBuffer *buffer, uint64 position);

/* Empties it. */
extern void value_buffer_reset(ValueBuffer *buffer);

#endif							/* GPUSORT_VALUE_BUFFER_H */
