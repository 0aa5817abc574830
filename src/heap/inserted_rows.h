/*-------------------------------------------------------------------------
 *
 * inserted_rows.h
 *	  Whether a transaction has inserted rows that count.
 *
 * Rows of a transaction that was rolled back stay on their pages for a while.
 * They may have been inserted when the table had other columns, so nothing but
 * their headers can be read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INSERTED_ROWS_H
#define GPUSORT_INSERTED_ROWS_H

#include "access/transam.h"
#include "access/xact.h"
#include "storage/procarray.h"

/*
 * True if the rows that the transaction has inserted are live: it is the
 * present one, or has committed.  Asks in the order in which core does.
 */
static inline bool
inserted_live_rows(TransactionId transaction)
{
	return TransactionIdIsCurrentTransactionId(transaction) ||
		(!TransactionIdIsInProgress(transaction) &&
		 TransactionIdDidCommit(transaction));
}

#endif							/* GPUSORT_INSERTED_ROWS_H */
