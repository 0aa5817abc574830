/*-------------------------------------------------------------------------
 *
 * tid_list.h
 *	  Lists of row identifiers (TIDs) in ascending order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TID_LIST_H
#define GPUSORT_TID_LIST_H

#include "access/gin_private.h"

/* Does this list ascend, without duplicates? */
extern bool tid_list_ascends(const ItemPointerData *tids, uint64 count);

/*
 * Puts a list in ascending order, and drops duplicates.  Returns how many TIDs
 * are left.  Takes as much memory as the list for a while, unless the list
 * ascends already.
 */
extern uint64 tid_list_sort(ItemPointerData *tids, uint64 count);

/* Returns how many of an ascending list's TIDs come before this one. */
extern uint64 tid_list_before(const ItemPointerData *tids, uint64 count,
							  const ItemPointerData *tid);

static inline uint64
tid_number(const ItemPointerData *tid)
{
	return (uint64) GinItemPointerGetBlockNumber(tid) << 16 |
		GinItemPointerGetOffsetNumber(tid);
}

#endif							/* GPUSORT_TID_LIST_H */
