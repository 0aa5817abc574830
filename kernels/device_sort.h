/*-------------------------------------------------------------------------
 *
 * device_sort.h
 *	  The interface of the kernels, in C: sorting keys on a CUDA device.
 *
 * Only gpusortd's cuda engine, the unit tests and the benchmarks include this
 * header, which needs none of CUDA's own.
 *
 * A DeviceSort is one job.  Keys are pushed in batches while they are made,
 * each push an asynchronous copy; perform sorts the keys; pull copies parts of
 * the order back, and pull_keys copies keys in that order, if the job keeps
 * them.  One thread at a time uses a job; different threads may use different
 * jobs at once.  Each job has a CUDA stream of its own.
 *
 * Functions that return bool return false on failure, with the reason, a sentence
 * without full stop, in "error"; is_full tells that there was too little memory,
 * which other jobs or processes may have.  A job that has failed can only be
 * ended.  An error that poisons the CUDA context (a fault in a kernel) makes all
 * later calls in the process fail too: see device_is_lost().
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_SORT_H
#define GPUSORT_DEVICE_SORT_H

#include <stddef.h>

#include "../src/common/device.h"
#include "../src/common/key_format.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define DEVICE_NAME_SIZE	64
#define DEVICE_ERROR_SIZE	256

typedef struct DeviceError
{
	char		text[DEVICE_ERROR_SIZE];
	bool		is_full;		/* the only reason is too little memory */
} DeviceError;

typedef struct DeviceInfo
{
	char		name[DEVICE_NAME_SIZE];
	char		uuid[DEVICE_UUID_SIZE]; /* with its prefix */
	uint64_t	memory_bytes;	/* all memory of the device */
	int			capability_major;
	int			capability_minor;
	int			driver_version; /* 1000 * major + 10 * minor, as in CUDA */
} DeviceInfo;

typedef struct DeviceSort DeviceSort;

/* Number of devices; zero with a reason in "error" if there is no driver. */
extern int	device_count(DeviceError *error);

/* Describes device 0 <= device < device_count(), without making a context. */
extern bool device_describe(int device, DeviceInfo *info, DeviceError *error);

/*
 * Makes the device's context, so that the first job does not wait for it;
 * fails if the kernels have no machine code for the device.
 */
extern bool device_start(int device, DeviceError *error);

/* True after an error that only a new process can cure. */
extern bool device_is_lost(void);

/*
 * Device memory, in bytes, that all jobs of a started device could have
 * together now: what jobs have, what is kept for later jobs, and what the
 * driver has free.
 */
extern bool device_memory(int device, uint64_t *bytes, DeviceError *error);

/* Gives unused memory back to the driver, down to kept_bytes of all. */
extern void device_release(int device, uint64_t kept_bytes);

/*
 * Pins memory that jobs of any device push from and pull into; it must stay
 * mapped until unpinned.
 */
extern bool device_pin(void *memory, size_t bytes, DeviceError *error);
extern void device_unpin(void *memory);

/*
 * The most device memory, in bytes, that a job takes for nrows keys of nwords
 * words together.  Monotonic in both.  The job takes the most during
 * device_sort_perform(); afterwards it has only its order, 4 bytes a row,
 * rounded up to 256.
 */
extern uint64_t device_sort_memory(const KeyShape *shape,
								   uint64_t nrows, uint64_t nwords);

/*
 * The same for a job that is sorted in place, which takes longer.  It is no
 * more than the memory of the keys and the order, and a few bytes for each
 * slab of keys.
 */
extern uint64_t device_sort_memory_in_place(const KeyShape *shape,
											uint64_t nrows, uint64_t nwords);

/*
 * The same for a job that keeps its keys, after device_sort_perform().
 */
extern uint64_t device_sort_memory_kept(const KeyShape *shape,
										uint64_t nrows, uint64_t nwords);

/* Begins a job; NULL on failure. */
extern DeviceSort *device_sort_begin(int device, const KeyShape *shape,
									 DeviceAlgorithm algorithm,
									 DeviceError *error);

/*
 * Adds nrows keys of nwords words together.  "ends" counts from the first key
 * of the job (not of the batch) and is NULL for keys of fixed width.  Returns
 * at once; words and ends, in pinned memory, must stay as they are until
 * device_sort_wait_pushed() has been given the same ticket.
 */
extern bool device_sort_push(DeviceSort *sort, const uint64_t *words,
							 uint64_t nwords, const uint64_t *ends,
							 uint32_t nrows, uint64_t *ticket,
							 DeviceError *error);

/* Waits until the push with this ticket, and all before it, are copied. */
extern bool device_sort_wait_pushed(DeviceSort *sort, uint64_t ticket,
									DeviceError *error);

/* Makes the job keep its keys, for device_sort_pull_keys(). */
extern void device_sort_keep_keys(DeviceSort *sort);

/*
 * Sorts the keys that were pushed.  Returns when the order is ready and all
 * other memory of the job has been freed, except that of keys to be kept.
 * Allowed once for a job.
 *
 * The job takes no more than "memory" bytes in all.  If that is less than
 * device_sort_memory() of its keys, the job is sorted in place, whatever
 * algorithm was asked for.  If it is even less than
 * device_sort_memory_in_place(), the job fails.
 */
extern bool device_sort_perform(DeviceSort *sort, uint64_t memory,
								DeviceError *error);

/* The method by which a job was sorted, in a few words; a constant. */
extern const char *device_sort_method(const DeviceSort *sort);

/* Copies entries first to first + count - 1 of the order to pinned memory. */
extern bool device_sort_pull(DeviceSort *sort, uint64_t first, uint32_t count,
							 uint32_t *order, DeviceError *error);

/*
 * Copies kept keys to pinned memory: "count" keys, of entry "first" of the
 * order and of entries "step" apart after it.  Each key takes key_words words
 * there: shorter keys are filled up with zero words, longer keys are
 * truncated.
 */
extern bool device_sort_pull_keys(DeviceSort *sort, uint64_t first,
								  uint32_t step, uint32_t count,
								  uint32_t key_words, uint64_t *words,
								  DeviceError *error);

/*
 * Frees the job, finished or not.  Waits for copies under way, so that the
 * caller may unpin the memory from which it pushed.  Allowed for NULL.
 */
extern void device_sort_end(DeviceSort *sort);

#ifdef __cplusplus
}
#endif

#endif							/* GPUSORT_DEVICE_SORT_H */
