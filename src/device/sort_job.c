/*-------------------------------------------------------------------------
 *
 * sort_job.c
 *	  A sort job: keys are added, and their order comes back.
 *
 * A job begins in this process: its keys are collected in memory.  When there
 * are enough keys for a device to gain, the job asks gpusortd to take it over:
 * the keys so far are copied to gpusortd's ring, and all others are written
 * straight into it.  So a wrong estimate of the number of rows costs nothing,
 * and small sorts never leave the process.
 *
 * While gpusortd has as many jobs as the processors can serve, a job of few
 * rows stays here, and asks again as it grows.
 *
 * While other jobs take all memory of the device, a job is queued in gpusortd,
 * and its keys are collected here, so that the wait costs no time.  The job
 * moves to the device when its turn comes.  If the last key is here before,
 * the job waits for as long as a sort here takes, and is then sorted here.
 *
 * If gpusortd does not take the job, it is sorted here.  If gpusortd is lost
 * later, the keys are lost too.  Then the job tells its caller, which has the
 * rows and makes the keys again, for a job of this process or of another
 * device.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "device/launcher.h"
#include "device/sort_job.h"
#include "port/huge_pages.h"
#include "settings.h"
#include "shared_state.h"

/*
 * With gpusort.device = auto: the words of all keys from which on a device
 * gains over this process.  On an H100 100,000 keys of a word take as long
 * either way, 30,000 a twentieth longer, and 30,000 of five words as long
 * (docs/notes/2026-11-small-sorts.md).
 */
#define DEVICE_MIN_WORDS	150000

/*
 * Rows whose keys are collected in this process before gpusortd is asked.  A
 * sort that spills sends gpusortd the keys of one run at a time.
 */
#define DEVICE_MIN_ROWS		10000

/*
 * The same while gpusortd has as many jobs as half the processors.  Then each
 * message waits for a processor, which costs a short job more than a device
 * saves: with 128 sessions the slowest hundredth took five times as long
 * (docs/notes/2026-11-many-sessions.md, "Many sessions").
 */
#define BUSY_MIN_ROWS		1000000

/* Keys that a job of this process makes room for at first. */
#define FIRST_ROWS			128

/* Should an idle device sort this many keys, by gpusort.device? */
static bool
are_for_device(double nkeys, double key_words)
{
	return gpusort_device == DEVICE_CUDA ||
		(gpusort_device == DEVICE_AUTO && nkeys >= DEVICE_MIN_ROWS &&
		 nkeys * key_words >= DEVICE_MIN_WORDS);
}

/* True if gpusortd has as many jobs as the processors can serve. */
static bool
is_device_busy(void)
{
	static long processors = 0;

	if (processors == 0)
		processors = Max(sysconf(_SC_NPROCESSORS_ONLN), 2);
	return shared_device_jobs() >= processors / 2;
}

/* Should a device that others use as well sort this many keys? */
static bool
are_for_busy_device(uint64 nkeys)
{
	return gpusort_device == DEVICE_CUDA || nkeys >= BUSY_MIN_ROWS ||
		!is_device_busy();
}

bool
sort_job_expects_gpu(double nkeys, double key_words)
{
	DaemonStatus status;

	if (!are_for_device(nkeys, key_words))
		return false;
	status = shared_daemon_status();
	return status.state == DAEMON_READY && status.has_gpu;
}

/* Words of a key of the job, on average. */
static double
words_of_key(const SortJob *job)
{
	if (job->shape.fixed_words > 0)
		return job->shape.fixed_words;
	return job->batch.nrows == 0 ? GUESSED_WORDS :
		(double) job->batch.nwords / job->batch.nrows;
}

/* Sets the fields of a job that has no keys yet. */
static void
expect_keys(SortJob *job, const KeyShape *shape, uint64 nrows, bool host_only)
{
	job->shape = *shape;
	job->expected_rows = nrows;
	job->state = host_only || gpusort_device == DEVICE_HOST ?
		JOB_HERE : JOB_UNDECIDED;
}

SortJob *
sort_job_begin(const KeyShape *shape, uint64 expected_rows, bool host_only)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort job",
												  ALLOCSET_SMALL_SIZES);
	SortJob    *job = MemoryContextAllocZero(context, sizeof(SortJob));

	job->context = context;
	expect_keys(job, shape, expected_rows, host_only);
	return job;
}

SortJob *
sort_job_begin_on_device(const KeyShape *shape, uint64 expected_rows)
{
	SortJob    *job = sort_job_begin(shape, expected_rows, false);
	MemoryContext caller_context = MemoryContextSwitchTo(job->context);
	DeviceFailure failure = {FAILURE_FAULT, NULL};

	job->long_lived = true;
	if (job->state == JOB_UNDECIDED &&
		are_for_device(expected_rows, words_of_key(job)) &&
		are_for_busy_device(expected_rows) &&
		launcher_device_ready(&failure.reason))
		job->client = device_client_begin(shape, expected_rows, true, &failure);
	MemoryContextSwitchTo(caller_context);
	if (job->client != NULL &&
		device_client_next_batch(job->client, &job->batch))
	{
		job->state = JOB_ON_DEVICE;
		return job;
	}
	sort_job_end(job);
	return NULL;
}

void
sort_job_end(SortJob *job)
{
	MemoryContextDelete(job->context);
}

/*
 * Counts a failure and reports it.  Reports a device that is too small, or in
 * use, at DEBUG1 only, unless gpusort.device demands a device.  Then it warns
 * the client, once for all sorts of a statement in all of its processes.
 */
static void
tell_failure(DeviceFailure failure)
{
	int			level = LOG;

	if (gpusort_device == DEVICE_CUDA)
		level = shared_claim_warning() ? WARNING : LOG;
	else if (failure.cause == FAILURE_FULL)
		level = DEBUG1;
	shared_count(failure.cause == FAILURE_FULL ? STAT_DEVICE_FULL :
				 STAT_DEVICE_FAULTS, 1);
	ereport(level,
			(errcode(ERRCODE_SYSTEM_ERROR),
			 errmsg("gpusort: sorting without the device"),
			 errdetail("%s.", failure.reason)));
}

/*
 * Notes the failure of the device, and the state of the job after it: here or
 * lost.  Reports the failure, unless the sort can do without the job.
 */
static void
report_device_failure(SortJob *job, SortJobState state, DeviceFailure failure)
{
	job->state = state;
	job->device_failed = true;
	job->may_start_over = failure.cause == FAILURE_ELSEWHERE;
	if (job->long_lived)
	{
		ereport(DEBUG1,
				(errmsg_internal("gpusort: merging without the device: %s",
								 failure.reason)));
		return;
	}
	tell_failure(failure);
}

void
sort_job_report_wrong_order(void)
{
	static const DeviceFailure wrong = {
		FAILURE_FAULT, "gpusortd sent an order that is wrong"
	};

	tell_failure(wrong);
}

/* Notes that the job's keys are lost with the device. */
static void
report_lost(SortJob *job)
{
	report_device_failure(job, JOB_LOST, device_client_failure(job->client));
}

void
sort_job_stay(SortJob *job)
{
	if (job->state == JOB_ON_DEVICE || job->state == JOB_LOST)
		return;
	if (job->client != NULL)
		device_client_end(job->client);
	job->client = NULL;
	job->state = JOB_HERE;
}

/* Is it time to ask gpusortd to take the job? */
static bool
wants_device(const SortJob *job)
{
	uint64		nkeys = job->batch.nrows;

	if (job->state != JOB_UNDECIDED)
		return job->state == JOB_AGAIN;
	return (gpusort_device == DEVICE_CUDA || nkeys >= DEVICE_MIN_ROWS) &&
		are_for_device(Max(nkeys, job->expected_rows), words_of_key(job)) &&
		are_for_busy_device(nkeys);
}

/* Frees keys that are in this process. */
static void
free_batch(KeyBatch *batch)
{
	if (batch->words != NULL)
		pfree(batch->words);
	if (batch->ends != NULL)
		pfree(batch->ends);
	memset(batch, 0, sizeof(KeyBatch));
}

/* Copies keys that were collected in this process to the ring. */
static bool
push_collected(SortJob *job, const KeyBatch *collected)
{
	uint64		first_word = 0;

	for (uint64 row = 0; row < collected->nrows; row++)
	{
		uint64		end = collected->ends != NULL ? collected->ends[row] :
			first_word + job->shape.fixed_words;
		uint64_t   *space = sort_job_space(job);

		if (space == NULL)
			return false;
		memcpy(space, collected->words + first_word,
			   (end - first_word) * sizeof(uint64_t));
		sort_job_add(job, end - first_word);
		first_word = end;
	}
	return true;
}

/*
 * Sends the keys to gpusortd, which has taken the job.  False if the keys were
 * lost with the device.
 */
static bool
move_to_device(SortJob *job)
{
	KeyBatch	collected = job->batch;
	MemoryContext caller_context = MemoryContextSwitchTo(job->context);
	bool		kept;

	job->state = JOB_ON_DEVICE;
	kept = device_client_next_batch(job->client, &job->batch) &&
		push_collected(job, &collected);
	free_batch(&collected);
	if (!kept)
		report_lost(job);
	MemoryContextSwitchTo(caller_context);
	return kept;
}

/*
 * Asks gpusortd through the connection of the last job, and keeps the
 * connection if gpusortd answers.
 */
static void
ask_again(SortJob *job)
{
	if (device_client_again(job->client, &job->shape, job->expected_rows))
		return;
	device_client_end(job->client);
	job->client = NULL;
}

/* Asks gpusortd to take the job; if it does not, the job stays here for good. */
static void
ask_for_device(SortJob *job)
{
	MemoryContext caller_context = MemoryContextSwitchTo(job->context);
	DeviceFailure failure = {FAILURE_FAULT, NULL};

	if (job->state == JOB_AGAIN)
		ask_again(job);
	if (job->client == NULL && launcher_device_ready(&failure.reason))
		job->client = device_client_begin(&job->shape,
										  Max(job->expected_rows,
											  job->batch.nrows),
										  false, &failure);
	job->state = job->client != NULL ? JOB_QUEUED : JOB_HERE;
	if (failure.reason != NULL)
		report_device_failure(job, JOB_HERE, failure);
	MemoryContextSwitchTo(caller_context);
}

/* Leaves gpusortd's queue; the job stays in this process. */
static void
leave_queue(SortJob *job, DeviceFailure failure)
{
	report_device_failure(job, JOB_HERE, failure);
	device_client_end(job->client);
	job->client = NULL;
}

/*
 * Moves the job to the device if its turn comes within this time; false as
 * move_to_device().
 */
static bool
look_at_queue(SortJob *job, uint64 milliseconds)
{
	if (device_client_await_turn(job->client, milliseconds))
		return device_client_is_queued(job->client) || move_to_device(job);
	leave_queue(job, device_client_failure(job->client));
	return true;
}

/*
 * Waits in the queue for the last time, with all keys here; false as
 * move_to_device().
 */
static bool
end_queueing(SortJob *job)
{
	static const DeviceFailure in_use = {
		FAILURE_FULL, "device memory is in use by other sorts"
	};

	if (!look_at_queue(job, host_sort_milliseconds(job->batch.nrows)))
		return false;
	if (job->state == JOB_QUEUED)
		leave_queue(job, in_use);
	return true;
}

/*
 * The number of further keys to make room for: at most as many as there are.
 */
static uint64
more_rows(const SortJob *job)
{
	uint64		nrows = job->batch.max_rows;

	/* an eighth wastes little; but keys are copied each time */
	uint64		more = Max(FEW_KEYS, nrows / 8);

	if (nrows < job->expected_rows)
		more = Max(more, job->expected_rows - nrows);
	return Min(more, nrows);
}

/* Makes room for more keys in this process. */
static void
grow_batch(SortJob *job)
{
	KeyBatch   *batch = &job->batch;
	bool		varies = job->shape.fixed_words == 0;
	uint64		key_words;

	batch->max_rows = Max(FIRST_ROWS, batch->max_rows + more_rows(job));
	if (!varies)
		key_words = job->shape.fixed_words;
	else if (batch->nrows == 0)
		key_words = GUESSED_WORDS;
	else
		key_words = (batch->nwords + batch->nrows - 1) / batch->nrows;
	batch->max_words = batch->max_rows * key_words + KEY_MAX_WORDS;

	if (batch->words == NULL)
		batch->words = MemoryContextAllocHuge(job->context,
											  batch->max_words * sizeof(uint64_t));
	else
		batch->words = repalloc_huge(batch->words,
									 batch->max_words * sizeof(uint64_t));
	if (varies && batch->ends == NULL)
		batch->ends = MemoryContextAllocHuge(job->context,
											 batch->max_rows * sizeof(uint64_t));
	else if (varies)
		batch->ends = repalloc_huge(batch->ends,
									batch->max_rows * sizeof(uint64_t));
}

/* Sends the batch to gpusortd, and gets an empty one. */
static bool
push_batch(SortJob *job)
{
	uint64		nrows = job->batch.nrows;
	uint64		nwords = job->batch.nwords;

	if (!device_client_push(job->client, &job->batch))
		return false;
	job->pushed_rows += nrows;
	job->pushed_words += nwords;
	return device_client_next_batch(job->client, &job->batch);
}

bool
sort_job_make_room(SortJob *job)
{
	if (wants_device(job))
		ask_for_device(job);
	if (job->state == JOB_QUEUED && !look_at_queue(job, 0))
		return false;
	if (!sort_job_is_full(job))
		return true;
	if (job->state != JOB_ON_DEVICE)
	{
		grow_batch(job);
		return true;
	}
	if (push_batch(job))
		return true;
	report_lost(job);
	return false;
}

/*
 * Returns how many of these keys there is room for, and sets *nwords to their
 * words.  Notes where the keys end, if they are of several lengths.
 */
static uint32
note_ends(SortJob *job, const uint8 *key_words, uint32 nkeys, uint64 *nwords)
{
	KeyBatch   *batch = &job->batch;
	uint64		most_words = batch->max_words - batch->nwords;
	uint64		end = job->pushed_words + batch->nwords;
	uint32		count = Min(nkeys, batch->max_rows - batch->nrows);
	uint64		words = 0;

	if (batch->ends == NULL)
	{
		count = Min(count, most_words / job->shape.fixed_words);
		*nwords = count * job->shape.fixed_words;
		return count;
	}
	for (uint32 i = 0; i < count; i++)
	{
		if (words + key_words[i] > most_words)
			count = i;
		else
		{
			words += key_words[i];
			batch->ends[batch->nrows + i] = end + words;
		}
	}
	*nwords = words;
	return count;
}

bool
sort_job_add_all(SortJob *job, const uint64_t *words, const uint8 *key_words,
				 uint32 nkeys)
{
	while (nkeys > 0)
	{
		uint64_t   *space = sort_job_space(job);
		uint64		nwords;
		uint32		count;

		if (unlikely(space == NULL))
			return false;
		count = note_ends(job, key_words, nkeys, &nwords);
		memcpy(space, words, nwords * sizeof(uint64_t));
		job->batch.nwords += nwords;
		job->batch.nrows += count;
		words += nwords;
		key_words += count;
		nkeys -= count;
	}
	return true;
}

/* Lets the user cancel a sort of the host engine. */
static void
serve_interrupts(void *argument)
{
	CHECK_FOR_INTERRUPTS();
}

/* Makes room where the owner of the job wants the order; NULL if there is none. */
static uint32 *
make_room(OrderRoom *room, uint64 nrows)
{
	return room == NULL ? NULL : (room->entries = room->make(room, nrows));
}

uint32 *
order_room_allocate(OrderRoom *room, uint64 nrows)
{
	uint32	   *entries = make_room(room, nrows);
	Size		bytes = Max(nrows, 1) * sizeof(uint32);

	if (entries != NULL)
		return entries;
	entries = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	(void) huge_pages_advise(entries, bytes);
	return entries;
}

void
order_room_free(const OrderRoom *room, uint32 *entries)
{
	if (room == NULL || entries != room->entries)
		pfree(entries);
}

static uint32 *
sort_in_process(SortJob *job, OrderRoom *room)
{
	HostKeys	keys = {
		.shape = job->shape,
		.words = job->batch.words,
		.ends = job->batch.ends,
		.nrows = job->batch.nrows
	};
	Size		bytes = Max(keys.nrows, 1) * sizeof(HostSortEntry);
	HostSortEntry *entries = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	uint32	   *place = make_room(room, keys.nrows);
	uint32	   *order;

	(void) huge_pages_advise(entries, bytes);
	order = host_sort(&keys, entries, serve_interrupts, NULL);
	job->on_device = false;
	job->device = "host";
	job->method = "radix sort";
	if (place != NULL)
	{
		memcpy(place, order, keys.nrows * sizeof(uint32));
		pfree(entries);
		return place;
	}

	/* the order is at the start of the entries; give the rest back */
	return repalloc_huge(order, Max(keys.nrows, 1) * sizeof(uint32));
}

/* Lets gpusortd begin to sort; false if it is lost. */
static bool
begin_on_device(SortJob *job)
{
	if ((job->batch.nrows == 0 ||
		 device_client_push(job->client, &job->batch)) &&
		device_client_begin_sort(job->client, sort_job_nrows(job)))
		return true;
	report_lost(job);
	return false;
}

/* Waits until gpusortd has sorted; false if it is lost. */
static bool
end_on_device(SortJob *job)
{
	if (!device_client_await_sort(job->client, &job->device_microseconds))
	{
		report_lost(job);
		return false;
	}
	job->on_device = true;
	job->device = device_client_device(job->client);
	job->method = device_client_method(job->client);
	return true;
}

bool
sort_job_perform_on_device(SortJob *job)
{
	return begin_on_device(job) && end_on_device(job);
}

bool
sort_job_order_part(SortJob *job, uint32 *part, uint32 *count)
{
	if (device_client_order_part(job->client, part, count))
		return true;
	report_lost(job);
	return false;
}

/*
 * Fetches the order of all rows.  Returns false if gpusortd is lost, or if
 * what it sends is no order.
 */
static bool
fetch_order(SortJob *job, uint32 *order, uint64 nrows)
{
	uint32		count;

	for (uint64 have = 0; have < nrows; have += count)
	{
		if (!sort_job_order_part(job, order + have, &count))
			return false;
	}
	return true;
}

static uint32 *
sort_on_device(SortJob *job, OrderRoom *room)
{
	uint64		nrows = sort_job_nrows(job);
	uint32	   *order;

	if (!begin_on_device(job))
		return NULL;
	/* new memory takes time, in which the device sorts */
	order = order_room_allocate(room, nrows);
	if (end_on_device(job) && fetch_order(job, order, nrows))
		return order;
	order_room_free(room, order);
	return NULL;
}

void
sort_job_restart(SortJob *job, const KeyShape *shape, bool host_only)
{
	KeyBatch   *batch = &job->batch;
	uint64		nrows = sort_job_nrows(job);
	bool		other_words = shape->fixed_words != job->shape.fixed_words;

	Assert(!job->device_failed && job->state != JOB_QUEUED);
	if (job->state == JOB_ON_DEVICE)
		memset(batch, 0, sizeof(KeyBatch));
	else if (other_words)
		free_batch(batch);
	batch->nrows = 0;
	batch->nwords = 0;
	expect_keys(job, shape, nrows, host_only);
	job->pushed_rows = 0;
	job->pushed_words = 0;
	if (job->state == JOB_HERE)
		sort_job_stay(job);
	else if (job->client != NULL)
		job->state = JOB_AGAIN;
}

uint32 *
sort_job_perform(SortJob *job, OrderRoom *room)
{
	if (job->state == JOB_QUEUED && !end_queueing(job))
		return NULL;
	return job->state == JOB_ON_DEVICE ? sort_on_device(job, room) :
		sort_in_process(job, room);
}
