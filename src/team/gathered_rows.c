/*-------------------------------------------------------------------------
 *
 * gathered_rows.c
 *	  Rows in shared memory, which workers gather in their order for the leader.
 *
 * The rows of a sort lie where the processes have put them, so that each row that the
 * leader emits is a cache miss, and of many rows one for the page table, too.  Other
 * processes can have these misses in its place: the workers, which have nothing more to
 * do.  They take slices of the order and copy their rows, one behind the other, to
 * the leader (part_stream.c), a slice being a part.  The leader emits them from where
 * they are.  A slice that nobody has taken when its turn comes it emits itself.
 *
 * Where workers are not quick enough, or the machine has not enough processors for
 * them, the leader waits for slices.  When that takes more than half of its time it
 * would have fetched the rows itself in less: so now and then it compares its time with
 * its processor time, and ceases to give workers slices.
 *
 * Rows that are too large for the stream stay where they are; an empty row is sent in
 * their place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/htup_details.h"
#include "miscadmin.h"

#include "port/compat.h"
#include "port/timing.h"
#include "settings.h"
#include "spill/part_stream.h"
#include "team/gathered_rows.h"

/* The fewest rows that workers gather, and the fewest workers that do so. */
#define LEAST_ROWS			5000000
#define LEAST_WORKERS		4

/* Memory of a worker for the stream, and how much of it a slice is to take. */
#define STREAM_BYTES		((Size) 2 * 1024 * 1024)
#define SLICE_BYTES			(STREAM_BYTES / 2)

/*
 * The leader measures its waiting in periods of PERIOD_SLICES slices.  When it has
 * waited for too long in MOST_IDLE_PERIODS periods, one after the other, it gives workers
 * no more slices.  Periods in the first rows, one in UNTIMED_PART, do not count: there
 * each worker has to map all pages of the rows, which takes longer than all that it does
 * for a row.
 */
#define PERIOD_SLICES		16
#define MOST_IDLE_PERIODS	2
#define UNTIMED_PART		16

struct GatheredRows
{
	RowReader	reader;			/* must be first */
	SharedSlices *slices;
	RowOrder   *order;
	Size		row_bytes;		/* bytes of a row to be prefetched */
	PartReceiver *receiver;
	uint64		next;			/* entry of the next row */
	int			slice;			/* number of the present slice */
	uint64		slice_end;		/* entry behind it */
	bool		is_sent;		/* it is sent by a worker */
	uint64		rest;			/* entry from which on workers send nothing */
	uint64		nsent;

	/* the present period */
	instr_time	begun;			/* when it began */
	uint64		processor_time; /* the leader's processor time then */
	int			idle_periods;	/* those right before it; at the most, workers
								 * get no more slices */
};

/*
 * Can it pay that nworkers workers gather nrows rows?  Not if workers and leader do not
 * have a processor each.
 */
static bool
pays(int nworkers, double nrows)
{
	switch (gpusort_gather_rows)
	{
		case GATHER_ON:
			return nworkers > 0 && nrows > 0;
		case GATHER_AUTO:
			return nworkers >= LEAST_WORKERS && nrows >= LEAST_ROWS &&
				sysconf(_SC_NPROCESSORS_ONLN) > nworkers;
		default:
			return false;
	}
}

void
shared_gather_init(SharedGather *shared, int nworkers, double expected_rows)
{
	shared->expected_rows = pays(nworkers, expected_rows) ? expected_rows : 0;
	pg_atomic_init_u32(&shared->nhelpers, 0);
	shared->stream = DSM_HANDLE_INVALID;
}

bool
shared_gather_is_expected(const SharedGather *shared, int nworkers)
{
	return pays(nworkers, shared->expected_rows);
}

/*
 * ---- workers
 */

bool
shared_gather_offer(SharedGather *shared)
{
	if (shared->expected_rows == 0)
		return false;
	pg_atomic_fetch_add_u32(&shared->nhelpers, 1);
	return true;
}

/* Sends a row; false if no more are wanted. */
static bool
send_row(PartSender *sender, const MinimalTupleData *row)
{
	const MinimalTupleData too_large = {.t_len = 0};

	if (likely(row->t_len <= STREAM_MOST_ROW_BYTES))
		return part_sender_put(sender, row, row->t_len);
	return part_sender_put(sender, &too_large, sizeof(too_large.t_len));
}

/* Sends a slice, which the reader has taken; false if no more are wanted. */
static bool
send_slice(SliceReader *reader, PartSender *sender, uint64 slice,
		   uint64 nrows)
{
	part_sender_begin_part(sender, slice);
	for (; nrows > 0; nrows--)
		if (!send_row(sender, slice_reader_next(reader)))
			return false;
	return part_sender_end_part(sender);
}

/* Sends slice after slice, until none is left, or no more are wanted. */
static void
send_slices(SliceReader *reader, PartSender *sender)
{
	uint64		slice;
	uint64		nrows;
	bool		wanted = true;

	while (wanted && slice_reader_take(reader, &slice, &nrows))
		wanted = send_slice(reader, sender, slice, nrows);
}

void
gather_rows(SharedGather *shared, SharedSlices *slices, RowSegments *segments)
{
	PartSender *sender = part_sender_begin(shared->stream);
	SliceReader *reader;

	if (sender == NULL)
		return;
	reader = slice_reader_begin(slices, segments, NULL, NULL);
	if (reader != NULL)
	{
		send_slices(reader, sender);
		slice_reader_end(reader);
	}
	part_sender_end(sender);
}

/*
 * ---- the leader
 */

/* Shares the order, and makes the stream; NULL if that is not possible. */
static PartReceiver *
share(SharedGather *shared, SharedSlices *slices, RowOrder *order,
	  const RowCollector *collector, Size limit)
{
	int			nhelpers = pg_atomic_read_u32(&shared->nhelpers);
	Size		row_bytes = row_store_row_bytes(order->store);
	uint64		slice_rows = Max(SLICE_BYTES / Max(row_bytes, 1), 1);
	PartReceiver *receiver;

	if (limit < nhelpers * STREAM_BYTES ||
		!shared_slices_share(slices, order, collector, slice_rows,
							 limit - nhelpers * STREAM_BYTES))
		return NULL;
	receiver = part_receiver_begin(nhelpers, STREAM_BYTES,
								   order->nentries / slice_rows + 1);
	if (receiver != NULL)
		shared->stream = part_receiver_handle(receiver);
	else
		shared_order_drop(&slices->order);
	return receiver;
}

static void *next_row(RowReader *reader);

/* Begins a period in which waiting is measured. */
static void
begin_period(GatheredRows *gathered)
{
	INSTR_TIME_SET_CURRENT(gathered->begun);
	gathered->processor_time = processor_microseconds();
}

GatheredRows *
gathered_rows_begin(SharedGather *shared, SharedSlices *slices,
					RowOrder *order, const RowCollector *collector,
					Size limit)
{
	PartReceiver *receiver = NULL;
	GatheredRows *gathered;

	if (pays(pg_atomic_read_u32(&shared->nhelpers), order->nentries))
		receiver = share(shared, slices, order, collector, limit);
	if (receiver == NULL)
		return NULL;
	gathered = palloc0(sizeof(GatheredRows));
	gathered->reader.next = next_row;
	gathered->slices = slices;
	gathered->order = order;
	gathered->row_bytes = Min(row_store_row_bytes(order->store),
							  MOST_FETCHED_BYTES);
	gathered->receiver = receiver;
	gathered->rest = order->nentries;
	begin_period(gathered);
	return gathered;
}

static Size
minimal_tuple_bytes(const void *row)
{
	Size		bytes = ((const MinimalTupleData *) row)->t_len;

	return bytes > 0 ? bytes : sizeof(((MinimalTuple) 0)->t_len);
}

/* The next row of the present slice that a worker sends; NULL at its end. */
static MinimalTuple
receive(GatheredRows *gathered)
{
	return part_receiver_next(gathered->receiver, gathered->slice,
							  minimal_tuple_bytes);
}

/* Takes the end of the present slice, whose last row has been emitted. */
static void
finish_sent(GatheredRows *gathered)
{
	if (receive(gathered) != NULL)
		elog(ERROR, "a slice has more rows than its order");
}

/* Ends a period; gives workers no more slices if the leader has waited for too long. */
static void
end_period(GatheredRows *gathered)
{
	uint64		busy = processor_microseconds() - gathered->processor_time;

	if (gathered->next < gathered->order->nentries / UNTIMED_PART ||
		busy >= microseconds_since(gathered->begun) / 2)
		gathered->idle_periods = 0;
	else if (++gathered->idle_periods == MOST_IDLE_PERIODS)
		gathered->rest = shared_slices_take_rest(gathered->slices);
	begin_period(gathered);
}

/* Begins the next slice. */
static void
begin_slice(GatheredRows *gathered)
{
	SharedSlices *slices = gathered->slices;
	uint64		begin = gathered->next;
	bool		is_taken = shared_slices_take(slices, begin);

	CHECK_FOR_INTERRUPTS();
	gathered->slice = begin / slices->slice_rows;
	gathered->slice_end = Min(begin + slices->slice_rows,
							  gathered->order->nentries);
	gathered->is_sent = !is_taken && begin < gathered->rest;
}

/* Ends the present slice, and begins the next one. */
static void
change_slice(GatheredRows *gathered)
{
	if (gathered->is_sent)
		finish_sent(gathered);
	begin_slice(gathered);
	if (gathered->slice % PERIOD_SLICES == 0 &&
		gathered->idle_periods < MOST_IDLE_PERIODS)
		end_period(gathered);
}

/* The row of this entry, which is the next one that a worker sends. */
static void *
next_sent(GatheredRows *gathered, uint64 entry)
{
	MinimalTuple row = receive(gathered);

	if (unlikely(row == NULL))
		elog(ERROR, "a slice has fewer rows than its order");
	gathered->nsent++;
	return likely(row->t_len > 0) ? row :
		row_order_get(gathered->order, entry);
}

/* The next row of the order; NULL at its end. */
static void *
next_row(RowReader *reader)
{
	GatheredRows *gathered = (GatheredRows *) reader;
	uint64		entry;

	if (unlikely(gathered->next == gathered->slice_end))
	{
		if (gathered->next == gathered->order->nentries)
			return NULL;
		change_slice(gathered);
	}
	entry = gathered->next++;
	return gathered->is_sent ? next_sent(gathered, entry) :
		row_order_get_forward(gathered->order, entry, gathered->row_bytes);
}

RowReader *
gathered_rows_reader(GatheredRows *gathered)
{
	return &gathered->reader;
}

uint64
gathered_rows_count(const GatheredRows *gathered)
{
	return gathered->nsent;
}

void
gathered_rows_stop(GatheredRows *gathered)
{
	part_receiver_stop(gathered->receiver);
}

void
gathered_rows_end(GatheredRows *gathered)
{
	part_receiver_end(gathered->receiver);
	shared_order_drop(&gathered->slices->order);
	pfree(gathered);
}
