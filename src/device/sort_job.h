/*-------------------------------------------------------------------------
 *
 * sort_job.h
 *	  Push keys, run, have the order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_JOB_H
#define GPUSORT_SORT_JOB_H

#include "common/host_sort.h"
#include "device/device_client.h"

/* Who has the keys of a job, or will have them. */
typedef enum SortJobState
{
	JOB_UNDECIDED,				/* this process; gpusortd, if they get many */
	JOB_AGAIN,					/* this process; gpusortd with the next key,
								 * as for the keys before */
	JOB_QUEUED,					/* this process, until its turn comes */
	JOB_HERE,					/* this process to the end */
	JOB_ON_DEVICE,				/* gpusortd */
	JOB_LOST					/* nobody: gpusortd was lost with them */
} SortJobState;

typedef struct SortJob
{
	MemoryContext context;		/* holds everything below */
	SortJobState state;
	KeyShape	shape;
	uint64		expected_rows;
	bool		long_lived;		/* for the order of runs, which is not needed */
	KeyBatch	batch;			/* where the next key goes */
	uint64		pushed_rows;	/* handed over before this batch */
	uint64		pushed_words;
	DeviceClient *client;		/* JOB_AGAIN, JOB_QUEUED, JOB_ON_DEVICE */
	bool		device_failed;	/* it was asked for in vain, or lost */
	bool		may_start_over; /* but another one may do it */

	/* for EXPLAIN and the statistics, after sort_job_perform() */
	bool		on_device;		/* or in this process */
	const char *device;			/* name of what sorted */
	const char *method;			/* and how */
	uint64		device_microseconds;	/* on the device alone */
} SortJob;

/* Would a GPU sort so many rows, as things are now? */
extern bool sort_job_expects_gpu(double nrows);

/*
 * Begins a job, in a memory context that is a child of the current one.  The
 * device is chosen as gpusort.device says, never if host_only.
 */
extern SortJob *sort_job_begin(const KeyShape *shape, uint64 expected_rows,
							   bool host_only);

/*
 * The same for a job that only gpusortd has the keys of, for long; NULL if it
 * does not take it.
 */
extern SortJob *sort_job_begin_on_device(const KeyShape *shape,
										 uint64 expected_rows);

/* The job is not to go to a device any more; what has gone stays there. */
extern void sort_job_stay(SortJob *job);

/* Makes room for a key of any length.  False if the device was lost. */
extern bool sort_job_make_room(SortJob *job);

/*
 * Sorts, and returns the order of all rows, allocated in the current memory
 * context; NULL if the device was lost.
 */
extern uint32 *sort_job_perform(SortJob *job);

/*
 * For a job that gpusortd has: sorts; and then, until there were all rows, copies
 * the next so many entries of the order, as device_client_order_part() does.
 * False if gpusortd was lost.
 */
extern bool sort_job_perform_on_device(SortJob *job);
extern bool sort_job_order_part(SortJob *job, uint32 *part, uint32 *count);

/*
 * After sort_job_perform(), unless the device was lost: begins again as
 * sort_job_begin() does, for about as many keys as there were.  The connection
 * to gpusortd or the memory for keys stays; to have new ones takes longer than
 * to sort few keys.
 */
extern void sort_job_restart(SortJob *job, const KeyShape *shape,
							 bool host_only);

/*
 * Tells, as of a device that is lost, that an order which gpusortd has made has
 * turned out to be wrong.
 */
extern void sort_job_report_wrong_order(void);

/* Ends the job, run or not.  The order stays. */
extern void sort_job_end(SortJob *job);

/* Is there no room for another key, whatever its length? */
static inline bool
sort_job_is_full(const SortJob *job)
{
	const KeyBatch *batch = &job->batch;

	return batch->nrows == batch->max_rows ||
		batch->nwords + KEY_MAX_WORDS > batch->max_words;
}

/*
 * Where the next key is to be written, KEY_MAX_WORDS words; NULL if the device
 * was lost, and with it the keys: the job can only be ended.
 */
static inline uint64_t *
sort_job_space(SortJob *job)
{
	if (unlikely(sort_job_is_full(job)) && !sort_job_make_room(job))
		return NULL;
	return job->batch.words + job->batch.nwords;
}

/* Adds the key of nwords words that has been written there. */
static inline void
sort_job_add(SortJob *job, int nwords)
{
	KeyBatch   *batch = &job->batch;

	batch->nwords += nwords;
	if (batch->ends != NULL)
		batch->ends[batch->nrows] = job->pushed_words + batch->nwords;
	batch->nrows++;
}

static inline uint64
sort_job_nrows(const SortJob *job)
{
	return job->pushed_rows + job->batch.nrows;
}

/* Of an order that comes from gpusortd, a bit for each row. */
static inline Size
sort_job_seen_bytes(uint64 nrows)
{
	return (nrows / 64 + 1) * sizeof(uint64);
}

/*
 * Bytes of this process that the job has or will need to sort what it has:
 * with a device only the order and what checks it, otherwise the keys and what is sorted.  The
 * ring is not counted, it has a setting of its own.
 */
static inline Size
sort_job_memory(const SortJob *job)
{
	const KeyBatch *batch = &job->batch;

	if (job->state == JOB_ON_DEVICE)
		return sort_job_nrows(job) * sizeof(uint32) +
			sort_job_seen_bytes(sort_job_nrows(job));
	return batch->max_words * sizeof(uint64_t) +
		(batch->ends != NULL ? batch->max_rows * sizeof(uint64_t) : 0) +
		batch->nrows * sizeof(HostSortEntry);
}

#endif							/* GPUSORT_SORT_JOB_H */
