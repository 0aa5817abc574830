/*-------------------------------------------------------------------------
 *
 * row_deposit.h
 *	  Putting rows into memory that processes share which sort together.
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
 * Takes part, as by shared_rows_join(), and begins to put rows; NULL if that is too late.
 * This process makes the keys, unless only one process can make them.  Its segments are
 * added to "segments".  The progress, which has to stay, or is NULL, gets the rows that
 * are sent.  Allocates in the current memory context.
 */
extern RowDeposit *row_deposit_begin(SharedRows *shared,
									 RowSegments *segments, int process,
									 TupleDesc descriptor,
									 const SortColumn *columns, int ncolumns,
									 SortProgress *progress);

/* Puts a row; false if the process has to keep this and all later rows. */
extern bool row_deposit_put(RowDeposit *deposit, TupleTableSlot *slot);

/*
 * The same in two steps, for a row that the caller forms.  row_deposit_reserve() returns
 * room for a row of this many bytes, MAXALIGNed, or NULL if there is none.
 * row_deposit_add() puts the row that has been formed there, with the key of the slot;
 * false if there is no room for that, and then the row is lost.
 */
extern void *row_deposit_reserve(RowDeposit *deposit, Size bytes);
extern bool row_deposit_add(RowDeposit *deposit, TupleTableSlot *slot);

/* Sends the last batch, and finishes, as by shared_rows_finish(). */
extern void row_deposit_finish(RowDeposit *deposit, uint64 nkept);

/*
 * Waits until the collector has all rows that were sent, and so has mapped their
 * segments; ends the deposit.
 */
extern void row_deposit_end(RowDeposit *deposit);

#endif							/* GPUSORT_ROW_DEPOSIT_H */
