/*-------------------------------------------------------------------------
 *
 * take_keys.c
 *	  The keys of a job, from the ring to the devices.
 *
 * The connection begins the copy of a chunk to the device, and goes on.  It
 * waits for the oldest copy under way, to give the chunk back, only when there
 * is nothing to receive.  So copies go on while the client fills other chunks.
 *
 * The client can write to the ring at any time.  So the ends of keys, by which
 * the device finds the keys, are copied before they are looked at, and only
 * the copy is used.  The keys themselves matter to nobody but the client.
 *
 *-------------------------------------------------------------------------
 */
#include "take_keys.h"

#include "admission.h"

bool
take_keys_finish_one(Job *job)
{
	const Push *push = &job->pushes[job->first_push];
	Message		message = {.kind = MSG_KEYS_TAKEN};
	DeviceError error = {.is_full = false};

	if (!job->engine->wait_pushed(job->parts[push->part].job, push->ticket,
								  &error))
		return job_fail(job, push->part, MSG_FAILED, &error);
	message.u.keys.chunk = push->chunk;
	job->first_push = (job->first_push + 1) % job->ring->nchunks;
	job->npushes--;
	return wire_send(job->wire, &message);
}

bool
take_keys_finish(Job *job)
{
	while (job->npushes > 0)
	{
		if (!take_keys_finish_one(job))
			return false;
	}
	return true;
}

/* A place in the queue of pushes, counted from the oldest one. */
static Push *
push_at(const Job *job, uint32_t place)
{
	return &job->pushes[(job->first_push + place) % job->ring->nchunks];
}

/* Is the chunk among those that are being copied? */
static bool
is_under_way(const Job *job, uint32_t chunk)
{
	for (uint32_t place = 0; place < job->npushes; place++)
	{
		if (push_at(job, place)->chunk == chunk)
			return true;
	}
	return false;
}


/*
 * Ends of keys that vary in length
 */

/*
 * Copies the ends of a chunk's keys, and notes the longest key.  Reads each
 * end once.  False if the ends are not as key_format.h says.
 */
static bool
copy_ends(Job *job, const volatile uint64_t *ends, uint32_t nrows,
		  uint64_t nwords, uint64_t *copy)
{
	uint64_t	previous = job->nwords;

	for (uint32_t row = 0; row < nrows; row++)
	{
		uint64_t	end = ends[row];
		uint64_t	key_words = end - previous;

		/* unsigned, so this catches ends that do not ascend, too */
		if (key_words - 1 >= KEY_MAX_WORDS)
			return false;
		if (key_words > job->longest_key)
			job->longest_key = (uint32_t) key_words;
		copy[row] = end;
		previous = end;
	}
	return previous == job->nwords + nwords;
}

/* Memory for the ends of a chunk's keys that no push under way reads from. */
static uint64_t *
room_for_ends(Job *job)
{
	DeviceError error = {.is_full = false};
	uint64_t   *all = ring_ends(job->ring, &error);

	if (all == NULL)
	{
		(void) job_fail_without_device(job, &error);
		return NULL;
	}
	while (job->npushes >= RING_ENDS)
	{
		if (!take_keys_finish_one(job))
			return NULL;
	}
	return all + (job->chunks_taken % RING_ENDS) * CHUNK_VARIABLE_ROWS;
}

/*
 * Returns a copy of the ends of a chunk's keys, or NULL if the ends are wrong
 * or there is no room for them.
 */
static uint64_t *
take_ends(Job *job, const uint64_t *in_ring, uint32_t nrows, uint64_t nwords)
{
	uint64_t   *ends = room_for_ends(job);

	if (ends != NULL && !copy_ends(job, in_ring, nrows, nwords, ends))
	{
		(void) job_fail_unexpected(job);
		return NULL;
	}
	return ends;
}

/* Makes ends count from the first key of the part, as the engine wants. */
static void
count_from_part(const Part *part, uint64_t *ends, uint32_t nrows)
{
	if (ends == NULL || part->first_word == 0)
		return;
	for (uint32_t row = 0; row < nrows; row++)
		ends[row] -= part->first_word;
}


/*
 * Chunks
 */

/* Counts keys that a part has got. */
static void
count_keys(Job *job, Part *part, uint32_t nrows, uint64_t nwords)
{
	part->nrows += nrows;
	part->nwords += nwords;
	job->nrows += nrows;
	job->nwords += nwords;
	job->chunks_taken++;
	watch_note_rows(&job->wire->watch, job->nrows);
}

/* Begins the copy of a chunk's keys to the part that rows go to. */
static bool
push_keys(Job *job, uint32_t chunk, const uint64_t *words, uint64_t nwords,
		  uint64_t *ends, uint32_t nrows)
{
	Part	   *part = &job->parts[job->part];
	Push	   *push = push_at(job, job->npushes);
	DeviceError error = {.is_full = false};

	count_from_part(part, ends, nrows);
	if (!job->engine->push(part->job, words, nwords, ends, nrows,
						   &push->ticket, &error))
		return job_fail(job, job->part, MSG_FAILED, &error);
	push->chunk = chunk;
	push->part = job->part;
	job->npushes++;
	count_keys(job, part, nrows, nwords);
	return true;
}

static bool
take_fixed_keys(Job *job, uint32_t chunk, uint32_t nrows, uint64_t nwords)
{
	return admission_find_room(job, nrows, nwords) &&
		push_keys(job, chunk, ring_chunk(job->ring, chunk), nwords, NULL,
				  nrows);
}

static bool
take_variable_keys(Job *job, uint32_t chunk, uint32_t nrows, uint64_t nwords)
{
	const uint64_t *in_ring = ring_chunk(job->ring, chunk);
	uint64_t   *ends = take_ends(job, in_ring, nrows, nwords);

	return ends != NULL && admission_find_room(job, nrows, nwords) &&
		push_keys(job, chunk, in_ring + CHUNK_VARIABLE_ROWS, nwords, ends,
				  nrows);
}

/* Can a chunk have this number of keys, of this number of words? */
static bool
fits_chunk(const Job *job, uint32_t nrows, uint64_t nwords)
{
	const uint64_t chunk_words = CHUNK_BYTES / sizeof(uint64_t);
	uint32_t	key_words = job->shape.fixed_words;

	if (key_words != 0)
		return nwords <= chunk_words && nwords == (uint64_t) nrows * key_words;
	return nwords <= chunk_words - CHUNK_VARIABLE_ROWS &&
		nrows <= CHUNK_VARIABLE_ROWS;
}

/* Notes which bytes of a chunk have keys. */
static void
note_use(const Job *job, uint32_t chunk, uint64_t nwords)
{
	if (job->shape.fixed_words == 0)
		nwords += CHUNK_VARIABLE_ROWS;
	ring_note_use(job->ring, chunk, (uint32_t) (nwords * sizeof(uint64_t)));
}

bool
take_keys(Job *job, const Message *message)
{
	uint32_t	chunk = message->u.keys.chunk;
	uint32_t	nrows = message->u.keys.nrows;
	uint64_t	nwords = message->u.keys.nwords;

	if (chunk >= job->ring->nchunks || nrows == 0 || is_under_way(job, chunk))
		return job_fail_unexpected(job);
	if (nrows > SORT_MAX_ROWS - job->nrows)
		return wire_refuse(job->wire, MSG_FAILED, FAILURE_FULL,
						   "too many rows for one sort");
	if (!fits_chunk(job, nrows, nwords))
		return job_fail_unexpected(job);
	note_use(job, chunk, nwords);
	return job->shape.fixed_words != 0 ?
		take_fixed_keys(job, chunk, nrows, nwords) :
		take_variable_keys(job, chunk, nrows, nwords);
}
