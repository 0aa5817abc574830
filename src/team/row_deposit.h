/*-------------------------------------------------------------------------
 *
 * row_deposit.h
 *	  Putting the rows of one process of a team into shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_DEPOSIT_H
#define GPUSORT_ROW_DEPOSIT_H

#include "executor/tuptable.h"

#include "sort_progress.h"
#include "team/shared_rows.h"

/* A process that puts rows. */
typedef struct RowDeposit RowDeposit;

/*
 * Takes part, as shared_rows_join() does, and begins to put rows; NULL if that
 * is too late.  This process makes the keys of its rows, unless only one
 * process can make keys.  Adds its segments to "segments".  "progress", which
 * must stay or is NULL, counts the rows that are sent.  Allocates in the
 * current memory context.
 */
extern RowDeposit *row_deposit_begin(SharedRows *shared,
									 RowSegments *segments, int process,
									 TupleDesc descriptor,
									 const SortColumn *columns, int ncolumns,
									 SortProgress *progress);

/* Puts a row; false if the process has to keep this and all later rows. */
extern bool row_deposit_put(RowDeposit *deposit, TupleTableSlot *slot);

/*
 * Put a row that the caller forms, in two steps.  row_deposit_reserve()
 * returns room for a row of this many bytes, MAXALIGNed; NULL if there is
 * none.  The caller forms the row there.  row_deposit_add() puts that row,
 * with the key of the slot.  It returns false if there is no room for the key;
 * then the row is lost.
 */
extern void *row_deposit_reserve(RowDeposit *deposit, Size bytes);
extern bool row_deposit_add(RowDeposit *deposit, TupleTableSlot *slot);

/* Sends the last batch, and finishes, as shared_rows_finish() does. */
extern void row_deposit_finish(RowDeposit *deposit, uint64 nkept);

/*
 * Waits until the collector has taken all rows that were sent, and so has
 * mapped their segments; then ends the deposit.
 */
extern void row_deposit_end(RowDeposit *deposit);

#endif							/* GPUSORT_ROW_DEPOSIT_H */
