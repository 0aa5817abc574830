/*-------------------------------------------------------------------------
 *
 * engine.h
 *	  The interface of the two engines with which gpusortd sorts.
 *
 * engine_cuda.c sorts on a GPU, engine_host.c on the CPU, so that everything
 * around the engine can be run and tested where there is no GPU.
 *
 * Functions that return bool return false on failure, with the reason, a
 * sentence without full stop, in "error"; the caller passes an "error" of zeros.
 * A job that has failed can only be ended.  A job is used by one thread at a
 * time.  Units of memory are bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_ENGINE_H
#define GPUSORTD_ENGINE_H

#include <stddef.h>

#include "../../kernels/device_sort.h"
#include "../common/key_format.h"

typedef struct EngineJob EngineJob;

/*
 * Called during long work in this process.  Returns true to give the work up.
 */
typedef bool (*EngineCancelled) (void *argument);

typedef struct Engine
{
	const char *name;			/* value of --engine */

	/* Number of devices; if that is 0, "error" has the reason. */
	int			(*count) (DeviceError *error);

	/* Description of a device; takes none of the memory of the device. */
	bool		(*describe) (int number, DeviceInfo *info, DeviceError *error);

	/* Preparation of a device for jobs. */
	bool		(*start) (int number, DeviceError *error);

	/*
	 * Memory of a device that all jobs together could have now, beside other
	 * processes.  NULL if no other process takes memory of a device.
	 */
	bool		(*memory) (int number, uint64_t *bytes, DeviceError *error);

	/*
	 * Return of unused memory of a device to the driver, until used and
	 * unused memory together are kept_bytes at the most.  NULL where "memory"
	 * is.
	 */
	void		(*release) (int number, uint64_t kept_bytes);

	/* Pinning of the caller's memory for transfers; NULL if not needed. */
	bool		(*pin) (void *memory, size_t bytes, DeviceError *error);
	void		(*unpin) (void *memory);

	/*
	 * The most memory that a job has, which it has while it sorts.  After the
	 * sort a job has its order, of sizeof(uint32_t) a row, and its keys only
	 * if they are kept.
	 */
	uint64_t	(*job_memory) (const KeyShape *shape, uint64_t nrows,
							   uint64_t nwords);

	/*
	 * The same of a job that is sorted in place; equal to job_memory in an
	 * engine that cannot sort in place.
	 */
	uint64_t	(*job_memory_in_place) (const KeyShape *shape, uint64_t nrows,
										uint64_t nwords);

	/* Memory of a job that is sorted and keeps its keys. */
	uint64_t	(*job_memory_kept) (const KeyShape *shape, uint64_t nrows,
									uint64_t nwords);

	/*
	 * The steps of a job on a device that is ready.  Each is what the
	 * function device_sort_...() of that name in device_sort.h does, with its
	 * errors.
	 */
	EngineJob  *(*begin) (int device, const KeyShape *shape,
						  DeviceAlgorithm algorithm, EngineCancelled cancelled,
						  void *argument, DeviceError *error);
	bool		(*push) (EngineJob *job, const uint64_t *words,
						 uint64_t nwords, const uint64_t *ends, uint32_t nrows,
						 uint64_t *ticket, DeviceError *error);
	bool		(*wait_pushed) (EngineJob *job, uint64_t ticket,
								DeviceError *error);
	void		(*keep_keys) (EngineJob *job);
	bool		(*perform) (EngineJob *job, uint64_t memory, DeviceError *error);

	/* Name of the method by which a job was sorted, for EXPLAIN; a constant. */
	const char *(*method) (const EngineJob *job);
	bool		(*pull) (EngineJob *job, uint64_t first, uint32_t count,
						 uint32_t *order, DeviceError *error);
	bool		(*pull_keys) (EngineJob *job, uint64_t first, uint32_t step,
							  uint32_t count, uint32_t key_words,
							  uint64_t *words, DeviceError *error);
	void		(*end) (EngineJob *job);

	/* True if an error has made the engine unusable for the process. */
	bool		(*is_lost) (void);
} Engine;

extern const Engine host_engine;
#ifdef HAVE_CUDA
extern const Engine cuda_engine;
#endif

#endif							/* GPUSORTD_ENGINE_H */
