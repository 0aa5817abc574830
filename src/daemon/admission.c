/*-------------------------------------------------------------------------
 *
 * admission.c
 *	  The device memory of a job, from its beginning to its end.
 *
 * A job may begin if devices could give it all memory that it is expected to
 * need, if need be for a sort in place.  This is only a question.  Memory is
 * reserved for the first keys only, and if there is none, the job waits in the
 * queue.  More is reserved as keys come, whatever was expected: first what the
 * sort takes, then what it takes in place, then memory of another device,
 * where a new part of the job begins.  At last jobs with idle clients give
 * way.  A job that has memory waits for the memory of others in no other way.
 *
 * Fewer keys may have come than were expected, or other jobs may have gone.
 * So before the sort the job tries once more to get memory for a sort that is
 * not in place.
 *
 *-------------------------------------------------------------------------
 */
#include "admission.h"

#include "clock.h"

/* Words of a key that varies in length, until they are counted. */
#define GUESSED_WORDS	5

/* A long-lived job may have one part in this many of a device's memory. */
#define LONG_LIVED_PART	8

/*
 * How long idle jobs may take to give way before a client that begins is told
 * that it is queued.  A client in the queue would rather sort by itself.
 */
#define GIVE_WAY_MICROSECONDS	200000

#define CHUNK_WORDS		(CHUNK_BYTES / sizeof(uint64_t))

/*
 * Bytes that a job needs on a device for this number of keys: to sort them,
 * and, if the job has more keys elsewhere, to merge them.
 */
static uint64_t
memory_needed(const Job *job, uint64_t nrows, uint64_t nwords)
{
	uint64_t	to_sort;
	uint64_t	to_merge;

	if (!job->in_place)
		return job->engine->job_memory(&job->shape, nrows, nwords);
	to_sort = job->engine->job_memory_in_place(&job->shape, nrows, nwords);
	to_merge = job->engine->job_memory_kept(&job->shape, nrows, nwords);
	return to_sort > to_merge ? to_sort : to_merge;
}

/* May the job have this much memory of a device, if it is free? */
static bool
may_have(const Job *job, uint64_t bytes)
{
	Demand		demand = {.bytes = bytes * LONG_LIVED_PART};

	return !job->long_lived || devices_could_have(demand);
}

/* Refuses a job whose role has reached its limit. */
static bool
refuse_for_role(Job *job, MessageKind kind)
{
	return wire_refuse(job->wire, kind, FAILURE_FULL,
					   "the sort would exceed the device memory that its role may use (gpusort.device_memory_limit)");
}

/* Refuses a long-lived job for lack of memory, as such a job does not wait. */
static bool
refuse_long_lived(Job *job)
{
	return wire_refuse(job->wire, MSG_REFUSED, FAILURE_FULL,
					   "there is too little device memory for a job that lasts");
}


/*
 * The beginning
 */

/* Could the demand be met if there was no other job, of any role? */
static bool
is_possible_for(const Job *job, Demand demand)
{
	return demand.bytes <= job->owner.limit && devices_could_have(demand);
}

/*
 * Could the job be sorted in place, by one device or several?  A part takes
 * some memory of its own, and its last bytes may be too few for a chunk.
 */
static bool
is_possible_in_place(Job *job, uint64_t nrows, uint64_t key_words)
{
	Demand		demand;

	job->in_place = true;
	demand.bytes = memory_needed(job, nrows, nrows * key_words);
	demand.for_part = memory_needed(job, CHUNK_WORDS / key_words, CHUNK_WORDS);
	if (demand.bytes > job->owner.limit)
		return refuse_for_role(job, MSG_REFUSED);
	return devices_could_have(demand) ||
		wire_refuse(job->wire, MSG_REFUSED, FAILURE_FULL,
					"the sort is expected to need %llu MB of device memory, more than there is",
					(unsigned long long) demand.bytes >> 20);
}

/*
 * May the job begin, if it is as large as expected?  Makes the job sort in
 * place if no device has memory for more.
 */
static bool
is_possible(Job *job, uint64_t nrows, uint64_t key_words)
{
	Demand		demand = {.for_part = 0};

	job->in_place = job->algorithm == DEVICE_SORT_BITONIC;
	demand.bytes = memory_needed(job, nrows, nrows * key_words);
	if (job->long_lived)
		return may_have(job, demand.bytes) || refuse_long_lived(job);
	return is_possible_for(job, demand) ||
		is_possible_in_place(job, nrows, key_words);
}

/* Tells the client that it is queued, and waits in the queue. */
static bool
wait_for_memory(Job *job, uint64_t bytes)
{
	Message		queued = {.kind = MSG_QUEUED};
	bool		has_come;

	if (!wire_send(job->wire, &queued))
		return false;
	watch_wait(&job->wire->watch);
	has_come = devices_wait(job->owner, bytes, wire_client_is_gone, job->wire,
							&job->parts[0].reservation);
	watch_go_on(&job->wire->watch);
	return has_come ||
		wire_refuse(job->wire, MSG_REFUSED, FAILURE_FULL,
					"there is no device any longer that has memory for the sort");
}

/*
 * Waits for a moment in which a job with an idle client gives way.  To the
 * watch this is a wait, not a step that hangs.  Returns false if no client is
 * idle.
 */
static bool
have_idle_give_way(Job *job)
{
	if (wire_client_is_gone(job->wire))
		return false;
	watch_wait(&job->wire->watch);
	devices_have_idle_give_way();
	watch_go_on(&job->wire->watch);
	return true;
}

/*
 * Reserves memory for the first keys without the queue.  Waits only for jobs
 * with idle clients, for a moment.
 */
static bool
reserve_at_once(Job *job, uint64_t bytes)
{
	const uint64_t start = microseconds_now();

	for (;;)
	{
		/* asked first, so that memory given up later is found or waited for */
		bool		is_held_idle = devices_are_held_idle();

		if (devices_reserve(job->owner, bytes, &job->parts[0].reservation))
			return true;
		if (!is_held_idle || job->long_lived ||
			microseconds_now() - start >= GIVE_WAY_MICROSECONDS ||
			!have_idle_give_way(job))
			return false;
	}
}

/* Gets the job memory for its first keys. */
static bool
get_memory(Job *job, uint64_t nrows, uint64_t key_words)
{
	const uint64_t chunk_rows = CHUNK_WORDS / key_words;
	uint64_t	bytes;

	if (nrows > chunk_rows)
		nrows = chunk_rows;
	bytes = memory_needed(job, nrows, nrows * key_words);
	if (!devices_may_have(job->owner, bytes))
		return refuse_for_role(job, MSG_REFUSED);
	if (!reserve_at_once(job, bytes))
	{
		if (job->long_lived)
			return refuse_long_lived(job);
		if (!wait_for_memory(job, bytes))
			return false;
	}
	job->nparts = 1;
	job->wire->has[SCARCE_DEVICE_MEMORY] = true;
	return true;
}

bool
admission_begin(Job *job, uint64_t expected_rows)
{
	uint64_t	key_words = job->shape.fixed_words;

	if (key_words == 0)
		key_words = GUESSED_WORDS;
	if (expected_rows > SORT_MAX_ROWS)
		expected_rows = SORT_MAX_ROWS;
	return is_possible(job, expected_rows, key_words) &&
		get_memory(job, expected_rows, key_words);
}


/*
 * As keys come
 */

/*
 * Reserves memory until a part has "needed" bytes, which is more than it has.
 */
static bool
reserve(Reservation *reservation, uint64_t needed)
{
	uint64_t	more = needed - reservation->bytes;

	/* some more than needed, so as not to ask with every chunk */
	return devices_grow(reservation, more + needed / 8) ||
		devices_grow(reservation, more);
}

/* Bytes that a part needs for its keys and for these beyond. */
static uint64_t
memory_for_keys(const Job *job, const Part *part, uint64_t nrows,
				uint64_t nwords)
{
	return memory_needed(job, part->nrows + nrows, part->nwords + nwords);
}

/* Makes sure that a part has enough memory for its keys and for these. */
static bool
reserve_for_keys(const Job *job, Part *part, uint64_t nrows, uint64_t nwords)
{
	uint64_t	needed = memory_for_keys(job, part, nrows, nwords);

	return needed <= part->reservation.bytes ||
		(may_have(job, needed) && reserve(&part->reservation, needed));
}

/* Begins another part of the job, if a device has memory for these keys. */
static bool
add_part(Job *job, uint64_t nrows, uint64_t nwords)
{
	Reservation reservations[MAX_PARTS];
	int			count = job->nparts;

	for (int i = 0; i < count; i++)
		reservations[i] = job->parts[i].reservation;
	if (count == MAX_PARTS || job->long_lived ||
		!devices_add(job->owner, reservations, count,
					 memory_needed(job, nrows, nwords),
					 &job->parts[count].reservation))
		return false;
	job->nparts++;
	return true;
}

/*
 * When there is no memory for more keys: may there be some once idle jobs, if
 * there are any, have given way?  Their memory does not help a job whose role
 * has reached its limit.
 */
static bool
may_find_room(Job *job, const Part *part, uint64_t nrows, uint64_t nwords,
			  bool is_held_idle)
{
	uint64_t	more = memory_for_keys(job, part, nrows, nwords) -
		part->reservation.bytes;

	if (!devices_may_have(job->owner, more))
		return refuse_for_role(job, MSG_FAILED);
	return (is_held_idle && have_idle_give_way(job)) ||
		wire_refuse(job->wire, MSG_FAILED, FAILURE_FULL,
					"device memory is full, it is in use by other sorts");
}

/*
 * Can another part begin?  Then the part before has to keep its keys, and must
 * have memory for that.
 */
static bool
can_add_part(Job *job, Part *part, uint64_t nrows, uint64_t nwords)
{
	return (part->nrows == 0 || reserve_for_keys(job, part, 0, 0)) &&
		add_part(job, nrows, nwords);
}

bool
admission_find_room(Job *job, uint64_t nrows, uint64_t nwords)
{
	Part	   *part = &job->parts[job->part];

	if (reserve_for_keys(job, part, nrows, nwords))
		return true;
	job->in_place = true;
	for (;;)
	{
		bool		is_held_idle = devices_are_held_idle();

		if (reserve_for_keys(job, part, nrows, nwords))
			return true;
		if (can_add_part(job, part, nrows, nwords))
		{
			part = &job->parts[++job->part];
			if (!job_begin_part(job, MSG_FAILED))
				return false;
		}
		else if (!may_find_room(job, part, nrows, nwords, is_held_idle))
			return false;
	}
}


/*
 * Around the sort
 */

void
admission_before_sort(Job *job)
{
	if (job->algorithm == DEVICE_SORT_BITONIC)
		return;
	for (int i = 0; i < job->nparts; i++)
	{
		Part	   *part = &job->parts[i];
		uint64_t	needed = job->engine->job_memory(&job->shape, part->nrows,
													 part->nwords);

		if (needed > part->reservation.bytes && may_have(job, needed))
			(void) devices_grow(&part->reservation,
								needed - part->reservation.bytes);
	}
}

void
admission_after_sort(Job *job)
{
	for (int i = 0; i < job->nparts; i++)
	{
		Part	   *part = &job->parts[i];
		uint64_t	kept = job->nparts == 1 ?
			part->nrows * sizeof(uint32_t) :
			job->engine->job_memory_kept(&job->shape, part->nrows,
										 part->nwords);

		if (kept < part->reservation.bytes)
			devices_shrink(&part->reservation, kept);
	}
}
