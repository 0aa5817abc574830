/*-------------------------------------------------------------------------
 *
 * row_batch.c
 *	  Rows and their keys on the way from one process to another.
 *
 * See row_batch.h, which also has the code that runs for each row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sort/row_batch.h"

void
row_exchange_init(RowExchange *exchange)
{
	pg_atomic_init_u32(&exchange->closed, 0);
	ConditionVariableInit(&exchange->sent);
	SpinLockInit(&exchange->mutex);
	exchange->batches = NO_BATCH;
	shared_layout_init(&exchange->layout);
}

void
row_exchange_close(RowExchange *exchange)
{
	pg_atomic_write_u32(&exchange->closed, 1);
}

void
row_batch_begin(RowBatch *batch, RowExchange *exchange, SortKeys *keys,
				uint64 segment, uint32 place)
{
	if (keys != NULL)
		(void) sort_keys_adopt(keys, &exchange->layout);
	batch->segment = segment;
	batch->nrows = 0;
	batch->nwords = 0;
	batch->layout = keys != NULL ? keys->nagreed : 0;
	batch->places[0] = place;
}

void
row_exchange_send(RowExchange *exchange, RowBatch *batch,
				  BatchPlace place, const SortKeys *keys)
{
	batch->truncated = keys != NULL && keys->truncated;
	batch->doubtful = keys != NULL && sort_keys_doubtful(keys);
	SpinLockAcquire(&exchange->mutex);
	batch->next = exchange->batches;
	exchange->batches = place;
	SpinLockRelease(&exchange->mutex);
	ConditionVariableSignal(&exchange->sent);
}

BatchPlace
row_exchange_take(RowExchange *exchange)
{
	BatchPlace	batches;

	if (likely(!row_exchange_has_batches(exchange)))
		return NO_BATCH;
	SpinLockAcquire(&exchange->mutex);
	batches = exchange->batches;
	exchange->batches = NO_BATCH;
	SpinLockRelease(&exchange->mutex);
	return batches;
}

uint32
row_batch_take(const RowBatch *batch, char *base, RowStore *store,
			   RowOrder *order)
{
	uint32		taken;

	row_order_adopt_layout(order);
	order->keys->truncated |= batch->truncated;
	order->keys->doubtful |= batch->doubtful;
	taken = row_store_note_all(store, base, batch->places,
							   Min(batch->nrows, SORT_MAX_ROWS - store->nrows),
							   row_order_memory(order));
	if (likely(batch->layout == order->keys->nagreed && batch->nwords > 0))
		row_order_add_keys(order, batch->words, batch->key_words, taken);
	else
		row_order_add_stored(order, taken);
	return taken;
}

void
row_sequences_init(RowSequences *sequences)
{
	sequences->count = 0;
	sequences->max = 64;
	sequences->list = palloc(sequences->max * sizeof(RowSequence));
}

void
row_sequences_note(RowSequences *sequences, uint32 nrows, uint64 first_place)
{
	RowSequence *sequence;

	if (sequences->count == sequences->max)
	{
		sequences->max *= 2;
		sequences->list = repalloc_huge(sequences->list,
										sequences->max * sizeof(RowSequence));
	}
	sequence = &sequences->list[sequences->count++];
	sequence->nrows = nrows;
	sequence->first_place = first_place;
}
