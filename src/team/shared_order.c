/*-------------------------------------------------------------------------
 *
 * shared_order.c
 *	  The order of rows in shared memory, for all processes that sort together.
 *
 * The rows of all processes lie where each process has put them
 * (row_deposit.c).  The collector has the order of the rows: their numbers.
 * It copies the order to shared memory.
 *
 * Beside the order is a table of the rows' places by row number, with the rows
 * that the order leaves out, too.  The rows of a batch lie one behind the
 * other, and each tells its length.  So all processes fill the table together:
 * each that maps the order takes some batches, looks for the next row behind
 * each row, and waits until the table is complete.  For the collector alone
 * that would take a good part of the time in which all emit the rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/condition_variable.h"

#include "port/compat.h"
#include "port/shared_memory.h"
#include "team/shared_order.h"

/* Sequences of rows that a process takes at once. */
#define TAKEN_SEQUENCES		8

/* Rows that lie one behind the other, and have numbers in that order. */
typedef struct NumberedSequence
{
	uint64		first_place;	/* place of the first row */
	uint32		first_row;		/* its number */
	uint32		nrows;
} NumberedSequence;

/*
 * The beginning of the segment.  The order follows the sequences, and the
 * places of the rows follow the order.
 */
struct OrderHead
{
	uint32		nsequences;
	pg_atomic_uint32 next;		/* first sequence that no process has taken */
	pg_atomic_uint32 nfound;	/* sequences whose rows have places */
	ConditionVariable found;	/* signalled when all have */
	NumberedSequence sequences[FLEXIBLE_ARRAY_MEMBER];
};

/* Returns the bytes of a head. */
static Size
head_bytes(uint32 nsequences)
{
	return MAXALIGN(offsetof(OrderHead, sequences) +
					nsequences * sizeof(NumberedSequence));
}

/* Returns the bytes of an order of nrows rows. */
static Size
order_bytes(uint64 nrows)
{
	return MAXALIGN(nrows * sizeof(uint32));
}

/* Fills the head. */
static void
make_head(OrderHead *head, const RowSequences *sequences)
{
	uint32		row = 0;

	head->nsequences = sequences->count;
	pg_atomic_init_u32(&head->next, 0);
	pg_atomic_init_u32(&head->nfound, 0);
	ConditionVariableInit(&head->found);
	for (int i = 0; i < sequences->count; i++)
	{
		const RowSequence *sequence = &sequences->list[i];

		head->sequences[i] = (NumberedSequence)
		{
			.first_place = sequence->first_place,
				.first_row = row,
				.nrows = sequence->nrows
		};
		row += sequence->nrows;
	}
}

bool
shared_order_copy(SharedOrder *shared, RowOrder *order,
				  const RowCollector *collector, Size limit)
{
	const RowSequences *sequences = row_collector_sequences(collector);
	uint64		nrows = order->nentries;
	uint64		nplaced = order->store->nrows;
	Size		bytes = head_bytes(sequences->count) + order_bytes(nrows) +
		nplaced * sizeof(uint64);
	Size		used = order->store->memory + nplaced * sizeof(uint32);
	dsm_segment *segment;
	char	   *address;

	shared->nrows = nrows;
	shared->row_bytes = row_store_row_bytes(order->store);
	if (nrows == 0)
		return true;

	if (used + bytes > limit)
		return false;
	segment = shared_memory_create(bytes);
	if (segment == NULL)
		return false;
	/* ordered_rows_map() finds it */
	dsm_unpin_mapping(segment);
	shared->segment = dsm_segment_handle(segment);
	address = dsm_segment_address(segment);
	make_head((OrderHead *) address, sequences);
	memcpy(address + head_bytes(sequences->count), order->entries,
		   nrows * sizeof(uint32));
	return true;
}

void
shared_order_drop(SharedOrder *shared)
{
	dsm_segment *segment = dsm_find_mapping(shared->segment);

	if (segment != NULL)
		dsm_detach(segment);
}

/* Notes the places of the rows of a sequence. */
static void
find_rows(OrderedRows *rows, const NumberedSequence *sequence,
		  SharedRowBytes row_bytes)
{
	uint64		place = sequence->first_place;
	uint64	   *places = rows->places + sequence->first_row;
	const char *row = row_segments_row(rows->segments, place);

	for (uint32 i = 0; i < sequence->nrows; i++)
	{
		Size		bytes = row_bytes(row);

		places[i] = place;
		place += bytes;
		row += bytes;
	}
}

/*
 * Takes sequences until no more are left; returns the number of those taken.
 */
static uint32
find_share(OrderedRows *rows, OrderHead *head, SharedRowBytes row_bytes)
{
	uint32		count = 0;
	uint32		first;

	while ((first = pg_atomic_fetch_add_u32(&head->next, TAKEN_SEQUENCES)) <
		   head->nsequences)
	{
		uint32		end = Min(first + TAKEN_SEQUENCES, head->nsequences);

		CHECK_FOR_INTERRUPTS();
		for (uint32 i = first; i < end; i++)
			find_rows(rows, &head->sequences[i], row_bytes);
		count += end - first;
	}
	return count;
}

/* Finds the places of all rows, together with other processes. */
static void
find_places(OrderedRows *rows, OrderHead *head, SharedRowBytes row_bytes)
{
	static uint32 wait_event = 0;
	uint32		count = find_share(rows, head, row_bytes);

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortPlaces");
	if (count > 0 &&
		pg_atomic_add_fetch_u32(&head->nfound, count) == head->nsequences)
		ConditionVariableBroadcast(&head->found);
	while (pg_atomic_read_u32(&head->nfound) < head->nsequences)
		ConditionVariableSleep(&head->found, wait_event);
	ConditionVariableCancelSleep();
	pg_read_barrier();
}

bool
ordered_rows_map(OrderedRows *rows, SharedOrder *shared,
				 RowSegments *segments, SharedRowBytes row_bytes)
{
	OrderHead  *head;
	char	   *order;

	memset(rows, 0, sizeof(OrderedRows));
	rows->segments = segments;
	if (shared->nrows == 0)
		return true;

	/* the process that has made the segment has it mapped already */
	rows->segment = dsm_find_mapping(shared->segment);
	if (rows->segment == NULL)
		rows->segment = dsm_attach(shared->segment);
	if (rows->segment == NULL || !row_segments_map(segments))
	{
		ordered_rows_unmap(rows);
		return false;
	}
	head = dsm_segment_address(rows->segment);
	order = (char *) head + head_bytes(head->nsequences);
	rows->order = (const uint32 *) order;
	rows->places = (uint64 *) (order + order_bytes(shared->nrows));
	find_places(rows, head, row_bytes);
	return true;
}

void
ordered_rows_unmap(OrderedRows *rows)
{
	if (rows->segment != NULL)
		dsm_detach(rows->segment);
	rows->segment = NULL;
}
