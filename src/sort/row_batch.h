/*-------------------------------------------------------------------------
 *
 * row_batch.h
 *	  Rows and their keys on the way from one process to another.
 *
 * When parallel processes sort together, the collector takes the rows of all.
 * A row stays where it was put in shared memory.  The collector gets batches.
 * A batch has the keys of some rows, and the places of these rows, which lie
 * one behind the other in one segment of memory.  Batches are sent by a list,
 * in no order.  Which processes make batches, and in which memory, is the
 * business of row_deposit.c.
 *
 * All keys of a batch have one layout.  A process with a row that does not fit
 * the layout proposes another, which all processes use from their next batch
 * on (shared_layout.h).  Batches may still come in an earlier layout; the
 * collector makes their keys again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_BATCH_H
#define GPUSORT_ROW_BATCH_H

#include "executor/tuptable.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

#include "keys/sort_keys.h"
#include "sort/row_order.h"
#include "sort/row_store.h"

/* The most rows of a batch, and the words for their keys. */
#define BATCH_ROWS		1024
#define BATCH_WORDS		(2 * BATCH_ROWS)

/* The place of a batch in shared memory, the same for all processes. */
typedef uint64 BatchPlace;

#define NO_BATCH		((BatchPlace) 0)

/*
 * A batch: rows of one process.  Row i lies from places[i] to places[i + 1],
 * in bytes from the start of the segment.
 */
typedef struct RowBatch
{
	BatchPlace	next;			/* next batch of a list */
	uint64		segment;		/* segment of the rows, in the user's
								 * numbering */
	uint32		nrows;
	uint32		nwords;
	uint32		layout;			/* number of the keys' layout */
	bool		truncated;		/* some key was truncated */
	bool		doubtful;		/* the keys are doubtful */
	uint8		key_words[BATCH_ROWS];	/* words of each key, 0 for none */
	uint32		places[BATCH_ROWS + 1];
	uint64_t	words[BATCH_WORDS];
} RowBatch;

/* Rows of a batch that the collector has taken, one behind the other. */
typedef struct RowSequence
{
	uint32		nrows;
	uint64		first_place;	/* place of the first row, in the user's
								 * numbering */
} RowSequence;

/* The rows of all batches so far. */
typedef struct RowSequences
{
	RowSequence *list;
	int			count;
	int			max;
} RowSequences;

/* Shared memory of processes that exchange batches. */
typedef struct RowExchange
{
	pg_atomic_uint32 closed;	/* a bool: no more rows are wanted */
	ConditionVariable sent;		/* signalled when a batch was sent */
	slock_t		mutex;			/* protects the list, and fields of the user */
	volatile BatchPlace batches;	/* list of batches that nobody has taken */
	SharedLayout layout;		/* layout of the keys */
} RowExchange;

extern void row_exchange_init(RowExchange *exchange);

/*
 * Set and read that no more rows are wanted.  Any process may call these, at
 * any time.
 */
extern void row_exchange_close(RowExchange *exchange);

static inline bool
row_exchange_is_closed(RowExchange *exchange)
{
	return pg_atomic_read_u32(&exchange->closed) != 0;
}

/*
 * Begins a batch for rows of this segment, from this place on.  "keys" are the
 * process's own, and follow the shared layout.  If "keys" is NULL the
 * collector makes the keys.
 */
extern void row_batch_begin(RowBatch *batch, RowExchange *exchange,
							SortKeys *keys, uint64 segment, uint32 place);

/* Is the room too small for another key of any length? */
static inline bool
row_batch_is_full(const RowBatch *batch)
{
	return batch->nrows == BATCH_ROWS ||
		batch->nwords + KEY_MAX_WORDS > BATCH_WORDS;
}

/*
 * Adds a row that ends at this place, and its key.  If the row does not fit
 * the layout, proposes another and returns false: the row belongs into a new
 * batch.
 */
static inline bool
row_batch_add(RowBatch *batch, RowExchange *exchange, SortKeys *keys,
			  TupleTableSlot *slot, uint32 end)
{
	int			nwords = 0;

	if (likely(keys != NULL))
	{
		nwords = sort_keys_encode(keys, slot, batch->words + batch->nwords);
		if (unlikely(nwords == 0))
		{
			sort_keys_propose(keys, &exchange->layout);
			return false;
		}
	}
	batch->key_words[batch->nrows++] = nwords;
	batch->nwords += nwords;
	batch->places[batch->nrows] = end;
	return true;
}

/* Sends a batch, which belongs to the process that takes it. */
extern void row_exchange_send(RowExchange *exchange, RowBatch *batch,
							  BatchPlace place, const SortKeys *keys);

/* Have batches been sent that nobody has taken? */
static inline bool
row_exchange_has_batches(const RowExchange *exchange)
{
	return exchange->batches != NO_BATCH;
}

/* Takes all batches that were sent, as a list. */
extern BatchPlace row_exchange_take(RowExchange *exchange);

/*
 * For the collector: notes the rows of a batch whose segment begins at "base",
 * and takes their keys.  Makes the keys itself if it has gone on to another
 * layout, or if the batch has none.  Returns the number of rows for which
 * there was room.
 */
extern uint32 row_batch_take(const RowBatch *batch, char *base,
							 RowStore *store, RowOrder *order);

/* Makes an empty list, in the current memory context. */
extern void row_sequences_init(RowSequences *sequences);

/* Adds the rows of a batch, which the collector has taken. */
extern void row_sequences_note(RowSequences *sequences, uint32 nrows,
							   uint64 first_place);

#endif							/* GPUSORT_ROW_BATCH_H */
