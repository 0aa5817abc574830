/*-------------------------------------------------------------------------
 *
 * row_batch.h
 *	  Rows and their keys on the way from one process to another.
 *
 * Parallel processes that sort together have one that collects the rows of
 * all: their leader.  A row stays where it was put in shared memory.  What goes
 * to the leader is a batch: the places of some rows, one behind the other in
 * one segment of memory, and their keys.  Batches are handed over by a list,
 * in no order; who makes batches, and where, is up to those who use this
 * (shared_rows.c, parallel_build.c).
 *
 * Keys are in one of two layouts (sort_keys.h), the same for a whole batch.  A
 * process that finds a row which does not fit the compact one goes on in the
 * general one, and so do all others from their next batch on.  The leader makes
 * keys again where batches still come in the compact one.
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

/* Of rows in a batch, and of words of their keys. */
#define BATCH_ROWS		1024
#define BATCH_WORDS		(2 * BATCH_ROWS)

/* A place of shared memory by which all processes find a batch; 0 is none. */
typedef uint64 BatchPlace;

#define NO_BATCH		((BatchPlace) 0)

/*
 * Some rows of one process.  They lie from places[i] to places[i + 1], counted
 * from the start of their segment.
 */
typedef struct RowBatch
{
	BatchPlace	next;			/* of a list */
	uint64		segment;		/* of the rows, as its owner calls it */
	uint32		nrows;
	uint32		nwords;
	bool		general;		/* layout of the keys */
	bool		truncated;		/* some key was cut */
	bool		doubtful;		/* as are keys so far */
	uint8		key_words[BATCH_ROWS];	/* length of each key, 0: there is none */
	uint32		places[BATCH_ROWS + 1];
	uint64_t	words[BATCH_WORDS];
} RowBatch;

/* What processes share that hand over batches. */
typedef struct RowExchange
{
	pg_atomic_uint32 closed;	/* no more rows are wanted */
	pg_atomic_uint32 general;	/* the compact layout is of no use */
	ConditionVariable handed;	/* a batch has been handed over */
	slock_t		mutex;			/* for the list, and what its user says */
	volatile BatchPlace batches;	/* that nobody has taken */
} RowExchange;

extern void row_exchange_init(RowExchange *exchange);

/* No more rows are wanted.  And is it so?  Both at any time, by anyone. */
extern void row_exchange_close(RowExchange *exchange);

static inline bool
row_exchange_is_closed(RowExchange *exchange)
{
	return pg_atomic_read_u32(&exchange->closed) != 0;
}

/*
 * Begins a batch for rows of this segment, from this place on.  The keys, which
 * are the process's own, change to the general layout if others have.  Without
 * keys (NULL) the leader has to make them.
 */
extern void row_batch_begin(RowBatch *batch, RowExchange *exchange,
							SortKeys *keys, uint64 segment, uint32 place);

/* Is there no room for another key, which may be of any length? */
static inline bool
row_batch_is_full(const RowBatch *batch)
{
	return batch->nrows == BATCH_ROWS ||
		batch->nwords + KEY_MAX_WORDS > BATCH_WORDS;
}

/*
 * Adds a row that ends at this place, with its key.  False if the key does not
 * fit the layout: then the row belongs into a new batch, for which all go on in
 * the general one.
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
			pg_atomic_write_u32(&exchange->general, 1);
			return false;
		}
	}
	batch->key_words[batch->nrows++] = nwords;
	batch->nwords += nwords;
	batch->places[batch->nrows] = end;
	return true;
}

/* Hands a batch over to whoever takes it first; it is that process's then. */
extern void row_exchange_hand_over(RowExchange *exchange, RowBatch *batch,
								   BatchPlace place, const SortKeys *keys);

/* Takes all batches that there are, as a list. */
extern BatchPlace row_exchange_take(RowExchange *exchange);

/*
 * The leader's: notes the rows of a batch, the segment of which begins at "base",
 * and takes their keys.  Where it has gone on to the general layout, or there are
 * no keys, it makes them itself.  Returns for how many rows there was room.
 */
extern uint32 row_batch_take(const RowBatch *batch, char *base,
							 RowStore *store, RowOrder *order);

#endif							/* GPUSORT_ROW_BATCH_H */
