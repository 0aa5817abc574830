/*-------------------------------------------------------------------------
 *
 * send_order.c
 *	  The order of a job, from the devices through the ring to the client.
 *
 * The chunks of the ring are used in turn, and the client gives them back in
 * turn.  So the number of a chunk of the order tells the chunk of the ring
 * that holds it.  The order of a job that has several parts is merged while it
 * is sent.
 *
 *-------------------------------------------------------------------------
 */
#include "send_order.h"

#include "merge.h"

#define CHUNK_ENTRIES	((uint32_t) (CHUNK_BYTES / sizeof(uint32_t)))

/*
 * Ends the job by an error of the merge; there may be no device to blame.
 */
static bool
fail_merge(Job *job, const MergeFailure *failure)
{
	if (failure->part >= 0)
		return job_fail(job, failure->part, MSG_FAILED, &failure->error);
	return job_fail_without_device(job, &failure->error);
}

/* Begins to merge the parts; NULL if that fails. */
static Merge *
begin_merge(Job *job)
{
	MergePart	parts[MAX_PARTS];
	MergeFailure failure = {.part = 0};
	Merge	   *merge;

	for (int i = 0; i < job->nparts; i++)
	{
		parts[i].job = job->parts[i].job;
		parts[i].nrows = job->parts[i].nrows;
		parts[i].first_row = job->parts[i].first_row;
	}
	merge = merge_begin(job->engine, parts, job->nparts, job->longest_key,
						job->shape.mark_ties, &failure);
	if (merge == NULL)
		(void) fail_merge(job, &failure);
	return merge;
}

/* Gets a part of the order, from the merge if there is one. */
static bool
pull_order(Job *job, Merge *merge, uint64_t first, uint32_t count,
		   uint32_t *order)
{
	MergeFailure failure = {.part = 0};

	if (merge != NULL)
		return merge_next(merge, count, order, &failure) ||
			fail_merge(job, &failure);
	return job->engine->pull(job->parts[0].job, first, count, order,
							 &failure.error) ||
		job_fail(job, 0, MSG_FAILED, &failure.error);
}

/* Notes that a chunk has been sent, or come back. */
static void
note_chunk(Job *job, uint64_t *chunks)
{
	(*chunks)++;
	/* a ring that the client may be reading cannot be taken away */
	job->wire->has[SCARCE_STAGING] = !send_order_is_read(job);
}

bool
send_order_take_back(Job *job, const Message *message)
{
	if (message->kind != MSG_ORDER_TAKEN || job->returned == job->sent ||
		message->u.order.chunk != job->returned % job->ring->nchunks)
		return job_fail_unexpected(job);
	note_chunk(job, &job->returned);
	return true;
}

/* Waits until the client has given back a chunk of the ring. */
static bool
await_chunk(Job *job)
{
	Message		message;

	if (job->sent - job->returned < job->ring->nchunks)
		return true;
	return job_receive(job, &message) &&
		send_order_take_back(job, &message);
}

/* Sends a chunk of the order, from this entry on. */
static bool
send_chunk(Job *job, Merge *merge, uint64_t first)
{
	Message		message = {.kind = MSG_ORDER};
	uint64_t	left = job->nrows - first;
	uint32_t	count = left < CHUNK_ENTRIES ? (uint32_t) left : CHUNK_ENTRIES;
	uint32_t	chunk = job->sent % job->ring->nchunks;

	if (!await_chunk(job))
		return false;
	message.u.order.chunk = chunk;
	message.u.order.count = count;
	ring_note_use(job->ring, chunk, (uint32_t) (count * sizeof(uint32_t)));
	if (!pull_order(job, merge, first, count, ring_chunk(job->ring, chunk)) ||
		!wire_send(job->wire, &message))
		return false;
	note_chunk(job, &job->sent);
	return true;
}

static bool
send_all(Job *job, Merge *merge)
{
	for (uint64_t first = 0; first < job->nrows; first += CHUNK_ENTRIES)
	{
		if (!send_chunk(job, merge, first))
			return false;
	}
	return true;
}

bool
send_order(Job *job)
{
	Merge	   *merge;
	bool		is_sent;

	if (job->nparts == 1)
		return send_all(job, NULL);
	merge = begin_merge(job);
	is_sent = merge != NULL && send_all(job, merge);
	merge_end(merge);
	return is_sent;
}
