/*-------------------------------------------------------------------------
 *
 * sort_job.h
 *	  A sort job: keys are added, and their order comes back.
 *
 * A job takes keys one after the other, each written straight to its place, and
 * returns their order as a permutation of their numbers, 0 for the first key.
 * It begins in this process.  When it has many keys, it asks gpusortd to take
 * it over; then gpusortd has all keys.  Otherwise the host sort sorts them
 * here.
 *
 * The job itself reports that it has failed on the device, in the log and the
 * statistics.  It raises no error: the caller has the rows, and can make all
 * keys once more for another job.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_JOB_H
#define GPUSORT_SORT_JOB_H

#include "common/host_sort.h"
#include "device/device_client.h"

/* The process that has the keys of a job now, and that will have them. */
typedef enum SortJobState
{
	JOB_UNDECIDED,				/* this process; gpusortd if it gets many */
	JOB_AGAIN,					/* this process; gpusortd with the first key */
	JOB_QUEUED,					/* this process; gpusortd at its turn */
	JOB_HERE,					/* this process, to the end */
	JOB_ON_DEVICE,				/* gpusortd */
	JOB_LOST					/* no process: lost with gpusortd */
} SortJobState;

typedef struct SortJob
{
	MemoryContext context;		/* holds everything below */
	SortJobState state;
	KeyShape	shape;			/* shape of all keys of the job */
	uint64		expected_rows;	/* estimate */
	bool		long_lived;		/* job of the keys of all runs; the sort can
								 * do without */
	KeyBatch	batch;			/* keys here, or in the chunk being filled */
	uint64		pushed_rows;	/* rows in gpusortd, before those of the batch */
	uint64		pushed_words;	/* words of the keys of these rows */
	DeviceClient *client;		/* connection; in JOB_AGAIN, JOB_QUEUED,
								 * JOB_ON_DEVICE */
	bool		device_failed;	/* the device has refused the job, or was lost */
	bool		may_start_over; /* another device may do the job */

	/* for EXPLAIN and the statistics, after sort_job_perform() */
	bool		on_device;		/* sorted by gpusortd, or in this process */
	const char *device;			/* name of the device, or "host" */
	const char *method;			/* method of the sort, in a few words */
	uint64		device_microseconds;	/* time of the sort on the device */
} SortJob;

/*
 * Would a GPU sort this many keys of this many words, by the settings and the
 * state of gpusortd?
 */
extern bool sort_job_expects_gpu(double nkeys, double key_words);

/*
 * Begins a job, in a memory context that is a child of the current one.
 * gpusort.device says whether gpusortd may take it; with host_only it may not.
 */
extern SortJob *sort_job_begin(const KeyShape *shape, uint64 expected_rows,
							   bool host_only);

/*
 * Begins a long-lived job whose keys gpusortd has from the first one on; NULL
 * if gpusortd does not take it.
 */
extern SortJob *sort_job_begin_on_device(const KeyShape *shape,
										 uint64 expected_rows);

/* Keeps the job in this process, unless gpusortd has it already. */
extern void sort_job_stay(SortJob *job);

/*
 * Makes room for a key of any length, and asks for the device when there are
 * enough keys.  False if the keys were lost with the device.
 */
extern bool sort_job_make_room(SortJob *job);

/* Room for an order, where the owner of the job wants to have it. */
typedef struct OrderRoom
{
	/*
	 * Returns room for nrows entries, which stays the room's; NULL if there
	 * is none.  A device sorts meanwhile.  Called again with as many rows if
	 * a device was lost.
	 */
	uint32	   *(*make) (struct OrderRoom *room, uint64 nrows);
	uint32	   *entries;		/* what make() has returned last */
} OrderRoom;

/*
 * Returns memory for the entries of an order: in the room, if there is one,
 * otherwise allocated in the current memory context.  order_room_free() frees
 * it, unless it is the room's.
 */
extern uint32 *order_room_allocate(OrderRoom *room, uint64 nrows);
extern void order_room_free(const OrderRoom *room, uint32 *entries);

/*
 * Sorts, and returns the order: sort_job_nrows() entries, in memory of
 * order_room_allocate().  NULL if the keys were lost with the device, or if
 * the order does not have each row once.  The user can cancel meanwhile.
 */
extern uint32 *sort_job_perform(SortJob *job, OrderRoom *room);

/*
 * The same in steps, for a job that gpusortd has.  The first function sorts;
 * each call of the second copies the next entries of the order, *count of
 * them, as device_client_order_part() does.  False if gpusortd is lost, or if
 * what it sends is no order.
 */
extern bool sort_job_perform_on_device(SortJob *job);
extern bool sort_job_order_part(SortJob *job, uint32 *part, uint32 *count);

/*
 * Begins the job anew after sort_job_perform(), as sort_job_begin() does, for
 * about as many keys as there were.  Not allowed if the device has failed.
 * Keeps the connection to gpusortd or the memory for keys: to get new ones
 * takes longer than to sort few keys.
 */
extern void sort_job_restart(SortJob *job, const KeyShape *shape,
							 bool host_only);

/*
 * Reports that an order of gpusortd turned out to be wrong, like the loss of a
 * device: in the log and the statistics.
 */
extern void sort_job_report_wrong_order(void);

/* Ends the job, at any time, and frees its memory; the order stays. */
extern void sort_job_end(SortJob *job);

/* Is there no room for another key of the greatest length? */
static inline bool
sort_job_is_full(const SortJob *job)
{
	const KeyBatch *batch = &job->batch;

	return batch->nrows == batch->max_rows ||
		batch->nwords + KEY_MAX_WORDS > batch->max_words;
}

/*
 * Room for the next key, KEY_MAX_WORDS words.  NULL if the keys were lost with
 * the device: then the job can only be ended.
 */
static inline uint64_t *
sort_job_space(SortJob *job)
{
	if (unlikely(sort_job_is_full(job)) && !sort_job_make_room(job))
		return NULL;
	return job->batch.words + job->batch.nwords;
}

/* Adds the key that was written to sort_job_space(), of nwords words. */
static inline void
sort_job_add(SortJob *job, int nwords)
{
	KeyBatch   *batch = &job->batch;

	batch->nwords += nwords;
	if (batch->ends != NULL)
		batch->ends[batch->nrows] = job->pushed_words + batch->nwords;
	batch->nrows++;
}

/*
 * Adds nkeys keys that lie one behind the other; key i has key_words[i] words.
 * False if keys were lost with the device.
 */
extern bool sort_job_add_all(SortJob *job, const uint64_t *words,
							 const uint8 *key_words, uint32 nkeys);

/* Keys that the job has. */
static inline uint64
sort_job_nrows(const SortJob *job)
{
	return job->pushed_rows + job->batch.nrows;
}

/* The least number of keys by which room for many grows. */
#define FEW_KEYS			4096

/* Words of a key that varies in length: a first guess. */
#define GUESSED_WORDS		4

/*
 * The part of the room for keys that counts as memory: what is used, and some
 * more.  The rest is for expected keys, and nobody has touched it yet.
 */
static inline uint64
sort_job_counted_room(uint64 room, uint64 used, uint64 few)
{
	return Min(room, used + used / 8 + few);
}

/*
 * Bytes of this process that the job takes, and will take to sort its keys: on
 * a device the order, otherwise the keys and the entries of the host sort.  Does not count the ring, which has a setting of its own, nor
 * room for many more keys, which nobody has touched yet.
 */
static inline Size
sort_job_memory(const SortJob *job)
{
	const KeyBatch *batch = &job->batch;

	if (job->state == JOB_ON_DEVICE)
		return sort_job_nrows(job) * sizeof(uint32);
	return sort_job_counted_room(batch->max_words, batch->nwords,
								 FEW_KEYS * GUESSED_WORDS) * sizeof(uint64_t) +
		(batch->ends == NULL ? 0 :
		 sort_job_counted_room(batch->max_rows, batch->nrows,
							   FEW_KEYS) * sizeof(uint64_t)) +
		batch->nrows * sizeof(HostSortEntry);
}

#endif							/* GPUSORT_SORT_JOB_H */
