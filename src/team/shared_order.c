/*-------------------------------------------------------------------------
 *
 * shared_order.c
 *	  The order of rows in shared memory, for all processes that sort together.
 *
 * The rows of all processes lie where each process has put them
 * (row_deposit.c).  The collector makes the order of the rows: their numbers.
 * When it has all rows, it makes room for the order in shared memory, into
 * which the order comes.  If memory is too small as long as there are keys, the
 * collector makes room when the keys are gone, and copies the order.
 *
 * Beside the order is a table of the rows' places by row number, with the rows
 * that the order leaves out, too.  The rows of a batch lie one behind the
 * other, and each tells its length.  So all processes fill the table together,
 * in the best case while a device sorts: each takes some batches, and looks for
 * the next row behind each row.  Who wants to read rows waits until the table
 * is complete.  For the collector alone that would take a good part of the time
 * in which all emit the rows.
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
	uint64		nplaced;		/* rows for which the order has room, and that
								 * have places */
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

/* Returns the bytes of all that the segment has. */
static Size
segment_bytes(const RowSequences *sequences, uint64 nplaced)
{
	return head_bytes(sequences->count) + order_bytes(nplaced) +
		nplaced * sizeof(uint64);
}

/* Fills the head. */
static void
make_head(OrderHead *head, const RowSequences *sequences, uint64 nplaced)
{
	uint32		row = 0;

	head->nplaced = nplaced;
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

/* Returns the entries of the order, behind the head. */
static uint32 *
entries_of(OrderHead *head)
{
	return (uint32 *) ((char *) head + head_bytes(head->nsequences));
}

void
shared_order_init(SharedOrder *shared)
{
	memset(shared, 0, sizeof(SharedOrder));
	pg_atomic_init_u32(&shared->has_room, 0);
	shared->segment = DSM_HANDLE_INVALID;
}

/* Returns the segment if this process has it mapped, otherwise NULL. */
static dsm_segment *
find_mapping(const SharedOrder *shared)
{
	return shared->segment == DSM_HANDLE_INVALID ? NULL :
		dsm_find_mapping(shared->segment);
}

/*
 * Makes room in shared memory for the order of all rows that the collector has
 * collected, and for what it takes to find these rows.  From then on other
 * processes can find them.  Returns the room for the entries, the same if it
 * has been made before; NULL if there is no memory, or if it would take more
 * than "limit" bytes.
 */
static uint32 *
make_room(SharedOrder *shared, const RowCollector *collector, uint64 nrows,
		  Size limit)
{
	const RowSequences *sequences = row_collector_sequences(collector);
	dsm_segment *segment = find_mapping(shared);
	Size		bytes = segment_bytes(sequences, nrows);

	if (segment != NULL)
		return entries_of(dsm_segment_address(segment));
	segment = bytes > limit ? NULL : shared_memory_create(bytes);
	if (segment == NULL)
		return NULL;
	/* find_mapping() finds it */
	dsm_unpin_mapping(segment);
	shared->segment = dsm_segment_handle(segment);
	make_head(dsm_segment_address(segment), sequences, nrows);
	pg_write_barrier();
	pg_atomic_write_u32(&shared->has_room, 1);
	return entries_of(dsm_segment_address(segment));
}

/* Makes room while there are keys; the function of an OrderRoom. */
static uint32 *
make_expected_room(OrderRoom *base, uint64 nrows)
{
	SharedOrderRoom *room = (SharedOrderRoom *) base;
	Size		used = room->order->store->memory +
		row_order_memory(room->order);
	uint32	   *entries = make_room(room->shared, room->collector, nrows,
									room->limit - Min(room->limit, used));

	if (entries != NULL)
		leader_decision_wake(room->decision);
	return entries;
}

void
shared_order_expect(SharedOrderRoom *room, SharedOrder *shared,
					RowOrder *order, const RowCollector *collector,
					LeaderDecision *decision, Size limit)
{
	room->room.make = make_expected_room;
	room->shared = shared;
	room->collector = collector;
	room->order = order;
	room->decision = decision;
	room->limit = limit;
	row_order_set_room(order, &room->room);
}

bool
shared_order_set(SharedOrder *shared, RowOrder *order,
				 const RowCollector *collector, Size limit)
{
	uint64		nrows = order->nentries;
	uint64		nplaced = order->store->nrows;
	Size		used = order->store->memory + nplaced * sizeof(uint32);
	uint32	   *entries;

	shared->nrows = nrows;
	shared->has_ties = order->has_ties;
	shared->row_bytes = row_store_row_bytes(order->store);
	if (nrows == 0)
		return true;
	entries = make_room(shared, collector, nplaced, limit - Min(limit, used));
	if (entries == NULL)
		return false;
	if (order->entries != entries)
		memcpy(entries, order->entries, nrows * sizeof(uint32));
	return true;
}

void
shared_order_drop(SharedOrder *shared)
{
	dsm_segment *segment = find_mapping(shared);

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

/* Takes part in finding the places of all rows. */
static void
help_to_find(OrderedRows *rows, OrderHead *head, SharedRowBytes row_bytes)
{
	uint32		count = find_share(rows, head, row_bytes);

	if (count > 0 &&
		pg_atomic_add_fetch_u32(&head->nfound, count) == head->nsequences)
		ConditionVariableBroadcast(&head->found);
}

/* Waits until the places of all rows have been found. */
static void
await_places(OrderHead *head)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortPlaces");
	while (pg_atomic_read_u32(&head->nfound) < head->nsequences)
		ConditionVariableSleep(&head->found, wait_event);
	ConditionVariableCancelSleep();
	pg_read_barrier();
}

/*
 * Maps the room, unless it is mapped, and the rows; NULL if they are gone.
 */
static OrderHead *
map_room(OrderedRows *rows, const SharedOrder *shared, RowSegments *segments)
{
	dsm_segment *segment = find_mapping(shared);
	OrderHead  *head;

	memset(rows, 0, sizeof(OrderedRows));
	rows->segments = segments;
	if (segment == NULL)
		segment = rows->segment = dsm_attach(shared->segment);
	if (segment == NULL || !row_segments_map(segments))
	{
		ordered_rows_unmap(rows);
		return NULL;
	}
	head = dsm_segment_address(segment);
	rows->order = entries_of(head);
	rows->places = (uint64 *) ((char *) rows->order +
							   order_bytes(head->nplaced));
	return head;
}

void
shared_order_find_rows(SharedOrder *shared, RowSegments *segments,
					   SharedRowBytes row_bytes)
{
	OrderedRows rows;
	OrderHead  *head;

	pg_read_barrier();
	head = map_room(&rows, shared, segments);
	if (head != NULL)
		help_to_find(&rows, head, row_bytes);
	/* rows.segment stays mapped for find_mapping() */
}

bool
ordered_rows_map(OrderedRows *rows, SharedOrder *shared,
				 RowSegments *segments, SharedRowBytes row_bytes)
{
	OrderHead  *head;

	memset(rows, 0, sizeof(OrderedRows));
	rows->segments = segments;
	if (shared->nrows == 0)
		return true;
	head = map_room(rows, shared, segments);
	if (head == NULL)
		return false;
	help_to_find(rows, head, row_bytes);
	await_places(head);
	return true;
}

void
ordered_rows_unmap(OrderedRows *rows)
{
	if (rows->segment != NULL)
		dsm_detach(rows->segment);
	rows->segment = NULL;
}
