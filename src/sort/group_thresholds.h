/*-------------------------------------------------------------------------
 *
 * group_thresholds.h
 *	  Leaving out rows that cannot be among the first of their group.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_THRESHOLDS_H
#define GPUSORT_GROUP_THRESHOLDS_H

#include "sort/group_limit.h"

/* The first rows of each group so far, with a memory context of their own. */
typedef struct GroupThresholds GroupThresholds;

/*
 * Begins without rows.  Returns NULL if keys cannot tell groups and thresholds.
 * The arguments must stay.  Allocates in a child of the current memory context.
 */
extern GroupThresholds *group_thresholds_begin(GroupLimit *limit,
											   TupleDesc descriptor,
											   const SortColumn *columns,
											   int ncolumns,
											   double expected_rows);

/* Returns the most bytes that thresholds take if a sort has this many. */
extern Size group_thresholds_most_bytes(Size sort_bytes);

/*
 * Returns whether the slot's row can be left out, since enough rows of its
 * group that were not left out sort before it.  Otherwise the caller has to
 * sort the row.  Ends the thresholds when they do not pay.
 */
extern bool group_thresholds_leave_out(GroupThresholds **thresholds,
									   TupleTableSlot *slot);

/* Returns the bytes that the thresholds take; 0 if there are none. */
extern Size group_thresholds_bytes(const GroupThresholds *thresholds);

/* Frees the thresholds, if there are any, and sets the pointer to NULL. */
extern void group_thresholds_end(GroupThresholds **thresholds);

#endif							/* GPUSORT_GROUP_THRESHOLDS_H */
