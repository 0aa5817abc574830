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
#include "../key_format.h"

typedef struct EngineJob EngineJob;

/* Asked during long work in this process: should it be given up? */
typedef bool (*EngineCancelled) (void *argument);

typedef struct Engine
{
	const char *name;			/* value of --engine */

	/*
	 * The number of devices, none with a reason in "error"; the description of
	 * one, which takes nothing of it; and making it ready for jobs.
	 */
	int			(*count) (DeviceError *error);
	bool		(*describe) (int number, DeviceInfo *info, DeviceError *error);
	bool		(*start) (int number, DeviceError *error);

	/*
	 * Bytes that all jobs of a device could have together just now, since other
	 * processes may have some; and giving back to the system what no job has,
	 * but for so many bytes of all.  NULL where memory is not shared so.
	 */
	bool		(*memory) (int number, uint64_t *bytes, DeviceError *error);
	void		(*release) (int number, uint64_t kept_bytes);

	/* Prepares memory for transfers; NULL where nothing is needed. */
	bool		(*pin) (void *memory, size_t bytes, DeviceError *error);
	void		(*unpin) (void *memory);

	/*
	 * Bytes a job takes at its highest, which is during run.  A job that has
	 * run keeps sizeof(uint32_t) a row, its order, and has freed all else
	 * unless it keeps its keys.
	 */
	uint64_t	(*job_memory) (const KeyShape *shape, uint64_t nrows,
							   uint64_t nwords);

	/*
	 * The same for a job that is sorted in place; what it takes anyway if the
	 * engine has no such sort.
	 */
	uint64_t	(*job_memory_in_place) (const KeyShape *shape, uint64_t nrows,
										uint64_t nwords);

	/* The same for a job that has run and keeps its keys. */
	uint64_t	(*job_memory_kept) (const KeyShape *shape, uint64_t nrows,
									uint64_t nwords);

	/*
	 * A job, on a device that is ready: see device_sort.h, whose functions
	 * these are like.
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
	bool		(*run) (EngineJob *job, uint64_t memory, DeviceError *error);

	/* How a job that has run was sorted, for EXPLAIN; a constant. */
	const char *(*method) (const EngineJob *job);
	bool		(*pull) (EngineJob *job, uint64_t first, uint32_t count,
						 uint32_t *order, DeviceError *error);
	bool		(*pull_keys) (EngineJob *job, uint64_t first, uint32_t step,
							  uint32_t count, uint32_t key_words,
							  uint64_t *words, DeviceError *error);
	void		(*end) (EngineJob *job);

	/* Has an error made the engine unusable for the rest of this process? */
	bool		(*is_lost) (void);
} Engine;

extern const Engine host_engine;
#ifdef HAVE_CUDA
extern const Engine cuda_engine;
#endif

#endif							/* GPUSORTD_ENGINE_H */
