/*-------------------------------------------------------------------------
 *
 * engine.h
 *	  What gpusortd sorts with: the interface of its two engines.
 *
 * engine_cuda.c sorts on a GPU, engine_host.c on the CPU, so that everything
 * around the engine can be run and tested where there is no GPU.
 *
 * Functions that return bool return false on failure, with the reason, a
 * sentence without full stop, in "error", which is all zeros before.  A job
 * that has failed can only be ended.  A job is used by one thread at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_ENGINE_H
#define GPUSORTD_ENGINE_H

#include <stddef.h>

#include "../../kernels/device_sort.h"
#include "../common/key_format.h"

typedef struct EngineJob EngineJob;

/* Asked during long work in this process: should it be given up? */
typedef bool (*EngineCancelled) (void *argument);

typedef struct Engine
{
	const char *name;			/* value of --engine */

	/* Number of devices; if it is 0, "error" says why there is none. */
	int			(*count) (DeviceError *error);

	/* Description of a device, for which none of its memory is used. */
	bool		(*describe) (int number, DeviceInfo *info, DeviceError *error);

	/* Preparation of a device for jobs. */
	bool		(*start) (int number, DeviceError *error);

	/*
	 * Bytes of a device that all jobs could have together just now, as other
	 * processes may have some; NULL where no other process has any.
	 */
	bool		(*memory) (int number, uint64_t *bytes, DeviceError *error);

	/*
	 * Return of unused memory of a device to the system, but for what makes so
	 * many bytes together with that of jobs.  NULL like "memory".
	 */
	void		(*release) (int number, uint64_t kept_bytes);

	/* Preparation of memory for transfers; NULL where none is needed. */
	bool		(*pin) (void *memory, size_t bytes, DeviceError *error);
	void		(*unpin) (void *memory);

	/*
	 * Bytes that a job takes while it runs, when it takes most.  A job that has
	 * run keeps its order, of sizeof(uint32_t) a row, and has freed all else
	 * unless it keeps its keys.
	 */
	uint64_t	(*job_memory) (const KeyShape *shape, uint64_t nrows,
							   uint64_t nwords);

	/*
	 * Bytes that a job takes which is sorted in place; the same as job_memory
	 * if the engine has no such sort.
	 */
	uint64_t	(*job_memory_in_place) (const KeyShape *shape, uint64_t nrows,
										uint64_t nwords);

	/* Bytes that a job takes which has run and keeps its keys. */
	uint64_t	(*job_memory_kept) (const KeyShape *shape, uint64_t nrows,
									uint64_t nwords);

	/*
	 * A job on a device that is ready, from its beginning to its end.  The
	 * functions of device_sort.h with these names say what each does.
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

	/* Name of the way in which a job was sorted, for EXPLAIN; a constant. */
	const char *(*method) (const EngineJob *job);
	bool		(*pull) (EngineJob *job, uint64_t first, uint32_t count,
						 uint32_t *order, DeviceError *error);
	bool		(*pull_keys) (EngineJob *job, uint64_t first, uint32_t step,
							  uint32_t count, uint32_t key_words,
							  uint64_t *words, DeviceError *error);
	void		(*end) (EngineJob *job);

	/* Whether an error has made the engine unusable by this process. */
	bool		(*is_lost) (void);
} Engine;

extern const Engine host_engine;
#ifdef HAVE_CUDA
extern const Engine cuda_engine;
#endif

#endif							/* GPUSORTD_ENGINE_H */
