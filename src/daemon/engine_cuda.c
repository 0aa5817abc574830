/*-------------------------------------------------------------------------
 *
 * engine_cuda.c
 *	  The engine that sorts on a GPU: the kernels, behind engine.h.
 *
 *-------------------------------------------------------------------------
 */
#include "engine.h"

static EngineJob *
cuda_begin(int device, const KeyShape *shape, DeviceAlgorithm algorithm,
		   EngineCancelled cancelled, void *argument, DeviceError *error)
{
	/* a sort on a device is too short to be cancelled */
	(void) cancelled;
	(void) argument;
	return (EngineJob *) device_sort_begin(device, shape, algorithm, error);
}

static bool
cuda_push(EngineJob *job, const uint64_t *words, uint64_t nwords,
		  const uint64_t *ends, uint32_t nrows, uint64_t *ticket,
		  DeviceError *error)
{
	return device_sort_push((DeviceSort *) job, words, nwords, ends, nrows,
							ticket, error);
}

static bool
cuda_wait_pushed(EngineJob *job, uint64_t ticket, DeviceError *error)
{
	return device_sort_wait_pushed((DeviceSort *) job, ticket, error);
}

static void
cuda_keep_keys(EngineJob *job)
{
	device_sort_keep_keys((DeviceSort *) job);
}

static bool
cuda_perform(EngineJob *job, uint64_t memory, DeviceError *error)
{
	return device_sort_perform((DeviceSort *) job, memory, error);
}

static const char *
cuda_method(const EngineJob *job)
{
	return device_sort_method((const DeviceSort *) job);
}

static bool
cuda_pull(EngineJob *job, uint64_t first, uint32_t count, uint32_t *order,
		  DeviceError *error)
{
	return device_sort_pull((DeviceSort *) job, first, count, order, error);
}

static bool
cuda_pull_keys(EngineJob *job, uint64_t first, uint32_t step, uint32_t count,
			   uint32_t key_words, uint64_t *words, DeviceError *error)
{
	return device_sort_pull_keys((DeviceSort *) job, first, step, count,
								 key_words, words, error);
}

static void
cuda_end(EngineJob *job)
{
	device_sort_end((DeviceSort *) job);
}

const Engine cuda_engine = {
	.name = "cuda",
	.count = device_count,
	.describe = device_describe,
	.start = device_start,
	.memory = device_memory,
	.release = device_release,
	.pin = device_pin,
	.unpin = device_unpin,
	.job_memory = device_sort_memory,
	.job_memory_in_place = device_sort_memory_in_place,
	.job_memory_kept = device_sort_memory_kept,
	.begin = cuda_begin,
	.push = cuda_push,
	.wait_pushed = cuda_wait_pushed,
	.keep_keys = cuda_keep_keys,
	.perform = cuda_perform,
	.method = cuda_method,
	.pull = cuda_pull,
	.pull_keys = cuda_pull_keys,
	.end = cuda_end,
	.is_lost = device_is_lost
};
