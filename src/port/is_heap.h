/*-------------------------------------------------------------------------
 *
 * is_heap.h
 *	  Whether a table is a heap.
 *
 * Other table access methods keep their rows in their own ways, and pages of
 * theirs must not be read as a heap's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_IS_HEAP_H
#define GPUSORT_IS_HEAP_H

#include "access/tableam.h"
#include "utils/rel.h"

static inline bool
is_heap(Relation table)
{
	return table->rd_tableam == GetHeapamTableAmRoutine();
}

#endif							/* GPUSORT_IS_HEAP_H */
